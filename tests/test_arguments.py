"""Orders, choices and names: what is refused, and how it is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nn2poly.arguments import check_choice, check_names, check_order, default_names
from nn2poly.errors import InvalidInputError


@pytest.mark.parametrize("order", [1, 100, np.int64(3), np.uint8(3)])
def test_integers_from_1_to_100_are_orders(order):
    checked = check_order(order)
    assert type(checked) is int
    assert checked == order


@pytest.mark.parametrize("order", [2.0, "2", None, True, np.True_, np.float64(2), np.array([1, 2])])
def test_an_order_that_is_not_an_integer_is_refused_with_its_type(order):
    with pytest.raises(InvalidInputError, match="must be an integer") as caught:
        check_order(order)
    assert f"({type(order).__name__})" in caught.value.found
    assert "max_order=2" in caught.value.remedy


@pytest.mark.parametrize("order", [0, -1, 101, 10**20])
def test_an_order_out_of_range_is_refused_with_the_range(order):
    with pytest.raises(InvalidInputError, match="out of range") as caught:
        check_order(order, where="truncate(max_order)")
    assert caught.value.where == "truncate(max_order)"
    assert caught.value.expected == "an integer from 1 to 100"
    assert str(order) in caught.value.found
    assert "terms grows" in caught.value.remedy


def test_a_choice_is_returned():
    assert check_choice("local", ("taylor", "local"), name="method") == "local"


@pytest.mark.parametrize("value", ["tailor", "Taylor", "TAYLOR"])
def test_a_misspelt_choice_is_refused_with_the_near_match(value):
    with pytest.raises(InvalidInputError, match="Unknown method") as caught:
        check_choice(value, ("taylor", "local"), name="method")
    assert caught.value.expected == "one of 'taylor', 'local'"
    assert repr(value) in caught.value.found
    assert caught.value.remedy == "did you mean 'taylor'?"


@pytest.mark.parametrize("value", ["zzz", None, 3, np.ones(2)])
def test_a_choice_with_no_near_match_is_refused_with_the_choices(value):
    with pytest.raises(InvalidInputError) as caught:
        check_choice(value, ("taylor", "local"), name="method")
    assert "'taylor', 'local'" in caught.value.expected
    assert type(value).__name__ in caught.value.found
    assert "did you mean" not in caught.value.remedy


def test_default_feature_names_are_always_numbered_and_one_output_is_y():
    assert default_names("x", 1) == ("x1",)
    assert default_names("x", 3) == ("x1", "x2", "x3")
    assert default_names("y", 1) == ("y",)
    assert default_names("y", 2) == ("y1", "y2")
    assert check_names(None, 2, kind="output", default_prefix="y") == ("y1", "y2")


@pytest.mark.parametrize(
    "names", [["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"])]
)
def test_names_in_any_sequence_become_a_tuple_of_plain_strings(names):
    checked = check_names(names, 2, kind="feature", default_prefix="x")
    assert checked == ("a", "b")
    assert all(type(name) is str for name in checked)


@pytest.mark.parametrize(
    ("names", "found", "remedy"),
    [
        (["a"], "1 name", "one name for each"),
        (["a", "b", "c"], "3 names", "one name for each"),
        ([1, "b"], "1 (int)", "str(name)"),
        (["a", None], "None (NoneType)", "str(name)"),
        (["a", "a"], "'a' more than once", "rename"),
        (["a", ""], "empty name at position 1", "give each a name"),
        (["a", "  "], "empty name at position 1", "give each a name"),
        ("ab", "'ab' (str)", "feature_names=['ab']"),
        ({"a", "b"}, "(set)", "list"),
        (7, "7 (int)", "list"),
    ],
)
def test_unusable_names_are_refused_with_what_was_found(names, found, remedy):
    with pytest.raises(InvalidInputError) as caught:
        check_names(names, 2, kind="feature", default_prefix="x")
    assert caught.value.where == "feature_names"
    assert found in caught.value.found
    assert remedy in caught.value.remedy
