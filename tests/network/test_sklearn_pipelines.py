"""A pipeline is read as it is: raw columns in, raw outputs out, or the step that cannot be."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.datasets import load_diabetes, load_linnerud, load_wine
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from skorch import NeuralNetRegressor
from torch import manual_seed, nn

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.links import probabilities
from nn2poly.network.readers.sklearn import read

# --- models and data -------------------------------------------------------------------------


def regressor(**options):
    usual = {"hidden_layer_sizes": (6, 4), "activation": "tanh", "max_iter": 40, "random_state": 0}
    return MLPRegressor(**usual | {"learning_rate_init": 0.01, "alpha": 1.0} | options)


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def pipeline(*steps, **options):
    """Name the steps a, b, … and end in a perceptron called mlp."""
    named = [(chr(ord("a") + i), step) for i, step in enumerate(steps)]
    return Pipeline([*named, ("mlp", regressor(**options))])


@pytest.fixture(scope="module")
def diabetes():
    """Ten measurements in their own units, and a target of order one."""
    data = load_diabetes(as_frame=True, scaled=False)
    return data.data, (data.target - 150.0) / 75.0


def people(n=240, seed=0):
    """Make a census-like frame: numbers, words, whole numbers and truths as categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["clerk", "farmer", "teacher", "retired"], n),
            "hours": rng.normal(40.0, 8.0, n),
            "note": [f"person {i}" for i in range(n)],
            "rooms": rng.integers(1, 4, n),
            "married": rng.choice([True, False], n),
            "town": pd.Categorical(rng.choice(["Rome", "Oslo", "x=y"], n)),
        }
    )
    y = X.age / 40 + (X.job == "farmer") * 1.5 - (X.rooms == 2) + X.married + rng.normal(0, 0.1, n)
    return X, y


CATEGORIES = ["job", "rooms", "married", "town"]


def census_pipeline(encoder=None, **options):
    columns = ColumnTransformer(
        [
            ("cat", encoder or OneHotEncoder(), CATEGORIES),
            ("num", StandardScaler(), ["hours", "age"]),
        ]
    )
    return Pipeline([("columns", columns), ("mlp", regressor(**options))])


def assert_same_regressor(model, X, rtol=1e-9):
    network = n2p.read_network(model)
    expected = model.predict(X)
    assert np.std(expected) > 0
    tolerance = rtol * np.max(np.abs(expected))
    np.testing.assert_allclose(network.predict(X), expected, rtol=0, atol=tolerance)
    return network


def refused(model, **options):
    with pytest.raises(UnsupportedModelError) as caught:
        read(model, **options)
    assert caught.value.remedy
    return caught.value


# --- steps that fold -------------------------------------------------------------------------

STEPS = {
    "standard": StandardScaler(),
    "standard without mean": StandardScaler(with_mean=False),
    "standard without deviation": StandardScaler(with_std=False),
    "standard without anything": StandardScaler(with_mean=False, with_std=False),
    "min-max": MinMaxScaler(),
    "min-max of a range": MinMaxScaler((-2.0, 3.0)),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust without center": RobustScaler(with_centering=False),
    "robust without scale": RobustScaler(with_scaling=False),
    "pca": PCA(4, random_state=0),
    "whitened pca": PCA(4, whiten=True, random_state=0),
    "incremental pca": IncrementalPCA(3),
    "svd": TruncatedSVD(3, random_state=0),
    "factors": FactorAnalysis(3, random_state=0),
    "ica": FastICA(3, whiten="unit-variance", random_state=0, max_iter=1000, tol=1e-2),
    "gaussian projection": GaussianRandomProjection(4, random_state=0),
    "sparse projection": SparseRandomProjection(4, random_state=0, dense_output=True),
    "passthrough": "passthrough",
    "none": None,
    "identity function": FunctionTransformer(),
    "imputer": SimpleImputer(),
    "neighbours' imputer": KNNImputer(),
    "iterative imputer": IterativeImputer(max_iter=2, random_state=0),
    "variance threshold": VarianceThreshold(0.5),
    "best columns": SelectKBest(f_regression, k=4),
    "columns of a model": SelectFromModel(LinearRegression()),
    "nested pipeline": make_pipeline(StandardScaler(), make_pipeline(None, PCA(3))),
    "union": FeatureUnion([("scaled", StandardScaler()), ("pca", PCA(2)), ("no", "drop")]),
    "union with everything": FeatureUnion([("all", "passthrough"), ("s", MinMaxScaler())]),
    "weighted union": FeatureUnion(
        [("scaled", StandardScaler()), ("pca", PCA(2))], transformer_weights={"pca": 0.01}
    ),
}


