"""`waterfall` and `beeswarm`: what each term contributes, to one row or to all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_count, plural
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.importance import MAX_ROWS, ranking
from nn2poly.formula.largest import largest
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import frame_columns, read_array
from nn2poly.plots.column_values import players, value_label
from nn2poly.plots.labels import WIDTH, number, output_label, term_label, wrap
from nn2poly.plots.layout import describe, fit_rows, name_rows, panels, rows_height, say, tidy
from nn2poly.plots.style import BLACK, GREY, PALE, SMALL_SIZE, sequential, sign_color, styled
from nn2poly.plots.units import read_rows, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A swarm spreads over so much of its line, at so many places along it (taste).
SWARM, PLACES = 0.38, 90


@styled
def waterfall(
    poly: Explicit,
    x: Any,
    *,
    X: Any = None,
    n: int = 10,
    output: int | str = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw how terms, or columns, lead to one prediction.

    Without X from the intercept, term by term: the contributions of ``poly.contributions``, in
    the polynomial's own coordinates; the intercept is the prediction at its centre, and
    ``poly.rebase(…)`` moves it. With X from the average prediction, column by column.

    Parameters
    ----------
    poly
        A polynomial; of a formula with regions the terms are those of the region of this row.
    x
        One row in raw units: array (p,) or (1, p), list, labelled Series, or frame of one row.
    X
        Array or data frame (m, p): what the row is compared with (at most 1,000 rows, evenly
        spaced). The steps are then the Shapley values of the columns (of a polynomial: of its
        features) by `explain.shapley`, whatever the regions. None: the terms.
    n
        How many steps, largest first; the rest is one bar.
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
        When x is not one row of p numbers.

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> ax = plots.waterfall(poly, [1.0, 2.0])
    >>> [float(bar.get_width()) for bar in ax.patches]
    [6.0, 2.0]
    """
    checked: Explicit = check_formula(poly)
    k = output_index(output, checked.output_names)
    row = _one_row(checked, x)
    if X is None:
        steps = _term_steps(checked, row, k)
    else:
        steps = _column_steps(checked, row, thin(read_rows(checked, X), MAX_ROWS), k)
    places = largest(np.abs(steps.values), check_count(n, where="n"))
    places = places[steps.values[places] != 0.0]
    # Everything else, summed on its own: a difference of large sums would lose digits.
    left = np.flatnonzero(steps.values)
    left = left[~np.isin(left, places)]
    rest = [float(steps.values[left].sum())] if len(left) else []

    def make(lines: int) -> list[str]:
        others = [plural(len(left), f"other {steps.unit}")] if len(left) else []
        named = [steps.name(i, lines) for i in places.tolist()]
        return [steps.begin, *named, *others, "prediction"]

    axes = panels(ax, height=max(rows_height(make(3)), 1.4) + 0.25 * bool(steps.title))[0]
    _draw_steps(axes, steps.start, [*steps.values[places].tolist(), *rest])
    labels, letters = fit_rows(axes, len(places) + len(rest) + 2, make, own=ax is None)
    name_rows(axes, labels, letters)
    describe(axes, x=output_label(checked, k), title=steps.title)
    tidy(axes, left=False)
    return axes


@dataclass(frozen=True, eq=False)
class _Steps:
    """What leads from a start to a prediction: values (m,), and how to name each in some lines."""

    start: float
    values: FloatArray
    name: Callable[[int, int], str]
    begin: str
    unit: str
    title: str = ""


def _term_steps(formula: Explicit, row: FloatArray, output: int) -> _Steps:
    """Give the terms of the polynomial that holds at a row (p,)."""
    if isinstance(formula, PiecewisePolynomial):
        region = formula.at(row)
        poly, title = region.polynomial, wrap(f"region {region.number}: {region.rule}", 58, 2)
    else:
        poly, title = formula, ""
    values = _contributions(poly, row[None], output)[0]
    constant = poly.terms.orders() == 0
    return _Steps(
        float(values[constant].sum()),
        np.where(constant, 0.0, values),
        lambda i, lines: _with_value(poly, poly.terms[i], row, lines),
        "intercept",
        "term",
        title,
    )


def _column_steps(
    formula: Explicit, row: FloatArray, background: FloatArray, output: int
) -> _Steps:
    """Give the Shapley values of the columns at a row (p,)."""
    found = players(formula, row[None], background, output)
    names, data = found.names, found.data[0].tolist()
    return _Steps(
        found.base,
        found.values[0],
        lambda i, lines: value_label(formula, names[i], data[i], lines),
        "average over X",
        "column" if isinstance(formula, PiecewisePolynomial) else "feature",
    )


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
    coordinates; the colour is the value of the feature, of the first one in a product.

    Parameters
    ----------
    poly
        A polynomial. Of a formula with regions the dots are the Shapley values of its columns
        (`explain.shapley`, compared with these rows); levels, which have no order, are grey.
    X
        Array or data frame (m, p) in raw units; at most 1,000 rows, evenly spaced, are drawn.
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
    piecewise = isinstance(checked, PiecewisePolynomial)
    lines = (
        _column_swarm(checked, rows, k, count) if piecewise else _swarms(checked, rows, k, count)
    )

    def make(m: int) -> list[str]:
        return [line.name(m) for line in lines]

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
        say(axes, "no column moves the output" if piecewise else "no term varies")
    elif dots is not None:
        _color_bar(axes, dots)
    labels, letters = fit_rows(axes, len(lines), make, own=ax is None)
    name_rows(axes, labels, letters)
    what = "Shapley value for" if piecewise else "contribution to"
    describe(axes, x=f"{what} {output_label(checked, k)}")
    tidy(axes)
    return axes


