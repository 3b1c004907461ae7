"""`heatmap` and `interaction_network`: the products of two features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_count
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.largest import largest
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.term_names import output_index
from nn2poly.plots.footnotes import warn_below
from nn2poly.plots.labels import axis_labels, number, output_label
from nn2poly.plots.layout import as_text, describe, name_rows, panels, say
from nn2poly.plots.style import (
    BLACK,
    GREY,
    PALE,
    SMALL_SIZE,
    TINY_SIZE,
    diverging,
    greys,
    sign_color,
    styled,
)
from nn2poly.plots.units import in_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters of a name beside a heatmap (taste); inches of a cell that can hold its number, in the
# type of the figure.
NAME_WIDTH, READABLE_CELL = 16, 0.27
# What a title says of products that have no sign.
GREY_TEXT = "grey: factors, root of the sum of squares over levels"


@styled
def heatmap(
    poly: Polynomial,
    *,
    n: int = 15,
    output: int | str = 0,
    X: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the coefficients of all products of two features, squares on the diagonal.

    Terms of higher order are not shown: with X (or centred coordinates) the numbers are those
    at the centre of the data. A factor is one column: its products are put together by the root of
    the sum of their squares, which has no sign and is grey.

    Parameters
    ----------
    poly
        A polynomial of order 2 or more.
    n
        How many features: those with the largest coefficients in products, largest first.
    output
        Index or name of the output.
    X
        Array or data frame (m, p): coefficients per standard deviations of its columns; None:
        in the polynomial's own coordinates.
    ax
        matplotlib Axes; None for a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidInputError
        When the polynomial has no products.

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[0.0], [1.0], [2.0], [0.0], [3.0], [0.5]], 2, ["rm", "lstat"])
    >>> ax = plots.heatmap(poly)
    >>> ax.images[0].get_array().filled(0.0).tolist()
    [[0.5, 0.0], [3.0, 0.0]]
    """
    scaled, text = in_units(poly, X)
    k = output_index(output, scaled.output_names)
    pairs = _by_column(scaled, k)
    text += f"\n{GREY_TEXT}" if pairs.has_levels.any() else ""
    shown = _strongest(pairs.products, check_count(n, where="n"))
    part = _lower(pairs, shown)
    axes = panels(ax, height=3.6 if len(shown) > 3 else 2.6)[0]
    limit = float(np.abs(part).max()) or 1.0
    signed = ~pairs.unsigned[np.ix_(shown, shown)]
    image = axes.imshow(
        np.ma.masked_where(~signed, part), cmap=diverging(), vmin=-limit, vmax=limit
    )
    if not signed.all():
        axes.imshow(np.ma.masked_where(signed, part), cmap=greys(), vmin=0.0, vmax=limit)
    names = axis_labels([pairs.names[i] for i in shown], NAME_WIDTH, 1)
    _grid(axes, names)
    if _cell(axes, names, own=ax is None) >= READABLE_CELL:
        _write(axes, part, limit)
    _color_bar(axes, image, limit)
    describe(axes, title=f"{output_label(scaled, k)}: coefficients of products\n{text}")
    warn_below([axes], poly)
    return axes


