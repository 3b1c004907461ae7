"""Fits of a classifier are chosen by its probabilities, with little lost of its logits."""

from __future__ import annotations

import numpy as np

from nn2poly.conversion.classifiers import closest, less_where_far
from nn2poly.conversion.fit_rows import FitRows
from nn2poly.outputs import Outputs

RAW = np.linspace(-6.0, 6.0, 1801)[:, None]
OUTPUTS = Outputs.of(None, 1, link="sigmoid")


def off(near, far):
    """Make outputs that are off by so much where a label is open, and where it is certain."""
    return RAW + np.where(np.abs(RAW) < 2.0, near, far)


def test_closer_probabilities_win_while_hardly_any_r2_is_lost():
    assert closest([off(0.4, 0.3), off(0.3, 0.33)], RAW, OUTPUTS) == 1
    assert closest([off(0.4, 0.3), off(0.3, 0.8)], RAW, OUTPUTS) == 0


def test_much_closer_probabilities_may_cost_more():
    assert closest([off(0.4, 0.3), off(0.0, 0.5)], RAW, OUTPUTS) == 1
    assert closest([off(0.4, 0.3), off(0.0, 0.8)], RAW, OUTPUTS) == 0


def test_a_single_row_does_not_decide():
    wild = off(0.1, 0.3)
    wild[-1] = 1e6
    assert closest([off(0.4, 0.3), wild], RAW, OUTPUTS) == 1
    wild[-200:] = 1e6
    assert closest([off(0.4, 0.3), wild], RAW, OUTPUTS) == 0


def test_rows_that_a_fit_is_far_from_weigh_less():
    none = np.zeros(4)
    rows = FitRows(np.zeros((4, 1)), np.full(4, 2.0), none, none, none)
    found = less_where_far(rows, np.array([[0.0], [-1.0], [1.0], [10.0]])).weights
    assert found.sum() == 8.0
    np.testing.assert_allclose(found / found[0], [1.0, 1.0, 1.0, 0.1])


def test_rows_weigh_the_same_where_a_fit_is_exact():
    none = np.zeros(3)
    rows = FitRows(np.zeros((3, 1)), np.array([1.0, 2.0, 3.0]), none, none, none)
    np.testing.assert_allclose(less_where_far(rows, np.zeros((3, 2))).weights, [1.0, 2.0, 3.0])
