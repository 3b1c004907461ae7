"""Evaluate a polynomial on rows without the (rows × terms) matrix.

In lexicographic order the monomials of degree d that begin with variable i are x_i times a
*suffix* of those of degree d - 1. So the features of degree Q - 1 of a batch of rows are built
by contiguous products, a tile at a time, and serve the two top degrees in one matrix product:
P_{Q-1} + P_Q = Σ_t (c_t + Σ_i x_i C_{i·t}) · t, as many multiplications as there are terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.graded import Blocks
from nn2poly.algebra.monomials import count_degree, count_terms, starts
from nn2poly.algebra.terms import Listed, Terms, is_nearly_full, offsets
from nn2poly.arguments import check_count
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError

# Bytes of the features of one batch of rows; monomials of degree Q - 1 in a tile; and the size
# up to which a polynomial is laid out in tiles once instead of once per batch. All three are a
# matter of the cache and of memory.
BATCH_BYTES = 4 * 2**20
TILE = 256
KEPT_BYTES = 64 * 2**20
# Listed terms are evaluated in the full basis when that has at most so many times their number:
# a term there costs about an eighth of one that is multiplied out by itself.
DENSE_BELOW = 8


def check_precision(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Check the precision of a prediction: float64 or float32.

    Examples
    --------
    >>> check_precision("float32")
    dtype('float32')
    """
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float64, np.float32):
        raise InvalidInputError(
            "Predictions are made in double or single precision.",
            where="dtype",
            expected="numpy.float64 or numpy.float32",
            found=repr(dtype),
        )
    return kind


def check_batch(batch_size: int) -> int:
    """Check a number of rows.

    Examples
    --------
    >>> check_batch(1000)
    1000
    """
    return check_count(batch_size, where="batch_size")


def evaluate(
    terms: Terms, coefficients: FloatArray, z: FloatArray, batch_size: int | None = None
) -> FloatArray:
    """Evaluate a polynomial on rows in its coordinates, in their precision.

    Parameters
    ----------
    terms, coefficients
        The terms, and an array (n_terms, n_outputs).
    z
        Array (n, p), float64 or float32.
    batch_size
        Rows at a time; None for as many as stay near the cache.

    Returns
    -------
    array (n, n_outputs)
    """
    found = _evaluate(terms, coefficients, z, batch_size)
    # A power that overflows is infinite, and 0 times that is NaN: where a coefficient, or
    # another factor of the term, is 0 the term is 0.
    spoilt = np.flatnonzero(np.isnan(found).any(axis=1) & np.isfinite(z).all(axis=1))
    if len(spoilt):
        found[spoilt] = _without_zeros(terms, coefficients, z[spoilt])
    return found


