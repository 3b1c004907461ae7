"""`region_map`: an output over two columns, with the borders of the regions."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.borders import thresholds
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.region_tree import level_names, middles, paths, region_of
from nn2poly.formula.term_names import output_index
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import axis_labels, output_label, plain_lines, wrap
from nn2poly.plots.layout import ESCAPED, as_text, describe, panels, tidy
from nn2poly.plots.level_effects import effect_places, shown_levels
from nn2poly.plots.ranges import span
from nn2poly.plots.style import BLACK, SMALL_SIZE, TINY_SIZE, sequential, styled
from nn2poly.plots.units import read_rows, thin, typical_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Cells along a number, dots of data, letters of a level (taste); inches that a region's number
# takes, across and up.
CELLS, DOTS, NAME_WIDTH, ROOM = 160, 300, 14, (0.14, 0.13)
# Letters and lines of what is said of the other columns (taste).
SAID, LINES = 62, 3


@dataclass(frozen=True, eq=False)
class _Axis:
    """One column of the map.

    Parameters
    ----------
    column, places
        Its number, and its features.
    edges
        Array (g + 1,) of the edges of cells: numbers, or half steps between levels.
    settings
        Array (g, width): values of the features in each cell.
    levels
        Names of levels; none of a number.
    """

    column: int
    places: tuple[int, ...]
    edges: FloatArray
    settings: FloatArray
    levels: tuple[str, ...]


@styled
def region_map(
    formula: Explicit,
    a: int | str,
    b: int | str,
    *,
    X: Any = None,
    output: int | str = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw an output over two columns as colours, with borders and numbers of the regions.

    The other columns stay at typical values, which the title tells: those that decide about
    regions first.

    Parameters
    ----------
    formula
        A formula with regions; a polynomial is one region.
    a, b
        Names of two columns, or indices of features, across and up; a column with levels has a
        stripe for each.
    X
        Array or data frame (n, p): the map covers the range of both columns; typical values are
        their means, and the most frequent levels; some rows are dots. None: the range that the
        conversion saw, and the formula's centre.
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
        When both columns are the same.
    UnknownTermError
        When there is no such column or output.

    Examples
    --------
    >>> from nn2poly import PiecewisePolynomial, Polynomial, plots
    >>> from nn2poly.formula.region_tree import Leaf, Split
    >>> night, day = (Polynomial([[20.0], [1.0], [k]], 1, ["hour", "temp"]) for k in (2.0, 5.0))
    >>> rentals = PiecewisePolynomial(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), (night, day))
    >>> ax = plots.region_map(rentals, "hour", "temp", X=[[0.0, 10.0], [23.0, 30.0]])
    >>> [text.get_text() for text in ax.texts]
    ['0', '1']
    """
    checked: Explicit = check_formula(formula, "formula", verb="drawn")
    rows = None if X is None else read_rows(checked, X)
    k = output_index(output, checked.output_names)
    across, up = (_axis(checked, each, rows) for each in (a, b))
    if across.column == up.column:
        raise InvalidInputError(
            "A map needs two different columns.", where="b", found=f"{a!r} and {b!r}"
        )
    typical = checked.center if rows is None else typical_row(rows, checked.inputs)
    cells = _cells(across, up, _shown(checked, typical))
    shape = len(up.settings), len(across.settings)
    values = checked.raw_outputs(cells)[:, k].reshape(shape)
    numbers = region_of(checked.tree, checked.inputs, cells).reshape(shape)
    axes = panels(ax, height=3.1, width=4.2)[0]
    _color(axes, across, up, values, output_label(checked, k))
    _draw_borders(axes, across, up, numbers)
    if rows is not None and not across.levels and not up.levels:
        dots = thin(rows, DOTS)[:, [across.places[0], up.places[0]]]
        axes.scatter(dots[:, 0], dots[:, 1], s=2, color=BLACK, alpha=0.35, linewidths=0)
    _name_axes(axes, checked, across, up)
    _number_regions(axes, across, up, numbers)
    title = _said(checked, cells[0], {across.column, up.column})
    axes.set_title(title, fontsize=SMALL_SIZE, loc="left", wrap=True, **ESCAPED)
    warn_below([axes], checked)
    return axes


def _axis(formula: Explicit, wanted: Any, rows: FloatArray | None) -> _Axis:
    inputs = formula.inputs
    # A level by its index stands for its factor: moved alone, it would show two levels, or none.
    column = int(inputs.column_of[effect_places(wanted, formula)[0][0]])
    places = inputs.places[column]
    if inputs.columns[column].kind == "number":
        low, high = span(formula, places[0], rows)
        inside = [cut for cut in thresholds(formula.tree, column) if low < cut < high]
        # Every threshold is an edge: a cell is in one region.
        edges: FloatArray = np.unique(np.append(np.linspace(low, high, CELLS + 1), inside))
        return _Axis(column, places, edges, ((edges[1:] + edges[:-1]) / 2)[:, None], ())
    (low_, high_), names = inputs.ends(), level_names(inputs, column)
    off, on = low_[list(places)], high_[list(places)]
    if len(places) == 1:
        settings, shown = np.stack([off, on]), tuple(name.replace("-", "−") for name in names)
    else:
        levels = shown_levels(formula, inputs.columns[column], places, rows)
        settings = np.where(np.eye(len(places))[levels], on, off)
        shown = tuple(names[level] for level in levels)
    return _Axis(column, places, np.arange(len(shown) + 1.0) - 0.5, settings, shown)


