"""The sample of a calibration: checked batches that can be walked again and again.

Rows are dealt by the golden-ratio sequence: row i has the number frac(i·φ), evenly spread
whatever the order of the data. Numbers below `HELD_OUT` are kept for the card and never
fitted; the rest are dealt to `FOLDS` folds on which shrinkage is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import real_array
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import frame_columns
from nn2poly.network.network import Network

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

GOLDEN = 0.6180339887498949
HELD_OUT, FOLDS = 0.2, 5
# Below this many rows none can be spared: all are fitted, and the card says so.
MIN_ROWS_TO_HOLD_OUT = 20
# Held-out rows that are kept for the card, and the rows of one batch of an array.
MAX_HELD_OUT = 20_000
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
    seen_low, seen_high
        Arrays (p,): range of all rows.
    """

    n_rows: int
    center: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray
    held_out: FloatArray
    seen_low: FloatArray
    seen_high: FloatArray


@dataclass(frozen=True)
class Sample:
    """Data that can be iterated over again; see `read_sample`."""

    batches: Callable[[], Iterator[tuple[FloatArray, FloatArray]]]
    hold_out: bool

    def to_fit(self) -> Iterator[Batch]:
        """Walk the rows that may be fitted."""
        lowest = HELD_OUT if self.hold_out else 0.0
        for X, weights, index in self._numbered():
            numbers = _dealt(index)
            rows = np.flatnonzero(numbers >= lowest)
            if not len(rows):
                continue
            share = (numbers[rows] - lowest) / (1 - lowest)
            folds = np.minimum((share * FOLDS).astype(np.intp), FOLDS - 1)
            order = rows[np.argsort(folds, kind="stable")]
            ends = np.searchsorted(np.sort(folds), np.arange(FOLDS + 1))
            yield Batch(X[order], weights[order], ends, index[order])

    def summarise(self) -> Summary:
        """Pass over all rows once: moments and range of those to fit, and the held-out rows."""
        fitted, everything, kept = _Moments(), _Moments(), _Kept()
        for X, weights, index in self._numbered():
            fit = _dealt(index) >= (HELD_OUT if self.hold_out else 0.0)
            everything.add(X, weights)
            if fit.any():
                fitted.add(X[fit], weights[fit])
            kept.add(X[~fit] if self.hold_out else X)
        if not fitted.n_rows or not len(kept.rows()):
            raise InvalidInputError(
                "The sample is too small to calibrate on.",
                where="data",
                expected="rows with a positive weight, hundreds if possible",
                found=f"{everything.n_rows} of them, none left to fit or to check on",
            )
        return fitted.summary(kept.rows(), everything.low, everything.high)

    def _numbered(self) -> Iterator[tuple[FloatArray, FloatArray, IntArray]]:
        """Walk the rows that have weight, with their numbers in the sample."""
        begin = 0
        for X, weights in self.batches():
            index = np.arange(begin, begin + len(X), dtype=np.intp)
            begin += len(X)
            heavy = weights > 0
            yield (X, weights, index) if heavy.all() else (X[heavy], weights[heavy], index[heavy])


def _dealt(index: IntArray) -> FloatArray:
    """Give every row its number in [0, 1)."""
    return np.asarray((index * GOLDEN) % 1.0, dtype=np.float64)


class _Kept:
    """An even choice of at most MAX_HELD_OUT rows of a stream of unknown length."""

    def __init__(self) -> None:
        self._parts: list[FloatArray] = []
        self._every, self._seen, self._count = 1, 0, 0

    def add(self, X: FloatArray) -> None:
        """Add rows X (n, p), of which every k-th is kept."""
        first = -self._seen % self._every
        self._seen += len(X)
        self._parts.append(X[first :: self._every])
        self._count += len(self._parts[-1])
        while self._count > MAX_HELD_OUT:
            self._every *= 2
            self._parts = [self.rows()[::2]]
            self._count = len(self._parts[0])

    def rows(self) -> FloatArray:
        """Give what was kept."""
        return np.concatenate(self._parts)


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
        self.n_rows += len(X)
        if not len(X):
            return
        self.low, self.high = (
            np.minimum(self.low, X.min(axis=0)),
            np.maximum(self.high, X.max(axis=0)),
        )
        added = float(weights.sum())
        mean = weights @ X / added
        delta, total = mean - self.mean, self.total + added
        self.square = (
            self.square + weights @ (X - mean) ** 2 + delta**2 * self.total * added / total
        )
        self.mean = self.mean + delta * added / total
        self.total = total

    def summary(self, held_out: FloatArray, low: FloatArray, high: FloatArray) -> Summary:
        """Finish; ``low`` and ``high`` are the range of all rows."""
        scale = np.sqrt(self.square / self.total)
        # A column that does not vary has no scale of its own.
        flat = scale <= 1e-12 * np.maximum(np.abs(self.mean), 1e-300)
        scale = np.where(flat, 1.0, scale)
        return Summary(self.n_rows, self.mean, scale, self.low, self.high, held_out, low, high)


