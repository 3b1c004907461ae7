"""Tell whether the weights can drive a potential outside the radius of convergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import RadiusWarning, warn_user
from nn2poly.network.network import Network

# Bounds are cut here, so that a chain of exponentials overflows to a bound and not to NaN.
HUGE = 1e100


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
