"""`waterfall`: what each term, or column, contributes to one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_count, plural
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.importance import MAX_ROWS
from nn2poly.formula.largest import largest
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import frame_columns, read_array
from nn2poly.plots.column_terms import column_names, column_terms, column_value, has_factors
from nn2poly.plots.column_values import (
    goes_by_column,
    players,
    value_labels,
    value_text,
    with_value,
)
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import WIDTH, number, output_label, term_labels, wrap
from nn2poly.plots.layout import describe, fit_rows, name_rows, panels, rows_height, tidy
from nn2poly.plots.style import BLACK, GREY, PALE, SMALL_SIZE, sign_color, styled
from nn2poly.plots.units import read_rows, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Steps that are shown so that what is left is not the largest: a page (taste).
MOST_STEPS = 30
# Letters and lines of a region's rule; inches of a line (taste).
TITLE, TITLE_HEIGHT = (34, 6), 0.14


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
    the polynomial's own coordinates, those of all levels of a factor together; the intercept is
    the prediction at its centre, and ``poly.rebase(…)`` moves it. With X from the average
    prediction, column by column.

    Parameters
    ----------
    poly
        A polynomial; of a formula with regions the terms are those of the region of this row.
    x
        One row in raw units: array (p,) or (1, p), list, labelled Series, or frame of one row.
    X
        Array or data frame (m, p): what the row is compared with (at most 1,000 rows, evenly
        spaced). The steps are then the Shapley values of the columns by `explain.shapley`,
        whatever the regions and however levels are coded. None: the terms.
    n
        How many steps, largest first; the rest is one bar. Where that would be the largest,
        more steps are shown, up to 30.
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
    places, left = _shown(steps.values, check_count(n, where="n"))
    rest = [float(steps.values[left].sum())] if len(left) else []

    def make(lines: int) -> list[str]:
        others = [plural(len(left), f"other {steps.unit}")] if len(left) else []
        return [steps.begin, *steps.names(places.tolist(), lines), *others, "prediction"]

    above = TITLE_HEIGHT * (1 + steps.title.count("\n")) * bool(steps.title)
    axes = panels(ax, height=max(rows_height(make(3)), 1.4) + above)[0]
    _draw_steps(axes, steps.start, [*steps.values[places].tolist(), *rest])
    labels, letters = fit_rows(axes, len(places) + len(rest) + 2, make, own=ax is None)
    name_rows(axes, labels, letters)
    describe(axes, x=output_label(checked, k), title=steps.title)
    tidy(axes, left=False)
    warn_below([axes], checked)
    return axes


def _shown(values: FloatArray, n: int) -> tuple[IntArray, IntArray]:
    """Choose the steps that have a bar, largest first, and those that share one.

    More than n, up to a limit, as long as the shared bar would be the largest of all.
    """
    order = largest(np.abs(values), max(n, MOST_STEPS))
    order = order[values[order] != 0.0]
    varying = np.flatnonzero(values)
    for count in range(min(n, len(order)), len(order) + 1):
        # The rest is summed on its own: a difference of large sums would lose digits.
        left = varying[~np.isin(varying, order[:count])]
        if abs(float(values[left].sum())) <= np.abs(values[order[:1]]).max(initial=0.0):
            return order[:count], left
    return order, left


@dataclass(frozen=True, eq=False)
class _Steps:
    """What leads from a start to a prediction: values (m,), and names of some in some lines."""

    start: float
    values: FloatArray
    names: Callable[[list[int], int], list[str]]
    begin: str
    unit: str
    title: str = ""


def _term_steps(formula: Explicit, row: FloatArray, output: int) -> _Steps:
    """Give the terms of the polynomial that holds at a row (p,)."""
    if isinstance(formula, PiecewisePolynomial):
        region = formula.at(row)
        rule = f"region {region.number}: {region.rule}".replace(" -", " −")
        poly, title = region.polynomial, wrap(rule, *TITLE)
    else:
        poly, title = formula, ""
    values = _contributions(poly, row[None], output)[0]
    if has_factors(poly):
        return _group_steps(poly, row, values, title)
    constant = poly.terms.orders() == 0
    return _Steps(
        float(values[constant].sum()),
        np.where(constant, 0.0, values),
        lambda places, lines: _names_with(
            [poly.terms[i] for i in places], poly.feature_names, lambda j: number(row[j]), lines
        ),
        "intercept",
        "term",
        title,
    )


def _group_steps(poly: Polynomial, row: FloatArray, values: FloatArray, title: str) -> _Steps:
    """Put the contributions (n_terms,) of all levels of a factor together."""
    groups = column_terms(poly)
    start = float(values[groups.pop((), np.zeros(0, dtype=np.intp))].sum())
    keys, columns = list(groups), column_names(poly)

    def value(column: int) -> str:
        return wrap(
            value_text(poly, columns[column], column_value(poly, column, row)), WIDTH - 3, 1
        )

    def names(places: list[int], lines: int) -> list[str]:
        return _names_with([keys[place] for place in places], columns, value, lines)

    sums = np.array([float(values[places].sum()) for places in groups.values()])
    return _Steps(start, sums, names, "intercept", "term", title)


def _column_steps(
    formula: Explicit, row: FloatArray, background: FloatArray, output: int
) -> _Steps:
    """Give the Shapley values of the columns at a row (p,)."""
    found = players(formula, row[None], background, output)
    names, data = found.names, found.data[0].tolist()
    return _Steps(
        found.base,
        found.values[0],
        lambda places, lines: value_labels(
            formula, [names[i] for i in places], [data[i] for i in places], lines
        ),
        "average over X",
        "column" if goes_by_column(formula) else "feature",
    )


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


def products_at(poly: Polynomial, rows: FloatArray, variables: IntArray) -> FloatArray:
    """Evaluate terms of one degree, given by their variables (t, degree): array (n, t)."""
    z = poly.inputs.to_working(rows)
    values = np.ones((len(z), len(variables)))
    for column in variables.T:
        values *= z[:, column]
    return values


def _contributions(poly: Polynomial, rows: FloatArray, output: int) -> FloatArray:
    """Give the contributions (n, n_terms) to one output; for few rows."""
    parts = [products_at(poly, rows, variables) for _, variables in poly.terms.by_degree()]
    result: FloatArray = np.concatenate(parts, axis=1) * poly.coefficients[:, output]
    return result


def _names_with(
    terms: list[tuple[int, ...]], names: Sequence[str], value: Callable[[int], str], lines: int
) -> list[str]:
    """Name terms; one of a single feature, or column, with its value in words."""
    labels = term_labels(terms, names, lines=lines)
    return [
        with_value(label, value(term[0]), lines) if len(term) == 1 else label
        for label, term in zip(labels, terms, strict=True)
    ]


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
