"""Powers with half of the products, those modulo a monomial, and those on rays."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra import blocks
from nn2poly.algebra import monomials as m
from nn2poly.algebra.blocks import BlockProduct
from nn2poly.algebra.divisors import divisor_powers, divisors
from nn2poly.algebra.rays import ray_powers


def assert_same_powers(found, expected):
    assert [len(parts) for parts in found] == [len(parts) for parts in expected]
    for some, others in zip(found, expected, strict=True):
        for one, other in zip(some, others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def random_graded(seed, p, degree, width):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(m.count_degree(p, d), width)) for d in range(degree + 1)]


@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 5),
    degree=st.integers(0, 5),
    highest=st.integers(1, 6),
    max_order=st.integers(1, 6),
    tile=st.sampled_from([1, 100, 2**20]),
    table=st.sampled_from([0, 100, 10**7]),
)
def test_marked_powers_are_the_powers(seed, p, degree, highest, max_order, tile, table):
    v = random_graded(seed, p, degree, 2)
    expected = BlockProduct(p).plain_powers(v, highest, max_order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MARKED_FROM", 0)
        patch.setattr(blocks, "TILE_BYTES", tile)
        patch.setattr(m, "CACHED_TABLE_ENTRIES", table)
        found = BlockProduct(p).powers(v, highest, max_order)
    assert_same_powers(found, expected)


@given(
    seed=st.integers(0, 2**32 - 1),
    exponents=st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple),
    degree=st.integers(0, 6),
    highest=st.integers(1, 7),
)
def test_powers_modulo_a_monomial_are_those_of_its_divisors(seed, exponents, degree, highest):
    p, order = len(exponents), sum(exponents)
    v = random_graded(seed, p, min(degree, order), 2)
    rows = []
    for d, part in enumerate(divisors(exponents)):
        places = {t: i for i, t in enumerate(combinations_with_replacement(range(p), d))}
        terms = [tuple(np.repeat(np.arange(p), row).tolist()) for row in part]
        rows.append([places[term] for term in terms])
    whole = BlockProduct(p).plain_powers(v, highest, order)
    expected = [
        [part[rows[power + k]] for k, part in enumerate(parts)]
        for power, parts in enumerate(whole, start=1)
    ]
    small = [part[rows[d]] for d, part in enumerate(v)]
    assert_same_powers(divisor_powers(small, highest, exponents), expected)


def test_products_modulo_a_monomial_may_be_cut_into_columns(monkeypatch):
    v = random_graded(1, 2, 4, 7)
    rows = [[0], [0, 1], [0, 1, 2], [1, 2], [2]]  # the divisors of x0² x1²
    small = [part[chosen] for part, chosen in zip(v, rows, strict=True)]
    expected = divisor_powers(small, 4, (2, 2))
    monkeypatch.setattr("nn2poly.algebra.divisors.CHUNK", 1)
    assert_same_powers(divisor_powers(small, 4, (2, 2)), expected)


@given(
    seed=st.integers(0, 2**32 - 1),
    degree=st.integers(0, 5),
    highest=st.integers(1, 6),
    max_order=st.integers(1, 6),
)
def test_powers_on_rays_are_the_powers(seed, degree, highest, max_order):
    rng = np.random.default_rng(seed)
    v = [rng.normal(size=(3, 2)) for _ in range(degree + 1)]
    found = ray_powers(v, highest, max_order)
    for row, unit in np.ndindex(3, 2):
        series = np.array([0.0, *(part[row, unit] for part in v[1 : max_order + 1])])
        for power, parts in enumerate(found, start=1):
            expected = np.polynomial.polynomial.polypow(series, power)[power : max_order + 1]
            np.testing.assert_allclose(
                [part[row, unit] for part in parts], expected[: len(parts)], atol=1e-12
            )
            np.testing.assert_array_equal(expected[len(parts) :], 0.0)
    short = ray_powers([part.astype(np.float32) for part in v], highest, max_order)
    assert {part.dtype for parts in short for part in parts} <= {np.dtype(np.float32)}


def test_the_cache_of_tables_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr(m, "CACHED_TABLE_ENTRIES", 40)
    m._tables.clear()
    for p in (2, 3, 4, 5):
        m.product_ranks(p, 1, 1)
    assert sum(table.size for table in m._tables.values()) <= 40
    assert (5, 1, 1) in m._tables
    assert (2, 1, 1) not in m._tables
