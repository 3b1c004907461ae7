"""`effects`: the formula along one feature, and its network beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.rows import warn_mixed
from nn2poly.formula.borders import both_sides, thresholds
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import Column, frame_columns, read_either
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import number, output_label, wrap
from nn2poly.plots.layout import (
    DENSITY_TO,
    ONE_COLUMN,
    TWO_COLUMNS,
    Panels,
    density,
    describe,
    is_new,
    panels,
    result,
    tidy,
)
from nn2poly.plots.level_effects import (
    draw_levels,
    draw_shares,
    effect_places,
    most_important,
    upright_height,
)
from nn2poly.plots.network_curves import POINTS as NETWORK_POINTS
from nn2poly.plots.network_curves import Compared, compare, draw_network, name_curves
from nn2poly.plots.ranges import average_at, few_values, others_text, span
from nn2poly.plots.style import BLUE, GREEN, PALE, styled
from nn2poly.plots.units import read_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points of a curve, panels side by side, inches of a panel (taste).
POINTS, COLUMNS, HEIGHT = 200, 3, 2.4
# Share of the range that is left free around dots (taste).
DOT_MARGIN = 0.08
# Share of the range from which on a flat end of a curve is seen (taste).
FLAT = 0.02
# Inches that numbers and names take from the width of a panel, about.
BESIDE = 0.3
Shown = tuple[tuple[int, ...], Column | None]


@styled
def effects(
    poly: Explicit,
    feature: int | str | Sequence[int | str] | None = None,
    *,
    X: Any = None,
    output: int | str = 0,
    model: Any = None,
    kind: str = "raw",
    ax: Any = None,
) -> Axes | Panels:
    """Draw the effect of one feature on an output, with the density of its data.

    Several panels have the same scale: a flat curve is a feature that does little.

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
    model
        The network, as `nn2poly.convert` takes it: its own curve is drawn beside, dashed, and as
        a ring around each dot; averaged over the same rows, of more than 5,000 an even choice.
    kind
        The scale: ``"raw"`` outputs, before the link; of a classifier ``"probability"``, of a
        target with a link ``"target"``, averaged row by row: the average of a curve is not the
        curve of an average.
    ax
        matplotlib Axes, a sequence of them for several features; None for a new figure.

    Returns
    -------
    Axes for one feature, array (n_features,) of Axes for several

    Raises
    ------
    InvalidInputError
        When there are levels to draw, but no X; when model and formula do not go together.
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
    scale = checked.outputs.check_scale(kind)
    compared = None if model is None else compare(model, checked, X, scale)
    rows = None if X is None else _read(checked, X, compared)
    if rows is not None:
        warn_mixed(checked)
    k = output_index(output, checked.output_names)
    wanted = [feature] if isinstance(feature, str) or not isinstance(feature, Sequence) else feature
    drawn = most_important(checked, X) if feature is None else wanted
    chosen = [effect_places(each, checked) for each in drawn]
    if not chosen:
        raise InvalidInputError("There is no feature to draw.", where="feature", found="none")
    axes = panels(ax, len(chosen), columns=COLUMNS, height=_height(checked, chosen, rows))
    for panel, (places, column) in zip(axes, chosen, strict=True):
        if column is None:
            _draw_effect(panel, checked, places[0], k, rows, compared, scale)
        else:
            draw_levels(panel, checked, column, places, k, rows, compared, scale)
    _share_heights(axes, 0.0 if rows is None else DENSITY_TO)
    if rows is not None:
        for panel, (places, column) in zip(axes, chosen, strict=True):
            _draw_rows(panel, checked, places, rows, column)
    _describe(axes, checked, k, others_text(rows), scale)
    if compared is not None:
        name_curves(axes[min(len(axes), COLUMNS) - 1])
    warn_below(axes, checked)
    return result(axes)


