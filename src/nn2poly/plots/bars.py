"""`importance`: the largest coefficients as bars, of one polynomial or of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.algebra.terms import Terms
from nn2poly.arguments import check_count
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.sparse import largest
from nn2poly.plots.labels import output_label, term_label
from nn2poly.plots.layout import (
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
from nn2poly.plots.style import BLACK, NEGATIVE, POSITIVE, SMALL_SIZE, sign_color, styled
from nn2poly.plots.units import (
    align,
    check_polynomial,
    chosen_outputs,
    in_units,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows that the legend takes, and where it begins, as a share of the longest bar; its inches.
LEGEND_ROWS, LEGEND_FROM, LEGEND_HEIGHT = 3, 0.55, 0.5


@dataclass(frozen=True, eq=False)
class Sizes:
    """Mean coefficients (n_terms, n_outputs) of an ensemble, and their deviations or None."""

    first: Polynomial
    terms: Terms
    mean: FloatArray
    deviation: FloatArray | None
    text: str
    members: int


@styled
def importance(
    poly: Polynomial | Sequence[Polynomial],
    n: int = 20,
    *,
    output: int | str | None = None,
    X: Any = None,
    intercept: bool = False,
    ax: Any = None,
) -> Axes | Panels:
    """Draw the n largest coefficients as bars, the sign by colour.

    Parameters
    ----------
    poly
        A polynomial; or several of the same features and outputs, of networks that were
        trained alike: bars are then means, whiskers one standard deviation (of a sample,
        with m - 1) to either side; a term that a polynomial lacks counts as zero. Without X
        all are put in the coordinates of the first.
    n
        How many terms, by absolute (mean) coefficient; those that are zero are left out.
    output
        Index or name of one output; None draws all, one panel each.
    X
        Array or data frame (m, p): coefficients per standard deviation of its columns, which
        makes them comparable (a constant column keeps its unit). None: in the polynomial's own
        coordinates; those of a calibrated one are centred and scaled already. The axis says
        which.
    intercept
        Let the intercept take part.
    ax
        matplotlib Axes, a sequence of them for several outputs; None for a new figure.

    Returns
    -------
    Axes for one output, array (n_outputs,) of Axes for several

    Raises
    ------
    InvalidInputError
        When polynomials do not go together, or the Axes do not fit.

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[1.0], [2.0], [-3.0]], 1, ["rm", "lstat"])
    >>> ax = plots.importance(poly, n=2)
    >>> [float(bar.get_width()) for bar in ax.patches]
    [3.0, 2.0]
    """
    sizes = _measure(poly, X)
    count = check_count(n, where="n")
    outputs = chosen_outputs(output, sizes.first.output_names)
    chosen = [_largest(sizes, k, count, intercept) for k in outputs]
    heights = [rows_height(_names(sizes, places)) for places in chosen]
    crowded = _crowded(sizes, chosen[0], outputs[0])
    axes = panels(ax, len(outputs), height=max(*heights, 1.2) + LEGEND_HEIGHT * crowded)
    for panel, k, places in zip(axes, outputs, chosen, strict=True):
        _draw(panel, sizes, k, places, own=ax is None)
    _explain(axes[0], sizes, sizes.mean[chosen[0], outputs[0]], crowded=crowded, own=ax is None)
    return result(axes)


def _measure(poly: Any, X: Any) -> Sizes:
    members = [*poly] if isinstance(poly, Sequence) else [poly]
    if not members:
        raise InvalidInputError("There is no polynomial to draw.", where="poly", found="none")
    first, text = in_units(members[0], X)
    rest = [check_polynomial(member) for member in members[1:]]
    for index, member in enumerate(rest, start=1):
        _check_alike(first, member, index)
    same = [first, *(member.rebase(first.center, first.scale) for member in rest)]
    terms, values = align(same)
    deviation = values.std(axis=0, ddof=1) if len(same) > 1 else None
    return Sizes(first, terms, values.mean(axis=0), deviation, text, len(same))


def _check_alike(first: Polynomial, other: Polynomial, index: int) -> None:
    pairs = {
        "features": (first.feature_names, other.feature_names),
        "outputs": (first.output_names, other.output_names),
    }
    for kind, (expected, found) in pairs.items():
        if expected != found:
            raise InvalidInputError(
                f"The polynomials of an ensemble have different {kind}.",
                where=f"polynomial {index} (from 0)",
                expected=f"{len(expected)}: {', '.join(expected[:5])}",
                found=f"{len(found)}: {', '.join(found[:5])}",
                remedy="convert networks that were trained on the same columns",
            )


def _largest(sizes: Sizes, output: int, n: int, intercept: bool) -> IntArray:
    size = np.abs(sizes.mean[:, output])
    if not intercept:
        size[sizes.terms.orders() == 0] = 0.0
    places = largest(size, n)
    return places[size[places] > 0.0]


def _names(sizes: Sizes, places: IntArray, lines: int = 3) -> list[str]:
    names = sizes.first.feature_names
    return [term_label(sizes.terms[i], names, lines=lines) for i in places.tolist()]


def _draw(axes: Axes, sizes: Sizes, output: int, places: IntArray, *, own: bool) -> None:
    values, where = sizes.mean[places, output], np.arange(len(places))
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
    mean = "mean " if sizes.members > 1 else ""
    several = sizes.first.n_outputs > 1 or sizes.first.link != "identity"
    title = output_label(sizes.first, output) if several else ""
    describe(axes, x=f"{mean}absolute coefficient\n{sizes.text}", title=title)
    if not len(places):
        say(axes, "all coefficients are zero")


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


def _crowded(sizes: Sizes, places: IntArray, output: int) -> bool:
    """Tell whether the lowest bars reach into the corner of the legend."""
    ends = np.abs(sizes.mean[places, output])
    if sizes.deviation is not None:
        ends = ends + sizes.deviation[places, output]
    lowest = ends[-LEGEND_ROWS:].max(initial=0.0)
    return bool(lowest > LEGEND_FROM * ends.max(initial=0.0))


def _explain(axes: Axes, sizes: Sizes, values: FloatArray, *, crowded: bool, own: bool) -> None:
    """Tell what the colours are: in the corner that descending bars leave free, or outside it."""
    from matplotlib.patches import Patch

    marks = {"positive": (POSITIVE, values >= 0), "negative": (NEGATIVE, values < 0)}
    handles = [Patch(color=c, label=text) for text, (c, here) in marks.items() if here.any()]
    if not handles:
        return
    title = f"{sizes.members} networks" if sizes.members > 1 else None
    place: Any = {"loc": "lower right"}
    if crowded and own:
        bottom, top = axes.get_ylim()
        inches = axes.bbox.height / axes.figure.dpi
        share = LEGEND_HEIGHT / max(inches - LEGEND_HEIGHT, LEGEND_HEIGHT)
        axes.set_ylim(bottom + share * (bottom - top), top)
    elif crowded:
        # Given Axes have no room to spare.
        place |= {"bbox_to_anchor": (1.0, 1.0), "ncols": 2, "borderaxespad": 0.1}
    axes.legend(handles=handles, handlelength=1.0, handleheight=0.8, title=title, **place)
