"""What all explanations share: their tables, what they refuse, the names they are found by."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_only_public_names_are_listed():
    assert sorted(dir(explain)) == sorted(explain.__all__)


def test_what_is_not_a_formula_is_refused_with_the_remedy():
    with pytest.raises(InvalidInputError, match=r"nn2poly\.convert"):
        explain.shapley([[1.0]], [[1.0]], [[1.0]])


def every_table(poly, X):
    """List the methods that give a table of n rows."""
    shares, h = explain.sobol(poly, X), explain.friedman_h(poly, X)
    several = explain.ensemble([explain.shapley(poly, X, X)] * 2)
    return [
        explain.shapley(poly, X, X).table,
        explain.interactions(poly, X, X).table,
        shares.table,
        shares.subset_table,
        explain.anova(poly, X).table,
        h.table,
        h.overall_table,
        explain.marginal_effects(poly, X).table,
        explain.monotonicity(poly, (-1.0, 1.0)).table,
        explain.ensemble([poly, poly]).table,
        several.table,
    ]


@pytest.mark.parametrize("n", [0, -1, 2.5, "y1", True])
def test_no_table_takes_a_wrong_number_of_rows(n, rng):
    poly = n2p.Polynomial(rng.normal(size=(10, 1)), 2, ["a", "b", "c"])
    for table in every_table(poly, rng.normal(size=(15, 3))):
        with pytest.raises(InvalidInputError, match="n must be a positive integer"):
            table(n)


def test_every_table_takes_n_first_and_one_output_by_name(rng):
    poly = n2p.Polynomial(rng.normal(size=(10, 2)), 2, ["a", "b", "c"])
    X = rng.normal(size=(15, 3))
    for table in every_table(poly, X):
        assert 2 <= len(table(2, output="y2")) <= 3
        assert table(2, output=1).rows == table(2, output="y2").rows != table(2, output=0).rows
        with pytest.raises(TypeError):
            table(2, "y2")


def test_a_polynomial_in_factored_form_is_refused_with_the_remedy(make_network):
    network = make_network(0, (2, 3, 1))
    factored = n2p.polynomial_network(network, 2)
    X = np.zeros((3, 2))
    for call in (
        lambda: explain.bounds(factored, (0, 1)),
        lambda: explain.bounds(factored),
        lambda: explain.monotonicity(factored, (0, 1)),
        lambda: explain.gradients(factored, X),
        lambda: explain.derivative(factored, 0),
        lambda: explain.compare_local(network, factored, [0.0, 0.0]),
        lambda: explain.shapley(factored, X, X),
        lambda: explain.interactions(factored, X, X),
        lambda: explain.sobol(factored, X),
        lambda: explain.friedman_h(factored, X),
        lambda: explain.marginal_effects(factored, X),
        lambda: explain.partial_dependence(factored, X, 0),
        lambda: explain.ice(factored, X, 0),
    ):
        with pytest.raises(InvalidInputError, match=r"poly\.expand\(\)"):
            call()
