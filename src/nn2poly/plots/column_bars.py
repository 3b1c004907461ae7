"""The bars of `importance` by column: for a formula with regions, or with factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.plots.column_terms import Group, column_names, group_sizes
from nn2poly.plots.column_values import column_moves
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import axis_labels, output_label, term_labels
from nn2poly.plots.layout import (
    TICKS,
    Panels,
    describe,
    fit_rows,
    name_rows,
    panels,
    result,
    rows_height,
    say,
    tidy,
)
from nn2poly.plots.style import BLUE
from nn2poly.plots.units import chosen_outputs, read_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bar = TypeVar("Bar", str, Group)
# From what some bars stand for to their names, in a number of lines.
Naming = Callable[[list[Bar], int], list[str]]


def draw_columns(
    poly: PiecewisePolynomial,
    n: int,
    *,
    output: int | str | None,
    X: Any,
    intercept: bool,
    ax: Any,
) -> Axes | Panels:
    """Draw the n columns with which each output moves most; see `importance`."""
    if intercept:
        raise InvalidInputError(
            "A formula with regions has one intercept in each of them, and no bar for it.",
            where="intercept",
            expected="False",
            found="True",
            remedy="draw the terms of one region: poly.regions[0].polynomial",
        )
    moves = column_moves(poly, X, remedy="pass X=…, the rows over which outputs move")
    text = "standard deviation of what\nmoves with the column, over X"
    return _draw_all(poly, moves, _name_columns, n, output, text, ax)


def draw_groups(
    poly: Polynomial, n: int, *, output: int | str | None, X: Any, intercept: bool, ax: Any
) -> Axes | Panels:
    """Draw the n groups of terms that matter most, all levels of a factor as one."""
    sizes, text = group_sizes(poly, None if X is None else read_rows(poly, X))
    if intercept and poly.terms.ends[1]:
        sizes[()] = np.abs(poly.coefficients[0])
    columns = column_names(poly)

    def name(groups: list[Group], lines: int) -> list[str]:
        return term_labels(groups, columns, lines=lines)

    return _draw_all(poly, sizes, name, n, output, text, ax)


def _name_columns(names: list[str], lines: int) -> list[str]:
    return axis_labels(names, lines=lines)


def _draw_all(
    poly: Explicit,
    moves: dict[Bar, FloatArray],
    name: Naming[Bar],
    n: int,
    output: int | str | None,
    text: str,
    ax: Any,
) -> Axes | Panels:
    """Draw one panel for each output."""
    outputs = chosen_outputs(output, poly.output_names)
    chosen = [_largest({bar: float(v[k]) for bar, v in moves.items()}, n) for k in outputs]
    heights = [rows_height(name(list(each), 3)) for each in chosen]
    axes = panels(ax, len(outputs), height=max(*heights, 1.2))
    several = poly.n_outputs > 1 or poly.link != "identity"
    for panel, k, sizes in zip(axes, outputs, chosen, strict=True):
        _draw(panel, sizes, name, own=ax is None)
        describe(panel, x=text, title=output_label(poly, k) if several else "")
    warn_below(axes, poly)
    return result(axes)


def _largest(sizes: dict[Bar, float], n: int) -> dict[Bar, float]:
    kept = sorted(sizes, key=lambda bar: -sizes[bar])[:n]
    return {bar: sizes[bar] for bar in kept if sizes[bar] > 0.0}


def _draw(axes: Axes, sizes: dict[Bar, float], name: Naming[Bar], *, own: bool) -> None:
    axes.barh(np.arange(len(sizes)), list(sizes.values()), color=BLUE, height=0.72)
    labels, letters = fit_rows(axes, len(sizes), lambda lines: name(list(sizes), lines), own=own)
    name_rows(axes, labels, letters)
    tidy(axes)
    axes.set_xlim(left=0.0)
    axes.locator_params(axis="x", nbins=TICKS)
    if not sizes:
        say(axes, "no column moves the output")