@dataclass(frozen=True, eq=False)
class _Swarm:
    """One line of dots: values (n,), their shades (n,) from 0 to 1 or None, and its name."""

    values: FloatArray
    shade: FloatArray | None
    name: Callable[[int], str]


def _swarms(poly: Any, rows: FloatArray, output: int, n: int) -> list[_Swarm]:
    """Give the terms whose contributions to the output vary most."""
    made = []
    for place in ranking(poly, rows).places(n, output).tolist():
        term = poly.terms[place]
        values = _term_values(poly, rows, np.array([term]))[:, 0]
        name = partial(_term_name, term, poly.feature_names)
        coefficient = poly.coefficients[place, output]
        made.append(_Swarm(values * coefficient, _shade(rows[:, term[0]]), name))
    return made


def _term_name(term: Sequence[int], names: Sequence[str], lines: int) -> str:
    return term_label(term, names, lines=lines)


def _column_swarm(poly: Any, rows: FloatArray, output: int, n: int) -> list[_Swarm]:
    """Give the columns whose Shapley values for the output vary most."""
    found = players(poly, rows, rows, output)
    size = found.values.std(axis=0)
    places = largest(size, n)
    return [
        _Swarm(
            found.values[:, i],
            _shade(found.data[:, i]) if found.ordered[i] else None,
            partial(wrap, found.names[i], WIDTH),
        )
        for i in places[size[places] > 1e-12 * size.max(initial=0.0)].tolist()
    ]


def _one_row(poly: Explicit, x: Any) -> FloatArray:
    """Read one row, however it is given."""
    if frame_columns(x) is not None:
        table = x
    elif hasattr(type(x), "iloc"):
        table = x.to_frame().T.infer_objects()
    else:
        values = read_array(x, "x")
        table = values.reshape(1, -1) if values.ndim < 2 else values
    rows = read_rows(poly, table, where="x")
    if len(rows) != 1:
        raise InvalidInputError(
            "A waterfall shows one row.",
            where="x",
            expected="1 row",
            found=f"{len(rows)} rows",
            remedy="pass X[i] or X.iloc[[i]]; beeswarm(poly, X) shows many",
        )
    row: FloatArray = rows[0]
    return row


def _term_values(poly: Polynomial, rows: FloatArray, variables: IntArray) -> FloatArray:
    """Evaluate terms of one degree, given by their variables (t, degree): array (n, t)."""
    z = poly.inputs.to_working(rows)
    values = np.ones((len(z), len(variables)))
    for column in variables.T:
        values *= z[:, column]
    return values


def _contributions(poly: Polynomial, rows: FloatArray, output: int) -> FloatArray:
    """Give the contributions (n, n_terms) to one output; for few rows."""
    parts = [_term_values(poly, rows, variables) for _, variables in poly.terms.by_degree()]
    result: FloatArray = np.concatenate(parts, axis=1) * poly.coefficients[:, output]
    return result


def _with_value(poly: Polynomial, term: tuple[int, ...], row: FloatArray, lines: int) -> str:
    """Name a term; one of a single feature with its value, when the line holds it."""
    label = term_label(term, poly.feature_names, lines=lines)
    if len(term) != 1:
        return label
    value = f" = {number(row[term[0]])}"
    if len(label.rpartition("\n")[2] + value) <= WIDTH:
        return label + value
    return label if lines < 2 else f"{label}\n{value.strip()}"


def _draw_steps(axes: Axes, start: float, steps: list[float]) -> None:
    ends = start + np.concatenate([[0.0], np.cumsum(steps)])
    for line, (begin, step) in enumerate(zip(ends, steps, strict=False), start=1):
        axes.barh(line, step, left=begin, height=0.72, color=sign_color(step))
        axes.plot([begin, begin], [line - 1.36, line + 0.36], color=GREY, linewidth=0.5, zorder=0)
    last = len(steps) + 1
    axes.plot([ends[-1]] * 2, [last - 1.36, last], color=GREY, linewidth=0.5, zorder=0)
    axes.plot(ends[[0, -1]], [0, last], "D", color=BLACK, markersize=3.5)
    values = [number(start), *(f"{'+' * (s >= 0)}{number(s)}" for s in steps), number(ends[-1])]
    edges = [start, *np.maximum(ends[:-1], ends[1:]), ends[-1]]
    for line, (edge, text) in enumerate(zip(edges, values, strict=True)):
        axes.annotate(
            text, (edge, line), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize=SMALL_SIZE,
        )  # fmt: skip
    low, high = float(ends.min()), float(ends.max())
    width = (high - low) or 1.0
    # The numbers stand to the right of their bars.
    axes.set_xlim(low - 0.05 * width, high + 0.3 * width)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", color=PALE, linewidth=0.4)


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
