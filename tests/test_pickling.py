"""Every public object can be copied and pickled: people send them through joblib."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import errors, explain
from nn2poly.formula.region_tree import Leaf, Split

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
X = np.random.default_rng(0).normal(size=(40, 2))


def piecewise():
    one = n2p.Polynomial.from_terms(["1", "a", "a b"], [1.0, 2.0, 0.5], ["a", "b"])
    two = n2p.Polynomial.from_terms(["1", "b"], [1.0, 3.0], ["a", "b"])
    return n2p.PiecewisePolynomial(Split(0, 0.5, left=Leaf(0), right=Leaf(1)), (one, two))


def network():
    rng = np.random.default_rng(1)
    hidden = n2p.Layer(rng.normal(0, 0.4, (2, 3)), rng.normal(0, 0.2, 3), "tanh")
    return n2p.Network([hidden, n2p.Layer(rng.normal(size=(3, 1)))], feature_names=["a", "b"])


@pytest.fixture(scope="module")
def made():
    """One of each public class, found by making it as people do."""
    net, rules = network(), piecewise()
    poly = n2p.convert(net, 2, data=np.vstack([X, 1.5 * X, -2 * X, 0.5 * X]))
    members = [n2p.convert(net, 2), n2p.convert(net, 2, taylor_order=4)]
    shares = explain.shapley(poly, X, X)
    found = [
        *(net, net.layers[0], net.layers[0].activation, net.inputs, net.outputs, poly, rules),
        *(n2p.polynomial_network(net, 2), poly.card, rules.regions[0], poly.terms, rules.tree),
        *(
            shares,
            explain.interactions(poly, X, X),
            explain.anova(rules, X),
            explain.sobol(poly, X),
        ),
        *(explain.bounds(poly), explain.monotonicity(poly), explain.marginal_effects(poly, X)),
        *(explain.partial_dependence(poly, X, "a"), explain.ice(poly, X, "a")),
        *(explain.ale(poly, X, "a"), explain.friedman_h(poly, X), explain.importance(poly, X)),
        *(explain.compare_local(net, poly, X[0]), explain.ensemble(members)),
        *(explain.ensemble([rules, rules]), explain.ensemble([shares, shares])),
        *(
            n2p.sparse_path(net, poly, X),
            n2p.frontier(net, X, orders=[1, 2], regions=[1, 2], max_terms=[]),
        ),
    ]
    return {type(value).__name__: value for value in found}


def public_classes():
    everything = [getattr(n2p, name) for name in n2p.__all__]
    everything += [getattr(explain, name) for name in explain.__all__]
    return {c for c in everything if inspect.isclass(c) and not issubclass(c, Exception)}


def test_one_of_each_public_class_is_tried(made):
    estimators = {"PolynomialClassifier", "PolynomialRegressor"}  # scikit-learn's own tests do
    assert {c.__name__ for c in public_classes()} - set(made) == estimators


@ways
def test_every_public_object_survives(made, way):
    for name, value in made.items():
        again = way(value)
        assert type(again) is type(value), name
        assert repr(again) == repr(value), name


@ways
def test_predictions_survive(made, way):
    for name in ("Network", "Polynomial", "PiecewisePolynomial", "PolynomialNetwork"):
        np.testing.assert_array_equal(way(made[name]).predict(X), made[name].predict(X))


def test_what_was_unpickled_is_as_frozen_as_before(made):
    for name in ("Network", "Polynomial", "PiecewisePolynomial", "PolynomialNetwork"):
        again = WAYS["pickle"](made[name])
        with pytest.raises(AttributeError):
            again.inputs = None


def raised():
    given = {"n_terms": 3, "n_bytes": 80, "remedy": "lower max_order"}
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.NN2PolyError):
            some = given if kind is errors.TooManyTermsError else {"where": "x", "remedy": "y"}
            yield pytest.param(kind("It failed.", **some), id=name)


@ways
@pytest.mark.parametrize("error", list(raised()))
def test_errors_come_back_from_a_worker_whole(error, way):
    """A worker's error is pickled: without its parts the pool itself would break."""
    again = way(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
