"""Products of monomial blocks: the part of degree d is an array (N_d, h)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.graded import FloatArray
from nn2poly.algebra.monomials import count_degree, product_slices

# Rows of the product table that are looked up at a time when it is too large to keep.
SLICE_ROWS = 64


@dataclass(frozen=True)
class BlockProduct:
    """Multiply degree blocks in ``n_variables`` variables, neuron by neuron.

    Examples
    --------
    (x0 + 2 x1)·(3 x0 + 4 x1) = 3 x0² + 10 x0 x1 + 8 x1²:

    >>> product = BlockProduct(2)
    >>> out = product.empty(2, 1)
    >>> product.add(out, 1, np.array([[1.0], [2.0]]), 1, np.array([[3.0], [4.0]]))
    >>> out.ravel()
    array([ 3., 10.,  8.])
    """

    n_variables: int

    def empty(self, degree: int, width: int) -> FloatArray:
        """Allocate a zero block (N_degree, width)."""
        return np.zeros((count_degree(self.n_variables, degree), width))

    def add(self, out: FloatArray, x: int, a: FloatArray, y: int, b: FloatArray) -> None:
        """Add the product of blocks ``a`` (N_x, h) and ``b`` (N_y, h) to ``out`` (N_{x+y}, h)."""
        if len(a) > len(b):
            x, a, y, b = y, b, x, a
        for begin, end, table in product_slices(self.n_variables, x, y, SLICE_ROWS):
            for row, targets in zip(a[begin:end], table, strict=True):
                # Along one row all targets differ, so += on a fancy index loses nothing.
                out[targets] += row * b
