"""The lazy terms behave like the list of tuples that they stand for, and names read back."""

from __future__ import annotations

import time
import tracemalloc
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.errors import InvalidInputError, UnknownTermError
from nn2poly.formula.terms import Terms, offsets, parse_term, term_name


def listed(p, order):
    """List the graded lexicographic basis the slow way."""
    return [t for d in range(order + 1) for t in combinations_with_replacement(range(p), d)]


@st.composite
def bases(draw):
    """Draw terms, full or sparse, with the list that they must equal."""
    p, order = draw(st.integers(1, 5)), draw(st.integers(0, 4))
    full = listed(p, order)
    if draw(st.booleans()):
        return Terms(p, order), full
    kept = sorted(draw(st.sets(st.integers(0, len(full) - 1), max_size=12)))
    return Terms(p, order, np.array(kept, dtype=np.intp)), [full[i] for i in kept]


# --- a sequence like the list ---------------------------------------------------------------


@given(bases())
def test_length_items_and_iteration_are_those_of_the_list(basis):
    terms, expected = basis
    assert len(terms) == len(expected)
    assert list(terms) == expected
    assert list(reversed(terms)) == expected[::-1]
    assert [terms[i] for i in range(-len(expected), len(expected))] == expected * 2
    for outside in (len(expected), -len(expected) - 1):
        with pytest.raises(IndexError):
            terms[outside]


@given(bases(), st.slices(30))
def test_slices_are_lists(basis, part):
    terms, expected = basis
    assert terms[part] == expected[part]


@given(bases())
def test_every_term_is_found_at_its_place_and_absent_ones_are_not(basis):
    terms, expected = basis
    for place, term in enumerate(expected):
        assert terms.index(term) == place
        assert term in terms
        assert terms.count(term) == 1
    absent = set(listed(6, 5)) - set(expected)
    for term in absent:
        assert term not in terms
        with pytest.raises(ValueError, match="not among the terms"):
            terms.index(term)


@pytest.mark.parametrize(
    "stranger", [(0.5,), "1", "x", 0, None, [(0, 1)], (1, 0), ("0",), (None,), (-1,), (2,), 1.5]
)
def test_what_the_list_does_not_hold_the_terms_do_not_hold_either(stranger):
    expected = listed(2, 2)
    assert stranger not in expected
    assert stranger not in Terms(2, 2)
    with pytest.raises(ValueError, match="not among the terms"):
        Terms(2, 2).index(stranger)


def test_indices_may_be_numpy_integers():
    assert Terms(3, 2).index((np.int64(0), np.int32(2))) == listed(3, 2).index((0, 2))


def test_index_searches_from_start_to_stop_like_any_sequence():
    terms, expected = Terms(2, 2), listed(2, 2)
    assert terms.index((0,), 1) == expected.index((0,), 1)
    assert terms.index((0,), -5, 2) == expected.index((0,), -5, 2)
    for window in [(2,), (0, 1), (-2,)]:
        with pytest.raises(ValueError, match=r"\(0,\)"):
            expected.index((0,), *window)
        with pytest.raises(ValueError, match=r"\(0,\)"):
            terms.index((0,), *window)


@given(bases(), bases())
def test_terms_are_equal_exactly_when_their_lists_are(one, other):
    assert one[0] == one[1]
    assert one[1] == one[0]
    assert (one[0] == other[0]) == (one[1] == other[1])
    assert (one[0] != other[1]) == (one[1] != other[1])


def test_terms_equal_no_string_and_no_number():
    assert Terms(1, 0) != "("
    assert Terms(1, 0) != 1
    assert Terms(1, 1) != [(), (0,), (0, 0)]


def test_equal_terms_have_equal_hashes():
    few = np.array([0, 1])
    equal = [Terms(2, 1, few), Terms(2, 3, few), Terms(2, 3, few.copy()), Terms(5, 1, few)]
    assert all(one == other for one in equal for other in equal)
    assert len(set(equal)) == 1


def test_the_terms_cannot_be_changed():
    terms = Terms(2, 2)
    with pytest.raises(AttributeError):
        terms.max_order = 3


# --- large bases -----------------------------------------------------------------------------


def test_one_term_of_80_million_is_found_without_making_the_others():
    terms = Terms(784, 3)
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
    terms = Terms(784, 3)
    term = terms[place]
    assert list(term) == sorted(term)
    assert terms.index(term) == place


# --- degree by degree ------------------------------------------------------------------------


@given(bases())
def test_the_degrees_cut_the_terms_into_consecutive_slices(basis):
    terms, expected = basis
    end = 0
    for degree, (here, rows) in enumerate(terms.by_degree()):
        assert here.start == end
        end = here.stop
        assert rows.shape == (here.stop - here.start, degree)
        assert [tuple(row) for row in rows.tolist()] == expected[here]
        assert all(len(term) == degree for term in expected[here])
    assert degree == terms.max_order
    assert end == len(expected)


@given(bases())
def test_orders_are_the_lengths_of_the_terms(basis):
    terms, expected = basis
    assert terms.orders().tolist() == [len(term) for term in expected]


@pytest.mark.parametrize(("p", "order"), [(1, 0), (1, 5), (3, 2), (54, 3)])
def test_offsets_are_where_each_order_begins(p, order):
    orders = [len(term) for term in listed(p, order)]
    expected = [orders.index(d) for d in range(order + 1)] + [len(orders)]
    assert offsets(p, order) == expected


