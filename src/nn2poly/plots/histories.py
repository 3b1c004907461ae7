"""`path` and `training`: fidelity against terms, and coefficients over training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_count
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.fit.sparsity import SparsePath
from nn2poly.formula.largest import largest
from nn2poly.formula.legend import unit_text
from nn2poly.formula.term_names import output_index
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import number, output_label, term_labels
from nn2poly.plots.layout import describe, legend_text, mark_above, panels, tidy
from nn2poly.plots.style import BLUE, CYCLE, GREY, ORANGE, PALE, SMALL_SIZE, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nn2poly.training.tracker import PolynomialTracker

# Names that a path lists; terms of a training that are drawn without a name (taste).
LISTED, BACKGROUND = 6, 50
# A fidelity below this is off the scale: worse than a constant is bad enough to know.
LOWEST_R2 = -0.1
DASHES = ("-", "--", ":", "-.")


@styled
def path(path: SparsePath | Sequence[tuple[int, int, float]], *, ax: Axes | None = None) -> Axes:
    """Draw the fidelity against the number of terms.

    What is worse than a constant leaves the axis: a triangle at the bottom marks it, and the
    lowest R² is told.

    Parameters
    ----------
    path
        What `nn2poly.sparse_path` returns; or ``card.path``, the orders that
        ``max_order="auto"`` tried, as (order, terms, R²).
    ax
        matplotlib Axes; None for a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidInputError
        When there is nothing to draw.

    Examples
    --------
    >>> from nn2poly import plots
    >>> ax = plots.path([(1, 4, 0.82), (2, 10, 0.97), (3, 20, 0.995)])
    >>> ax.get_xscale(), [text.get_text() for text in ax.texts]
    ('log', ['order 1', 'order 2', 'order 3'])
    """
    orders = None if isinstance(path, SparsePath) else _check_orders(path)
    axes = panels(ax, height=2.4)[0]
    if isinstance(path, SparsePath):
        r2 = path.r2
        axes.locator_params(axis="x", integer=True)
        axes.plot(np.arange(1, len(r2) + 1), r2, "o-", color=BLUE, markersize=3)
        _list_terms(axes, path)
    else:
        terms, r2 = np.array([o[1] for o in orders or ()]), np.array([o[2] for o in orders or ()])
        axes.plot(terms, r2, "o-", color=BLUE, markersize=4)
        axes.set_xscale("log")
        axes.set_xticks(terms, [f"{count:,}" for count in terms], minor=False)
        axes.set_xticks([], minor=True)
        _name_orders(axes, orders or [])
    describe(axes, x="number of terms", y="held-out R²")
    axes.axhline(1.0, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
    _frame(axes, r2)
    _mark_below(axes, r2, np.asarray(axes.lines[0].get_xdata()))
    tidy(axes)
    warn_below([axes], getattr(path, "poly", None))
    return axes


@styled
def training(
    tracker: PolynomialTracker,
    *,
    n: int = 8,
    output: int | str = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the coefficients of a network's polynomial over its training.

    Parameters
    ----------
    tracker
        A `nn2poly.training.PolynomialTracker` that has recorded something.
    n
        How many terms are named: those with the largest coefficients at any step, the
        intercept aside. The next fifty are pale lines.
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
        When nothing has been recorded.

    Examples
    --------
    >>> import numpy as np
    >>> import nn2poly as n2p
    >>> from nn2poly.training import PolynomialTracker
    >>> weights = np.array([[0.5], [0.2]])
    >>> tracker = PolynomialTracker(lambda: [("tanh", np.vstack([[0.0], weights]))], max_order=1)
    >>> tracker.record()
    >>> ax = n2p.plots.training(tracker)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['x1', 'x2']
    """
    # The records are in the coordinates of the first polynomial, which knows the names.
    first, steps = tracker.first, tracker.steps
    k = output_index(output, first.output_names)
    values = tracker.coefficients[:, :, k]
    size = np.nan_to_num(np.abs(values)).max(axis=0)
    size[first.terms.orders() == 0] = -1.0
    count = check_count(n, where="n")
    places = [i for i in largest(size, count + BACKGROUND).tolist() if size[i] >= 0.0]
    axes = panels(ax, height=3.0)[0]
    marker = "o" if len(steps) == 1 else None
    for i in places[count:]:
        axes.plot(steps, values[:, i], color=PALE, linewidth=0.6, zorder=1, marker=marker)
    terms = [first.terms[i] for i in places[:count]]
    labels = term_labels(terms, first.feature_names, width=20, lines=2)
    for line, i in enumerate(places[:count]):
        axes.plot(
            steps, values[:, i], color=CYCLE[line % len(CYCLE)], marker=marker, markersize=3,
            linestyle=DASHES[line // len(CYCLE) % len(DASHES)],
            label=legend_text(labels[line]),
        )  # fmt: skip
    axes.axhline(0.0, color=GREY, linewidth=0.5, zorder=0)
    units = unit_text(first.inputs)
    describe(axes, x="step", y=f"coefficient for {output_label(first, k, length=20)}\n{units}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.18), ncols=2, handlelength=1.4)
    tidy(axes)
    return axes


def _check_orders(path: Any) -> list[tuple[int, int, float]]:
    steps = [*path] if isinstance(path, Sequence) else None
    if steps and all(isinstance(step, Sequence) and len(step) == 3 for step in steps):
        return steps
    empty = steps is not None and not steps
    raise InvalidInputError(
        "There is no path to draw.",
        where="path",
        expected="what nn2poly.sparse_path returns, or card.path",
        found="an empty path" if empty else type(path).__name__,
        remedy='card.path is filled by convert(model, "auto", data=X)' if empty else None,
    )


def _name_orders(axes: Axes, orders: list[tuple[int, int, float]]) -> None:
    for order, terms, r2 in orders:
        axes.annotate(
            f"order {order}", (terms, max(r2, LOWEST_R2)), xytext=(4, -4), ha="left", va="top",
            textcoords="offset points", fontsize=SMALL_SIZE, annotation_clip=False,
        )  # fmt: skip
    axes.margins(x=0.2)


def _list_terms(axes: Axes, path: SparsePath) -> None:
    """List the first terms in the corner that a rising curve leaves free."""
    names = path.poly.feature_names
    terms = [path.poly.terms[i] for i in path.chosen[:LISTED].tolist()]
    labels = term_labels(terms, names, width=26, lines=1)
    listed = [f"{place}  {label}" for place, label in enumerate(labels, start=1)]
    more = ["…"] if len(path.chosen) > LISTED else []
    text = "\n".join(["first to join:", *listed, *more])
    axes.text(
        0.98, 0.05, text, transform=axes.transAxes, ha="right", va="bottom", ma="left",
        fontsize=SMALL_SIZE - 1, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip


def _frame(axes: Axes, r2: FloatArray) -> None:
    """Show fidelities worth having; those far below zero leave the frame."""
    finite = r2[np.isfinite(r2)]
    low = max(float(finite.min(initial=1.0)), LOWEST_R2)
    margin = 0.12 * (1.0 - low) or 0.05
    axes.set_ylim(low - margin, 1.0 + margin / 2)
    axes.locator_params(axis="y", nbins=5)


def _mark_below(axes: Axes, r2: FloatArray, x: FloatArray) -> None:
    """Mark the numbers of terms whose fidelity lies below the frame, or is none."""
    bottom = axes.get_ylim()[0]
    below = ~(r2 >= bottom)
    if not below.any():
        return
    look: Any = {"marker": "v", "color": ORANGE, "markersize": 5}
    at = np.full(int(below.sum()), bottom)
    axes.plot(x[below], at, linestyle="none", clip_on=False, zorder=4, **look)
    lowest = float(np.where(np.isfinite(r2), r2, -np.inf).min())
    said = f"down to {number(lowest)}" if np.isfinite(lowest) else "some not finite"
    mark_above(axes, label=f"below the axis: R² {said}", **look)
