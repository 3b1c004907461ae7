"""Evaluation gives the brute-force values and never the (rows × terms) matrix."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.monomials import count_terms, monomials
from nn2poly.algebra.terms import Graded, Listed, offsets
from nn2poly.errors import OutsideRangeWarning
from nn2poly.formula import evaluate
from nn2poly.formula.evaluate import evaluate_blocks, evaluate_terms, next_features, term_values
from nn2poly.formula.polynomial import Polynomial

shapes = st.tuples(st.integers(1, 6), st.integers(0, 5), st.integers(1, 4), st.integers(1, 40))


def brute_force(terms, coefficients, z):
    """Multiply out every term with Python's own loop over its variables."""
    columns = [np.prod([z[:, i] for i in term], axis=0) * np.ones(len(z)) for term in terms]
    return np.column_stack(columns) @ coefficients


def blocks_of(coefficients, p, order):
    return [coefficients[a:b] for a, b in pairwise(offsets(p, order))]


def peak_megabytes(call):
    call()  # what is cached between calls is not the subject
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


@given(shapes, st.integers(0, 2**32 - 1))
def test_blocks_evaluate_to_the_brute_force_sum(shape, seed):
    p, order, k, n = shape
    rng = np.random.default_rng(seed)
    coefficients, z = rng.normal(size=(count_terms(p, order), k)), rng.normal(size=(n, p))
    expected = brute_force(Graded(p, order), coefficients, z)
    found = evaluate_blocks(blocks_of(coefficients, p, order), z)
    scale = brute_force(Graded(p, order), np.abs(coefficients), np.abs(z)).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * scale)


@given(shapes, st.integers(0, 2**32 - 1))
def test_sparse_terms_evaluate_to_the_brute_force_sum(shape, seed):
    p, order, k, n = shape
    rng = np.random.default_rng(seed)
    total = count_terms(p, order)
    kept = np.sort(rng.choice(total, size=rng.integers(1, total + 1), replace=False))
    terms = Graded(p, order).at(kept)
    coefficients, z = rng.normal(size=(len(kept), k)), rng.normal(size=(n, p))
    scale = brute_force(terms, np.abs(coefficients), np.abs(z)).max()
    np.testing.assert_allclose(
        evaluate_terms(terms, coefficients, z),
        brute_force(terms, coefficients, z),
        rtol=0,
        atol=1e-13 * scale,
    )


def test_term_values_are_the_products_of_their_variables():
    z = np.array([[2.0, 3.0], [-1.0, 0.5]])
    assert term_values(Graded(2, 2), z).tolist() == [
        [1.0, 2.0, 3.0, 4.0, 6.0, 9.0],
        [1.0, -1.0, 0.5, 1.0, -0.5, 0.25],
    ]


@pytest.mark.parametrize(("p", "degree"), [(1, 1), (1, 4), (4, 1), (4, 3), (9, 2)])
def test_next_features_are_all_monomials_of_the_degree(p, degree):
    x = np.random.default_rng(p).normal(size=(p, 5))
    features = np.ones((1, 5))
    for d in range(1, degree + 1):
        features = next_features(features, x, d)
    expected = np.array([np.prod(x[row], axis=0) for row in monomials(p, degree)])
    np.testing.assert_allclose(features, expected, rtol=1e-14)


