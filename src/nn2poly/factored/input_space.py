"""The few directions in which the inputs of a wide layer vary at all.

On n rows, and as polynomials with N terms, k inputs vary in at most min(n, N) directions. A
ridge regression on them is the same in an orthonormal basis of these directions, where it costs
what the smallest of rows, terms and inputs costs.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.rays import ray_powers
from nn2poly.arrays import FloatArray
from nn2poly.factored.engine import walk
from nn2poly.factored.propagation import Trace, Traces
from nn2poly.network.network import Network

# Points beyond the number of terms. As many points as terms would do in exact numbers; some more
# make the basis exact to rounding (5 to 10 in Halko, Martinsson and Tropp 2011, to be safe 16).
SPARE_POINTS = 16


def input_basis(
    network: Network, expansions: list[FloatArray], index: int, traces: Traces
) -> FloatArray | None:
    """Choose the side on which a layer's weights are refitted: rows, terms or inputs.

    Parameters
    ----------
    network, expansions
        The network with the layers refitted so far, and their expansions.
    index
        The layer (1-based) whose k inputs are asked for.
    traces
        The rows, which have passed the layers before.

    Returns
    -------
    array (k, r) with orthonormal columns
        All inputs of the layer are combinations of them. None when rows and terms are not
        fewer than the inputs.
    """
    n_inputs = sum(len(matrix) for _, matrix in network.sources(index))
    n_points = count_terms(network.n_features, traces.order) + SPARE_POINTS
    if min(n_points, traces.n_rows) >= n_inputs:
        return None
    if traces.n_rows <= n_points:
        values = traces.gather(partial(layer_inputs, network=network, index=index))
    else:
        values = _at_points(network, expansions, index, traces.order, n_points)
    return np.linalg.qr(values.T)[0]


def layer_inputs(trace: Trace, network: Network, index: int) -> FloatArray:
    """Give the polynomial values (n, k) of all inputs of layer ``index``."""
    values = [trace.value(source) for source, _ in network.sources(index)]
    return values[0] if len(values) == 1 else np.hstack(values)


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
