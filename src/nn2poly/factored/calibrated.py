"""The calibrated expansion: fit the true activations on the *truncated* powers, by rays.

Layer after layer, on a sample of inputs: the neuron's polynomial potential v is known along
every ray, so are the parts [v^m]_d of its powers up to total degree Q, and least squares of
the true activation on them gives the expansion, one coefficient for each power m and degree
d. It knows what truncation throws away, needs no derivative, and the fit of order Q + 1
contains that of order Q. Before that, the layer's weights are refitted to what the
polynomials so far got wrong. Cost: a few forward passes, whatever the number of terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.rays import ray_powers
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.factored.engine import walk
from nn2poly.factored.expansions import LINEAR, constant_of, expand_linear
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.factored.propagation import Trace, start
from nn2poly.factored.shrinkage import fit_activations, fit_weights
from nn2poly.network.network import Layer, Network, map_inputs
from nn2poly.rows.fit_rows import FitRows
from nn2poly.sampling import evenly

# Deviations at which an input is clipped (of a normal one 3 rows in 1,000 lie beyond); the slope
# below which it counts as rare (taste).
CLIP, RARE = 3.0, 0.5
# Rare inputs are damped unless the error on a fold left out is below this share without. A fold
# often lacks the row on which order 3 explodes: of standardised digits the share is .84 and more,
# of the forest covers .04 and less (`benchmarks/studies.py`, seeds 10 and 11).
MUCH_LESS = 0.5
# Rows that tell an average slope (taste), and the share of each layer in the error (good to some
# percent).
SLOPE_ROWS, LAYER_ROWS = 200, 250
# What is left of a layer's potentials is rounding below this share of their squares: they are
# differences of sums of squares, so a few hundred times the unit rounding 2e-16.
NOTHING_LEFT = 1e-13
# Points beyond the number of terms. As many points as terms would do in exact numbers; some more
# make the basis exact to rounding (5 to 10 in Halko, Martinsson and Tropp 2011, to be safe 16).
SPARE_POINTS = 16

Moments = tuple[FloatArray, ...]


def calibrate(network: Network, rows: FitRows, max_order: int, *, refit: bool) -> PolynomialNetwork:
    """Fit the expansions of all layers to rows of the sample.

    Parameters
    ----------
    network
        The network in working coordinates.
    rows
        The rows to fit.
    max_order
        Total order Q.
    refit
        Refit each layer's weights, where that helps on held-out folds.

    Returns
    -------
    PolynomialNetwork
        The network with refitted weights, and an array (Q + 1, Q + 1, h) per layer: the
        factor of [v^m]_d; (2, h) for a linear layer.
    """
    _check_count(rows, max_order)
    shares = _linear_shares(network, rows, max_order)
    whole = np.where(shares > 0.0, 1.0, 0.0)
    left_out = rows.fold == rows.fold.min()
    if np.any(shares < whole) and not left_out.all():
        new, others = rows.some(left_out), rows.some(~left_out)
        damped, plain = (
            _squared_error(network, _calibrated(network, others, max_order, each, refit), new)
            for each in (shares, whole)
        )
        shares = whole if plain < MUCH_LESS * damped else shares
    return _calibrated(network, rows, max_order, shares, refit)


def _calibrated(
    network: Network, rows: FitRows, max_order: int, shares: FloatArray, refit: bool
) -> PolynomialNetwork:
    """Calibrate with inputs damped to their shares (p,)."""
    traces = start(network, rows, max_order)
    fitted = network
    if np.any(shares < 1.0):
        fitted = replace(network, layers=map_inputs(network, lambda m: shares[:, None] * m))
    expansions: list[FloatArray] = []
    for index, layer in enumerate(network.layers, start=1):
        if index > 1 and refit:
            fitted = _with_layer(fitted, index, _refit(fitted, expansions, index, traces))
        if layer.activation == LINEAR:
            expansion = expand_linear(constant_of(fitted, index, expansions))
        else:
            expansion = _fit_layer(fitted, index, traces, max_order)
        expansions.append(expansion)
        for trace in traces if index < len(network.layers) else []:
            trace.step(fitted, index, expansion)
    fitted = _with_slopes(network, fitted, np.flatnonzero(shares == 0.0), rows)
    return PolynomialNetwork(fitted, tuple(expansions), max_order, "calibrated")


def _squared_error(network: Network, pnet: PolynomialNetwork, rows: FitRows) -> float:
    truth = network.outputs_by_layer(network.to_working(rows.X))[-1]
    return float(rows.weights @ ((pnet.outputs_by_order(rows.X)[-1] - truth) ** 2).sum(axis=1))


def layer_shares(network: Network, X: FloatArray, pnet: PolynomialNetwork) -> tuple[float, ...]:
    """Tell with which layer's activations the error of the outputs enters, on rows X (n, p).

    The polynomial is followed up to each layer and the true network from there on; what
    one more polynomial layer adds to the squared error is its share.
    """
    z = network.to_working(X[evenly(len(X), LAYER_ROWS)])
    truth = network.outputs_by_layer(z)
    inputs = [np.zeros((1, z.shape[1])), z]
    layers = walk(pnet.network, pnet.expansions, inputs, pnet.max_order, ray_powers)
    outputs, errors = [z], [0.0]
    for index, (_, series) in enumerate(layers, start=1):
        outputs.append(np.zeros((len(z), 1)) + sum(series[1:], start=series[0]))
        rest = list(outputs)
        for later in range(index + 1, len(network.layers) + 1):
            rest.append(network.layers[later - 1].activation(network.potential(later, rest)))
        errors.append(float(np.mean((rest[-1] - truth[-1]) ** 2)))
    gains = np.maximum(np.diff(errors), 0.0)
    total = gains.sum()
    return tuple((gains / total).tolist()) if total > 0 else (0.0,) * len(gains)


def _check_count(rows: FitRows, order: int) -> None:
    needed = order + 2
    if len(rows) < needed:
        raise InvalidInputError(
            "The sample is too small to calibrate on.",
            where="data",
            expected=f"at least {needed} rows for order {order}; hundreds are better",
            found=f"{len(rows)} rows",
            remedy='pass more rows; or around=x for a local polynomial; or method="taylor"',
        )


def _with_layer(network: Network, index: int, layer: Layer) -> Network:
    layers = (*network.layers[: index - 1], layer, *network.layers[index:])
    return replace(network, layers=layers)


def _by_fold(traces: list[Trace], measure: Callable[[Trace], Moments]) -> Moments:
    """Add up what is measured on each batch: arrays (folds, …)."""
    totals: dict[int, Moments] = {}
    for trace in traces:
        found = measure(trace)
        for total, more in zip(totals.setdefault(trace.fold, found), found, strict=True):
            if total is not more:
                total += more
    return tuple(np.stack(parts) for parts in zip(*totals.values(), strict=True))


# ---- inputs that the sample hardly shows -----------------------------------------------------


def _linear_shares(network: Network, rows: FitRows, max_order: int) -> FloatArray:
    """Tell how much of each input (p,) enters the layers: all of it as a rule.

    An input that never varies says nothing about its powers and interactions: it keeps only
    its average slope. A pixel that is lit in three images of a thousand lies 30 deviations out
    in those three, where any polynomial of order two or more explodes; the sample supports its
    linear share, the least-squares slope of the clipped on the unclipped input. Order 3 follows
    networks of standardised digits with an R² of .95 to .98 so, for .73 to .96 (seeds 10 and 11
    of `benchmarks/studies.py`). A network that is almost a polynomial needs none of that.
    """
    z, shares = network.to_working(rows.X), np.ones(network.n_features)
    if max_order > 1 and network.layers[0].activation != LINEAR:
        cross, square = (rows.weights @ (z * each) for each in (np.clip(z, -CLIP, CLIP), z))
        slopes = np.divide(cross, square, out=np.ones_like(cross), where=square > 1e-20)
        shares = np.where(slopes < RARE, slopes, 1.0)
    if any(layer.activation != LINEAR for layer in network.layers):
        shares[np.ptp(z, axis=0) == 0.0] = 0.0
    return shares


def _with_slopes(network: Network, fitted: Network, columns: IntArray, rows: FitRows) -> Network:
    """Give constant inputs their average slope back, as a skip to the output layer."""
    if not len(columns):
        return fitted
    z = network.to_working(rows.X[evenly(len(rows), SLOPE_ROWS)])
    skip = np.zeros((network.n_features, network.n_outputs))
    for j in columns.tolist():
        step = np.zeros(network.n_features)
        step[j] = 1.0
        above, below = (_output_potential(network, z + sign * step) for sign in (1, -1))
        skip[j] = (above - below).mean(axis=0) / 2
    last = fitted.layers[-1]
    skips = {**last.skips, 0: skip + last.skips.get(0, 0.0)}
    return _with_layer(fitted, len(fitted.layers), replace(last, skips=skips))


def _output_potential(network: Network, z: FloatArray) -> FloatArray:
    return network.potential(len(network.layers), network.outputs_by_layer(z))


# ---- activations -----------------------------------------------------------------------------


def _fit_layer(network: Network, index: int, traces: list[Trace], max_order: int) -> FloatArray:
    """Accumulate the moments of [1, parts of the powers, true value] and solve."""
    measure = partial(_activation_moments, fitted=network, index=index)
    moments, squares = _by_fold(traces, measure)
    size = np.sqrt(squares.sum(axis=0) / moments[:, 0, 0, 0].sum())
    series = traces[0].powers(network, index)
    places = [(m, m + k) for m, parts in enumerate(series, start=1) for k in range(len(parts))]
    coefficients = fit_activations(moments, [m for m, _ in places], size)
    expansion = np.zeros((max_order + 1, max_order + 1, coefficients.shape[1]))
    expansion[0, 0] = coefficients[0]
    for (m, degree), row in zip(places, coefficients[1:], strict=True):
        expansion[m, degree] = row
    return expansion


def _activation_moments(trace: Trace, fitted: Network, index: int) -> Moments:
    """Sum the moments (h, q + 1, q + 1) of [1, parts of the powers, true value].

    And the squares (h,) of the true potentials.
    """
    truth = trace.true_output(index)
    columns = [*(part for parts in trace.powers(fitted, index) for part in parts), truth]
    moments = np.zeros((truth.shape[1], len(columns) + 1, len(columns) + 1))
    moments[:, 0, 0] = trace.weights.sum()
    for i, left in enumerate(columns, start=1):
        weighted = trace.weighted(left)
        moments[:, 0, i] = moments[:, i, 0] = weighted.sum(axis=0)
        for j, right in enumerate(columns[i - 1 :], start=i):
            moments[:, i, j] = moments[:, j, i] = np.einsum("nh,nh->h", weighted, right)
    return moments, trace.weights @ trace.true_potential(index) ** 2


# ---- weights ---------------------------------------------------------------------------------


def _refit(
    network: Network, expansions: list[FloatArray], index: int, traces: list[Trace]
) -> Layer:
    """Change a layer's weights so that its polynomial potentials come closer to the true ones.

    The moments are those of the true potentials; what the present weights leave of them is
    a matter of the moments alone. In a basis of the inputs the weights have coordinates, too.
    """
    layer = network.layers[index - 1]
    basis = input_basis(network, expansions, index, traces)
    measure = partial(_weight_moments, network=network, index=index, basis=basis)
    gram, product, power = _by_fold(traces, measure)
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
    trace: Trace, network: Network, index: int, basis: FloatArray | None
) -> Moments:
    """Sum the moments of a layer's inputs [1, a_1 … a_k] with its true potentials.

    Arrays (k + 1, k + 1), (k + 1, h) and (h,), the last their squares; k is the number of
    inputs, or of columns of the basis.
    """
    inputs = layer_inputs(trace, network, index)
    inputs = inputs if basis is None else inputs @ basis
    inputs = np.column_stack([np.ones(len(inputs)), inputs])
    weighted, truth = trace.weighted(inputs), trace.true_potential(index)
    return weighted.T @ inputs, weighted.T @ truth, trace.weights @ truth**2


def layer_inputs(trace: Trace, network: Network, index: int) -> FloatArray:
    """Give the polynomial values (n, k) of all inputs of layer ``index``."""
    return np.hstack([trace.value(source) for source, _ in network.sources(index)])


def _changed(layer: Layer, bias: FloatArray, matrices: FloatArray) -> Layer:
    """Add a change of bias (h,) and of the stacked matrices (k, h) to a layer."""
    begin = len(layer.weights)
    skips = {}
    for source, matrix in layer.skips.items():
        skips[source] = matrix + matrices[begin : begin + len(matrix)]
        begin += len(matrix)
    main = layer.weights + matrices[: len(layer.weights)]
    return Layer(main, layer.bias + bias, layer.activation, skips)


def input_basis(
    network: Network, expansions: list[FloatArray], index: int, traces: list[Trace]
) -> FloatArray | None:
    """Find the few directions in which the k inputs of a wide layer vary at all.

    On n rows, and as polynomials with N terms, that are at most min(n, N). A ridge regression
    on them is the same in an orthonormal basis of these directions, where it costs what the
    smallest of rows, terms and inputs costs.

    Parameters
    ----------
    network, expansions
        The network with the layers refitted so far, and their expansions.
    index
        The layer (1-based).
    traces
        The rows, which have passed the layers before.

    Returns
    -------
    array (k, r) with orthonormal columns
        All inputs of the layer are combinations of them. None when rows and terms are not
        fewer than the inputs.
    """
    n_inputs = sum(len(matrix) for _, matrix in network.sources(index))
    n_rows, order = sum(len(trace.weights) for trace in traces), traces[0].order
    n_points = count_terms(network.n_features, order) + SPARE_POINTS
    if min(n_points, n_rows) >= n_inputs:
        return None
    if n_rows <= n_points:
        values = np.concatenate([layer_inputs(trace, network, index) for trace in traces])
    else:
        values = _at_points(network, expansions, index, order, n_points)
    return np.linalg.qr(values.T)[0]


def _at_points(
    network: Network, expansions: list[FloatArray], index: int, order: int, n_points: int
) -> FloatArray:
    """Evaluate a layer's inputs at random points as wide as the rows: (n_points, k).

    Unlike a choice of rows, points miss no direction that only rare rows have.
    """
    z = np.random.default_rng(0).uniform(-np.sqrt(3), np.sqrt(3), (n_points, network.n_features))
    inputs = [np.zeros((1, z.shape[1])), z]
    outputs = [inputs]
    outputs += [output for _, output in walk(network, tuple(expansions), inputs, order, ray_powers)]
    values = [sum(outputs[source], start=np.zeros(1)) for source, _ in network.sources(index)]
    return np.hstack(values)
