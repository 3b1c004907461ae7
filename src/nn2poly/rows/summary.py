"""What one pass over a sample tells: where its rows lie, and those kept for the card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.rows.fit_rows import EvenChoice
from nn2poly.rows.folds import Rows, Sample

# Held-out rows that are kept for the card: the standard error of a quantile is small by then
# (taste).
MAX_HELD_OUT = 20_000


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
    held_out_numbers: IntArray
    held_out_weights: FloatArray
    held_out_units: FloatArray


def summarise(sample: Sample) -> Summary:
    """Pass over all rows once: moments and range of those to fit, and the held-out rows."""
    look = sample.over(_look, _Look.merge)
    fitted, everything, kept = look.fitted, look.everything, look.kept.rows()
    if not fitted.n_rows or not len(kept):
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
        kept.X,
        everything.low,
        everything.high,
        everything.mean,
        kept.index,
        kept.weights,
        kept.number,
    )


class _Look:
    """What was seen of some rows: moments and range, and the rows for the card."""

    def __init__(self) -> None:
        self.fitted, self.everything = _Moments(), _Moments()
        self.kept = EvenChoice(MAX_HELD_OUT)

    def merge(self, other: _Look) -> _Look:
        """Add what others have seen."""
        self.fitted.merge(other.fitted)
        self.everything.merge(other.everything)
        self.kept.merge(other.kept)
        return self


def _look(rows: Rows) -> _Look:
    look = _Look()
    for batch in rows.walk():
        to_fit = batch.some(batch.fold >= 0)
        look.everything.add(batch.X, batch.weights)
        look.fitted.add(to_fit.X, to_fit.weights)
        look.kept.add(batch.some(batch.fold < 0) if rows.held_out else batch)
    return look


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
