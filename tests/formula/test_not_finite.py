"""A prediction that is no number comes with a word, not with NumPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, OutsideRangeWarning


def rows():
    return np.random.default_rng(0).normal(size=(200, 2))


def said(predict, X):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        predict(X)
    assert all(issubclass(one.category, OutsideRangeWarning) for one in found)
    return [str(one.message) for one in found]


@pytest.fixture(scope="module")
def network(make_network):
    return make_network(0, (2, 4, 1), "tanh")


@pytest.mark.parametrize("large", [1e120, 1e200])
def test_powers_that_overflow_are_told(network, large):
    X = np.array([[0.5, 0.5], [large, -large]])
    for made in (n2p.convert, n2p.polynomial_network):
        for options in ({}, {"data": rows(), "bounded": False}):
            poly = made(network, 3, **options)
            assert (
                "1 of 2 rows has no finite prediction (the first is row 1)"
                in said(poly.predict, X)[-1]
            )


def test_finite_predictions_pass_in_silence(network):
    assert not said(n2p.convert(network, 3).predict, np.array([[0.5, 0.5]]))


def test_probabilities_of_no_number_are_told():
    poly = n2p.Polynomial(np.outer([0.0, 1.0, 0.0, 1.0], [1.0, -1.0]), 3, ["a"], link="softmax")
    assert "has no finite prediction" in said(poly.predict_proba, [[1e120]])[-1]


def test_columns_of_which_squares_overflow_are_refused_by_name():
    X = rows() * [1.0, 1e160]
    with pytest.raises(InvalidInputError, match="spread too far") as error:
        n2p.convert(lambda X: X[:, 0], data=X, feature_names=["a", "huge"])
    assert error.value.found == "'huge'"
