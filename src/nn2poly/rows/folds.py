"""Rows that can be walked again and again, and work that is done on all of them.

Every row has a hashed number in [0, 1), by what it holds or by its group (`nn2poly.sampling`).
Those with the lowest numbers are kept for the card (`held_out_share`): no fit and no choice sees
them. The rest are split into `FOLDS` folds, on which strengths, bounds, transforms and orders are
chosen. Of few rows none are kept apart: see `nn2poly.fit.crossfit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.rows.fit_rows import FitRows
from nn2poly.sampling import Keys, distinct, hashed, ranked, row_keys

T = TypeVar("T")

# The most that is kept for the card, and the folds of the rest: the usual fifth, and five.
HELD_OUT, FOLDS = 0.2, 5
# Rows (or groups) that are enough for the card: R² .95 is then known to about ± .01. Each row more
# is one less to fit; at a fifth, order 4 lost .005 to .016 on California housing.
ENOUGH_TO_JUDGE = 1_000
# Rows that the terms of a formula are fitted on: ten for each of the most terms (taste). What a
# table has beyond them costs nothing to judge on.
MAX_FIT_ROWS = 40_000
# Below this many rows none are left out at all, and the card says so (taste: a fifth of 20 are 4).
MIN_ROWS_TO_HOLD_OUT = 20
# Rows (or groups) below which their numbers are ranks: hashes would leave folds empty (taste).
FEW_UNITS = 1_000
# Different rows in the first part of a stream from which on they are told apart (taste).
MIN_DISTINCT = 200
# The rows of one batch of an array: near the cache in layers of hundreds of neurons.
BATCH_ROWS = 1024


def by_content(X: FloatArray, index: IntArray) -> FloatArray:  # noqa: ARG001
    """Give rows (n, p) numbers by what they hold: equal rows are on one side."""
    return hashed(row_keys(X))


def by_place(X: FloatArray, index: IntArray) -> FloatArray:  # noqa: ARG001
    """Give rows numbers by their place (n,) in the sample."""
    return hashed(index)


Numbering = Callable[[FloatArray, IntArray], FloatArray]


def numbering(X: FloatArray) -> Numbering:
    """Choose how the rows of a stream are numbered, by its first ones (n, p).

    By what they hold, but by their places where few different ones come again and again: of ten,
    none might be kept for the card.
    """
    enough = min(MIN_DISTINCT, len(X) // 2)
    return by_content if distinct(row_keys(X)) >= enough else by_place


@dataclass(frozen=True)
class Rows:
    """A run of rows that can be walked again and again: all of a sample, or a part of it.

    Parameters
    ----------
    batches
        Gives a new iterator of pairs (X, weights).
    held_out
        The share of the rows that is kept for the card, or 0.
    begin
        The place of the first row in the sample.
    numbers
        Gives rows X (n, p) at places (n,) the numbers in [0, 1) that they are split by.
    """

    batches: Callable[[], Iterator[tuple[FloatArray, FloatArray]]]
    held_out: float
    begin: int = 0
    numbers: Numbering = by_content

    def walk(self) -> Iterator[FitRows]:
        """Walk the rows that have weight, batch by batch."""
        begin = self.begin
        for X, weights in self.batches():
            index = np.arange(begin, begin + len(X), dtype=np.intp)
            begin += len(X)
            number = self.numbers(X, index)
            share = (number - self.held_out) / (1 - self.held_out)
            fold = np.minimum((share * FOLDS).astype(np.intp), FOLDS - 1)
            rows = FitRows(X, weights, np.where(share < 0, -1, fold), index, number)
            yield rows if np.all(weights > 0) else rows.some(weights > 0)

    def to_fit(self) -> Iterator[FitRows]:
        """Walk those that may be fitted."""
        for rows in self.walk():
            if np.any(rows.fold >= 0):
                yield rows.some(rows.fold >= 0)


class Sample(Protocol):
    """Data that any work can be done on, part by part, wherever the parts are."""

    @property
    def held_out(self) -> float:
        """The share of the rows that is kept for the card, or 0."""

    def over(self, work: Callable[[Rows], T], merge: Callable[[T, T], T]) -> T:
        """Do the work on every part of the rows, and merge the results in order."""


@dataclass(frozen=True)
class LocalSample:
    """A sample that this process walks, in one part."""

    rows: Rows

    @property
    def held_out(self) -> float:
        """The share of the rows that is kept for the card, or 0."""
        return self.rows.held_out

    def over(self, work: Callable[[Rows], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """Do the work on all rows."""
        return work(self.rows)


def held_out_share(count: int) -> float:
    """Give the share of so many rows (or groups) that is kept for the card."""
    wanted = max(ENOUGH_TO_JUDGE, count - MAX_FIT_ROWS)
    return min(HELD_OUT, wanted / count)


def local_sample(
    X: FloatArray,
    weights: FloatArray,
    keys: Keys,
    *,
    hold_out_from: int = MIN_ROWS_TO_HOLD_OUT,
    share: float | None = None,
) -> LocalSample:
    """Split an array (n, p) by the keys (n,) of its rows.

    Parameters
    ----------
    hold_out_from
        How many different keys there must be for some of them to be kept for the card.
    share
        How many of the rows that is; as `held_out_share` has it if nothing is said.
    """
    heavy = weights > 0
    count = distinct(keys[heavy])
    if share is None:
        share = held_out_share(count)
    table = hashed(keys)
    if count < FEW_UNITS:
        table[heavy] = ranked(keys[heavy])
    return LocalSample(
        Rows(
            lambda: chunks(X, weights),
            share if count >= hold_out_from else 0.0,
            numbers=lambda _, index: table[index],
        )
    )


def chunks(X: FloatArray, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Cut rows into batches of at most `BATCH_ROWS`."""
    for begin in range(0, len(X), BATCH_ROWS):
        yield X[begin : begin + BATCH_ROWS], weights[begin : begin + BATCH_ROWS]