@pytest.mark.parametrize("scaled_after", [True, False], ids=["then scaled", "alone"])
@pytest.mark.parametrize("name", STEPS)
def test_an_affine_step_folds_in_exactly(diabetes, name, scaled_after):
    X, y = diabetes
    model = fit(pipeline(STEPS[name], *[StandardScaler()] * scaled_after), X, y)
    network = assert_same_regressor(model, X)
    assert set(network.feature_names) <= set(X.columns)
    assert network.n_features == len(network.feature_names)


@pytest.mark.parametrize("name", STEPS)
def test_the_coefficients_per_raw_unit_are_the_slopes_of_an_affine_pipeline(diabetes, name):
    X, y = diabetes
    model = fit(pipeline(StandardScaler(), STEPS[name], activation="identity"), X, y)
    poly = n2p.convert(model, max_order=1).rebase()
    middle, half = X.mean().to_numpy(), 0.5 * np.eye(X.shape[1])
    up, down = (pd.DataFrame(middle + sign * half, columns=X.columns) for sign in (1, -1))
    slopes = model.predict(up) - model.predict(down)
    found = [poly.coefficient(n) if n in poly.feature_names else 0.0 for n in X.columns]
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(poly.predict(X), model.predict(X), rtol=0, atol=1e-9)


def test_a_frozen_step_is_what_is_frozen(diabetes):
    X, y = diabetes
    model = pipeline(FrozenEstimator(make_pipeline(StandardScaler(), PCA(4)).fit(X)))
    assert_same_regressor(fit(model, X, y), X)


def test_supervised_projections_of_a_classifier_fold_in():
    data = load_wine(as_frame=True)
    model = make_pipeline(
        StandardScaler(),
        NeighborhoodComponentsAnalysis(3, random_state=0, max_iter=5),
        MLPClassifier((5,), max_iter=50, random_state=0),
    )
    assert_same_classifier(fit(model, data.data, data.target), data.data)


def assert_same_classifier(model, X):
    network = n2p.read_network(model)
    raw = network.predict(X)
    chances = probabilities(raw[:, None] if raw.ndim == 1 else raw, network.link)
    np.testing.assert_allclose(chances, model.predict_proba(X), rtol=0, atol=1e-9)
    assert network.classes == tuple(model.classes_.tolist())
    return network


def test_a_classifier_keeps_its_classes_and_probabilities():
    data = load_wine(as_frame=True)
    y = data.target_names[data.target]
    model = make_pipeline(
        RobustScaler(), MLPClassifier((6,), learning_rate_init=0.01, max_iter=200, random_state=0)
    )
    network = assert_same_classifier(fit(model, data.data, y), data.data)
    assert network.feature_names == tuple(data.data.columns)
    poly = n2p.convert(model, max_order=2, data=data.data)
    card = n2p.fidelity(model, poly, data.data)
    assert card.agreement > 0.95
    agreement = np.mean(poly.predict_label(data.data) == model.predict(data.data))
    assert agreement == pytest.approx(card.agreement)


def test_a_binary_classifier_keeps_its_one_logit():
    data = load_wine(as_frame=True)
    model = make_pipeline(StandardScaler(), MLPClassifier((6,), max_iter=40, random_state=0))
    network = assert_same_classifier(fit(model, data.data, data.target == 1), data.data)
    assert (network.link, network.n_outputs) == ("sigmoid", 1)


@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic"])
def test_fidelity_follows_the_pipeline_in_raw_units(diabetes, activation):
    X, y = diabetes
    model = fit(pipeline(StandardScaler(), activation=activation, max_iter=100), X, y)
    poly = n2p.convert(model, max_order=3, data=X)
    card = n2p.fidelity(model, poly, X)
    assert card.r2 > 0.97
    rmse = np.sqrt(np.mean((poly.predict(X) - model.predict(X)) ** 2))
    assert card.rmse == pytest.approx(rmse)


