"""Few rows: as many regions as hold beyond near rows, of which the network is asked."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.conversion.problem import read_problem
from nn2poly.conversion.stretched_rows import most_that_hold


@pytest.fixture(scope="module")
def problem(make_network):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 2, 300)])
    return read_problem(make_network(0, (2, 20, 1), "tanh", spread=2.0), X, None)


def test_regions_that_run_away_beyond_the_rows_are_too_many(problem):
    edge = np.abs(problem.fit_rows.X[:, 0]).max()
    asked = []

    def values(count, X):
        asked.append(count)
        at_the_edge = np.abs(X[:, [0]]) > 0.8 * edge
        return problem.truth(X) + 5.0 * at_the_edge * (count > 3)

    assert most_that_hold(problem, values, 8) == 3
    assert max(asked) == 4


def test_regions_that_gain_are_all_kept(problem):
    assert most_that_hold(problem, lambda k, X: problem.truth(X) * (1.0 - 0.5 / k), 8) == 8


def test_a_model_without_answers_out_there_keeps_all_regions(problem, monkeypatch):
    monkeypatch.setattr(type(problem), "truth", lambda self, X: np.full((len(X), 1), np.nan))
    assert most_that_hold(problem, lambda k, X: np.zeros((len(X), 1)), 5) == 5


def test_where_nothing_is_split_the_formula_is_that_of_one_region(make_network):
    """Its bounds as well, which one polynomial of order 2 chooses by itself."""
    network = make_network(4, (3, 8, 1), "relu", spread=1.0)
    X = np.random.default_rng(4).standard_t(2, size=(300, 3))
    one, asked = (n2p.convert(network, 2, data=X, regions=k) for k in (1, 4))
    assert isinstance(asked, n2p.Polynomial)
    assert asked.inputs.bounds() == one.inputs.bounds()
    np.testing.assert_array_equal(asked.coefficients, one.coefficients)
