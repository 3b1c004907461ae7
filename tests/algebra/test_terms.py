"""Both kinds of terms behave like the list of tuples that they stand for."""

from __future__ import annotations

import re
import time
import tracemalloc
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.substitution import patterns, substitute, substitute_listed
from nn2poly.algebra.terms import Graded, Listed, collect, is_nearly_full, offsets
from nn2poly.errors import TooManyTermsError


def written_out(p, order):
    """List the graded lexicographic basis the slow way."""
    return [t for d in range(order + 1) for t in combinations_with_replacement(range(p), d)]


def in_order(terms):
    return sorted(set(terms), key=lambda term: (len(term), term))


def indices(p, max_order=6):
    """Draw one term."""
    return st.lists(st.integers(0, p - 1), max_size=max_order).map(sorted).map(tuple)


@st.composite
def sets_of_terms(draw):
    """Draw terms of either kind, with the list that they must equal."""
    if draw(st.booleans()):
        p, order = draw(st.integers(1, 5)), draw(st.integers(0, 4))
        return Graded(p, order), written_out(p, order)
    p = draw(st.sampled_from([1, 2, 5, 500, 10**9]))
    chosen = draw(st.lists(indices(p), max_size=12))
    return Listed.of(chosen, p), in_order(chosen)


# --- a sequence like the list ---------------------------------------------------------------


@given(sets_of_terms())
def test_length_items_and_iteration_are_those_of_the_list(case):
    terms, expected = case
    assert len(terms) == len(expected)
    assert list(terms) == expected
    assert list(reversed(terms)) == expected[::-1]
    assert [terms[i] for i in range(-len(expected), len(expected))] == expected * 2
    for outside in (len(expected), -len(expected) - 1):
        with pytest.raises(IndexError):
            terms[outside]


@given(sets_of_terms(), st.slices(30))
def test_slices_are_lists(case, part):
    terms, expected = case
    assert terms[part] == expected[part]


@given(sets_of_terms(), st.lists(indices(6, 5), max_size=20))
def test_every_term_is_found_at_its_place_and_absent_ones_are_not(case, others):
    terms, expected = case
    for place, term in enumerate(expected):
        assert terms.index(term) == place
        assert term in terms
        assert terms.count(term) == 1
    for term in set(others) - set(expected):
        assert term not in terms
        with pytest.raises(ValueError, match="not among the terms"):
            terms.index(term)


@pytest.mark.parametrize("terms", [Graded(2, 2), Listed.of(written_out(2, 2), 2)], ids=repr)
@pytest.mark.parametrize(
    "stranger", [(0.5,), "1", "x", 0, None, [(0, 1)], (1, 0), ("0",), (None,), (-1,), (2,), 1.5]
)
def test_what_the_list_does_not_hold_the_terms_do_not_hold_either(terms, stranger):
    assert stranger not in written_out(2, 2)
    assert stranger not in terms
    with pytest.raises(ValueError, match="not among the terms"):
        terms.index(stranger)


@pytest.mark.parametrize("terms", [Graded(3, 2), Listed.of(written_out(3, 2), 3)], ids=repr)
def test_indices_may_be_numpy_integers(terms):
    assert terms.index((np.int64(0), np.int32(2))) == written_out(3, 2).index((0, 2))


@pytest.mark.parametrize("terms", [Graded(2, 2), Listed.of(written_out(2, 2), 2)], ids=repr)
def test_index_searches_from_start_to_stop_like_any_sequence(terms):
    expected = written_out(2, 2)
    assert terms.index((0,), 1) == expected.index((0,), 1)
    assert terms.index((0,), -5, 2) == expected.index((0,), -5, 2)
    for window in [(2,), (0, 1), (-2,)]:
        with pytest.raises(ValueError, match=r"\(0,\)"):
            expected.index((0,), *window)
        with pytest.raises(ValueError, match=r"\(0,\)"):
            terms.index((0,), *window)


