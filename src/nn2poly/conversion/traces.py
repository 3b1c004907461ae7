"""The sample on its way through two networks at once: the true one and its polynomial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.graded import Graded, combine, powers
from nn2poly.algebra.rays import RayProduct
from nn2poly.conversion.engine import affine
from nn2poly.conversion.sample import Batch, Sample, Summary
from nn2poly.network.network import Network

FloatArray = npt.NDArray[np.float64]

# How far the stretched copy reaches, how many rows it has, and its largest share of weight.
STRETCH, STRETCH_ROWS, STRETCH_SHARE = 1.5, 1000, 0.2
# Numbers that are kept in memory between layers (8 bytes each); beyond, batches are replayed.
KEPT_NUMBERS = 125_000_000


@dataclass
class Trace:
    """One batch: weights (n,), fold slices, true outputs and ray series of every source."""

    weights: FloatArray
    ends: npt.NDArray[np.intp]
    truth: list[FloatArray]
    rays: list[Graded]

    def folds(self) -> Iterator[tuple[int, slice]]:
        """Walk the folds that have rows here."""
        for fold, (begin, end) in enumerate(zip(self.ends[:-1], self.ends[1:], strict=True)):
            if begin < end:
                yield fold, slice(int(begin), int(end))

    def value(self, source: int) -> FloatArray:
        """Sum the ray series of a source to its polynomial values (n, h)."""
        total: FloatArray = sum(self.rays[source][1:], start=self.rays[source][0])
        return np.broadcast_to(total, (len(self.weights), total.shape[1]))


class Traces:
    """All batches of a sample, with a stretched copy of some rows, layer after layer.

    A row stretched away from the centre is where a polynomial runs wild first; the true
    network is asked there too, with a small weight.
    """

    def __init__(self, network: Network, sample: Sample, summary: Summary, order: int) -> None:
        self._network, self._sample, self._summary = network, sample, summary
        self._order = order
        self._done: list[tuple[Network, FloatArray]] = []
        width = sum(layer.n_outputs for layer in network.layers) + network.n_features
        numbers = summary.n_rows * width * (order + 2)
        self._kept = list(self._start()) if numbers <= KEPT_NUMBERS else None

    def __iter__(self) -> Iterator[Trace]:
        if self._kept is not None:
            yield from self._kept
            return
        for trace in self._start():
            for index, (fitted, expansion) in enumerate(self._done, start=1):
                self._step(trace, fitted, index, expansion)
            yield trace

    def advance(self, fitted: Network, index: int, expansion: FloatArray) -> None:
        """Take all traces through layer ``index`` (1-based) with its expansion."""
        self._done.append((fitted, expansion))
        for trace in self._kept or ():
            self._step(trace, fitted, index, expansion)

    def true_output(self, trace: Trace, index: int) -> FloatArray:
        """Give the true output of layer ``index``, which the trace is about to enter."""
        if len(trace.truth) == index:
            potential = self._network.potential(index, trace.truth)
            trace.truth.append(self._network.layers[index - 1].activation(potential))
        return trace.truth[index]

    def powers(self, trace: Trace, fitted: Network, index: int) -> list[Graded]:
        """Raise the polynomial potentials of layer ``index`` to the powers 1 … Q, truncated."""
        v = affine(fitted, index, trace.rays)
        return powers(v, self._order, self._order, RayProduct(len(trace.weights)))

    def _step(self, trace: Trace, fitted: Network, index: int, expansion: FloatArray) -> None:
        series = self.powers(trace, fitted, index)
        trace.rays.append(combine(expansion, series, self._order))
        self.true_output(trace, index)

    def _start(self) -> Iterator[Trace]:
        summary = self._summary
        stride = max(1, summary.n_rows // STRETCH_ROWS)
        # About the chance that a new row leaves the range of some input; more for higher orders.
        chance = 0.5 * (self._order - 1) * self._network.n_features / summary.n_rows
        share = min(STRETCH_SHARE, chance) * stride
        for batch in self._sample.to_fit():
            yield self._trace(batch, 1.0, 1.0)
            if share > 0.0:
                yield self._trace(_thinned(batch, stride), STRETCH, share)

    def _trace(self, batch: Batch, stretch: float, share: float) -> Trace:
        z = stretch * self._network.to_working(batch.X)
        start: Graded = [np.zeros((1, z.shape[1])), z]
        return Trace(share * batch.weights, batch.ends, [z], [start])


def _thinned(batch: Batch, stride: int) -> Batch:
    """Keep every ``stride``-th row, still sorted by fold."""
    rows = np.arange(0, len(batch.X), stride)
    return Batch(batch.X[rows], batch.weights[rows], np.searchsorted(rows, batch.ends))
