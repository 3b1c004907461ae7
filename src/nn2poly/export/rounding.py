"""How far the numbers of a printed formula may be rounded, so that it still gives the outputs."""

from __future__ import annotations

from math import isfinite

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.formula.evaluate import evaluate, term_values
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import Region
from nn2poly.formula.region_tree import Between
from nn2poly.inputs import Coordinate

# Points at which the spread of an output is measured: good to 10 %, which is enough for digits.
POINTS = 100


def coefficient_errors(poly: Explicit, column: int, digits: int) -> list[FloatArray]:
    """Give how far each coefficient of an output may be off: an array (n_terms,) per region.

    Where nothing cancels, ``digits`` significant digits are within it. A large intercept, or
    coefficients in raw units far from 0, need more: their sum is small against its parts.
    """
    found = [_reach_and_spread(region, column) for region in poly.regions]
    spread = max(spread for _, spread in found) or np.inf
    allowed = 10.0 ** (1 - digits) * spread
    with np.errstate(divide="ignore"):
        return [allowed / (size * max(1, len(size)) ** 0.5) for size, _ in found]


def _reach_and_spread(region: Region, column: int) -> tuple[FloatArray, float]:
    """Give the largest size of each term (n_terms,) in a region, and the spread of an output."""
    poly = region.polynomial
    values = poly.coefficients[:, [column]]
    moving = poly.terms.orders() > 0
    ends = _working_box(region)
    if ends is None:
        return np.ones(poly.n_terms), float(np.abs(values[moving]).max(initial=0.0))
    reach = term_values(poly.terms, np.abs(ends).max(axis=0)[None])[0]
    share = np.random.default_rng(0).random((POINTS, poly.n_features))
    points = ends[0] + share * (ends[1] - ends[0])
    spread = float(evaluate(poly.terms, values, points).std())
    if poly.deviations is not None:
        spread = min(spread, float(np.linalg.norm(poly.deviations[:, column])))
    return reach, spread


def _working_box(region: Region) -> FloatArray | None:
    """Give the ends (2, p) of a region in the coordinates of the algebra; None if unknown."""
    inputs = region.polynomial.inputs
    if inputs.low is None or inputs.high is None:
        return None
    low, high = inputs.low.copy(), inputs.high.copy()
    for column, meets in region.conditions.items():
        if isinstance(meets, Between):
            (j,) = inputs.places[column]
            low[j], high[j] = np.clip([low[j], high[j]], meets.low, meets.high)
    return np.array(inputs.image(low, high))


def raw_error(coordinate: Coordinate, at: float, digits: int) -> float:
    """Give how far a raw value may be off, so that its coordinate is off by 10^-digits at most.

    Examples
    --------
    >>> raw_error(Coordinate(2012.5, 2.0), 2008.0, 3)
    0.002
    """
    slope = float(coordinate.slopes(np.array(at)))
    return 10.0**-digits / slope if isfinite(slope) and slope > 0.0 else 0.0


def digits_within(value: float, error: float, least: int = 1) -> int:
    """Give the fewest significant digits, 17 at most, that keep a number within an error.

    Examples
    --------
    >>> digits_within(2012.54, 0.1), digits_within(2012.54, 10.0), digits_within(0.1, 0.0)
    (5, 3, 1)
    """
    enough = (d for d in range(least, 17) if abs(float(f"{value:.{d}g}") - value) <= error)
    return next(enough, max(least, 17))
