"""Names from a file never steer a terminal: in no repr, no table, no message."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import NN2PolyError
from nn2poly.formula.region_tree import Leaf, Split

NAMES = ["a\x1b[31mred\u202egnp", "=cmd()\x07\u2066b\r"]
OUTPUT = "y\x1b]0;title\x07\u200f"
X = np.random.default_rng(0).normal(size=(60, 2))


def network():
    rng = np.random.default_rng(1)
    hidden = n2p.Layer(rng.normal(0, 0.4, (2, 3)), rng.normal(0, 0.2, 3), "tanh")
    last = n2p.Layer(rng.normal(size=(3, 1)))
    return n2p.Network([hidden, last], feature_names=NAMES, output_names=[OUTPUT])


def rules(poly):
    split = Split(0, 0.5, left=Leaf(0), right=Leaf(1))
    return n2p.PiecewisePolynomial(split, (poly, poly))


def everything():
    net = network()
    poly = n2p.convert(net, 2, data=X)
    pieces, shares = rules(n2p.convert(net, 2)), explain.shapley(poly, X, X)
    yield from (net, net.layers[0], net.inputs, net.outputs, poly, pieces, poly.card)
    yield from (poly.inputs, poly.outputs, poly.card.verdict, pieces.regions[0], pieces.tree)
    yield from (n2p.polynomial_network(net, 2), shares, explain.interactions(poly, X, X))
    yield from (explain.anova(poly, X), explain.sobol(poly, X), explain.bounds(poly))
    yield from (explain.monotonicity(poly), explain.marginal_effects(poly, X))
    yield from (explain.partial_dependence(poly, X, 0), explain.ice(poly, X, 0))
    yield from (explain.ale(poly, X, 0), explain.friedman_h(poly, X), explain.importance(poly, X))
    yield from (explain.compare_local(net, poly, X[0]), explain.ensemble([poly, poly]))
    yield from (explain.ensemble([pieces, pieces]), n2p.sparse_path(net, poly, X))
    yield n2p.frontier(net, X, orders=[1, 2], regions=[1], max_terms=[])


def steering(text):
    """List what steers a terminal, or turns text round; line breaks are ours."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]


def test_no_repr_steers_a_terminal():
    found = {
        type(value).__name__
        for value in everything()
        if steering(repr(value)) + steering(str(value))
    }
    assert found == set()


@pytest.mark.parametrize("kind", ["term", "output"])
def test_no_error_steers_a_terminal(kind):
    poly = n2p.convert(network(), 1)
    with pytest.raises(NN2PolyError) as caught:
        poly.coefficient("nothing") if kind == "term" else poly.coefficient("1", output="nothing")
    assert not steering(str(caught.value))
