"""Binary features: u² = u, and two levels of one factor are never both 1.

On data that obey these rules a folded polynomial equals the unfolded one, with fewer terms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nn2poly.algebra.terms import Listed, Terms, collect
from nn2poly.arrays import BoolArray, FloatArray, IntArray


def fold_terms(
    terms: Terms,
    coefficients: FloatArray,
    factors: Sequence[Sequence[int]],
    never: Sequence[tuple[int, int]] = (),
) -> tuple[Listed, FloatArray]:
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
    terms, and coefficients (n_kept, n_outputs)

    Examples
    --------
    For u = 0 or 1, the terms 3 u + 4 u² fold to 7 u:

    >>> from nn2poly.algebra.terms import Graded
    >>> terms, values = fold_terms(Graded(1, 2), np.array([[0.0], [3.0], [4.0]]), [[0]])
    >>> list(terms), values.ravel()
    ([(), (0,)], array([0., 7.]))
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
    parts = [
        (folded, coefficients[here][chosen])
        for here, variables in terms.by_degree()
        for chosen, folded in _fold(variables, binary, apart)
    ]
    return collect(parts, terms.n_features, coefficients.shape[1], terms.max_order)


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
