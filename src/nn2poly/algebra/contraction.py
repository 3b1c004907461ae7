"""The top degree without its inner blocks.

The block of degree Q of a composition is a_1∘v_Q + R with R built from lower degrees, so
the degree-Q block of a network's outputs is the sum over layers of R contracted with the
linear maps downstream: Σ_j M_j v_x[i, j] r_y[k, j] over all neurons j of all layers, a
matrix product per pair of degrees x + y = Q, scattered to the merged monomials. The
(N_Q, h) block of a hidden layer is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.graded import FloatArray, Graded
from nn2poly.algebra.monomials import IntArray, count_degree, product_slices, starts

# Bytes of one slice of the matrix product before it is scattered: stays near the cache.
SLICE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Share:
    """What one layer adds to the top degree: R = Σ v_x ⊛ r_{Q-x}, seen through ``downstream``.

    Parameters
    ----------
    v, tail
        Graded blocks to degree Q - 1 of a layer's potential and of its tail Σ a_m v^(m-1).
    curvature
        Array (h,): a_2, the factor of v_1 in the tail's degree 1.
    downstream
        Array (h, n_outputs): the linear map from the layer's top block to the outputs'.
    """

    v: Graded
    tail: Graded
    curvature: FloatArray
    downstream: FloatArray


def contract_top(shares: list[Share], n_variables: int, order: int, n_outputs: int) -> FloatArray:
    """Sum the top-degree shares of all layers.

    Returns
    -------
    array (N_order, n_outputs)

    Examples
    --------
    One neuron with v = x0 + 2 x1 and r = 3 v: the part of degree 2 is 3 v².

    >>> v = [np.zeros((1, 1)), np.array([[1.0], [2.0]])]
    >>> share = Share(v, [np.zeros((1, 1)), 3 * v[1]], np.array([3.0]), np.ones((1, 1)))
    >>> contract_top([share], 2, 2, 1).ravel()
    array([ 3., 12., 12.])
    """
    if order == 2:
        return _contract_squares(shares, n_variables, n_outputs)
    out = np.zeros((n_outputs, count_degree(n_variables, order)))
    for x in range(1, order // 2 + 1):
        columns = [c for share in shares for c in _columns(share, x, order - x)]
        if columns:
            a, b = (np.concatenate([c[side] for c in columns], axis=1) for side in (0, 1))
            weights = np.concatenate([c[2] for c in columns])
            _contract_pair(out, n_variables, (x, order - x), a, b, weights)
    return np.ascontiguousarray(out.T)


def _contract_squares(shares: list[Share], n_variables: int, n_outputs: int) -> FloatArray:
    """Sum a_2 v_1² of all layers: a symmetric matrix, of which half is enough."""
    out = np.zeros((count_degree(n_variables, 2), n_outputs))
    linear = [share for share in shares if len(share.v) > 1]
    if not linear:
        return out
    v = np.concatenate([share.v[1] for share in linear], axis=1)
    weights = np.concatenate([share.curvature[:, None] * share.downstream for share in linear])
    begin_of = starts(n_variables, 2)
    step = max(1, SLICE_BYTES // (8 * n_variables * n_outputs))
    for begin in range(0, n_variables, step):
        end = min(begin + step, n_variables)
        weighted = (v[begin:end] * weights.T[:, None, :]).reshape(-1, v.shape[1])
        products = (weighted @ v[begin:].T).reshape(n_outputs, end - begin, -1)
        for i in range(begin, end):
            # x_i x_k for k > i comes twice, x_i² once.
            row = products[:, i - begin, i - begin :]
            out[begin_of[i] : begin_of[i + 1]] = 2.0 * row.T
            out[begin_of[i]] = row[:, 0]
    return out


def _columns(share: Share, x: int, y: int) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Pair v_x with r_y and, when the degrees differ, r_x with v_y: one product serves both."""
    v, tail = share.v, share.tail
    if x == 1 < y < min(len(v), len(tail)):
        # r_1 = a_2 v_1, so both pairs share the factor v_1 and half the product is enough.
        return [(v[1], tail[y] + share.curvature * v[y], share.downstream)]
    pairs = [(v, tail)] if x == y else [(v, tail), (tail, v)]
    return [(a[x], b[y], share.downstream) for a, b in pairs if x < len(a) and y < len(b)]


def _contract_pair(
    out: FloatArray,
    n_variables: int,
    degrees: tuple[int, int],
    a: FloatArray,
    b: FloatArray,
    weights: FloatArray,
) -> None:
    """Add Σ_c weights[c] a[i, c] b[k, c] to ``out`` at the merged monomial of (i, k)."""
    n_outputs = len(out)
    step = max(1, SLICE_BYTES // (8 * len(b) * n_outputs))
    for begin, end, targets in product_slices(n_variables, *degrees, step):
        weighted = (a[begin:end] * weights.T[:, None, :]).reshape(-1, a.shape[1])
        products = (weighted @ b.T).reshape(n_outputs, *targets.shape)
        for total, product in zip(out, products, strict=True):
            _scatter(total, targets, product)


def _scatter(total: FloatArray, targets: IntArray, values: FloatArray) -> None:
    """Add ``values`` to ``total`` at ``targets``, both (rows, N_y); along a row they differ."""
    if 4 * targets.size >= total.size:
        total += np.bincount(targets.ravel(), values.ravel(), total.size)
        return
    for target, value in zip(targets, values, strict=True):
        total[target] += value
