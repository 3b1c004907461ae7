"""Rays: a polynomial along t·x is a univariate series in t, one coefficient per degree.

The part of degree d on n sample rows is an array (n, h): the value of the homogeneous part
of degree d at each row. Products are elementwise, so a composition costs a few forward
passes and never sees a monomial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.graded import FloatArray


@dataclass(frozen=True)
class RayProduct:
    """Multiply homogeneous parts by their values at ``n_rows`` sample rows.

    Examples
    --------
    >>> out = RayProduct(2).empty(2, 1)
    >>> RayProduct(2).add(out, 1, np.array([[1.0], [2.0]]), 1, np.array([[3.0], [4.0]]))
    >>> out.ravel()
    array([3., 8.])
    """

    n_rows: int

    def empty(self, degree: int, width: int) -> FloatArray:  # noqa: ARG002
        """Allocate a zero part (n_rows, width); the degree does not change its shape."""
        return np.zeros((self.n_rows, width))

    def add(self, out: FloatArray, x: int, a: FloatArray, y: int, b: FloatArray) -> None:  # noqa: ARG002
        """Add the elementwise product of ``a`` and ``b``, both (n_rows, h), to ``out``."""
        out += a * b
