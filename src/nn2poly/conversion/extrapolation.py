"""Bounds beyond the sample, where a formula follows its model further than the rows reach.

A formula is clamped at the range of its rows because a polynomial runs away beyond it. A formula of
a linear model does not, nor does one of a network that is nearly a polynomial: there the clamp is
the only error left. So the model is asked on the rows stretched beyond their range, and where the
formula without clamps is faithful on them, it is clamped at their range instead, or not at all.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, TypeVar

import numpy as np

from nn2poly.assess.fidelity import mean_r2
from nn2poly.conversion.input_bounds import Ends, with_bounds
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.problem import Problem
from nn2poly.errors import NN2PolyError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.sampling import evenly
from nn2poly.verdicts import FAITHFUL

# Times the range to which rows are stretched around its middle, by odd numbers: columns of whole
# numbers stay whole. A formula that is faithful at the second needs no clamp (taste).
STRETCHED = (3.0, 1001.0)
# Rows that the model is asked on (taste; R² of .99 is then known to about .002).
ROWS = 1_000


Clamped = TypeVar("Clamped", Polynomial, PolynomialNetwork)


def bounds_beyond(formula: Clamped, problem: Problem) -> dict[int, Ends]:
    """Give wider bounds of columns, by their number, as far beyond the rows as it is faithful."""
    ends, found = _full_ranges(formula.inputs, problem), dict[int, Ends]()
    for factor in STRETCHED if ends else ():
        wider = {number: _stretched(pair, factor) for number, pair in ends.items()}
        if not _is_faithful(clamped_at(formula, wider), problem, ends, factor):
            return found
        found = wider
    return dict.fromkeys(ends, (-inf, inf))


def clamped_at(formula: Clamped, ends: dict[int, Ends]) -> Clamped:
    """Give the same formula with other bounds of some columns, by their number."""
    inputs = with_bounds(formula.inputs, ends)
    changed: dict[str, Any] = {"inputs": inputs}
    if isinstance(formula, PolynomialNetwork):
        changed = {"network": replace(formula.network, inputs=inputs)}
    return replace(formula, **changed)


def _full_ranges(inputs: Inputs, problem: Problem) -> dict[int, Ends]:
    """Give the bounds of the columns that are clamped at the range of their rows, by number."""
    if not problem.bounded:
        return {}
    X = problem.fit_rows.X
    low, high = X.min(axis=0), X.max(axis=0)
    found = {}
    for number, (column, (place, *_)) in enumerate(zip(inputs.columns, inputs.places, strict=True)):
        function, ends = column.coordinates[0].function, (float(low[place]), float(high[place]))
        is_plain = column.kind == "number" and isinstance(function, Identity)
        if is_plain and column.name not in problem.bounds and ends == (function.low, function.high):
            found[number] = ends
    return found


def _stretched(ends: Ends, factor: float) -> Ends:
    middle, reach = (ends[0] + ends[1]) / 2.0, (ends[1] - ends[0]) / 2.0
    return middle - factor * reach, middle + factor * reach


def _is_faithful(
    formula: Polynomial | PolynomialNetwork,
    problem: Problem,
    ends: dict[int, Ends],
    factor: float,
) -> bool:
    X = problem.fit_rows.X
    X = X[evenly(len(X), ROWS)].copy()
    for number, pair in ends.items():
        place, middle = formula.inputs.places[number][0], (pair[0] + pair[1]) / 2.0
        X[:, place] = middle + factor * (X[:, place] - middle)
    try:
        truth = problem.truth(X)
    except NN2PolyError:  # a function need not answer beyond its rows: then nothing is known there
        return False
    guess = formula.outputs_by_order(X)[-1]
    return bool(np.isfinite(truth).all()) and mean_r2(truth, guess) >= FAITHFUL
