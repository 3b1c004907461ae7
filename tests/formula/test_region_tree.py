"""Trees of regions: rows go where the rule says, and rules are said simply."""

from __future__ import annotations

import numpy as np
import pytest

from nn2poly.errors import InvalidInputError
from nn2poly.formula.region_tree import (
    Among,
    Between,
    Leaf,
    Split,
    check_tree,
    conditions,
    region_of,
    rule,
    tree_from_dict,
    tree_to_dict,
)
from nn2poly.inputs import Column, Inputs

INPUTS = Inputs(
    (
        Column("hour"),
        Column("working day", "binary"),
        Column.factor("weather", ["clear", "rain", "snow"]),
    )
)


def rules(tree, inputs=INPUTS):
    return [rule(found, inputs) for found in conditions(tree, inputs)]


def rows(*cells):
    """Make features of (hour, working day, level of the weather)."""
    return np.array([[hour, day, *np.eye(3)[level]] for hour, day, level in cells])


def deep_tree():
    weather = Split(2, levels=(1, 2), left=Leaf(2), right=Leaf(0))
    later = Split(0, 9.5, left=Leaf(3), right=Leaf(1))
    return Split(1, levels=(1,), left=Split(0, 6.5, left=weather, right=later), right=Leaf(4))


def test_rows_go_where_the_splits_lead():
    X = rows((6.4, 1, 1), (6.4, 1, 0), (6.5, 1, 2), (9.5, 1, 2), (3.0, 0, 1))
    assert region_of(deep_tree(), INPUTS, X).tolist() == [2, 0, 3, 1, 4]


def test_a_value_on_the_threshold_goes_right():
    tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    X = rows((np.nextafter(6.5, 0), 0, 0), (6.5, 0, 0))
    assert region_of(tree, INPUTS, X).tolist() == [0, 1]


def test_rules_are_said_in_words():
    assert rules(deep_tree()) == [
        "working day is yes and hour < 6.5 and weather is clear",
        "working day is yes and hour ≥ 9.5",
        "working day is yes and hour < 6.5 and weather is (rain or snow)",
        "working day is yes and 6.5 ≤ hour < 9.5",
        "working day is no",
    ]


def test_splits_on_one_column_are_intersected():
    tree = Split(0, 8.0, left=Split(0, 2.0, left=Leaf(0), right=Leaf(1)), right=Leaf(2))
    assert conditions(tree, INPUTS) == (
        {0: Between(high=2.0)},
        {0: Between(2.0, 8.0)},
        {0: Between(low=8.0)},
    )
    first = Split(2, levels=(0,), left=Leaf(1), right=Leaf(2))
    tree = Split(2, levels=(0, 1), left=first, right=Leaf(0))
    assert conditions(tree, INPUTS) == ({2: Among((2,))}, {2: Among((0,))}, {2: Among((1,))})


def test_one_leaf_is_everywhere():
    assert rules(Leaf(0)) == ["everywhere"]
    assert region_of(Leaf(0), INPUTS, rows((1.0, 0, 0))).tolist() == [0]


def test_a_yes_no_of_other_values_is_named_by_them():
    inputs = Inputs((Column("sex", "binary", ranges=((1.0, 2.0),)),))
    tree = Split(0, levels=(0,), left=Leaf(0), right=Leaf(1))
    assert rules(tree, inputs) == ["sex is 1", "sex is 2"]
    assert region_of(tree, inputs, np.array([[1.0], [2.0]])).tolist() == [0, 1]


def test_many_levels_are_said_by_those_that_it_is_not():
    inputs = Inputs((Column.factor("country", list("abcdef")),))
    tree = Split(0, levels=(2,), left=Leaf(0), right=Leaf(1))
    assert rules(tree, inputs) == ["country is c", "country is not c"]


def test_several_levels_stand_in_brackets():
    """``is not priv or rent and hour < 2`` could be read in four ways."""
    inputs = Inputs((Column.factor("home", ["priv", "rent", *"abcd"]), Column("hour")))
    inner = Split(1, 2.0, left=Leaf(0), right=Leaf(1))
    tree = Split(0, levels=(2, 3, 4, 5), left=inner, right=Leaf(2))
    assert rules(tree, inputs) == [
        "home is not (priv or rent) and hour < 2",
        "home is not (priv or rent) and hour ≥ 2",
        "home is (priv or rent)",
    ]


def test_names_that_read_like_a_part_of_a_rule_are_quoted():
    levels = ["1. < HS Grad", "trade and craft", "5. Advanced Degree"]
    inputs = Inputs((Column.factor("school", levels), Column("a ≥ b")))
    inner = Split(1, 2.0, left=Leaf(0), right=Leaf(1))
    tree = Split(0, levels=(0,), left=inner, right=Leaf(2))
    assert rules(tree, inputs) == [
        'school is "1. < HS Grad" and "a ≥ b" < 2',
        'school is "1. < HS Grad" and "a ≥ b" ≥ 2',
        'school is ("trade and craft" or 5. Advanced Degree)',
    ]