@given(sets_of_terms(), sets_of_terms())
def test_terms_are_equal_exactly_when_their_lists_are(one, other):
    assert one[0] == one[1]
    assert one[1] == one[0]
    assert (one[0] == other[0]) == (one[1] == other[1])
    assert (one[0] != other[1]) == (one[1] != other[1])


def test_terms_equal_no_string_and_no_number():
    assert Graded(1, 0) != "("
    assert Graded(1, 0) != 1
    assert Graded(1, 1) != [(), (0,), (0, 0)]


def test_equal_terms_of_any_kind_have_equal_hashes():
    few = written_out(2, 1)
    equal = [Graded(2, 1), Listed.of(few, 2), Listed.of(few, 2, 3), Listed.of(few, 500)]
    assert all(one == other for one in equal for other in equal)
    assert len(set(equal)) == 1


@pytest.mark.parametrize("terms", [Graded(2, 2), Listed.of([(0, 1)], 2)], ids=repr)
def test_the_terms_cannot_be_changed(terms):
    with pytest.raises(AttributeError):
        terms.n_features = 3
    with pytest.raises(AttributeError):
        terms.max_order = 3


def test_listed_rows_cannot_be_written_to():
    terms = Listed.of([(0, 1)], 2)
    with pytest.raises(ValueError, match="read-only"):
        terms.block(2)[0, 0] = 1
    assert not any(rows.flags.writeable for _, rows in terms.by_degree())


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        (Graded(1, 2), "Graded([(), (0,), (0, 0)])"),
        (Listed.of([(0, 1)], 2), "Listed([(0, 1)])"),
        (Listed.of([], 2), "Listed([])"),
    ],
)
def test_the_repr_lists_a_few(terms, text):
    assert repr(terms) == text


def test_the_repr_of_many_counts_the_rest():
    assert repr(Graded(784, 3)).endswith("(4,), … 80,931,145 in all])")


# --- degree by degree ------------------------------------------------------------------------


@given(sets_of_terms())
def test_the_degrees_cut_the_terms_into_consecutive_slices(case):
    terms, expected = case
    end = 0
    for degree, (here, rows) in enumerate(terms.by_degree()):
        assert here.start == end == terms.ends[degree]
        end = here.stop
        assert rows.shape == (here.stop - here.start, degree)
        assert rows.dtype == np.intp
        np.testing.assert_array_equal(rows, terms.block(degree))
        assert [tuple(row) for row in rows.tolist()] == expected[here]
    assert degree == terms.max_order
    assert end == len(expected)


@given(sets_of_terms())
def test_orders_and_variables_are_those_of_the_list(case):
    terms, expected = case
    assert terms.orders().tolist() == [len(term) for term in expected]
    assert terms.variables().tolist() == sorted({i for term in expected for i in term})


@given(sets_of_terms(), st.data())
def test_terms_at_some_places_are_those_of_the_list(case, data):
    terms, expected = case
    places = sorted(data.draw(st.sets(st.integers(0, max(len(expected) - 1, 0)), max_size=9)))
    places = places if expected else []
    few = terms.at(np.array(places, dtype=np.intp))
    assert isinstance(few, Listed)
    assert list(few) == [expected[i] for i in places]
    assert (few.n_features, few.max_order) == (terms.n_features, terms.max_order)


@given(sets_of_terms(), st.integers(0, 7))
def test_terms_up_to_an_order_are_those_of_the_list(case, order):
    terms, expected = case
    low = terms.up_to(order)
    assert type(low) is type(terms)
    assert list(low) == [term for term in expected if len(term) <= order]
    assert low.max_order == min(order, terms.max_order)


