"""Bagging and voting regressors of networks are one network: the average."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, VotingClassifier, VotingRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import UnsupportedModelError

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.uniform(0.0, 1.0, (200, 3)), columns=["rooms", "age", "tax"])
X["town"] = RNG.choice(["a", "b", "c"], 200)
Y = (X.rooms - 0.5 * X.age * X.tax + 0.3 * (X.town == "b")).to_numpy() + 2.0
NUMBERS = ["rooms", "age", "tax"]


def network(seed=0, width=4, **options):
    return MLPRegressor(hidden_layer_sizes=(width,), solver="lbfgs", max_iter=30,
                        random_state=seed, **options)  # fmt: skip


def encoded(model):
    parts = [("num", StandardScaler(), NUMBERS), ("town", OneHotEncoder(), ["town"])]
    return make_pipeline(ColumnTransformer(parts), model)


def fitted(model, table, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table, y)


AVERAGES = {
    "bagging": (BaggingRegressor(network(), n_estimators=3, random_state=0), X[NUMBERS]),
    "bagging of columns": (
        BaggingRegressor(network(), n_estimators=3, max_features=2, random_state=0), X[NUMBERS],
    ),
    "bagging of pipelines": (
        BaggingRegressor(make_pipeline(StandardScaler(), network()), 3, random_state=0),
        X[NUMBERS].to_numpy(),
    ),
    "bagging in a pipeline": (
        encoded(BaggingRegressor(network(), n_estimators=3, random_state=0)), X,
    ),
    "voting with weights": (
        VotingRegressor([("a", network(0)), ("b", network(1, 6, activation="tanh"))],
                        weights=[1, 3]),
        X[NUMBERS],
    ),
    "voting of pipelines": (
        VotingRegressor([("a", encoded(network(0))), ("b", encoded(network(1)))]), X,
    ),
    "of a logarithm": (
        TransformedTargetRegressor(
            BaggingRegressor(network(), 2, random_state=0), func=np.log, inverse_func=np.exp
        ),
        X[NUMBERS],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AVERAGES)
def test_an_average_of_networks_is_one_network(name):
    model, table = AVERAGES[name]
    fitted(model, table)
    found = n2p.read_network(model)
    raw = found.predict(table).reshape(-1, 1)
    predicted = found.outputs.predictions(raw)[:, 0]
    np.testing.assert_allclose(predicted, model.predict(table), rtol=1e-9)


def test_networks_of_one_shape_become_layers_side_by_side():
    model, table = AVERAGES["bagging"]
    found = n2p.read_network(fitted(model, table))
    assert [layer.n_outputs for layer in found.layers] == [12, 1]


@pytest.mark.parametrize("name", ["bagging", "bagging in a pipeline", "voting of pipelines"])
def test_the_average_formula_has_the_spread_of_its_networks(name):
    model, table = AVERAGES[name]
    fitted(model, table)
    average = n2p.convert(model, 2, data=table)
    assert average.card.r2 > 0.9
    options = {"data": table, "backend": "sequential"}
    together = explain.ensemble(n2p.convert_many(model, 2, **options))
    gap = together.mean.predict(table) - average.predict(table)
    assert np.std(gap) < 0.2 * np.std(average.predict(table))
    assert together.std.max() > 0.0


def test_networks_that_know_other_levels_are_refused():
    table, few = X.copy(), X.town != "c"
    model = VotingRegressor([("a", encoded(network(0))), ("b", encoded(network(1)))])
    fitted(model, table)
    model.estimators_[1] = fitted(encoded(network(1)), table[few], Y[few])
    with pytest.raises(UnsupportedModelError, match="'town' in different ways"):
        n2p.read_network(model)


def test_averages_of_probabilities_and_of_linked_targets_are_refused_with_a_way_out():
    classifier = MLPClassifier(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=20, random_state=0)
    voting = fitted(VotingClassifier([("a", classifier)], voting="soft"), X[NUMBERS], Y > 2.3)
    with pytest.raises(UnsupportedModelError, match="averages probabilities") as caught:
        n2p.read_network(voting)
    assert "predict_proba" in caught.value.remedy
    inner = TransformedTargetRegressor(network(), func=np.log, inverse_func=np.exp)
    bag = fitted(BaggingRegressor(inner, 2, random_state=0), X[NUMBERS])
    with pytest.raises(UnsupportedModelError, match="through a link") as caught:
        n2p.read_network(bag)
    assert "around the average" in caught.value.remedy