def test_a_factor_whose_features_lie_apart_is_read_by_their_places():
    inputs = Inputs((Column.factor("f", ["u", "v"]), Column("x")), ((0, 2), (1,)))
    tree = Split(0, levels=(1,), left=Leaf(0), right=Leaf(1))
    X = np.array([[1.0, 5.0, 0.0], [0.0, 5.0, 1.0]])
    assert region_of(tree, inputs, X).tolist() == [1, 0]


def test_a_row_without_any_level_goes_right():
    tree = Split(2, levels=(0, 1), left=Leaf(0), right=Leaf(1))
    assert region_of(tree, INPUTS, np.zeros((1, 5))).tolist() == [1]


@pytest.mark.parametrize(
    ("threshold", "span", "text"),
    [
        (6.5, None, "x < 6.5"),
        (2.0132345678, (0.0, 100.0), "x < 2.01"),
        (1_350_000_123.0, (1_350_000_000.0, 1_350_100_000.0), "x < 1350000120"),
        (-0.25, None, "x < -0.25"),
        (1e-9, None, "x < 1e-09"),
        (0.0, None, "x < 0"),
    ],
)
def test_thresholds_are_short_but_tell_values_apart(threshold, span, text):
    inputs = Inputs((Column("x", ranges=None if span is None else (span,)),))
    assert rules(Split(0, threshold, left=Leaf(0), right=Leaf(1)), inputs)[0] == text


def test_trees_come_back_from_plain_data():
    assert tree_from_dict(tree_to_dict(deep_tree())) == deep_tree()


BAD = {
    "a leaf twice": Split(0, 1.0, left=Leaf(0), right=Leaf(0)),
    "a leaf left out": Split(0, 1.0, left=Leaf(0), right=Leaf(2)),
    "no such column": Split(3, 1.0, left=Leaf(0), right=Leaf(1)),
    "an infinite threshold": Split(0, np.inf, left=Leaf(0), right=Leaf(1)),
    "no threshold": Split(0, left=Leaf(0), right=Leaf(1)),
    "levels of a number": Split(0, 1.0, (0,), left=Leaf(0), right=Leaf(1)),
    "a threshold of a factor": Split(2, 1.0, left=Leaf(0), right=Leaf(1)),
    "all levels": Split(2, levels=(0, 1, 2), left=Leaf(0), right=Leaf(1)),
    "no level": Split(2, levels=(), left=Leaf(0), right=Leaf(1)),
    "an unknown level": Split(2, levels=(3,), left=Leaf(0), right=Leaf(1)),
    "a level twice": Split(2, levels=(0, 0), left=Leaf(0), right=Leaf(1)),
    "both values of a yes/no": Split(1, levels=(0, 1), left=Leaf(0), right=Leaf(1)),
    "no tree": "x < 1",
}


@pytest.mark.parametrize("name", BAD)
def test_a_tree_that_does_not_fit_is_refused(name):
    with pytest.raises(InvalidInputError, match=r"tree|leaves|split"):
        check_tree(BAD[name], INPUTS, 2)


def test_a_region_that_no_row_can_reach_is_refused():
    tree = Split(0, 2.0, left=Split(0, 3.0, left=Leaf(0), right=Leaf(1)), right=Leaf(2))
    with pytest.raises(InvalidInputError, match="No row can be in region 1"):
        check_tree(tree, INPUTS, 3)
    again = Split(2, levels=(0, 1), left=Leaf(0), right=Leaf(1))
    tree = Split(2, levels=(0,), left=Leaf(2), right=again)
    check_tree(tree, INPUTS, 3)
    tree = Split(2, levels=(0, 1), left=again, right=Leaf(2))
    with pytest.raises(InvalidInputError, match="No row can be in region 1"):
        check_tree(tree, INPUTS, 3)


def test_a_rule_does_not_say_the_same_twice():
    """ "x1 ≥ 1.146 and x1 ≥ 1.581" is x1 ≥ 1.581."""
    inputs = Inputs((Column("x1"), Column.factor("town", ["x", "y", "z"])))
    inner = Split(0, 1.581, left=Leaf(1), right=Leaf(2))
    assert rules(Split(0, 1.146, left=Leaf(0), right=inner), inputs) == [
        "x1 < 1.146",
        "1.146 ≤ x1 < 1.581",
        "x1 ≥ 1.581",
    ]
    towns = Split(1, levels=(1,), left=Leaf(1), right=Leaf(2))
    tree = Split(1, levels=(0,), left=Leaf(0), right=towns)
    assert rules(tree, inputs) == ["town is x", "town is y", "town is z"]
