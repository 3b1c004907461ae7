"""The sample on its way through two networks at once: the true one and its polynomial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.graded import Graded, combine, powers
from nn2poly.algebra.rays import RayProduct
from nn2poly.conversion.engine import affine
from nn2poly.conversion.sample import FOLDS, Batch, Sample, Summary
from nn2poly.network.network import Network

FloatArray = npt.NDArray[np.float64]

# How far the stretched copy reaches, how many rows it has, and its largest share of weight.
STRETCH, STRETCH_ROWS, STRETCH_SHARE = 1.5, 500, 0.2
# A stretched row counts while outputs stay within so many times the largest of the sample.
WILD = 10.0
# From this many rows on, one fold is held out instead of each in turn.
LARGE_SAMPLE = 2000
# Numbers that are kept in memory between layers (8 bytes each); beyond, batches are replayed.
KEPT_NUMBERS = 125_000_000


@dataclass
class Trace:
    """One batch on its way: what is known of every source so far, and of the next layer.

    Parameters
    ----------
    weights
        Array (n,).
    ends
        Array (folds + 1,): fold k is the rows ``ends[k]:ends[k+1]``.
    plain, stretched
        All weights are 1; these are rows of the stretched copy.
    truth, rays
        True outputs (n, h) and ray series of the input and of every layer passed.
    potential, series
        True potentials (n, h) of the next layer, and the powers of its polynomial
        potentials, once they were asked for.
    """

    weights: FloatArray
    ends: npt.NDArray[np.intp]
    truth: list[FloatArray]
    rays: list[Graded]
    plain: bool
    stretched: bool
    potential: FloatArray | None = None
    series: list[Graded] | None = None

    def folds(self) -> Iterator[tuple[int, slice]]:
        """Walk the folds that have rows here."""
        for fold, (begin, end) in enumerate(zip(self.ends[:-1], self.ends[1:], strict=True)):
            if begin < end:
                yield fold, slice(int(begin), int(end))

    def weighted(self, values: FloatArray, rows: slice) -> FloatArray:
        """Multiply rows of values (n, k) by their weights, without a copy when all are 1."""
        chosen: FloatArray = values[rows]
        return chosen if self.plain else chosen * self.weights[rows, None]

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
        self._largest: dict[int, float] = {}
        width = sum(layer.n_outputs for layer in network.layers) + network.n_features
        numbers = summary.n_rows * width * (order + 2) * (order + 1) // 2
        #: Folds that are told apart: each of a small sample; of a large one, one and the rest.
        self.n_folds = FOLDS if summary.n_rows < LARGE_SAMPLE else 2
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

    def potential(self, trace: Trace, index: int) -> FloatArray:
        """Give the true potentials (n, h) of layer ``index``, which the trace is to enter."""
        if trace.potential is None:
            trace.potential = self._network.potential(index, trace.truth)
        return trace.potential

    def true_output(self, trace: Trace, index: int) -> FloatArray:
        """Give the true output (n, h) of layer ``index``, which the trace is to enter."""
        if len(trace.truth) == index:
            function = self._network.layers[index - 1].activation
            trace.truth.append(self._tamed(trace, index, function(self.potential(trace, index))))
        return trace.truth[index]

    def _tamed(self, trace: Trace, index: int, output: FloatArray) -> FloatArray:
        """Give no weight to stretched rows on which the true network itself runs wild."""
        if not trace.stretched:
            largest = self._largest.get(index, 0.0)
            self._largest[index] = max(largest, float(np.max(np.abs(output))))
            return output
        limit = WILD * self._largest[index]
        with np.errstate(invalid="ignore"):
            wild = ~(np.abs(output) <= limit).all(axis=1)
        if not wild.any():
            return output
        trace.weights, trace.plain = np.where(wild, 0.0, trace.weights), False
        return np.clip(np.nan_to_num(output, posinf=limit, neginf=-limit), -limit, limit)

    def powers(self, trace: Trace, fitted: Network, index: int) -> list[Graded]:
        """Raise the polynomial potentials of layer ``index`` to the powers 1 … Q, truncated."""
        if trace.series is None:
            v = affine(fitted, index, trace.rays)
            product = RayProduct(len(trace.weights))
            trace.series = powers(v, self._order, self._order, product)
        return trace.series

    def _step(self, trace: Trace, fitted: Network, index: int, expansion: FloatArray) -> None:
        series = self.powers(trace, fitted, index)[: len(expansion) - 1]
        trace.rays.append(combine(expansion, series, self._order))
        self.true_output(trace, index)
        trace.potential = trace.series = None

    def _start(self) -> Iterator[Trace]:
        summary = self._summary
        stride = max(1, summary.n_rows // STRETCH_ROWS)
        # About the chance that a new row leaves the range of some input; more for higher orders.
        chance = 0.5 * (self._order - 1) * self._network.n_features / summary.n_rows
        share = min(STRETCH_SHARE, chance) * stride
        # The stretched rows come last, when the sample has shown how large outputs get.
        for batch in self._sample.to_fit():
            yield self._trace(batch, 1.0, 1.0)
        for batch in self._sample.to_fit() if share > 0.0 else ():
            few = _thinned(batch, stride)
            if len(few.X):
                yield self._trace(few, STRETCH, share)

    def _trace(self, batch: Batch, stretch: float, share: float) -> Trace:
        z = stretch * self._network.to_working(batch.X)
        start: Graded = [np.zeros((1, z.shape[1])), z]
        ends = batch.ends if self.n_folds == FOLDS else batch.ends[[0, 1, FOLDS]]
        weights = share * batch.weights
        plain = bool(np.all(weights == 1.0))
        return Trace(weights, ends, [z], [start], plain, stretched=stretch != 1.0)


def _thinned(batch: Batch, stride: int) -> Batch:
    """Keep the rows whose number in the sample is a multiple of ``stride``, sorted by fold."""
    rows = np.flatnonzero(batch.index % stride == 0)
    ends = np.searchsorted(rows, batch.ends)
    return Batch(batch.X[rows], batch.weights[rows], ends, batch.index[rows])
