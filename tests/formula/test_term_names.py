"""Names of terms are scikit-learn's, and every spelling reads back or is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.errors import InvalidInputError, UnknownTermError
from nn2poly.formula.term_names import parse_term, term_name

NAMES = ("rm", "lstat", "mean radius", "mean texture")


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ((), "1"),
        ((1,), "lstat"),
        ((0, 0), "rm^2"),
        ((0, 1), "rm · lstat"),
        ((0, 0, 0, 3, 3), "rm^3 · mean texture^2"),
    ],
)
def test_names_are_spelt_with_a_sign_between_factors(term, name):
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


def test_products_are_told_from_names_with_spaces():
    names = ("a", "b", "a b")
    assert [term_name(term, names) for term in ((0, 1), (2,))] == ["a · b", "a b"]
    assert parse_term("a · b", names) == (0, 1)
    assert parse_term("a b · a^2", names) == (0, 0, 2)


def test_a_feature_named_like_a_power_is_ambiguous_as_a_string_only():
    names = ("x", "x^2")
    with pytest.raises(UnknownTermError, match="2 ways") as caught:
        parse_term("x^2", names)
    assert caught.value.found == "('x', 'x'); ('x^2',)"
    assert parse_term(("x^2",), names) == (1,)
    assert parse_term(("x", "x"), names) == (0, 0)


def test_quotes_tell_which_reading_is_meant():
    names = ("a", "b", "a b", "a^2", "1", 'c"')
    spellings = {
        '"a b"': (2,),
        '"a^2"': (3,),
        '"a^2"^2 · a': (0, 3, 3),
        'a · "a b"': (0, 2),
        '"1"': (4,),
        '"c"""': (5,),
        '"a"': (0,),
    }
    assert {text: parse_term(text, names) for text in spellings} == spellings


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
