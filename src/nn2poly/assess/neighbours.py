"""How near a combination of values is to the rows, and how near rows are to each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.inputs import Inputs
from nn2poly.sampling import evenly

# Rows whose nearest neighbour is looked for: a 99 % quantile needs some hundreds (memory, time).
MOST_ASKED = 500
# Shares of rows that have a neighbour within the two distances that are told (taste).
USUAL, NEARLY_ALL = 0.5, 0.99


@dataclass(frozen=True, eq=False)
class Nearness:
    """A distance between rows, and how near rows of the data are to each other.

    Parameters
    ----------
    scale
        Array (p,): the distance is the root of the summed squares of differences over it. One is a
        standard deviation of a number; another level of a factor, or the other of two values.
    usual, far
        Half of the rows, and 99 % of them, have another within this.
    """

    scale: FloatArray
    usual: float
    far: float


def nearness(inputs: Inputs, X: FloatArray, kept: IntArray) -> Nearness | None:
    """Measure how near raw rows (n, p) are to those at the places ``kept``; None of a single row.

    Examples
    --------
    >>> X = np.arange(5.0)[:, None] * 2.0
    >>> found = nearness(Inputs.of(["t"]), X, np.arange(5))
    >>> (found.scale * found.usual).round(3), round(found.far / found.usual, 6)
    (array([2.]), 1.0)
    """
    if len(kept) < 2:
        return None
    scale = distance_scale(inputs, X)
    asked = evenly(len(X), MOST_ASKED)
    others = X[kept] / scale
    squares = (others**2).sum(axis=1)
    rows = X[asked] / scale
    found = squares - 2.0 * rows @ others.T + (rows**2).sum(axis=1)[:, None]
    # A row is not its own neighbour.
    found[asked[:, None] == kept] = np.inf
    nearest = np.sqrt(np.maximum(found.min(axis=1), 0.0))
    usual, far = np.quantile(nearest, (USUAL, NEARLY_ALL)).tolist()
    return Nearness(scale, usual, far)


def distance_scale(inputs: Inputs, X: FloatArray) -> FloatArray:
    """Give what counts as a distance of one in each feature: array (p,)."""
    # The deviation of a constant may be what rounding leaves of it: nothing would be near then.
    scale = np.where(np.ptp(X, axis=0) > 0.0, X.std(axis=0), 1.0)
    low, high = inputs.ends()
    for places in inputs.indicators():
        mine = list(places)
        # Another level changes two indicators.
        scale[mine] = (high - low)[mine] * (np.sqrt(2.0) if len(mine) > 1 else 1.0)
    return np.where(scale > 0.0, scale, 1.0)
