"""Products of factors: listed once, averaged, weighed, in batches or not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from nn2poly.explain import factor_products as products
from nn2poly.explain.factor_products import Products, collected, merged, row_batches, row_codes


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def all_products(n_factors, size):
    """List all products of up to so many different factors."""
    every = (list(combinations(range(n_factors), k)) for k in range(size + 1))
    return Products(tuple(np.array(rows, dtype=np.intp) for rows in every), n_factors)


def some_products(rng, n_factors, size):
    """List few of the products of up to so many different factors."""
    every = all_products(n_factors, size)
    kept = [rows[np.sort(rng.choice(len(rows), 1 + len(rows) // 50, False))] for _, rows in every]
    return Products(tuple(kept), n_factors)


@pytest.mark.parametrize("dense", [True, False])
def test_means_and_weighted_sums_are_those_of_the_products(rng, dense, monkeypatch):
    listed = all_products(9, 4) if dense else some_products(rng, 25, 3)
    factors = rng.normal(size=(listed.n_factors, 101))
    coefficients = rng.normal(size=(len(listed), 2))
    expected = np.array([factors[row].prod(axis=0) for _, rows in listed for row in rows])
    values = listed.values(factors)
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    for size in (products.BATCH_BYTES, 1):
        monkeypatch.setattr(products, "BATCH_BYTES", size)
        assert (len(list(row_batches(101, 35))) > 1) == (size == 1)
        means = listed.mean(lambda here: factors[:, here], 101)
        np.testing.assert_allclose(means, expected.mean(axis=1), atol=1e-14)
        sums = listed.weigh(coefficients, lambda here: factors[:, here], 101)
        np.testing.assert_allclose(sums, expected.T @ coefficients, atol=1e-11)


def test_codes_compare_as_rows_do_even_where_they_would_not_fit_in_64_bits(rng):
    rows = rng.integers(0, 2000, (300, 9))
    rows[100:200] = rows[:100]
    order = np.argsort(row_codes(rows, 2000), kind="stable")
    assert rows[order].tolist() == sorted(rows.tolist())
    _, places = np.unique(row_codes(rows, 2000), return_inverse=True)
    assert (places[100:200] == places[:100]).all()


def test_products_that_come_twice_are_listed_once_and_found(rng):
    parts = [rng.permuted(np.sort(rng.choice(500, (40, k))), axis=0) for k in (0, 1, 4, 4)]
    parts = [np.sort(part, axis=1) for part in parts]
    values = [rng.normal(size=(40, 2)) for _ in parts]
    listed, sums = merged([*parts, parts[-1]], [*values, values[-1]], 500)
    every = [tuple(row) for _, rows in listed for row in rows.tolist()]
    assert len(set(every)) == len(every) == len(listed)
    for part, value in zip(parts[-2:], values[-2:], strict=True):
        times = 2 if part is parts[-1] else 1
        assert [every[place] for place in listed.find(part)] == list(map(tuple, part.tolist()))
        if len(set(map(tuple, part.tolist()))) == 40:
            np.testing.assert_allclose(sums[listed.find(part)], times * value)


def test_sums_add_up_entries_that_fall_together(rng):
    listed = all_products(4, 2)
    which, places = np.array([2, 0, 2, 0]), np.array([3, 5, 3, 1])
    sums = collected(listed, which, places, np.array([[1.0], [2.0], [3.0], [4.0]]), 3)
    assert sums.ends.tolist() == [0, 2, 2, 3]
    factors = rng.normal(size=(4, 5))
    values = listed.values(factors)
    ((_, found),) = sums.batches(lambda here: factors[:, here], 5)
    expected = np.stack([4 * values[1] + 2 * values[5], np.zeros(5), 4 * values[3]])
    np.testing.assert_allclose(found[:, :, 0], expected.T)
