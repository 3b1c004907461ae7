"""The sample on its way through two networks at once: the true one and its polynomial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.graded import Blocks, combine
from nn2poly.algebra.rays import ray_powers
from nn2poly.arrays import FloatArray
from nn2poly.factored.engine import affine
from nn2poly.network.network import Network
from nn2poly.rows.fit_rows import FitRows
from nn2poly.rows.folds import BATCH_ROWS
from nn2poly.sampling import evenly

# Numbers that rows may take in memory on their way (8 bytes each: 1 GB, a small part of a laptop's
# memory).
KEPT_NUMBERS = 125_000_000


@dataclass
class Trace:
    """One batch of a fold on its way: what is known of every source so far, and of the next layer.

    Parameters
    ----------
    network
        The true network, in working coordinates.
    order
        Total order Q.
    fold
        Its number.
    weights
        Array (n,).
    truth, rays
        True outputs (n, h) and ray series of the input and of every layer passed.
    potential, series
        True potentials (n, h) of the next layer, and the powers of its polynomial
        potentials, once they were asked for.
    """

    network: Network
    order: int
    fold: int
    weights: FloatArray
    truth: list[FloatArray]
    rays: list[Blocks]
    potential: FloatArray | None = None
    series: list[Blocks] | None = None

    def weighted(self, values: FloatArray) -> FloatArray:
        """Multiply values (n, k) by the weights of their rows."""
        return values * self.weights[:, None]

    def value(self, source: int) -> FloatArray:
        """Sum the ray series of a source to its polynomial values (n, h)."""
        constant, *parts = self.rays[source]
        return sum(parts, start=np.repeat(constant, len(self.weights), axis=0))

    def true_potential(self, index: int) -> FloatArray:
        """Give the true potentials (n, h) of layer ``index`` (1-based), the next one."""
        if self.potential is None:
            self.potential = self.network.potential(index, self.truth)
        return self.potential

    def true_output(self, index: int) -> FloatArray:
        """Give the true output (n, h) of the next layer."""
        if len(self.truth) == index:
            function = self.network.layers[index - 1].activation
            self.truth.append(function(self.true_potential(index)))
        return self.truth[index]

    def powers(self, fitted: Network, index: int) -> list[Blocks]:
        """Raise the polynomial potentials of the next layer to the powers 1 … Q, truncated."""
        if self.series is None:
            self.series = ray_powers(affine(fitted, index, self.rays), self.order, self.order)
        return self.series

    def step(self, fitted: Network, index: int, expansion: FloatArray) -> None:
        """Pass the next layer with its expansion."""
        series = self.powers(fitted, index)[: len(expansion) - 1]
        self.rays.append(combine(expansion, series, self.order))
        self.true_output(index)
        self.potential = self.series = None
        later = range(index + 1, len(self.network.layers) + 1)
        needed = {source for i in later for source, _ in self.network.sources(i)}
        for source in set(range(index)) - needed:
            self.rays[source], self.truth[source] = [], np.zeros((0, 0))


def start(network: Network, rows: FitRows, order: int) -> list[Trace]:
    """Begin with the rows, or with as many of them as memory holds, in batches."""
    most = KEPT_NUMBERS // _numbers_of_a_row(network, order)
    rows = rows.some(evenly(len(rows), most))
    traces = []
    for fold in np.unique(rows.fold).tolist():
        mine = np.flatnonzero(rows.fold == fold)
        for begin in range(0, len(mine), BATCH_ROWS):
            batch = rows.some(mine[begin : begin + BATCH_ROWS])
            z = network.to_working(batch.X)
            inputs = [np.zeros((1, z.shape[1])), z]
            traces.append(Trace(network, order, fold, batch.weights, [z], [inputs]))
    return traces


def _numbers_of_a_row(network: Network, order: int) -> int:
    """Count what a row takes in the widest layer: its potential, powers, and outputs around it.

    Without skips; sources that a later layer needs come on top.
    """
    widest = max(layer.n_outputs for layer in network.layers)
    return network.n_features + widest * (order + 2) * (order + 3) // 2