def test_a_local_polynomial_has_the_slopes_and_curvature_of_the_pipeline(diabetes):
    X, y = diabetes
    model = fit(pipeline(MinMaxScaler(), PCA(6)), X, y)
    point = X.mean().to_frame().T
    poly = n2p.convert(model, max_order=2, around=point).rebase(center=point.to_numpy()[0])
    names, steps = list(X.columns), 1e-3 * X.std()

    def at(*moves):
        moved = point.copy()
        for name, sign in moves:
            moved[name] += sign * steps[name]
        return float(model.predict(moved)[0])

    for one, two in (("bmi", "bp"), ("age", "s5"), ("s1", "s2")):
        slope = (at((one, 1)) - at((one, -1))) / (2 * steps[one])
        assert poly.coefficient((names.index(one),)) == pytest.approx(slope, rel=1e-4)
        mixed = [at((one, s), (two, t)) * s * t for s in (1, -1) for t in (1, -1)]
        curvature = sum(mixed) / (4 * steps[one] * steps[two])
        found = poly.coefficient((names.index(one), names.index(two)))
        assert found == pytest.approx(curvature, rel=1e-3, abs=1e-9)


# --- names and coordinates -------------------------------------------------------------------


def test_the_first_scaler_gives_the_working_coordinates(diabetes):
    X, y = diabetes
    model = fit(pipeline(None, SimpleImputer(), StandardScaler(), PCA(5)), X, y)
    network = n2p.read_network(model)
    np.testing.assert_array_equal(network.center, model["c"].mean_)
    np.testing.assert_array_equal(network.scale, model["c"].scale_)
    assert network.feature_names == tuple(X.columns)


def test_a_scaler_leaves_the_weights_of_the_perceptron_plain(diabetes):
    X, y = diabetes
    model = fit(pipeline(StandardScaler()), X, y)
    network = n2p.read_network(model)
    for layer, weights in zip(network.layers, model["mlp"].coefs_, strict=True):
        np.testing.assert_allclose(layer.weights, weights, rtol=1e-13, atol=0)
    np.testing.assert_allclose(
        network.layers[0].bias, model["mlp"].intercepts_[0], rtol=1e-12, atol=1e-12
    )


def test_without_a_scaler_the_coordinates_are_raw(diabetes):
    X, y = diabetes
    network = n2p.read_network(fit(pipeline(PCA(4), StandardScaler()), X, y))
    assert not network.center.any()
    assert (network.scale == 1.0).all()


def test_columns_that_no_step_uses_are_left_out_when_names_find_the_rest(diabetes):
    X, y = diabetes
    chosen = pipeline(SelectKBest(f_regression, k=3), StandardScaler())
    network = n2p.read_network(fit(chosen, X, y))
    assert network.feature_names == tuple(chosen["a"].get_feature_names_out())
    by_place = n2p.read_network(fit(chosen, X.to_numpy(), y))
    assert by_place.feature_names is None
    assert by_place.n_features == X.shape[1]
    assert_same_regressor(chosen, X.to_numpy())


def test_columns_never_observed_are_dropped_by_the_imputer(diabetes):
    X, y = diabetes
    X = X.assign(age=np.nan)
    model = pipeline(SimpleImputer(), StandardScaler())
    with pytest.warns(UserWarning, match="Skipping features"):
        fit(model, X, y)
    network = n2p.read_network(model)
    assert network.feature_names == tuple(X.columns.drop("age"))
    with pytest.warns(UserWarning, match="Skipping features"):
        np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=0, atol=1e-9)


# --- columns and categories ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "remainder"),
    [
        (["bmi", "age"], "drop"),
        (["bmi", "age"], "passthrough"),
        ([2, -1, 0], "passthrough"),
        (slice("sex", "bp"), StandardScaler()),
        (slice(None, "bp"), "drop"),
        (slice(1, 7, 2), "passthrough"),
        (np.arange(10) % 3 == 0, MinMaxScaler()),
        ([True, False] * 5, "drop"),
        (make_column_selector(pattern="^s"), "passthrough"),
        (pd.Index(["s5", "s1"]), StandardScaler()),
        ([], "passthrough"),
    ],
    ids=lambda part: str(part).partition(" object at ")[0],
)
def test_columns_are_found_however_they_are_named(diabetes, columns, remainder):
    X, y = diabetes
    chosen = ColumnTransformer([("pca", PCA(), columns)], remainder=remainder)
    model = fit(pipeline(chosen, StandardScaler()), X, y)
    network = assert_same_regressor(model, X)
    assert list(network.feature_names) == [c for c in X.columns if c in network.feature_names]


