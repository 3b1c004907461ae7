"""Fits of a classifier are chosen by its probabilities, with little lost of its logits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nn2poly.fit.classifiers import chances, closest, less_where_far, near_decision
from nn2poly.fit.problem import read_problem
from nn2poly.links import sigmoid
from nn2poly.outputs import Outputs
from nn2poly.rows.fit_rows import FitRows

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


# ---- a declared threshold -----------------------------------------------------------------------


def test_at_a_declared_threshold_the_closer_labels_win():
    low, high = RAW + 0.3 * (RAW < 0.0), RAW + 0.3 * (RAW > 0.0)
    declared = OUTPUTS.declared(threshold=0.05)  # a logit of -2.9
    assert closest([low, high], RAW, declared) == 1
    assert closest([high, low], RAW, OUTPUTS.declared(threshold=0.95)) == 1


def test_two_logits_of_a_softmax_have_the_threshold_of_their_difference():
    two = Outputs.of(None, 2, link="softmax").declared(threshold=0.05)
    both = np.hstack([0.0 * RAW, RAW])
    one = chances(RAW, OUTPUTS.declared(threshold=0.05), RAW)
    np.testing.assert_allclose(chances(both + 7.0, two, both), one)
    np.testing.assert_array_equal(one >= 0.5, np.log(0.05 / 0.95) <= RAW)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_rows_at_a_declared_threshold_weigh_most(make_network, share):
    network = make_network(1, (3, 8, 1), "tanh")
    X = np.random.default_rng(0).normal(size=(500, 3))
    p = sigmoid(np.quantile(network.predict(X), [share]))
    outputs = network.outputs.declared(link="sigmoid", threshold=float(p[0]))
    problem = read_problem(replace(network, outputs=outputs), X, None)
    rows = problem.fit_rows
    near = near_decision(rows, problem.fit_truth, problem).weights / rows.weights
    order = np.argsort(np.abs(problem.fit_truth[:, 0] - outputs.cut()))
    assert np.all(np.diff(near[order]) <= 0.0)
    assert near[order[0]] > 100.0 * near[order[-1]]
