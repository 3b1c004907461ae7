"""Folding binary features changes the terms, never what is predicted on binary data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded, Listed
from nn2poly.errors import InvalidInputError
from nn2poly.formula.fold import fold_terms
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf


def one_hot(rng, n, levels):
    return np.eye(levels)[rng.integers(levels, size=n)]


def random_polynomial(rng, p, order, n_outputs=2):
    names = [f"v{i}" for i in range(p)]
    return Polynomial(rng.normal(size=(count_terms(p, order), n_outputs)), order, names)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_a_folded_polynomial_predicts_the_same_on_binary_data(order):
    rng = np.random.default_rng(order)
    poly = random_polynomial(rng, 7, order)
    X = np.hstack([rng.normal(size=(200, 2)), one_hot(rng, 200, 3), rng.integers(2, size=(200, 2))])
    folded = poly.fold([[2, 3, 4], [5], [6]])
    scale = np.abs(poly.predict(X)).max()
    np.testing.assert_allclose(folded.predict(X), poly.predict(X), atol=1e-12 * scale)


def test_no_power_of_a_binary_feature_and_no_pair_of_levels_is_left():
    folded = random_polynomial(np.random.default_rng(0), 6, 4).fold([[1, 2, 3], [5]])
    for term in folded.terms:
        binary = [i for i in term if i in (1, 2, 3, 5)]
        assert len(binary) == len(set(binary))
        assert len({1, 2, 3} & set(binary)) <= 1
    assert folded.n_terms < 210


def test_the_covertype_basis_shrinks_six_times():
    poly = Polynomial(np.ones((29_260, 1)), 3, [f"v{i}" for i in range(54)])
    folded = poly.fold([range(10, 14), range(14, 54)])
    assert folded.n_terms == 286 + 44 * 66 + 160 * 11


def test_features_may_be_given_by_name_and_unknown_ones_are_refused():
    poly = Polynomial([[0.0], [3.0], [4.0]], 2, ["smoker"])
    assert poly.fold([["smoker"]]).coefficient("smoker") == 7.0
    with pytest.raises(KeyError, match="no feature 'smokr'"):
        poly.fold([["smokr"]])


def test_a_pruned_polynomial_folds_too():
    rng = np.random.default_rng(3)
    poly = random_polynomial(rng, 5, 3).prune(20)
    X = np.hstack([rng.normal(size=(50, 3)), rng.integers(2, size=(50, 2))])
    np.testing.assert_allclose(poly.fold([[3], [4]]).predict(X), poly.predict(X), atol=1e-12)


def test_terms_of_high_order_in_many_features_fold_where_they_stand():
    """x0³ x1² x7 with binary x0, x7 is x0 x1² x7; x3 x4 of one factor vanishes."""
    terms = Listed.of([(0, 0, 0, 1, 1, 7), (0, 1, 1, 7), (3, 4), (499,) * 10, ()], 500)
    values = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])  # in the order of the terms
    assert list(terms)[1] == (3, 4)
    found, sums = fold_terms(terms, values, [[0], [7], [3, 4], [499]])
    assert list(found) == [(), (499,), (0, 1, 1, 7)]
    assert sums.ravel().tolist() == [1.0, 16.0, 4.0 + 8.0]
    assert isinstance(found, Listed)
    assert (found.n_features, found.max_order) == (500, 10)


def test_nothing_to_fold_keeps_every_term():
    values = np.arange(10.0)[:, None]
    found, sums = fold_terms(Graded(3, 2), values, [])
    assert found == Graded(3, 2)
    np.testing.assert_array_equal(sums, values)


def test_no_terms_fold_to_no_terms():
    found, sums = fold_terms(Listed.of([], 3, 2), np.zeros((0, 2)), [[0, 1]], [(1, 2)])
    assert (len(found), sums.shape) == (0, (0, 2))


def test_products_of_two_features_that_are_never_both_1_vanish():
    found, _ = fold_terms(Graded(3, 2), np.ones((10, 1)), [[0], [1], [2]], [(0, 2)])
    assert list(found) == [(), (0,), (1,), (2,), (0, 1), (1, 2)]


def test_a_folded_polynomial_does_not_keep_its_card():
    """On rows that are not 0 or 1 its predictions changed, and the card was of the others."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    network = n2p.Network([n2p.Layer([[0.5], [0.2]], None, "tanh"), n2p.Layer([[1.0]])])
    poly = n2p.convert(network, 2, data=X)
    assert poly.card is not None
    assert poly.fold([["x1"]]).card is None


def test_nothing_that_changes_predictions_or_labels_keeps_a_card():
    """Version 0.1 kept the card of the other formula."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    network = n2p.Network([n2p.Layer([[0.5], [0.2]], None, "tanh"), n2p.Layer([[1.0]])])
    poly = n2p.convert(network, 2, data=X, link="sigmoid", classes=["no", "yes"])
    assert poly.card.agreement is not None
    changed = (poly.fold([["x1"]]), poly.truncate(1), poly.prune(3), poly.with_threshold(0.2))
    assert [each.card for each in changed] == [None] * 4
    assert poly.rebase().card is poly.card
    pieces = n2p.PiecewisePolynomial(Leaf(0), (replace(poly, card=None),), card=poly.card)
    assert pieces.with_threshold(0.2).card is None
    assert pieces.with_threshold(0.2).with_threshold(0.2).outputs.threshold == 0.2


def test_columns_that_are_declared_one_factor_and_are_none_are_refused():
    """Version 0.1 dropped their product and kept the card of the formula that had it."""
    rng = np.random.default_rng(0)
    X = (rng.random(size=(200, 2)) < 0.5).astype(float)
    network = n2p.Network([n2p.Layer([[2.0], [1.5]], [-1.0], "tanh"), n2p.Layer([[1.0]])])
    with pytest.raises(InvalidInputError, match="1 in the same row"):
        n2p.convert(network, 2, data=X, binary=[["x1", "x2"]])