def test_nested_pipelines_weights_and_unions_inside_columns_fold_in(diabetes):
    X, y = diabetes
    both = FeatureUnion([("pca", make_pipeline(StandardScaler(), PCA(2))), ("raw", MinMaxScaler())])
    columns = ColumnTransformer(
        [
            ("union", both, slice("s1", "s6")),
            ("none", "drop", ["sex"]),
            ("same", "passthrough", ["bmi"]),
            ("again", make_pipeline(SimpleImputer(), RobustScaler()), ["bmi", "age"]),
        ],
        transformer_weights={"union": 2.0, "same": 0.1},
    )
    network = assert_same_regressor(fit(pipeline(columns), X, y), X)
    assert "sex" not in network.feature_names
    assert "bp" not in network.feature_names


ENCODERS = {
    "all levels": OneHotEncoder(),
    "first dropped": OneHotEncoder(drop="first"),
    "dropped if binary": OneHotEncoder(drop="if_binary", sparse_output=False),
    "chosen ones dropped": OneHotEncoder(drop=["farmer", 2, True, "x=y"]),
    "after an imputer": make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder()
    ),
}
LEVELS = ("job=clerk", "job=farmer", "job=retired", "job=teacher")


@pytest.mark.parametrize("name", ENCODERS)
def test_one_hot_columns_are_inputs_named_by_column_and_level(name):
    X, y = people()
    model = fit(census_pipeline(ENCODERS[name]), X.astype({"rooms": object}), y)
    network = assert_same_regressor(model, X.astype({"rooms": object}))
    assert network.feature_names[:5] == ("age", *LEVELS)
    assert network.feature_names[5:9] == ("hours", "rooms=1", "rooms=2", "rooms=3")
    assert network.feature_names[9:11] == ("married=False", "married=True")
    assert network.feature_names[11:] == ("town=Oslo", "town=Rome", "town=x=y")
    np.testing.assert_allclose(
        network.center[[0, 5]], [X.age.mean(), X.hours.mean()], rtol=1e-12, atol=0
    )
    assert not network.center[1:5].any()


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoded_column_is_one_factor_with_all_its_levels(name):
    X, y = people()
    X = X.astype({"rooms": object})
    network = assert_same_regressor(fit(census_pipeline(ENCODERS[name]), X, y), X)
    found = [(c.name, c.kind, c.levels) for c in network.inputs.columns]
    assert found == [
        ("age", "number", ()),
        ("job", "factor", ("clerk", "farmer", "retired", "teacher")),
        ("hours", "number", ()),
        ("rooms", "factor", ("1", "2", "3")),
        ("married", "factor", ("False", "True")),
        ("town", "factor", ("Oslo", "Rome", "x=y")),
    ]
    age, job = network.inputs.columns[:2]
    assert job.features == LEVELS
    assert all(place.is_plain for place in job.coordinates)
    assert age.coordinates[0].center == pytest.approx(X.age.mean())
    assert age.coordinates[0].scale == pytest.approx(X.age.std(ddof=0))


def test_features_that_are_renamed_stay_one_factor():
    X, y = people()
    network = n2p.read_network(fit(census_pipeline(), X, y))
    names = [name.replace("job=", "work=") for name in network.feature_names]
    renamed = network.named(names)
    assert [c.name for c in renamed.inputs.columns][:2] == ["age", "work"]
    assert renamed.inputs.columns[1].levels == network.inputs.columns[1].levels
    expected = network.predict(X)
    np.testing.assert_array_equal(renamed.predict(X.rename(columns={"job": "work"})), expected)


@pytest.mark.parametrize("name", ["all levels", "first dropped"])
def test_a_polynomial_of_categories_predicts_on_the_raw_frame(name):
    X, y = people()
    model = fit(census_pipeline(ENCODERS[name], max_iter=150), X, y)
    poly = n2p.convert(model, max_order=2, data=X)
    card = n2p.fidelity(model, poly, X)
    assert card.r2 > 0.95
    rmse = np.sqrt(np.mean((poly.predict(X) - model.predict(X)) ** 2))
    assert card.rmse == pytest.approx(rmse)
    assert n2p.sparse_path(model, poly, X, max_terms=5).r2[-1] > 0.5
    # Indicators are their own squares, and two levels of one column never meet.
    assert not {"job=clerk^2", "job=clerk · job=farmer"} & set(poly.term_names())


