"""Inputs that the sample shows at one value only, or almost.

An input that never varies in the sample says nothing about its effect: the polynomial does
not use it, and warns outside the range. A pixel that is lit in three images of a thousand
lies 30 deviations out in those three, where any polynomial of order two or more runs wild.
Its linear share, seen by the least-squares slope of the clipped on the unclipped input, is
what the sample supports: the first layer is damped to it, but only for inputs where probes
beyond the sample show that this helps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from nn2poly.conversion.sample import Sample, Summary
from nn2poly.conversion.series import LINEAR
from nn2poly.conversion.shrinkage import fit_activations
from nn2poly.network.network import Network, map_inputs

FloatArray = npt.NDArray[np.float64]

# Deviations at which an input is clipped; the slope below which it counts as rare.
CLIP, RARE = 3.0, 0.5
# Probes: one input at so many times its sample extremes, the others at their mean. The
# damping stays if the error there is at most so many times the error without it.
REACH, FACTOR = 3.0, 4.0


def damp_rare_inputs(network: Network, sample: Sample, summary: Summary, max_order: int) -> Network:
    """Take constant inputs out of the first layer, and damp rare ones where probes agree."""
    damping = np.where(summary.low == summary.high, 0.0, 1.0)
    if max_order > 1 and network.layers[0].activation != LINEAR:
        slopes = _clipped_slopes(network, sample)
        rare = np.where(slopes < RARE, slopes, 1.0)
        if np.any(rare < 1.0):
            damping = damping * _probed(network, sample, summary, rare, max_order)
    if np.all(damping == 1.0):
        return network
    return replace(network, layers=map_inputs(network, lambda m: damping[:, None] * m))


def _clipped_slopes(network: Network, sample: Sample) -> FloatArray:
    """Regress clip(z) on z for every input: 1 for a well-behaved one, small for a rare one."""
    cross, square = np.zeros(network.n_features), np.zeros(network.n_features)
    for batch in sample.to_fit():
        z = network.to_working(batch.X)
        cross += batch.weights @ (z * np.clip(z, -CLIP, CLIP))
        square += batch.weights @ z**2
    return np.divide(cross, square, out=np.ones_like(cross), where=square > 1e-20)


def _probed(
    network: Network, sample: Sample, summary: Summary, damping: FloatArray, max_order: int
) -> FloatArray:
    layer = network.layers[0]
    expansion = _first_layer(network, sample, max_order)
    errors = []
    for factor in (damping, np.ones_like(damping)):
        error = np.zeros_like(damping)
        for end in (summary.low, summary.high):
            z = REACH * (end - network.center) / network.scale
            potential = z[:, None] * _from_input(network)
            powers = (factor[:, None] * potential) ** np.arange(max_order + 1)[:, None, None]
            guess = np.einsum("mh,mph->ph", expansion, powers)
            error += ((guess - layer.activation(potential + layer.bias)) ** 2).sum(axis=1)
        errors.append(error)
    return np.where(errors[0] <= FACTOR * errors[1], damping, 1.0)


def _first_layer(network: Network, sample: Sample, max_order: int) -> FloatArray:
    """Fit the first layer's activations on plain powers of its potentials: (Q + 1, h)."""
    layer = network.layers[0]
    size = max_order + 2
    moments = np.zeros((1, layer.n_outputs, size, size))
    for batch in sample.to_fit():
        v = network.to_working(batch.X) @ _from_input(network)
        columns = [v**m for m in range(max_order + 1)] + [layer.activation(v + layer.bias)]
        stacked = np.stack(columns, axis=-1)
        moments[0] += np.einsum("n,nha,nhb->hab", batch.weights, stacked, stacked, optimize=True)
    return fit_activations(np.concatenate([moments, moments]) / 2, range(1, max_order + 1))


def _from_input(network: Network) -> FloatArray:
    """Sum what the first layer takes from the input, also beside its weights."""
    total: FloatArray = sum((m for _, m in network.sources(1)), start=np.zeros(()))
    return total
