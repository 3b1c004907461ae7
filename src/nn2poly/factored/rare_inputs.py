"""Inputs that the sample shows at one value only, or almost.

An input that never varies in the sample says nothing about its powers and interactions: it
is taken out of the first layer and keeps only its average slope, straight to the outputs. A
pixel that is lit in three images of a thousand lies 30 deviations out in those three, where
any polynomial of order two or more explodes. Its linear share, seen by the least-squares
slope of the clipped on the unclipped input, is what the sample supports: the first layer is
damped to it, but only for inputs where probes beyond the sample show that this helps.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.factored.expansions import LINEAR
from nn2poly.factored.shrinkage import fit_activations
from nn2poly.network.network import Layer, Network, map_inputs
from nn2poly.rows.folds import Rows, Sample
from nn2poly.rows.summary import Summary

# Deviations at which an input is clipped (of a normal one 3 rows in 1,000 lie beyond); the slope
# below which it counts as rare (taste).
CLIP, RARE = 3.0, 0.5
# Probes: one input at so many times its sample extremes, the others at their mean. The
# damping stays if the error there is at most so many times the error without it
# (taste).
REACH, FACTOR = 3.0, 4.0


def damp_rare_inputs(network: Network, sample: Sample, summary: Summary, max_order: int) -> Network:
    """Take constant inputs out of the first layer, and damp rare ones where probes agree."""
    damping = np.ones(network.n_features)
    damping[constant_inputs(network, summary)] = 0.0
    if max_order > 1 and network.layers[0].activation != LINEAR:
        slopes = _clipped_slopes(network, sample)
        rare = np.where(slopes < RARE, slopes, 1.0)
        if np.any(rare < 1.0):
            damping = damping * _probed(network, sample, summary, rare, max_order)
    if np.all(damping == 1.0):
        return network
    return replace(network, layers=map_inputs(network, lambda m: damping[:, None] * m))


def constant_inputs(network: Network, summary: Summary) -> npt.NDArray[np.intp]:
    """List the inputs that never vary among the rows to fit, unless all layers are linear."""
    linear = all(layer.activation == LINEAR for layer in network.layers)
    return np.flatnonzero((summary.low == summary.high) & (not linear))


def rare_probes(network: Network, sample: Sample, summary: Summary) -> FloatArray:
    """Give rows beyond the sample, one for each rare input: it far out, the others at the centre.

    Returns
    -------
    array (n_rare, p), in working coordinates
    """
    rare = np.flatnonzero(_clipped_slopes(network, sample) < RARE)
    low, high = (network.to_working(end)[rare] for end in (summary.low, summary.high))
    rows = np.zeros((len(rare), network.n_features))
    rows[np.arange(len(rare)), rare] = REACH * np.where(-low > high, low, high)
    return rows


def restore_slopes(network: Network, fitted: Network, summary: Summary) -> Network:
    """Give constant inputs their average slope back, as a skip to the output layer."""
    columns = constant_inputs(network, summary)
    if not len(columns):
        return fitted
    z = network.to_working(summary.some)
    skip = np.zeros((network.n_features, network.n_outputs))
    for j in columns.tolist():
        step = np.zeros(network.n_features)
        step[j] = 1.0
        above, below = (_output_potential(network, z + sign * step) for sign in (1, -1))
        skip[j] = (above - below).mean(axis=0) / 2
    last = fitted.layers[-1]
    total = skip + last.skips.get(0, 0.0)
    layer = Layer(last.weights, last.bias, last.activation, {**last.skips, 0: total})
    return replace(fitted, layers=(*fitted.layers[:-1], layer))


def _output_potential(network: Network, z: FloatArray) -> FloatArray:
    return network.potential(len(network.layers), network.outputs_by_layer(z))


def _clipped_slopes(network: Network, sample: Sample) -> FloatArray:
    """Regress clip(z) on z for every input: 1 for a well-behaved one, small for a rare one."""
    cross, square = sample.over(partial(_clipped_sums, network=network), np.add)
    slopes: FloatArray = np.ones(network.n_features)
    np.divide(cross, square, out=slopes, where=square > 1e-20)
    return slopes


def _clipped_sums(rows: Rows, network: Network) -> FloatArray:
    """Sum z·clip(z) and z² of every input: (2, p)."""
    sums = np.zeros((2, network.n_features))
    for batch in rows.to_fit():
        z = network.to_working(batch.X)
        sums[0] += batch.weights @ (z * np.clip(z, -CLIP, CLIP))
        sums[1] += batch.weights @ z**2
    return sums


def _probed(
    network: Network, sample: Sample, summary: Summary, damping: FloatArray, max_order: int
) -> FloatArray:
    layer = network.layers[0]
    expansion = _first_layer(network, sample, max_order)
    errors = []
    for factor in (damping, np.ones_like(damping)):
        error = np.zeros_like(damping)
        for end in (summary.low, summary.high):
            bent = network.inputs.curved(end) if network.inputs.transforms else end
            z = REACH * (bent - network.center) / network.scale
            potential = z[:, None] * _from_input(network)
            powers = (factor[:, None] * potential) ** np.arange(max_order + 1)[:, None, None]
            guess = np.einsum("mh,mph->ph", expansion, powers)
            error += ((guess - layer.activation(potential + layer.bias)) ** 2).sum(axis=1)
        errors.append(error)
    return np.where(errors[0] <= FACTOR * errors[1], damping, 1.0)


def _first_layer(network: Network, sample: Sample, max_order: int) -> FloatArray:
    """Fit the first layer's activations on plain powers of its potentials: (Q + 1, h)."""
    moments = sample.over(partial(_first_moments, network=network, max_order=max_order), np.add)
    return fit_activations(np.stack([moments, moments]) / 2, range(1, max_order + 1))


def _first_moments(rows: Rows, network: Network, max_order: int) -> FloatArray:
    """Sum the moments (h, Q + 2, Q + 2) of powers of the first potentials and true values."""
    layer = network.layers[0]
    moments = np.zeros((layer.n_outputs, max_order + 2, max_order + 2))
    for batch in rows.to_fit():
        v = network.to_working(batch.X) @ _from_input(network)
        columns = [v**m for m in range(max_order + 1)] + [layer.activation(v + layer.bias)]
        stacked = np.stack(columns, axis=-1)
        moments += np.einsum("n,nha,nhb->hab", batch.weights, stacked, stacked, optimize=True)
    return moments


def _from_input(network: Network) -> FloatArray:
    """Sum what the first layer takes from the input, also beside its weights."""
    total: FloatArray = sum((m for _, m in network.sources(1)), start=np.zeros(()))
    return total
