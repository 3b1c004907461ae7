"""Estimators of formulas with regions, of networks that one polynomial cannot follow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
OPTIONS = {"hidden_layer_sizes": (24, 24), "solver": "lbfgs", "max_iter": 300, "max_fun": 10**6}


def scaled(net):
    """Put a scaler in front; whether the training ended does not matter here."""
    return make_pipeline(StandardScaler(), net)


def peak(X):
    """Rise to a peak near 8 in the first column, on rows where the second is 1 alone."""
    return 4 * np.exp(-((X[:, 0] - 8) ** 2) / 8) * X[:, 1] + 0.05 * X[:, 0]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 24, 1200), rng.integers(0, 2, 1200)])
    return X, peak(X)


@pytest.fixture(scope="module")
def models(rows):
    net = scaled(MLPRegressor(**OPTIONS, tol=1e-3))
    single = n2p.PolynomialRegressor(net, random_state=0).fit(*rows)
    several = n2p.PolynomialRegressor(net, regions=6, random_state=0).fit(*rows)
    return single, several


def test_regions_follow_what_one_polynomial_cannot(models, rows):
    single, several = models
    assert isinstance(several.polynomial_, n2p.PiecewisePolynomial)
    assert several.score(*rows) > single.score(*rows) + 0.1
    assert several.card_.r2 > 0.95


def test_the_terms_of_all_regions_sum_to_the_prediction_and_have_names(models, rows):
    _, several = models
    X = rows[0][:50]
    parts, names = several.transform(X), several.get_feature_names_out()
    assert parts.shape == (50, len(names)) == (50, several.polynomial_.n_terms)
    np.testing.assert_allclose(parts.sum(axis=1), several.predict(X), rtol=1e-12)
    assert names[0] == "region 0: 1"
    assert len(set(names)) == len(names)
    given = several.get_feature_names_out(["hour", "working"])
    assert any(name.endswith(": hour · working") for name in given)


def test_rows_of_another_region_have_no_part_in_its_terms(models, rows):
    _, several = models
    X, poly = rows[0], several.polynomial_
    parts, where = several.transform(X), poly.region_of(X)
    first = poly.polynomials[0].n_terms
    assert np.all(parts[where != 0][:, :first] == 0.0)
    assert np.any(parts[where == 0][:, :first] != 0.0)


def test_auto_takes_one_region_where_one_is_enough():
    X = np.random.default_rng(1).normal(size=(400, 3))
    net = MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", solver="lbfgs", max_iter=2000)
    model = n2p.PolynomialRegressor(net, regions="auto", target_r2=0.9, random_state=0)
    model.fit(X, X @ [1.0, -2.0, 0.5] + 0.1 * X[:, 0] * X[:, 1])
    assert isinstance(model.polynomial_, n2p.Polynomial)


def test_a_classifier_with_regions_gives_labels_and_probabilities(rows):
    X = rows[0]
    y = np.where(peak(X) > 1.5, "busy", "quiet")
    net = scaled(MLPClassifier(**OPTIONS, alpha=0.1, tol=1e-3))
    model = n2p.PolynomialClassifier(net, regions=4, random_state=0).fit(X, y)
    assert len(model.polynomial_.regions) > 1
    assert model.score(X, y) > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert set(model.predict(X)) == {"busy", "quiet"}


def test_the_number_of_regions_is_a_parameter_like_any_other(rows):
    frame = pd.DataFrame(rows[0][:300], columns=["hour", "working"])
    net = scaled(MLPRegressor(**(OPTIONS | {"max_iter": 150}), tol=1e-2))
    model = n2p.PolynomialRegressor(net, regions=2, outside="clip", random_state=0)
    assert clone(model).get_params()["regions"] == 2
    search = GridSearchCV(model, {"regions": [1, 4]}, cv=2).fit(frame, rows[1][:300])
    assert search.best_params_ == {"regions": 4}


def test_a_number_of_regions_that_cannot_be_is_refused_when_fitting(rows):
    model = n2p.PolynomialRegressor(MLPRegressor(max_iter=5, tol=1e3), regions=0)
    with pytest.raises(n2p.NN2PolyError, match="regions"):
        model.fit(rows[0][:100], rows[1][:100])
