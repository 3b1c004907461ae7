"""Encoded columns are factors: levels that an encoder groups, ignores, drops or counts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

import nn2poly as n2p
from nn2poly.inputs import Inputs

CATEGORIES = ["job", "rooms", "married", "town"]
ENCODERS = {
    "one-hot": OneHotEncoder(),
    "dropped": OneHotEncoder(drop="first"),
    "ignores": OneHotEncoder(handle_unknown="ignore"),
    "ignores, dropped": OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
    "groups": OneHotEncoder(min_frequency=60),
    "groups, dropped": OneHotEncoder(max_categories=2, drop="first"),
    "groups, ignores": OneHotEncoder(min_frequency=60, handle_unknown="ignore"),
    "groups the unknown": OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist"),
    "ordinal": OrdinalEncoder(),
    "ordinal, unknown": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "ordinal, groups": OrdinalEncoder(
        min_frequency=60, handle_unknown="use_encoded_value", unknown_value=-1
    ),
    "target": TargetEncoder(target_type="continuous"),
}
LENIENT = [name for name in ENCODERS if "ignores" in name or "unknown" in name or name == "target"]


def people(n=400, seed=0):
    """Make a frame with words, whole numbers, truths and a pandas category as levels."""
    rng = np.random.default_rng(seed)
    jobs = ["clerk", "farmer", "nurse", "baker", "smith"]
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "job": rng.choice(jobs, n, p=[0.4, 0.3, 0.2, 0.06, 0.04]),
            "rooms": rng.integers(1, 4, n),
            "married": rng.choice([True, False], n),
            "town": pd.Categorical(rng.choice(["Rome", "Oslo"], n)),
        }
    )
    return X, X.age / 20 + (X.job == "farmer") * 1.5 - (X.rooms == 2) + X.married


def fitted(encoder, X, y):
    columns = ColumnTransformer([("cat", encoder, CATEGORIES)], remainder=StandardScaler())
    mlp = MLPRegressor(hidden_layer_sizes=(12,), max_iter=80, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_pipeline(columns, mlp).fit(X, y)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_network_of_raw_columns_equals_the_pipeline(name):
    X, y = people()
    model = fitted(ENCODERS[name], X, y)
    network = n2p.read_network(model)
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=0, atol=1e-9)
    kinds = {column.name: column.kind for column in network.inputs.columns}
    assert kinds == {"age": "number", **dict.fromkeys(CATEGORIES, "factor")}


@pytest.mark.parametrize("name", LENIENT)
def test_one_unseen_level_never_refuses_a_batch(name):
    X, y = people()
    model = fitted(ENCODERS[name], X, y)
    new = X.assign(job=X.job.where(X.index != 3, "astronaut")).head(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some encoders say that they ignore it
        expected = model.predict(new)
    network = n2p.read_network(model)
    np.testing.assert_allclose(network.predict(new), expected, rtol=0, atol=1e-9)


def test_levels_that_the_encoder_groups_are_one_level_with_its_members():
    X, y = people()
    network = n2p.read_network(fitted(ENCODERS["groups"], X, y))
    job = next(column for column in network.inputs.columns if column.name == "job")
    assert job.levels == ("clerk", "farmer", "nurse", "(infrequent)")
    assert job.values[-1] == ("baker", "smith")
    assert job.rest is None
    stored = Inputs.from_dict(network.inputs.to_dict()).columns
    assert job in stored


def test_an_ignored_level_is_the_dropped_one_or_one_of_its_own():
    X, y = people()
    plain, dropped = (
        {c.name: c for c in n2p.read_network(fitted(ENCODERS[n], X, y)).inputs.columns}
        for n in ("ignores", "ignores, dropped")
    )
    assert plain["married"].levels == ("False", "True", "(unseen)")
    assert plain["married"].rest == 2
    assert dropped["married"].levels == ("False", "True")
    assert dropped["married"].rest == 0


@pytest.mark.parametrize("name", ["ignores", "target"])
def test_the_formula_follows_the_network_on_levels_that_the_sample_does_not_show(name):
    X, y = people(1500)
    model = fitted(ENCODERS[name], X, y)
    poly = n2p.convert(model, 2, data=X)
    new = X.assign(job="astronaut")
    with pytest.warns(n2p.errors.OutsideRangeWarning, match="unseen"):
        guess = poly.predict(new)
    truth = model.predict(new)
    assert 1 - np.mean((guess - truth) ** 2) / np.var(truth) > 0.9


@pytest.mark.parametrize("name", ["groups", "ordinal", "ignores"])
def test_card_report_and_estimators_read_the_raw_table(name):
    X, y = people()
    model = fitted(ENCODERS[name], X, y)
    poly = n2p.convert(model, 2, data=X)
    card = n2p.fidelity(model, poly, X)
    expected = np.sqrt(np.mean((poly.predict(X) - model.predict(X)) ** 2))
    assert card.rmse == pytest.approx(expected)
    assert n2p.sparse_path(model, poly, X, max_terms=3).r2[-1] > 0


def test_levels_stored_otherwise_than_in_training_are_found():
    X, y = people()
    network = n2p.read_network(fitted(ENCODERS["groups"], X, y))
    other = X.astype({"rooms": float, "married": int, "job": "category", "town": str})
    np.testing.assert_array_equal(network.predict(other), network.predict(X))
