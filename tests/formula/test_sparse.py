"""Choosing, merging and moving the terms of sparse polynomials."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.coordinates import substitute
from nn2poly.algebra.monomials import count_terms
from nn2poly.errors import TooManyTermsError
from nn2poly.formula.sparse import largest, substitute_terms, sum_duplicates
from nn2poly.formula.terms import Terms, offsets
from nn2poly.memory import available_bytes


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 70))
def test_largest_is_the_head_of_a_stable_sort(values, n):
    size = np.array(values, dtype=float)
    expected = sorted(range(len(values)), key=lambda i: -values[i])[:n]
    assert largest(size, n).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_largest_of_many_ties_are_the_first_of_them(seed):
    """Partial sorting picks any of the ties; the first ones must come out."""
    values = np.random.default_rng(seed).integers(0, 3, size=500).tolist()
    for n in (1, 10, 100):
        expected = sorted(range(500), key=lambda i: -values[i])[:n]
        assert largest(np.array(values, dtype=float), n).tolist() == expected


def test_largest_keeps_an_infinite_entry_first():
    size = np.arange(100.0)
    size[3] = np.inf
    assert largest(size, 3).tolist() == [3, 99, 98]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-9, 9)), max_size=30))
def test_duplicates_are_added_up_and_positions_sorted(pairs):
    expected = {}
    for position, value in pairs:
        expected[position] = expected.get(position, 0) + value
    values = np.array([v for _, v in pairs], dtype=float).reshape(-1, 1)
    positions, rows = sum_duplicates([i for i, _ in pairs], values)
    assert positions.tolist() == sorted(expected)
    assert rows[:, 0].tolist() == [expected[i] for i in sorted(expected)]


@st.composite
def sparse_polynomials(draw):
    p, order = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    total = count_terms(p, order)
    kept = np.sort(rng.choice(total, size=rng.integers(1, min(total, 9) + 1), replace=False))
    coefficients = rng.normal(size=(len(kept), 2))
    # Some variables stay where they are.
    shift = rng.normal(size=p) * rng.integers(0, 2, size=p)
    return Terms(p, order, kept), coefficients, rng.uniform(0.3, 3.0, size=p), shift


@given(sparse_polynomials())
def test_a_sparse_change_of_coordinates_is_the_dense_one_without_its_zeros(case):
    terms, coefficients, factor, shift = case
    begin = offsets(terms.n_features, terms.max_order)
    dense = np.zeros((begin[-1], 2))
    dense[terms.positions] = coefficients
    expected = np.concatenate(substitute([dense[a:b] for a, b in pairwise(begin)], factor, shift))
    positions, values = substitute_terms(terms, coefficients, factor, shift)
    assert np.all(np.diff(positions) > 0)
    np.testing.assert_allclose(values, expected[positions], rtol=1e-12, atol=1e-12)
    left_out = np.setdiff1d(np.arange(begin[-1]), positions)
    np.testing.assert_array_equal(expected[left_out], 0.0)


@given(sparse_polynomials())
def test_without_a_shift_the_terms_stay_the_same(case):
    terms, coefficients, factor, shift = case
    positions, values = substitute_terms(terms, coefficients, factor, np.zeros_like(shift))
    assert positions.tolist() == terms.positions.tolist()
    expected = [c * np.prod(factor[list(t)]) for t, c in zip(terms, coefficients, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-13)


def test_a_shift_makes_the_divisors_of_the_terms_and_no_others():
    terms = Terms(4, 3, np.array([Terms(4, 3).index((1, 1, 3))]))
    positions, values = substitute_terms(terms, np.ones((1, 1)), np.ones(4), np.full(4, 2.0))
    found = dict(zip(Terms(4, 3, positions), values[:, 0].tolist(), strict=True))
    # (z1 + 2)² (z3 + 2)
    assert found == {
        (): 8.0,
        (1,): 8.0,
        (3,): 4.0,
        (1, 1): 2.0,
        (1, 3): 4.0,
        (1, 1, 3): 1.0,
    }


def test_a_change_of_coordinates_that_does_not_fit_is_refused_in_one_sentence():
    """Order 12 in 60 variables: C(72, 12), that is 15 million million terms."""
    p, order = 60, 12
    assert 24 * count_terms(p, order) > 10 * available_bytes()
    linear = Terms(p, order, np.arange(p + 1))
    with pytest.raises(TooManyTermsError) as caught:
        substitute_terms(linear, np.ones((p + 1, 1)), np.ones(p), np.ones(p))
    assert caught.value.n_terms == count_terms(p, order)
    assert re.match(r"[^.]* 60 variables at order 12 has [\d.,e+]+ terms", caught.value.what)
    assert "rebase before pruning" in caught.value.remedy


def test_an_intercept_alone_moves_whatever_the_size_of_its_basis():
    terms = Terms(60, 12, np.array([0]))
    positions, values = substitute_terms(terms, np.ones((1, 1)), np.ones(60), np.ones(60))
    assert (positions.tolist(), values.tolist()) == ([0], [[1.0]])
