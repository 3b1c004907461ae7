"""A budget of terms: they come with their divisors, within the budget, where they matter."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError
from nn2poly.fit import sparse_terms
from nn2poly.fit.problem import read_problem

LEVELS = 4


def bumps(p=4, width=7):
    """Make a network whose first feature works in waves, and the others plainly."""
    knots = np.linspace(-1.0, 1.0, width)
    first = np.zeros((p, width + 2))
    first[0, :width] = 8.0
    first[1, width], first[2:, width + 1] = 1.0, 0.5
    bias = np.concatenate([-8.0 * knots, [0.0, 0.1]])
    second = np.concatenate([(-1.0) ** np.arange(width), [1.0, 1.0]])[:, None]
    return n2p.Network([n2p.Layer(first, bias, "tanh"), n2p.Layer(second)])


def crossed():
    """Make a network in which the second feature turns the sign of the first one's effect."""
    weights, bias = [[3.0, 3.0], [4.0, -4.0]], [-4.0, -4.0]
    return n2p.Network([n2p.Layer(weights, bias, "softplus"), n2p.Layer([[1.0], [-1.0]])])


@pytest.fixture(scope="module")
def factors(make_network):
    """Give a network of two numbers and two factors of four levels, and rows."""
    rng = np.random.default_rng(0)
    levels = [np.eye(LEVELS)[rng.choice(LEVELS, 1500)] for _ in range(2)]
    X = np.hstack([rng.normal(size=(1500, 2)), *levels])
    return make_network(2, (2 + 2 * LEVELS, 12, 2), "relu", spread=1.5, bias=0.5), X


@pytest.fixture(scope="module")
def sparse(factors):
    network, X = factors
    return n2p.convert(network, data=X, max_terms=60)


def test_every_divisor_of_a_term_is_there(sparse):
    terms = set(sparse.terms)
    assert () in terms
    for term in terms:
        assert all((*term[:i], *term[i + 1 :]) in terms for i in range(len(term)))


@pytest.mark.parametrize("budget", [1, 2, 7, 40])
def test_the_budget_is_kept(factors, budget):
    network, X = factors
    poly = n2p.convert(network, data=X, max_terms=budget)
    assert poly.n_terms <= budget
    assert poly.card.n_rows > 0
    assert poly.card.per_layer == ()


def test_more_terms_follow_better(factors, sparse):
    network, X = factors
    assert sparse.card.r2 > n2p.convert(network, data=X, max_terms=12).card.r2 + 0.05


def test_the_same_data_give_the_same_terms(factors, sparse):
    network, X = factors
    again = n2p.convert(network, data=X, max_terms=60)
    assert again.terms == sparse.terms
    np.testing.assert_array_equal(again.coefficients, sparse.coefficients)


def test_of_two_levels_the_rarer_one_is_written(make_network):
    # Both say the same, and the last digit of a sum would decide.
    for rarer in (2, 3):
        network = make_network(rarer, (4, 12, 1), "relu", spread=1.5, bias=0.5)
        rng = np.random.default_rng(rarer)
        X = np.hstack([rng.normal(size=(1500, 2)), np.zeros((1500, 2))])
        X[:, rarer] = rng.random(1500) < 0.3
        X[:, 5 - rarer] = 1.0 - X[:, rarer]
        used = {j for term in n2p.convert(network, data=X, max_terms=20).terms for j in term}
        assert rarer in used
        assert 5 - rarer not in used


def test_levels_of_a_factor_never_stand_together(sparse):
    column = sparse.inputs.column_of
    for term in sparse.terms:
        indicators = [column[j] for j in term if j >= 2]
        assert len(indicators) == len(set(indicators))
    # Both factors are there, and their levels are 0 and 1.
    assert {j for term in sparse.terms for j in term if j >= 2}
    np.testing.assert_array_equal(sparse.center[2:], 0.0)
    np.testing.assert_array_equal(sparse.scale[2:], 1.0)