@given(st.integers(1, 5), st.integers(0, 4), st.data())
def test_the_listed_terms_of_a_basis_are_the_graded_ones_at_their_positions(p, order, data):
    basis = Graded(p, order)
    chosen = data.draw(st.lists(indices(p, order), max_size=9))
    terms = Listed.of(chosen, p, order)
    positions = terms.positions()
    assert [basis[i] for i in positions.tolist()] == list(terms)
    assert basis.holds(positions)
    np.testing.assert_array_equal(basis.at(positions).orders(), terms.orders())
    for one, other in zip(basis.at(positions).blocks, terms.blocks, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("p", "order"), [(1, 0), (1, 5), (3, 2), (54, 3)])
def test_offsets_are_where_each_order_begins(p, order):
    orders = [len(term) for term in written_out(p, order)]
    expected = [orders.index(d) for d in range(order + 1)] + [len(orders)]
    assert offsets(p, order) == expected
    assert Graded(p, order).ends == tuple(expected)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], True),
        ([0, 5], True),
        ([0, 6], False),
        ([-1, 0], False),
        ([1, 1], False),
        ([2, 1], False),
        ([3, -(2**63)], False),  # their difference overflows to a positive number
        ([[0, 1]], False),
    ],
)
def test_a_basis_holds_increasing_places_only(places, expected):
    assert Graded(2, 2).holds(np.array(places, dtype=np.intp)) is expected


# --- few terms, no terms, many features ------------------------------------------------------


@pytest.mark.parametrize("n_features", [1, 10**9])
@pytest.mark.parametrize("max_order", [0, 3])
def test_no_terms_at_all(n_features, max_order):
    terms = Listed.of([], n_features, max_order)
    assert (len(terms), terms.max_order, terms.n_features) == (0, max_order, n_features)
    assert () not in terms
    assert terms.orders().size == terms.variables().size == 0
    assert list(terms.at(np.empty(0, dtype=np.intp))) == []
    assert [rows.shape for _, rows in terms.by_degree()] == [(0, d) for d in range(max_order + 1)]


def test_the_intercept_alone():
    terms = Listed.of([()], 10**9)
    assert (list(terms), terms.max_order, terms.ends) == ([()], 0, (0, 1))
    assert () in terms
    assert (0,) not in terms


def test_degrees_without_a_term_are_empty_blocks():
    terms = Listed.of([(), (0, 0, 1), (0,) * 5], 2)
    assert terms.ends == (0, 1, 1, 1, 2, 2, 3)
    assert terms.index((0, 0, 1)) == 1
    assert (0,) not in terms
    assert (0, 1) not in terms


def test_a_term_given_twice_is_listed_once():
    assert list(Listed.of([(0,), (), (0,)], 1)) == [(), (0,)]


def test_terms_whose_place_no_integer_can_count_are_listed_and_found():
    chosen = [(499,) * 10, (0,) * 10, tuple(range(100, 110))]
    terms = Listed.of(chosen, 500)
    assert Graded(500, 10).ends[-1] > 2**63
    assert list(terms) == in_order(chosen)
    assert [terms.index(term) for term in in_order(chosen)] == [0, 1, 2]
    assert not is_nearly_full(terms, 10**6)


@pytest.mark.parametrize("times", [1, 2])
def test_a_set_is_nearly_full_by_its_share_of_the_basis(times):
    assert is_nearly_full(Listed.of(written_out(2, 2)[:3], 2, 2), times) == (times == 2)


def test_one_term_of_80_million_is_found_without_making_the_others():
    terms = Graded(784, 3)
    assert len(terms) == 80_931_145
    tracemalloc.start()
    begin = time.perf_counter()
    term = terms[80_000_000]
    place = terms.index(term)
    first, last, some = next(iter(terms)), terms[-1], terms[785:788]
    seconds = time.perf_counter() - begin
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert place == 80_000_000
    assert (first, last) == ((), (783, 783, 783))
    assert some == [(0, 0), (0, 1), (0, 2)]
    assert peak < 1_000_000
    assert seconds < 0.5