@styled
def interaction_network(
    poly: Polynomial,
    *,
    n: int = 15,
    output: int | str = 0,
    X: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the strongest products of two different features as lines of a network.

    The width of a line is the absolute coefficient, relative to the largest one, its colour
    the sign; the size and colour of a dot are those of the feature's linear coefficient. A factor
    is one column: its coefficients are put together as in `heatmap`, and are grey.

    Parameters
    ----------
    poly
        A polynomial of order 2 or more.
    n
        How many products, largest first; their features stand on a circle.
    output
        Index or name of the output.
    X
        Array or data frame (m, p): coefficients per standard deviations of its columns; None:
        in the polynomial's own coordinates.
    ax
        matplotlib Axes; None for a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    InvalidInputError
        When the polynomial has no products.

    Examples
    --------
    >>> from nn2poly import Polynomial, plots
    >>> poly = Polynomial([[0.0], [1.0], [2.0], [0.0], [3.0], [0.5]], 2, ["rm", "lstat"])
    >>> len(plots.interaction_network(poly).lines)
    1
    """
    scaled, text = in_units(poly, X)
    k = output_index(output, scaled.output_names)
    pairs = _by_column(scaled, k)
    edges = _edges(pairs.products, check_count(n, where="n"))
    nodes = np.unique(edges) if len(edges) else np.arange(min(len(pairs.names), n))
    axes = panels(ax, height=3.3)[0]
    points = _circle(len(nodes))
    _lines(axes, pairs, edges, points[np.searchsorted(nodes, edges)])
    _dots(axes, pairs, nodes, points)
    _around(axes, [pairs.names[i] for i in nodes], points)
    if not len(edges):
        say(axes, "no interactions")
    axes.set_aspect("equal")
    axes.set_axis_off()
    colors = "blue: positive, orange: negative"
    colors += f"\n{GREY_TEXT}" if pairs.has_levels[nodes].any() else ""
    describe(axes, title=f"{output_label(scaled, k)}: products {text}\n{colors}")
    warn_below([axes], poly)
    return axes


def pair_matrix(poly: Polynomial, output: int) -> FloatArray:
    """Give the coefficients of products of two features, a symmetric array (p, p).

    Examples
    --------
    >>> pair_matrix(Polynomial([[0.0], [1.0], [2.0], [5.0], [3.0], [0.0]], 2, ["a", "b"]), 0)
    array([[5., 3.],
           [3., 0.]])
    """
    if poly.max_order < 2:
        raise InvalidInputError(
            "This polynomial has no products of features.",
            where="poly",
            expected="order 2 or more",
            found=f"order {poly.max_order}",
            remedy="convert with max_order=2",
        )
    matrix = np.zeros((poly.n_features, poly.n_features))
    here, rows = list(_low_degrees(poly))[2]
    matrix[rows[:, 0], rows[:, 1]] = matrix[rows[:, 1], rows[:, 0]] = poly.coefficients[
        here, output
    ]
    return matrix


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Columns and their products.

    Parameters
    ----------
    names
        Of the columns.
    products
        Symmetric array (c, c): coefficients; with a factor the root of the sum of their squares.
    linear
        Array (c,): coefficients alone, of a factor the root of the sum of their squares.
    has_levels
        Array (c,): marks the factors.
    """

    names: tuple[str, ...]
    products: FloatArray
    linear: FloatArray
    has_levels: BoolArray

    @property
    def unsigned(self) -> BoolArray:
        """Array (c, c): marks the products that have no sign."""
        found: BoolArray = self.has_levels[:, None] | self.has_levels
        return found


def _by_column(poly: Polynomial, output: int) -> _Pairs:
    """Put the coefficients of all levels of a factor together."""
    matrix, linear = pair_matrix(poly, output), _linear(poly, output)
    columns = poly.inputs.columns
    has_levels = np.array([column.width > 1 for column in columns])
    if not has_levels.any():
        return _Pairs(poly.feature_names, matrix, linear, np.zeros(len(matrix), dtype=np.bool_))
    starts = [places[0] for places in poly.inputs.places]
    belongs = np.eye(len(columns))[poly.inputs.column_of]
    # A level has no product with another of its factor: one of the two is off.
    together = np.sqrt(belongs.T @ matrix**2 @ belongs) * ~np.diag(has_levels)
    unsigned = has_levels[:, None] | has_levels
    return _Pairs(
        tuple(column.name for column in columns),
        np.where(unsigned, together, matrix[np.ix_(starts, starts)]),
        np.where(has_levels, np.sqrt(belongs.T @ linear**2), linear[starts]),
        has_levels,
    )


def _lower(pairs: _Pairs, shown: list[int]) -> Any:
    """Give each product of the chosen columns once: the lower triangle, a masked array."""
    part = np.ma.masked_array(pairs.products[np.ix_(shown, shown)])
    part[np.triu_indices(len(shown), 1)] = np.ma.masked
    part[np.diag(pairs.has_levels[shown])] = np.ma.masked
    return part


def _low_degrees(poly: Polynomial) -> Any:
    """Walk the terms of degree 0, 1 and 2."""
    return poly.truncate(2).terms.by_degree()


def _linear(poly: Polynomial, output: int) -> FloatArray:
    values = np.zeros(poly.n_features)
    here, rows = list(_low_degrees(poly))[1]
    values[rows[:, 0]] = poly.coefficients[here, output]
    return values


def _strongest(matrix: FloatArray, n: int) -> list[int]:
    """Rank features by their products with others, then by their squares."""
    own = np.abs(np.diag(matrix))
    others = np.linalg.norm(matrix - np.diag(np.diag(matrix)), axis=1)
    order = np.lexsort((np.arange(len(own)), -own, -others))
    found: list[int] = order[:n].tolist()
    return found


def _grid(axes: Axes, names: list[str]) -> None:
    count = len(names)
    size = float(np.clip(130 / count, TINY_SIZE, SMALL_SIZE))
    name_rows(axes, names, size)
    axes.set_xticks(range(count), names, fontsize=size, rotation=90)
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(count - 0.5, -0.5)
    axes.spines[:].set_visible(False)
    as_text(axes)


def _cell(axes: Axes, names: list[str], *, own: bool) -> float:
    """Estimate the side of a cell in inches; a new figure still has to hold the names."""
    side = float(min(axes.bbox.width, axes.bbox.height)) / axes.figure.dpi
    letters = max(map(len, names)) * 0.06 if own else 0.0
    return (side - letters) / len(names)


def _color_bar(axes: Axes, image: Any, limit: float) -> None:
    """Put the colours where there are no cells, or beside few of them."""
    if len(image.get_array()) > 3:
        inset = axes.inset_axes((0.6, 0.93, 0.34, 0.035))
        bar = axes.figure.colorbar(image, cax=inset, orientation="horizontal")
    else:
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.7, pad=0.04)
    bar.set_ticks([-limit, 0.0, limit], labels=[number(-limit), "0", number(limit)])
    bar.ax.tick_params(labelsize=SMALL_SIZE - 1, width=0.6, length=2)
    bar.outline.set_visible(False)


