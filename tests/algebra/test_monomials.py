"""The monomial basis against tuples and dictionaries."""

from itertools import combinations_with_replacement, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra import monomials as m

SMALL = list(product(range(1, 8), range(7)))
# Pairs of degrees with at most 6 in sum; the first is at least 1.
PAIRS = [(x, y) for x in range(1, 6) for y in range(6) if x + y <= 6]


def tuples(n_variables, degree):
    return list(combinations_with_replacement(range(n_variables), degree))


def product_table(n_variables, x, y):
    """Rank all products of monomials by merging tuples and looking them up."""
    places = {term: i for i, term in enumerate(tuples(n_variables, x + y))}
    return np.array(
        [
            [places[tuple(sorted(a + b))] for b in tuples(n_variables, y)]
            for a in tuples(n_variables, x)
        ]
    )


@pytest.fixture
def uncached(monkeypatch):
    monkeypatch.setattr(m, "CACHED_TABLE_ENTRIES", 0)


@pytest.mark.parametrize(("p", "degree"), SMALL)
def test_monomials_come_in_the_order_of_itertools(p, degree):
    assert [tuple(row) for row in m.monomials(p, degree).tolist()] == tuples(p, degree)


@pytest.mark.parametrize(("p", "degree"), SMALL)
def test_ranks_count_the_monomials_in_their_order(p, degree):
    terms = tuples(p, degree)
    rows = np.array(terms, dtype=np.intp).reshape(len(terms), degree)
    np.testing.assert_array_equal(m.rank(rows, p), np.arange(len(rows)))


@pytest.mark.parametrize(("p", "degree"), SMALL)
def test_unrank_undoes_rank(p, degree):
    ranks = np.arange(m.count_degree(p, degree))
    np.testing.assert_array_equal(m.rank(m.unrank(ranks, p, degree), p), ranks)
    np.testing.assert_array_equal(m.unrank(ranks, p, degree), m.monomials(p, degree))


def test_ranks_keep_the_shape_of_what_is_ranked():
    grid = np.arange(20).reshape(4, 5)
    indices = m.unrank(grid, 4, 3)
    assert indices.shape == (4, 5, 3)
    np.testing.assert_array_equal(m.rank(indices, 4), grid)
    assert m.unrank(np.array(7), 4, 3).shape == (3,)


@pytest.mark.parametrize(("p", "degree"), SMALL)
def test_count_degree_counts_the_monomials(p, degree):
    assert m.count_degree(p, degree) == len(tuples(p, degree))


@pytest.mark.parametrize("p", range(8))
def test_count_terms_adds_up_the_degrees(p):
    for order in range(7):
        assert m.count_terms(p, order) == sum(m.count_degree(p, d) for d in range(order + 1))


@pytest.mark.parametrize(("order", "terms"), [(1, 55), (2, 1_540), (3, 29_260)])
def test_covertype_has_the_published_number_of_terms(order, terms):
    assert m.count_terms(54, order) == terms


def test_without_variables_there_is_only_the_constant():
    assert [m.count_degree(0, degree) for degree in range(4)] == [1, 0, 0, 0]


def test_counts_of_any_size_are_exact():
    assert m.count_degree(2000, 60) == comb(2059, 60)


@pytest.mark.parametrize(("p", "degree"), SMALL)
def test_starts_mark_the_first_monomial_without_smaller_variables(p, degree):
    terms = tuples(p, degree)
    first = [
        next((k for k, term in enumerate(terms) if min(term, default=p) >= i), len(terms))
        for i in range(p + 1)
    ]
    np.testing.assert_array_equal(m.starts(p, degree), first)


@pytest.mark.parametrize(("p", "degree"), [(p, d) for p, d in SMALL if d])
def test_first_and_rest_take_a_monomial_apart(p, degree):
    first, rest = m.first_and_rest(p, degree)
    shorter = tuples(p, degree - 1)
    assert [(f, *shorter[r]) for f, r in zip(first, rest, strict=True)] == tuples(p, degree)


