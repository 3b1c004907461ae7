"""`potentials`: per layer, what the activation does and what the polynomial makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyval

from nn2poly.algebra.rays import ray_powers
from nn2poly.arguments import check_count
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.factored.engine import walk
from nn2poly.factored.expansions import LINEAR, check_taylor_orders
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.convert import polynomial_network
from nn2poly.network.network import Layer, Network
from nn2poly.network.readers import read_network
from nn2poly.plots.labels import plain
from nn2poly.plots.layout import Panels, density, describe, panels, result, tidy
from nn2poly.plots.style import BLACK, BLUE, GREEN, ORANGE, TEXT_SIZE, styled
from nn2poly.plots.units import thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows that are followed, bins of the potential, share of cases that the band and axis hold (taste).
MAX_ROWS, BINS, INSIDE = 1000, 50, 0.995
BAND = (0.05, 0.5, 0.95)
# The upper part of the Axes is for the density (taste).
DENSITY_FROM = 0.82


@dataclass(frozen=True, eq=False)
class Passage:
    """All neurons of a layer on all rows: true potentials, true and polynomial outputs."""

    index: int
    layer: Layer
    potential: FloatArray
    output: FloatArray
    guess: FloatArray
    series: tuple[float, int] | None


@styled
def potentials(
    model: Any,
    X: Any,
    *,
    converted: PolynomialNetwork | None = None,
    max_order: int = 3,
    method: str = "auto",
    taylor_order: int | Sequence[int] = 8,
    taylor_center: float = 0.0,
    around: npt.ArrayLike | None = None,
    layer: int | Sequence[int] | None = None,
    ax: Any = None,
) -> Axes | Panels:
    """Draw for each layer the activation, its polynomial, their difference, and the potentials.

    Every neuron meets every row: its potential u in the network, its output g(u), and the
    output that the polynomial has in its place. A line of medians over u and a band with 90 %
    of the cases show the polynomial, a line of medians the absolute error. Points, not one
    curve, because truncation at the total order (and a calibration, whose factors depend on
    the degree) makes a neuron's polynomial a function of all inputs, not of its potential
    alone. The Taylor series itself, as far as it is known, is dotted. Cf. Fig. 4 of the paper.

    Parameters
    ----------
    model
        The network: anything that `nn2poly.read_network` reads; or a `PolynomialNetwork`,
        unless it was calibrated (which may change weights).
    X
        Array or data frame (n, p) in raw units; at most 1,000 rows, evenly chosen, are drawn.
    converted
        The polynomial network to show, when there is one; else the model is converted.
    max_order, method, taylor_order, taylor_center, around
        As in `nn2poly.convert`; ``"auto"`` and ``"calibrated"`` calibrate on X.
    layer
        Number, from 1, of one layer, or several; None draws all with a curved activation.
    ax
        matplotlib Axes, a sequence of them for several layers; None for a new figure.

    Returns
    -------
    Axes for one layer, array (n_layers,) of Axes for several

    Raises
    ------
    InvalidInputError
        When network, polynomial network, layers and Axes do not go together.

    Examples
    --------
    >>> import numpy as np
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.9], [0.4]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> n2p.plots.potentials(net, X).get_title(loc="left")
    'layer 1, tanh'
    """
    if isinstance(model, PolynomialNetwork):
        converted, model = _from_converted(model), model.network
    network, series = read_network(model).without_common(), None
    if converted is None:
        sample = X if around is None and method in ("auto", "calibrated") else None
        converted = polynomial_network(
            network,
            max_order,
            data=sample,
            method=method,
            taylor_order=taylor_order,
            taylor_center=taylor_center,
            around=around,
        )
        if converted.method == "taylor":
            orders = check_taylor_orders(taylor_order, network)
            series = [(float(taylor_center), order) for order in orders]
    _check_layers(network, converted)
    chosen = _chosen(layer, network)
    rows = thin(network.check_data(X), MAX_ROWS)
    axes = panels(ax, len(chosen), columns=3, height=3.0 if len(chosen) == 1 else 2.6)
    passages = _follow(network, converted, rows, chosen, series)
    for panel, passage in zip(axes, passages, strict=True):
        _draw(panel, passage)
    axes[0].set_ylabel("output of a neuron", fontsize=TEXT_SIZE)
    _explain(axes, own=ax is None)
    return result(axes)


def _from_converted(model: PolynomialNetwork) -> PolynomialNetwork:
    if model.method == "calibrated":
        raise InvalidInputError(
            "A calibrated polynomial network does not know its network any more.",
            where="the first argument of potentials",
            expected="the network itself: a calibration may change weights",
            remedy="call potentials(model, X, converted=…)",
        )
    return model


def _check_layers(network: Network, converted: Any) -> None:
    if not isinstance(converted, PolynomialNetwork):
        raise InvalidInputError(
            "This is not a polynomial network.",
            where="converted",
            expected="what nn2poly.polynomial_network(model, …) returns",
            found=type(converted).__name__,
        )
    expected, found = (
        [net.n_features, *(layer.n_outputs for layer in net.layers)]
        for net in (network, converted.network)
    )
    if expected != found:
        raise InvalidInputError(
            "This polynomial network does not belong to this network.",
            where="converted",
            expected=f"widths {expected}",
            found=f"widths {found}",
        )


def _chosen(layer: int | Sequence[int] | None, network: Network) -> list[int]:
    every = range(1, len(network.layers) + 1)
    if layer is None:
        curved = [i for i in every if network.layers[i - 1].activation != LINEAR]
        return curved or list(every)
    numbers = layer if isinstance(layer, Sequence) else [layer]
    chosen = [check_count(number, where="layer") for number in numbers]
    if not chosen or max(chosen) > len(every):
        raise InvalidInputError(
            "There is no such layer.",
            where="layer",
            expected=f"1 to {len(every)}, the output layer last",
            found=repr(layer),
        )
    return chosen


def _follow(
    network: Network,
    converted: PolynomialNetwork,
    rows: FloatArray,
    chosen: list[int],
    series: list[tuple[float, int]] | None,
) -> list[Passage]:
    """Send the rows through both networks at once, and keep the chosen layers."""
    truth = network.outputs_by_layer(network.to_working(rows))
    z = converted.network.to_working(rows)
    inputs = [np.zeros((1, z.shape[1])), z]
    steps = walk(converted.network, converted.expansions, inputs, converted.max_order, ray_powers)
    passages = {}
    for index, (_, parts) in enumerate(steps, start=1):
        layer = network.layers[index - 1]
        if index in chosen:
            potential = network.potential(index, truth[:index])
            guess = np.zeros(potential.shape) + sum(parts[1:], start=parts[0])
            known = series[index - 1] if series and layer.activation != LINEAR else None
            passages[index] = Passage(index, layer, potential, truth[index], guess, known)
    return [passages[index] for index in chosen]


def _draw(axes: Axes, passage: Passage) -> None:
    ends = (1 - INSIDE) / 2
    low, high = np.quantile(passage.potential, [ends, 1 - ends]).tolist()
    margin = 0.05 * (high - low) or 0.5
    low, high = low - margin, high + margin
    grid = np.linspace(low, high, 200)
    curve = passage.layer.activation(grid)
    middles, band, error = _binned(passage, low, high)
    axes.fill_between(middles, band[0], band[2], color=ORANGE, alpha=0.3, linewidth=0)
    axes.plot(grid, curve, color=BLACK, label="activation")
    marker = "o" if np.isfinite(middles[band[1] == band[1]]).sum() < 3 else None
    axes.plot(
        middles, band[1], color=ORANGE, marker=marker, ms=3,
        label="polynomial (band: 90 %)",
    )  # fmt: skip
    if passage.series is not None:
        axes.plot(grid, _taylor(passage, grid), color=ORANGE, ls=":", label="Taylor series")
    axes.plot(middles, error, color=BLUE, ls="--", marker=marker, ms=3, label="absolute error")
    _frame(axes, passage, curve, (low, high))
    name = plain(passage.layer.activation.name)
    describe(axes, x="potential u", title=f"layer {passage.index}, {name}")
    tidy(axes)


def _binned(passage: Passage, low: float, high: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bin all cases by their potential.

    Returns
    -------
    middles (bins,), quantiles of the polynomial's output (3, bins), median error (bins,)
        NaN where a bin is empty.
    """
    edges = np.linspace(low, high, BINS + 1)
    u, guess = passage.potential.ravel(), passage.guess.ravel()
    error = np.abs(guess - passage.output.ravel())
    order = np.argsort(u, kind="stable")
    cuts = np.searchsorted(u[order], edges)
    band, middle = np.full((3, BINS), np.nan), np.full(BINS, np.nan)
    for b in range(BINS):
        here = order[cuts[b] : cuts[b + 1]]
        if len(here):
            band[:, b], middle[b] = np.quantile(guess[here], BAND), np.median(error[here])
    middles: FloatArray = (edges[:-1] + edges[1:]) / 2
    filled = np.isfinite(middle)
    return middles[filled], band[:, filled], middle[filled]


