"""Effects on the scale of probabilities, or of the target: averaged behind the link."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly import explain, plots
from nn2poly.errors import InvalidInputError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(40.0, 9.0, 200), "job": RNG.choice(["a", "b"], 200)})
Y = np.where(X.age - 40 + 8 * (X.job == "a") + RNG.normal(0, 6, 200) > 6, "late", "ok")


@pytest.fixture(scope="module")
def pair():
    parts = [("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["job"])]
    network = MLPClassifier(hidden_layer_sizes=(4,), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(ColumnTransformer(parts), network).fit(X, Y)
    return model, n2p.convert(model, 2, data=X)


def moved(poly, **values):
    return poly.predict_proba(X.assign(**values))[:, 1]


def test_partial_dependence_averages_probabilities(pair):
    _, poly = pair
    found = explain.partial_dependence(poly, X, "age", grid=[30.0, 50.0], kind="probability")
    expected = [moved(poly, age=age).mean() for age in (30.0, 50.0)]
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-12)
    assert found.output_names == ("P(ok)",)
    assert found.polynomial is None
    curves = explain.ice(poly, X[:7], "age", grid=[30.0, 50.0], kind="probability")
    np.testing.assert_allclose(curves.values[:, 1, 0], moved(poly, age=50.0)[:7], atol=1e-9)


def test_effects_are_drawn_as_probabilities_beside_those_of_the_network(pair):
    model, poly = pair
    axes = plots.effects(poly, ["age", "job"], X=X, kind="probability", model=model)
    assert axes[0].get_ylabel() == "P(ok)"
    dots, rings = (line.get_ydata() for line in axes[1].lines[:2])
    np.testing.assert_allclose(dots, [moved(poly, job=j).mean() for j in "ab"], atol=1e-9)
    asked = [model.predict_proba(X.assign(job=j))[:, 1].mean() for j in "ab"]
    np.testing.assert_allclose(rings, asked, atol=1e-9)


def test_a_scale_that_the_formula_has_not_is_refused(pair):
    with pytest.raises(InvalidInputError, match="classifier is not told as target"):
        explain.partial_dependence(pair[1], X, "age", kind="target")
    line = n2p.Polynomial([[0.0], [1.0]], 1, ["t"])
    with pytest.raises(InvalidInputError, match="regression is not told as probability"):
        plots.effects(line, "t", X=[[0.0], [1.0]], kind="probability")