def _height(poly: Explicit, chosen: Sequence[Shown], rows: FloatArray | None) -> float:
    """Give the inches of a panel: names of levels that stand upright make their row taller."""
    side = min(len(chosen), COLUMNS)
    width = (ONE_COLUMN if side == 1 else TWO_COLUMNS / side) - BESIDE
    extra = [
        0.0 if column is None else upright_height(poly, column, places, rows, width)
        for places, column in chosen
    ]
    tallest = [max(extra[i : i + side]) for i in range(0, len(extra), side)]
    return HEIGHT + sum(tallest) / len(tallest)


def _read(poly: Explicit, X: Any, compared: Compared | None) -> FloatArray:
    """Read rows (n, p), with a network at hand by its names too."""
    if compared is None:
        return read_rows(poly, X)
    return read_either(X, poly.inputs, compared.network.inputs)


def _share_heights(axes: list[Axes], below: float) -> None:
    """Give all panels the same scale, with room for the data below the curves."""
    bottom = min(panel.get_ylim()[0] for panel in axes)
    top = max(panel.get_ylim()[1] for panel in axes)
    for panel in axes:
        panel.set_ylim(bottom - below * (top - bottom), top)


def _draw_rows(
    axes: Axes, poly: Explicit, places: tuple[int, ...], rows: FloatArray, column: Column | None
) -> None:
    """Draw where the data are, at the bottom."""
    if column is not None:
        draw_shares(axes, poly, column, places, rows)
    else:
        _draw_density(axes, rows[:, places[0]])


def _describe(axes: list[Axes], poly: Explicit, output: int, title: str, kind: str) -> None:
    """Say once per row of a new figure what goes up, and once what becomes of the others."""
    for place, panel in enumerate(axes):
        first = place % COLUMNS == 0 or not is_new(panel)
        y = output_label(poly, output, length=24, kind=kind) if first else ""
        once = poly.n_features > 1 and (place == 0 or not is_new(panel))
        describe(panel, x=panel.get_xlabel(), y=y, title=title if once else "")
        panel.locator_params(axis="y", nbins=5)
        tidy(panel)
        panel.tick_params(axis="y", labelleft=first)


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


def _draw_effect(
    axes: Axes,
    poly: Explicit,
    feature: int,
    output: int,
    rows: FloatArray | None,
    compared: Compared | None,
    kind: str,
) -> None:
    low, high = span(poly, feature, rows)
    cuts = thresholds(poly.tree, int(poly.inputs.column_of[feature]))
    grid = both_sides(np.linspace(low, high, POINTS), cuts)
    few = None if rows is None else few_values(rows[:, feature])
    # Between the values of a category the curve means nothing.
    style = "-" if few is None else ":"
    curve = average_at(poly, rows, (feature,), (grid,), kind)[:, output]
    _draw_curve(
        axes, grid, curve, np.searchsorted(grid, [c for c in cuts if low < c <= high]), style
    )
    # Dots at the ends stay off the frame.
    margin = 0.0 if few is None else DOT_MARGIN * (high - low)
    axes.set_xlim(low - margin, high + margin)
    if few is not None:
        dots = average_at(poly, rows, (feature,), (few,), kind)[:, output]
        axes.plot(few, dots, "o", color=BLUE, markersize=4, clip_on=False)
    if compared is not None:
        asked = np.linspace(low, high, NETWORK_POINTS) if few is None else few
        draw_network(axes, compared, feature, output, asked, few=few is not None)
    _shade_unseen(axes, poly, feature, low, high)
    held = _held_text(poly, feature, low, high) if few is None else ""
    axes.set_xlabel(wrap(poly.feature_names[feature], 30, 3) + held)
    if few is not None:
        axes.set_xticks(few, [number(value) for value in few])
    else:
        axes.locator_params(axis="x", nbins=5)


def _held_text(poly: Explicit, feature: int, low: float, high: float) -> str:
    """Say where the formula holds a feature, if the curve is flat there."""
    function = poly.inputs.coordinates[feature].function
    beyond = max(function.low - low, high - function.high)
    if not function.is_bounded or beyond <= FLAT * (high - low):
        return ""
    return f"\nheld within {number(function.low)} … {number(function.high)}"


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
