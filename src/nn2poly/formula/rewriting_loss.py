"""What a change of coordinates loses: powers of a year in raw units cancel, digit by digit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.evaluate import term_values
from nn2poly.sampling import hashed

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

# Points that are compared, coefficients above which nothing is (it would take seconds), how far
# from the centre points lie where no range is known, and what may be lost of an output's range.
POINTS, MOST, REACH, EXACT = 32, 200_000, 2.0, 1e-6


def check_rewriting(before: Polynomial, after: Polynomial) -> None:
    """Refuse a polynomial in other coordinates that no longer predicts the same."""
    if before.max_order < 2 or max(before.coefficients.size, after.coefficients.size) > MOST:
        return
    X = _points(before)
    first, second = (_outputs(poly, X) for poly in (before, after))
    with np.errstate(all="ignore"):
        size = np.maximum(np.ptp(first, axis=0), EXACT * np.abs(first).max(axis=0))
        lost = np.max(np.abs(second - first) / np.maximum(size, 1e-300))
    if np.isfinite(lost) and lost <= EXACT:
        return
    raise InvalidInputError(
        f"Rewriting order {before.max_order} in these coordinates loses its digits.",
        where="rebase",
        expected=f"predictions within {EXACT:g} of the range of the outputs",
        found=f"differences of {lost:.2g} of it",
        remedy="stay in centred units: keep the polynomial as it is, or rebase(center, scale) "
        "with the mean and the standard deviation of the columns",
    )


def _points(poly: Polynomial) -> FloatArray:
    """Spread points (m, p) over the range that the conversion saw, or around the centre."""
    inputs = poly.inputs
    low, high = inputs.low, inputs.high
    if low is None or high is None:
        low, high = inputs.center - REACH * inputs.scale, inputs.center + REACH * inputs.scale
    share = np.stack([hashed(np.arange(POINTS), seed=j) for j in range(len(low))], axis=1)
    return np.asarray(low + share * (high - low), dtype=np.float64)


def _outputs(poly: Polynomial, X: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        values = term_values(poly.terms, poly.inputs.to_working(X))
        return np.asarray(values @ poly.coefficients, dtype=np.float64)
