"""Bounds of numeric columns: where a formula holds a value at the edge.

A polynomial of an unbounded input is a bomb: one row with 1,243 occupants moved the R² of a cubic
to −971,354. So every number enters as clip(x, low, high). The bounds are the range of the rows to
fit where its tails are light, and quantiles where they are heavy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity

# Share of the rows beyond each bound of a heavy tail.
BEYOND = 0.005
# A tail is light while it ends within so many times the distance between the two quantiles.
LIGHT = 0.5


def bounded(inputs: Inputs, rows: FloatArray) -> Inputs:
    """Give every number its bounds, from raw features (n, p) of the rows to fit.

    Indicators stay as they are, and so do columns that do not vary and functions that are there.
    """
    columns = []
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        coordinate = column.coordinates[0]
        ends = column_bounds(rows[:, places[0]]) if column.kind == "number" else None
        if ends is not None and coordinate.is_affine:
            new = replace(coordinate, function=Identity(*ends))
            column = replace(column, coordinates=(new,))
        columns.append(column)
    return replace(inputs, columns=tuple(columns))


def column_bounds(x: FloatArray) -> tuple[float, float] | None:
    """Choose the bounds of one column; None when it does not vary.

    Examples
    --------
    >>> column_bounds(np.arange(100.0))
    (0.0, 99.0)
    >>> column_bounds(np.array([2.0, 2.0]))
    """
    low, high = float(x.min()), float(x.max())
    if not low < high:
        return None
    inner = np.quantile(x, [BEYOND, 1.0 - BEYOND])
    if inner[0] == inner[1]:
        # A spike that holds nearly all rows, such as no capital gain: the others tell.
        others = x[x != inner[0]]
        ends = np.quantile(others, [BEYOND, 1.0 - BEYOND])
        inner = np.array([min(ends[0], inner[0]), max(ends[1], inner[1])])
    reach = LIGHT * (inner[1] - inner[0])
    first = low if low >= inner[0] - reach else float(inner[0])
    last = high if high <= inner[1] + reach else float(inner[1])
    return (first, last) if first < last else (low, high)
