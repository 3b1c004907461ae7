"""Estimators pass bounds and budgets of terms on to the conversion."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, OutsideRangeWarning

LBFGS = {"activation": "tanh", "solver": "lbfgs", "alpha": 1.0, "max_iter": 5000, "tol": 1e-3}


def regressor(**options):
    network = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=6, **LBFGS))
    return n2p.PolynomialRegressor(network, random_state=0, **options)


@pytest.fixture(scope="module")
def heavy():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600), rng.standard_cauchy(600)])
    return X, X[:, 0] + np.tanh(X[:, 1])


def test_numbers_are_held_by_default_whatever_comes(heavy):
    model = regressor().fit(*heavy)
    assert model.polynomial_.inputs.are_bounded
    assert model.polynomial_.max_order == 2
    with pytest.warns(OutsideRangeWarning, match="held at its edge"):
        found = model.predict([[0.0, 1e12], [0.0, 1e13]])
    assert found[0] == found[1]
    assert not regressor(bounded=False).fit(*heavy).polynomial_.inputs.are_bounded


def test_a_budget_of_terms_is_kept_and_orders_may_be_higher(heavy):
    model = regressor(max_terms=12).fit(*heavy)
    assert model.polynomial_.n_terms <= 12
    assert model.polynomial_.max_order > 2
    assert model.transform(heavy[0][:3]).shape == (3, model.polynomial_.n_terms)
    assert regressor(max_order=2, max_terms=12).fit(*heavy).polynomial_.max_order <= 2


def test_a_classifier_takes_them_too():
    X, y = load_breast_cancer(return_X_y=True)
    network = make_pipeline(StandardScaler(), MLPClassifier((6,), **LBFGS))
    model = n2p.PolynomialClassifier(network, max_terms=60, random_state=0).fit(X, y)
    assert model.polynomial_.n_terms <= 60
    assert model.polynomial_.inputs.are_bounded
    assert model.score(X, y) > 0.93


def test_both_can_be_searched_and_cloned():
    X, y = load_diabetes(return_X_y=True)
    grid = {"max_terms": [10, None], "bounded": [True]}
    search = GridSearchCV(regressor(outside="clip"), grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert np.all(search.cv_results_["mean_test_score"] > 0.3)
    copy = clone(regressor(max_terms=7, bounded=False)).get_params()
    assert (copy["max_terms"], copy["bounded"]) == (7, False)


@pytest.mark.parametrize("bounded", ["yes", "no", 1, None, (0.0, 1.0)])
def test_what_is_neither_true_nor_false_is_refused(heavy, bounded):
    with pytest.raises(InvalidInputError, match="bounded must be True or False"):
        regressor(bounded=bounded).fit(*heavy)


@pytest.mark.parametrize("budget", [0, -1, 2.5, "many", True])
def test_a_budget_that_is_none_is_refused(heavy, budget):
    with pytest.raises(InvalidInputError, match="max_terms"):
        regressor(max_terms=budget).fit(*heavy)