@given(st.integers(0, 80_931_144))
def test_places_and_terms_of_a_large_basis_invert_each_other(place):
    terms = Graded(784, 3)
    term = terms[place]
    assert list(term) == sorted(term)
    assert terms.index(term) == place


# --- collecting ------------------------------------------------------------------------------


@given(st.lists(st.tuples(indices(4, 3), st.integers(-9, 9)), max_size=30))
def test_collecting_sorts_the_terms_and_adds_up_what_is_the_same(pairs):
    expected = {}
    for term, value in pairs:
        expected[term] = expected.get(term, 0) + value
    parts = [
        (np.array(t, dtype=np.intp).reshape(1, -1), np.array([[v, 2.0 * v]])) for t, v in pairs
    ]
    terms, values = collect(parts, 4, 2, 3)
    assert list(terms) == in_order(expected)
    assert values.tolist() == [[expected[t], 2.0 * expected[t]] for t in terms]
    assert (terms.n_features, terms.max_order) == (4, 3)


def test_collecting_nothing_gives_no_terms_with_all_their_columns():
    terms, values = collect([], 500, 3, 10)
    assert (len(terms), terms.max_order, values.shape) == (0, 10, (0, 3))


# --- patterns --------------------------------------------------------------------------------


@pytest.mark.slow
@given(sets_of_terms())
def test_patterns_are_the_terms_by_their_exponents(case):
    terms, expected = case
    for here, rows in terms.by_degree():
        found, seen = {}, set()
        for places, variables, exponents in patterns(rows):
            assert exponents not in seen
            seen.add(exponents)
            for place, distinct in zip(places.tolist(), variables.tolist(), strict=True):
                powers = zip(distinct, exponents, strict=True)
                found[place] = tuple(i for i, a in powers for _ in range(a))
        assert [found[i] for i in range(len(rows))] == expected[here]


# --- other coordinates -----------------------------------------------------------------------


@st.composite
def polynomials(draw, p=None):
    """Draw listed terms, coefficients and a change of coordinates that moves some variables."""
    p = p or draw(st.integers(1, 5))
    terms = Listed.of(draw(st.lists(indices(p, 5), max_size=8)), p)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    coefficients = rng.normal(size=(len(terms), 2))
    shift = rng.normal(size=p) * rng.integers(0, 2, size=p)
    return terms, coefficients, rng.uniform(0.3, 3.0, size=p), shift


def value(terms, coefficients, z):
    """Evaluate with Python's own loop."""
    total = np.zeros((len(z), coefficients.shape[1]))
    for term, row in zip(terms, coefficients, strict=True):
        total += np.prod(z[:, list(term)], axis=1)[:, None] * row
    return total


def dense_blocks(terms, coefficients):
    begin = offsets(terms.n_features, terms.max_order)
    dense = np.zeros((begin[-1], coefficients.shape[1]))
    dense[terms.positions()] = coefficients
    return [dense[a:b] for a, b in pairwise(begin)]


@given(polynomials())
def test_a_listed_change_of_coordinates_is_the_graded_one_without_its_zeros(case):
    terms, coefficients, factor, shift = case
    expected = np.concatenate(substitute(dense_blocks(terms, coefficients), factor, shift))
    found, values = substitute_listed(terms, coefficients, factor, shift)
    positions = found.positions()
    np.testing.assert_allclose(values, expected[positions], rtol=1e-12, atol=1e-11)
    left_out = np.delete(expected, positions, axis=0)
    np.testing.assert_array_equal(left_out, 0.0)


