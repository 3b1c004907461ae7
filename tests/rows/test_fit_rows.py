"""The rows that terms are fitted on are an even choice, whatever the parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nn2poly.rows.fit_rows import gather_rows
from nn2poly.rows.folds import FOLDS, HELD_OUT, LocalSample, Rows


class Parts:
    """A sample that lies in parts."""

    held_out = HELD_OUT

    def __init__(self, X, ends):
        self.parts = [
            Rows(lambda a=a, b=b: iter([(X[a:b], np.ones(b - a))]), held_out=HELD_OUT, begin=a)
            for a, b in pairwise(ends)
        ]

    def over(self, work, merge):
        total = work(self.parts[0])
        for part in self.parts[1:]:
            total = merge(total, work(part))
        return total


@pytest.mark.parametrize("ends", [[0, 5000], [0, 10, 4000, 5000], [0, 1, 2, 3, 5000]])
@pytest.mark.parametrize("most", [100, 1000, 10_000])
def test_the_same_rows_whatever_the_parts(ends, most):
    X = np.arange(5000.0)[:, None]
    found = gather_rows(Parts(X, ends), most)
    whole = gather_rows(
        LocalSample(Rows(lambda: iter([(X, np.ones(5000))]), held_out=HELD_OUT)), most
    )
    np.testing.assert_array_equal(found.index, whole.index)
    np.testing.assert_array_equal(found.X[:, 0], found.index)
    np.testing.assert_array_equal(found.fold, whole.fold)
    assert most / 3 < len(found) <= most or len(found) == len(whole) > 3900


def test_rows_and_folds_are_spread_over_sorted_data():
    X = np.arange(20_000.0)[:, None]
    found = gather_rows(LocalSample(Rows(lambda: iter([(X, np.ones(20_000))]), HELD_OUT)), 2_000)
    counts = np.histogram(found.index, bins=10)[0]
    assert counts.min() > 0.8 * counts.mean()
    for fold in range(FOLDS):
        mine = found.index[found.fold == fold]
        assert abs(np.mean(mine) - 10_000) < 1_300  # three standard errors
