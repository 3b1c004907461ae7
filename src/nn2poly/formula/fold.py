"""Binary features: u² = u, and two levels of one factor are never both 1.

On data that obey these rules a folded polynomial equals the unfolded one, with fewer terms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nn2poly.algebra.monomials import (
    rank,
)
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.formula.sparse import sum_duplicates
from nn2poly.formula.terms import Terms, offsets


def fold_terms(
    terms: Terms,
    coefficients: FloatArray,
    factors: Sequence[Sequence[int]],
    never: Sequence[tuple[int, int]] = (),
) -> tuple[IntArray, FloatArray]:
    """Fold the terms of features that are 0 or 1.

    Parameters
    ----------
    terms, coefficients
        The terms, and an array (n_terms, n_outputs).
    factors
        Groups of features of which at most one is 1; a binary feature of its own is a group
        of one.
    never
        Further pairs of binary features that are never both 1.

    Returns
    -------
    arrays (n_kept,) and (n_kept, n_outputs)
        Positions in the same basis, and coefficients.

    Examples
    --------
    For u = 0 or 1, the terms 3 u + 4 u² fold to 7 u:

    >>> fold_terms(Terms(1, 2), np.array([[0.0], [3.0], [4.0]]), [[0]])
    (array([0, 1]), array([[0.],
           [7.]]))
    """
    binary = np.zeros(terms.n_features, dtype=bool)
    apart = np.zeros((terms.n_features, terms.n_features), dtype=bool)
    for factor in factors:
        members = list(factor)
        binary[members] = True
        apart[np.ix_(members, members)] = True
    for a, b in never:
        apart[a, b] = apart[b, a] = True
    np.fill_diagonal(apart, False)
    begin = offsets(terms.n_features, terms.max_order)
    positions, rows = [], []
    for here, variables in terms.by_degree():
        for chosen, folded in _fold(variables, binary, apart):
            place = begin[folded.shape[1]] + rank(folded, terms.n_features)
            positions.append(place)
            rows.append(coefficients[here][chosen])
    return sum_duplicates(np.concatenate(positions), np.concatenate(rows))


def _fold(
    variables: IntArray, binary: BoolArray, apart: BoolArray
) -> list[tuple[IntArray, IntArray]]:
    """Reduce monomials (n, d): those kept, by number of powers that fold away."""
    repeated = np.zeros(variables.shape, dtype=bool)
    repeated[:, 1:] = (variables[:, 1:] == variables[:, :-1]) & binary[variables[:, 1:]]
    possible = np.ones(len(variables), dtype=bool)
    for a in range(variables.shape[1]):
        for b in range(a):
            possible &= ~apart[variables[:, a], variables[:, b]]
    counts = repeated.sum(axis=1)
    result = []
    for count in np.unique(counts[possible]).tolist():
        chosen = np.flatnonzero(possible & (counts == count))
        kept = variables[chosen][~repeated[chosen]]
        result.append((chosen, kept.reshape(len(chosen), variables.shape[1] - count)))
    return result
