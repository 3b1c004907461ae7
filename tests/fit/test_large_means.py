"""Outputs of a small spread around a large mean are fitted as closely as around 0."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p

LEVELS = (1e6, 1e9, 1e12)


def rows(p=3, n=600):
    return np.random.default_rng(0).normal(size=(n, p))


def product(X):
    return X[:, 0] * X[:, 1] + X[:, 2]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "options",
    [{}, {"bounded": False}, {"max_terms": 8}, {"max_order": 1}, {"regions": 2}],
    ids=["order 2", "unbounded", "budget", "order 1", "regions"],
)
def test_the_mean_of_the_outputs_changes_no_fit(options, level):
    X = rows()
    plain = n2p.convert(product, data=X, **options)
    raised = n2p.convert(lambda X: product(X) + level, data=X, **options)
    assert raised.card.r2 == pytest.approx(plain.card.r2, abs=1e-4)
    # What rounding leaves of outputs of this size.
    np.testing.assert_allclose(raised.predict(X) - level, plain.predict(X), atol=2e-3)


@pytest.mark.parametrize("activation", ["linear", "relu"])
def test_a_network_with_a_large_last_bias_is_refitted(activation, make_network):
    net = make_network(0, (3, 8, 1), "tanh")
    first, last = net.layers

    def raised(level):
        return n2p.Network([first, n2p.Layer(10.0 * last.weights, [level], activation)])

    found = [n2p.convert(raised(level), data=rows()).card.r2 for level in (100.0, 1e12)]
    assert found[1] == pytest.approx(found[0], abs=0.01)


def test_many_terms_are_fitted_around_a_large_mean(monkeypatch):
    from nn2poly.fit import term_fit

    monkeypatch.setattr(term_fit, "CLOSED", 5)
    X = rows()
    found = [n2p.convert(lambda X, a=a: product(X) + a, data=X).card.r2 for a in (0.0, 1e9)]
    assert found[0] > 0.99
    assert found[1] == pytest.approx(found[0], abs=1e-3)


def test_a_path_of_terms_finds_small_effects_beside_a_large_mean():
    X, level = rows(), 1e12

    def model(X):
        return product(X) + level

    path = n2p.sparse_path(model, n2p.convert(model, data=X), X, max_terms=6)
    assert path.best_r2 > 0.999
