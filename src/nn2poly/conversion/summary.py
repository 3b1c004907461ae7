"""What one pass over a sample tells: where its rows lie, and those kept for the card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.conversion.folds import HELD_OUT, Rows, Sample, spread
from nn2poly.errors import InvalidInputError

# Held-out rows that are kept for the card, where the standard error of a quantile is small by then,
# and first rows that are shown (taste).
MAX_HELD_OUT, FIRST_ROWS = 20_000, 200


@dataclass(frozen=True)
class Summary:
    """What one pass over the sample tells.

    Parameters
    ----------
    n_rows
        Rows to fit.
    center, scale, low, high
        Arrays (p,): weighted mean and deviation, and range, of the rows to fit.
    held_out
        Array (n, p): the rows for the card.
    held_out_numbers
        Array (n,): the numbers of these rows in the data.
    seen_low, seen_high, seen_center
        Arrays (p,): range and weighted mean of all rows.
    first
        Array (m, p): the first rows to fit, at most `FIRST_ROWS`.
    """

    n_rows: int
    center: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray
    held_out: FloatArray
    seen_low: FloatArray
    seen_high: FloatArray
    seen_center: FloatArray
    first: FloatArray
    held_out_numbers: IntArray


def summarise(sample: Sample) -> Summary:
    """Pass over all rows once: moments and range of those to fit, and the held-out rows."""
    fitted, everything, kept, first = sample.over(_look, _merge_looks)
    held_out = kept.rows()
    if not fitted.n_rows or not len(held_out):
        raise InvalidInputError(
            "The sample is too small to calibrate on.",
            where="data",
            expected="rows with a positive weight, hundreds if possible",
            found=f"{everything.n_rows} of them, none left to fit or to check on",
        )
    scale = np.sqrt(fitted.square / fitted.total)
    # A column that does not vary has no scale of its own.
    flat = scale <= 1e-12 * np.maximum(np.abs(fitted.mean), 1e-300)
    return Summary(
        fitted.n_rows,
        fitted.mean,
        np.where(flat, 1.0, scale),
        fitted.low,
        fitted.high,
        held_out,
        everything.low,
        everything.high,
        everything.mean,
        first,
        kept.index(),
    )


_Look = tuple["_Moments", "_Moments", "_Kept", FloatArray]


def _look(rows: Rows) -> _Look:
    fitted, everything, kept, first = _Moments(), _Moments(), _Kept(), np.zeros((0, 0))
    for X, weights, index in rows.numbered():
        numbers = spread(index)
        fit = numbers >= (HELD_OUT if rows.hold_out else 0.0)
        everything.add(X, weights)
        if fit.any():
            fitted.add(X[fit], weights[fit])
            first = _first(first, X[fit])
        if rows.hold_out:
            kept.add(X[~fit], numbers[~fit], index[~fit])
        else:
            kept.add(X, numbers * HELD_OUT, index)
    return fitted, everything, kept, first


def _merge_looks(one: _Look, other: _Look) -> _Look:
    for left, right in zip(one[:2], other[:2], strict=True):
        left.merge(right)
    one[2].merge(other[2])
    return one[0], one[1], one[2], _first(one[3], other[3])


def _first(rows: FloatArray, more: FloatArray) -> FloatArray:
    """Keep the first rows of all."""
    if not len(rows) or not len(more):
        return (rows if len(rows) else more)[:FIRST_ROWS]
    return np.concatenate([rows, more[: FIRST_ROWS - len(rows)]])


class _Kept:
    """An even choice of at most MAX_HELD_OUT rows: those with the smallest numbers.

    The limit on the numbers is halved whenever there are too many, so that the choice does
    not depend on how the rows are cut into parts.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[FloatArray, FloatArray, IntArray]] = []
        self._limit, self._count = HELD_OUT, 0

    def add(self, X: FloatArray, numbers: FloatArray, index: IntArray) -> None:
        """Add rows X (n, p) with their numbers (n,) and their places (n,)."""
        self._append(X, numbers, index)
        while self._count > MAX_HELD_OUT:
            self._lower(self._limit / 2)

    def merge(self, other: _Kept) -> None:
        """Add what others have kept, under the lower of both limits."""
        X, numbers, index = other.rows(), other.numbers(), other.index()
        if other._limit < self._limit:
            self._lower(other._limit)
        if len(X):
            self.add(X, numbers, index)

    def rows(self) -> FloatArray:
        """Give what was kept."""
        return np.concatenate([X for X, _, _ in self._parts]) if self._parts else np.zeros((0, 0))

    def numbers(self) -> FloatArray:
        """Give the numbers of what was kept."""
        return np.concatenate([n for _, n, _ in self._parts]) if self._parts else np.zeros(0)

    def index(self) -> IntArray:
        """Give the places of what was kept in the data."""
        places = [index for _, _, index in self._parts]
        return np.concatenate(places) if places else np.zeros(0, dtype=np.intp)

    def _lower(self, limit: float) -> None:
        X, numbers, index = self.rows(), self.numbers(), self.index()
        self._limit, self._parts, self._count = limit, [], 0
        if len(X):
            self._append(X, numbers, index)

    def _append(self, X: FloatArray, numbers: FloatArray, index: IntArray) -> None:
        chosen = numbers < self._limit
        if chosen.any():
            self._parts.append((X[chosen], numbers[chosen], index[chosen]))
            self._count += int(chosen.sum())


class _Moments:
    """Weighted mean and variance, added batch by batch (Chan's update), and the range."""

    def __init__(self) -> None:
        self.n_rows, self.total = 0, 0.0
        self.mean: Any = 0.0
        self.square: Any = 0.0
        self.low: Any = np.inf
        self.high: Any = -np.inf

    def add(self, X: FloatArray, weights: FloatArray) -> None:
        """Add rows X (n, p) with their weights (n,)."""
        if not len(X):
            return
        added = _Moments()
        added.n_rows, added.total = len(X), float(weights.sum())
        added.low, added.high = X.min(axis=0), X.max(axis=0)
        added.mean = weights @ X / added.total
        added.square = weights @ (X - added.mean) ** 2
        self.merge(added)

    def merge(self, other: _Moments) -> None:
        """Add what others have seen."""
        if not other.n_rows:
            return
        self.n_rows += other.n_rows
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        delta, total = other.mean - self.mean, self.total + other.total
        self.square = self.square + other.square + delta**2 * self.total * other.total / total
        self.mean = self.mean + delta * other.total / total
        self.total = total
