"""`effects` and `interaction_surface`: the polynomial along one feature, or over two."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_choice
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError, MixedRowsWarning, OutsideRangeWarning
from nn2poly.explain.accumulated import ale
from nn2poly.explain.dependence import partial_dependence
from nn2poly.explain.rows import warn_mixed
from nn2poly.formula.borders import both_sides, thresholds
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import Column, frame_columns
from nn2poly.plots.labels import output_label, wrap
from nn2poly.plots.layout import DENSITY_TO, Panels, density, describe, panels, result, tidy
from nn2poly.plots.level_effects import draw_levels, effect_places, most_important, need_rows
from nn2poly.plots.level_surfaces import Side, draw_cells
from nn2poly.plots.style import BLACK, BLUE, GREEN, PALE, SMALL_SIZE, sequential, styled
from nn2poly.plots.units import read_rows, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Dots of data on a surface, points of a curve and of each side of a surface, contours (taste).
DOTS, POINTS, GRID, LEVELS = 400, 200, 80, 12
# What a curve shows: partial dependence, or accumulated local effects.
KINDS = ("average", "local")
# Up to so many values a feature gets a dot at each (taste).
FEW_VALUES = 10
# Without data and without a calibrated range, a feature runs so many scales around its centre:
# 95 % of a normal one.
REACH = 2.0


@styled
def effects(
    poly: Explicit,
    feature: int | str | Sequence[int | str] | None = None,
    *,
    X: Any = None,
    output: int | str = 0,
    kind: str = "average",
    ax: Any = None,
) -> Axes | Panels:
    """Draw the effect of one feature on an output, with the density of its data.

    Parameters
    ----------
    poly
        A polynomial, or a formula with regions.
    feature
        Name or index; or several of them, one panel each; None: the columns that matter most,
        at most six. The name of a factor, a column with levels, gives a dot for each level:
        the average prediction with that level on in every row. This needs X. Where the regions
        of a formula meet, the curve jumps: it is broken, and thin dots join its ends.
    X
        Array or data frame (n, p): the curve runs over the feature's range and is averaged over
        the other features of these rows: `explain.partial_dependence`. None: the others stay
        at the polynomial's centre. The title says which. Where the curve leaves the range that
        the conversion saw, the background is grey.
    output
        Index or name of the output.
    kind
        ``"average"``: the average prediction; ``"local"``: accumulated local effects
        (`explain.ale`), which stay near the rows where features go together. These need X, and
        numbers or yes/no.
    ax
        matplotlib Axes, a sequence of them for several features; None for a new figure.

    Returns
    -------
    Axes for one feature, array (n_features,) of Axes for several

    Raises
    ------
    InvalidInputError
        When there are levels or local effects to draw, but no X.
    UnknownTermError
        When there is no such feature or output.

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> ax = plots.effects(poly, "rm", X=[[0.0, 1.0], [1.0, 3.0]])
    >>> ax.lines[0].get_ydata()[[0, -1]]
    array([1., 9.])
    """
    checked = check_formula(poly)
    _check_feature(feature)
    local = check_choice(kind, KINDS, name="kind") == "local"
    if local and X is None:
        raise InvalidInputError("Local effects are those of rows.", where="X", found="None")
    rows = None if X is None else read_rows(checked, X)
    k = output_index(output, checked.output_names)
    wanted = [feature] if isinstance(feature, str) or not isinstance(feature, Sequence) else feature
    drawn = most_important(checked, X) if feature is None else wanted
    chosen = [effect_places(each, checked) for each in drawn]
    if not chosen:
        raise InvalidInputError("There is no feature to draw.", where="feature", found="none")
    if rows is not None and not local:
        warn_mixed(checked)
    axes = panels(ax, len(chosen), columns=3, height=2.4)
    for panel, (places, column) in zip(axes, chosen, strict=True):
        if local and rows is not None:
            _draw_local(panel, checked, places[0] if column is None else column.name, k, rows)
        elif column is None:
            _draw_effect(panel, checked, places[0], k, rows)
        else:
            draw_levels(panel, checked, column, places, k, rows)
    return result(axes)


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
        levels, which have a cell for each level and need X.
    X
        Array or data frame (n, p): the surface covers the range of both features and is
        averaged over the others of these rows, some of which are dots:
        `explain.partial_dependence`. None: the others stay at the polynomial's centre. The
        title says which.
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
    k = output_index(output, checked.output_names)
    found = [effect_places(each, checked) for each in (a, b)]
    pair = (found[0][0][0], found[1][0][0])
    if pair[0] == pair[1]:
        raise InvalidInputError(
            "A surface needs two different features.", where="b", found=f"{a!r} and {b!r}"
        )
    if rows is not None:
        warn_mixed(checked)
    axes = panels(ax, height=2.8)[0]
    if levels := [column for _, column in found if column is not None]:
        shown = need_rows(levels[0], rows)
        one, other = (_side(checked, places, column, shown) for places, column in found)
        draw_cells(axes, checked, shown, one, other, k)
        return axes
    across, up = (
        both_sides(
            np.linspace(*span(checked, i, rows), GRID),
            thresholds(checked.tree, int(checked.inputs.column_of[i])),
        )
        for i in pair
    )
    height = _average(checked, rows, pair, (across, up))[:, :, k].T
    _draw_surface(axes, across, up, height, output_label(checked, k))
    if rows is not None:
        dots = thin(rows, DOTS)[:, list(pair)]
        axes.scatter(dots[:, 0], dots[:, 1], s=4, color=BLACK, alpha=0.6, linewidths=0)
    axes.set_xlim(across[0], across[-1])
    axes.set_ylim(up[0], up[-1])
    describe(
        axes,
        x=wrap(checked.feature_names[pair[0]], 36, 2),
        y=wrap(checked.feature_names[pair[1]], 30, 2),
        title=_others(rows) if checked.n_features > 2 else "",
    )
    tidy(axes)
    return axes


def _check_feature(feature: Any) -> None:
    """Refuse a table in the place of a feature."""
    rows = isinstance(feature, list | tuple) and any(isinstance(r, list | tuple) for r in feature)
    if rows or np.ndim(feature) > 1 or frame_columns(feature) is not None:
        raise InvalidInputError(
            "A table stands in the place of a feature.",
            where="feature",
            expected="a name or an index, or a list of them",
            found=type(feature).__name__,
            remedy="pass the rows by name: effects(poly, X=X)",
        )


def _side(poly: Explicit, places: tuple[int, ...], column: Column | None, rows: FloatArray) -> Side:
    """Give one side of a surface: a number between its ends, or the numbers of levels."""
    if column is not None:
        return Side(column.name, np.arange(float(len(places))), column.levels)
    return Side(poly.feature_names[places[0]], np.linspace(*span(poly, places[0], rows), GRID))


def _average(
    poly: Explicit,
    rows: FloatArray | None,
    features: tuple[int, ...],
    grid: Sequence[FloatArray],
) -> FloatArray:
    """Average over the rows, or at the centre: array (g_1, …, g_m, n_outputs)."""
    base = poly.center[None] if rows is None else rows
    with warnings.catch_warnings():
        # The picture itself shows which part the conversion did not see.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        warnings.simplefilter("ignore", MixedRowsWarning)  # once for all panels
        axes = grid[0] if len(features) == 1 else grid
        return partial_dependence(poly, base, features, grid=axes).values


def span(poly: Explicit, feature: int, rows: FloatArray | None) -> tuple[float, float]:
    """Choose the range of a feature: of the data, of the calibration, or around the centre.

    Examples
    --------
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


