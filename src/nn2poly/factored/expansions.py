"""Expansions from the activation's own series: `taylor` at one centre, `local` at a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import comb

import numpy as np

from nn2poly.arguments import check_order
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, NoSeriesError
from nn2poly.factored.engine import Expansions
from nn2poly.network.activations import activation
from nn2poly.network.network import Layer, Network

LINEAR = activation("linear")


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


def _propagate(
    network: Network, expand: Callable[[Layer, int, FloatArray], FloatArray]
) -> Expansions:
    """Walk the layers with the constants alone; each expansion's a_0 feeds the next."""
    constants = [np.zeros((1, network.n_features))]
    expansions = []
    for index, layer in enumerate(network.layers, start=1):
        constant = network.potential(index, constants)[0]
        if layer.activation == LINEAR:
            expansion = np.stack([constant, np.ones_like(constant)])
        else:
            expansion = expand(layer, index, constant)
        expansions.append(expansion)
        constants.append(expansion[:1])
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
