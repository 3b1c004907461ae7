"""What matters: deviations of terms and of features over the rows."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.explain.spread import Spread
from nn2poly.formula import deviations
from nn2poly.formula.deviations import term_deviations


def test_deviations_are_those_of_the_contributions(monkeypatch):
    rng = np.random.default_rng(0)
    options = {"center": [1.0, -2.0, 5.0], "scale": [2.0, 0.5, 1.0]}
    poly = n2p.Polynomial(rng.normal(size=(20, 2)), 3, ["a", "b", "c"], **options)
    X = rng.normal(size=(101, 3))
    expected = poly.contributions(X).std(axis=0)
    np.testing.assert_allclose(term_deviations(poly, X), expected, rtol=1e-12, atol=1e-15)
    monkeypatch.setattr(deviations, "NUMBERS", 1)
    np.testing.assert_allclose(term_deviations(poly, X), expected, rtol=1e-12, atol=1e-15)


def test_a_variance_survives_a_large_mean():
    values = np.random.default_rng(1).normal(1e8, 1.0, (100, 3))
    spread = Spread()
    for part in np.array_split(values, 7):
        spread.add(part)
    np.testing.assert_allclose(spread.variance(), values.var(axis=0), rtol=1e-7)


@pytest.fixture(scope="module")
def rare():
    """Make a network of a number and of a yes/no that is yes in 1 % of the rows.

    The slope of the number, per standard deviation, is half of what the yes adds, and it makes
    nearly all of the variance.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(50.0, 10.0, 2000), rng.random(2000) < 0.01])
    hidden = n2p.Layer([[0.02, 0.0], [0.0, 0.5]], [-1.0, 0.0], "tanh")
    net = n2p.Network([hidden, n2p.Layer([[5.0], [4.0]])], feature_names=["age", "rare"])
    return net, n2p.convert(net, 2, data=X), X


def first_of(table):
    return next(name for name in (str(row[0]) for row in table) if name != "1")


def test_what_is_rare_does_not_outrank_what_makes_the_variance(rare):
    """By its coefficient the indicator was first, whatever made 91 % of the variance."""
    net, poly, X = rare
    assert abs(poly.coefficient("rare")) > abs(poly.coefficient("age"))
    assert poly.truncate(1).raw_outputs(X).var() > 0.9 * net.predict(X).var()
    raw = poly.rebase()
    both = n2p.explain.ensemble([poly, poly])
    shares = n2p.explain.sobol(poly, X)
    for table in (poly.top(3), raw.top(3), both.table(3), both.mean.top(3), shares.table(),
                  n2p.explain.importance(poly, X), n2p.explain.shapley(poly, X, X).table(),
                  n2p.explain.interactions(poly, X, X).table()):  # fmt: skip
        assert first_of(table) == "age"
    for formula in (poly, raw, both.mean):
        text = repr(formula)
        assert text.index(" age") < text.index(" rare")


def test_what_a_term_matters_does_not_depend_on_units(rare):
    _, poly, X = rare
    moved = poly.rebase(poly.center, [0.001, 1.0])
    np.testing.assert_array_equal(moved.deviations, poly.deviations)
    np.testing.assert_allclose(term_deviations(moved, X), term_deviations(poly, X), rtol=1e-9)


def test_the_mean_of_an_ensemble_moves_by_its_own_coefficients(rare):
    net, poly, X = rare
    twice = n2p.Network(
        [*net.layers[:-1], n2p.Layer([[10.0], [8.0]])], feature_names=["age", "rare"]
    )
    other = n2p.convert(twice, 2, data=X)
    mean = n2p.explain.ensemble([poly, other]).mean
    kept = mean.deviations[1:].max()
    assert kept == pytest.approx(term_deviations(mean, X).max(), rel=0.05)
    assert kept > 1.4 * poly.deviations.max()
