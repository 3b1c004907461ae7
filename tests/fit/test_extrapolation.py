"""Bounds reach as far beyond the rows as a formula is faithful, and no further."""

from __future__ import annotations

from math import inf

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p


def draw(seed, n, p=3):
    return np.random.default_rng(seed).normal(size=(n, p))


def linear(X):
    return X @ np.array([2.0, -1.0, 0.5])


def nearly_linear(X):
    return linear(X) + 0.01 * np.sin(3.0 * X[:, 0])


@pytest.mark.parametrize("model", [linear, nearly_linear])
@pytest.mark.parametrize("n", [40, 200, 2000])
def test_a_formula_of_a_linear_model_is_faithful_on_every_draw(model, n):
    for seed in range(100, 106):
        card = n2p.convert(model, 1, data=draw(seed, n)).card
        assert card.verdict.grade == "faithful"
        assert card.r2_interval[0] > 0.999


def test_an_exact_formula_stays_exact_under_heavy_tails():
    for seed in range(100, 104):
        X = np.exp(1.5 * draw(seed, 2000))
        poly = n2p.convert(linear, 1, data=X)
        assert poly.card.verdict.grade == "faithful"
        assert not poly.inputs.are_bounded


def test_a_nearly_linear_formula_is_clamped_beyond_its_rows_but_somewhere():
    def model(X):
        return X[:, 0] + 0.5 * np.tanh(0.3 * X[:, 1])

    X = draw(0, 500, 2)
    low, high = n2p.convert(model, 1, data=X).inputs.bounds()["x1"]
    assert -inf < low < X[:, 0].min()
    assert X[:, 0].max() < high < inf


def test_a_formula_that_runs_away_is_clamped_at_its_rows():
    X = draw(0, 500, 1)
    poly = n2p.convert(lambda X: np.tanh(2.0 * X[:, 0]), 3, data=X)
    (low, high) = poly.inputs.bounds()["x1"]
    assert X.min() <= low < high <= X.max()


def test_a_function_that_fails_beyond_its_rows_is_clamped_at_them():
    X = draw(0, 500, 2)
    far = np.abs(X).max()

    def model(X):
        if np.abs(X).max() > far:
            raise ValueError("out of range")
        return X[:, 0] - X[:, 1]

    poly = n2p.convert(model, 1, data=X)
    assert poly.inputs.are_bounded
    assert poly.card.r2 > 0.99


def test_bounds_that_the_user_gives_are_kept():
    poly = n2p.convert(linear, 1, data=draw(0, 500), bounded={"x1": (-1.0, 1.0)})
    assert poly.inputs.bounds()["x1"] == (-1.0, 1.0)


def test_whole_numbers_stay_whole_when_the_model_is_asked_beyond_the_rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 91, 400), "income": rng.normal(size=400)})
    seen = []

    def model(frame):
        seen.append(frame["age"].to_numpy())
        return 0.1 * frame["age"].to_numpy() + frame["income"].to_numpy()

    n2p.convert(model, 1, data=table)
    ages = np.concatenate(seen)
    assert ages.max() > 91
    assert np.array_equal(ages, np.round(ages))


@pytest.mark.parametrize("order", [2, 3])
def test_with_data_an_almost_polynomial_network_is_never_behind_taylor(make_network, order):
    network = make_network(3, (6, 16, 16, 1), "tanh", spread=0.1, bias=0.1)
    X, new = draw(0, 1500, 6), draw(1, 20_000, 6)
    truth = network.predict(new)
    taylor = n2p.polynomial_network(network, order, method="taylor")
    fitted = n2p.polynomial_network(network, order, data=X)
    with pytest.warns(n2p.errors.OutsideRangeWarning):
        errors = [np.mean((truth - poly.predict(new)) ** 2) for poly in (fitted, taylor)]
    assert errors[0] <= errors[1]


def test_a_print_does_not_say_that_wider_bounds_are_the_range_of_the_sample():
    poly = n2p.convert(lambda X: X[:, 0] + 0.5 * np.tanh(0.3 * X[:, 1]), 1, data=draw(0, 500, 2))
    assert "within the sample's range" not in repr(poly)
    assert "some beyond the sample's range: see .inputs.bounds()" in repr(poly)
