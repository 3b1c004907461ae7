"""Exact affine changes of coordinates: degree ≤ Q maps to degree ≤ Q.

A shift is P(z + β) = exp(β·∇) P, and β·∇ maps the block of degree d to degree d - 1 by one
gather per variable; a change of scale multiplies each monomial by its own factor.
"""

from __future__ import annotations

import numpy as np

from nn2poly.algebra.graded import (
    Blocks,
)
from nn2poly.algebra.monomials import count_degree, monomials, times_variables
from nn2poly.arrays import FloatArray


def substitute(blocks: Blocks, factor: FloatArray, shift: FloatArray) -> Blocks:
    """Rewrite P(z) in z' where ``z = factor * z' + shift``.

    Parameters
    ----------
    blocks
        Degree blocks (N_d, n_outputs), d = 0 … Q.
    factor, shift
        Arrays (p,).

    Returns
    -------
    list of arrays (N_d, n_outputs)

    Examples
    --------
    z² with z = 2 z' + 1 is 1 + 4 z' + 4 z'²:

    >>> blocks = [np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1))]
    >>> [float(b[0, 0]) for b in substitute(blocks, np.array([2.0]), np.array([1.0]))]
    [1.0, 4.0, 4.0]
    """
    moved = _translate(blocks, shift) if np.any(shift) else blocks
    if np.all(factor == 1.0):
        return moved
    return [
        block * np.prod(factor[monomials(len(factor), degree)], axis=1)[:, None]
        for degree, block in enumerate(moved)
    ]


def _translate(blocks: Blocks, shift: FloatArray) -> Blocks:
    """Shift the argument: Horner's scheme for exp(D) P = P + D(P + D/2 (P + D/3 (…)))."""
    result = blocks
    for k in range(len(blocks) - 1, 0, -1):
        slopes = [_directional(result[d], d, shift) / k for d in range(1, len(blocks))]
        result = [b + s for b, s in zip(blocks[:-1], slopes, strict=True)] + [blocks[-1]]
    return result


def _directional(block: FloatArray, degree: int, direction: FloatArray) -> FloatArray:
    """Differentiate a block (N_degree, n_outputs) along ``direction``: a block of degree - 1."""
    p = len(direction)
    lower = monomials(p, degree - 1)
    out = np.zeros((count_degree(p, degree - 1), block.shape[1]))
    for i in np.flatnonzero(direction).tolist():
        # d/dx_i of x_i·m is (1 + multiplicity of i in m)·m.
        factor = direction[i] * (1.0 + np.count_nonzero(lower == i, axis=1))
        out += factor[:, None] * block[times_variables(p, degree - 1, i, i + 1)[0]]
    return out
