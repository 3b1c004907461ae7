"""Axes to draw on: the user's, or those of a figure that pyplot knows nothing of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import plural
from nn2poly.errors import InvalidInputError
from nn2poly.plots.labels import LINES
from nn2poly.plots.style import SMALL_SIZE, TEXT_SIZE, TINY_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# One and two columns of a journal, in inches; height of a line of small type, of a row's gap,
# and the distance of lines in heights of their type.
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.0
LINE_HEIGHT, ROW_GAP = 0.125, 0.07
LEADING = 1.2
# Ticks of an axis that half a column has room for (taste).
TICKS = 5
# Share of the Axes for a density (taste).
DENSITY_TO = 0.18
# Text that exists before a plot does has the user's settings; names are escaped for these.
ESCAPED: Any = {"usetex": False, "parse_math": True}


class Panels(np.ndarray[Any, Any]):
    """A 1-d array of the Axes of one figure, which a notebook shows as that figure."""

    def _repr_png_(self) -> bytes:
        return _png(self.flat[0].figure)


def panels(
    ax: Any,
    count: int = 1,
    *,
    columns: int = 2,
    height: float = 2.6,
    width: float | None = None,
) -> list[Axes]:
    """Give ``count`` Axes: the user's, checked, or new ones on a figure of their own.

    The new figure is not among pyplot's, so it must not be closed, and nothing else is
    drawn into it; ``ax.figure.savefig(…)`` writes it, and notebooks show it.

    Parameters
    ----------
    ax
        None; Axes for one panel; a sequence or array of ``count`` Axes.
    columns
        How many panels stand side by side at most.
    height, width
        Of one panel, in inches; None for one column, or an equal share of two.

    Raises
    ------
    InvalidInputError
        For anything but the right number of Axes.
    """
    if ax is not None:
        return _given(ax, count)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    side = min(count, columns)
    rows = ceil(count / side)
    each = width or (ONE_COLUMN if count == 1 else TWO_COLUMNS / side)
    figure = Figure(figsize=(each * side, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    made = [figure.add_subplot(rows, side, place) for place in range(1, count + 1)]
    for axes in made:
        # What a notebook asks the last value of a cell for.
        vars(axes)["_repr_png_"] = partial(_png, figure)
    return made


def is_new(axes: Axes) -> bool:
    """Tell whether `panels` made these Axes, so that their figure may change."""
    return "_repr_png_" in vars(axes)


def result(axes: list[Axes]) -> Axes | Panels:
    """Give one Axes as it is, several as a 1-d array."""
    if len(axes) == 1:
        return axes[0]
    array = np.empty(len(axes), dtype=object)
    array[:] = axes
    return array.view(Panels)


def _png(figure: Figure) -> bytes:
    stream = BytesIO()
    figure.savefig(stream, format="png", bbox_inches="tight")
    return stream.getvalue()


def _given(ax: Any, count: int) -> list[Axes]:
    from matplotlib.axes import Axes

    several = isinstance(ax, Sequence | np.ndarray)
    found = list(np.asarray(ax, dtype=object).ravel()) if several else [ax]
    if len(found) == count and all(isinstance(each, Axes) for each in found):
        return found
    kinds = sorted({type(each).__name__ for each in found})
    raise InvalidInputError(
        "The Axes to draw on do not fit the plot.",
        where="ax",
        expected="one matplotlib Axes" if count == 1 else f"a sequence of {count} Axes",
        found=f"{plural(len(found), 'object')} of type {', '.join(kinds) or 'none'}",
        remedy="leave ax out; or choose one output (layer, feature) for a single panel"
        if count > 1
        else "pass the Axes of plt.subplots(), or leave ax out",
    )


def rows_height(labels: Sequence[str], *, extra: float = 0.75) -> float:
    """Give the height in inches that rows with these labels need, ``extra`` for the axis."""
    lines = [label.count("\n") + 1 for label in labels]
    # Rows are equally far apart: neighbours share what the taller one needs.
    shared = [(above + below) / 2 for above, below in pairwise(lines)] or lines
    row = max(shared, default=1) * LINE_HEIGHT + ROW_GAP
    return max(row, 0.18) * len(labels) + extra


def fit_rows(
    axes: Axes, count: int, make: Callable[[int], list[str]], *, own: bool
) -> tuple[list[str], float]:
    """Make the labels of rows, as tall as the Axes allow, and choose their size of type.

    Parameters
    ----------
    make
        From the number of lines of a label to the labels.
    own
        The figure was made for these labels.
    """
    if own:
        return make(LINES), SMALL_SIZE
    height = 72 * axes.bbox.height / axes.figure.dpi / max(count, 1)
    size = float(np.clip(height / LEADING, TINY_SIZE, SMALL_SIZE))
    return make(int(np.clip(height / (size * LEADING), 1, LINES))), size


def name_rows(axes: Axes, labels: Sequence[str], size: float = SMALL_SIZE) -> None:
    """Write one label per row, the first on top."""
    axes.set_yticks(range(len(labels)), labels, fontsize=size, linespacing=1.1)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    as_text(axes)


def as_text(axes: Axes) -> None:
    """Keep LaTeX away from names, whatever the user's settings are when the figure is drawn."""
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set(**ESCAPED)


def describe(axes: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Write labels and title in small type, broken at the edge of the figure.

    The type of given Axes has a size of its own.
    """
    look: Any = {"fontsize": TEXT_SIZE, "wrap": True, **ESCAPED}
    axes.set_xlabel(x, **look)
    axes.set_ylabel(y, **look)
    axes.set_title(title, loc="left", **look)


def tidy(axes: Axes, *, left: bool = True) -> None:
    """Take away the frame that carries nothing, and set small type on the axes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines["left"].set_visible(left)
    axes.tick_params(labelsize=SMALL_SIZE, width=0.6)


def say(axes: Axes, text: str) -> None:
    """Write a note in the middle of Axes that have nothing else to show."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")
    axes.tick_params(bottom=False, labelbottom=False)


def mark_above(axes: Axes, **look: Any) -> None:
    """Explain one mark above the Axes, on the left, where nothing is covered."""
    from matplotlib.lines import Line2D

    axes.legend(
        handles=[Line2D([], [], linestyle="none", **look)], loc="lower left", borderaxespad=0.1,
        bbox_to_anchor=(0.0, 1.0), handlelength=0.8, handletextpad=0.4, borderpad=0.1,
    )  # fmt: skip


def legend_text(text: str) -> str:
    """Protect a name that begins with an underscore, which a legend would leave out."""
    return f" {text}" if text.startswith("_") else text


def density(
    values: npt.NDArray[np.float64], low: float, high: float, bins: int = 50
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Count values between two ends: edges (bins + 1,) and heights (bins,) of at most 1.

    As many bins as different values where these are some but not many, as hours are: narrower ones
    would leave gaps.

    Examples
    --------
    >>> edges, heights = density(np.array([0.1, 0.2, 0.9]), 0.0, 1.0, bins=2)
    >>> heights
    array([1. , 0.5])
    >>> bool(density(np.arange(24.0), 0.0, 23.0)[1].min() == 1.0)
    True
    """
    different = len(np.unique(values))
    bins = different if 10 < different < bins else bins
    counts, edges = np.histogram(values, bins=bins, range=(low, high))
    return edges, counts / max(counts.max(), 1)
