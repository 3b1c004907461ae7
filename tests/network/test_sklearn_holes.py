"""Imputers of scikit-learn pipelines: missing values are filled in as the pipeline does."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.inputs import Hole

NUMBERS = ["income", "age", "rate"]
pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")


def numbers(n=240, seed=0, holes=0.15, code=np.nan):
    """Make a frame of numbers with holes, and a target."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal([30.0, 40.0, 0.1], [9.0, 12.0, 0.05], (n, 3)), columns=NUMBERS)
    y = X.income / 10 + (X.age / 20) ** 2 - X.rate * 5 + rng.normal(0, 0.1, n)
    return X.mask(rng.random(X.shape) < holes, code), y.to_numpy()


def words(n=240, seed=1):
    """Make a frame of a number and two columns of text with holes, and a target."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(40.0, 9.0, n), "job": rng.choice(["a", "b", "c"], n)})
    X["home"] = rng.choice(["own", "rent"], n)
    y = X.age / 10 + (X.job == "b") * 2.0 - (X.home == "own")
    X["job"] = X.job.mask(rng.random(n) < 0.2)
    X["home"] = X.home.mask(rng.random(n) < 0.1)
    return X, y.to_numpy()


def fitted(steps, X, y):
    model = make_pipeline(
        *steps, MLPRegressor(hidden_layer_sizes=(6,), max_iter=40, random_state=0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def assert_same(model, X):
    network = n2p.read_network(model)
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=0, atol=1e-11)
    return network


SIMPLE = {
    "mean": [SimpleImputer(), StandardScaler()],
    "median": [SimpleImputer(strategy="median"), StandardScaler()],
    "most frequent": [SimpleImputer(strategy="most_frequent"), StandardScaler()],
    "constant": [SimpleImputer(strategy="constant", fill_value=7.0), StandardScaler()],
    "indicators": [SimpleImputer(add_indicator=True), StandardScaler()],
    "after a scaler": [StandardScaler(), SimpleImputer(strategy="median", add_indicator=True)],
    "two imputers": [
        FeatureUnion([("mean", SimpleImputer()), ("none", SimpleImputer(strategy="constant"))]),
        StandardScaler(),
    ],
    "two scales": [
        FeatureUnion(
            [
                ("scaled", make_pipeline(StandardScaler(), SimpleImputer(strategy="constant"))),
                ("raw", SimpleImputer()),
            ]
        ),
        StandardScaler(),
    ],
    "indicators alone": [
        FeatureUnion([("values", SimpleImputer()), ("holes", MissingIndicator(features="all"))]),
        StandardScaler(),
    ],
    "a function of several": [IterativeImputer(max_iter=3, random_state=0), StandardScaler()],
    "neighbours": [KNNImputer(), StandardScaler()],
    "scaled neighbours": [StandardScaler(), KNNImputer(add_indicator=True)],
}


@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("name", SIMPLE)
def test_missing_numbers_are_filled_in_as_the_pipeline_does(name, kind):
    X, y = numbers()
    new, _ = numbers(80, 5, 0.3)
    if kind == "array":
        X, new = X.to_numpy(), new.to_numpy()
    model = fitted(SIMPLE[name], X, y)
    network = assert_same(model, new)
    poly = n2p.convert(model, 2, data=X)
    assert np.isfinite(poly.predict(new)).all()
    assert n2p.fidelity(model, poly, new).n_rows == len(new)
    if network.inputs.imputers == () and kind == "frame":
        assert all(column.hole is not None for column in network.inputs.columns)


def test_a_value_that_means_a_hole_is_one():
    X, y = numbers(code=-999.0)
    new, _ = numbers(80, 5, 0.3, code=-999.0)
    steps = [SimpleImputer(missing_values=-999.0, add_indicator=True), StandardScaler()]
    network = assert_same(fitted(steps, X, y), new)
    hole = network.inputs.columns[0].hole
    assert hole == Hole(pytest.approx(X.income[X.income > -999].mean()), -999.0)
    with pytest.raises(InvalidInputError, match="the first is row 3"):
        network.predict(new.assign(age=new.age.where(new.index != 3)))


ENCODED = {
    "constant": make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder()
    ),
    "most frequent": make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
    "a level of its own": OneHotEncoder(),
    "dropped": make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(drop="first")
    ),
    "ignored": make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"),
        OneHotEncoder(categories=[["a", "b"], ["own"]], handle_unknown="ignore"),
    ),
    "indicators": FeatureUnion(
        [
            ("levels", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())),
            ("holes", MissingIndicator()),
        ]
    ),
}


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
@pytest.mark.parametrize("name", ENCODED)
def test_missing_levels_are_filled_in_as_the_pipeline_does(name, dtype):
    X, y = words()
    X = X.astype({"job": dtype, "home": dtype})
    columns = ColumnTransformer(
        [("cat", ENCODED[name], ["job", "home"])], remainder=StandardScaler()
    )
    network = assert_same(fitted([columns], X, y), X)
    assert "age" in network.feature_names


def test_a_hole_that_nothing_fills_is_no_level_where_unknown_ones_are_ignored():
    X, y = words()
    encoder = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer([("cat", encoder, ["job", "home"])], remainder="passthrough")
    model = fitted([columns], X.dropna(), y[X.notna().all(axis=1)])
    assert_same(model, X.assign(job=X.job.replace("a", "astronaut")))


def test_a_text_that_means_a_hole_is_one():
    X, y = words()
    X = X.fillna("?")
    imputer = SimpleImputer(missing_values="?", strategy="most_frequent")
    columns = ColumnTransformer(
        [("cat", make_pipeline(imputer, OneHotEncoder()), ["job", "home"])], remainder="passthrough"
    )
    network = assert_same(fitted([columns], X, y), X)
    job = next(column for column in network.inputs.columns if column.name == "job")
    assert (job.hole.code, "?" in job.levels) == ("?", False)


def test_none_na_and_polars_nulls_are_holes():
    polars = pytest.importorskip("polars")
    X, y = numbers()
    model = fitted(SIMPLE["indicators"], X, y)
    network, wanted = n2p.read_network(model), model.predict(X)
    lists = [[None if np.isnan(v) else v for v in row] for row in X.to_numpy().tolist()]
    frames = {
        "None": pd.DataFrame(lists, columns=NUMBERS, dtype=object),
        "NA": X.astype("Float64"),
        "polars": polars.DataFrame(lists, schema=NUMBERS, orient="row"),
    }
    for name, frame in frames.items():
        np.testing.assert_allclose(network.predict(frame), wanted, atol=1e-11, err_msg=name)


def test_regions_fill_a_hole_in_the_column_that_they_ask_about():
    X, y = numbers(2000, holes=0.1)
    y = np.where(X.income.fillna(30.0) > 30.0, 3.0 * y, -y)
    model = fitted(SIMPLE["indicators"], X, y)
    formula = n2p.convert(model, 2, data=X, regions=4)
    rows = X.fillna(X.mean())
    assert len(formula.regions) > 1
    np.testing.assert_array_equal(
        formula.region_of(X[X.age.notna() & X.rate.notna()]),
        formula.region_of(rows[X.age.notna() & X.rate.notna()]),
    )


@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_a_file_keeps_what_fills_the_holes(tmp_path, ending):
    X, y = numbers()
    poly = n2p.convert(fitted(SIMPLE["indicators"], X, y), 2, data=X)
    again = n2p.load(poly.save(tmp_path / f"poly{ending}"))
    np.testing.assert_array_equal(again.predict(X), poly.predict(X))


def test_an_imputer_that_is_a_model_is_not_in_the_file(tmp_path):
    X, y = numbers()
    model = fitted(SIMPLE["neighbours"], X, y)
    poly = n2p.convert(model, 2, data=X)
    again = n2p.load(poly.save(tmp_path / "poly.json"))
    with pytest.raises(InvalidInputError, match="NaN"):
        again.predict(X)
    filled = pd.DataFrame(model[0].transform(X), columns=NUMBERS)
    np.testing.assert_allclose(again.predict(filled), poly.predict(X))
    assert n2p.fidelity(model, again, X).r2 == pytest.approx(n2p.fidelity(model, poly, X).r2)


def test_without_an_imputer_rows_with_holes_are_refused_by_number():
    X, y = numbers(holes=0.0)
    model = fitted([StandardScaler()], X, y)
    holes = X.assign(age=X.age.where(~X.index.isin([4, 9])))
    with pytest.raises(InvalidInputError, match=r"2 of 240 rows .the first is row 4., in column"):
        n2p.convert(model, data=holes)


def test_without_an_imputer_rows_with_holes_can_be_skipped():
    X, y = numbers(holes=0.0)
    model = fitted([StandardScaler()], X, y)
    holes = X.assign(age=X.age.where(~X.index.isin([4, 9])))
    poly = n2p.convert(model, data=holes, missing="skip")
    wanted = n2p.convert(model, data=holes.dropna())
    np.testing.assert_allclose(poly.predict(X), wanted.predict(X))
    assert n2p.fidelity(model, poly, holes, missing="skip").n_rows == len(X) - 2


def test_a_column_taken_with_and_without_its_holes_is_not_filled_in():
    X, y = numbers()
    union = FeatureUnion([("filled", SimpleImputer()), ("raw", StandardScaler())])
    model = fitted([union], X.fillna(0.0), y)
    with pytest.raises(InvalidInputError, match="NaN"):
        n2p.read_network(model).predict(X)


def test_two_values_for_one_hole_are_refused():
    X, y = numbers(code=-1.0)
    union = FeatureUnion([("one", SimpleImputer(missing_values=-1.0)), ("nan", SimpleImputer())])
    with pytest.raises(UnsupportedModelError, match="another value for missing"):
        n2p.read_network(fitted([union], X, y))


def test_an_imputer_of_several_columns_keeps_those_that_nothing_else_uses():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    y = X.a + X.b
    holes = X.mask(rng.random(X.shape) < 0.1)
    chosen = make_column_transformer(("passthrough", [0, 1]))
    network = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(KNNImputer(), chosen, network).fit(holes, y)
    found = n2p.read_network(model)
    assert found.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(found.predict(holes), model.predict(holes), rtol=0, atol=1e-9)


def test_bins_behind_an_imputer_of_several_columns_are_refused():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=list("ab"))
    holes = X.mask(rng.random(X.shape) < 0.1)
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    network = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(KNNImputer(), bins, network).fit(holes, X.a)
    with pytest.raises(UnsupportedModelError, match="an imputer of several columns fills in"):
        n2p.read_network(model)
