"""Unique coefficients of levels: the last step of a conversion, on what the sample shows."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.fit.problem import Problem
from nn2poly.formula.identified import identified_terms
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs
from nn2poly.sampling import evenly

# Shares of levels that add up to 1 but for rounding.
COMPLETE = 1e-9
# Rows that tell what levels do that the sample does not show: a mean over 500 is good to some
# percent of a standard deviation.
ASKED_ROWS = 500


def identify(
    poly: Polynomial,
    problem: Problem,
    *,
    grow: bool = True,
    fixed: Container[int] = (),
) -> Polynomial:
    """Let the coefficients of levels sum to zero over the sample; predictions stay the same.

    Only where every row of the sample shows a level: where some show none, the coefficients of
    levels compare with none, and are unique. Levels that no row shows are not in the sum; they
    act as the average level, and by themselves as they do in the network, on average.

    Parameters
    ----------
    poly
        Folded.
    grow
        Let terms appear that were not listed.
    fixed
        Levels that are always on, or never, where the polynomial holds, and have no terms: the
        others sum to zero by themselves.
    """
    every = complete_factors(poly.inputs, problem)
    factors = dict(filter(None, (_free(*pair, fixed) for pair in every.items())))
    if not factors:
        return poly
    terms, values = identified_terms(poly.terms, poly.coefficients, factors, grow=grow)
    unique = replace(poly, terms=terms, coefficients=values, deviations=None)
    for places, shares in factors.items():
        if np.any(shares == 0.0):
            unique = _with_unshown(unique, problem, places, shares)
    return unique


def _free(
    places: tuple[int, ...], shares: FloatArray, fixed: Container[int]
) -> tuple[tuple[int, ...], FloatArray] | None:
    """Give the levels of a factor that are not fixed, and their shares, together 1."""
    free = [k for k, place in enumerate(places) if place not in fixed]
    total = float(shares[free].sum())
    if len(free) < 2 or total <= 0.0:
        return None
    return tuple(places[k] for k in free), shares[free] / total


def complete_factors(inputs: Inputs, problem: Problem) -> dict[tuple[int, ...], FloatArray]:
    """Give the factors of which every row shows a level, and the share of each level."""
    if not problem.folded:
        return {}
    low, high = problem.inputs.ends()
    shares = (problem.summary.seen_center - low) / (high - low)
    return {
        places: shares[list(places)]
        for places in inputs.indicators()
        if len(places) > 1 and abs(shares[list(places)].sum() - 1.0) < COMPLETE
    }


def _with_unshown(
    poly: Polynomial, problem: Problem, places: Sequence[int], shares: FloatArray
) -> Polynomial:
    """Set the coefficients of the levels of one factor that no row shows."""
    averages = _network_averages(problem, places)
    effects = averages - shares @ averages
    triples = zip(places, shares.tolist(), effects, strict=True)
    unshown = {j: effect for j, share, effect in triples if share == 0.0}
    values = poly.coefficients.copy()
    for here, rows in poly.terms.by_degree():
        holds = np.isin(rows, [*unshown]).any(axis=1)
        values[here][holds] = 0.0
        if rows.shape[1] == 1:
            for place in np.flatnonzero(holds).tolist():
                values[here.start + place] = unshown[int(rows[place, 0])]
    return replace(poly, coefficients=values)


def _network_averages(problem: Problem, places: Sequence[int]) -> FloatArray:
    """Average the network over rows of the sample with each level on: (n_levels, n_outputs)."""
    rows = problem.fit_rows.X
    rows = rows[evenly(len(rows), ASKED_ROWS)]
    inputs, (low, high) = problem.inputs, problem.inputs.ends()
    columns = list(inputs.places[inputs.column_of[places[0]]])
    switched, found = rows.copy(), []
    for place in places:
        switched[:, columns] = np.where(np.equal(columns, place), high[columns], low[columns])
        found.append(problem.truth(switched).mean(axis=0))
    return np.stack(found)