def read_sample(data: Any, network: Network, sample_weight: npt.ArrayLike | None) -> Sample:
    """Turn what the user passed as data into a sample.

    Parameters
    ----------
    data
        An array or data frame (n, p); or batches: a list of arrays or frames, any other
        iterable that can be walked more than once, or a function that returns a new
        iterator. A batch may be a pair (X, weights).
    sample_weight
        Array (n,) of weights for the rows of an array or frame.

    Returns
    -------
    Sample
    """
    if not _is_batches(data):
        X = network.check_data(data, where="data")
        weights = _weights(sample_weight, len(X), "sample_weight")
        enough = np.count_nonzero(weights) >= MIN_ROWS_TO_HOLD_OUT
        return Sample(lambda: _chunks(X, weights), bool(enough))
    if sample_weight is not None:
        raise InvalidInputError(
            "sample_weight goes with an array or a data frame.",
            remedy="with batches, let each one be a pair (X, weights)",
        )
    return Sample(lambda: _checked_batches(data, network), _has_rows(data, network))


def _has_rows(data: Any, network: Network) -> bool:
    """Tell whether batches bring enough rows to hold some out."""
    count = 0
    for _, weights in _checked_batches(data, network):
        count += int(np.count_nonzero(weights))
        if count >= MIN_ROWS_TO_HOLD_OUT:
            return True
    return False


def sample_columns(data: Any) -> tuple[str, ...] | None:
    """Give the column names that the data bring: of a frame, or of the first batch's."""
    if not _is_batches(data):
        return frame_columns(data)
    first = next(iter(data() if callable(data) else data), None) if _again(data) else None
    return frame_columns(first[0] if isinstance(first, tuple) else first)


def _again(data: Any) -> bool:
    """Tell whether looking at the first batch leaves the batches whole."""
    return callable(data) or iter(data) is not data


def _is_batches(data: Any) -> bool:
    """Tell batches from one table: a function, an iterator, or an iterable of tables."""
    if frame_columns(data) is not None or hasattr(data, "dtype") or not _walkable(data):
        return False
    if callable(data) or not isinstance(data, list | tuple):
        return True
    first = data[0] if data else None
    pair = isinstance(first, tuple) and len(first) == 2 and _is_table(first[0])
    return pair or _is_table(first)


def _walkable(data: Any) -> bool:
    return callable(data) or isinstance(data, Iterable)


def _is_table(part: Any) -> bool:
    return frame_columns(part) is not None or getattr(part, "ndim", 0) == 2


def _checked_batches(data: Any, network: Network) -> Iterator[tuple[FloatArray, FloatArray]]:
    batches = data() if callable(data) else iter(data)
    if batches is data:
        raise InvalidInputError(
            "These batches can be walked only once; a calibration walks them several times.",
            where="data",
            found=type(data).__name__,
            remedy="pass a list, or a function that returns a new iterator: data=lambda: read()",
        )
    empty = True
    for number, part in enumerate(batches):
        X, given = _pair(part, number)
        rows = network.check_data(X, where=f"data, batch {number}")
        weights = _weights(given, len(rows), f"weights of batch {number}")
        yield from _chunks(rows, weights)
        empty = False
    if empty:
        raise InvalidInputError(
            "The data are empty.",
            where="data",
            found="no batches",
            remedy="a function must return a new iterator each time that it is called",
        )


def _pair(part: Any, number: int) -> tuple[Any, Any]:
    if not isinstance(part, tuple):
        return part, None
    if len(part) != 2:
        raise InvalidInputError(
            "A batch is a table, or a pair of a table and its weights.",
            where=f"data, batch {number}",
            found=f"{len(part)} parts",
        )
    return part


def _chunks(X: FloatArray, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    for begin in range(0, len(X), BATCH_ROWS):
        yield X[begin : begin + BATCH_ROWS], weights[begin : begin + BATCH_ROWS]


def _weights(values: npt.ArrayLike | None, n_rows: int, where: str) -> FloatArray:
    if values is None:
        return np.ones(n_rows)
    weights: FloatArray = real_array(values, where)
    if weights.shape != (n_rows,) or np.any(weights < 0):
        raise InvalidInputError(
            "The weights of the rows cannot be used.",
            where=where,
            expected=f"{n_rows} finite numbers, none negative",
            found=f"shape {weights.shape}",
        )
    if not weights.any():
        raise InvalidInputError("All weights of the rows are zero.", where=where)
    return weights
