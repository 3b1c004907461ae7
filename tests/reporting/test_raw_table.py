"""What a report says of the user's table: the one that was given, before a model fills it in."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly.reporting.collect import collect


def table():
    """A table of 200 rows with holes: numbers, text, and a column of which hardly any is known."""
    rng = np.random.default_rng(0)
    income = rng.lognormal(3.0, 0.5, 200)
    income[5:46] = np.nan
    void = np.full(200, np.nan)
    void[0] = 17.3543366150961
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, 200).astype(float),
            "income": income,
            "void": void,
            "city": rng.choice(["a", "b", "c"], 200).astype(object),
            "smoker": rng.choice(["no", "yes"], 200).astype(object),
        }
    )
    frame.loc[3:6, "city"] = None
    return frame


def fitted(frame, imputer, numbers=("age", "income", "void")):
    """Train a small network behind an imputer and an encoder that lets unknown values through."""
    numeric = make_pipeline(imputer, StandardScaler())
    steps = [("numbers", numeric, list(numbers))]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps.append(("levels", encoder, ["city", "smoker"]))
    network = MLPRegressor(
        hidden_layer_sizes=(3,),
        activation="tanh",
        solver="lbfgs",
        alpha=1.0,
        max_iter=2000,
        random_state=0,
    )
    y = frame["age"] + frame["income"].fillna(20) + 5 * (frame["smoker"] == "yes")
    return make_pipeline(ColumnTransformer(steps), network).fit(frame, y / 20)


@pytest.fixture(scope="module")
def given():
    frame = table()
    model = fitted(frame, SimpleImputer(strategy="median"))
    poly = n2p.convert(model, 2, data=frame)
    return poly, model, frame


@pytest.fixture(scope="module")
def page(given, tmp_path_factory):
    poly, model, frame = given
    path = tmp_path_factory.mktemp("raw") / "r.html"
    # The first row has the only value of the column that is otherwise empty.
    n2p.report(poly, model, frame[1:], path=path)
    return path.read_text("utf-8").split("report-data")[0]


def line(found, column):
    """The cells of a column in the table of columns, by the heads."""
    row = next(row for row in found.columns if row[0] == column)
    return dict(zip(found.columns.columns, row, strict=True))


def test_missing_values_of_every_column_are_counted_in_the_table_that_was_given(given):
    poly, model, frame = given
    found = collect(poly, model, frame, None, "t")
    for column in frame.columns:
        assert line(found, column)["missing"] == frame[column].isna().sum()
    income = line(found, "income")
    assert income["mean"] == pytest.approx(frame["income"].mean())
    assert income["sd"] == pytest.approx(frame["income"].std(ddof=0))
    assert income["distinct"] == frame["income"].nunique()


def test_what_becomes_of_missing_values_is_said(given):
    poly, model, frame = given
    found = collect(poly, model, frame, None, "t")
    median = f"{frame['income'].median():.4g}"
    assert line(found, "income")["missing values"] == f"filled in with {median}"
    assert line(found, "city")["missing values"] == "a level of their own"
    assert line(found, "age")["missing values"] == ""


def test_a_column_without_any_value_is_empty_not_constant(given, page):
    poly, model, frame = given
    void = line(collect(poly, model, frame[1:], None, "t"), "void")
    assert void["type"] == "empty"
    assert void["missing"] == 199
    assert void["distinct"] == 0
    assert void["missing values"] == "filled in with 17.35"
    row = re.search(r'<th scope="row">void</th>(.*?)</tr>', page.split('id="data"')[1])[1]
    assert "constant" not in row
    assert "17.354336" not in row


def test_rows_are_not_called_complete_that_have_holes(given, page):
    poly, model, frame = given
    data = page.split('id="data"')[1].split("</p>")[0]
    assert "complete" not in data
    assert "199 rows; all of them have a missing value" in data  # of the empty column
    some = frame.fillna({"void": 1.0})
    holes = int(some.isna().any(axis=1).sum())
    assert 0 < holes < len(some)
    assert collect(poly, model, some, None, "t").n_filled == holes


def test_without_holes_nothing_is_said_of_them(given):
    poly, model, frame = given
    whole = frame.fillna({"income": 20.0, "void": 1.0, "city": "a"})
    assert "missing values" not in collect(poly, model, whole, None, "t").columns.columns


def test_a_number_that_stands_for_a_hole_is_one():
    frame = table().fillna({"income": -999.0, "city": "a"})
    model = fitted(frame, SimpleImputer(missing_values=-999.0), ("age", "income"))
    poly = n2p.convert(model, 2, data=frame)
    found = collect(poly, model, frame, None, "t")
    income = frame["income"].replace(-999.0, np.nan)
    assert line(found, "income")["missing"] == 41
    assert line(found, "income")["min"] == income.min()
    mean = f"{income.mean():.4g}"
    assert line(found, "income")["missing values"] == f"−999 is missing; filled in with {mean}"


def test_an_imputer_that_looks_at_several_columns_is_named():
    frame = table()
    model = fitted(frame, KNNImputer(), ("age", "income"))
    poly = n2p.convert(model, 2, data=frame)
    found = collect(poly, model, frame, None, "t")
    assert line(found, "income")["missing"] == 41
    assert line(found, "income")["missing values"].startswith("filled in by ")


def test_rows_that_nothing_fills_in_are_left_out_and_said_to_be(make_network, tmp_path):
    X = np.random.default_rng(1).normal(size=(60, 2))
    X[:4, 1] = np.nan
    network = make_network(1, (2, 3, 1)).named(["age", "dose"], ["risk"])
    poly = n2p.convert(network, 2)
    found = collect(poly, network, X, None, "t")
    assert line(found, "dose")["missing"] == 4
    assert line(found, "dose")["missing values"] == "rows left out"
    text = n2p.report(poly, network, X, path=tmp_path / "r.html").read_text("utf-8")
    assert "56 rows; 4 more have a missing value that nothing fills in" in text


def test_a_value_that_the_model_filled_in_is_missing_in_the_list_of_worst_rows(given):
    poly, model, frame = given
    found = collect(poly, model, frame, None, "t")
    for row in found.worst:
        told = dict(zip(found.column_names, row.values, strict=True))
        assert (told["income"] == "missing") == np.isnan(frame["income"][row.row])
    assert any(row.values[found.column_names.index("void")] == "missing" for row in found.worst)


# --- the level of values that the model does not know ----------------------------------------


def test_the_level_of_unknown_values_is_not_counted(given):
    poly, model, frame = given
    found = collect(poly, model, frame.fillna({"city": "a"}), None, "t")
    assert line(found, "smoker")["type"].startswith("2 levels: ")
    assert line(found, "city")["type"].startswith("3 levels: ")  # nor that of missing values
    some = collect(poly, model, frame[frame["city"] != "b"], None, "t")
    assert line(some, "city")["type"].startswith("3 levels, 2 of them here: ")


def test_a_value_that_the_model_does_not_know_is_told_as_other(given):
    poly, model, frame = given
    strange = frame.copy()
    strange.loc[10:29, "city"] = "zzz"
    found = collect(poly, model, strange, None, "t")
    assert line(found, "city")["type"].startswith("3 levels and other values: ")
    assert line(found, "city")["distinct"] == 4


def test_what_nobody_can_count_on_a_page_is_in_no_table_and_no_formula_to_read(given, page):
    poly, model, frame = given
    assert any("(unseen)" in name for name in poly.feature_names)
    read, _, rest = page.partition('class="copies')
    assert "(unseen)" not in read
    assert "(unseen)" not in rest[rest.index('id="data"') :]
    found = collect(poly, model, frame, None, "t")
    choosers = {c["name"]: c["levels"] for c in found.payload["controls"] if "levels" in c}
    assert choosers["smoker"] == ["no", "yes", "any other value"]


def test_the_bars_of_a_factor_leave_out_no_level_that_nobody_knows(visit, given, tmp_path):
    poly, model, frame = given
    page = visit(n2p.report(poly, model, frame, path=tmp_path / "r.html")).page
    page.locator("#effect-feature").select_option(label="smoker")
    page.locator("#chart-effect").scroll_into_view_if_needed()
    page.wait_for_selector("#chart-effect svg.main-svg")
    caption = page.locator("#caption-effect")
    assert "smoker: average" in caption.inner_text()
    assert "Left out" not in caption.inner_text()
    options = page.get_by_label("city", exact=True).locator("option").all_text_contents()
    assert [text.split(" (")[0] for text in options] == [
        "a",
        "b",
        "c",
        "missing",
        "any other value",
    ]
