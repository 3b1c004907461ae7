"""Friedman's H: equal to partial dependence by brute force."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.errors import OutsideRangeWarning
from nn2poly.explain import friedman_h


def random_polynomial(seed, p, order, n_outputs=1, **options):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(Graded(p, order)), n_outputs))
    return n2p.Polynomial(values, order, [f"x{i + 1}" for i in range(p)], **options)


def dependence(poly, X, kept):
    """Average over the data at each row's own values of ``kept``, centred: (n, n_outputs)."""
    out = []
    for x in X:
        rows = X.copy()
        rows[:, kept] = x[kept]
        out.append(poly.predict(rows).reshape(len(X), -1).mean(axis=0))
    return np.array(out) - np.mean(out, axis=0)


@pytest.mark.parametrize(("p", "order", "n_outputs"), [(2, 5, 1), (3, 3, 2), (5, 2, 7)])
def test_h_equals_partial_dependence_by_brute_force(p, order, n_outputs):
    rng = np.random.default_rng(p)
    poly = random_polynomial(
        p, p, order, n_outputs, center=rng.normal(size=p), scale=rng.uniform(0.5, 2, p)
    )
    X = rng.normal(size=(25, p)) @ rng.normal(size=(p, p))
    found = friedman_h(poly, X)
    assert list(found.pairs) == list(combinations(range(p), 2))
    alone = [dependence(poly, X, [i]) for i in range(p)]
    for row, (i, j) in enumerate(found.pairs):
        both = dependence(poly, X, [i, j])
        part = ((both - alone[i] - alone[j]) ** 2).sum(axis=0)
        expected = np.sqrt(part / (both**2).sum(axis=0))
        np.testing.assert_allclose(found.pairwise[row], expected, atol=1e-9)
        np.testing.assert_allclose(found.strength[row], np.sqrt(part / 25), rtol=1e-8)
    whole = poly.predict(X).reshape(25, -1)
    whole = whole - whole.mean(axis=0)
    for i in range(p):
        rest = dependence(poly, X, [j for j in range(p) if j != i])
        part = ((whole - alone[i] - rest) ** 2).sum(axis=0)
        expected = np.sqrt(part / (whole**2).sum(axis=0))
        np.testing.assert_allclose(found.overall[i], expected, atol=1e-9)


def test_an_additive_polynomial_has_no_pairs_and_no_interaction():
    poly = n2p.Polynomial.from_terms(["a", "b^3"], [1.0, 2.0], ["a", "b"])
    found = friedman_h(poly, np.random.default_rng(0).normal(size=(30, 2)))
    assert found.pairs == ()
    assert np.all(found.overall == 0)
    assert np.all(found.matrix() == 0)


def test_a_pure_product_of_centred_features_is_all_interaction():
    poly = n2p.Polynomial.from_terms(["a b"], [3.0], ["a", "b", "c"])
    found = friedman_h(poly, list(product([-1, 1], repeat=3)))
    np.testing.assert_allclose(found.pairwise, [[1.0]])
    np.testing.assert_allclose(found.strength, [[3.0]])
    np.testing.assert_allclose(found.overall[:, 0], [1.0, 1.0, 0.0])
    assert found.matrix()[1, 0] == found.matrix()[0, 1] == found.pairwise[0, 0]


def test_an_output_that_does_not_vary_has_no_h():
    poly = n2p.Polynomial.from_terms(
        ["1", "a b"], [[3.0, 1.0], [0.0, 1.0]], ["a", "b"], output_names=["flat", "other"]
    )
    found = friedman_h(poly, [[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    assert np.isnan(found.pairwise[0, 0])
    assert np.isfinite(found.pairwise[0, 1])
    assert np.isnan(found.overall[:, 0]).all()
    assert "n/a" in str(found)
    constant = friedman_h(n2p.Polynomial([[1.0]], 0, ["a"]), [[0.1], [0.4]])
    assert constant.pairs == ()
    assert np.isnan(constant.overall).all()


def test_54_features_and_7_outputs_and_sparse_ones():
    poly = random_polynomial(6, 54, 2, 7)
    X = np.random.default_rng(6).uniform(-1, 1, (200, 54))
    found = friedman_h(poly, X)
    assert found.pairwise.shape == (54 * 53 // 2, 7)
    pruned = friedman_h(poly.prune(100), X)
    assert len(pruned.pairs) < 100
    assert pruned.matrix("y3").shape == (54, 54)
    assert "… and 4 more outputs" in str(found)
    assert "<table>" in found._repr_html_()


def test_rows_outside_the_calibrated_range_warn_once():
    poly = random_polynomial(0, 2, 2, low=[-1.0, -1.0], high=[1.0, 1.0])
    with pytest.warns(OutsideRangeWarning) as caught:
        friedman_h(poly, [[0.0, 3.0], [0.0, 0.0]])
    assert len(caught) == 1
