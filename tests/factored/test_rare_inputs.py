"""Inputs that the sample hardly shows: constant, almost constant, or far out in a few rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.errors import OutsideRangeWarning
from nn2poly.factored import calibrated
from nn2poly.rows.fit_rows import gather_rows
from nn2poly.rows.reading import read_sample
from nn2poly.rows.summary import summarise


def uniform(n, p, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, p))


def standardised(X):
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def sparse_pixels(seed, n=1000, p=30, rate=0.004):
    """Make rows of which half the columns are lit in a few rows, 16 to 31 deviations out."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    lit = rng.uniform(size=(n, p)) < rate
    X[:, p // 2 :] = np.where(lit, rng.uniform(0.5, 1.0, (n, p)), 0.0)[:, p // 2 :]
    return standardised(X)


def indicator(seed, n=500, n_set=3):
    """Make rows whose last column is 1 in three rows of 500."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    X[:, 3] = 0.0
    X[rng.choice(n, n_set, replace=False), 3] = 1.0
    return X


def values(pnet, X):
    """Predict without the warning about the range: it has tests of its own."""
    return pnet.outputs_by_order(X)[-1]


def fit_rows(network, X):
    sample = read_sample(X, network, None)
    summary = summarise(sample)
    return network.recentered(summary.center, summary.scale), gather_rows(sample, len(X))


def damped(network, X, max_order):
    working, rows = fit_rows(network, X)
    return working, calibrated.calibrate(working, rows, max_order, refit=False).network


# ---- inputs that never vary ------------------------------------------------------------------


@pytest.mark.parametrize("max_order", [1, 2, 4])
@pytest.mark.parametrize("value", [0.0, 0.7, -1e6])
@pytest.mark.parametrize("refit", [True, False])
def test_a_constant_column_keeps_its_average_slope_only(make_network, refit, value, max_order):
    network = make_network(1, (3, 6, 5, 2), "tanh", spread=1.0)
    X = uniform(200, 3)
    X[:, 1] = value
    first = network.layers[0]
    bias = first.bias - value * first.weights[1]
    network = n2p.Network([n2p.Layer(first.weights, bias, "tanh"), *network.layers[1:]])
    poly = n2p.polynomial_network(network, max_order, data=X, refit=refit).expand()
    uses = np.array([1 in term and term != (1,) for term in poly.terms])
    np.testing.assert_array_equal(poly.coefficients[uses], 0.0)
    step = np.array([0.0, 1.0, 0.0])
    slope = (network.predict(X + step) - network.predict(X - step)).mean(axis=0) / 2
    found = [poly.coefficient((1,), output) for output in (0, 1)]
    np.testing.assert_allclose(found, slope, rtol=0.05, atol=0.02)
    assert poly.card.r2 > 0.8


@pytest.mark.parametrize("refit", [False, True])
def test_a_constant_column_keeps_its_slope_only_through_skips_too(make_network, refit):
    network = make_network(1, (3, 5, 4, 1), "tanh", skips=True)
    X = uniform(300, 3)
    X[:, 1] = 0.7
    poly = n2p.polynomial_network(network, 2, data=X, refit=refit).expand()
    uses = [1 in term and term != (1,) for term in poly.terms]
    np.testing.assert_allclose(poly.coefficients[uses], 0.0, rtol=0, atol=1e-12)


def test_another_value_of_a_constant_column_warns_and_changes_nothing(make_network):
    network = make_network(2, (3, 6, 1), "tanh", spread=1.0)
    X = uniform(200, 3)
    X[:, 1] = 0.7
    poly = n2p.convert(network, 2, data=X, feature_names=["a", "b", "c"])
    inside, other = X[:5], X[:5].copy()
    other[:, 1] = 0.8
    with pytest.warns(OutsideRangeWarning, match=r"'b' \(seen 0.7 to 0.7\)"):
        found = poly.predict(other)
    np.testing.assert_array_equal(found, poly.predict(inside))


def test_a_network_of_constant_columns_only_is_its_constant(make_network):
    network = make_network(3, (2, 4, 1), "tanh")
    X = np.tile([0.5, -0.25], (40, 1))
    poly = n2p.convert(network, 2, data=X)
    np.testing.assert_allclose(poly.predict(X), network.predict(X), rtol=0, atol=1e-12)


def test_a_column_that_varies_in_its_last_digits_is_no_constant_and_harmless(make_network):
    network = make_network(4, (3, 6, 1), "relu", spread=1.0)
    X = uniform(300, 3)
    X[:, 1] = 1.0 + 1e-14 * np.sign(X[:, 1])
    pnet = n2p.polynomial_network(network, 3, data=X)
    assert pnet.card.r2 > 0.8
    assert np.all(np.isfinite(pnet.expand().rebase().coefficients))


# ---- inputs that are rare ----------------------------------------------------------------------


@pytest.mark.study
@pytest.mark.parametrize(
    ("name", "max_order"),
    [("tanh", 1), ("relu", 1), ("tanh", 2), ("relu", 2), ("tanh", 3), ("relu", 4)],
)
def test_pixels_thirty_deviations_out_do_not_run_wild(make_network, name, max_order):
    X, new = sparse_pixels(0), sparse_pixels(100)
    assert np.abs(X).max() > 25
    network = make_network(0, (30, 20, 10, 2), name, spread=1.0)
    pnet = n2p.polynomial_network(network, max_order, data=X)
    truth, found = network.predict(new), values(pnet, new)
    assert np.all(np.isfinite(found))
    # Measured: at most 1.9 times the network's largest value to order 3, 3.0 times at order 4.
    assert np.abs(found).max() < 4 * np.abs(truth).max()
    assert pnet.card.r2 > 0.3


@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_a_category_of_three_rows_in_500_is_followed(make_network, name):
    for seed in range(3):
        X = indicator(seed)
        network = make_network(seed, (4, 10, 6, 1), name, spread=1.0)
        for max_order in (1, 2, 3, 4):
            pnet = n2p.polynomial_network(network, max_order, data=X)
            truth, found = network.predict(X)[:, None], values(pnet, X)
            assert np.abs(found - truth).max() < np.ptp(truth)


@pytest.mark.parametrize("max_order", [2, 3, 4])
def test_outliers_of_thirty_deviations_leave_the_other_rows_in_bounds(make_network, max_order):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 5))
    X[rng.choice(500, 5, replace=False)] *= 30
    network = make_network(5, (5, 12, 8, 1), "tanh", spread=1.0)
    pnet = n2p.polynomial_network(network, max_order, data=X)
    new = rng.normal(size=(500, 5))
    truth, found = network.predict(new), values(pnet, new)[:, 0]
    assert np.all(np.isfinite(found))
    assert np.abs(found - truth).max() < 10 * np.ptp(truth)


def test_damping_touches_rare_inputs_only(make_network):
    X = sparse_pixels(0)
    network = make_network(0, (30, 20, 10, 2), "tanh", spread=1.0)
    working, fitted = damped(network, X, 3)
    ratio = fitted.layers[0].weights / working.layers[0].weights
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones((1, 20)), rtol=1e-12)
    np.testing.assert_allclose(ratio[:15], 1.0, rtol=1e-12)
    assert np.all(ratio > 0)
    assert np.all(ratio <= 1 + 1e-12)
    assert np.sum(ratio[15:, 0] < 0.5) >= 10
    for before, after in zip(working.layers[1:], fitted.layers[1:], strict=True):
        np.testing.assert_array_equal(after.weights, before.weights)


def test_ordinary_inputs_leave_the_network_as_it_is(make_network):
    network = make_network(6, (4, 8, 1), "tanh", spread=1.0)
    for X in (uniform(300, 4), np.random.default_rng(0).normal(size=(300, 4))):
        working, fitted = damped(network, X, 4)
        assert fitted is working


def test_order_one_and_a_linear_first_layer_are_never_damped_for_rarity(make_network):
    X = sparse_pixels(0)
    for name, max_order in (("tanh", 1), ("linear", 3)):
        network = make_network(0, (30, 20, 10, 2), [name, "tanh"], spread=1.0)
        working, fitted = damped(network, X, max_order)
        assert fitted is working


def test_damping_reaches_the_skips_from_the_input(make_network):
    network = make_network(0, (30, 8, 6, 2), "tanh", spread=1.0, skips=True)
    working, rows = fit_rows(network, sparse_pixels(0))
    shares = calibrated._linear_shares(working, rows, 3)
    fitted = calibrated._calibrated(working, rows, 3, shares, refit=False).network
    ratio = (fitted.layers[0].weights / working.layers[0].weights)[:, :1]
    assert ratio.min() < 0.5
    for before, after in zip(working.layers[1:], fitted.layers[1:], strict=True):
        expected = before.skips[0] * ratio
        np.testing.assert_allclose(after.skips[0], expected, rtol=1e-12)


def test_rare_levels_of_a_network_that_is_a_polynomial_are_followed_exactly():
    """The paper's forest covers: damping rare types of soil cost a factor of 50 in the error."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, (800, 3)), rng.uniform(size=(800, 2)) < 0.01])
    layers = [n2p.Layer(rng.normal(size=(5, 6)), None, lambda u: u**2), n2p.Layer(np.ones((6, 1)))]
    network = n2p.Network(layers)
    for refit in (True, False):
        pnet = n2p.polynomial_network(network, 2, data=X, refit=refit)
        np.testing.assert_allclose(values(pnet, X)[:, 0], network.predict(X), atol=1e-6)


@pytest.mark.slow
def test_standardised_digits_are_followed_at_order_three():
    """Pixels of the border are lit in a few images: undamped, R² is .84."""
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X, new, y, _ = train_test_split(X, y, test_size=0.25, random_state=11, stratify=y)
    model = MLPClassifier((40, 40), activation="tanh", tol=1e-2, random_state=0).fit(X, y)
    network = n2p.read_network(model)
    pnet = n2p.polynomial_network(network, 3, data=X, refit=False)
    assert n2p.fidelity(network, pnet, new).r2 > 0.9
