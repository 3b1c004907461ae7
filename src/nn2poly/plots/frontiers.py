"""The trade-off between size and fidelity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nn2poly.conversion.option_search import Point, unbeaten
from nn2poly.plots.layout import describe, panels, tidy
from nn2poly.plots.style import BLUE, GREY, PALE, TINY_SIZE, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# R² below this is drawn at the lower edge: it would press all that matters together (taste).
LOWEST = 0.0


@styled
def frontier(points: Sequence[Point], *, ax: Axes | None = None) -> Axes:
    """Draw held-out R² against the number of coefficients; what nothing beats is joined.

    Parameters
    ----------
    points
        What was tried: ``n2p.frontier(model, X).points``.
    ax
        matplotlib Axes; None for a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> found = [Point(q, None, 1, n, n, r2, 0.1) for q, n, r2 in ((1, 4, 0.6), (2, 10, 0.9))]
    >>> ax = frontier(found)
    >>> ax.get_xscale(), [text.get_text() for text in ax.texts]
    ('log', ['order 2', 'order 1'])
    """
    axes = panels(ax, height=2.8)[0]
    best = unbeaten(points)
    beaten = [point for point in points if point not in best]
    axes.scatter(*_places(beaten), s=9, color=PALE, edgecolor=GREY, linewidth=0.4, zorder=1)
    axes.plot(*_places(best), "o-", color=BLUE, markersize=4, zorder=2)
    axes.set_xscale("log")
    axes.axhline(1.0, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
    # Room for the last label.
    axes.margins(x=0.15)
    describe(axes, x="number of coefficients", y="held-out R²")
    tidy(axes)
    _label(axes, best)
    return axes


def _label(axes: Axes, best: Sequence[Point]) -> None:
    """Name the points from the closest down, leaving out names that would lie on others."""
    taken: list[Any] = []
    for point in reversed(best):
        (size,), (close,) = _places([point])
        text = axes.annotate(
            point.label, (size, close), xytext=(4, -4), textcoords="offset points",
            fontsize=TINY_SIZE, va="top", ha="left",
        )  # fmt: skip
        box = text.get_window_extent()
        if any(box.overlaps(other) for other in taken):
            text.remove()
        else:
            taken.append(box)


def _places(points: Sequence[Point]) -> tuple[list[int], list[float]]:
    return [p.n_coefficients for p in points], [max(p.closeness, LOWEST) for p in points]
