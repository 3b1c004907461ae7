"""The look of all plots: one palette that colour-blind readers can tell apart, small type."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nn2poly.errors import require

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

P = ParamSpec("P")
R = TypeVar("R")

# Okabe and Ito (2008): colours that differ for every kind of colour vision.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, BLACK, GREY, PALE = "#56B4E9", "#E69F00", "#000000", "#767676", "#D9D9D9"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, BLACK)
POSITIVE, NEGATIVE = BLUE, ORANGE

# Points of type, as journals set their figures: text, ticks, notes, and the least of all.
TEXT_SIZE, SMALL_SIZE, NOTE_SIZE, TINY_SIZE = 8.0, 7.0, 6.0, 5.0
RC: Any = {  # its keys are a type that changes with matplotlib's version
    "axes.axisbelow": True,
    "axes.grid": False,
    "axes.labelsize": TEXT_SIZE,
    "axes.linewidth": 0.6,
    "axes.titlesize": TEXT_SIZE,
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "font.size": TEXT_SIZE,
    "legend.fontsize": SMALL_SIZE,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "patch.linewidth": 0.6,
    "text.parse_math": True,  # names are escaped, wherever they end up
    "text.usetex": False,
    "xtick.labelsize": SMALL_SIZE,
    "ytick.labelsize": SMALL_SIZE,
}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Run a drawing function in the style of this package; the user's own stays as it is.

    Raises
    ------
    MissingDependencyError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> before = matplotlib.rcParams["font.size"]
    >>> styled(lambda: matplotlib.rcParams["font.size"])()
    8.0
    >>> matplotlib.rcParams["font.size"] == before
    True
    """

    @wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        matplotlib = require("matplotlib", what=f"plots.{draw.__name__}()", extra="plots")
        with matplotlib.rc_context(RC):
            return draw(*args, **kwargs)

    return wrapped


def sign_color(value: float) -> str:
    """Choose the colour of a sign.

    Examples
    --------
    >>> sign_color(-1.0) == NEGATIVE, sign_color(2.0) == POSITIVE
    (True, True)
    """
    return NEGATIVE if value < 0 else POSITIVE


def diverging() -> Colormap:
    """Give the colours from negative over white to positive."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("nn2poly_signs", [NEGATIVE, "white", POSITIVE])


def greys() -> Colormap:
    """Give the colours from nothing to the largest of what has no sign."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("nn2poly_sizes", ["white", "#595959"])


def sequential() -> Colormap:
    """Give the colours from low to high; the palest end, lost on white paper, is left out."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    shades = [colormaps["viridis"](0.9 * i / 63) for i in range(64)]
    return LinearSegmentedColormap.from_list("nn2poly_values", shades)


def shades() -> Colormap:
    """Give the colours from few rows to many."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("nn2poly_counts", ["#C6DFF0", BLUE, "#00263D"])
