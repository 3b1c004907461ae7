"""A coordinate is (f(x) - center) / scale, with the slope and the image that belong to it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.errors import InvalidInputError
from nn2poly.inputs.coordinates import Coordinate

numbers = st.floats(-1e3, 1e3)
scales = st.floats(1e-3, 1e3)


@given(numbers, scales, numbers)
def test_values_slopes_and_images_agree(center, scale, x):
    coordinate = Coordinate(center, scale)
    (value,), (slope,) = coordinate.values(np.array([x])), coordinate.slopes(np.array([x]))
    assert value == (x - center) / scale
    assert slope == 1.0 / scale
    assert coordinate.image(x, x + 1.0)[0] == value
    assert coordinate.is_affine
    assert coordinate.is_plain == (center == 0.0 and scale == 1.0)


def test_a_coordinate_goes_through_its_function(root):
    coordinate = Coordinate(1.0, 0.5, root())
    x = np.array([1.0, 4.0, 9.0])
    assert coordinate.values(x).tolist() == [0.0, 2.0, 4.0]
    assert coordinate.image(1.0, 9.0) == (0.0, 4.0)
    step = 1e-6
    slopes = (coordinate.values(x + step) - coordinate.values(x - step)) / (2 * step)
    np.testing.assert_allclose(coordinate.slopes(x), slopes, rtol=1e-8)
    assert not coordinate.is_affine
    assert not Coordinate(function=root()).is_plain


def test_a_moved_coordinate_keeps_its_function(root):
    moved = Coordinate(1.0, 2.0, root(offset=3.0)).moved(np.float64(4.0), 5)
    assert moved == Coordinate(4.0, 5.0, root(offset=3.0))
    assert (type(moved.center), type(moved.scale)) == (float, float)


@pytest.mark.parametrize(
    ("center", "scale", "text"),
    [
        (0.0, 1.0, "t"),
        (20.0, 1.0, "t - 20"),
        (-20.0, 1.0, "t + 20"),
        (0.0, 5.0, "t / 5"),
        (-0.5, 2.5, "(t + 0.5) / 2.5"),
    ],
)
def test_a_coordinate_is_written_as_people_read_it(center, scale, text):
    assert Coordinate(center, scale).text("t") == text


def test_its_function_is_written_too(root):
    assert Coordinate(2.0, 4.0, root()).text("t") == "(sqrt(t) - 2) / 4"


@given(numbers, scales)
def test_plain_data_give_the_coordinate_back(center, scale):
    coordinate = Coordinate(center, scale)
    assert Coordinate.from_dict(json.loads(json.dumps(coordinate.to_dict()))) == coordinate


GOOD = Coordinate(1.0, 2.0).to_dict()


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        [],
        {},
        GOOD | {"more": 1},
        GOOD | {"scale": 0.0},
        GOOD | {"scale": -1.0},
        GOOD | {"scale": float("nan")},
        GOOD | {"scale": float("inf")},
        GOOD | {"scale": "2.0"},
        GOOD | {"center": float("inf")},
        GOOD | {"center": True},
        GOOD | {"center": None},
        GOOD | {"function": "identity"},
        GOOD | {"function": {"kind": "other"}},
    ],
    ids=str,
)
def test_plain_data_that_make_no_coordinate_are_refused(data):
    with pytest.raises((ValueError, InvalidInputError)):
        Coordinate.from_dict(data)
