"""Bounds and budgets that make no sense are refused; columns that do not vary have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, NN2PolyError
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Identity, function_from

X = np.random.default_rng(0).normal(size=(200, 3))


@pytest.mark.parametrize("budget", [0, -5, 1.5, "ten", True, float("nan")])
def test_a_budget_that_is_no_positive_whole_number_is_refused(make_network, budget):
    with pytest.raises(InvalidInputError) as caught:
        n2p.convert(make_network(0), data=X, max_terms=budget)
    assert "max_terms" in str(caught.value)


def test_a_budget_of_one_term_is_the_mean(make_network):
    poly = n2p.convert(make_network(0), data=X, max_terms=1)
    assert [*poly.terms] == [()]
    np.testing.assert_allclose(poly.predict(X), make_network(0).predict(X[:160]).mean(), atol=0.1)


def test_a_column_that_does_not_vary_has_no_bounds_and_no_terms_of_its_own(make_network):
    data = X.copy()
    data[:, 1] = 7.0
    poly = n2p.convert(make_network(0), 2, data=data, bounded=True)
    assert "x2" not in poly.inputs.bounds()
    assert set(poly.inputs.bounds()) == {"x1", "x3"}
    assert np.all(np.isfinite(poly.coefficients))
    assert poly.card.r2 > 0.9


@pytest.mark.parametrize("max_terms", [None, 10])
def test_a_sample_without_any_variation_gives_the_networks_value(make_network, max_terms):
    data = np.ones((50, 3))
    poly = n2p.convert(make_network(0), data=data, bounded=True, max_terms=max_terms)
    assert not poly.inputs.are_bounded
    np.testing.assert_allclose(poly.predict(data), make_network(0).predict(data), rtol=1e-6)


def test_a_constant_beside_one_other_column_is_no_obstacle(make_network):
    data = np.column_stack([X[:, 0], np.full(len(X), 7.0)])
    network = make_network(0, (2, 5, 1))
    poly = n2p.convert(network, 2, data=data, bounded=True)
    assert poly.card.r2 > 0.9


def test_three_rows_are_enough_for_bounds(make_network):
    poly = n2p.convert(make_network(0), 1, data=X[:3], bounded=True)
    assert np.all(np.isfinite(poly.predict(X[:3])))


def test_a_file_with_empty_bounds_is_refused(tmp_path):
    columns = (Column("a", coordinates=(Coordinate(function=Identity(1.0, 2.0)),)),)
    poly = replace(n2p.Polynomial([[0.0], [1.0]], 1, ["a"]), inputs=Inputs(columns))
    path = poly.save(tmp_path / "poly.json")
    text = path.read_text(encoding="utf-8")
    assert '"high": 2.0' in text
    path.write_text(text.replace('"high": 2.0', '"high": 0.5'), encoding="utf-8")
    with pytest.raises(NN2PolyError):
        n2p.load(path)
    with pytest.raises(InvalidInputError, match="empty"):
        function_from({"kind": "identity", "low": 2.0, "high": 2.0})