def test_waves_of_one_feature_get_high_powers():
    X = np.random.default_rng(1).uniform(-1.0, 1.0, size=(3000, 4))
    network = bumps()
    poly = n2p.convert(network, data=X, max_terms=15)
    square = n2p.convert(network, 2, data=X)
    assert poly.n_terms <= square.n_terms == 15
    assert max(term.count(0) for term in poly.terms) >= 8
    assert all(term.count(j) <= 3 for term in poly.terms for j in (1, 2, 3))
    new = np.random.default_rng(2).uniform(-0.99, 0.99, size=(1000, 4))
    assert n2p.fidelity(network, poly, new).r2 > n2p.fidelity(network, square, new).r2 + 0.3


def test_a_feature_that_only_turns_another_is_found():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=2000), rng.choice([-1.0, 1.0], 2000)])
    network = crossed()
    poly = n2p.convert(network, data=X, max_terms=12, binary=False)
    assert (0, 1) in poly.terms
    assert poly.card.r2 > 0.95


@pytest.mark.parametrize("seed", range(4))
def test_two_features_that_only_work_together_are_found(seed):
    """2 x1 + 3 x2 x3 of eight: neither x2 nor x3 explains anything by itself."""
    first, skip = np.zeros((8, 2)), np.zeros((8, 1))
    first[[1, 2], 0], first[[1, 2], 1], skip[0] = 1.0, [1.0, -1.0], 2.0
    last = n2p.Layer([[0.75], [-0.75]], None, skips={0: skip})
    network = n2p.Network([n2p.Layer(first, None, np.square), last])
    X = np.random.default_rng(seed).normal(size=(500, 8))
    poly = n2p.convert(network, 2, data=X, max_terms=5, bounded=False)
    assert set(poly.terms) == {(), (0,), (1,), (2,), (1, 2)}


def test_the_order_is_an_upper_limit(factors):
    network, X = factors
    poly = n2p.convert(network, 2, data=X, max_terms=60)
    assert max(map(len, poly.terms)) == 2
    auto = n2p.convert(network, "auto", data=X, max_terms=30)
    assert auto.terms == n2p.convert(network, data=X, max_terms=30).terms


def test_mixed_rows_do_not_run_away(factors, sparse):
    network, X = factors
    rng = np.random.default_rng(5)
    numbers = np.column_stack([rng.permutation(X[:, j]) for j in (0, 1)])
    mixed = np.hstack([numbers, X[rng.permutation(len(X)), 2:6], X[:, 6:]])
    assert n2p.fidelity(network, sparse, mixed).r2 > 0.5


def test_plain_powers_that_lose_digits_are_lowered(monkeypatch):
    X = np.random.default_rng(1).uniform(-1.0, 1.0, size=(500, 4))
    problem = read_problem(bumps(), X, None)
    monkeypatch.setattr(sparse_terms, "EXACT", 3e-16)
    with pytest.warns(UserWarning, match="lose digits"):
        poly = sparse_terms.sparse_polynomial(problem, 15)
    assert max(map(len, poly.terms)) < 8


@pytest.mark.parametrize("rows", [1, 3, 25])
def test_few_rows_and_columns_that_do_not_vary(rows):
    X = np.random.default_rng(1).uniform(-1.0, 1.0, size=(rows, 4))
    X[:, 1] = 0.5
    poly = n2p.convert(bumps(), data=X, max_terms=10)
    assert np.all(np.isfinite(poly.predict(X)))
    assert all(1 not in term for term in poly.terms)


@pytest.mark.parametrize("budget", [0, -3, 2.5, "many", True])
def test_a_budget_is_a_positive_integer(factors, budget):
    with pytest.raises(InvalidInputError, match="max_terms"):
        n2p.convert(factors[0], data=factors[1], max_terms=budget)


def test_what_a_budget_cannot_be_used_with(factors, tmp_path):
    network, X = factors
    with pytest.raises(InvalidInputError, match="max_terms"):
        n2p.convert(network, max_terms=10)
    with pytest.raises(InvalidInputError, match="max_terms"):
        n2p.convert(network, data=X, method="taylor", max_terms=10)
    with pytest.raises(InvalidInputError, match="keep_layers"):
        n2p.convert(network, data=X, max_terms=10, keep_layers=True)
    with pytest.raises(InvalidInputError, match="out="):
        n2p.convert(network, data=X, max_terms=10, out=tmp_path / "terms.npz", binary=False)
