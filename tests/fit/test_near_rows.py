"""Rows between near rows of the sample."""

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.fit import splitting
from nn2poly.fit.near_rows import CELL, near_rows
from nn2poly.inputs import Column, Inputs
from nn2poly.rows.fit_rows import FitRows


def fit_rows(X):
    n = len(X)
    return FitRows(X, np.full(n, 2.0), np.arange(n) % 5, np.arange(n), np.linspace(0, 1, n))


@pytest.fixture
def table():
    """A smooth curve in two columns, an hour, and a spike at zero."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 1, 3_000)
    hour = rng.integers(0, 24, 3_000).astype(float)
    gain = np.where(rng.random(3_000) < 0.9, 0.0, rng.uniform(1, 2, 3_000))
    X = np.column_stack([np.sin(6 * t), np.cos(6 * t), hour, gain])
    return fit_rows(X), Inputs.of(None, 4)


def test_rows_stay_near_the_sample(table):
    rows, inputs = table
    found = near_rows(rows, 9_000, inputs, weight=0.5)
    radius = np.hypot(found.X[:, 0], found.X[:, 1])
    assert np.quantile(radius, 0.05) > 0.8  # rows with columns from anywhere: 0.3
    assert len(np.unique(found.X[:, 0])) > 8_000


def test_hours_and_spikes_keep_their_values(table):
    rows, inputs = table
    found = near_rows(rows, 6_000, inputs, weight=0.5)
    assert set(found.X[:, 2]) <= set(rows.X[:, 2])
    assert set(found.X[:, 3]) <= set(rows.X[:, 3])


def test_levels_of_a_factor_come_together():
    rng = np.random.default_rng(1)
    X = np.hstack([np.eye(3)[rng.integers(0, 3, 400)], rng.normal(size=(400, 1))])
    factor = Column.factor("colour", ["red", "green", "blue"])
    inputs = Inputs((factor, Column("age")))
    found = near_rows(fit_rows(X), 800, inputs, weight=1.0)
    assert (found.X[:, :3].sum(axis=1) == 1).all()
    assert set(np.unique(found.X[:, :3])) == {0.0, 1.0}


def test_each_row_is_taken_in_turn_and_keeps_its_fold_and_weight(table):
    rows, inputs = table
    found = near_rows(rows, 7_000, inputs, weight=0.5)
    assert np.bincount(found.index).tolist() == [3] * 1_000 + [2] * 2_000
    assert (found.fold == found.index % 5).all()
    assert (found.weights == 1.0).all()


def test_the_draw_is_the_same_for_the_same_rows(table):
    rows, inputs = table
    one, other = (near_rows(rows, 4_000, inputs, weight=0.5).X for _ in range(2))
    assert (one == other).all()


@pytest.mark.parametrize("n", [1, 2, CELL, 2 * CELL, 2 * CELL + 1])
def test_few_rows_and_equal_rows_give_rows_of_their_range(n):
    X = np.tile([[1.0, 2.0]], (n, 1))
    found = near_rows(fit_rows(X), 3 * n, Inputs.of(None, 2), weight=1.0)
    assert (found.X == [1.0, 2.0]).all()


@pytest.mark.parametrize(("n", "order"), [(400, 2), (2_600, 3)])
def test_regions_follow_new_rows_more_closely(monkeypatch, make_network, n, order):
    rng = np.random.default_rng(5)
    network = make_network(5, (6, 30, 20, 1), "tanh", spread=3.0)
    X, new = rng.normal(size=(2, 2_600, 6)) @ rng.normal(size=(6, 6))
    with_them = n2p.convert(network, order, data=X[:n], regions=8)
    monkeypatch.setattr(splitting, "NEAR_WEIGHT", 1e-9)
    without = n2p.convert(network, order, data=X[:n], regions=8)
    one, other = (n2p.fidelity(network, poly, new).r2 for poly in (with_them, without))
    assert one > other
