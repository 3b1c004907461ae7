"""What all outputs of a softmax have in common is neither fitted nor judged nor printed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain

CLASSES = ["u", "v", "w"]
rng = np.random.default_rng(0)
X = rng.normal(size=(900, 5))
HIDDEN = n2p.Layer(rng.normal(size=(5, 16)), None, "relu")
LAST, COMMON = rng.normal(size=(16, 3)), rng.normal(size=(5, 1)) @ np.ones((1, 3))


def classifier(k, link="softmax"):
    """Make a network whose logits have k times the same in common."""
    last = n2p.Layer(LAST, None, "linear", {0: k * COMMON})
    return n2p.Network([HIDDEN, last], link=link, classes=None if link == "identity" else CLASSES)


def without_mean(raw):
    return raw - raw.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("order", [1, "auto"])
def test_a_common_part_changes_neither_formula_nor_card(order):
    plain, shifted = (n2p.convert(classifier(k), order, data=X) for k in (0, 1_000))
    assert shifted.max_order == plain.max_order
    assert shifted.card.r2 == pytest.approx(plain.card.r2, abs=1e-6)
    assert shifted.card.r2_mixed == pytest.approx(plain.card.r2_mixed, abs=1e-6)
    assert shifted.card.verdict.grade == plain.card.verdict.grade
    np.testing.assert_allclose(shifted.predict(X), plain.predict(X), atol=1e-6)


def test_scores_of_a_formula_sum_to_nothing_and_are_those_of_the_network_less_their_mean():
    poly = n2p.convert(classifier(30), 4, data=X)
    scores = poly.predict(X)
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)
    truth = without_mean(classifier(30).predict(X))
    assert np.corrcoef(scores.ravel(), truth.ravel())[0, 1] > 0.95


def test_without_data_too_the_formula_is_that_of_an_equal_network():
    layers = [n2p.Layer(rng.normal(size=(5, 4)) / 4, None, "tanh"), n2p.Layer(LAST[:4] + 50.0)]
    network = n2p.Network(layers, link="softmax", classes=CLASSES)
    poly, raw = n2p.convert(network, 3), n2p.convert(n2p.Network(layers), 3)
    np.testing.assert_allclose(poly.predict(X), without_mean(raw.predict(X)), atol=1e-9)
    np.testing.assert_allclose(poly.predict_proba(X), replace_link(raw).predict_proba(X))


def replace_link(poly):
    return replace(poly, outputs=poly.outputs.declared("softmax", CLASSES))


def test_an_activation_before_the_softmax_is_kept():
    layers = [HIDDEN, n2p.Layer(LAST, None, "tanh")]
    network = n2p.Network(layers, link="softmax", classes=CLASSES)
    equal = network.without_common()
    np.testing.assert_allclose(equal.predict(X), without_mean(network.predict(X)), atol=1e-12)
    assert n2p.convert(network, 2, data=X).card.r2 > 0.5


def test_outputs_that_are_no_classes_keep_what_they_have_in_common():
    network = classifier(30, link="identity")
    assert network.without_common() is network
    poly = n2p.convert(network, 2, data=X)
    np.testing.assert_allclose(poly.predict(X).mean(axis=1), (30 * X @ COMMON)[:, 0], atol=30.0)


def test_a_function_and_a_network_of_logits_are_judged_as_the_classifier_is():
    poly = n2p.convert(classifier(1_000), 2, data=X)
    expected = n2p.fidelity(classifier(1_000), poly, X[:300])
    for model in (classifier(1_000, link="identity"), lambda Z: classifier(1_000).predict(Z)):
        found = n2p.fidelity(model, poly, X[:300])
        assert found.r2 == pytest.approx(expected.r2, abs=1e-9)
        asked = n2p.convert(model, 2, data=X, link="softmax", classes=CLASSES)
        np.testing.assert_allclose(asked.predict(X).sum(axis=1), 0.0, atol=1e-7)


def test_a_formula_with_a_common_part_is_judged_without_it():
    poly = n2p.convert(classifier(0), 2, data=X)
    shifted = replace(poly, coefficients=poly.coefficients + 7.0)
    network = classifier(0)
    assert n2p.fidelity(network, shifted, X).r2 == pytest.approx(n2p.fidelity(network, poly, X).r2)


def test_a_local_formula_of_declared_classes_is_compared_without_the_common_part():
    layers = [n2p.Layer(np.eye(3), None, "tanh"), n2p.Layer(LAST[:3] + 40.0)]
    network = n2p.Network(layers)
    poly = n2p.convert(network, 3, link="softmax", classes=CLASSES)
    found = explain.compare_local(network, poly, np.zeros(3))
    np.testing.assert_allclose(found.difference, 0.0, atol=1e-12)