def _write(axes: Axes, part: Any, limit: float) -> None:
    for (i, j), value in np.ndenumerate(part.filled(np.nan)):
        if np.isfinite(value):
            color = "white" if abs(value) > 0.6 * limit else BLACK
            text = number(float(f"{value:.2g}"))
            axes.text(j, i, text, ha="center", va="center", color=color, fontsize=SMALL_SIZE - 1.5)


def _edges(matrix: FloatArray, n: int) -> IntArray:
    """List the pairs (count, 2) of the n largest products of different features."""
    i, j = np.triu_indices(len(matrix), 1)
    size = np.abs(matrix[i, j])
    places = largest(size, n)
    places = places[size[places] > 0.0]
    return np.stack([i[places], j[places]], axis=1)


def _circle(count: int) -> FloatArray:
    angle = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _lines(axes: Axes, pairs: _Pairs, edges: IntArray, ends: FloatArray) -> None:
    i, j = edges.T
    values, unsigned = pairs.products[i, j], pairs.unsigned[i, j]
    limit = float(np.abs(values).max(initial=0.0))
    for value, is_grey, line in zip(values[::-1], unsigned[::-1], ends[::-1], strict=True):
        share = abs(float(value)) / limit
        color = GREY if is_grey else sign_color(value)
        axes.plot(
            line[:, 0], line[:, 1], color=color, linewidth=0.4 + 4 * share,
            alpha=0.35 + 0.5 * share, solid_capstyle="round", zorder=1,
        )  # fmt: skip


def _dots(axes: Axes, pairs: _Pairs, nodes: IntArray, points: FloatArray) -> None:
    values = pairs.linear[nodes]
    limit = float(np.abs(values).max(initial=0.0)) or 1.0
    colors = [
        GREY if is_grey else sign_color(value) if value else PALE
        for value, is_grey in zip(values, pairs.has_levels[nodes], strict=True)
    ]
    sizes = 12 + 90 * np.abs(values) / limit
    axes.scatter(
        points[:, 0], points[:, 1], s=sizes, c=colors, edgecolors="white", linewidths=0.6, zorder=2
    )


def _around(axes: Axes, names: list[str], points: FloatArray) -> None:
    """Write the names outside the circle, each turned away from it."""
    size = float(np.clip(170 / max(len(names), 1), TINY_SIZE, SMALL_SIZE))
    few = len(names) <= 12
    texts = axis_labels(names, 14 if few else 16, 3 if few else 1)
    for text, (x, y) in zip(texts, points, strict=True):
        ha = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
        va = "center" if abs(y) < 0.9 else "bottom" if y > 0 else "top"
        axes.text(1.16 * x, 1.16 * y, text, ha=ha, va=va, fontsize=size, linespacing=1.1)
    widest = max(len(line) for text in texts for line in text.split("\n"))
    across, up = 1.2 + 0.058 * widest, 1.35 + 0.3 * any("\n" in text for text in texts)
    axes.set_xlim(-across, across)
    axes.set_ylim(-up, up)
