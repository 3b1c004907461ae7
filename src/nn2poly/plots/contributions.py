"""`waterfall` and `beeswarm`: what each term contributes, to one row or to all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_count, plural
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.importance import MAX_ROWS, ranking
from nn2poly.formula.largest import largest
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_formula, check_single
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import frame_columns, read_array
from nn2poly.plots.labels import WIDTH, number, output_label, term_label
from nn2poly.plots.layout import describe, fit_rows, name_rows, panels, rows_height, say, tidy
from nn2poly.plots.style import BLACK, GREY, PALE, SMALL_SIZE, sequential, sign_color, styled
from nn2poly.plots.units import read_rows, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A swarm spreads over so much of its line, at so many places along it (taste).
SWARM, PLACES = 0.38, 90


@styled
def waterfall(
    poly: Polynomial,
    x: Any,
    *,
    n: int = 10,
    output: int | str = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the terms of a polynomial lead from its intercept to one prediction.

    The contributions are those of ``poly.contributions``, in the polynomial's own
    coordinates; the intercept is the prediction at its centre. ``poly.rebase(…)`` moves it.

    Parameters
    ----------
    poly
        A polynomial.
    x
        One row in raw units: array (p,) or (1, p), list, labelled Series, or frame of one row.
    n
        How many terms, largest contributions first; the rest is one bar.
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
    checked = check_formula(poly)
    k = output_index(output, checked.output_names)
    row = _one_row(checked, x)
    if isinstance(checked, PiecewisePolynomial):
        checked = checked.at(row).polynomial
    values = _contributions(checked, row[None], k)[0]
    constant = checked.terms.orders() == 0
    start = float(values[constant].sum())
    size = np.where(constant, 0.0, np.abs(values))
    places = largest(size, check_count(n, where="n"))
    places = places[size[places] > 0.0]
    # Everything else, summed on its own: a difference of large sums would lose digits.
    left = np.flatnonzero(size)
    left = left[~np.isin(left, places)]
    steps = [*values[places].tolist(), *([float(values[left].sum())] if len(left) else [])]

    def make(lines: int) -> list[str]:
        named = [_with_value(checked, checked.terms[i], row, lines) for i in places.tolist()]
        rest = [f"{plural(len(left), 'other term')}"] if len(left) else []
        return ["intercept", *named, *rest, "prediction"]

    axes = panels(ax, height=max(rows_height(make(3)), 1.4))[0]
    _draw_steps(axes, start, steps)
    labels, letters = fit_rows(axes, len(steps) + 2, make, own=ax is None)
    name_rows(axes, labels, letters)
    describe(axes, x=output_label(checked, k))
    tidy(axes, left=False)
    return axes


@styled
def beeswarm(
    poly: Polynomial,
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
        A polynomial.
    X
        Array or data frame (m, p) in raw units; at most 1,000 rows, evenly spaced, are drawn.
    n
        How many terms: those whose contributions vary most (standard deviation), first on top.
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
    checked = check_single(poly, verb="drawn")
    k = output_index(output, checked.output_names)
    rows = thin(read_rows(checked, X), MAX_ROWS)
    places = ranking(checked, rows).places(check_count(n, where="n"), k)
    terms = [checked.terms[i] for i in places.tolist()]

    def make(lines: int) -> list[str]:
        return [term_label(term, checked.feature_names, lines=lines) for term in terms]

    axes = panels(ax, height=max(rows_height(make(3), extra=0.8) + 0.1 * len(terms), 1.6))[0]
    axes.axvline(0.0, color=GREY, linewidth=0.6, zorder=0)
    dots = None
    for line, (place, term) in enumerate(zip(places.tolist(), terms, strict=True)):
        x = _term_values(checked, rows, np.array([term]))[:, 0] * checked.coefficients[place, k]
        dots = axes.scatter(
            x, line + _swarm(x), c=_shade(rows[:, term[0]]), cmap=sequential(), vmin=0, vmax=1,
            s=6, linewidths=0, alpha=0.8, rasterized=len(x) > 300,
        )  # fmt: skip
    if dots is None:
        say(axes, "no term varies")
    else:
        _color_bar(axes, dots)
    labels, letters = fit_rows(axes, len(terms), make, own=ax is None)
    name_rows(axes, labels, letters)
    describe(axes, x=f"contribution to {output_label(checked, k)}")
    tidy(axes)
    return axes


def _one_row(poly: Polynomial, x: Any) -> FloatArray:
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
