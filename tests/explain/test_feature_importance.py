"""What matters: deviations of terms and of features over the rows."""

from __future__ import annotations

import numpy as np

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
