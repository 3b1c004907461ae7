"""What the explanations are made of: moments, faces of terms, and weights of games."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError, TooManyTermsError
from nn2poly.explain import moments
from nn2poly.explain import subterms as faces_module
from nn2poly.explain.games import (
    bernoulli_numbers,
    face_weight,
    index_weight,
    moebius_weight,
    shapley_weight,
    subset_polynomials,
)
from nn2poly.explain.subterms import make_faces
from nn2poly.formula.terms import Terms


@pytest.fixture
def rng():
    return np.random.default_rng(3)


# --- moments ---------------------------------------------------------------------------------


def test_monomials_and_their_means_are_those_of_the_products(rng):
    z = rng.normal(size=(40, 3))
    terms = Terms(3, 4)
    expected = np.array([np.prod(z[:, list(term)], axis=1) for term in terms])
    np.testing.assert_allclose(moments.monomial_values(terms, z), expected, rtol=1e-14)
    np.testing.assert_allclose(moments.joint_moments(terms, z), expected.mean(axis=1), atol=1e-14)


def test_batches_do_not_change_the_moments(rng, monkeypatch):
    z = rng.normal(size=(101, 4))
    whole = moments.joint_moments(Terms(4, 3), z)
    monkeypatch.setattr(moments, "BATCH_BYTES", 1)
    assert len(list(moments.row_batches(101, 35))) == 7
    np.testing.assert_allclose(moments.joint_moments(Terms(4, 3), z), whole, atol=1e-14)


def test_patterns_cover_every_monomial_once_with_its_exponents():
    rows = np.array(list(Terms(4, 5))[-56:])
    seen = []
    for places, variables, exponents in moments.patterns(rows):
        for place, names in zip(places, variables, strict=True):
            assert np.repeat(names, exponents).tolist() == rows[place].tolist()
        seen += places.tolist()
    assert sorted(seen) == list(range(56))


def test_recentring_does_not_change_predictions_even_of_years(rng):
    X = rng.normal([2000.0, 5.0], [10.0, 1.0], (50, 2))
    poly = n2p.Polynomial(rng.normal(size=(10, 2)), 3, ["year", "b"])
    near = moments.recentred(poly, X)
    np.testing.assert_allclose(near.center, X.mean(axis=0))
    np.testing.assert_allclose(near.predict(X), poly.predict(X), rtol=1e-12)


def test_a_wide_sparse_polynomial_stays_in_its_coordinates_and_is_explained(rng):
    names = [f"f{i}" for i in range(600)]
    terms = [tuple(rng.choice(600, 3)) for _ in range(400)]
    poly = n2p.Polynomial.from_terms(terms, rng.normal(size=400), names)
    X = rng.normal(size=(5, 600))
    assert moments.recentred(poly, X) is poly
    found = n2p.explain.shapley(poly, X, rng.normal(size=(30, 600)))
    np.testing.assert_allclose(found.total[:, 0], poly.predict(X), atol=1e-9)


def test_what_is_not_a_polynomial_is_refused_with_the_remedy():
    with pytest.raises(InvalidInputError, match=r"nn2poly\.convert"):
        n2p.explain.shapley([[1.0]], [[1.0]], [[1.0]])


# --- faces -----------------------------------------------------------------------------------


def test_faces_leave_out_whole_variables_never_single_powers():
    poly = n2p.Polynomial.from_terms(["a^2 b c^3"], [1.0], ["a", "b", "c"])
    expected = {(), (0, 0), (1,), (2, 2, 2), (0, 0, 1), (0, 0, 2, 2, 2), (1, 2, 2, 2)}
    assert set(make_faces(poly).terms) == {*expected, (0, 0, 1, 2, 2, 2)}


def test_terms_with_zero_coefficients_have_no_faces():
    poly = n2p.Polynomial([[1.0], [0.0], [0.0], [0.0], [0.0], [2.0]], 2, ["a", "b"])
    assert list(make_faces(poly).terms) == [(), (1, 1)]


def test_opposite_faces_multiply_to_the_term(rng):
    poly = n2p.Polynomial(rng.normal(size=(35, 1)), 4, ["a", "b", "c"])
    faces = make_faces(poly)
    values = moments.monomial_values(faces.terms, rng.normal(size=(1, 3)))[:, 0]
    for group in faces.groups:
        for mask, places in enumerate(group.places):
            whole = values[places] * values[group.places[-1 - mask]]
            np.testing.assert_allclose(whole, values[group.places[-1]], rtol=1e-13)


def test_too_many_faces_are_refused_before_they_are_made(monkeypatch):
    poly = n2p.Polynomial(np.ones((1540, 7)), 2, [f"f{i}" for i in range(54)])
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 10_000)
    with pytest.raises(TooManyTermsError, match="split by subsets"):
        faces_module.make_faces(poly)


# --- weights ---------------------------------------------------------------------------------


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


def test_moebius_polynomials_add_up_to_the_polynomial(rng):
    poly = n2p.Polynomial(rng.normal(size=(70, 2)), 4, ["a", "b", "c", "d"])
    faces, z, b = make_faces(poly), rng.normal(size=(6, 4)), rng.normal(size=(9, 4))
    means = moments.joint_moments(faces.terms, b)
    games = subset_polynomials(faces, means, moebius_weight, 4)
    everything = [s for size in range(1, 5) for s in combinations(range(4), size)]
    assert list(games.subsets) == everything
    total = faces.mean(means) + games.evaluate(z).sum(axis=1)
    np.testing.assert_allclose(total, poly.predict(z), atol=1e-11)


def test_too_many_entries_are_refused_with_the_remedy(rng, monkeypatch):
    poly = n2p.Polynomial(rng.normal(size=(35, 1)), 4, ["a", "b", "c"])
    faces = make_faces(poly)
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 1000)
    with pytest.raises(TooManyTermsError, match="lower the order"):
        subset_polynomials(faces, np.ones(len(faces.terms)), moebius_weight, 2)


# --- tables of explanations, and what cannot be explained ------------------------------------


def every_table(poly, X):
    """List the methods that give a table of n rows."""
    shares, h = explain.sobol(poly, X), explain.friedman_h(poly, X)
    several = explain.ensemble([explain.shapley(poly, X, X)] * 2)
    return [
        explain.shapley(poly, X, X).table,
        explain.interactions(poly, X, X).table,
        shares.table,
        shares.subset_table,
        explain.anova(poly, X).table,
        h.table,
        h.overall_table,
        explain.marginal_effects(poly, X).table,
        explain.monotonicity(poly, (-1.0, 1.0)).table,
        explain.ensemble([poly, poly]).table,
        several.table,
    ]


@pytest.mark.parametrize("n", [0, -1, 2.5, "y1", True])
def test_no_table_takes_a_wrong_number_of_rows(n, rng):
    poly = n2p.Polynomial(rng.normal(size=(10, 1)), 2, ["a", "b", "c"])
    for table in every_table(poly, rng.normal(size=(15, 3))):
        with pytest.raises(InvalidInputError, match="n must be a positive integer"):
            table(n)


def test_every_table_takes_n_first_and_one_output_by_name(rng):
    poly = n2p.Polynomial(rng.normal(size=(10, 2)), 2, ["a", "b", "c"])
    X = rng.normal(size=(15, 3))
    for table in every_table(poly, X):
        assert 2 <= len(table(2, output="y2")) <= 3
        assert table(2, output=1).rows == table(2, output="y2").rows != table(2, output=0).rows
        with pytest.raises(TypeError):
            table(2, "y2")


def test_a_polynomial_in_factored_form_is_refused_with_the_remedy(make_network):
    network = make_network(0, (2, 3, 1))
    factored = n2p.polynomial_network(network, 2)
    X = np.zeros((3, 2))
    for call in (
        lambda: explain.bounds(factored, (0, 1)),
        lambda: explain.bounds(factored),
        lambda: explain.monotonicity(factored, (0, 1)),
        lambda: explain.gradients(factored, X),
        lambda: explain.derivative(factored, 0),
        lambda: explain.compare_local(network, factored, [0.0, 0.0]),
        lambda: explain.shapley(factored, X, X),
        lambda: explain.interactions(factored, X, X),
        lambda: explain.sobol(factored, X),
        lambda: explain.friedman_h(factored, X),
        lambda: explain.marginal_effects(factored, X),
        lambda: explain.partial_dependence(factored, X, 0),
        lambda: explain.ice(factored, X, 0),
    ):
        with pytest.raises(InvalidInputError, match=r"poly\.expand\(\)"):
            call()
