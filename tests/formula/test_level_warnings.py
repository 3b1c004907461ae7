"""Rows of 0/1 columns that show no level of a factor, or two, are not answered in silence."""

import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

import nn2poly as n2p
from nn2poly.errors import OutsideRangeWarning

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=200), np.eye(3)[RNG.integers(3, size=200)]])
NAMES = ["age", "job_a", "job_b", "job_c"]


@pytest.fixture(scope="module")
def poly():
    model = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X @ [1.0, 0.0, 1.0, 2.0])
    return n2p.convert(model, 2, data=X, feature_names=NAMES)


def test_rows_of_one_level_are_answered_without_a_word(poly):
    assert [column.name for column in poly.inputs.columns] == ["age", "job"]
    poly.predict(X)


UNLIKE = {"no level": [0.0, 0.0, 0.0, 0.0], "2 levels": [0.0, 1.0, 1.0, 0.0]}


@pytest.mark.parametrize(("words", "row"), UNLIKE.items())
def test_rows_of_no_level_or_of_two_give_a_warning(poly, words, row):
    with pytest.warns(OutsideRangeWarning, match=f"row 1.*'job': {words}"):
        poly.predict(np.array([X[0], row]))