def _others(rows: FloatArray | None) -> str:
    return "others at their centre" if rows is None else "others averaged over X"


def _draw_effect(
    axes: Axes, poly: Explicit, feature: int, output: int, rows: FloatArray | None
) -> None:
    low, high = span(poly, feature, rows)
    cuts = thresholds(poly.tree, int(poly.inputs.column_of[feature]))
    grid = both_sides(np.linspace(low, high, POINTS), cuts)
    values = None if rows is None else np.unique(rows[:, feature])
    few = values if values is not None and len(values) <= FEW_VALUES else None
    # Between the values of a category the curve means nothing.
    style = "-" if few is None else ":"
    curve = _average(poly, rows, (feature,), (grid,))[:, output]
    _draw_curve(
        axes, grid, curve, np.searchsorted(grid, [c for c in cuts if low < c <= high]), style
    )
    axes.set_xlim(low, high)
    if rows is not None:
        bottom, top = axes.get_ylim()
        # The density goes below the curve.
        axes.set_ylim(bottom - DENSITY_TO * (top - bottom), top)
        _draw_density(axes, rows[:, feature])
    if few is not None:
        dots = _average(poly, rows, (feature,), (few,))[:, output]
        axes.plot(few, dots, "o", color=BLUE, markersize=4, clip_on=False)
    _shade_unseen(axes, poly, feature, low, high)
    describe(
        axes,
        x=wrap(poly.feature_names[feature], 30, 3),
        y=output_label(poly, output, length=24),
        title=_others(rows) if poly.n_features > 1 else "",
    )
    axes.locator_params(nbins=5)
    tidy(axes)