def test_the_repr_shows_a_few_and_counts_the_rest():
    assert repr(Terms(1, 2)) == "Terms([(), (0,), (0, 0)])"
    assert repr(Terms(784, 3)).endswith("(4,), … 80,931,145 in all])")


# --- names -----------------------------------------------------------------------------------

NAMES = ("rm", "lstat", "mean radius", "mean texture")


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ((), "1"),
        ((1,), "lstat"),
        ((0, 0), "rm^2"),
        ((0, 1), "rm lstat"),
        ((0, 0, 0, 3, 3), "rm^3 mean texture^2"),
    ],
)
def test_names_are_spelt_as_scikit_learn_does(term, name):
    assert term_name(term, NAMES) == name


@pytest.mark.parametrize(
    ("spelling", "term"),
    [
        ((), ()),
        ("1", ()),
        (1, (1,)),
        (np.int64(1), (1,)),
        ("lstat", (1,)),
        ((1, 0), (0, 1)),
        ([1, 0], (0, 1)),
        (np.array([3, 0]), (0, 3)),
        (("lstat", "rm"), (0, 1)),
        (("lstat", 0), (0, 1)),
        ("lstat rm", (0, 1)),
        ("rm lstat rm", (0, 0, 1)),
        ("rm^2 lstat", (0, 0, 1)),
        ("rm^1", (0,)),
        ("mean radius", (2,)),
        ("mean radius mean texture", (2, 3)),
        ("mean texture mean radius^2", (2, 2, 3)),
        (("mean texture", "mean radius"), (2, 3)),
    ],
)
def test_every_spelling_of_a_term_is_read(spelling, term):
    assert parse_term(spelling, NAMES) == term


awkward_names = st.lists(
    st.text("ab ^12", min_size=1, max_size=4).filter(str.strip), min_size=1, max_size=4, unique=True
)


@given(awkward_names, st.data())
def test_a_name_reads_back_as_its_term_or_is_refused_as_ambiguous(names, data):
    term = tuple(sorted(data.draw(st.lists(st.integers(0, len(names) - 1), max_size=4))))
    try:
        found = parse_term(term_name(term, names), names)
    except UnknownTermError as error:
        refusal = error
    else:
        assert found == term
        return
    assert "ways" in refusal.what
    assert str(tuple(names[i] for i in term)) in refusal.found


def test_an_ambiguous_string_is_refused_with_its_readings_listed():
    with pytest.raises(UnknownTermError, match=r"'a b' can be read in 2 ways") as caught:
        parse_term("a b", ("a", "b", "a b"))
    assert caught.value.found == "('a', 'b'); ('a b',)"
    assert "tuple of names" in caught.value.remedy


def test_a_feature_named_like_a_power_is_ambiguous_as_a_string_only():
    names = ("x", "x^2")
    with pytest.raises(UnknownTermError, match="2 ways") as caught:
        parse_term("x^2", names)
    assert caught.value.found == "('x', 'x'); ('x^2',)"
    assert parse_term(("x^2",), names) == (1,)
    assert parse_term(("x", "x"), names) == (0, 0)


def test_the_string_1_is_ambiguous_when_a_feature_has_that_name():
    with pytest.raises(UnknownTermError, match="2 ways"):
        parse_term("1", ("1", "2"))
    assert parse_term((), ("1", "2")) == ()
    assert parse_term(("1",), ("1", "2")) == (0,)


@pytest.mark.parametrize("spelling", ["lstt", ("rm", "lstt")])
def test_an_unknown_name_is_refused_with_the_near_match(spelling):
    with pytest.raises(UnknownTermError, match="no feature 'lstt'") as caught:
        parse_term(spelling, NAMES)
    assert caught.value.remedy == "did you mean 'lstat'?"
    assert "'mean radius'" in caught.value.expected


def test_an_unknown_name_without_a_near_match_points_to_the_names():
    with pytest.raises(UnknownTermError) as caught:
        parse_term("zzzzzz", [f"v{i}" for i in range(20)])
    assert caught.value.remedy == "see .feature_names"
    assert caught.value.expected.endswith("'v9', …")


@pytest.mark.parametrize("spelling", ["rm^0", "rm^-1", "rm^", "rm^x", "", " ", "rm  lstat", "rm*2"])
def test_strings_that_spell_no_term_are_refused(spelling):
    with pytest.raises(UnknownTermError, match="no feature"):
        parse_term(spelling, NAMES)


@pytest.mark.parametrize("index", [4, -1, 10**30])
def test_an_index_out_of_range_is_refused_with_the_range(index):
    with pytest.raises(UnknownTermError, match="There is no feature") as caught:
        parse_term((0, index), NAMES)
    assert caught.value.expected == "indices from 0 to 3"
    assert "count from 0" in caught.value.remedy


@pytest.mark.parametrize("spelling", [(0.5,), (True,), True, 1.5, None, (None,), ((0, 1),), 1j])
def test_what_is_neither_index_nor_name_is_refused_with_the_ways_to_write_a_term(spelling):
    with pytest.raises(InvalidInputError, match="made of feature indices or names") as caught:
        parse_term(spelling, NAMES)
    assert '"rm lstat"' in caught.value.remedy


def test_an_unknown_term_is_also_a_key_error_with_a_readable_message():
    with pytest.raises(KeyError) as caught:
        parse_term("lstt", NAMES)
    assert str(caught.value).startswith("There is no feature 'lstt'")
