"""Levels of factors, coded so that their coefficients are unique: they sum to zero.

Exactly one level of a factor is on in every row, so that a constant can move from the intercept
to all levels, or from a slope to its products with them, and nothing changes but the numbers that
people read. Weighted by how often each level occurs, the coefficients of the levels are made to
sum to zero, within main effects and within interactions ("purified": Lengerich et al. 2020). What
is left is what a level does compared with the average one, and a term without the factor is what
holds for the average level.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nn2poly.algebra.terms import Listed, Terms, collect
from nn2poly.arrays import FloatArray, IntArray

# What rounding leaves of a coefficient that is zero, of the largest one of its output.
ROUNDING = 4 * float(np.finfo(float).eps)

Part = tuple[IntArray, FloatArray]


def identified_terms(
    terms: Terms,
    coefficients: FloatArray,
    factors: Mapping[tuple[int, ...], FloatArray],
    *,
    grow: bool = True,
) -> tuple[Terms, FloatArray]:
    """Rewrite terms so that the coefficients of levels sum to zero; the function stays the same.

    It does where exactly one level of each factor is 1 and the others are 0.

    Parameters
    ----------
    terms, coefficients
        Folded: no term holds two levels of a factor, or one twice. Array (n_terms, n_outputs).
    factors
        The features of each factor, and the share (n_levels,) of each level, together 1.
    grow
        Let terms appear that were not listed, as their coefficient was 0; else rewrite only
        where all levels are listed.

    Examples
    --------
    5 a + 2 b is 3 + 2 a - b, if a is 1 in one row of three and b in the others:

    >>> terms = Listed.of([(0,), (1,)], 2)
    >>> shares = {(0, 1): np.array([1 / 3, 2 / 3])}
    >>> found, values = identified_terms(terms, np.array([[5.0], [2.0]]), shares)
    >>> list(found), values.ravel().round(12)
    ([(), (0,), (1,)], array([ 3.,  2., -1.]))
    """
    largest = np.abs(coefficients).max(axis=0, initial=0.0)
    for levels, shares in factors.items():
        terms, coefficients = _centred(terms, coefficients, np.array(levels), shares, grow=grow)
    settled = np.where(np.abs(coefficients) > ROUNDING * largest, coefficients, 0.0)
    return terms, settled


def _centred(
    terms: Terms, coefficients: FloatArray, levels: IntArray, shares: FloatArray, *, grow: bool
) -> tuple[Terms, FloatArray]:
    """Move the average over the levels of one factor to the terms without it."""
    rests, averages = _averages(terms, coefficients, levels, shares, grow=grow)
    if not len(rests):
        return terms, coefficients
    parts: list[Part] = [(rows, coefficients[here]) for here, rows in terms.by_degree()]
    for here, rows in rests.by_degree():
        parts.append((rows, averages[here]))
        for level in levels.tolist():
            held = np.sort(np.insert(rows, 0, level, axis=1), axis=1)
            parts.append((held, -averages[here]))
    return collect(parts, terms.n_features, coefficients.shape[1], terms.max_order)


def _averages(
    terms: Terms, coefficients: FloatArray, levels: IntArray, shares: FloatArray, *, grow: bool
) -> tuple[Listed, FloatArray]:
    """Average the coefficients of what stands with each level, over the levels."""
    share = np.zeros(terms.n_features)
    share[levels] = shares
    parts: list[Part] = []
    for here, rows in terms.by_degree():
        holds = np.isin(rows, levels)
        chosen = np.flatnonzero(holds.any(axis=1))
        rest = rows[chosen][~holds[chosen]].reshape(len(chosen), max(rows.shape[1] - 1, 0))
        weights = share[rows[chosen][holds[chosen]]]
        # A column of ones counts the levels that are listed.
        values = np.column_stack([coefficients[here][chosen] * weights[:, None], weights >= 0])
        parts.append((rest, values))
    order = max(terms.max_order - 1, 0)
    rests, sums = collect(parts, terms.n_features, coefficients.shape[1] + 1, order)
    kept = np.flatnonzero(grow | (sums[:, -1] == len(levels)))
    return rests.at(kept), sums[kept, :-1]
