"""Tables without names mean what they mean to the model: rows as Series, arrays with text."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError


def perceptron():
    return MLPRegressor(hidden_layer_sizes=(6,), max_iter=60, random_state=0)


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.fixture(scope="module")
def numbers():
    X = np.random.default_rng(0).normal(size=(200, 2))
    return X, fit(perceptron(), X, 3 * X[:, 0] + X[:, 1] ** 2)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(size=300), "job": rng.choice(["a", "b", "c"], 300)})
    return frame, frame.age + (frame.job == "b")


def encoded(columns):
    encoder = ColumnTransformer([("c", OneHotEncoder(), columns)], remainder=StandardScaler())
    return make_pipeline(encoder, perceptron())


def test_a_frame_goes_by_position_where_the_model_knows_no_names(numbers):
    X, model = numbers
    frame = pd.DataFrame(X, columns=["x2", "x1"])
    poly, network = n2p.convert(model, 3, data=X), n2p.read_network(model)
    np.testing.assert_array_equal(poly.predict(frame), poly.predict(X))
    np.testing.assert_allclose(network.predict(frame), model.predict(X), rtol=0, atol=1e-9)
    assert n2p.fidelity(model, poly, frame).rmse == n2p.fidelity(model, poly, X).rmse


def test_feature_names_beside_a_frame_rename_its_columns(numbers):
    X, model = numbers
    poly = n2p.convert(model, 3, data=pd.DataFrame(X, columns=["u", "v"]), feature_names=["a", "b"])
    assert poly.feature_names == ("a", "b")
    np.testing.assert_array_equal(poly.predict(X), n2p.convert(model, 3, data=X).predict(X))


def test_a_series_is_one_row(table):
    X, y = table
    poly = n2p.convert(fit(encoded(["job"]), X, y), 2, data=X)
    np.testing.assert_array_equal(poly.predict(X.iloc[7]), poly.predict(X.iloc[[7]]))
    assert n2p.explain.shapley(poly, X.iloc[7], X).values.shape == (1, 2, 1)


def test_arrays_and_rows_of_text_and_numbers_are_read_by_position(table):
    X, y = table
    poly = n2p.convert(fit(encoded(["job"]), X, y), 2, data=X)
    expected = poly.predict(X.head(5))
    np.testing.assert_array_equal(poly.predict(X.head(5).to_numpy(dtype=object)), expected)
    np.testing.assert_array_equal(poly.predict(X.head(5).values.tolist()), expected)
    again = n2p.convert(fit(encoded([1]), X.to_numpy(dtype=object), y), 2, data=X.to_numpy())
    np.testing.assert_array_equal(again.predict(X.to_numpy(dtype=object)[:5]), expected)


def test_a_table_of_objects_with_other_columns_is_refused(table):
    X, y = table
    poly = n2p.convert(fit(encoded(["job"]), X, y), 2, data=X)
    with pytest.raises(InvalidInputError, match="cannot be told apart"):
        poly.predict(X.assign(more=1)[:3].to_numpy(dtype=object))


def test_objects_that_are_numbers_are_numbers(numbers):
    X, model = numbers
    poly = n2p.convert(model, 2, data=X)
    np.testing.assert_array_equal(poly.predict(X.astype(object)), poly.predict(X))


def test_effects_with_a_table_in_the_place_of_a_feature_say_so(numbers):
    X, model = numbers
    poly = n2p.convert(model, 2, data=X)
    for rows in (X, pd.DataFrame(X), X[:3].tolist()):
        with pytest.raises(
            InvalidInputError, match=r"(?s)place of a feature.*effects\(poly, X=X\)"
        ):
            plots.effects(poly, rows)


def test_what_rounding_leaves_of_a_zero_is_shown_as_zero():
    poly = n2p.Polynomial.from_terms(["1", "a", "b"], [-1.465e-17, 2.0, 1e-17], ["a", "b"])
    assert "e-17" not in repr(poly)
    assert "e-17" not in str(poly.top(2)) + poly.top(2)._repr_html_()
    assert poly.coefficient("1") == -1.465e-17
