"""A column knows what it is, and refuses parts that do not fit together."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Column, Coordinate

SEX = Column.factor("sex", ["male", "female"])


def refused(call):
    with pytest.raises(InvalidInputError) as caught:
        call()
    return caught.value


def test_a_column_is_one_feature_of_its_own_name():
    column = Column("age")
    assert (column.features, column.width, column.kind) == (("age",), 1, "number")
    assert column.coordinates == (Coordinate(),)


def test_a_factor_is_one_feature_per_level():
    assert SEX.features == ("sex=male", "sex=female")
    assert SEX.coordinates == (Coordinate(),) * 2
    named = Column.factor("sex", ["male", "female"], ["m", "f"])
    assert (named.levels, named.features) == (("male", "female"), ("m", "f"))


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "factor"},
        {"kind": "factor", "levels": ("x", "y")},
        {"kind": "factor", "levels": ("x",), "features": ("a", "b")},
        {"features": ("a", "b")},
        {"kind": "binary", "features": ("a", "b")},
        {"levels": ("x",)},
        {"coordinates": (Coordinate(), Coordinate())},
        {"ranges": ()},
        {"ranges": ((0.0, 1.0), (0.0, 1.0))},
    ],
    ids=str,
)
def test_a_column_whose_parts_do_not_fit_together_is_refused(fields):
    assert "'age'" in refused(lambda: Column("age", **fields)).what


@pytest.mark.parametrize("levels", [[], None])
def test_a_factor_without_levels_is_refused(levels):
    refused(lambda: Column.factor("sex", levels or []))


def test_an_unknown_kind_is_refused_with_the_near_match():
    assert "'factor'" in refused(lambda: Column("a", "facto")).remedy


def test_columns_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Column("a").name = "b"


def test_cuts_are_increasing_and_one_fewer_than_levels():
    column = Column.cut("age", [30.0, 45.0])
    assert Column.from_dict(column.to_dict()) == column
    assert "cuts" not in Column("age").to_dict()
    for cuts in ((45.0, 30.0), (30.0, 30.0), (30.0, np.inf)):
        with pytest.raises(InvalidInputError, match="finite and increasing"):
            dataclasses.replace(column, cuts=cuts)
    with pytest.raises(InvalidInputError, match="does not fit together"):
        dataclasses.replace(column, cuts=(30.0,))


def test_levels_of_cuts_have_as_many_digits_as_tell_them_apart():
    assert Column.cut("x", [1234567.0, 2e6]).levels[1] == "[1234567, 2000000)"
    assert Column.cut("x", [0.1234567, 0.1234568]).levels[1] == "[0.1234567, 0.1234568)"
    assert Column.cut("x", [1 / 3, 2 / 3]).levels[1] == "[0.3333, 0.6667)"