def test_the_levels_have_the_effects_of_an_affine_pipeline():
    X, y = people()
    model = fit(census_pipeline(OneHotEncoder(drop="first"), activation="identity"), X, y)
    poly = n2p.convert(model, max_order=1).rebase()
    row = X.iloc[[0]]
    base = model.predict(row.assign(job="clerk"))[0]
    assert poly.coefficient("job=clerk") == 0.0
    for job in ("farmer", "teacher"):
        effect = model.predict(row.assign(job=job))[0] - base
        assert poly.coefficient(f"job={job}") == pytest.approx(effect, abs=1e-9)
    assert poly.coefficient("age") == pytest.approx(
        model.predict(row.assign(age=row.age + 1))[0] - model.predict(row)[0], abs=1e-9
    )


def test_a_column_that_is_a_number_and_a_category_is_refused_and_a_second_one_helps():
    X, y = people()
    X = X.assign(rooms_kind=X["rooms"])

    def columns(second):
        encoded = [("number", StandardScaler(), ["rooms"]), ("level", OneHotEncoder(), [second])]
        return fit(pipeline(ColumnTransformer(encoded)), X, y)

    with pytest.raises(UnsupportedModelError, match="twice: as a number, and as its cat") as error:
        n2p.read_network(columns("rooms"))
    assert "a second column with the same values" in error.value.remedy
    network = assert_same_regressor(columns("rooms_kind"), X)
    assert network.feature_names == ("rooms", *(f"rooms_kind={k}" for k in (1, 2, 3)))


def test_a_scaler_after_the_encoder_folds_in():
    X, y = people()
    columns = ColumnTransformer(
        [("cat", OneHotEncoder(sparse_output=False), ["job"])], remainder="passthrough"
    )
    model = pipeline(columns, StandardScaler())
    X = X[["job", "age", "hours"]]
    network = assert_same_regressor(fit(model, X, y), X)
    assert network.feature_names == (*LEVELS, "age", "hours")
    np.testing.assert_allclose(network.center[-2:], X[["age", "hours"]].mean(), rtol=1e-12)


def test_the_same_pipeline_reads_polars_frames():
    X, y = people()
    frame = pl.DataFrame(X.to_dict(orient="list"), schema_overrides={"town": pl.Categorical})
    model = fit(census_pipeline(), frame, y)
    network = assert_same_regressor(model, frame)
    np.testing.assert_array_equal(network.predict(X), network.predict(frame))
    assert n2p.fidelity(model, n2p.convert(model, 2, data=frame), frame).r2 > 0.9


def test_whole_numbers_stored_as_floats_are_the_same_levels():
    X, y = people()
    model = fit(census_pipeline(), X.astype({"rooms": float}), y)
    network = n2p.read_network(model)
    assert "rooms=2" in network.feature_names
    np.testing.assert_array_equal(
        network.predict(X), network.predict(X.astype({"rooms": float, "age": np.float32}))
    )


def test_a_missing_value_can_be_a_level_of_its_own():
    X, y = people()
    X = X.assign(job=X.job.where(X.job != "clerk"))
    network = assert_same_regressor(fit(census_pipeline(), X, y), X)
    assert "job=nan" in network.feature_names


def test_a_missing_category_is_refused_by_its_column():
    X, y = people()
    model = fit(census_pipeline(), X, y)
    with pytest.raises(InvalidInputError, match=r"NaN.*\n.*\n.*\n.*1 of 240 rows.*column 'job'"):
        n2p.read_network(model).predict(X.assign(job=X.job.where(X.index != 3)))


def test_a_level_that_the_encoder_refuses_is_refused_by_its_value():
    X, y = people()
    model = fit(census_pipeline(OneHotEncoder(handle_unknown="error")), X, y)
    with pytest.raises(InvalidInputError, match="'job'") as caught:
        n2p.read_network(model).predict(X.assign(job=X.job.replace("clerk", "baker")))
    assert "'baker'" in caught.value.found
    assert "'farmer'" in caught.value.expected


def test_columns_without_names_are_counted_when_a_level_needs_a_name():
    X, y = people()
    X = X[["age", "job", "hours"]]
    columns = ColumnTransformer([("cat", OneHotEncoder(), [1])], remainder=StandardScaler())
    model = fit(pipeline(columns), X.to_numpy(dtype=object), y)
    network = n2p.read_network(model)
    assert network.feature_names[:2] == ("x1", "x2=clerk")
    named = X.set_axis(["x1", "x2", "x3"], axis="columns")
    np.testing.assert_allclose(
        network.predict(named), model.predict(X.to_numpy(dtype=object)), rtol=0, atol=1e-9
    )


