"""The sample on its way through two networks at once: the true one and its polynomial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.graded import Blocks, combine
from nn2poly.algebra.rays import ray_powers
from nn2poly.arrays import FloatArray
from nn2poly.factored.engine import affine
from nn2poly.network.network import Network
from nn2poly.rows.fit_rows import FitRows, stacked
from nn2poly.rows.folds import FOLDS, LocalSample, Rows, Sample
from nn2poly.rows.summary import Summary
from nn2poly.sampling import hashed

ALL = slice(None)
# A seed of its own: other hashes tell the folds.
SEED = 4
# How far the stretched copy reaches, how many rows it has, and its largest share of weight:
# chosen on seeds 0 to 5 of `benchmarks/calibration.py`, which reports on others.
STRETCH, STRETCH_ROWS, STRETCH_SHARE = 1.5, 250, 0.2
# A stretched row counts while outputs stay within so many times the largest of the sample: a
# matter of taste, one power of ten; only activations that explode (exp) ever reach it.
OUTPUT_LIMIT = 10.0
# From this many rows on, one fold is held out instead of each in turn: by then one fold has
# hundreds of rows, and which of them is held out hardly matters.
LARGE_SAMPLE = 2000
# Numbers that are kept in memory between layers (8 bytes each: 1 GB, a small part of a laptop's
# memory); beyond, batches are replayed.
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
    rays: list[Blocks]
    plain: bool
    stretched: bool
    potential: FloatArray | None = None
    series: list[Blocks] | None = None

    def folds(self) -> Iterator[tuple[int, slice]]:
        """Walk the folds that have rows here."""
        for fold, (begin, end) in enumerate(pairwise(self.ends.tolist())):
            if begin < end:
                yield fold, slice(begin, end)

    def weighted(self, values: FloatArray, rows: slice) -> FloatArray:
        """Multiply rows of values (n, k) by their weights, without a copy when all are 1."""
        chosen: FloatArray = values[rows]
        return chosen if self.plain else chosen * self.weights[rows, None]

    def value(self, source: int, rows: slice = ALL) -> FloatArray:
        """Sum the ray series of a source to its polynomial values (n, h), of all rows or some."""
        constant, *parts = self.rays[source]
        total = np.repeat(constant, len(self.weights[rows]), axis=0)
        for part in parts:
            total += part[rows]
        return total


@dataclass(frozen=True)
class Sums:
    """What a pass over the traces adds up: arrays, the largest output, what the first one told."""

    arrays: tuple[FloatArray, ...]
    largest: float = 0.0
    first: tuple[Any, ...] = ()

    def __add__(self, other: Sums) -> Sums:
        if not self.arrays or not other.arrays:
            return self if self.arrays else other
        arrays = tuple(a + b for a, b in zip(self.arrays, other.arrays, strict=True))
        return Sums(arrays, max(self.largest, other.largest), self.first)


@dataclass
class Walk:
    """How a batch goes through the layers: all that a worker elsewhere must know.

    Parameters
    ----------
    network
        The true network, in working coordinates.
    order
        Total order Q.
    n_folds
        Folds that are told apart: each of a small sample; of a large one, one and the rest.
    done
        The fitted network and the expansion of every layer passed.
    largest
        By layer (1-based), the largest true output on the sample.
    """

    network: Network
    order: int
    n_folds: int
    done: list[tuple[Network, FloatArray]] = field(default_factory=list)
    largest: dict[int, float] = field(default_factory=dict)

    def start(self, batch: FitRows, stretch: float = 1.0, share: float = 1.0) -> Trace:
        """Begin with a batch of rows, or with a stretched copy of them."""
        batch = batch.some(np.argsort(batch.fold, kind="stable"))
        z = self.network.inputs.hold(stretch * self.network.to_working(batch.X))
        series: Blocks = [np.zeros((1, z.shape[1])), z]
        fold = np.minimum(batch.fold, self.n_folds - 1)
        ends = np.searchsorted(fold, np.arange(self.n_folds + 1))
        weights = share * batch.weights
        plain = bool(np.all(weights == 1.0))
        return Trace(weights, ends, [z], [series], plain, stretched=stretch != 1.0)

    def replayed(self, rows: Rows) -> Iterator[Trace]:
        """Take every batch of the rows through the layers passed so far."""
        for batch in rows.to_fit():
            trace = self.start(batch)
            for index, (fitted, expansion) in enumerate(self.done, start=1):
                self.step(trace, fitted, index, expansion)
            yield trace

    def potential(self, trace: Trace, index: int) -> FloatArray:
        """Give the true potentials (n, h) of layer ``index``, which the trace is to enter."""
        if trace.potential is None:
            trace.potential = self.network.potential(index, trace.truth)
        return trace.potential

    def true_output(self, trace: Trace, index: int) -> FloatArray:
        """Give the true output (n, h) of layer ``index``, which the trace is to enter."""
        if len(trace.truth) == index:
            function = self.network.layers[index - 1].activation
            trace.truth.append(self._limited(trace, index, function(self.potential(trace, index))))
        return trace.truth[index]

    def powers(self, trace: Trace, fitted: Network, index: int) -> list[Blocks]:
        """Raise the polynomial potentials of layer ``index`` to the powers 1 … Q, truncated."""
        if trace.series is None:
            v = affine(fitted, index, trace.rays)
            trace.series = ray_powers(v, self.order, self.order)
        return trace.series

    def step(self, trace: Trace, fitted: Network, index: int, expansion: FloatArray) -> None:
        """Take a trace through layer ``index`` (1-based) with its expansion."""
        series = self.powers(trace, fitted, index)[: len(expansion) - 1]
        trace.rays.append(combine(expansion, series, self.order))
        self.true_output(trace, index)
        trace.potential = trace.series = None
        later = range(index + 1, len(self.network.layers) + 1)
        needed = {source for i in later for source, _ in self.network.sources(i)}
        for source in set(range(index)) - needed:
            trace.rays[source], trace.truth[source] = [], np.zeros((0, 0))

    def _limited(self, trace: Trace, index: int, output: FloatArray) -> FloatArray:
        """Give no weight to stretched rows on which the true network itself explodes."""
        if not trace.stretched or index not in self.largest:
            return output
        limit = OUTPUT_LIMIT * self.largest[index]
        with np.errstate(invalid="ignore"):
            beyond = ~(np.abs(output) <= limit).all(axis=1)
        if not beyond.any():
            return output
        trace.weights, trace.plain = np.where(beyond, 0.0, trace.weights), False
        return np.clip(np.nan_to_num(output, posinf=limit, neginf=-limit), -limit, limit)


Measure = Callable[[Walk, Trace], Sums]
Values = Callable[[Trace], FloatArray]


class Traces:
    """All rows of a sample, with a stretched copy of some, layer after layer.

    A row stretched away from the centre is where a polynomial goes wrong first; the true
    network is asked there too, with a small weight. Whatever is asked of many rows is a sum
    over them, so that they may be kept here, read again for every layer, or lie elsewhere.
    """

    def __init__(self, network: Network, sample: Sample, summary: Summary, order: int) -> None:
        self._sample = sample
        self._walk = Walk(network, order, FOLDS if summary.n_rows < LARGE_SAMPLE else 2)
        width = sum(layer.n_outputs for layer in network.layers) + network.n_features
        numbers = summary.n_rows * width * (order + 2) * (order + 1) // 2
        self._kept: list[Trace] | None = None
        if isinstance(sample, LocalSample) and numbers <= KEPT_NUMBERS:
            self._kept = list(self._walk.replayed(sample.rows))
        chosen = stretched_batches(sample, summary, order, network.n_features)
        self._stretched = [self._walk.start(batch, STRETCH, share) for batch, share in chosen]
        self.order = order
        self.n_rows = summary.n_rows + sum(len(batch.X) for batch, _ in chosen)

    def total(self, index: int, measure: Measure) -> Sums:
        """Sum a measure of layer ``index`` over all rows; the stretched ones come last.

        By then the sample has shown how large outputs get.
        """
        if self._kept is not None:
            total = _add_up(self._walk, self._kept, measure)
        else:
            total = self._sample.over(partial(_measured, walk=self._walk, measure=measure), add)
        if total.largest:
            self._walk.largest[index] = total.largest
        return total + _add_up(self._walk, self._stretched, measure) if self._stretched else total

    def gather(self, values: Values) -> FloatArray:
        """Stack the values (n, k) of all rows, the stretched ones last: for few rows only."""
        if self._kept is not None:
            parts = [values(trace) for trace in self._kept]
        else:
            parts = self._sample.over(partial(_gathered, walk=self._walk, values=values), add)
        return np.concatenate([*parts, *(values(trace) for trace in self._stretched)])

    def advance(self, fitted: Network, index: int, expansion: FloatArray) -> None:
        """Take all traces through layer ``index`` (1-based) with its expansion."""
        self._walk.done.append((fitted, expansion))
        for trace in (*(self._kept or ()), *self._stretched):
            self._walk.step(trace, fitted, index, expansion)


def _measured(rows: Rows, walk: Walk, measure: Measure) -> Sums:
    return _add_up(walk, walk.replayed(rows), measure)


def _gathered(rows: Rows, walk: Walk, values: Values) -> list[FloatArray]:
    return [values(trace) for trace in walk.replayed(rows)]


def _add_up(walk: Walk, traces: Iterable[Trace], measure: Measure) -> Sums:
    total: Sums | None = None
    for trace in traces:
        found = measure(walk, trace)
        total = found if total is None else total + found
    return total or Sums(())


def stretched_batches(
    sample: Sample, summary: Summary, order: int, n_features: int
) -> list[tuple[FitRows, float]]:
    """Choose about STRETCH_ROWS rows evenly, and the weight of each when it is stretched."""
    stride = max(1, summary.n_rows // STRETCH_ROWS)
    # About the chance that a new row leaves the range of some input; more for higher orders.
    chance = 0.5 * (order - 1) * n_features / summary.n_rows
    share = min(STRETCH_SHARE, chance) * stride
    if share <= 0.0:
        return []
    return [(batch, share) for batch in sample.over(partial(thinned, stride=stride), add)]


def thinned(rows: Rows, stride: int) -> list[FitRows]:
    """Gather about one row in ``stride``, evenly chosen."""
    parts = [rows.some(hashed(rows.index, SEED) * stride < 1.0) for rows in rows.to_fit()]
    return [stacked(parts)] if any(map(len, parts)) else []
