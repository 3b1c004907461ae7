"""A correction is part of the polynomial: all ways to its values and coefficients agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.factored.correction import Correction


def uniform(n, p, seed=0, reach=1.0):
    return np.random.default_rng(seed).uniform(-reach, reach, (n, p))


def added(pnet, seed=0):
    """Give a polynomial network a correction that is not small."""
    rng, p, k = np.random.default_rng(seed), pnet.network.n_features, pnet.network.n_outputs
    terms = Graded(p, min(pnet.max_order, 2))
    return replace(pnet, correction=Correction(terms, rng.normal(size=(len(terms), k))))


@pytest.fixture(scope="module")
def network(make_network):
    return make_network(3, (6, 20, 15, 2), "relu", spread=3.0, bias=1.0)


@pytest.fixture(scope="module")
def pnet(network):
    return added(n2p.polynomial_network(network, 3, data=uniform(300, 6)))


def test_all_ways_to_the_polynomial_agree(pnet):
    X = uniform(40, 6, seed=1, reach=0.9)
    poly = pnet.expand()
    np.testing.assert_allclose(pnet.predict(X), poly.predict(X), atol=1e-12)
    np.testing.assert_allclose(pnet.outputs_by_order(X)[-1], pnet.predict(X), atol=1e-12)
    low = poly.truncate(1).predict(X)
    np.testing.assert_allclose(pnet.outputs_by_order(X)[1], low, atol=1e-12)
    short = pnet.predict(X, dtype=np.float32)
    assert short.dtype == np.float32
    np.testing.assert_allclose(short, pnet.predict(X), atol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_coefficient_is_that_of_the_terms(network, order):
    found = added(n2p.polynomial_network(network, order, data=uniform(300, 6)))
    poly = found.expand()
    terms = [t for d in range(order + 1) for t in combinations_with_replacement(range(6), d)]
    for row, term in zip(poly.coefficients, terms, strict=True):
        single = [found.coefficient(term, output) for output in range(2)]
        np.testing.assert_allclose(single, row, rtol=1e-9, atol=1e-12)


def test_the_largest_terms_are_those_of_the_whole(pnet):
    poly = pnet.expand()
    listed = {row[0]: row[2:] for row in pnet.top_terms(poly.n_terms - 1)}
    features = pnet.feature_names
    held = {row[0]: row[2:] for row in pnet.interactions_of("x4")}
    assert len(listed) == poly.n_terms - 1
    for name, values in [*listed.items(), *held.items()]:
        expected = [poly.coefficient(name, output) for output in range(2)]
        np.testing.assert_allclose(values[-2:], expected, rtol=1e-9, atol=1e-12)
    assert all("x4" in name for name in held)
    assert features[3] == "x4"


@pytest.mark.parametrize("order", [1, 2, 4])
def test_kept_layers_end_in_the_polynomial(network, order):
    found = added(n2p.polynomial_network(network, order, data=uniform(300, 6)))
    before = [expansion.copy() for expansion in found.expansions]
    poly = found.expand(keep_layers=True)
    np.testing.assert_array_equal(poly.layers[-1].output.coefficients, poly.coefficients)
    np.testing.assert_allclose(poly.coefficients, found.expand().coefficients, atol=1e-11)
    for expansion, expected in zip(found.expansions, before, strict=True):
        np.testing.assert_array_equal(expansion, expected)


def test_it_is_written_to_disk_with_the_rest(pnet, tmp_path):
    poly = pnet.expand(out=tmp_path / "poly")
    np.testing.assert_allclose(poly.coefficients, pnet.expand().coefficients, atol=1e-13)
