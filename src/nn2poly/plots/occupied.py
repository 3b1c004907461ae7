"""Which cells of a surface have rows near them."""

from __future__ import annotations

from itertools import product

import numpy as np

from nn2poly.arrays import FloatArray, IntArray

# What a title says of cells that are left out.
BLANK = "blank: no rows near"
# A row stands for a disc around it that on average has so many rows in it, and for at most and
# at least such a share of a side: 1,350 rows and more, 54 rows and fewer (taste).
ROWS_NEAR, MOST_CELLS, LEAST_CELLS = 6, 15, 3
# A side with no more values than this has gaps between them, not holes (taste).
FEW_VALUES = 40


def nearest(points: FloatArray, values: FloatArray) -> IntArray:
    """Find the nearest of ascending points (g,) for each value: array (n,).

    Examples
    --------
    >>> nearest(np.array([0.0, 1.0, 2.0]), np.array([0.4, 0.6, 7.0]))
    array([0, 1, 2])
    """
    found: IntArray = np.searchsorted((points[1:] + points[:-1]) / 2, values)
    return found


def near_rows(
    places: tuple[IntArray, IntArray],
    shape: tuple[int, int],
    *,
    levels: tuple[bool, bool] = (False, False),
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Mark the cells (g, h) of a grid that have a row near them.

    Parameters
    ----------
    places
        Cells of the rows along both sides, arrays (n,).
    shape
        Cells of both sides.
    levels
        Sides whose neighbours are not near each other.

    Examples
    --------
    >>> near_rows((np.array([0]), np.array([1])), (2, 3), levels=(True, True))
    array([[False,  True, False],
           [False, False, False]])
    """
    first, second = (
        0 if level else _reach(place, count)
        for place, count, level in zip(places, shape, levels, strict=True)
    )
    # A frame as wide as the reach, so that nothing leaves the grid.
    near = np.zeros((shape[0] + 2 * first, shape[1] + 2 * second), dtype=np.bool_)
    cells = np.unique(np.stack(places), axis=1)
    for i, j in product(range(-first, first + 1), range(-second, second + 1)):
        if (i / max(first, 1)) ** 2 + (j / max(second, 1)) ** 2 <= 1.0:
            near[cells[0] + first + i, cells[1] + second + j] = True
    return near[first : first + shape[0], second : second + shape[1]]


def _reach(places: IntArray, count: int) -> int:
    """Choose how many cells around a row are near it."""
    parts = np.clip(np.sqrt(len(places) / ROWS_NEAR), LEAST_CELLS, MOST_CELLS)
    values = np.unique(places)
    gap = float(np.median(np.diff(values))) if 1 < len(values) <= FEW_VALUES else 0.0
    return int(np.ceil(max(count / (2 * parts), gap / 2)))
