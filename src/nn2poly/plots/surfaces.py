"""`interaction_surface`: the formula over two features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.rows import warn_mixed
from nn2poly.formula.borders import both_sides, thresholds
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import Column
from nn2poly.plots.column_values import value_text
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import output_label, wrap
from nn2poly.plots.layout import TICKS, describe, panels, tidy
from nn2poly.plots.level_effects import effect_places, need_rows, shown_levels
from nn2poly.plots.level_surfaces import Side, draw_cells
from nn2poly.plots.occupied import BLANK, near_rows, nearest
from nn2poly.plots.ranges import average_at, few_values, others_text, span
from nn2poly.plots.style import BLACK, SMALL_SIZE, sequential, styled
from nn2poly.plots.units import read_rows, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Dots of data on a surface, points of each of its sides, contours (taste).
DOTS, GRID, LEVELS = 400, 80, 12


@styled
def interaction_surface(
    poly: Explicit,
    a: int | str,
    b: int | str,
    *,
    X: Any = None,
    output: int | str = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw an output over two features, as filled contours.

    Parameters
    ----------
    poly
        A polynomial.
    a, b
        Names or indices of two features, across and up; or names of factors, columns with
        levels, which have a cell for each level and need X. So does a feature with at most ten
        values in X: between them is nothing.
    X
        Array or data frame (n, p): the surface covers the range of both features and is
        averaged over the others of these rows, some of which are dots:
        `explain.partial_dependence`. Where no row is near, it is blank, and the colours are
        those of the rest. None: the others stay at the polynomial's centre. The title says
        which.
    output
        Index or name of the output.
    ax
        matplotlib Axes; None for a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidInputError
        When both features are the same.
    UnknownTermError
        When there is no such feature or output.

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> plots.interaction_surface(poly, "rm", "lstat").get_ylabel()
    'lstat'
    """
    checked = check_formula(poly)
    rows = None if X is None else read_rows(checked, X)
    if rows is not None:
        warn_mixed(checked)
    k = output_index(output, checked.output_names)
    found = [effect_places(each, checked) for each in (a, b)]
    pair = (found[0][0][0], found[1][0][0])
    if pair[0] == pair[1]:
        raise InvalidInputError(
            "A surface needs two different features.", where="b", found=f"{a!r} and {b!r}"
        )
    axes = panels(ax, height=2.8)[0]
    if levels := [column for _, column in found if column is not None]:
        rows = need_rows(levels[0], rows)
    sides = [] if rows is None else [_side(checked, *each, rows) for each in found]
    if rows is not None and any(side.levels for side in sides):
        draw_cells(axes, checked, rows, sides[0], sides[1], k)
        warn_below([axes], checked)
        return axes
    across, up = (
        both_sides(
            np.linspace(*span(checked, i, rows), GRID),
            thresholds(checked.tree, int(checked.inputs.column_of[i])),
        )
        for i in pair
    )
    height = np.ma.masked_array(average_at(checked, rows, pair, (across, up))[:, :, k].T)
    if rows is not None:
        x, y = (nearest(grid, rows[:, i]) for grid, i in zip((across, up), pair, strict=True))
        height[~near_rows((y, x), height.shape)] = np.ma.masked
    _draw_surface(axes, across, up, height, output_label(checked, k))
    if rows is not None:
        dots = thin(rows, DOTS)[:, list(pair)]
        axes.scatter(dots[:, 0], dots[:, 1], s=4, color=BLACK, alpha=0.6, linewidths=0)
    axes.set_xlim(across[0], across[-1])
    axes.set_ylim(up[0], up[-1])
    axes.locator_params(axis="x", nbins=TICKS)
    describe(
        axes,
        x=wrap(checked.feature_names[pair[0]], 36, 2),
        y=wrap(checked.feature_names[pair[1]], 30, 2),
        title=_title(checked, rows, blank=np.ma.is_masked(height)),
    )
    tidy(axes)
    warn_below([axes], checked)
    return axes


def _title(poly: Explicit, rows: FloatArray | None, *, blank: bool) -> str:
    said = [others_text(rows)] if poly.n_features > 2 else []
    return "; ".join([*said, BLANK] if blank else said)


def _side(poly: Explicit, places: tuple[int, ...], column: Column | None, rows: FloatArray) -> Side:
    """Give one side of a surface: a number between its ends, few values, or numbers of levels."""
    if column is not None:
        at = (rows[:, list(places)] == poly.inputs.ends()[1][list(places)]).argmax(axis=1)
        shown = np.array(shown_levels(poly, column, places, rows))
        levels = [column.levels[level] for level in shown]
        return Side(column.name, shown.astype(float), np.searchsorted(shown, at), levels)
    name, few = poly.feature_names[places[0]], few_values(rows[:, places[0]])
    if few is not None:
        texts = [value_text(poly, name, value) for value in few.tolist()]
        return Side(name, few, np.searchsorted(few, rows[:, places[0]]), texts)
    points = np.linspace(*span(poly, places[0], rows), GRID)
    return Side(name, points, nearest(points, rows[:, places[0]]))


def _draw_surface(axes: Axes, across: FloatArray, up: FloatArray, height: Any, label: str) -> None:
    shown = height.compressed()
    flat = float(np.ptp(shown)) <= 1e-12 * max(float(np.abs(shown).max()), 1e-300)
    if flat:  # contours of rounding errors would look like a finding
        height = np.ma.masked_array(np.full(height.shape, shown.mean()), height.mask)
    level = float(height.mean())
    steps = [level - 0.5, level + 0.5] if flat else LEVELS
    filled = axes.contourf(across, up, height, levels=steps, cmap=sequential())
    if not flat:
        axes.contour(across, up, height, levels=filled.levels, colors="white", linewidths=0.3)
    bar = axes.figure.colorbar(filled, ax=axes, pad=0.03)
    bar.set_label(label, fontsize=SMALL_SIZE)
    bar.ax.tick_params(labelsize=SMALL_SIZE, width=0.6)
    bar.outline.set_visible(False)
