"""Inputs turn tables into features by what their columns know."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, OutsideRangeWarning, StorageError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Column, Coordinate, Hole, Inputs
from nn2poly.inputs.indicators import detect_indicators

SEX = Column.factor("sex", ["male", "female"])


def mixed(**options):
    """Make age, sex (two features) and smoker."""
    return Inputs((Column("age"), SEX, Column("smoker", "binary")), **options)


def scattered():
    """Make the same columns, the levels of sex at places 3 and 0."""
    return mixed(places=((2,), (3, 0), (1,)))


def same(one, other):
    return one.to_dict() == other.to_dict()


def refused(call, error=InvalidInputError):
    with pytest.raises(error) as caught:
        call()
    return caught.value


def test_two_columns_of_one_name_are_refused():
    job, other = Column.factor("job", ["a", "b"]), Column.factor("job", ["c", "d"])
    for pair in ((Column("job"), job), (job, other)):
        error = refused(lambda pair=pair: Inputs((Column("age"), *pair)))
        assert "'job' more than once" in error.found
        assert "rename" in error.remedy
    later = Column.factor("trade", ["c", "d"])
    refused(lambda: Inputs((job, later)).renamed(["job=a", "job=b", "job=c", "job=d"]))


def test_a_file_with_two_columns_of_one_name_is_refused():
    trade = Column.factor("trade", ["c", "d"])
    body = Inputs((Column.factor("job", ["a", "b"]), trade)).to_dict()
    body["columns"][1]["name"] = "job"
    assert "'job' more than once" in refused(lambda: Inputs.from_dict(body)).found


def test_two_groups_of_levels_that_begin_alike_are_two_columns():
    levels = np.eye(3)[np.random.default_rng(0).integers(0, 3, (200, 2))].reshape(200, 6)
    names = [f"soil_{k}" for k in range(1, 7)]
    found = detect_indicators(Inputs.of(names), levels)
    assert [column.features for column in found.columns] == [tuple(names[:3]), tuple(names[3:])]
    assert len({column.name for column in found.columns}) == 2


def raw_table():
    """Make a number with holes, a factor of text, and one that is held as 0/1 columns."""
    town = dataclasses.replace(Column.factor("town", list("abc")), is_text=True)
    soil = Column.factor("soil", ["1", "2"], ["soil_1", "soil_2"])
    age = Column("age", hole=Hole(fill=40.0))
    return Inputs((age, Column.marking("age", Hole()), town, soil, Column.cut("bmi", [20.0])))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_missing_columns_are_named_as_in_the_table(frame):
    whole = {"age": [30.0], "town": ["a"], "soil_1": [1.0], "soil_2": [0.0], "bmi": [22.0]}
    assert raw_table().read(frame(whole)).shape == (1, 9)
    for gone in (["town"], ["age", "town"], ["soil_1", "soil_2"], ["soil_2"], ["bmi"], ["age"]):
        some = {name: value for name, value in whole.items() if name not in gone}
        error = refused(lambda some=some: raw_table().read(frame(some)))
        assert f"lacks {len(gone)} column" in error.what
        assert error.found == "no " + ", ".join(map(repr, gone))
        assert error.expected == "columns 'age', 'town', 'soil_1', 'soil_2', 'bmi'"
    renamed = {"Town" if name == "town" else name: value for name, value in whole.items()}
    assert refused(lambda: raw_table().read(frame(renamed))).remedy.endswith("'Town' for 'town'?")


def test_a_missing_level_beside_the_others_is_named_itself():
    levels = pd.DataFrame({"age": [30.0], "soil_1": 1.0, "soil_2": 0.0, "bmi": 22.0})
    some = levels.assign(**{"town=a": 1.0, "town=b": 0.0})
    assert refused(lambda: raw_table().read(some)).found == "no 'town=c'"


# --- features --------------------------------------------------------------------------------


def test_features_follow_the_columns():
    inputs = mixed()
    assert inputs.feature_names == ("age", "sex=male", "sex=female", "smoker")
    assert inputs.places == ((0,), (1, 2), (3,))
    assert inputs.column_of.tolist() == [0, 1, 1, 2]
    assert inputs.indicators() == [(1, 2), (3,)]
    assert (inputs.n_features, inputs.low, inputs.high) == (4, None, None)


def test_features_may_stand_anywhere():
    inputs = scattered()
    assert inputs.feature_names == ("sex=female", "smoker", "age", "sex=male")
    assert inputs.column_of.tolist() == [1, 2, 0, 1]
    assert inputs.indicators() == [(3, 0), (1,)]
    moved = inputs.around([1.0, 2.0, 3.0, 4.0], 2.0).seen([0.0, 0.0, 18.0, 0.0], [1, 1, 99, 1])
    assert moved.center.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert moved.low.tolist() == [0.0, 0.0, 18.0, 0.0]
    assert moved.high.tolist() == [1.0, 1.0, 99.0, 1.0]
    assert moved.columns[0].ranges == ((18.0, 99.0),)
    assert [c.center for c in moved.columns[1].coordinates] == [4.0, 1.0]


@pytest.mark.parametrize(
    "places",
    [((0,), (1, 2), (2,)), ((0,), (1, 2), (4,)), ((0, 1), (2,), (3,)), ((1,), (2, 3), (4,))],
)
def test_places_that_do_not_fit_the_columns_are_refused(places):
    refused(lambda: mixed(places=places))


def test_features_of_the_same_name_are_refused():
    refused(lambda: Inputs((Column("a"), Column("a"))))
    refused(lambda: Inputs((Column("sex=male"), SEX)))
    refused(lambda: Inputs(()))


def test_inputs_of_names_and_arrays():
    inputs = Inputs.of(["a", "b"], None, [1.0, 2.0], 3.0, [0.0, -1.0], [5.0, 6.0])
    assert inputs.feature_names == ("a", "b")
    assert inputs.named
    assert (inputs.center.tolist(), inputs.scale.tolist()) == ([1.0, 2.0], [3.0, 3.0])
    assert (inputs.low.tolist(), inputs.high.tolist()) == ([0.0, -1.0], [5.0, 6.0])
    plain = Inputs.of(None, 2)
    assert (plain.feature_names, plain.named) == (("x1", "x2"), False)
    assert plain.low is None
    for array in (inputs.center, inputs.scale, inputs.low, inputs.high):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    "options",
    [
        {"scale": 0.0},
        {"scale": [1.0, -1.0]},
        {"center": [1.0]},
        {"center": np.nan},
        {"low": [1.0] * 3},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused(options):
    name = next(iter(options))
    refused(lambda: Inputs.of(["a", "b"], **{"low": 0.0, "high": 1.0} | options))
    assert name in {"scale", "center", "low"}


# --- data ------------------------------------------------------------------------------------

ROWS = np.array([[30.0, 1.0, 0.0, 1.0], [40.0, 0.0, 1.0, 0.0]])
SPOKEN = {"smoker": [True, False], "age": [30, 40], "note": ["x", "y"], "sex": ["male", "female"]}
frames = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


@frames
def test_a_factor_is_read_from_its_column_of_text(frame):
    np.testing.assert_array_equal(mixed().read(frame(SPOKEN)), ROWS)
    np.testing.assert_array_equal(scattered().read(frame(SPOKEN)), ROWS[:, [2, 3, 0, 1]])


@frames
def test_a_factor_is_read_from_its_indicators_too(frame):
    names = mixed().feature_names
    data = frame({name: ROWS[:, j] for j, name in reversed(list(enumerate(names)))})
    np.testing.assert_array_equal(mixed().read(data), ROWS)


@frames
def test_features_of_a_factor_may_have_any_names(frame):
    sex = Column.factor("sex", ["male", "female"], ["m", "f"])
    inputs = Inputs((Column("age"), sex, Column("smoker", "binary")))
    np.testing.assert_array_equal(inputs.read(frame(SPOKEN)), ROWS)
    data = frame({"m": [1, 0], "f": [0, 1], "smoker": [1, 0], "age": [30.0, 40.0]})
    np.testing.assert_array_equal(inputs.read(data), ROWS)


def test_arrays_hold_the_features_in_order():
    np.testing.assert_array_equal(mixed().read(ROWS), ROWS)
    np.testing.assert_array_equal(mixed().read(ROWS.tolist()), ROWS)
    assert "3 columns" in refused(lambda: mixed().read(ROWS[:, :3])).found


@frames
def test_frames_go_by_position_where_nobody_gave_names(frame):
    data = frame({"b": [1.0, 2.0], "a": [3.0, 4.0]})
    expected = [[1.0, 3.0], [2.0, 4.0]]
    np.testing.assert_array_equal(Inputs.of(None, 2).read(data), expected)
    np.testing.assert_array_equal(Inputs.of(["a", "b"]).read(data), np.fliplr(expected))


def test_levels_that_are_numbers_are_found_however_they_are_stored():
    inputs = Inputs((Column.factor("rooms", ["3", "4"]),))
    for values in ([3, 4], [3.0, 4.0], ["3", "4"]):
        found = inputs.read(pd.DataFrame({"rooms": values}))
        np.testing.assert_array_equal(found, np.eye(2))


def test_an_unknown_level_or_a_missing_column_is_refused():
    data = pd.DataFrame(SPOKEN)
    error = refused(lambda: mixed().read(data.assign(sex=["male", "other"]), where="predict"))
    assert error.where == "predict"
    assert "'other'" in error.found
    assert "'sex=female'" in refused(lambda: mixed().read(data.drop(columns="sex"))).found


# --- coordinates -----------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_numbers_change_to_the_coordinates_and_their_slopes(seed):
    rng = np.random.default_rng(seed)
    inputs = scattered().around(rng.normal(size=4), rng.uniform(0.5, 2.0, size=4))
    X = rng.normal(size=(5, 4))
    z = inputs.to_working(X)
    np.testing.assert_array_equal(z, (X - inputs.center) / inputs.scale)
    np.testing.assert_array_equal(inputs.to_working(X[0]), z[0])
    np.testing.assert_allclose(inputs.slopes(X), np.broadcast_to(1 / inputs.scale, (5, 4)))
    low, high = inputs.image(X.min(axis=0), X.max(axis=0))
    np.testing.assert_array_equal(low, z.min(axis=0))
    np.testing.assert_array_equal(high, z.max(axis=0))


def curved(root):
    """Make two numbers, the second through a square root."""
    second = Column("b", coordinates=(Coordinate(2.0, 0.5, root(offset=1.0)),))
    return Inputs((Column("a", coordinates=(Coordinate(1.0, 2.0),)), second))


def test_a_feature_with_a_function_goes_through_it(root):
    inputs, X = curved(root), np.array([[3.0, 8.0], [5.0, 0.0]])
    assert inputs.to_working(X).tolist() == [[1.0, 2.0], [2.0, -2.0]]
    assert inputs.to_working(X[0]).tolist() == [1.0, 2.0]
    assert X.tolist() == [[3.0, 8.0], [5.0, 0.0]]
    step = 1e-6
    slopes = (inputs.to_working(X + step) - inputs.to_working(X - step)) / (2 * step)
    np.testing.assert_allclose(inputs.slopes(X), slopes, rtol=1e-8)
    low, high = inputs.image(np.array([1.0, 0.0]), np.array([3.0, 8.0]))
    assert (low.tolist(), high.tolist()) == ([0.0, -2.0], [1.0, 2.0])
    moved = inputs.around(0.0, 1.0)
    assert moved.to_working(X).tolist() == [[3.0, 3.0], [5.0, 1.0]]
    assert moved.coordinates[1].function == root(offset=1.0)


def test_whole_numbers_go_through_a_function_without_being_cut(root):
    assert curved(root).to_working(np.array([[3, 1]])).tolist() == [[1.0, (np.sqrt(2) - 2) / 0.5]]


@pytest.mark.parametrize("ending", [".json", ".npz", ""])
def test_a_polynomial_of_such_a_feature_predicts_rebases_and_keeps_in_files(root, tmp_path, ending):
    terms = ["1", "b", "a b", "b^3"]
    poly = Polynomial.from_terms(terms, [1.0, 2.0, -1.0, 0.5], ["a", "b"], inputs=curved(root))
    X = np.array([[3.0, 8.0], [5.0, 0.5]])
    z = np.column_stack([(X[:, 0] - 1.0) / 2.0, (np.sqrt(X[:, 1] + 1.0) - 2.0) / 0.5])
    expected = 1.0 + 2.0 * z[:, 1] - z[:, 0] * z[:, 1] + 0.5 * z[:, 1] ** 3
    np.testing.assert_allclose(poly.predict(X), expected, rtol=1e-14)
    np.testing.assert_allclose(poly.rebase().predict(X), expected, rtol=1e-12)
    found = n2p.load(poly.save(tmp_path / f"poly{ending}"))
    assert same(found.inputs, poly.inputs)
    np.testing.assert_array_equal(found.predict(X), poly.predict(X))


def test_a_file_with_a_function_that_is_not_known_here_is_refused(root, tmp_path, monkeypatch):
    poly = Polynomial.from_terms(["b"], [1.0], ["a", "b"], inputs=curved(root))
    path = poly.save(tmp_path / "poly.json")
    monkeypatch.undo()
    refused(lambda: n2p.load(path), StorageError)


# --- the range of the data -------------------------------------------------------------------


def test_rows_outside_the_range_are_counted_and_named():
    inputs = Inputs.of(["a", "b"], None, low=[0.0, 0.0], high=[1.0, 1.0])
    X = np.array([[0.5, 0.5], [2.0, 0.5], [0.5, -1.0]])
    assert inputs.count_outside(X) == 2
    with pytest.warns(OutsideRangeWarning, match="'a'"):
        inputs.warn_outside(X)
    inputs.warn_outside(X[:1])


def test_without_a_range_nothing_is_outside():
    inputs = Inputs.of(["a"], None, low=[0.0], high=[1.0]).seen(None, None)
    assert inputs.low is None
    assert inputs.count_outside(np.array([[5.0]])) == 0
    inputs.warn_outside(np.array([[5.0]]))


def test_a_range_that_only_some_columns_know_is_none():
    inputs = Inputs((Column("a", ranges=((0.0, 1.0),)), Column("b")))
    assert (inputs.low, inputs.high) == (None, None)


# --- the same inputs, but for … --------------------------------------------------------------


def test_other_coordinates_keep_everything_else():
    inputs = scattered().seen(0.0, 9.0)
    moved = inputs.around([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 1.0, 2.0])
    assert moved.feature_names == inputs.feature_names
    assert moved.indicators() == inputs.indicators()
    assert moved.high.tolist() == [9.0] * 4
    assert same(moved.around(0.0, 1.0), inputs)


def test_new_names_go_to_the_features_wherever_they_stand():
    renamed = scattered().renamed(["gender=f", "smokes", "years", "gender=m"])
    assert renamed.feature_names == ("gender=f", "smokes", "years", "gender=m")
    assert [column.name for column in renamed.columns] == ["years", "gender", "smokes"]
    assert renamed.columns[1].levels == ("m", "f")
    assert renamed.columns[1].kind == "factor"
    data = pd.DataFrame({"years": [30.0], "gender": ["f"], "smokes": [0]})
    assert renamed.read(data).tolist() == [[1.0, 0.0, 30.0, 0.0]]


def test_names_without_a_level_leave_the_factor_its_own():
    renamed = mixed().renamed(["a", "m", "f", "s"])
    assert (renamed.columns[1].name, renamed.columns[1].levels) == ("sex", ("male", "female"))
    assert renamed.columns[1].features == ("m", "f")


@pytest.mark.parametrize(
    "column",
    [
        SEX,
        Column.factor("a=b", ["x", "y"]),
        Column.factor("a", ["b=x", "b=y"]),
        Column.factor("sex", ["male", "female"], ["s=0", "s=1"]),
        Column.factor("sex", ["male", "female"], ["m", "f"]),
    ],
    ids=lambda column: str(column.features),
)
def test_the_same_names_again_change_nothing(column):
    inputs = Inputs((column,))
    assert same(inputs.renamed(inputs.feature_names), inputs)


def test_a_factor_whose_new_name_holds_an_equals_sign_keeps_its_levels():
    renamed = Inputs((SEX,)).renamed(["a=b=male", "a=b=female"])
    assert (renamed.columns[0].name, renamed.columns[0].levels) == ("a=b", ("male", "female"))


def test_names_make_inputs_named():
    inputs = Inputs.of(None, 2)
    assert inputs.renamed(["a", "b"]).named
    refused(lambda: inputs.renamed(["a"]))
    refused(lambda: inputs.renamed(["a", "a"]))


def test_features_are_grouped_to_columns_that_keep_their_coordinates_and_ranges():
    plain = Inputs.of(["f", "age", "m", "n"], None, [1.0, 2.0, 3.0, 4.0], 2.0, 0.0, [5, 6, 7, 8])
    sex = Column.factor("sex", ["male", "female"], ["m", "f"])
    inputs = plain.grouped([(sex, (2, 0)), (Column("n", "binary"), (3,))])
    assert inputs.feature_names == plain.feature_names
    assert [column.name for column in inputs.columns] == ["age", "sex", "n"]
    assert inputs.indicators() == [(2, 0), (3,)]
    for name in ("center", "scale", "low", "high"):
        np.testing.assert_array_equal(getattr(inputs, name), getattr(plain, name))
    data = pd.DataFrame({"sex": ["female"], "age": [3.0], "n": [1]})
    assert inputs.read(data).tolist() == [[1.0, 3.0, 0.0, 1.0]]


def test_groups_that_overlap_or_tear_a_factor_apart_are_refused():
    plain = Inputs.of(["a", "b", "c"])
    refused(lambda: plain.grouped([(SEX, (0, 1)), (Column("x", "binary"), (1,))]))
    grouped = plain.grouped([(SEX, (0, 1))])
    refused(lambda: grouped.grouped([(Column("x", "binary"), (1,))]))
    refused(lambda: plain.grouped([(SEX, (0,))]))


def test_some_features_are_columns_of_their_own():
    inputs = scattered().around([1.0, 2.0, 3.0, 4.0], 2.0).seen(0.0, [1.0, 2.0, 3.0, 4.0])
    few = inputs.select([3, 2])
    assert few.feature_names == ("sex=male", "age")
    assert few.places == ((0,), (1,))
    assert few.center.tolist() == [4.0, 3.0]
    assert few.high.tolist() == [4.0, 3.0]
    refused(lambda: inputs.select([1, 1]))
    assert inputs.seen(None, None).select([0]).low is None


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
def test_plain_data_give_the_inputs_back(named, root):
    b = Column("b", coordinates=(Coordinate(2.0, 0.5, root(offset=1.0)),), ranges=((0.0, 3.0),))
    inputs = Inputs((SEX, b, Column("é", "binary")), ((3, 0), (1,), (2,)), named)
    data = json.loads(json.dumps(inputs.to_dict()))
    found = Inputs.from_dict(data)
    assert found.columns == inputs.columns
    assert (found.places, found.named) == (inputs.places, named)


def test_inputs_of_any_column_come_back_with_their_polynomial(tmp_path):
    inputs = scattered().around(0.5, 2.0).seen(0.0, 9.0)
    poly = Polynomial(np.arange(5.0)[:, None], 1, inputs=inputs)
    for ending in (".json", ".npz", ""):
        found = n2p.load(poly.save(tmp_path / f"poly{ending}"))
        assert found.inputs.columns == inputs.columns
        assert found.inputs.places == inputs.places
        frame = pd.DataFrame(SPOKEN).assign(age=[3, 4])
        np.testing.assert_array_equal(found.predict(frame), poly.predict(frame))


def test_names_of_columns_reach_the_marks_of_a_factors_holes():
    job = dataclasses.replace(Column.factor("job", ["clerk", "nurse"]), is_text=True)
    inputs = Inputs(
        (Column("age"), job, Column.marking("age", Hole()), Column.marking("job", Hole()))
    )
    named = inputs.renamed(["years", "work"])
    assert named.feature_names == (
        "years", "work=clerk", "work=nurse", "missing(years)", "missing(work)",
    )  # fmt: skip
    assert [column.marks for column in named.columns] == ["", "", "years", "work"]