@given(st.integers(1, 4), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_a_graded_basis_can_be_rewritten_term_by_term_too(p, order, seed):
    rng = np.random.default_rng(seed)
    terms = Graded(p, order)
    coefficients = rng.normal(size=(len(terms), 2))
    factor, shift = rng.uniform(0.3, 3.0, size=p), rng.normal(size=p)
    blocks = [coefficients[here] for here, _ in terms.by_degree()]
    found, values = substitute_listed(terms, coefficients, factor, shift)
    assert found == terms
    expected = np.concatenate(substitute(blocks, factor, shift))
    np.testing.assert_allclose(values, expected, rtol=1e-11, atol=1e-11)


@given(polynomials(p=1000), st.integers(0, 2**32 - 1))
def test_other_coordinates_give_the_same_values(case, seed):
    terms, coefficients, factor, shift = case
    z = np.random.default_rng(seed).normal(size=(5, 1000))
    found, values = substitute_listed(terms, coefficients, factor, shift)
    expected = value(terms, coefficients, factor * z + shift)
    size = value(terms, np.abs(coefficients), np.abs(factor * z) + np.abs(shift)).max(initial=1.0)
    np.testing.assert_allclose(value(found, values, z), expected, rtol=0, atol=1e-13 * size)
    assert (found.n_features, found.max_order) == (1000, terms.max_order)


@given(polynomials())
def test_without_a_shift_the_terms_stay_the_same(case):
    terms, coefficients, factor, shift = case
    found, values = substitute_listed(terms, coefficients, factor, np.zeros_like(shift))
    assert found == terms
    expected = [c * np.prod(factor[list(t)]) for t, c in zip(terms, coefficients, strict=True)]
    np.testing.assert_allclose(values, np.reshape(expected, (-1, 2)), rtol=1e-13)


def test_a_shift_makes_the_divisors_of_the_terms_and_no_others():
    terms = Listed.of([(1, 1, 3)], 4)
    found, values = substitute_listed(terms, np.ones((1, 1)), np.ones(4), np.full(4, 2.0))
    # (z1 + 2)² (z3 + 2)
    assert dict(zip(found, values[:, 0].tolist(), strict=True)) == {
        (): 8.0,
        (1,): 8.0,
        (3,): 4.0,
        (1, 1): 2.0,
        (1, 3): 4.0,
        (1, 1, 3): 1.0,
    }


def test_a_variable_that_is_not_shifted_stays_in_every_divisor():
    """A product of 60 variables has 2^60 divisors, but only 4 where two of them move."""
    term, shift = tuple(range(60)), np.zeros(60)
    shift[[3, 17]] = 1.0
    found, values = substitute_listed(
        Listed.of([term], 60), np.ones((1, 1)), np.full(60, 1.0), shift
    )
    without = [[], [3], [17], [3, 17]]
    assert list(found) == in_order(tuple(i for i in term if i not in gone) for gone in without)
    np.testing.assert_array_equal(values, 1.0)


def test_binomials_beyond_any_integer_of_the_machine_are_right():
    found, values = substitute_listed(
        Listed.of([(0,) * 100], 1), np.ones((1, 1)), np.ones(1), np.ones(1)
    )
    assert len(found) == 101
    np.testing.assert_allclose(values.sum(), 2.0**100, rtol=1e-14)


def test_a_change_of_coordinates_that_does_not_fit_is_refused_in_one_sentence():
    """A product of 60 variables that all move: 2^60 divisors."""
    terms = Listed.of([tuple(range(60))], 60)
    with pytest.raises(TooManyTermsError) as caught:
        substitute_listed(terms, np.ones((1, 1)), np.ones(60), np.ones(60))
    assert caught.value.n_terms == 2**60
    assert re.match(r"This polynomial in other coordinates has [\d.,e+]+ terms", caught.value.what)
    assert "truncate or prune" in caught.value.remedy


@pytest.mark.parametrize("chosen", [[], [()], [(), (59,)]], ids=str)
def test_a_few_terms_move_whatever_the_size_of_their_basis(chosen):
    terms = Listed.of(chosen, 60, 12)
    coefficients = np.arange(1.0, len(chosen) + 1)[:, None]
    found, values = substitute_listed(terms, coefficients, np.ones(60), np.full(60, 3.0))
    assert found == terms
    assert values[:, 0].tolist() == [[], [1.0], [7.0, 2.0]][len(chosen)]