def test_tables_that_are_kept_cannot_be_changed():
    for table in (m.starts(3, 2), *m.first_and_rest(3, 2), m.product_ranks(3, 1, 2)):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0


@pytest.mark.parametrize("p", range(1, 6))
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_product_ranks_are_those_of_merged_tuples(p, x, y):
    np.testing.assert_array_equal(m.product_ranks(p, x, y), product_table(p, x, y))


@pytest.mark.usefixtures("uncached")
@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_product_ranks_that_are_not_kept_are_the_same(p, x, y):
    np.testing.assert_array_equal(m.product_ranks(p, x, y), product_table(p, x, y))


@pytest.mark.usefixtures("uncached")
def test_tables_above_the_limit_do_not_enter_the_cache():
    m._tables.clear()
    m.product_ranks(4, 2, 2)
    assert not m._tables


@pytest.mark.parametrize("limit", [0, 60, 4_000_000])
@pytest.mark.parametrize("step", [1, 3, 7, 100])
@pytest.mark.parametrize(("x", "y"), [(1, 3), (2, 2), (3, 1), (3, 3)])
def test_product_slices_cover_the_whole_table_once(monkeypatch, limit, step, x, y):
    monkeypatch.setattr(m, "CACHED_TABLE_ENTRIES", limit)
    slices = list(m.product_slices(4, x, y, step))
    n_rows = m.count_degree(4, x)
    assert [begin for begin, _, _ in slices] == list(range(0, n_rows, step))
    assert [end for _, end, _ in slices] == [*range(step, n_rows, step), n_rows]
    np.testing.assert_array_equal(
        np.concatenate([table for _, _, table in slices]), product_table(4, x, y)
    )


@pytest.mark.slow
@given(p=st.integers(1, 5), x=st.integers(1, 3), y=st.integers(0, 3), data=st.data())
def test_any_slice_is_that_part_of_the_table(p, x, y, data):
    n_rows = m.count_degree(p, x)
    begin = data.draw(st.integers(0, n_rows - 1))
    end = data.draw(st.integers(begin + 1, n_rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(m, "CACHED_TABLE_ENTRIES", data.draw(st.sampled_from([0, 10**6])))
        found = m.product_ranks(p, x, y, begin, end)
    np.testing.assert_array_equal(found, product_table(p, x, y)[begin:end])


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_along_one_row_all_products_differ(x, y):
    for row in m.product_ranks(4, x, y):
        assert len(np.unique(row)) == len(row)


@pytest.mark.parametrize("degree", range(5))
def test_times_variables_takes_any_range_of_variables(degree):
    whole = product_table(5, 1, degree)
    np.testing.assert_array_equal(m.times_variables(5, degree), whole)
    np.testing.assert_array_equal(m.times_variables(5, degree, 1, 4), whole[1:4])


def test_the_last_monomials_of_784_pixels_are_found_without_listing_them(monkeypatch):
    monkeypatch.setattr(m, "first_and_rest", None)  # would list 80 million of them
    total = m.count_degree(784, 3)
    assert total == comb(786, 3)
    last = m.unrank(np.array([total - 4, total - 3, total - 2, total - 1]), 784, 3)
    assert last.tolist() == [[782, 782, 782], [782, 782, 783], [782, 783, 783], [783, 783, 783]]
    np.testing.assert_array_equal(m.rank(last, 784), total - np.array([4, 3, 2, 1]))


@given(st.lists(st.integers(0, 783), min_size=1, max_size=6).map(sorted))
def test_rank_and_unrank_agree_for_784_pixels(indices):
    place = m.rank(np.array(indices), 784)
    assert m.unrank(place, 784, len(indices)).tolist() == indices


@given(st.lists(st.integers(0, 99), min_size=4, max_size=4).map(sorted), st.integers(0, 99))
def test_ranks_are_ordered_as_tuples_are(indices, last):
    other = sorted([*indices[:3], last])
    ranks = m.rank(np.array([indices, other]), 100)
    assert np.sign(ranks[0] - ranks[1]) == (indices > other) - (indices < other)
