"""`FitRows`: rows of the sample that are kept in memory, and even choices of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.sampling import hashed

if TYPE_CHECKING:
    from nn2poly.rows.folds import Rows, Sample

# A seed of its own: other hashes tell the folds.
SEED = 1


@dataclass(frozen=True)
class FitRows:
    """Rows of the sample.

    Parameters
    ----------
    X
        Array (n, p) of raw features.
    weights, fold, index
        Arrays (n,): weight, number of the fold (-1 for rows that are not to be fitted), and place
        of the row in the data.
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


class EvenChoice:
    """An even choice of the rows that are added: those with the smallest hashes of their places.

    The same ones in whatever order and parts the rows come.

    Parameters
    ----------
    most
        How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0
        self._parts: list[FitRows] = []

    def add(self, rows: FitRows) -> None:
        """Add rows."""
        if not len(rows):
            return
        self._parts.append(rows)
        self._count += len(rows)
        # Not batch by batch: all that is kept would be copied each time.
        if self._count > 2 * self._most:
            self._parts, self._count = [self.rows()], self._most

    def merge(self, other: EvenChoice) -> EvenChoice:
        """Add what was chosen elsewhere."""
        for part in other._parts:
            self.add(part)
        return self

    def rows(self) -> FitRows:
        """Give the chosen rows in the order of the data."""
        if not self._parts:
            none = np.zeros(0, dtype=np.intp)
            return FitRows(np.zeros((0, 0)), np.zeros(0), none, none, np.zeros(0))
        rows = stacked(self._parts)
        chosen = np.argsort(hashed(rows.index, SEED), kind="stable")[: self._most]
        return rows.some(chosen[np.argsort(rows.index[chosen], kind="stable")])


def gather_rows(sample: Sample, most: int) -> FitRows:
    """Gather at most ``most`` of the rows to fit: an even choice of them."""
    return sample.over(partial(_gather, most=most), EvenChoice.merge).rows()


def _gather(rows: Rows, most: int) -> EvenChoice:
    choice = EvenChoice(most)
    for batch in rows.to_fit():
        choice.add(batch)
    return choice
