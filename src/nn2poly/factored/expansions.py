"""Expansions from the activation's own series: `taylor` at one centre, `local` at a point.

A Taylor series converges within a radius; weights may drive potentials beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from nn2poly.algebra.graded import at_degree
from nn2poly.arguments import check_order
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, NoSeriesError, RadiusWarning, warn_user
from nn2poly.factored.engine import Expansions
from nn2poly.network.activations import activation
from nn2poly.network.network import Layer, Network

LINEAR = activation("linear")
# Bounds are cut here, so that a chain of exponentials overflows to a bound and not to NaN.
HUGE = 1e100


def expand_taylor(
    network: Network, max_order: int, orders: Sequence[int], center: float
) -> Expansions:
    """Fill the expansions with Taylor series at one centre, the paper's method.

    A series Σ g_n (u - center)^n, n ≤ q, re-centres at the potential's constant c to
    Σ a_m v^m with a_m = Σ_n g_n C(n, m) (c - center)^(n - m); only m ≤ Q is needed.

    Parameters
    ----------
    orders
        One Taylor order q per layer.

    Returns
    -------
    tuple of arrays (min(q, Q) + 1, h)
    """

    def expand(layer: Layer, index: int, constant: FloatArray) -> FloatArray:
        series = _series(layer, index, np.full_like(constant, center), orders[index - 1])
        return recenter(series, constant - center, max_order)

    return _propagate(network, expand)


def expand_local(network: Network, max_order: int) -> Expansions:
    """Fill the expansions with the exact jets at the origin of the working coordinates.

    Returns
    -------
    tuple of arrays (Q + 1, h)
    """

    def expand(layer: Layer, index: int, constant: FloatArray) -> FloatArray:
        return _series(layer, index, constant, max_order)

    return _propagate(network, expand)


def recenter(series: FloatArray, shift: FloatArray, max_order: int) -> FloatArray:
    """Rewrite Σ g_n (v + shift)^n in powers of v, to ``max_order``.

    Parameters
    ----------
    series
        Array (q + 1, h).
    shift
        Array (h,).

    Returns
    -------
    array (min(q, max_order) + 1, h)

    Examples
    --------
    (v + 2)² = 4 + 4 v + v²:

    >>> recenter(np.array([[0.0], [0.0], [1.0]]), np.array([2.0]), 3).ravel()
    array([4., 4., 1.])
    """
    q = len(series) - 1
    powers = np.ones_like(series)
    for n in range(1, q + 1):
        powers[n] = powers[n - 1] * shift
    rows = [
        sum(comb(n, m) * series[n] * powers[n - m] for n in range(m, q + 1))
        for m in range(min(q, max_order) + 1)
    ]
    return np.stack([np.asarray(row) for row in rows])


def check_taylor_orders(taylor_order: int | Sequence[int], network: Network) -> list[int]:
    """Check the Taylor orders: one for all layers, or one per layer, output included."""
    n_layers = len(network.layers)
    if not isinstance(taylor_order, Iterable):
        return [check_order(taylor_order, where="taylor_order")] * n_layers
    orders = [check_order(order, where="taylor_order") for order in taylor_order]
    if len(orders) != n_layers:
        raise InvalidInputError(
            "taylor_order does not match the network.",
            expected=f"one integer, or {n_layers} of them (one per layer, output included)",
            found=f"{len(orders)} of them",
            remedy="a linear layer needs an order too; it is exact at any, so write 1",
        )
    return orders


def constant_of(network: Network, index: int, expansions: Sequence[FloatArray]) -> FloatArray:
    """Give the constants (h,) of the potentials of layer ``index``, after those expanded."""
    first = np.zeros((1, network.n_features))
    constants = [first, *(at_degree(expansion, 0)[:1] for expansion in expansions)]
    found: FloatArray = network.potential(index, constants)[0]
    return found


def expand_linear(constant: FloatArray) -> FloatArray:
    """Expand a linear layer: the constants (h,) of its potentials and slope 1, exactly."""
    return np.stack([constant, np.ones_like(constant)])


def _propagate(
    network: Network, expand: Callable[[Layer, int, FloatArray], FloatArray]
) -> Expansions:
    """Walk the layers with the constants alone; each expansion's a_0 feeds the next."""
    expansions: list[FloatArray] = []
    for index, layer in enumerate(network.layers, start=1):
        constant = constant_of(network, index, expansions)
        linear = layer.activation == LINEAR
        expansions.append(expand_linear(constant) if linear else expand(layer, index, constant))
    return tuple(expansions)


def _series(layer: Layer, index: int, centers: FloatArray, order: int) -> FloatArray:
    try:
        return layer.activation.taylor(centers, order)
    except NoSeriesError as error:
        raise NoSeriesError(
            error.what,
            where=f"layer {index} ({layer.activation.name})",
            expected=error.expected,
            found=error.found,
            remedy="pass a sample of inputs, data=X, to calibrate instead; or another "
            "taylor_center; or around=x0 for a local polynomial",
        ) from error


@dataclass(frozen=True)
class Reach:
    """How far from the Taylor centre a layer's potentials can get, and how far they may."""

    layer: int
    activation: str
    bound: float
    radius: float


def potential_reach(network: Network, center: float) -> list[Reach]:
    """Bound every layer's potentials for inputs in [-1, 1] by interval arithmetic.

    Examples
    --------
    >>> from nn2poly.network.network import Layer
    >>> net = Network([Layer([[3.0]], [1.0], "tanh"), Layer([[1.0]])])
    >>> potential_reach(net, 0.0)[0].bound
    4.0
    """
    ones = np.ones((1, network.n_features))
    lows, highs, reaches = [-ones], [ones], []
    for index, layer in enumerate(network.layers, start=1):
        low, high = _interval(network, index, lows, highs)
        bound = float(np.max(np.maximum(np.abs(low - center), np.abs(high - center))))
        radius = float(np.min(layer.activation.radius(np.array([center]))))
        reaches.append(Reach(index, layer.activation.name, bound, radius))
        if layer.activation.turning_points is None:
            break  # a function of the user's: nothing is known about what follows it
        image = layer.activation.image(low, high)
        lows.append(np.clip(image[0], -HUGE, HUGE))
        highs.append(np.clip(image[1], -HUGE, HUGE))
    return reaches


def warn_if_outside(network: Network, center: float) -> None:
    """Warn when a layer's potentials can leave the disc in which its series converges."""
    outside = [r for r in potential_reach(network, center) if r.bound > r.radius]
    if not outside:
        return
    places = "; ".join(
        f"layer {r.layer} ({r.activation}): |u - {center:g}| can reach {r.bound:.3g}, the radius "
        f"of convergence is {r.radius:.3g}"
        for r in outside
    )
    warn_user(
        f"For inputs in [-1, 1] the weights can drive potentials outside the radius of "
        f"convergence of their Taylor series, where the polynomial may be far from the network: "
        f"{places}. Check it with nn2poly.fidelity; pass a sample of inputs (data=X) to calibrate "
        f"instead; or train with an l1 constraint on the hidden weights.",
        RadiusWarning,
    )


def _interval(
    network: Network, index: int, lows: list[FloatArray], highs: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    low = high = network.layers[index - 1].bias[None, :]
    for source, matrix in network.sources(index):
        positive, negative = np.maximum(matrix, 0), np.minimum(matrix, 0)
        low = low + lows[source] @ positive + highs[source] @ negative
        high = high + highs[source] @ positive + lows[source] @ negative
    return low, high
