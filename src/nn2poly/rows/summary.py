"""What one pass over a sample tells: where its rows lie, and those kept for the card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.rows.folds import HELD_OUT, Rows, Sample
from nn2poly.sampling import hashed

# Held-out rows that are kept for the card, where the standard error of a quantile is small by then,
# and rows that tell an average slope (taste); their hash has a seed of its own.
MAX_HELD_OUT, SOME_ROWS, SEED = 20_000, 200, 3


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
    held_out_numbers, held_out_weights, held_out_units
        Arrays (n,): the places of these rows in the data, their weights, and numbers that are
        equal for rows that belong together.
    seen_low, seen_high, seen_center
        Arrays (p,): range and weighted mean of all rows.
    some
        Array (m, p): rows to fit, evenly chosen, at most `SOME_ROWS`.
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
    some: FloatArray
    held_out_numbers: IntArray
    held_out_weights: FloatArray
    held_out_units: FloatArray


def summarise(sample: Sample) -> Summary:
    """Pass over all rows once: moments and range of those to fit, and the held-out rows."""
    fitted, everything, kept, some = sample.over(_look, _merge_looks)
    whole = kept.whole()
    held_out = whole.X
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
        some[0],
        whole.index,
        whole.weights,
        whole.numbers,
    )


_Some = tuple[FloatArray, FloatArray]
_Look = tuple["_Moments", "_Moments", "_Kept", _Some]


def _look(rows: Rows) -> _Look:
    fitted, everything, kept = _Moments(), _Moments(), _Kept()
    some = np.zeros((0, 0)), np.zeros(0)
    for X, weights, index in rows.numbered():
        numbers = rows.numbers(X, index)
        fit = numbers >= rows.held_out
        everything.add(X, weights)
        if fit.any():
            fitted.add(X[fit], weights[fit])
            some = _fewer(some, (X[fit], hashed(index[fit], SEED)))
        if rows.held_out:
            kept.add(X[~fit], numbers[~fit], index[~fit], weights[~fit])
        else:
            kept.add(X, numbers * HELD_OUT, index, weights)
    return fitted, everything, kept, some


def _merge_looks(one: _Look, other: _Look) -> _Look:
    for left, right in zip(one[:2], other[:2], strict=True):
        left.merge(right)
    one[2].merge(other[2])
    return one[0], one[1], one[2], _fewer(one[3], other[3])


def _fewer(one: _Some, other: _Some) -> _Some:
    """Keep the rows with the smallest numbers of both."""
    filled = [part for part in (one, other) if len(part[0])]
    if not filled:
        return one
    X, numbers = (np.concatenate(parts) for parts in zip(*filled, strict=True))
    order = np.argsort(numbers, kind="stable")[:SOME_ROWS]
    return X[order], numbers[order]


@dataclass(frozen=True)
class _Part:
    """Rows (n, p) with their numbers, places and weights (n,)."""

    X: FloatArray
    numbers: FloatArray
    index: IntArray
    weights: FloatArray

    def some(self, chosen: BoolArray) -> _Part:
        """Choose rows."""
        return _Part(self.X[chosen], self.numbers[chosen], self.index[chosen], self.weights[chosen])


class _Kept:
    """An even choice of at most MAX_HELD_OUT rows: those with the smallest numbers.

    The limit on the numbers is halved whenever there are too many, so that the choice does
    not depend on how the rows are cut into parts.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._limit, self._count = HELD_OUT, 0

    def add(self, X: FloatArray, numbers: FloatArray, index: IntArray, weights: FloatArray) -> None:
        """Add rows X (n, p) with their numbers, places and weights, each (n,)."""
        self._append(_Part(X, numbers, index, weights))
        while self._count > MAX_HELD_OUT:
            self._lower(self._limit / 2)

    def merge(self, other: _Kept) -> None:
        """Add what others have kept, under the lower of both limits."""
        whole = other.whole()
        if other._limit < self._limit:
            self._lower(other._limit)
        if len(whole.X):
            self.add(whole.X, whole.numbers, whole.index, whole.weights)

    def whole(self) -> _Part:
        """Give what was kept."""
        if not self._parts:
            none = np.zeros(0)
            return _Part(np.zeros((0, 0)), none, none.astype(np.intp), none)
        columns = zip(*((p.X, p.numbers, p.index, p.weights) for p in self._parts), strict=True)
        return _Part(*(np.concatenate(column) for column in columns))

    def _lower(self, limit: float) -> None:
        whole = self.whole()
        self._limit, self._parts, self._count = limit, [], 0
        self._append(whole)

    def _append(self, part: _Part) -> None:
        chosen = part.numbers < self._limit
        if chosen.any():
            self._parts.append(part.some(chosen))
            self._count += int(chosen.sum())


class _Moments:
    """Weighted mean and variance, added batch by batch (Chan's update), and the range."""

    def __init__(self) -> None:
        self.n_rows, self.total = 0, 0.0
        self.mean: Any = 0.0
        self.square: Any = 0.0
        self.low: Any = np.inf
        self.high: Any = -np.inf

    # Squares that overflow are refused by the column's name, once all rows are seen.
    @np.errstate(over="ignore", invalid="ignore")
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

    @np.errstate(over="ignore", invalid="ignore")
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
