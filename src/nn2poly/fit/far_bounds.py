"""Bounds beyond the rows: where a straight line meets a network that saturates in a heavy tail.

New rows of a column with heavy tails lie far beyond all others. A network that saturates there has
moved its outputs by so much and no more, which a line through the middle of the column reaches
somewhere: held there, a formula follows outliers however far out they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.fit.input_bounds import Ends, column_bounds, with_bounds
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.rows.fit_rows import FitRows
from nn2poly.sampling import evenly

# Times the reach of the rows at which the network is asked, and the share of what it moved there
# that may have come in the second half of the way; of a line that is a half (taste). By lines that
# are fitted near the threshold (`benchmarks/bankruptcy.py`, seeds 0 to 2), .9988, .9986 and .9974
# of the labels agree, with 4 times .9985, .9968 and .9964, without .9984, .9964 and .9955. ReLU
# networks go on rising: following them 4 times as far cost up to .05 of the labels.
FAR, STILL_RISING = 20.0, 0.25
# The share of the rows beyond which a tail begins, and rows that it is asked on (taste).
BEYOND, ROWS = 0.02, 200

Ask = Callable[[FloatArray], FloatArray]


def widened(inputs: Inputs, rows: FitRows, ask: Ask) -> Inputs:
    """Widen bounds in heavy tails to where a line meets the network.

    Where labels are decided at a threshold, a row far out is on one side of it for certain, and
    held at the edge of the others it may be on the other.

    Parameters
    ----------
    inputs
        With bounds.
    rows, ask
        Rows to fit, and what gives outputs (n, k) on raw features (n, p).
    """
    some = inputs.clipped(rows.X[evenly(len(rows), ROWS)])
    found: dict[int, Ends] = {}
    for number, (column, places) in enumerate(zip(inputs.columns, inputs.places, strict=True)):
        function = column.coordinates[0].function
        if column.kind == "number" and isinstance(function, Identity):
            low, high = _meetings(_Column(some, places[0], ask), rows)
            found[number] = min(low, function.low), max(high, function.high)
    return with_bounds(inputs, found)


@dataclass(frozen=True)
class _Column:
    """Some rows (m, p), of which one feature is changed, and what gives outputs (m, k)."""

    rows: FloatArray
    feature: int
    ask: Ask

    def at(self, value: float) -> FloatArray:
        """Give the outputs where the feature has this value."""
        X = self.rows.copy()
        X[:, self.feature] = value
        with np.errstate(all="ignore"):
            return self.ask(X)

    def meeting(self, start: float, slope: FloatArray, reach: float) -> float:
        """Give where lines (m, k) from a start meet the outputs far out; the start if nowhere."""
        half, whole = (self.at(start + r) - self.at(start) for r in (reach / 2.0, reach))
        last, moved, size = (float((v * slope).sum()) for v in (whole - half, whole, slope))
        if not size > 0.0 or not abs(last) <= STILL_RISING * abs(moved):
            return start
        return start + reach * min(max(moved / size / reach, 0.0), 1.0)


def _meetings(column: _Column, rows: FitRows) -> Ends:
    """Give the meetings on both sides of a column, where its tails are heavy; else its middle."""
    x = rows.X[:, column.feature]
    first, middle, last = np.quantile(x, [0.25, 0.5, 0.75]).tolist()
    tails = column_bounds(x, BEYOND, rows.weights)
    ends = float(x.min()), float(x.max())
    if tails is None or tails == ends or first == last:
        return middle, middle
    slope = (column.at(last) - column.at(first)) / (last - first)
    low, high = (
        middle if end == tail else column.meeting(middle, slope, FAR * (end - middle))
        for end, tail in zip(ends, tails, strict=True)
    )
    return low, high
