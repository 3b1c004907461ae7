"""A formula in separable form: sums of products of univariate factors."""

from __future__ import annotations

from nn2poly.arrays import FloatArray
from nn2poly.formula.polynomial import Polynomial


def working(poly: Polynomial, rows: FloatArray) -> FloatArray:
    """Give raw rows (n, p) in the coordinates that the terms are written in: array (n, p)."""
    return (rows - poly.center) / poly.scale
