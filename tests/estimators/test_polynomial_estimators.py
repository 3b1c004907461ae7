"""Train a network, predict with its polynomial."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.ensemble import VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, OutsideRangeWarning, UnsupportedModelError

LBFGS = {"activation": "tanh", "solver": "lbfgs", "alpha": 0.3, "max_iter": 5000, "tol": 1e-3}


def small_regressor(**options):
    return MLPRegressor(hidden_layer_sizes=6, **LBFGS, **options)


def small_classifier(**options):
    return MLPClassifier((6,), **LBFGS, **options)


def scaled(network):
    return make_pipeline(StandardScaler(), network)


@pytest.fixture(name="saddle", scope="module")
def fixture_saddle():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    return X, X[:, 0] * X[:, 1] + 0.5 * X[:, 2]


# --- regression ------------------------------------------------------------------------------


def test_the_default_learns_diabetes_about_as_well_as_its_network():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = n2p.PolynomialRegressor(outside="clip", random_state=0).fit(X_train, y_train)
    assert model.score(X_test, y_test) > model.estimator_.score(X_test, y_test) - 0.1
    assert model.polynomial_.feature_names == tuple(X.columns)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.card_ is model.polynomial_.card
    assert model.card_.r2 > 0.8


def test_transforms_are_those_of_convert_and_name_the_columns(saddle):
    X, y = saddle
    model = n2p.PolynomialRegressor(small_regressor(), transforms={"x1": "rank"}).fit(X, y)
    assert model.get_feature_names_out()[1] == "rank(x1)"
    assert "'x1' enters as its rank in the sample" in str(model.card_.verdict)


def test_predictions_are_those_of_the_polynomial(saddle):
    X, y = saddle
    model = n2p.PolynomialRegressor(small_regressor(), 3, random_state=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.polynomial_.predict(X))
    assert model.score(X, y) > 0.95
    assert model.polynomial_.max_order == 3


def test_the_estimator_that_was_passed_stays_as_it_was(saddle):
    X, y = saddle
    inner = small_regressor()
    model = n2p.PolynomialRegressor(inner, random_state=3).fit(X, y)
    assert not hasattr(inner, "coefs_")
    assert inner.random_state is None
    assert model.estimator_ is not inner


def test_a_seed_makes_the_fit_repeatable_down_to_the_parts(saddle):
    X, y = saddle
    models = [n2p.PolynomialRegressor(scaled(small_regressor()), random_state=7) for _ in range(2)]
    first, second = (model.fit(X, y).polynomial_.coefficients for model in models)
    np.testing.assert_array_equal(first, second)
    assert models[0].estimator_[-1].random_state == models[1].estimator_[-1].random_state


def test_several_targets_give_several_outputs(saddle):
    X, y = saddle
    targets = np.column_stack([y, X[:, 1] ** 2, X[:, 0]])
    model = n2p.PolynomialRegressor(small_regressor(random_state=0)).fit(X, targets)
    assert model.predict(X[:4]).shape == (4, 3)
    assert model.transform(X[:4]).shape == (4, 3 * model.polynomial_.n_terms)


def test_the_order_can_be_searched_and_auto_is_one_of_the_choices(saddle):
    X, y = saddle
    model = n2p.PolynomialRegressor(small_regressor(random_state=0), outside="clip")
    search = GridSearchCV(model, {"max_order": [1, 2, "auto"]}, cv=3).fit(X, y)
    assert search.best_params_["max_order"] in (2, "auto")
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] < scores[1]


def test_parameters_of_the_network_can_be_searched_through_it(saddle):
    X, y = saddle
    model = n2p.PolynomialRegressor(small_regressor(random_state=0), outside="clip")
    search = GridSearchCV(model, {"estimator__alpha": [0.3, 100.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"estimator__alpha": 0.3}


def test_it_works_inside_pipelines_and_ensembles(saddle):
    X, y = saddle
    model = n2p.PolynomialRegressor(small_regressor(random_state=0), outside="clip")
    assert cross_val_score(make_pipeline(MinMaxScaler(), model), X, y, cv=3).min() > 0.8
    voting = VotingRegressor([("a", clone(model)), ("b", clone(model))]).fit(X, y)
    assert voting.score(X, y) > 0.9


def test_a_searched_network_inside_is_read(saddle):
    X, y = saddle
    inner = GridSearchCV(small_regressor(random_state=0), {"alpha": [0.1, 1.0]}, cv=2)
    assert n2p.PolynomialRegressor(inner).fit(X, y).score(X, y) > 0.9


def test_taylor_polynomials_have_no_card(saddle):
    X, y = saddle
    inner = small_regressor(random_state=0).set_params(alpha=30.0)
    model = n2p.PolynomialRegressor(inner, method="taylor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", n2p.errors.RadiusWarning)
        model.fit(X, y)
    assert model.card_ is None


def test_rows_outside_the_range_warn_or_are_clipped(saddle):
    X, y = saddle
    far = np.array([[5.0, 0.0, 0.0]])
    model = n2p.PolynomialRegressor(small_regressor(random_state=0)).fit(X, y)
    with pytest.warns(OutsideRangeWarning):
        model.predict(far)
    clipped = clone(model).set_params(outside="clip").fit(X, y)
    edge = np.array([[X[:, 0].max(), 0.0, 0.0]])
    np.testing.assert_array_equal(clipped.predict(far), clipped.predict(edge))
    with pytest.raises(InvalidInputError, match="outside"):
        clone(model).set_params(outside="clipp").fit(X, y)


# --- weights ---------------------------------------------------------------------------------


def test_weights_reach_the_network_and_the_calibration(saddle):
    X, y = saddle
    wrong = np.where(np.arange(300) < 150, y, -y)
    weights = np.where(np.arange(300) < 150, 1.0, 0.0)
    for inner in (small_regressor(random_state=0), scaled(small_regressor(random_state=0))):
        model = n2p.PolynomialRegressor(inner, outside="clip").fit(X, wrong, sample_weight=weights)
        assert model.score(X[:150], y[:150]) > 0.9


def test_weights_reach_the_default_network_too(saddle):
    X, y = saddle
    weights = np.r_[np.ones(150), np.zeros(150)]
    wrong = np.where(weights > 0, y, -y)
    model = n2p.PolynomialRegressor(random_state=0, outside="clip")
    assert model.fit(X, wrong, sample_weight=weights).score(X[:150], y[:150]) > 0.9


def test_weights_that_the_network_does_not_take_are_refused(saddle):
    class Unweighted(MLPRegressor):
        def fit(self, X, y):
            return super().fit(X, y)

    X, y = saddle
    with pytest.raises(InvalidInputError, match="takes no sample weights"):
        n2p.PolynomialRegressor(Unweighted()).fit(X, y, sample_weight=np.ones(300))


def test_a_misspelt_argument_of_fit_is_an_error(saddle):
    with pytest.raises(TypeError, match="sample_weights"):
        n2p.PolynomialRegressor(small_regressor()).fit(*saddle, sample_weights=np.ones(300))


# --- classification --------------------------------------------------------------------------


def test_iris_by_name_with_string_labels():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = n2p.PolynomialClassifier(small_classifier(random_state=0)).fit(X, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(X, names) > 0.95
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).all()
    assert model.card_.agreement > 0.9


def test_two_classes_have_one_logit():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100] == 1
    model = n2p.PolynomialClassifier(small_classifier(random_state=0)).fit(X, y)
    assert model.decision_function(X).shape == (100,)
    assert model.classes_.dtype == bool
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X)[:, 1] > 0.5)


def test_several_labels_at_once():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 0] + X[:, 1] > 0]).astype(int)
    model = n2p.PolynomialClassifier(small_classifier(random_state=0)).fit(X, y)
    assert model.predict(X).shape == (200, 3)
    assert model.score(X, y) > 0.8


def test_a_regression_network_cannot_classify():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInputError, match="do not stand for the classes"):
        n2p.PolynomialClassifier(small_regressor()).fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(InvalidInputError, match="two classes"):
        n2p.PolynomialClassifier().fit(np.eye(3), [1, 1, 1])


def test_one_class_with_weight_is_refused():
    with pytest.raises(InvalidInputError, match="y with sample_weight"):
        n2p.PolynomialClassifier().fit(np.eye(3), [0, 1, 1], sample_weight=[0, 1, 2])


def test_a_skorch_network_with_two_logits_decides_like_its_probabilities():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    torch.manual_seed(0)
    X = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    module = torch.nn.Sequential(
        torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2), torch.nn.Softmax(dim=-1)
    )
    inner = skorch.NeuralNetClassifier(module, max_epochs=15, lr=0.5, verbose=0)
    model = n2p.PolynomialClassifier(inner).fit(X, y)
    assert model.decision_function(X).shape == (200,)
    assert model.score(X, y) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


# --- frames, terms, names --------------------------------------------------------------------


def test_categories_go_in_as_they_are():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue"], 200), "size": rng.normal(size=200)})
    y = np.where(frame["colour"] == "red", 1.0, -1.0) * frame["size"]
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["colour"]), (StandardScaler(), ["size"])
    )
    inner = make_pipeline(columns, small_regressor(random_state=0))
    model = n2p.PolynomialRegressor(inner, outside="clip").fit(frame, y)
    assert model.score(frame, y) > 0.95
    assert model.n_features_in_ == 2
    assert "colour=red · size" in model.get_feature_names_out().tolist()
    np.testing.assert_allclose(model.transform(frame).sum(axis=1), model.predict(frame))


def test_the_terms_of_a_prediction_sum_up_to_it_and_have_names(saddle):
    X, y = saddle
    frame = pd.DataFrame(X, columns=["a b", "<script>", "π"])
    model = n2p.PolynomialRegressor(small_regressor(random_state=0)).fit(frame, y)
    table = model.set_output(transform="pandas").transform(frame)
    assert table.columns.tolist() == model.polynomial_.term_names()
    assert table.columns[:3].tolist() == ["1", "a b", "<script>"]
    np.testing.assert_allclose(table.sum(axis=1), model.predict(frame))
    assert table.index.equals(frame.index)


def test_terms_of_several_outputs_are_named_after_them(saddle):
    X, y = saddle
    model = n2p.PolynomialRegressor(small_regressor(random_state=0), 1)
    model.fit(X, np.column_stack([y, X[:, 1] ** 2]))
    names = model.get_feature_names_out(["a", "b", "c"]).tolist()
    assert names == ["y1: 1", "y1: a", "y1: b", "y1: c", "y2: 1", "y2: a", "y2: b", "y2: c"]
    parts = model.transform(X).reshape(300, 2, 4).sum(axis=2)
    np.testing.assert_allclose(parts, model.predict(X))


def test_columns_in_another_order_are_refused_as_scikit_learn_does(saddle):
    X, y = saddle
    frame = pd.DataFrame(X, columns=list("abc"))
    model = n2p.PolynomialRegressor(small_regressor(random_state=0)).fit(frame, y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[["c", "b", "a"]])


def test_before_fit_nothing_is_predicted():
    for method in ("predict", "transform"):
        with pytest.raises(NotFittedError):
            getattr(n2p.PolynomialRegressor(), method)([[1.0]])


def test_a_model_that_is_no_network_is_refused(saddle):
    from sklearn.linear_model import Ridge

    with pytest.raises(UnsupportedModelError):
        n2p.PolynomialRegressor(Ridge()).fit(*saddle)


def test_without_scikit_learn_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import nn2poly\n"
        "try:\n    nn2poly.PolynomialRegressor\n"
        "except nn2poly.errors.MissingDependencyError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "nn2poly[sklearn]" in run.stdout


def test_a_classifier_honours_the_threshold_of_its_estimator():
    X, y = make_classification(300, 4, n_redundant=0, random_state=0, flip_y=0.2)
    strict = FixedThresholdClassifier(small_classifier(random_state=0), threshold=0.8)
    model = n2p.PolynomialClassifier(strict, max_order=2).fit(X, y)
    assert model.polynomial_.outputs.threshold == 0.8
    expected = (model.predict_proba(X)[:, 1] >= 0.8).astype(int)
    assert model.predict(X).tolist() == expected.tolist()
    assert expected.sum() < (model.predict_proba(X)[:, 1] > 0.5).sum()


def test_groups_go_to_the_card_and_to_a_search():
    """Rows of one patient never judge the formula that they fitted."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 2))[groups] + 0.01 * rng.normal(size=(200, 2))
    y = X[:, 0] * X[:, 1]
    plain = n2p.PolynomialRegressor(scaled(small_regressor()), max_order=1, random_state=0)
    assert plain.fit(X, y, groups=groups).card_.n_units <= 40
    search = GridSearchCV(small_regressor(), {"alpha": [0.3]}, cv=GroupKFold(2))
    grouped = n2p.PolynomialRegressor(search, max_order=1, random_state=0).fit(X, y, groups=groups)
    assert grouped.card_.n_units <= 40
