"""The calibrated expansion: fit the true activations on the *truncated* powers, by rays.

Layer after layer, on a sample of inputs: the neuron's polynomial potential v is known along
every ray, so are the parts [v^m]_d of its powers up to total degree Q, and least squares of
the true activation on them gives the expansion, one coefficient for each power m and degree
d. It knows what truncation throws away, needs no derivative, and the fit of order Q + 1
contains that of order Q. Before that, the layer's weights are refitted to what the
polynomials so far got wrong. Cost: a few forward passes, whatever the number of terms.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from nn2poly.algebra.graded import at_degree
from nn2poly.arrays import FloatArray
from nn2poly.factored.engine import Expansions
from nn2poly.factored.expansions import LINEAR
from nn2poly.factored.input_space import input_basis, layer_inputs
from nn2poly.factored.propagation import Sums, Trace, Traces, Walk
from nn2poly.factored.rare_inputs import damp_rare_inputs, restore_slopes
from nn2poly.factored.shrinkage import fit_activations, fit_weights, judged_folds
from nn2poly.network.network import Layer, Network
from nn2poly.rows.folds import Sample
from nn2poly.rows.summary import Summary

# Rows of a batch on which the size of a potential's summands is measured: only its power of ten
# matters.
SIZE_ROWS = 32
# What is left of a layer's potentials is rounding below this share of their squares: they are
# differences of sums of squares, so a few hundred times the unit rounding 2e-16.
NOTHING_LEFT = 1e-13


def calibrate(
    network: Network, sample: Sample, summary: Summary, max_order: int, *, refit: bool
) -> tuple[Network, Expansions]:
    """Fit the expansions of all layers to a sample.

    Parameters
    ----------
    network
        The network in the working coordinates of the summary.
    sample, summary
        The data, and what a first pass over them told.
    max_order
        Total order Q.
    refit
        Refit each layer's weights, where that helps on held-out folds.

    Returns
    -------
    network, expansions
        The network with refitted weights, and an array (Q + 1, Q + 1, h) per layer: the
        factor of [v^m]_d; (2, h) for a linear layer.
    """
    traces = Traces(network, sample, summary, max_order)
    fitted = network
    expansions: list[FloatArray] = []
    for index, layer in enumerate(network.layers, start=1):
        if index == 1:
            fitted = damp_rare_inputs(network, sample, summary, max_order)
        elif refit:
            fitted = _with_layer(fitted, index, _refit(fitted, expansions, index, traces))
        if layer.activation == LINEAR:
            expansion = _linear(fitted, index, expansions)
        else:
            expansion = _fit_layer(fitted, index, traces, max_order)
        expansions.append(expansion)
        if index < len(network.layers):
            traces.advance(fitted, index, expansion)
    return restore_slopes(network, fitted, summary), tuple(expansions)


def _with_layer(network: Network, index: int, layer: Layer) -> Network:
    layers = (*network.layers[: index - 1], layer, *network.layers[index:])
    return replace(network, layers=layers)


def _linear(network: Network, index: int, expansions: list[FloatArray]) -> FloatArray:
    """Expand a linear layer: its constant and slope 1, exactly."""
    constants = [np.zeros((1, network.n_features)), *(at_degree(e, 0)[:1] for e in expansions)]
    constant = network.potential(index, constants)[0]
    return np.stack([constant, np.ones_like(constant)])


def _fit_layer(network: Network, index: int, traces: Traces, max_order: int) -> FloatArray:
    """Accumulate the moments of [1, parts of the powers, true value] and solve."""
    sums = traces.total(index, partial(_activation_moments, fitted=network, index=index))
    places, unit = sums.first
    coefficients = fit_activations(sums.arrays[0], [m for m, _ in places], unit)
    expansion = np.zeros((max_order + 1, max_order + 1, network.layers[index - 1].n_outputs))
    expansion[0, 0] = coefficients[0]
    for (m, degree), row in zip(places, coefficients[1:], strict=True):
        expansion[m, degree] = row
    return expansion


def _activation_moments(walk: Walk, trace: Trace, fitted: Network, index: int) -> Sums:
    """Sum the moments (folds, h, q + 1, q + 1) of [1, parts of the powers, true value]."""
    series = walk.powers(trace, fitted, index)
    places = [(m, m + k) for m, parts in enumerate(series, start=1) for k in range(len(parts))]
    columns = [part for parts in series for part in parts]
    truth = walk.true_output(trace, index)
    size = len(columns) + 2
    moments = np.zeros((walk.n_folds, truth.shape[1], size, size))
    _add_moments(moments, [*columns, truth], trace)
    largest = 0.0 if trace.stretched else float(max(truth.max(), -truth.min()))
    return Sums((moments,), largest, (places, _size_of_summands(fitted, index, trace)))


def _size_of_summands(network: Network, index: int, trace: Trace) -> FloatArray:
    """Measure |bias| + Σ |weight| |input| of every neuron: what its potential is summed from.

    A few rows tell.
    """
    size = np.abs(network.layers[index - 1].bias)
    for source, matrix in network.sources(index):
        size = size + np.abs(trace.value(source, slice(SIZE_ROWS))).mean(axis=0) @ np.abs(matrix)
    return size


def _add_moments(moments: FloatArray, columns: list[FloatArray], trace: Trace) -> None:
    """Add the weighted moments of [1, *columns], fold by fold."""
    for fold, rows in trace.folds():
        moments[fold, :, 0, 0] += trace.weights[rows].sum()
        for i, left in enumerate(columns, start=1):
            weighted = trace.weighted(left, rows)
            moments[fold, :, 0, i] += weighted.sum(axis=0)
            for j, right in enumerate(columns[i - 1 :], start=i):
                moments[fold, :, i, j] += np.einsum("nh,nh->h", weighted, right[rows])
    lower = np.tril_indices(moments.shape[-1], -1)
    moments[..., lower[0], lower[1]] = moments[..., lower[1], lower[0]]


def _refit(network: Network, expansions: list[FloatArray], index: int, traces: Traces) -> Layer:
    """Change a layer's weights so that its polynomial potentials come closer to the true ones.

    The moments are those of the true potentials; what the present weights leave of them is
    a matter of the moments alone. In a basis of the inputs the weights have coordinates, too.
    """
    layer = network.layers[index - 1]
    basis = input_basis(network, expansions, index, traces)
    measure = partial(_weight_moments, network=network, index=index, basis=basis)
    gram, product, power = traces.total(index, measure).arrays
    weights = np.vstack([matrix for _, matrix in network.sources(index)])
    present = np.vstack([layer.bias, weights if basis is None else basis.T @ weights])
    cross = product - gram @ present
    square = np.maximum(power - (present * (product + cross)).sum(axis=1), 0.0)
    if not np.any(square.sum(axis=0) > NOTHING_LEFT * power.sum(axis=0)):
        return layer
    unit = np.ones(layer.n_outputs)
    if index == len(network.layers):
        unit = _variances(gram[:, 0, 0].sum(), product[:, 0].sum(axis=0), power.sum(axis=0))
    change = fit_weights(gram, cross, square, unit, n_inputs=len(weights))
    if change is None:
        return layer
    return _changed(layer, change[0], change[1:] if basis is None else basis @ change[1:])


def _variances(weight: float, first: FloatArray, second: FloatArray) -> FloatArray:
    """Give the variance (h,) of each output: outputs may differ in unit."""
    variance = np.maximum(second / weight - (first / weight) ** 2, 0.0)
    floor: float = 1e-12 * variance.max() + 1e-300
    return np.maximum(variance, floor)


def _weight_moments(
    walk: Walk, trace: Trace, network: Network, index: int, basis: FloatArray | None
) -> Sums:
    """Sum the moments of a layer's inputs [1, a_1 … a_k] with its true potentials.

    Arrays (folds, k + 1, k + 1), (folds, k + 1, h) and (folds, h), the last their squares; k
    is the number of inputs, or of columns of the basis. Folds that are not judged are one.
    """
    inputs = layer_inputs(trace, network, index)
    inputs = inputs if basis is None else inputs @ basis
    truth = walk.potential(trace, index)
    k, h = inputs.shape[1], truth.shape[1]
    n_folds = min(walk.n_folds, judged_folds(walk.n_folds, k) + 1)
    gram = np.zeros((n_folds, k + 1, k + 1))
    product, power = np.zeros((n_folds, k + 1, h)), np.zeros((n_folds, h))
    for number, rows in trace.folds():
        fold = min(number, n_folds - 1)
        weights, weighted = trace.weights[rows], trace.weighted(inputs, rows)
        first = weights @ inputs[rows]
        gram[fold, 0, 0] += weights.sum()
        gram[fold, 0, 1:] += first
        gram[fold, 1:, 0] += first
        gram[fold, 1:, 1:] += weighted.T @ inputs[rows]
        product[fold, 0] += weights @ truth[rows]
        product[fold, 1:] += weighted.T @ truth[rows]
        power[fold] += np.einsum("nh,nh->h", trace.weighted(truth, rows), truth[rows])
    return Sums((gram, product, power))


def _changed(layer: Layer, bias: FloatArray, matrices: FloatArray) -> Layer:
    """Add a change of bias (h,) and of the stacked matrices (k, h) to a layer."""
    begin = len(layer.weights)
    skips = {}
    for source, matrix in layer.skips.items():
        skips[source] = matrix + matrices[begin : begin + len(matrix)]
        begin += len(matrix)
    main = layer.weights + matrices[: len(layer.weights)]
    return Layer(main, layer.bias + bias, layer.activation, skips)
