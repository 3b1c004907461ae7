"""Over which values of a feature a figure runs, and the average prediction there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import MixedRowsWarning, OutsideRangeWarning
from nn2poly.explain.dependence import partial_dependence
from nn2poly.formula.piecewise import Explicit

# Without data and without a calibrated range, a feature runs so many scales around its centre:
# 95 % of a normal one.
REACH = 2.0
# Up to so many values, each in several rows, a feature is a category: between them is nothing
# (taste).
FEW_VALUES, REPEATED = 10, 2


def span(poly: Explicit, feature: int, rows: FloatArray | None) -> tuple[float, float]:
    """Choose the range of a feature: of the data, of the calibration, or around the centre.

    Examples
    --------
    >>> import numpy as np
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"], center=20.0, scale=5.0)
    >>> span(poly, 0, None), span(poly, 0, np.array([[15.0], [18.0]]))
    ((10.0, 30.0), (15.0, 18.0))
    """
    center, scale = float(poly.center[feature]), float(poly.scale[feature])
    if rows is not None:
        low, high = float(rows[:, feature].min()), float(rows[:, feature].max())
    elif poly.low is not None and poly.high is not None:
        low, high = float(poly.low[feature]), float(poly.high[feature])
    else:
        low, high = center - REACH * scale, center + REACH * scale
    return (low, high) if high > low else (low - scale, high + scale)


def few_values(values: FloatArray) -> FloatArray | None:
    """Give the different values (m,) of a category; None for a feature that is a quantity.

    Examples
    --------
    >>> import numpy as np
    >>> few_values(np.array([1.0, 2.0, 1.0, 2.0])), few_values(np.array([0.5, 0.7]))
    (array([1., 2.]), None)
    """
    found: FloatArray = np.unique(values)
    is_category = 1 < len(found) <= min(FEW_VALUES, len(values) // REPEATED)
    return found if is_category else None


def average_at(
    poly: Explicit,
    rows: FloatArray | None,
    features: tuple[int, ...],
    grid: Sequence[FloatArray],
    kind: str = "raw",
) -> FloatArray:
    """Average over the rows, or at the centre: array (g_1, …, g_m, n_outputs)."""
    base = poly.center[None] if rows is None else rows
    with warnings.catch_warnings():
        # The picture itself shows which part the conversion did not see.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        warnings.simplefilter("ignore", MixedRowsWarning)  # once for all panels
        axes = grid[0] if len(features) == 1 else grid
        return partial_dependence(poly, base, features, grid=axes, kind=kind).values


def others_text(rows: FloatArray | None) -> str:
    """Say what becomes of the features that a figure does not show."""
    return "others at their centre" if rows is None else "others averaged over X"