def _draw_local(
    axes: Axes, poly: Explicit, feature: int | str, output: int, rows: FloatArray
) -> None:
    with warnings.catch_warnings():
        # The picture itself shows which part the conversion did not see.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        found = ale(poly, rows, feature)
    place = poly.feature_names.index(found.feature_name)
    style = "-" if len(found.grid) > FEW_VALUES else "o:"
    axes.plot(found.grid, found.values[:, output], style, color=BLUE, markersize=4)
    low, high = span(poly, place, rows)
    axes.set_xlim(low, high)
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom - DENSITY_TO * (top - bottom), top)
    _draw_density(axes, rows[:, place])
    _shade_unseen(axes, poly, place, low, high)
    describe(
        axes,
        x=wrap(found.feature_name, 30, 3),
        y=output_label(poly, output, length=24),
        title="local effects, 0 on average",
    )
    axes.locator_params(nbins=5)
    tidy(axes)


def _draw_curve(
    axes: Axes, grid: FloatArray, curve: FloatArray, jumps: IntArray, style: str
) -> None:
    """Draw a curve that jumps before some of its points: in pieces, joined by thin dots."""
    gap = np.full(len(jumps), np.nan)
    axes.plot(np.insert(grid, jumps, gap), np.insert(curve, jumps, gap), style, color=BLUE)
    for place in jumps.tolist():
        sides = slice(place - 1, place + 1)
        axes.plot(grid[sides], curve[sides], ":", color=BLUE, linewidth=0.7)


def _draw_density(axes: Axes, values: FloatArray) -> None:
    edges, heights = density(values, *axes.get_xlim())
    tops = (DENSITY_TO - 0.04) * np.append(heights, heights[-1])
    axes.fill_between(
        edges, 0.0, tops, step="post", color=GREEN, alpha=0.6, linewidth=0,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip


def _shade_unseen(axes: Axes, poly: Explicit, feature: int, low: float, high: float) -> None:
    """Grey what the conversion did not see."""
    if poly.low is None or poly.high is None:
        return
    seen = float(poly.low[feature]), float(poly.high[feature])
    for begin, end in ((low, min(seen[0], high)), (max(seen[1], low), high)):
        if begin < end:
            axes.axvspan(begin, end, color=PALE, alpha=0.6, linewidth=0, zorder=0)


def _draw_surface(
    axes: Axes, across: FloatArray, up: FloatArray, height: FloatArray, label: str
) -> None:
    flat = float(np.ptp(height)) <= 1e-12 * max(float(np.abs(height).max()), 1e-300)
    if flat:  # contours of rounding errors would look like a finding
        height = np.full_like(height, height.mean())
    level = float(height.mean())
    steps = [level - 0.5, level + 0.5] if flat else LEVELS
    filled = axes.contourf(across, up, height, levels=steps, cmap=sequential())
    if not flat:
        axes.contour(across, up, height, levels=filled.levels, colors="white", linewidths=0.3)
    bar = axes.figure.colorbar(filled, ax=axes, pad=0.03)
    bar.set_label(label, fontsize=SMALL_SIZE)
    bar.ax.tick_params(labelsize=SMALL_SIZE, width=0.6)
    bar.outline.set_visible(False)