def _taylor(passage: Passage, grid: FloatArray) -> FloatArray:
    center, order = passage.series or (0.0, 1)
    coefficients = passage.layer.activation.taylor(center, order).ravel()
    return np.asarray(polyval(grid - center, coefficients), dtype=np.float64)


def _frame(axes: Axes, passage: Passage, curve: FloatArray, ends: tuple[float, float]) -> None:
    """Frame the activation, not a polynomial that runs away; draw the density above."""
    from matplotlib.patches import Rectangle

    bottom, top = min(float(curve.min()), 0.0), float(curve.max())
    span = (top - bottom) or 1.0
    bottom, top = bottom - 0.3 * span, top + 0.3 * span
    axes.set_xlim(*ends)
    axes.set_ylim(bottom, bottom + (top - bottom) / DENSITY_FROM)
    below = Rectangle((0.0, 0.0), 1.0, DENSITY_FROM, transform=axes.transAxes)
    for artist in (*axes.lines, *axes.collections):
        artist.set_clip_path(below)
    edges, heights = density(passage.potential.ravel(), *ends)
    upper = DENSITY_FROM + (1 - DENSITY_FROM) * np.append(heights, heights[-1])
    axes.fill_between(
        edges, DENSITY_FROM, upper, step="post", color=GREEN, alpha=0.6, linewidth=0,
        transform=axes.get_xaxis_transform(), label="density of u",
    )  # fmt: skip
    axes.axhline(0.0, color=BLACK, linewidth=0.3, zorder=0)
    axes.locator_params(nbins=5)
    axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= top])


def _explain(axes: list[Axes], *, own: bool) -> None:
    """Put the legend below all panels of a new figure, below the first of given Axes."""
    handles, names = axes[0].get_legend_handles_labels()
    if own:
        count = 2 if len(axes) == 1 else len(names)
        axes[0].figure.legend(handles, names, loc="outside lower center", ncols=count)
    else:
        axes[0].legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