def _shown(formula: Explicit, row: FloatArray) -> FloatArray:
    """Let every factor of a row (p,), such as a centre, show exactly one level, its largest."""
    low, high = formula.inputs.ends()
    found = row.copy()
    for places in formula.inputs.indicators():
        here = list(places)
        share = (row[here] - low[here]) / (high[here] - low[here])
        on = share >= 0.5 if len(here) == 1 else np.arange(len(here)) == share.argmax()
        found[here] = np.where(on, high[here], low[here])
    return found


def _cells(across: _Axis, up: _Axis, typical: FloatArray) -> FloatArray:
    """List a row (p,) for each cell, from the bottom, left to right: (n_up n_across, p)."""
    shape = len(up.settings), len(across.settings)
    cells = np.tile(typical, (shape[0] * shape[1], 1))
    row, column = np.divmod(np.arange(len(cells)), shape[1])
    cells[:, across.places] = across.settings[column]
    cells[:, up.places] = up.settings[row]
    return cells


def _color(axes: Axes, across: _Axis, up: _Axis, values: FloatArray, label: str) -> None:
    mesh = axes.pcolormesh(
        across.edges, up.edges, values, cmap=sequential(), rasterized=True, linewidth=0
    )
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.03)
    bar.set_label(label, fontsize=SMALL_SIZE)
    bar.ax.tick_params(labelsize=SMALL_SIZE, width=0.6)
    bar.outline.set_visible(False)


def _draw_borders(axes: Axes, across: _Axis, up: _Axis, numbers: IntArray) -> None:
    """Draw the edges of cells between which the region changes."""
    from matplotlib.collections import LineCollection

    x, y = across.edges, up.edges
    upright = np.argwhere(numbers[:, 1:] != numbers[:, :-1])
    level = np.argwhere(numbers[1:] != numbers[:-1])
    lines = [[(x[j + 1], y[i]), (x[j + 1], y[i + 1])] for i, j in upright.tolist()]
    lines += [[(x[j], y[i + 1]), (x[j + 1], y[i + 1])] for i, j in level.tolist()]
    # White around black is seen on any colour.
    for color, width in (("white", 2.2), (BLACK, 1.0)):
        axes.add_collection(
            LineCollection(lines, colors=color, linewidths=width, capstyle="projecting")
        )


def _name_axes(axes: Axes, formula: Explicit, across: _Axis, up: _Axis) -> None:
    names = [formula.inputs.columns[axis.column].name for axis in (across, up)]
    describe(axes, x=wrap(names[0], 36, 2), y=wrap(names[1], 30, 2))
    axes.set_xlim(across.edges[0], across.edges[-1])
    axes.set_ylim(up.edges[0], up.edges[-1])
    tidy(axes)
    for levels, write, turn in (
        (across.levels, axes.set_xticks, 90),
        (up.levels, axes.set_yticks, 0),
    ):
        if levels:
            size = float(np.clip(90 / len(levels), TINY_SIZE, SMALL_SIZE))
            crowded = sum(map(len, levels)) > 40
            write(
                range(len(levels)), axis_labels(levels, NAME_WIDTH, 1), fontsize=size,
                rotation=turn if crowded else 0,
            )  # fmt: skip
    as_text(axes)


def _number_regions(axes: Axes, across: _Axis, up: _Axis, numbers: IntArray) -> None:
    """Write the number of each region in the middle of its part, where there is room."""
    sides = axes.bbox.width, axes.bbox.height
    for region in np.unique(numbers).tolist():
        here = numbers == region
        middle = []
        for edges, part, side, room in zip(
            (across.edges, up.edges), (here.any(axis=0), here.any(axis=1)), sides, ROOM, strict=True
        ):
            begin, end = edges[_longest_run(part)]
            inches = (end - begin) / (edges[-1] - edges[0]) * side / axes.figure.dpi
            middle += [(begin + end) / 2] if inches > room else []
        if len(middle) == 2:
            axes.text(
                middle[0], middle[1], str(region), ha="center", va="center", fontsize=SMALL_SIZE,
                bbox={"boxstyle": "round,pad=0.15", "color": "white", "alpha": 0.8, "linewidth": 0},
            )  # fmt: skip


def _longest_run(part: Any) -> list[int]:
    """Give first edge and last edge of the longest run of cells: levels may lie apart."""
    steps = np.diff(np.concatenate([[0], part.astype(int), [0]]))
    begins, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    best = int((ends - begins).argmax())
    return [int(begins[best]), int(ends[best])]


def _said(formula: Explicit, row: FloatArray, drawn: set[int]) -> str:
    """Tell where the other columns are, those that decide about regions first."""
    inputs = formula.inputs
    splits = (split for path in paths(formula.tree).values() for split, _ in path)
    order = dict.fromkeys([*(split.column for split in splits), *range(len(inputs.columns))])
    others = [column for column in order if column not in drawn]
    if not others:
        return ""
    texts = [f"{inputs.columns[c].name} {_value_text(formula, row, c)}" for c in others]
    for count in range(len(texts), 0, -1):
        more = "" if count == len(texts) else f", and {len(texts) - count} more"
        text = f"others at typical values: {', '.join(texts[:count])}{more}"
        # A number is not broken at its minus or its point.
        lines = textwrap.wrap(text, SAID, break_on_hyphens=False)
        if len(lines) <= LINES:
            break
    return plain_lines(lines[:LINES])


def _value_text(formula: Explicit, row: FloatArray, column: int) -> str:
    inputs = formula.inputs
    places = list(inputs.places[column])
    if inputs.columns[column].kind == "number":
        return f"{row[places[0]]:.4g}".replace("-", "−", 1)
    on = row[places] >= middles(inputs)[places]
    return level_names(inputs, column)[int(on[0]) if len(places) == 1 else int(on.argmax())]
