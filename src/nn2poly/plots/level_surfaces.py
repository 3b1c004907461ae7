"""The surface of `interaction_surface` where columns have levels or few values: a cell for each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import MixedRowsWarning, OutsideRangeWarning
from nn2poly.explain.dependence import partial_dependence
from nn2poly.formula.piecewise import Explicit
from nn2poly.plots.labels import axis_labels, output_label, wrap
from nn2poly.plots.layout import as_text, describe
from nn2poly.plots.occupied import BLANK, near_rows
from nn2poly.plots.style import SMALL_SIZE, sequential

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters of a level's name (taste).
NAME_WIDTH = 16
# Letters of all names of an axis that has room for them side by side (taste).
SIDE_BY_SIDE = 24


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a surface.

    The name of its column, its points (g,), the nearest of them for each row (n,), and the names
    of its points if they are levels, or few.
    """

    name: str
    points: FloatArray
    places: IntArray
    levels: Sequence[str] = ()

    @property
    def drawn(self) -> FloatArray:
        """Where its points stand (g,): levels one after the other."""
        return np.arange(float(len(self.levels))) if self.levels else self.points


def draw_cells(
    axes: Axes, poly: Explicit, rows: FloatArray, across: Side, up: Side, output: int
) -> None:
    """Draw the average prediction over the rows at every pair of points that has rows near."""
    with warnings.catch_warnings():
        # The rows are the user's choice.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        warnings.simplefilter("ignore", MixedRowsWarning)  # the plot gives it, once
        grid = [across.points, up.points]
        found = partial_dependence(poly, rows, [across.name, up.name], grid=grid)
    height = np.ma.masked_array(found.values[:, :, output].T)
    levels = bool(up.levels), bool(across.levels)
    shown = near_rows((up.places, across.places), height.shape, levels=levels)
    height[~shown] = np.ma.masked
    cells = axes.pcolormesh(
        across.drawn, up.drawn, height, cmap=sequential(), shading="nearest", rasterized=True
    )
    bar = axes.figure.colorbar(cells, ax=axes, pad=0.03)
    bar.set_label(output_label(poly, output), fontsize=SMALL_SIZE)
    bar.ax.tick_params(labelsize=SMALL_SIZE, width=0.6)
    bar.outline.set_visible(False)
    axes.set_xlim(*_ends(across))
    axes.set_ylim(*_ends(up))
    title = "others averaged over X" + ("" if shown.all() else f"\n{BLANK}")
    describe(axes, x=wrap(across.name, 36, 2), y=wrap(up.name, 30, 2), title=title)
    for side, ticks, turned in ((across, axes.set_xticks, 90), (up, axes.set_yticks, 0)):
        if side.levels:
            names = axis_labels(side.levels, NAME_WIDTH, 1)
            turned = turned if sum(map(len, names)) > SIDE_BY_SIDE else 0
            ticks(side.drawn, names, fontsize=SMALL_SIZE, rotation=turned)
    as_text(axes)


def _ends(side: Side) -> tuple[float, float]:
    """Give the ends of an axis: half a level, or half a step, around its points."""
    points = side.drawn
    half = (float(points[1] - points[0]) if len(points) > 1 else 1.0) / 2
    return float(points[0]) - half, float(points[-1]) + half
