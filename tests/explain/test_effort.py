"""What version 0.1 worked on for minutes in silence is quick, or is refused with an estimate."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded
from nn2poly.errors import InvalidInputError, TooManyTermsError
from nn2poly.explain import derivatives as derivatives_module
from nn2poly.explain import effects, effort


def dense(p, order, seed=0, k=1):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count_terms(p, order), k))
    return n2p.Polynomial(values, order, [f"x{j}" for j in range(p)])


@pytest.mark.parametrize("explained", ["anova", "sobol"])
def test_order_40_is_decomposed_in_a_moment(explained):
    """Bits of the exponents numbered an array of 24 GB; pairs of terms would take 67 GB."""
    poly, X = dense(3, 40, k=2), np.random.default_rng(1).uniform(-1, 1, (4, 3))
    found = getattr(explain, explained)(poly, X)
    variance = found.variances.sum(axis=0) if explained == "anova" else found.variance
    everywhere = np.array(list(product(*X.T)))
    np.testing.assert_allclose(variance, poly.predict(everywhere).var(axis=0), rtol=1e-6)


def test_exponents_above_64_do_not_wrap():
    poly = n2p.Polynomial.from_terms(["a^35 b^35", "a^34 b^36"], [1.0, 3.0], ["a", "b"])
    (found,) = explain.gradients(poly, [[1.0, 1.0]])[:, :, 0]
    assert found.tolist() == [35 + 3 * 34, 35 + 3 * 36]


def test_all_slopes_go_through_the_terms_once(monkeypatch):
    """2,000 inputs at order 2 took minutes: all terms again for each of them."""
    poly, calls = dense(40, 2), []
    before = Graded.by_degree
    monkeypatch.setattr(Graded, "by_degree", lambda self: calls.append(self) or before(self))
    explain.monotonicity(poly, (0.0, 1.0))
    assert sum(terms.max_order == 2 for terms in calls) < 10


def test_all_slopes_are_those_of_the_single_features():
    poly = dense(4, 3, k=2)
    for j, slope in enumerate(derivatives_module.derivatives(poly)):
        alone = explain.derivative(poly, j)
        assert slope.term_names() == alone.term_names()
        np.testing.assert_array_equal(slope.coefficients, alone.coefficients)


def test_binary_features_take_no_terms_apart(monkeypatch):
    """2,000 of them took minutes: the terms were sorted anew for each."""
    monkeypatch.setattr(effects, "cofactors", lambda *_: pytest.fail("terms were sorted"))
    poly, X = dense(30, 2), np.random.default_rng(0).integers(0, 2, (20, 30)).astype(float)
    found = explain.marginal_effects(poly, X)
    on, off = X.copy(), X.copy()
    on[:, 7], off[:, 7] = 1.0, 0.0
    np.testing.assert_allclose(found.values[:, 7, 0], poly.predict(on) - poly.predict(off))
    assert set(found.kinds) == {"0 → 1"}


CALLS = {
    "gradients": lambda poly, X: explain.gradients(poly, X),
    "marginal_effects": lambda poly, X: explain.marginal_effects(poly, X),
    "monotonicity": lambda poly, X: explain.monotonicity(poly, (0.0, 1.0), splits=9),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_would_take_minutes_is_refused_with_an_estimate(name, monkeypatch):
    poly, X = dense(5, 2), np.random.default_rng(0).normal(size=(50, 5))
    CALLS[name](poly, X)
    monkeypatch.setattr(effort, "MOST_NUMBERS", 10)
    with pytest.raises(InvalidInputError, match="more than a minute") as caught:
        CALLS[name](poly, X)
    assert "or more" in caught.value.found
    assert "prune" in caught.value.remedy


def test_pairs_of_terms_that_memory_cannot_hold_are_refused(monkeypatch):
    module = sys.modules["nn2poly.explain.anova"]
    monkeypatch.setattr(module, "MAX_EXPANDED", 0)
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 10**5)
    poly = n2p.Polynomial.from_terms(
        [f"a^{j} b^{100 - j}" for j in range(1, 100)], [1.0] * 99, ["a", "b"]
    )
    with pytest.raises(TooManyTermsError, match="lower order"):
        explain.anova(poly, np.random.default_rng(1).uniform(-1, 1, (20, 2)))
