"""The panel of a factor in `effects`: one dot per level; and which columns have a panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.dependence import average_answers
from nn2poly.explain.levels import level_averages
from nn2poly.formula.importance import ranking
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.term_names import parse_term
from nn2poly.inputs import Column
from nn2poly.plots.column_values import column_moves
from nn2poly.plots.labels import axis_labels, wrap
from nn2poly.plots.layout import DENSITY_TO, as_text
from nn2poly.plots.network_curves import Compared, draw_rings
from nn2poly.plots.style import BLUE, GREEN, PALE, SMALL_SIZE, TINY_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Columns drawn when none is named: two rows of panels; letters of a level's name (taste).
MAX_COLUMNS, NAME_WIDTH = 6, 16
# Inches of a letter and of a line of ticks, in small type.
LETTER, LINE = 0.06, 0.125


def most_important(poly: Explicit, X: Any) -> list[str]:
    """Name the columns that matter most, a factor once, by the order of their features.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> most_important(Polynomial([[0.0], [1.0], [-2.0]], 1, ["a", "b"]), None)
    ['b', 'a']
    """
    if isinstance(poly, PiecewisePolynomial):
        remedy = "pass X=…, or name the columns: effects(poly, ['hour'])"
        return list(column_moves(poly, X, remedy=remedy))[:MAX_COLUMNS]
    numbers = poly.inputs.column_of[list(ranking(poly, X).features(poly))].tolist()
    return [poly.inputs.columns[i].name for i in list(dict.fromkeys(numbers))[:MAX_COLUMNS]]


def effect_places(feature: Any, poly: Explicit) -> tuple[tuple[int, ...], Column | None]:
    """Find a feature by name or index, or a factor by name: its features, and the factor.

    One level of a factor is drawn with the others: by itself it would be switched on beside
    another, or none.
    """
    pairs = zip(poly.inputs.columns, poly.inputs.places, strict=True)
    factors = [(column, places) for column, places in pairs if column.kind == "factor"]
    # The indices are those of features.
    extra = [column.name for column, _ in factors] if isinstance(feature, str) else []
    place = parse_term((feature,), (*poly.feature_names, *extra))[0]
    if place >= poly.n_features:
        column, places = factors[place - poly.n_features]
        return places, column
    mine = ((places, column) for column, places in factors if place in places)
    return next(mine, ((place,), None))


def draw_levels(
    axes: Axes,
    poly: Explicit,
    column: Column,
    places: tuple[int, ...],
    output: int,
    rows: FloatArray | None,
    compared: Compared | None,
    kind: str = "raw",
) -> None:
    """Draw the average prediction with each level on; a ring is the network's.

    Grey are levels that the conversion did not see.
    """
    given = need_rows(column, rows)
    features, (low, high) = list(places), poly.inputs.ends()
    levels = shown_levels(poly, column, places, given)
    on = np.eye(len(features), dtype=bool)[levels]
    settings = np.where(on, high[features], low[features])
    if kind == "raw":
        averages = level_averages(poly, given, places, low[features], high[features])[levels]
    else:
        averages = average_answers(poly, given, features, settings, kind)
    x = np.arange(float(len(levels)))
    axes.plot(x, averages[:, output], "o", color=BLUE, markersize=4, clip_on=False)
    if compared is not None:
        draw_rings(axes, x, compared.average_at(places, settings)[:, output])
    axes.set_xlim(-0.5, len(levels) - 0.5)
    for place in np.flatnonzero(~_seen(poly, column, places)[levels]).tolist():
        axes.axvspan(place - 0.5, place + 0.5, color=PALE, alpha=0.6, linewidth=0, zorder=0)
    axes.set_xlabel(wrap(column.name, 30, 3))
    _name_levels(axes, [column.levels[level] for level in levels])


def shown_levels(
    poly: Explicit, column: Column, places: tuple[int, ...], rows: FloatArray | None
) -> list[int]:
    """List the levels that some row has, or that the conversion saw: of others nothing is known."""
    known = _seen(poly, column, places)
    if rows is not None:
        known = known | _marks(poly, places, rows).any(axis=0)
    return np.flatnonzero(known).tolist() or list(range(len(places)))


def _seen(poly: Explicit, column: Column, places: tuple[int, ...]) -> BoolArray:
    """Tell which levels (width,) the conversion saw; all, where it is not known."""
    if column.ranges is None:
        return np.ones(len(places), dtype=np.bool_)
    off = poly.inputs.ends()[0][list(places)]
    ends = zip(column.ranges, off, strict=True)
    return np.array([range_ != (low, low) for range_, low in ends], dtype=np.bool_)


def _marks(poly: Explicit, places: tuple[int, ...], rows: FloatArray) -> BoolArray:
    """Mark the level of each row: array (n, width)."""
    found: BoolArray = rows[:, list(places)] == poly.inputs.ends()[1][list(places)]
    return found


def need_rows(column: Column, rows: FloatArray | None) -> FloatArray:
    """Give the rows that predictions are averaged over, or say that there are none."""
    if rows is not None:
        return rows
    raise InvalidInputError(
        f"The levels of {column.name!r} need data: predictions are averaged over its rows.",
        where="X",
        expected="rows, as an array or a data frame",
        found="None",
        remedy="pass X=, for example the training inputs",
    )


def draw_shares(
    axes: Axes, poly: Explicit, column: Column, places: tuple[int, ...], rows: FloatArray
) -> None:
    """Draw how many rows have each level, at the bottom, the largest as tall as a density."""
    shares = _marks(poly, places, rows).mean(axis=0)[shown_levels(poly, column, places, rows)]
    heights = (DENSITY_TO - 0.04) * shares / max(float(shares.max()), 1e-300)
    axes.bar(
        np.arange(len(shares)), heights, width=0.6, color=GREEN, alpha=0.6, linewidth=0,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip


def upright_height(
    poly: Explicit,
    column: Column,
    places: tuple[int, ...],
    rows: FloatArray | None,
    width: float,
) -> float:
    """Give the inches that the names of levels take below an axis of some width, if upright."""
    levels = shown_levels(poly, column, places, rows)
    names = axis_labels([column.levels[level] for level in levels], NAME_WIDTH, 1)
    return max(map(len, names)) * LETTER if _are_upright(names, width) else 0.0


def _are_upright(names: Sequence[str], width: float) -> bool:
    return max(map(len, names)) * LETTER > width / len(names)


def _name_levels(axes: Axes, levels: Sequence[str]) -> None:
    """Write the levels side by side, or upright where that is too narrow."""
    names = axis_labels(levels, NAME_WIDTH, 1)
    width = float(axes.bbox.width) / axes.figure.dpi
    each, upright = width / len(names), _are_upright(names, width)
    size = float(np.clip(SMALL_SIZE * each / LINE, TINY_SIZE, SMALL_SIZE))
    axes.set_xticks(range(len(names)), names, fontsize=size, rotation=90 if upright else 0)
    axes.tick_params(axis="x", length=0)
    as_text(axes)
