"""`beeswarm`: what each term, or column, contributes to many rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_count
from nn2poly.arrays import FloatArray
from nn2poly.formula.importance import MAX_ROWS, ranking
from nn2poly.formula.largest import largest
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import output_index
from nn2poly.plots.column_values import goes_by_column, players
from nn2poly.plots.contributions import products_at
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import axis_labels, output_label, term_labels
from nn2poly.plots.layout import (
    describe,
    fit_rows,
    mark_above,
    name_rows,
    panels,
    rows_height,
    say,
    tidy,
)
from nn2poly.plots.style import GREY, SMALL_SIZE, sequential, styled
from nn2poly.plots.units import read_rows, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A swarm spreads over so much of its line, at so many places along it (taste).
SWARM, PLACES = 0.38, 90


@styled
def beeswarm(
    poly: Explicit,
    X: Any,
    *,
    n: int = 10,
    output: int | str = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of the terms over many rows, a dot each.

    The contributions are those of ``poly.contributions``, in the polynomial's own
    coordinates; the colour is the value of the feature; products of several are grey.

    Parameters
    ----------
    poly
        A polynomial. Of one with factors, and of a formula with regions, the dots are the
        Shapley values of its columns (`explain.shapley`, compared with these rows); levels,
        which have no order, are grey.
    X
        Array or data frame (m, p) in raw units; at most 1,000 rows, evenly chosen, are drawn.
    n
        How many terms, or columns: those whose contributions vary most (standard deviation),
        first on top.
    output
        Index or name of the output.
    ax
        matplotlib Axes; None for a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> ax = plots.beeswarm(poly, [[1.0, 2.0], [2.0, 1.5], [0.0, 3.0]])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['rm × lstat', 'rm']
    """
    checked: Explicit = check_formula(poly, verb="drawn")
    k = output_index(output, checked.output_names)
    rows, count = thin(read_rows(checked, X), MAX_ROWS), check_count(n, where="n")
    by_column = goes_by_column(checked)
    find = _column_swarm if by_column else _swarms
    lines, make = find(checked, rows, k, count)

    axes = panels(ax, height=max(rows_height(make(3), extra=0.8) + 0.1 * len(lines), 1.6))[0]
    axes.axvline(0.0, color=GREY, linewidth=0.6, zorder=0)
    dots: Any = None
    for place, line in enumerate(lines):
        look: Any = {"c": GREY} if line.shade is None else {"c": line.shade, "cmap": sequential()}
        look |= {} if line.shade is None else {"vmin": 0, "vmax": 1}
        drawn = axes.scatter(
            line.values, place + _swarm(line.values), s=6, linewidths=0, alpha=0.8,
            rasterized=len(line.values) > 300, **look,
        )  # fmt: skip
        dots = dots if line.shade is None else drawn
    if not lines:
        say(axes, "no column moves the output" if by_column else "no term varies")
    elif dots is not None:
        _color_bar(axes, dots)
    if any(line.shade is None for line in lines):
        grey = "grey: levels, which have no order" if by_column else "grey: products of features"
        mark_above(axes, marker="o", color=GREY, markersize=3, label=grey)
    labels, letters = fit_rows(axes, len(lines), make, own=ax is None)
    name_rows(axes, labels, letters)
    what = "Shapley value for" if by_column else "contribution to"
    describe(axes, x=f"{what} {output_label(checked, k)}")
    tidy(axes)
    warn_below([axes], checked)
    return axes


@dataclass(frozen=True, eq=False)
class _Swarm:
    """One line of dots: values (n,), and their shades (n,) from 0 to 1, or None for grey."""

    values: FloatArray
    shade: FloatArray | None


# The lines, and their names in some lines of text.
_Swarms = tuple[list[_Swarm], Callable[[int], list[str]]]


def _swarms(poly: Any, rows: FloatArray, output: int, n: int) -> _Swarms:
    """Give the terms whose contributions to the output vary most."""
    places = ranking(poly, rows).places(n, output).tolist()
    terms = [poly.terms[place] for place in places]
    made = []
    for place, term in zip(places, terms, strict=True):
        values = products_at(poly, rows, np.array([term]))[:, 0] * poly.coefficients[place, output]
        # A product has several values, and its own is the place of the dot.
        made.append(_Swarm(values, _shade(rows[:, term[0]]) if len({*term}) == 1 else None))
    return made, lambda lines: term_labels(terms, poly.feature_names, lines=lines)


def _column_swarm(poly: Any, rows: FloatArray, output: int, n: int) -> _Swarms:
    """Give the columns whose Shapley values for the output vary most."""
    found = players(poly, rows, rows, output)
    size = found.values.std(axis=0)
    places = largest(size, n)
    kept = places[size[places] > 1e-12 * size.max(initial=0.0)].tolist()
    made = [
        _Swarm(found.values[:, i], _shade(found.data[:, i]) if found.ordered[i] else None)
        for i in kept
    ]
    return made, lambda lines: axis_labels([found.names[i] for i in kept], lines=lines)


def _swarm(x: FloatArray) -> FloatArray:
    """Move dots that would cover each other to either side of their line: offsets (n,)."""
    width = float(np.ptp(x)) or 1.0
    place = np.floor((x - x.min()) / width * (PLACES - 1)).astype(np.intp)
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    rank = np.arange(len(x)) - np.searchsorted(sorted_place, sorted_place)
    # 0, 1, -1, 2, -2, …: the first dot of a place stays on the line.
    offset = np.empty(len(x))
    offset[order] = (rank + 1) // 2 * np.where(rank % 2, 1.0, -1.0)
    tallest = max(float(np.abs(offset).max()), 8.0)
    result: FloatArray = SWARM * offset / tallest
    return result


def _shade(values: FloatArray) -> FloatArray:
    """Scale values to 0 … 1 between their 5 % and 95 % quantiles."""
    low, high = np.quantile(values, [0.05, 0.95])
    if high == low:
        low, high = values.min(), values.max()
    shades: FloatArray = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
    return shades


def _color_bar(axes: Axes, dots: Any) -> None:
    bar = axes.figure.colorbar(dots, ax=axes, pad=0.02, aspect=35, ticks=[0, 1])
    bar.ax.set_yticklabels(["low", "high"], fontsize=SMALL_SIZE)
    bar.ax.tick_params(length=0)
    bar.set_label("feature value", fontsize=SMALL_SIZE, labelpad=-8)
    bar.outline.set_visible(False)