def _without_zeros(terms: Terms, coefficients: FloatArray, z: FloatArray) -> FloatArray:
    """Evaluate rows that overflow, term by term, leaving out what is 0."""
    out = np.zeros((len(z), coefficients.shape[1]), dtype=z.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for here, variables in terms.by_degree():
            for row, values in enumerate(z):
                taken = values[variables]
                powers = np.where((taken == 0).any(axis=1), 0.0, taken.prod(axis=1))
                used = (powers != 0)[:, None] & (coefficients[here] != 0)
                parts = np.where(used, powers[:, None], 1.0) * np.where(used, coefficients[here], 0)
                out[row] += parts.sum(axis=0)
    return out


def _evaluate(
    terms: Terms, coefficients: FloatArray, z: FloatArray, batch_size: int | None
) -> FloatArray:
    if isinstance(terms, Listed):
        if not is_nearly_full(terms, DENSE_BELOW):
            return evaluate_terms(terms, coefficients, z, batch_size)
        # With many of the terms present, the nested evaluation of all is the faster one.
        full = np.zeros((count_terms(terms.n_features, terms.max_order), coefficients.shape[1]))
        full[terms.positions()] = coefficients
        coefficients = full
    ends = offsets(terms.n_features, terms.max_order)
    return evaluate_blocks([coefficients[a:b] for a, b in pairwise(ends)], z, batch_size)


def evaluate_blocks(blocks: Blocks, z: FloatArray, batch_size: int | None = None) -> FloatArray:
    """Evaluate all terms of the graded basis, in the precision of the rows.

    Parameters
    ----------
    blocks
        Coefficients (N_d, n_outputs) for d = 0 … Q.
    z
        Array (n, p), float64 or float32.
    batch_size
        Rows at a time; None for as many as stay near the cache.

    Returns
    -------
    array (n, n_outputs)
    """
    order, p = len(blocks) - 1, z.shape[1]
    out = np.empty((len(z), blocks[0].shape[1]), dtype=z.dtype)
    if order == 0:
        out[:] = blocks[0]
        return out
    widest = max(TILE, count_degree(p, max(order - 2, 0)))
    rows = batch_size or int(np.clip(BATCH_BYTES // (8 * widest), 64, 1024))
    tiles: Iterable[_Tile] | None = None
    if blocks[order].nbytes <= KEPT_BYTES:
        tiles = list(_tiles(blocks, p, z.dtype))
    for begin in range(0, len(z), rows):
        batch = np.ascontiguousarray(z[begin : begin + rows].T)
        layout = _tiles(blocks, p, z.dtype) if tiles is None else tiles
        out[begin : begin + rows] = _evaluate_batch(blocks, layout, batch).T
    return out


@dataclass(frozen=True)
class _Tile:
    """Coefficients of some monomials t of degree Q - 1 and of their products x_i·t.

    Parameters
    ----------
    begin, end
        The ranks of the t.
    matrix
        Array ((1 + n_first)·n_outputs, end - begin): c_t, then C_{i·t} for i < n_first, zero
        where x_i comes after the first variable of t.
    """

    begin: int
    end: int
    matrix: FloatArray


def _tiles(blocks: Blocks, p: int, dtype: np.dtype[Any]) -> Iterator[_Tile]:
    """Lay the two top degrees out tile by tile."""
    order, n_outputs = len(blocks) - 1, blocks[0].shape[1]
    here, below = starts(p, order), starts(p, order - 1)
    for begin in range(0, len(blocks[order - 1]), TILE):
        end = min(begin + TILE, len(blocks[order - 1]))
        n_first = min(int(np.searchsorted(below, end - 1, side="right")), p)
        matrix = np.zeros((1 + n_first, n_outputs, end - begin), dtype=dtype)
        matrix[0] = blocks[order - 1][begin:end].T
        for i in range(n_first):
            first = max(begin, int(below[i]))
            shift = int(here[i] - below[i])
            matrix[1 + i, :, first - begin :] = blocks[order][first + shift : end + shift].T
        yield _Tile(begin, end, matrix.reshape(-1, end - begin))


def _evaluate_batch(blocks: Blocks, tiles: Iterable[_Tile], x: FloatArray) -> FloatArray:
    """Evaluate on a batch (p, rows); returns (n_outputs, rows)."""
    rows = x.shape[1]
    order, n_outputs = len(blocks) - 1, blocks[0].shape[1]
    total = np.zeros((n_outputs, rows), dtype=x.dtype)
    features = np.ones((1, rows), dtype=x.dtype)
    for degree in range(order - 1):
        if degree:
            features = next_features(features, x, degree)
        total += blocks[degree].T.astype(x.dtype, copy=False) @ features
    for tile in tiles:
        values = next_features(features, x, order - 1, tile.begin, tile.end)
        inner = (tile.matrix @ values).reshape(-1, n_outputs, rows)
        total += inner[0]
        total += np.einsum("ir,ior->or", x[: len(inner) - 1], inner[1:])
    return total


def next_features(
    features: FloatArray, x: FloatArray, degree: int, begin: int = 0, end: int | None = None
) -> FloatArray:
    """Build monomials ``begin:end`` of ``degree`` from all those of degree - 1.

    Parameters
    ----------
    features
        Array (N_{degree-1}, rows).
    x
        Array (p, rows).

    Returns
    -------
    array (end - begin, rows)

    Examples
    --------
    >>> x = np.array([[2.0], [3.0]])
    >>> next_features(x, x, 2).ravel()
    array([4., 6., 9.])
    """
    if degree == 0:
        return features
    p, rows = x.shape
    here, below = starts(p, degree), starts(p, degree - 1)
    stop = int(here[-1]) if end is None else end
    out = np.empty((stop - begin, rows), dtype=x.dtype)
    first = int(np.searchsorted(here, begin, side="right")) - 1
    for i in range(first, p):
        low, high = max(begin, int(here[i])), min(stop, int(here[i + 1]))
        if low >= high:
            break
        shift = int(below[i] - here[i])
        np.multiply(features[low + shift : high + shift], x[i], out=out[low - begin : high - begin])
    return out


def term_values(terms: Terms, z: FloatArray) -> FloatArray:
    """Evaluate each term on each row: the (n, n_terms) matrix, for few terms or few rows."""
    out = np.empty((len(z), len(terms)), dtype=z.dtype)
    for here, variables in terms.by_degree():
        out[:, here] = products(variables, z)
    return out


def products(variables: IntArray, z: FloatArray) -> FloatArray:
    """Multiply columns of z (n, p) as terms (m, degree) say: array (n, m)."""
    values = np.ones((len(z), len(variables)), dtype=z.dtype)
    for column in variables.T:
        values *= z[:, column]
    return values


def evaluate_terms(
    terms: Terms, coefficients: FloatArray, z: FloatArray, batch_size: int | None = None
) -> FloatArray:
    """Evaluate a sparse polynomial batch by batch: array (n, n_outputs)."""
    rows = batch_size or int(np.clip(BATCH_BYTES // (8 * max(len(terms), 1)), 32, 4096))
    values = coefficients.astype(z.dtype, copy=False)
    parts = [term_values(terms, z[i : i + rows]) @ values for i in range(0, len(z), rows)]
    return np.concatenate(parts)