# --- wrappers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "transformer",
    [StandardScaler(), MinMaxScaler((1, 3)), MaxAbsScaler(), RobustScaler(), None,
     make_pipeline(RobustScaler(), None, MinMaxScaler())],
    ids=str,
)  # fmt: skip
def test_an_affine_target_folds_into_the_last_layer(transformer):
    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data, data.target
    model = TransformedTargetRegressor(pipeline(StandardScaler()), transformer=transformer)
    network = assert_same_regressor(fit(model, X, y), X)
    assert len(network.layers) == 3
    poly = n2p.convert(model, 2, data=X)
    card = n2p.fidelity(model, poly, X)
    assert card.r2 > 0.9
    rmse = np.sqrt(np.mean((poly.predict(X) - model.predict(X)) ** 2))
    assert card.rmse == pytest.approx(rmse)


def test_several_targets_are_each_brought_back():
    data = load_linnerud(as_frame=True)
    model = make_pipeline(
        StandardScaler(), TransformedTargetRegressor(regressor(), transformer=StandardScaler())
    )
    network = assert_same_regressor(fit(model, data.data, data.target), data.data)
    assert network.n_outputs == 3


def test_a_poisson_regressor_inside_a_pipeline_keeps_its_exponential(diabetes):
    X, y = diabetes
    model = pipeline(StandardScaler(), loss="poisson")
    network = assert_same_regressor(fit(model, X, y - y.min()), X)
    assert network.layers[-1].activation.name == "exp"


@pytest.mark.parametrize("kind", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV])
def test_a_search_is_read_as_its_best_estimator(diabetes, kind):
    X, y = diabetes
    options = {"n_iter": 2, "random_state": 0} if kind is RandomizedSearchCV else {}
    grid = {"mlp__hidden_layer_sizes": [(3,), (4, 2)]}
    search = fit(kind(pipeline(StandardScaler()), grid, cv=2, **options), X, y)
    network = assert_same_regressor(search, X)
    best = search.best_params_["mlp__hidden_layer_sizes"]
    assert tuple(layer.n_outputs for layer in network.layers[:-1]) == best


def test_wrappers_nest_at_will(diabetes):
    X, y = diabetes
    search = GridSearchCV(regressor(), {"alpha": [0.1, 1.0]}, cv=2)
    inner = make_pipeline(PCA(5), TransformedTargetRegressor(search, transformer=MinMaxScaler()))
    model = TransformedTargetRegressor(
        make_pipeline(ColumnTransformer([("all", StandardScaler(), list(X.columns))]), inner),
        transformer=StandardScaler(),
    )
    assert_same_regressor(fit(model, X, y), X)
    assert_same_regressor(make_pipeline(FrozenEstimator(model)), X)


def test_a_network_of_another_framework_may_end_the_pipeline(diabetes):
    X, y = diabetes
    manual_seed(0)
    module = nn.Sequential(nn.Linear(10, 4), nn.Tanh(), nn.Linear(4, 1))
    net = NeuralNetRegressor(module, max_epochs=2, train_split=None, verbose=0)
    cast = FunctionTransformer(lambda X: X.astype(np.float32))
    scaler = StandardScaler().fit(X.to_numpy(dtype=np.float32))
    net.fit(
        cast.transform(scaler.transform(X.to_numpy(dtype=np.float32))), y.to_numpy("f4")[:, None]
    )
    model = make_pipeline(FrozenEstimator(scaler), net)
    values = X.to_numpy(dtype=np.float32)
    expected = model.predict(values)[:, 0]
    np.testing.assert_allclose(n2p.read_network(model).predict(values), expected, atol=1e-5)


# --- reading after a step --------------------------------------------------------------------


def bins_pipeline():
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    return pipeline(SimpleImputer(), bins, StandardScaler())


def test_what_comes_after_a_step_is_read_in_the_columns_that_it_gives(diabetes):
    X, y = diabetes
    model = fit(bins_pipeline(), X, y)
    network = n2p.read_network(model, after="b")
    binned = model[:2].transform(X)
    np.testing.assert_allclose(network.predict(binned), model.predict(X), rtol=0, atol=1e-9)
    assert network.feature_names == tuple(f"bin({name})" for name in X)
    np.testing.assert_array_equal(network.center, model["c"].mean_)
    poly = n2p.convert(model, 2, data=binned, after="b")
    assert n2p.fidelity(network, poly, binned).r2 > 0.9


