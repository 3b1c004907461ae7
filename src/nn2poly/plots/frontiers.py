"""The trade-off between size and fidelity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.fit.option_search import Point, unbeaten
from nn2poly.plots.layout import describe, panels, tidy
from nn2poly.plots.style import BLUE, GREY, PALE, TINY_SIZE, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

# R² below this is drawn at the lower edge: it would press all that matters together (taste).
LOWEST = 0.0
# Where a name may stand, the first that is free: beside its point, right and below, …
BESIDE = ((1, -1), (-1, 1), (1, 1), (-1, -1))
# … or further off, joined to it by a thin line, …
APART = ((-2, 4), (2, -4), (-2, 6), (2, -6), (2, -9), (-2, -4), (2, -12))
# … so many points away from it, with so much air around it: beside its own point no other is
# as near, or the name would seem to be that of a neighbour.
AWAY, AIR, MORE_AIR = 4, 3, 6
LEADER = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}


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
    # Room for the names of the ends.
    axes.margins(x=0.15, y=0.12)
    describe(axes, x="number of coefficients", y="held-out R²")
    tidy(axes)
    _label(axes, best, points)
    return axes


def _label(axes: Axes, best: Sequence[Point], points: Sequence[Point]) -> None:
    """Name the points from the closest down, where a name covers no other, no dot and no line."""
    whole: Any = axes.figure.figure  # a SubFigure cannot be drawn alone
    whole.draw_without_rendering()  # the layout moves the axes
    height = axes.transData.transform((1.0, 1.0))[1]
    perfect = np.array([[axes.bbox.x0, height], [axes.bbox.x1, height]])
    lines = _along(_pixels(axes, best)), _along(perfect)
    drawn = np.concatenate([_pixels(axes, points), *lines])
    from matplotlib.text import Text

    dot = axes.figure.dpi / 72
    taken: list[Bbox] = []
    for point, own in zip(reversed(best), _pixels(axes, best)[::-1], strict=True):
        others = _pixels(axes, [other for other in points if other != point])
        for across, up in (*BESIDE, *APART):
            apart = (across, up) in APART
            text = axes.annotate(
                point.label, (point.n_coefficients, max(point.closeness, LOWEST)),
                xytext=(AWAY * across, AWAY * up), textcoords="offset points", fontsize=TINY_SIZE,
                ha="left" if across > 0 else "right", va="bottom" if up > 0 else "top",
                arrowprops={**LEADER, "relpos": (across < 0, up < 0)} if apart else None,
            )  # fmt: skip
            text.get_window_extent()  # places it
            box = Text.get_window_extent(text)  # without the line
            corner = box.corners()[2 * (across < 0) + (up < 0)]
            leader = _along(np.array([own, corner]))[10 if apart else 199 :]
            free = _is_free(box.padded(AIR * dot), axes.bbox, taken, drawn)
            free &= not any(other.count_contains(leader) for other in taken)
            if free and (apart or not box.padded(MORE_AIR * dot).count_contains(others)):
                taken.append(box)
                drawn = np.concatenate([drawn, leader])
                break
            text.remove()


def _is_free(box: Bbox, frame: Bbox, taken: Sequence[Bbox], drawn: FloatArray) -> bool:
    """Say that a box is in the frame, and that no other box and no place (n, 2) is in it."""
    inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
    covered = box.count_contains(drawn) > 0 or any(box.overlaps(other) for other in taken)
    return inside and not covered


def _pixels(axes: Axes, points: Sequence[Point]) -> FloatArray:
    """Give the places (n, 2) of points on the canvas."""
    places: FloatArray = axes.transData.transform(np.transpose(_places(points)))
    return places


def _along(corners: FloatArray) -> FloatArray:
    """Give places (m, 2) along a line through corners (n, 2), a hundred on each part."""
    at = np.linspace(0, len(corners) - 1, 100 * len(corners))
    number = np.arange(len(corners))
    return np.column_stack([np.interp(at, number, along) for along in corners.T])


def _places(points: Sequence[Point]) -> tuple[list[int], list[float]]:
    return [p.n_coefficients for p in points], [max(p.closeness, LOWEST) for p in points]
