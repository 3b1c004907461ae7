"""Polynomials with few of the terms of their basis: select, merge, change coordinates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.coordinates import substitute
from nn2poly.algebra.monomials import (
    count_terms,
    rank,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.terms import Terms, offsets
from nn2poly.memory import check_terms


def largest(size: FloatArray, n: int) -> IntArray:
    """Give the places of the n largest entries, largest first, ties in order.

    Examples
    --------
    >>> largest(np.array([1.0, 5.0, 3.0]), 2)
    array([1, 2])
    """
    n = min(n, len(size))
    if n < len(size) // 4:
        candidates = np.sort(np.argpartition(-size, n)[: n + 1])
        # Ties with the last one kept must still come in order.
        candidates = np.flatnonzero(size >= size[candidates].min())
        return candidates[np.argsort(-size[candidates], kind="stable")][:n]
    return np.argsort(-size, kind="stable")[:n]


def sum_duplicates(positions: npt.ArrayLike, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sort positions and add up the rows of ``values`` (n, n_outputs) that share one."""
    unique, inverse = np.unique(np.asarray(positions, dtype=np.intp), return_inverse=True)
    rows = np.zeros((len(unique), values.shape[1]))
    np.add.at(rows, inverse, values)
    return unique, rows


def substitute_terms(
    terms: Terms, coefficients: FloatArray, factor: FloatArray, shift: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Change coordinates of a sparse polynomial; see `algebra.coordinates.substitute`.

    Works in the full basis of the variables that occur, then keeps the terms and what a
    shift can make of them: their divisors.

    Returns
    -------
    arrays (n_kept,) and (n_kept, n_outputs)
    """
    used = _variables(terms)
    order = terms.max_order
    _check_room(len(used), order, coefficients.shape[1])
    begin = offsets(len(used), order)
    dense = np.zeros((begin[-1], coefficients.shape[1]))
    for degree, (here, rows) in enumerate(terms.by_degree()):
        small = rank(np.searchsorted(used, rows), len(used))
        dense[begin[degree] + small] = coefficients[here]
    blocks = [dense[a:b] for a, b in pairwise(begin)]
    moved = substitute(blocks, factor[used], shift[used])
    kept = _divisors(terms) if np.any(shift[used]) else [rows for _, rows in terms.by_degree()]
    full = offsets(terms.n_features, order)
    positions = [full[d] + rank(rows, terms.n_features) for d, rows in enumerate(kept)]
    values = [
        block[rank(np.searchsorted(used, rows), len(used))]
        for block, rows in zip(moved, kept, strict=True)
    ]
    return np.concatenate(positions), np.concatenate(values)


def _variables(terms: Terms) -> IntArray:
    parts = [rows.ravel() for _, rows in terms.by_degree()]
    return np.unique(np.concatenate(parts))


def _divisors(terms: Terms) -> list[IntArray]:
    """List the terms and all their divisors, degree by degree, each in order."""
    result: list[IntArray] = []
    above = np.empty((0, terms.max_order + 1), dtype=np.intp)
    for _, rows in reversed(list(terms.by_degree())):
        shorter = [np.delete(above, k, axis=1) for k in range(above.shape[1])]
        above = np.unique(np.concatenate([rows, *shorter]), axis=0)
        result.append(above)
    return result[::-1]


def _check_room(n_variables: int, order: int, n_outputs: int) -> None:
    total = count_terms(n_variables, order)
    check_terms(
        total,
        24 * total * n_outputs,
        what=f"The change of coordinates in {n_variables} variables at order {order}",
        remedy="truncate to a lower order first, or rebase before pruning",
    )