def test_names_after_a_step_are_those_that_it_gives(diabetes):
    X, y = diabetes
    model = fit(pipeline(StandardScaler(), PCA(3)), X, y)
    assert n2p.read_network(model, after="a").feature_names == tuple(X.columns)
    assert n2p.read_network(model, after="b").feature_names == ("pca0", "pca1", "pca2")
    fit(model, X.to_numpy(), y)
    assert n2p.read_network(model, after="a").feature_names is None
    doubled = pipeline(FunctionTransformer(lambda X: X.to_numpy() ** 2), StandardScaler())
    network = n2p.read_network(fit(doubled, X, y), after="a")
    assert network.feature_names is None
    np.testing.assert_allclose(network.predict(X.to_numpy() ** 2), doubled.predict(X), atol=1e-9)


@pytest.mark.parametrize(("after", "width"), [("a__bins", 10), ("a", 3), ("a__pca", 3), ("b", 3)])
def test_a_step_of_a_nested_pipeline_is_named_with_underscores(diabetes, after, width):
    X, y = diabetes
    inner = Pipeline([("bins", QuantileTransformer(n_quantiles=50)), ("pca", PCA(3))])
    model = GridSearchCV(pipeline(inner, StandardScaler()), {"mlp__alpha": [0.1]}, cv=2)
    error = refused(fit(model, X, y))
    assert "after='a__bins'" in error.remedy
    network = n2p.read_network(model, after=after)
    assert network.n_features == width
    steps = {"a__bins": inner.fit(X)[:1], "a": inner, "a__pca": inner}
    if after in steps:
        np.testing.assert_allclose(
            network.predict(steps[after].transform(X)), model.predict(X), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize(("after", "remedy"), [("d", "leave it out"), ("scaler", "scale"), (3, "")])
def test_a_step_that_is_not_there_is_refused_with_the_steps(diabetes, after, remedy):
    X, y = diabetes
    model = Pipeline([("scale", StandardScaler()), ("mlp", regressor())])
    with pytest.raises(InvalidInputError) as caught:
        read(fit(model, X, y), after=after)
    assert caught.value.found == repr(after)
    assert "'scale'" in caught.value.expected
    assert remedy in caught.value.remedy


def test_a_model_without_steps_has_nothing_to_start_after(diabetes):
    with pytest.raises(InvalidInputError, match="a pipeline with steps"):
        read(fit(regressor(), *diabetes), after="mlp")


# --- what is refused -------------------------------------------------------------------------


class Halver(StandardScaler):
    """Looks like a scaler, and does something else."""

    def transform(self, X, copy=None):
        return super().transform(X, copy=copy) / 2


class SameScaler(StandardScaler):
    """A subclass that changes nothing."""


REFUSED = {
    "powers": PolynomialFeatures(2),
    "quantiles": QuantileTransformer(n_quantiles=20),
    "normal quantiles": QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    "splines": SplineTransformer(),
    "lengths": Normalizer(),
    "function": FunctionTransformer(np.cbrt),
    "clipped": MinMaxScaler(clip=True),
    "own transform": Halver(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_step_that_is_not_affine_is_refused_by_name_with_the_way_out(diabetes, name):
    X, y = diabetes
    X = X + 1.0
    step = REFUSED[name]
    model = fit(Pipeline([(name, step), ("scale", StandardScaler()), ("mlp", regressor())]), X, y)
    error = refused(model)
    assert f"{name!r} ({type(step).__name__})" in error.what
    assert f"read_network(pipeline, after={name!r})" in error.remedy
    network = n2p.read_network(model, after=name)
    given = model[:1].transform(X)
    np.testing.assert_allclose(
        network.predict(np.asarray(given)), model.predict(X), rtol=0, atol=1e-9
    )


def test_the_reason_of_a_refusal_is_given(diabetes):
    X, y = diabetes
    reasons = {"function": "cbrt", "clipped": "clip=True",
               "own transform": "transform method", "lengths": "not affine"}  # fmt: skip
    for name, reason in reasons.items():
        model = Pipeline([(name, REFUSED[name]), ("mlp", regressor())])
        assert reason in refused(fit(model, X + 1.0, y)).what


def test_a_subclass_that_changes_nothing_is_read(diabetes):
    assert_same_regressor(fit(pipeline(SameScaler()), *diabetes), diabetes[0])


def test_a_refused_step_inside_columns_is_named_and_left_by_the_columns(diabetes):
    X, y = diabetes
    inner = Pipeline([("scale", StandardScaler()), ("bins", REFUSED["quantiles"])])
    columns = ColumnTransformer([("num", inner, ["bmi", "bp"])], remainder="passthrough")
    model = Pipeline([("columns", columns), ("scale", StandardScaler()), ("mlp", regressor())])
    error = refused(fit(model, X, y))
    assert "'columns__num__bins' (QuantileTransformer)" in error.what
    assert "after='columns'" in error.remedy
    network = n2p.read_network(model, after="columns")
    assert network.feature_names[:3] == ("rank(bmi)", "rank(bp)", "remainder__age")


def test_codes_of_codes_are_refused():
    X, y = people()
    coded = pipeline(StandardScaler(), OneHotEncoder(handle_unknown="ignore"))
    error = refused(fit(coded, X[["age"]], y))
    assert "another step has computed" in error.what


def test_a_column_encoded_twice_in_different_ways_is_refused():
    X, y = people()
    more = [["clerk", "farmer", "teacher", "retired", "baker"]]
    columns = ColumnTransformer(
        [("one", OneHotEncoder(), ["job"]), ("two", OneHotEncoder(categories=more), ["job"])]
    )
    assert "other levels" in refused(fit(pipeline(columns), X, y)).what


def test_parameters_that_are_not_finite_are_refused(diabetes):
    X, y = diabetes
    model = fit(pipeline(StandardScaler()), X, y)
    model["a"].mean_[0] = np.nan
    assert "NaN" in refused(model).what


def test_a_step_that_is_not_fitted_is_refused_by_name(diabetes):
    X, y = diabetes
    fitted = fit(regressor(), X.to_numpy(), y)
    error = refused(Pipeline([("scale", StandardScaler()), ("mlp", fitted)]))
    assert "Step 'scale' (StandardScaler) is not fitted" in error.what
    assert "fit(X, y)" in error.remedy
    error = refused(pipeline(StandardScaler()))
    assert "MLPRegressor is not fitted yet (step 'mlp' of the pipeline)" in error.what


@pytest.mark.parametrize(
    "model",
    [TransformedTargetRegressor(regressor()), GridSearchCV(regressor(), {"alpha": [1.0]})],
    ids=["target", "search"],
)
def test_a_wrapper_that_is_not_fitted_is_refused(model):
    error = refused(model)
    assert f"{type(model).__name__}" in error.what
    assert "not fitted" in error.what


def test_a_search_that_kept_no_model_is_refused(diabetes):
    search = GridSearchCV(regressor(), {"alpha": [0.1, 1.0]}, cv=2, refit=False)
    error = refused(fit(search, *diabetes))
    assert "refit=False" in error.what
    assert "refit=True" in error.remedy


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"func": np.cbrt, "inverse_func": lambda z: z**3, "check_inverse": False}, "cbrt"),
        ({"transformer": QuantileTransformer(n_quantiles=20)}, "QuantileTransformer"),
        ({"transformer": PowerTransformer()}, "PowerTransformer"),
    ],
)
def test_a_target_that_is_not_affine_is_refused_with_the_regressor_inside(diabetes, options, name):
    X, y = diabetes
    model = TransformedTargetRegressor(pipeline(StandardScaler()), **options)
    fit(model, X, y - y.min() + 1.0)
    error = refused(model)
    assert f"transformed by {name}" in error.what
    assert "model.regressor_" in error.remedy
    assert_same_regressor(model.regressor_, X)


@pytest.mark.parametrize(
    "end",
    [LinearRegression(), MultiOutputRegressor(regressor()), PCA(), "passthrough"],
    ids=["linear", "several", "transformer", "nothing"],
)
def test_a_pipeline_that_does_not_end_in_a_network_is_refused(diabetes, end):
    X, y = diabetes
    model = fit(Pipeline([("scale", StandardScaler()), ("end", end)]), X, y.to_frame())
    error = refused(model)
    assert f"'end' ({type(end).__name__})" in error.what
    assert ("estimators_" in error.remedy) == isinstance(end, MultiOutputRegressor)


def test_an_estimator_that_is_no_network_is_refused_by_its_path(diabetes):
    X, y = diabetes
    error = refused(fit(MultiOutputRegressor(regressor()), X, y.to_frame()))
    assert "MultiOutputRegressor" in error.what
    assert "sklearn.multioutput.MultiOutputRegressor" in error.found
