"""Evaluate a polynomial on rows without the (rows × terms) matrix.

In lexicographic order the monomials of degree d that begin with variable i are x_i times a
*suffix* of those of degree d - 1. So all features of degree < Q of a batch are built by
contiguous products, and the top degree is one matrix product per group of first variables:
P_Q = Σ_i x_i · (C_i @ suffix_i), as many multiplications as there are terms.
"""

from __future__ import annotations

import numpy as np

from nn2poly.algebra.graded import FloatArray, Graded
from nn2poly.algebra.monomials import IntArray, count_degree, starts
from nn2poly.polynomial.terms import Terms

# Bytes of the features of one batch of rows; and how many first variables share a product.
BATCH_BYTES = 4 * 2**20
GROUP = 8


def evaluate_blocks(blocks: Graded, z: FloatArray) -> FloatArray:
    """Evaluate all terms of the graded basis.

    Parameters
    ----------
    blocks
        Coefficients (N_d, n_outputs) for d = 0 … Q.
    z
        Array (n, p).

    Returns
    -------
    array (n, n_outputs)
    """
    order, p = len(blocks) - 1, z.shape[1]
    width = max(count_degree(p, max(order - 1, 1)), 1)
    rows = int(np.clip(BATCH_BYTES // (8 * width), 32, 4096))
    groups = _top_groups(blocks[order], p, order)
    out = np.empty((len(z), blocks[0].shape[1]))
    for begin in range(0, len(z), rows):
        batch = np.ascontiguousarray(z[begin : begin + rows].T)
        out[begin : begin + rows] = _evaluate_batch(blocks, groups, batch).T
    return out


def _evaluate_batch(
    blocks: Graded, groups: list[tuple[int, int, FloatArray]], x: FloatArray
) -> FloatArray:
    """Evaluate on a batch (p, rows); returns (n_outputs, rows)."""
    p, rows = x.shape
    order, n_outputs = len(blocks) - 1, blocks[0].shape[1]
    total = np.repeat(blocks[0].T, rows, axis=1)
    features = np.ones((1, rows))
    for degree in range(1, order):
        features = next_features(features, x, degree)
        total += blocks[degree].T @ features
    for begin, end, matrix in groups:
        suffix = features[starts(p, order - 1)[begin] :]
        inner = (matrix @ suffix).reshape(end - begin, n_outputs, rows)
        total += np.einsum("ir,ior->or", x[begin:end], inner)
    return total


def next_features(features: FloatArray, x: FloatArray, degree: int) -> FloatArray:
    """Build all monomials of ``degree`` from those of degree - 1.

    Parameters
    ----------
    features
        Array (N_{degree-1}, rows).
    x
        Array (p, rows).

    Returns
    -------
    array (N_degree, rows)

    Examples
    --------
    >>> x = np.array([[2.0], [3.0]])
    >>> next_features(x, x, 2).ravel()
    array([4., 6., 9.])
    """
    p, rows = x.shape
    here, below = starts(p, degree), starts(p, degree - 1)
    out = np.empty((int(here[-1]), rows))
    for i in range(p):
        np.multiply(features[below[i] :], x[i], out=out[here[i] : here[i + 1]])
    return out


def _top_groups(top: FloatArray, p: int, order: int) -> list[tuple[int, int, FloatArray]]:
    """Lay the top block out as one matrix per group of first variables.

    Returns
    -------
    list of (begin, end, array ((end - begin)·n_outputs, suffix length))
    """
    if order == 0:
        return []
    here, below = starts(p, order), starts(p, order - 1)
    n_outputs, groups = top.shape[1], []
    for begin in range(0, p, GROUP):
        end = min(begin + GROUP, p)
        length = count_degree(p, order - 1) - int(below[begin])
        matrix = np.zeros((end - begin, n_outputs, length))
        for i in range(begin, end):
            matrix[i - begin, :, int(below[i] - below[begin]) :] = top[here[i] : here[i + 1]].T
        groups.append((begin, end, matrix.reshape(-1, length)))
    return groups


def term_values(terms: Terms, z: FloatArray) -> FloatArray:
    """Evaluate each term on each row: the (n, n_terms) matrix, for few terms or few rows."""
    out = np.empty((len(z), len(terms)))
    for here, variables in terms.by_degree():
        out[:, here] = _products(variables, z)
    return out


def _products(variables: IntArray, z: FloatArray) -> FloatArray:
    values = np.ones((len(z), len(variables)))
    for column in variables.T:
        values *= z[:, column]
    return values


def evaluate_terms(terms: Terms, coefficients: FloatArray, z: FloatArray) -> FloatArray:
    """Evaluate a sparse polynomial batch by batch: array (n, n_outputs)."""
    rows = int(np.clip(BATCH_BYTES // (8 * max(len(terms), 1)), 32, 4096))
    parts = [term_values(terms, z[i : i + rows]) @ coefficients for i in range(0, len(z), rows)]
    return np.concatenate(parts)
