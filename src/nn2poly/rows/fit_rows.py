"""`FitRows`: rows of the sample that are kept in memory to fit the terms of a formula on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.rows.folds import FOLDS, Rows, Sample
from nn2poly.sampling import hashed

# A seed of its own: other hashes tell the folds.
SEED = 1


@dataclass(frozen=True)
class FitRows:
    """An even choice of the rows to fit.

    Parameters
    ----------
    X
        Array (n, p) of raw features.
    weights, fold, index
        Arrays (n,): weight, number of the fold, and place of the row in the data.
    number
        Array (n,): the numbers that rows are split by; equal for those that belong together.
    """

    X: FloatArray
    weights: FloatArray
    fold: IntArray
    index: IntArray
    number: FloatArray

    def __len__(self) -> int:
        return len(self.X)

    def some(self, chosen: BoolArray | IntArray) -> FitRows:
        """Choose rows."""
        return FitRows(
            self.X[chosen],
            self.weights[chosen],
            self.fold[chosen],
            self.index[chosen],
            self.number[chosen],
        )


def stacked(parts: Sequence[FitRows]) -> FitRows:
    """Put rows below each other."""
    fields = zip(*((r.X, r.weights, r.fold, r.index, r.number) for r in parts), strict=True)
    return FitRows(*map(np.concatenate, fields))


def gather_rows(sample: Sample, most: int) -> FitRows:
    """Gather at most ``most`` of the rows to fit.

    Kept are the rows of which the hash of their place is below the largest power of ½ that
    leaves at most so many: the same rows however the data are cut into parts.
    """
    rows: FitRows = sample.over(partial(_gather, most=most), partial(_merge, most=most))[0]
    return rows.some(np.argsort(rows.index))


def _gather(rows: Rows, most: int) -> tuple[FitRows, float]:
    none = np.zeros(0, dtype=np.intp)
    kept = FitRows(np.zeros((0, 0)), np.zeros(0), none, none, np.zeros(0)), 1.0
    waiting: list[FitRows] = []
    for batch in rows.to_fit():
        fold = np.repeat(np.arange(FOLDS), np.diff(batch.ends))
        waiting.append(FitRows(batch.X, batch.weights, fold, batch.index, batch.number))
        # Not batch by batch: all that is kept would be copied each time.
        if sum(map(len, waiting)) >= len(kept[0]):
            kept, waiting = _merge(kept, (stacked(waiting), 1.0), most), []
    return _merge(kept, (stacked(waiting), 1.0), most) if waiting else kept


def _merge(
    one: tuple[FitRows, float], other: tuple[FitRows, float], most: int
) -> tuple[FitRows, float]:
    """Put rows together under the lower of both limits, and lower it further if need be."""
    filled = [rows for rows, _ in (one, other) if len(rows)]
    limit = min(one[1], other[1])
    if not filled:
        return one
    rows = stacked(filled)
    numbers = hashed(rows.index, SEED)
    while np.count_nonzero(numbers < limit) > most:
        limit /= 2.0
    return rows.some(numbers < limit), limit
