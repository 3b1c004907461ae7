"""Weights of cooperative games, and the sums for every subset of players."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.errors import TooManyTermsError
from nn2poly.explain.games import (
    bernoulli_numbers,
    face_weight,
    index_weight,
    moebius_weight,
    shapley_weight,
    subset_sums,
)
from nn2poly.explain.rewriting import centred, moments
from nn2poly.explain.separating import separable


def test_bernoulli_numbers_are_the_known_ones():
    known = [1, Fraction(-1, 2), Fraction(1, 6), 0, Fraction(-1, 30), 0, Fraction(1, 42)]
    assert bernoulli_numbers(6) == known


@given(k=st.integers(1, 8), b=st.integers(0, 8))
def test_shapley_weights_of_a_face_are_those_of_marginal_contributions(k, b):
    """A coalition of b of k players counts (b-1)!(k-b)!/k! for a member, -b!(k-b-1)!/k! else."""
    b = min(b, k)
    if b:
        member = Fraction(factorial(b - 1) * factorial(k - b), factorial(k))
        assert face_weight(shapley_weight, 1, b, b, k) == member
    if b < k:
        stranger = -Fraction(factorial(b) * factorial(k - b - 1), factorial(k))
        assert face_weight(shapley_weight, 1, b, b + 1, k) == stranger


@given(order=st.integers(1, 8), t=st.integers(1, 10), index=st.sampled_from(["k-SII", "STII"]))
def test_efficient_indices_give_every_coefficient_away_exactly(order, t, index):
    weight = index_weight(index, order)
    assert sum(comb(t, s) * weight(s, t) for s in range(1, min(order, t) + 1)) == 1


@given(order=st.integers(1, 8))
def test_order_one_of_every_index_is_the_shapley_value(order):
    for index in ("k-SII", "STII", "SII"):
        assert index_weight(index, 1)(1, order) == Fraction(1, order)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_moebius_sums_add_up_to_the_formula(rng):
    poly = n2p.Polynomial(rng.normal(size=(70, 2)), 4, ["a", "b", "c", "d"])
    x, b = rng.normal(size=(6, 4)), rng.normal(size=(9, 4))
    form = centred(separable(poly), b)
    means = moments(form, b)
    games = subset_sums(form, means, moebius_weight, 4)
    everything = [s for size in range(1, 5) for s in combinations(range(4), size)]
    assert list(games.subsets) == everything
    total = means @ form.coefficients + games.evaluate(x).sum(axis=1)
    np.testing.assert_allclose(total, poly.predict(x), atol=1e-11)


def test_too_many_entries_are_refused_with_the_remedy(rng, monkeypatch):
    poly = n2p.Polynomial(rng.normal(size=(35, 1)), 4, ["a", "b", "c"])
    form = centred(separable(poly), rng.normal(size=(5, 3)))
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 1000)
    with pytest.raises(TooManyTermsError, match="lower the order"):
        subset_sums(form, np.ones(len(form.terms)), moebius_weight, 2)
