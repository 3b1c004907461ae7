"""Functional ANOVA: pure effects that add up to the polynomial."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.errors import OutsideRangeWarning, TooManyTermsError, UnknownTermError
from nn2poly.explain import anova


def random_polynomial(seed, p, order, n_outputs=1, **options):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(Graded(p, order)), n_outputs))
    return n2p.Polynomial(values, order, [f"x{i + 1}" for i in range(p)], **options)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 4), order=st.integers(1, 5))
def test_mean_and_effects_add_up_to_the_prediction(seed, p, order):
    rng = np.random.default_rng(seed)
    poly = random_polynomial(seed, p, order, 2, center=rng.normal(size=p))
    X, new = rng.normal(size=(6, p)), rng.normal(size=(4, p))
    found = anova(poly, X)
    total = found.mean + found.evaluate(new).sum(axis=1)
    scale = max(1.0, np.abs(poly.predict(new)).max())
    np.testing.assert_allclose(total, poly.predict(new), atol=1e-10 * scale)


def test_every_effect_averages_to_zero_over_each_of_its_features():
    rng = np.random.default_rng(1)
    poly, X = random_polynomial(1, 3, 4, 2), rng.normal(size=(8, 3))
    found = anova(poly, X)
    for subset in found.subsets:
        effect = found.component(subset)
        for i in subset:
            rows = np.tile(rng.normal(size=3), (8, 1))
            rows[:, i] = X[:, i]
            np.testing.assert_allclose(effect.predict(rows).mean(axis=0), 0, atol=1e-10)


def test_components_are_polynomials_of_their_features_alone():
    poly, rng = random_polynomial(2, 3, 4, 7), np.random.default_rng(2)
    X, new = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    found = anova(poly, X)
    values = found.evaluate(new)
    for j, subset in enumerate(found.subsets):
        effect = found.component(tuple(found.poly.feature_names[i] for i in subset))
        assert {i for term in effect.terms for i in term} == set(subset)
        np.testing.assert_allclose(effect.predict(new), values[:, j], atol=1e-10)


def test_a_product_of_centred_features_is_pure_interaction():
    poly = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    found = anova(poly, [[-1.0, 2.0], [1.0, -2.0]])
    assert found.mean == pytest.approx(0)
    np.testing.assert_allclose(found.variances[:, 0], [0, 0, 4], atol=1e-15)


def test_a_pruned_polynomial_of_54_features_is_split():
    poly = random_polynomial(3, 54, 3).prune(200)
    X = np.random.default_rng(3).uniform(-1, 1, (50, 54))
    found = anova(poly, X)
    total = found.mean + found.evaluate(X).sum(axis=1)
    np.testing.assert_allclose(total[:, 0], poly.predict(X), atol=1e-10)
    assert found.table(5).note.startswith("the largest 5 of")


def test_a_subset_that_shares_no_term_is_refused():
    found = anova(n2p.Polynomial.from_terms(["a", "b"], [1.0, 1.0], ["a", "b"]), [[1, 2], [2, 3]])
    for subset in ("a b", ()):
        with pytest.raises(UnknownTermError, match="effects that are not listed are zero"):
            found.component(subset)


def test_evaluating_too_many_rows_is_refused(monkeypatch):
    found = anova(random_polynomial(0, 2, 2), [[1.0, 2.0], [3.0, 4.0]])
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 1000)
    with pytest.raises(TooManyTermsError, match="fewer rows"):
        found.evaluate(np.zeros((100, 2)))


def test_a_constant_polynomial_is_its_mean():
    found = anova(n2p.Polynomial([[4.0, 5.0]], 0, ["a"]), [[1.0], [2.0]])
    assert found.subsets == ()
    assert found.mean.tolist() == [4.0, 5.0]
    assert found.evaluate([[3.0]]).shape == (1, 0, 2)


def test_effects_outside_the_calibrated_range_warn_once():
    poly = random_polynomial(0, 2, 2, low=[-1.0, -1.0], high=[1.0, 1.0])
    found = anova(poly, [[0.0, 0.5], [0.5, 0.0]])
    for ask in (found.evaluate, found.component("x1").predict):
        with pytest.warns(OutsideRangeWarning) as caught:
            ask([[0.0, 3.0]])
        assert len(caught) == 1
