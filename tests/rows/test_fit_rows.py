"""The rows that terms are fitted on are an even choice, whatever the parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nn2poly.rows.fit_rows import EvenChoice, FitRows, gather_rows
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


def whole_rows(X):
    return Rows(lambda: iter([(X, np.ones(len(X)))]), held_out=HELD_OUT)


@pytest.mark.parametrize("ends", [[0, 5000], [0, 10, 4000, 5000], [0, 1, 2, 3, 5000]])
@pytest.mark.parametrize("most", [100, 1000, 10_000])
def test_the_same_rows_whatever_the_parts(ends, most):
    X = np.arange(5000.0)[:, None]
    found = gather_rows(Parts(X, ends), most)
    whole = gather_rows(LocalSample(whole_rows(X)), most)
    np.testing.assert_array_equal(found.index, whole.index)
    np.testing.assert_array_equal(found.X[:, 0], found.index)
    np.testing.assert_array_equal(found.fold, whole.fold)
    n_fit = sum(len(rows) for rows in LocalSample(whole_rows(X)).rows.to_fit())
    assert len(found) == min(most, n_fit)


def test_one_row_more_than_are_kept_costs_one_row():
    """Half of them were lost: 40,001 rows left 20,000 to fit."""
    X = np.arange(1001.0)[:, None]
    sample = LocalSample(Rows(lambda: iter([(X, np.ones(1001))]), held_out=0.0))
    every, fewer = gather_rows(sample, 1001), gather_rows(sample, 1000)
    assert (len(every), len(fewer)) == (1001, 1000)
    assert set(fewer.index) < set(every.index)


def test_rows_that_draw_the_same_number_are_kept_or_not_one_by_one():
    n, most = 500, 60
    same = np.full(n, 7)
    choice = EvenChoice(most)
    for row in range(n):
        here = slice(row, row + 1)
        choice.add(FitRows(np.ones((1, 2)), np.ones(1), same[here], same[here], np.zeros(1)))
    assert len(choice.rows()) == most


def test_rows_and_folds_are_spread_over_sorted_data():
    X = np.arange(20_000.0)[:, None]
    found = gather_rows(LocalSample(whole_rows(X)), 2_000)
    counts = np.histogram(found.index, bins=10)[0]
    assert counts.min() > 0.8 * counts.mean()
    for fold in range(FOLDS):
        mine = found.index[found.fold == fold]
        assert abs(np.mean(mine) - 10_000) < 1_300  # three standard errors
