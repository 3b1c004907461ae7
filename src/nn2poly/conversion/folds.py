"""Rows that can be walked again and again, and work that is done on all of them.

Rows are split by the golden-ratio sequence: row i has the number frac(i·φ), evenly spread
whatever the order of the data. Numbers below `HELD_OUT` are kept for the card and never
fitted; the rest are split into `FOLDS` folds on which shrinkage is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from nn2poly.arrays import FloatArray, IntArray

T = TypeVar("T")

GOLDEN = 0.6180339887498949
# The share that is kept for the card, and the folds of the rest: the usual fifth, and five.
HELD_OUT, FOLDS = 0.2, 5
# Below this many rows none can be spared: all are fitted, and the card says so (taste: a fifth of
# 20 rows are 4).
MIN_ROWS_TO_HOLD_OUT = 20
# The rows of one batch of an array: near the cache in layers of hundreds of neurons.
BATCH_ROWS = 1024


@dataclass(frozen=True)
class Batch:
    """Rows to fit, sorted by fold: fold k is ``ends[k]:ends[k+1]``.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    weights
        Array (n,).
    ends
        Array (FOLDS + 1,).
    index
        Array (n,): the numbers of the rows in the sample.
    """

    X: FloatArray
    weights: FloatArray
    ends: IntArray
    index: IntArray


@dataclass(frozen=True)
class Rows:
    """A run of rows that can be walked again and again: all of a sample, or a part of it.

    Parameters
    ----------
    batches
        Gives a new iterator of pairs (X, weights).
    hold_out
        Some rows are kept for the card.
    begin
        The number of the first row in the sample.
    """

    batches: Callable[[], Iterator[tuple[FloatArray, FloatArray]]]
    hold_out: bool
    begin: int = 0

    def to_fit(self) -> Iterator[Batch]:
        """Walk the rows that may be fitted."""
        lowest = HELD_OUT if self.hold_out else 0.0
        for X, weights, index in self.numbered():
            numbers = spread(index)
            rows = np.flatnonzero(numbers >= lowest)
            if not len(rows):
                continue
            share = (numbers[rows] - lowest) / (1 - lowest)
            folds = np.minimum((share * FOLDS).astype(np.intp), FOLDS - 1)
            yield sorted_batch(X[rows], weights[rows], folds, index[rows])

    def numbered(self) -> Iterator[tuple[FloatArray, FloatArray, IntArray]]:
        """Walk the rows that have weight, with their numbers in the sample."""
        begin = self.begin
        for X, weights in self.batches():
            index = np.arange(begin, begin + len(X), dtype=np.intp)
            begin += len(X)
            heavy = weights > 0
            yield (X, weights, index) if heavy.all() else (X[heavy], weights[heavy], index[heavy])


class Sample(Protocol):
    """Data that any work can be done on, part by part, wherever the parts are."""

    @property
    def hold_out(self) -> bool:
        """Some rows are kept for the card."""

    def over(self, work: Callable[[Rows], T], merge: Callable[[T, T], T]) -> T:
        """Do the work on every part of the rows, and merge the results in order."""


@dataclass(frozen=True)
class LocalSample:
    """A sample that this process walks, in one part."""

    rows: Rows

    @property
    def hold_out(self) -> bool:
        """Some rows are kept for the card."""
        return self.rows.hold_out

    def over(self, work: Callable[[Rows], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """Do the work on all rows."""
        return work(self.rows)


def spread(index: IntArray) -> FloatArray:
    """Give every row its number in [0, 1)."""
    return np.asarray((index * GOLDEN) % 1.0, dtype=np.float64)


def sorted_batch(X: FloatArray, weights: FloatArray, folds: IntArray, index: IntArray) -> Batch:
    """Sort rows by fold."""
    order = np.argsort(folds, kind="stable")
    ends = np.searchsorted(folds[order], np.arange(FOLDS + 1))
    return Batch(X[order], weights[order], ends, index[order])


def chunks(X: FloatArray, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Cut rows into batches of at most `BATCH_ROWS`."""
    for begin in range(0, len(X), BATCH_ROWS):
        yield X[begin : begin + BATCH_ROWS], weights[begin : begin + BATCH_ROWS]
