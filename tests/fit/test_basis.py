"""Orthonormal polynomials of columns, and the way to plain powers and back."""

from __future__ import annotations

import numpy as np
import pytest

from nn2poly.algebra.terms import Graded
from nn2poly.fit.basis import design, orthonormal_basis
from nn2poly.formula.evaluate import term_values


@pytest.fixture
def z():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=500), rng.integers(0, 3, 500), rng.exponential(size=500)]
    return np.column_stack([*columns, np.ones(500)])


def test_a_column_carries_one_degree_less_than_it_has_values(z):
    assert orthonormal_basis(z, np.ones(500), 4).degrees.tolist() == [4, 2, 4, 0]


def test_the_polynomials_of_a_column_are_orthonormal_over_the_weighted_rows(z):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 500)
    basis = orthonormal_basis(z, weights, 4)
    values = basis.values(z)
    for j, degree in enumerate(basis.degrees.tolist()):
        own = values[j, : degree + 1]
        np.testing.assert_allclose(
            (own * weights / weights.sum()) @ own.T, np.eye(degree + 1), atol=1e-10
        )


def test_powers_become_products_and_come_back(z):
    basis = orthonormal_basis(z, np.ones(500), 4)
    terms = Graded(4, 4)
    coefficients = np.random.default_rng(2).normal(size=(len(terms), 2))
    expected = term_values(terms, z) @ coefficients
    products, values = basis.products(terms, coefficients)
    np.testing.assert_allclose(design(products, basis.values(z)) @ values, expected, rtol=1e-9)
    again, powers = basis.powers(products, values)
    np.testing.assert_allclose(term_values(again, z) @ powers, expected, rtol=1e-9)
    assert len(again) == len(basis.carried(terms))
