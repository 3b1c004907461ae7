"""Functions of columns: values, slopes, images, and plain data that is refused when unknown."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nn2poly.errors import InvalidInputError
from nn2poly.inputs.functions import (
    FUNCTIONS,
    IDENTITY,
    Identity,
    Log,
    Log1p,
    Rank,
    function_from,
)


def test_the_identity_changes_nothing():
    x = np.array([-2.0, 0.0, 3.5])
    np.testing.assert_array_equal(IDENTITY.values(x), x)
    np.testing.assert_array_equal(IDENTITY.slopes(x), 1.0)
    assert IDENTITY.image(-2.0, 3.5) == (-2.0, 3.5)
    assert IDENTITY.text("rm") == "rm"


@pytest.mark.parametrize("kind", sorted(FUNCTIONS))
def test_every_function_is_kept_under_its_own_kind(kind):
    assert FUNCTIONS[kind].kind == kind


def test_the_image_of_an_increasing_function_is_that_of_the_ends(root):
    assert root(offset=2.0).image(2.0, 7.0) == (2.0, 3.0)


def test_plain_data_give_the_function_back(root):
    for function in (Identity(), root(), root(offset=2.5)):
        data = json.loads(json.dumps(function.to_dict()))
        assert function_from(data) == function
    assert root(offset=2.5).to_dict() == {
        "kind": "root",
        "low": None,
        "high": None,
        "offset": 2.5,
    }


def test_a_kind_that_is_not_known_is_refused_with_the_known_ones():
    for kind in ("root", None, 5, ["identity"]):
        with pytest.raises(InvalidInputError, match="does not know") as caught:
            function_from({"kind": kind})
        assert "identity" in caught.value.expected
        assert "upgrade" in caught.value.remedy


@pytest.mark.parametrize("data", [None, "identity", 5, [], [["kind", "identity"]]], ids=str)
def test_what_is_no_object_is_refused(data):
    with pytest.raises(ValueError, match="not an object"):
        function_from(data)


def test_parameters_that_are_not_the_functions_are_refused(root):
    with pytest.raises(TypeError):
        function_from({**Identity().to_dict(), "offset": 1.0})
    for offset in (-1.0, "1"):
        with pytest.raises(ValueError, match="offset"):
            function_from({**root().to_dict(), "offset": offset})


def test_values_outside_the_bounds_are_held_there():
    bounded = Identity(-1.0, 2.0)
    x = np.array([-np.inf, -5.0, -1.0, 0.5, 2.0, 1e300])
    np.testing.assert_array_equal(bounded.values(x), [-1.0, -1.0, -1.0, 0.5, 2.0, 2.0])
    np.testing.assert_array_equal(bounded.slopes(x), [0.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    assert bounded.image(-7.0, 1.0) == (-1.0, 1.0)
    assert function_from(json.loads(json.dumps(bounded.to_dict()))) == bounded


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.nan)])
def test_empty_bounds_are_refused(bounds):
    with pytest.raises(InvalidInputError, match="bounds"):
        Identity(*bounds)


RANK = Rank(knots=(0.0, 1.0, 4.0), shares=(0.1, 0.5, 0.9))
TABLE = {"knots": [0.0, 1.0, 4.0], "shares": [0.1, 0.5, 0.9]}


@pytest.mark.parametrize("function", [Log(0.5, 3.0), Log1p(high=9.0), RANK])
def test_logarithms_and_ranks_are_given_back_by_plain_data(function):
    assert function_from(json.loads(json.dumps(function.to_dict()))) == function


def test_a_rank_is_linear_between_its_knots_and_held_at_its_ends():
    rank = RANK
    x = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.5, 4.0, 1e300])
    np.testing.assert_allclose(rank.values(x), [0.1, 0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 0.9])
    slopes = [0.0, 0.0, 0.4, 0.4, 0.4 / 3, 0.4 / 3, 0.4 / 3, 0.0]
    np.testing.assert_allclose(rank.slopes(x), slopes)
    assert (rank.low, rank.high) == (0.0, 4.0)
    assert np.isnan(rank.values(np.array([np.nan])))[0]


@pytest.mark.parametrize(
    "change",
    [
        {"knots": [0.0, 1.0]},
        {"knots": [0.0, 4.0, 1.0]},
        {"knots": [0.0, 0.0, 4.0]},
        {"shares": [0.1, 0.5, 0.5]},
        {"knots": [], "shares": []},
        {"knots": [0.0], "shares": [0.1]},
        {"knots": list(range(65)), "shares": list(range(65))},
        {"low": 1.0},
        {"high": 3.0},
        {"knots": [0.0, "1", 4.0]},
        {"knots": [0.0, True, 4.0]},
        {"knots": [0.0, None, 4.0]},
        {"knots": [0.0, [1.0], 4.0]},
        {"knots": "abc"},
        {"knots": 3},
        {"knots": None},
    ],
    ids=str,
)
def test_tables_of_files_that_are_none_are_refused(change):
    data = {"kind": "rank", "low": None, "high": None, **TABLE, **change}
    with pytest.raises((InvalidInputError, ValueError, TypeError)):
        function_from(data)


@pytest.mark.parametrize(("cls", "low"), [(Log, 0.0), (Log, -1.0), (Log1p, -1.0), (Log, -np.inf)])
def test_a_logarithm_is_bounded_away_from_its_pole(cls, low):
    with pytest.raises(InvalidInputError, match="needs a bound"):
        cls(low)
    assert np.isfinite(cls().values(np.array([-1e300, 0.0, 1.0]))).all()
