"""Polynomials of second order in their plainest form: a number, a vector and a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.graded import (
    Blocks,
)
from nn2poly.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Quadratic:
    """c + x·b + x·A x, for several outputs.

    Parameters
    ----------
    constant, linear, matrix
        Arrays (k,), (p, k) and (k, p, p), the matrices symmetric.

    Examples
    --------
    1 + x0² + 4 x0 x1:

    >>> matrix = np.array([[[1.0, 2.0], [2.0, 0.0]]])
    >>> quadratic = Quadratic(np.array([1.0]), np.zeros((2, 1)), matrix)
    >>> [block.ravel().tolist() for block in quadratic.blocks()]
    [[1.0], [0.0, 0.0], [1.0, 4.0, 0.0]]
    """

    constant: FloatArray
    linear: FloatArray
    matrix: FloatArray

    def parts(self, z: FloatArray) -> Blocks:
        """Evaluate the parts of degree 0, 1 and 2 on rows (n, p), in their precision.

        Returns
        -------
        arrays (1, k), (n, k) and (n, k)
        """
        constant, linear, matrix = (
            values.astype(z.dtype, copy=False)
            for values in (self.constant, self.linear, self.matrix)
        )
        square = np.stack([np.einsum("np,np->n", z @ A, z) for A in matrix], axis=1)
        return [constant[None], z @ linear, square]

    def value(self, z: FloatArray) -> FloatArray:
        """Evaluate on rows (n, p): an array (n, k)."""
        constant, linear, square = self.parts(z)
        return constant + linear + square

    def blocks(self) -> Blocks:
        """Write the terms out: arrays (1, k), (p, k) and (p (p + 1) / 2, k)."""
        rows, columns = np.triu_indices(len(self.linear))
        # x_i x_j with i < j comes twice in x·A x, x_i² once.
        twice = np.where(rows == columns, 1.0, 2.0)
        return [self.constant[None], self.linear, (twice * self.matrix[:, rows, columns]).T]

    def coefficient(self, variables: Sequence[int]) -> FloatArray:
        """Give the coefficients (k,) of the product of some variables, repeated or not."""
        if len(variables) > 2:
            return np.zeros_like(self.constant)
        if len(variables) < 2:
            return self.linear[variables[0]] if variables else self.constant
        i, j = variables
        found: FloatArray = self.matrix[:, i, j] * (1.0 if i == j else 2.0)
        return found

    def of(self, variables: IntArray) -> Quadratic:
        """Take some variables, or all in another order; the others are zero."""
        matrix = self.matrix[:, variables[:, None], variables]
        return Quadratic(self.constant, self.linear[variables], matrix)

    def scaled(self, factors: FloatArray) -> Quadratic:
        """Write it in x where it was written in ``factors * x``."""
        matrix = self.matrix * factors[:, None] * factors
        return Quadratic(self.constant, factors[:, None] * self.linear, matrix)
