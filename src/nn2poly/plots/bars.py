"""`importance`: what matters most as bars: terms of one polynomial or several, or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_count
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.ensemble import ensemble
from nn2poly.formula.importance import ranking
from nn2poly.formula.largest import largest
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_single
from nn2poly.plots.column_bars import draw_columns, draw_groups
from nn2poly.plots.column_terms import has_factors
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import output_label, term_labels
from nn2poly.plots.layout import (
    TICKS,
    Panels,
    describe,
    fit_rows,
    is_new,
    name_rows,
    panels,
    result,
    rows_height,
    say,
    tidy,
)
from nn2poly.plots.style import BLACK, NEGATIVE, POSITIVE, SMALL_SIZE, sign_color, styled
from nn2poly.plots.units import chosen_outputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches of the line above a figure that explains its colours.
LEGEND_HEIGHT = 0.2


@dataclass(frozen=True, eq=False)
class Sizes:
    """What the bars show: signed sizes (n_terms, n_outputs), and deviations over members or None.

    ``poly`` is the polynomial, of several their mean; ``text`` says what the sizes measure.
    """

    poly: Polynomial
    values: FloatArray
    deviation: FloatArray | None
    text: str
    members: int


@styled
def importance(
    poly: Explicit | Sequence[Polynomial],
    n: int = 20,
    *,
    output: int | str | None = None,
    X: Any = None,
    intercept: bool = False,
    ax: Any = None,
) -> Axes | Panels:
    """Draw the n terms that matter most as bars, the sign of their coefficients by colour.

    Parameters
    ----------
    poly
        A polynomial; or several of the same features and outputs, of networks that were
        trained alike: bars are then those of the mean polynomial, whiskers one standard
        deviation over the members (of a sample, with m - 1) to either side; a term that a
        polynomial lacks counts as zero. All are put in the coordinates of the first. Of a
        formula with regions the bars are those of its columns, by `explain.importance`: how
        far the outputs move with each, whatever the region. This needs X. Where columns have
        levels, the terms of all levels of a factor are one bar, ``job`` or ``age × job``:
        what single levels do is a matter of how they are coded.
    n
        How many terms; those that do not matter at all are left out.
    output
        Index or name of one output; None draws all, one panel each.
    X
        Array or data frame (m, p): a bar is the standard deviation of the term's contribution
        over (at most 1,000 of) these rows. None: over the sample of the conversion, or, without
        one, the absolute coefficient in the polynomial's own coordinates. The axis says which.
    intercept
        Let the intercept take part, with its absolute value.
    ax
        matplotlib Axes, a sequence of them for several outputs; None for a new figure.

    Returns
    -------
    Axes for one output, array (n_outputs,) of Axes for several

    Raises
    ------
    InvalidInputError
        When polynomials do not go together, the Axes do not fit, or there are regions but no X.

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[1.0], [2.0], [-3.0]], 1, ["rm", "lstat"])
    >>> ax = plots.importance(poly, n=2)
    >>> [float(bar.get_width()) for bar in ax.patches]
    [3.0, 2.0]
    """
    count = check_count(n, where="n")
    if isinstance(poly, PiecewisePolynomial):
        return draw_columns(poly, count, output=output, X=X, intercept=intercept, ax=ax)
    if isinstance(poly, Polynomial) and has_factors(poly):
        return draw_groups(poly, count, output=output, X=X, intercept=intercept, ax=ax)
    sizes = _measure(poly, X, intercept=intercept)
    outputs = chosen_outputs(output, sizes.poly.output_names)
    chosen = [_largest(sizes, k, count) for k in outputs]
    heights = [rows_height(_names(sizes, places)) for places in chosen]
    axes = panels(ax, len(outputs), height=max(*heights, 1.2) + LEGEND_HEIGHT / len(outputs))
    for panel, k, places in zip(axes, outputs, chosen, strict=True):
        _draw(panel, sizes, k, places, own=ax is None)
    shown = [sizes.values[places, k] for k, places in zip(outputs, chosen, strict=True)]
    _explain(axes[0], np.concatenate(shown), sizes.members)
    warn_below(axes, *(poly if isinstance(poly, Sequence) else [poly]))
    return result(axes)


def _measure(poly: Any, X: Any, *, intercept: bool) -> Sizes:
    given = poly if isinstance(poly, Sequence) else [poly]
    members = [check_single(each, verb="drawn") for each in given]
    if not members:
        raise InvalidInputError("There is no polynomial to draw.", where="poly", found="none")
    first, deviation = members[0], None
    if len(members) > 1:
        together = ensemble(members, center=first.center, scale=first.scale)
        first, deviation = together.mean, together.std
    found, size = ranking(first, X), np.abs(first.coefficients)
    if deviation is not None:
        # In the unit of the bars; a term whose mean is 0 has no bar.
        deviation = deviation * np.divide(
            found.sizes, size, out=np.zeros_like(size), where=size > 0
        )
    constant = intercept & (first.terms.orders() == 0)
    values = np.where(constant[:, None], size, found.sizes) * np.sign(first.coefficients)
    return Sizes(first, values, deviation, f"{found.measure}\n{found.where}", len(members))


def _largest(sizes: Sizes, output: int, n: int) -> IntArray:
    size = np.abs(sizes.values[:, output])
    places = largest(size, n)
    return places[size[places] > 0.0]


def _names(sizes: Sizes, places: IntArray, lines: int = 3) -> list[str]:
    terms = [sizes.poly.terms[i] for i in places.tolist()]
    return term_labels(terms, sizes.poly.feature_names, lines=lines)


def _draw(axes: Axes, sizes: Sizes, output: int, places: IntArray, *, own: bool) -> None:
    values, where = sizes.values[places, output], np.arange(len(places))
    spread = None if sizes.deviation is None else sizes.deviation[places, output]
    colors = [sign_color(value) for value in values]
    axes.barh(where, np.abs(values), color=colors, height=0.72)
    if spread is not None:
        axes.errorbar(
            np.abs(values),
            where,
            xerr=spread,
            fmt="none",
            ecolor=BLACK,
            elinewidth=0.8,
            capsize=1.5,
        )
    _sign(axes, values, 0.0 if spread is None else spread)
    labels, size = fit_rows(axes, len(places), lambda m: _names(sizes, places, m), own=own)
    name_rows(axes, labels, size)
    tidy(axes)
    axes.set_xlim(left=0.0)
    axes.margins(x=0.08)
    axes.locator_params(axis="x", nbins=TICKS)
    several = sizes.poly.n_outputs > 1 or sizes.poly.link != "identity"
    title = output_label(sizes.poly, output) if several else ""
    describe(axes, x=sizes.text, title=title)
    if not len(places):
        say(axes, "no term varies")


def _sign(axes: Axes, values: FloatArray, spread: float | FloatArray) -> None:
    """Write the sign beside each bar: colours are lost on some printers."""
    ends = np.abs(values) + spread
    for row, (value, end) in enumerate(zip(values, ends, strict=True)):
        axes.annotate(
            "−" if value < 0 else "+",
            (end, row),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_SIZE,
            color=sign_color(value),
        )


def _explain(axes: Axes, values: FloatArray, members: int) -> None:
    """Tell above the bars what their colours and whiskers are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks = {"positive": (POSITIVE, values >= 0), "negative": (NEGATIVE, values < 0)}
    handles: list[Any] = [
        Patch(color=c, label=text) for text, (c, here) in marks.items() if here.any()
    ]
    if not handles:
        return
    if members > 1:
        whisker = Line2D([], [], color=BLACK, linewidth=0.8, marker="|", markersize=4)
        whisker.set_label(f"mean ± SD of {members} networks")
        handles.append(whisker)
    look: Any = {"handlelength": 1.0, "handleheight": 0.8, "columnspacing": 1.2, "borderpad": 0.1}
    look |= {"handles": handles, "ncols": len(handles)}
    if is_new(axes):
        axes.figure.legend(loc="outside upper right", **look)
    else:
        # A title of given Axes moves up by the line.
        axes.set_title(axes.get_title(loc="left"), loc="left", pad=72 * LEGEND_HEIGHT)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1, **look)
