"""Bounds of columns, in words: those that cut the sample are named, the rest said once."""

from __future__ import annotations

import numpy as np
import pytest

from nn2poly.errors import InvalidInputError, OutsideRangeWarning
from nn2poly.inputs import Column, Coordinate, Inputs, held_features, held_text, share_beyond
from nn2poly.inputs.functions import Identity


def inputs(bounds, ranges=None):
    """Make numbers a0, a1, … with bounds (None for none) and ranges."""
    functions = [Identity() if pair is None else Identity(*pair) for pair in bounds]
    seen = [None] * len(bounds) if ranges is None else [(pair,) for pair in ranges]
    pairs = zip(functions, seen, strict=True)
    columns = [
        Column(f"a{j}", coordinates=(Coordinate(function=f),), ranges=r)
        for j, (f, r) in enumerate(pairs)
    ]
    return Inputs(tuple(columns))


def test_bounds_that_are_the_range_of_the_sample_are_said_once():
    made = inputs([(0.0, 1.0)] * 54, [(0.0, 1.0)] * 54)
    assert held_features(made) == []
    assert held_text(made) == "numbers are held within the sample's range"


def test_without_bounds_nothing_is_said():
    assert held_text(inputs([None, None], [(0.0, 1.0)] * 2)) == ""


def test_three_columns_are_named_and_the_others_counted():
    ranges = [(0.0, 1.0 + j) for j in range(54)]
    text = held_text(inputs([(0.0, 1.0)] * 54, ranges))
    assert text.startswith("a53 held within 0 … 1, a52 held within 0 … 1, a51 held within 0 … 1, ")
    assert text.endswith("50 more columns at their bounds, other numbers within the sample's range")
    assert len(text) < 200


def test_a_row_left_out_that_lies_a_little_further_is_no_cut():
    assert held_features(inputs([(0.0, 1.0)], [(-0.03, 1.02)])) == []
    assert held_features(inputs([(0.0, 1.0)], [(-0.03, 1.3)])) == [0]


def test_bounds_count_where_no_sample_is_known():
    assert held_text(inputs([(0.0, 1.0), None])) == "a0 held within 0 … 1"


def test_bounds_on_one_side_are_written_on_that_side():
    assert held_text(inputs([(-np.inf, 2.0)], [(0.0, 9.0)])) == "a0 held within … 2"


def test_the_share_of_rows_beyond_is_that_of_each_column():
    X = np.array([[0.5, 5.0], [2.0, 5.0], [-1.0, 5.0], [1e12, 5.0]])
    np.testing.assert_allclose(share_beyond(inputs([(0.0, 1.0), None]), X), [0.75, 0.0])
    np.testing.assert_allclose(share_beyond(inputs([(-np.inf, 1.0), None]), X), [0.5, 0.0])


def test_bounds_as_plain_data_are_of_those_that_bind():
    made = inputs([(0.0, 1.0), None, (-np.inf, 2.0)])
    assert made.bounds() == {"a0": (0.0, 1.0), "a2": (None, 2.0)}


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.nan)])
def test_empty_bounds_are_refused(bounds):
    with pytest.raises(InvalidInputError, match="bounds of a column are empty") as caught:
        Identity(*bounds)
    assert caught.value.expected == "a low bound below the high one"


# --- the warning -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([9.0, 0.5], "They are held at its edge"),
        ([0.5, 9.0], "A polynomial can be far from its network there"),
        ([9.0, 9.0], "Some columns are held at its edge; in the others"),
    ],
)
def test_a_warning_says_held_only_of_columns_that_are(row, says):
    made = inputs([(0.0, 1.0), None], [(0.0, 1.0)] * 2)
    with pytest.warns(OutsideRangeWarning, match=says) as caught:
        made.warn_outside(np.array([row, [0.5, 0.5]]))
    assert "1 of 2 rows" in str(caught[0].message)


def test_between_the_sample_and_wider_bounds_nothing_is_said_to_be_held():
    made = inputs([(-5.0, 5.0)], [(0.0, 1.0)])
    assert not made.held_outside.any()
    with pytest.warns(OutsideRangeWarning, match="A polynomial can be far from its network there"):
        made.warn_outside(np.array([[2.0], [0.5]]))