@pytest.mark.parametrize("tile", [1, 2, 7, 1000])
@pytest.mark.parametrize("kept", [0, 2**30])
@pytest.mark.parametrize("p", [1, 2, 9])
def test_the_tiles_leave_no_term_out(monkeypatch, p, tile, kept):
    monkeypatch.setattr(evaluate, "TILE", tile)
    monkeypatch.setattr(evaluate, "KEPT_BYTES", kept)
    rng = np.random.default_rng(p)
    coefficients, z = rng.normal(size=(count_terms(p, 3), 2)), rng.normal(size=(6, p))
    found = evaluate_blocks(blocks_of(coefficients, p, 3), z)
    np.testing.assert_allclose(
        found, brute_force(Graded(p, 3), coefficients, z), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("n", [4095, 4096, 4097, 8193])
def test_batches_meet_without_a_gap(n):
    rng = np.random.default_rng(n)
    coefficients, z = rng.normal(size=(count_terms(2, 2), 1)), rng.normal(size=(n, 2))
    expected = brute_force(Graded(2, 2), coefficients, z)
    np.testing.assert_allclose(
        evaluate_blocks(blocks_of(coefficients, 2, 2), z), expected, rtol=1e-12, atol=1e-12
    )
    kept = np.array([0, 2, 4])
    sparse = evaluate_terms(Graded(2, 2).at(kept), coefficients[kept], z)
    expected = brute_force(Graded(2, 2).at(kept), coefficients[kept], z)
    np.testing.assert_allclose(sparse, expected, rtol=1e-12, atol=1e-12)


def test_predicting_never_allocates_rows_times_terms():
    p, order, n = 30, 3, 20_000
    rng = np.random.default_rng(0)
    poly = Polynomial(
        rng.normal(size=(count_terms(p, order), 2)), order, [f"v{i}" for i in range(p)]
    )
    X = rng.normal(size=(n, p))
    assert 8 * n * poly.n_terms > 800e6
    assert peak_megabytes(lambda: poly.predict(X)) < 60


def test_predicting_with_a_pruned_polynomial_never_allocates_rows_times_terms():
    p, order, n = 30, 3, 20_000
    rng = np.random.default_rng(1)
    poly = Polynomial(
        rng.normal(size=(count_terms(p, order), 1)), order, [f"v{i}" for i in range(p)]
    )
    pruned, X = poly.prune(2_000), rng.normal(size=(n, p))
    assert 8 * n * pruned.n_terms > 300e6
    assert peak_megabytes(lambda: pruned.predict(X)) < 60


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_terms_of_any_order_in_many_features_evaluate_to_the_brute_force_sum(seed, k):
    rng = np.random.default_rng(seed)
    chosen = [tuple(np.sort(rng.integers(0, 500, size=d)).tolist()) for d in (0, 1, 3, 10, 10)]
    terms = Listed.of(chosen, 500)
    coefficients, z = rng.normal(size=(len(terms), k)), rng.normal(size=(7, 500))
    scale = brute_force(terms, np.abs(coefficients), np.abs(z)).max()
    found = evaluate_terms(terms, coefficients, z)
    np.testing.assert_allclose(
        found, brute_force(terms, coefficients, z), rtol=0, atol=1e-13 * scale
    )


@pytest.mark.parametrize("max_order", [0, 3])
def test_no_terms_evaluate_to_zero(max_order):
    terms = Listed.of([], 4, max_order)
    found = evaluate_terms(terms, np.zeros((0, 2)), np.ones((3, 4)))
    np.testing.assert_array_equal(found, np.zeros((3, 2)))
    assert term_values(terms, np.ones((3, 4))).shape == (3, 0)


def test_a_coefficient_of_zero_is_zero_also_where_the_power_overflows():
    """Version 0.1 gave NaN: 0 times an infinite power."""
    dense = Polynomial([[1.0], [2.0], [0.0], [0.0]], 3, ["a"])
    assert dense.predict([[1e200]]).tolist() == [2e200]
    sparse = Polynomial.from_terms(["a", "b b b", "a a a b"], [2.0, 0.0, 1.0], ["a", "b"])
    assert sparse.predict([[1e200, 0.0], [1.0, 1e200]]).tolist() == [2e200, 1e200]
    square = Polynomial([[0.0], [0.0], [1.0]], 2, ["a"])
    with pytest.warns(OutsideRangeWarning, match="no finite prediction"):
        assert square.predict([[1e200]]).tolist() == [np.inf]
