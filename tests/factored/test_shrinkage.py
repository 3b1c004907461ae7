"""Small least-squares problems from moments: what they solve, and how they choose to shrink."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.factored import shrinkage
from nn2poly.factored.shrinkage import WEIGHT_RIDGES, fit_weights
from nn2poly.rows.folds import FOLDS


def activation_moments(columns, truth, weights=None):
    """Deal rows to folds in turn; columns (n, h, q) and truth (n, h) make (folds, h, q+2, q+2)."""
    n, h, _ = columns.shape
    weights = np.ones(n) if weights is None else weights
    rows = np.concatenate([np.ones((n, h, 1)), columns, truth[:, :, None]], axis=2)
    return np.stack(
        [
            np.einsum("n,nha,nhb->hab", weights[k::FOLDS], rows[k::FOLDS], rows[k::FOLDS])
            for k in range(FOLDS)
        ]
    )


def fit_activations(moments):
    """Fit columns that are all first powers of potentials of size 1."""
    h, q = moments.shape[1], moments.shape[2] - 2
    return shrinkage.fit_activations(moments, [1] * q, np.ones(h))


def weight_moments(inputs, residual):
    """Deal rows to folds in turn; give gram, cross and square of `fit_weights`."""
    rows = np.column_stack([np.ones(len(inputs)), inputs])
    parts = [slice(k, None, FOLDS) for k in range(FOLDS)]
    gram = np.stack([rows[part].T @ rows[part] for part in parts])
    cross = np.stack([rows[part].T @ residual[part] for part in parts])
    return gram, cross, np.stack([(residual[part] ** 2).sum(axis=0) for part in parts])


def powers(v, highest):
    return np.stack([v**m for m in range(1, highest + 1)], axis=2)


# ---- activations -------------------------------------------------------------------------------


def test_a_polynomial_of_the_columns_is_found_for_every_neuron():
    rng = np.random.default_rng(0)
    v, wanted = rng.normal(size=(300, 4)), rng.normal(size=(4, 4))
    truth = wanted[0] + np.einsum("nhq,qh->nh", powers(v, 3), wanted[1:])
    found = fit_activations(activation_moments(powers(v, 3), truth))
    assert found.shape == (4, 4)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)


def test_noise_free_of_ridge_gives_the_least_squares_solution(monkeypatch):
    monkeypatch.setattr(shrinkage, "ACTIVATION_RIDGES", (0.0,))
    rng = np.random.default_rng(1)
    v = rng.normal(size=(200, 3))
    truth, weights = np.maximum(v + 0.3, 0.0), rng.uniform(0.1, 2.0, 200)
    found = fit_activations(activation_moments(powers(v, 3), truth, weights))
    root = np.sqrt(weights)[:, None]
    for j in range(3):
        design = root * np.column_stack([np.ones(200), powers(v, 3)[:, j]])
        expected = np.linalg.lstsq(design, root[:, 0] * truth[:, j], rcond=None)[0]
        np.testing.assert_allclose(found[:, j], expected, rtol=1e-8)


def test_the_unit_of_weights_does_not_matter_for_the_solution(monkeypatch):
    monkeypatch.setattr(shrinkage, "ACTIVATION_RIDGES", (1e-4,))
    v = np.random.default_rng(2).normal(size=(100, 2))
    moments = activation_moments(powers(v, 2), np.tanh(v))
    np.testing.assert_allclose(
        fit_activations(1e6 * moments), fit_activations(moments), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("value", [0.0, 1.0, -3e5, 0.1])
def test_a_neuron_that_is_constant_keeps_its_mean_and_nothing_else(value):
    rng = np.random.default_rng(3)
    v = rng.normal(size=(100, 2))
    truth = np.column_stack([np.tanh(v[:, 0]), np.full(100, value)])
    found = fit_activations(activation_moments(powers(v, 3), truth))
    np.testing.assert_array_equal(found[1:, 1], 0.0)
    assert found[0, 1] == pytest.approx(value, rel=1e-12, abs=0.0)
    assert np.abs(found[1:, 0]).max() > 0.1


def test_a_layer_of_constants_only_is_solved():
    v = np.random.default_rng(4).normal(size=(50, 2))
    found = fit_activations(activation_moments(powers(v, 2), np.full((50, 2), 0.7)))
    np.testing.assert_allclose(found, [[0.7, 0.7], [0, 0], [0, 0]], rtol=1e-12)


def test_a_column_without_size_gets_no_coefficient():
    rng = np.random.default_rng(5)
    v = rng.normal(size=(100, 1))
    columns = np.concatenate([v[:, :, None], 1e-17 * rng.normal(size=(100, 1, 1))], axis=2)
    found = fit_activations(activation_moments(columns, v + 0.1 * rng.normal(size=(100, 1))))
    assert found[2, 0] == 0.0
    assert found[1, 0] == pytest.approx(1.0, abs=0.1)


def test_two_equal_columns_share_their_coefficient():
    v = np.random.default_rng(6).normal(size=(100, 1))
    columns = np.stack([v, v], axis=2)
    found = fit_activations(activation_moments(columns, 2.0 * v))
    np.testing.assert_allclose(found[1:, 0], [1.0, 1.0], rtol=1e-4)


def test_the_strongest_shrinkage_within_the_slack_is_taken(monkeypatch):
    """On pure noise shrinking is as good as not, so the strongest wins."""
    rng = np.random.default_rng(7)
    v = rng.normal(size=(40, 1))
    noise = activation_moments(powers(v, 5), rng.normal(size=(40, 1)))
    signal = activation_moments(powers(v, 5), powers(v, 5).sum(axis=2))
    tried = {}
    original = shrinkage._ridge

    def noted(moments, ridge, dead):
        tried["last"] = ridge
        return original(moments, ridge, dead)

    monkeypatch.setattr(shrinkage, "_ridge", noted)
    fit_activations(noise)
    assert tried["last"] == max(shrinkage.ACTIVATION_RIDGES)
    fit_activations(signal)
    assert tried["last"] == min(shrinkage.ACTIVATION_RIDGES)


# ---- weights -----------------------------------------------------------------------------------


def test_a_linear_residual_is_taken_up_by_the_weights():
    rng = np.random.default_rng(8)
    inputs, wanted = rng.normal(size=(500, 6)), rng.normal(size=(7, 3))
    residual = wanted[0] + inputs @ wanted[1:]
    change = fit_weights(*weight_moments(inputs, residual), np.ones(3))
    np.testing.assert_allclose(change, wanted, rtol=0, atol=1e-4)


def test_residuals_that_the_inputs_do_not_explain_hardly_change_the_weights():
    """Noise on many inputs: mostly no ridge beats no change, else one that shrinks to little."""
    changes = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        inputs, residual = rng.normal(size=(60, 20)), rng.normal(size=(60, 2))
        for k in range(FOLDS):
            residual[k::FOLDS] -= residual[k::FOLDS].mean(axis=0)
        changes.append(fit_weights(*weight_moments(inputs, residual), np.ones(2)))
        free = np.linalg.lstsq(inputs, residual, rcond=None)[0]
        if changes[-1] is not None:
            assert np.linalg.norm(changes[-1][1:]) < 0.6 * np.linalg.norm(free)
    assert sum(change is None for change in changes) >= 5


def test_nothing_left_leaves_the_weights_alone():
    inputs = np.random.default_rng(9).normal(size=(100, 4))
    assert fit_weights(*weight_moments(inputs, np.zeros((100, 2))), np.ones(2)) is None


def test_the_change_is_one_of_the_ridge_solutions_on_centred_inputs():
    rng = np.random.default_rng(10)
    inputs = 3.0 + rng.normal(size=(80, 10))
    residual = inputs[:, :1] + rng.normal(size=(80, 1))
    change = fit_weights(*weight_moments(inputs, residual), np.ones(1))
    centred = inputs - inputs.mean(axis=0)
    gram = centred.T @ centred
    candidates = [
        np.linalg.solve(
            gram + ridge * np.trace(gram) / 10 * np.eye(10),
            centred.T @ (residual - residual.mean(axis=0)),
        )
        for ridge in WEIGHT_RIDGES
    ]
    errors = [np.abs(change[1:] - candidate).max() for candidate in candidates]
    assert min(errors) < 1e-9
    level = residual.mean() - inputs.mean(axis=0) @ change[1:]
    np.testing.assert_allclose(change[0], level, rtol=1e-9)


def test_an_output_counts_in_its_own_unit():
    """The same problem in cents and in millions: the choice must not follow the larger unit."""
    rng = np.random.default_rng(11)
    inputs = rng.normal(size=(100, 5))
    residual = np.column_stack([inputs[:, 0], rng.normal(size=100)])
    plain = fit_weights(*weight_moments(inputs, residual), np.ones(2))
    factor = np.array([1.0, 1e4])
    scaled = fit_weights(*weight_moments(inputs, residual * factor), factor**2)
    np.testing.assert_allclose(scaled / factor, plain, rtol=0, atol=1e-9)
    misled = fit_weights(*weight_moments(inputs, residual * factor), np.ones(2))
    assert misled is None or np.abs(misled / factor - plain).max() > 1e-6


def test_coordinates_in_a_basis_of_the_inputs_give_the_same_change():
    """Fifty inputs on twenty rows: the mean eigenvalue is over all of them, as before."""
    rng = np.random.default_rng(14)
    inputs = rng.normal(size=(20, 50))
    residual = inputs @ rng.normal(size=(50, 3))
    basis = np.linalg.qr(inputs.T)[0]
    expected = fit_weights(*weight_moments(inputs, residual), np.ones(3))
    found = fit_weights(*weight_moments(inputs @ basis, residual), np.ones(3), n_inputs=50)
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(basis @ found[1:], expected[1:], rtol=0, atol=1e-9)


def test_the_errors_of_all_strengths_are_those_of_their_predictions():
    rng = np.random.default_rng(15)
    inputs, unit = 2.0 + rng.normal(size=(60, 8)), np.array([1.0, 7.0])
    residual = inputs[:, :2] ** 2 + rng.normal(size=(60, 2))
    gram, cross, square = weight_moments(inputs, residual)
    path = shrinkage._ridge_path(gram[1:].sum(axis=0), cross[1:].sum(axis=0), 8)
    design = np.column_stack([np.ones(60), inputs])[::FOLDS]
    expected = [
        (((residual[::FOLDS] - design @ path.change(ridge)) ** 2).sum(axis=0) / unit).sum()
        for ridge in WEIGHT_RIDGES
    ]
    found = path.errors(gram[0], cross[0], square[0], unit)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_inputs_that_do_not_vary_give_no_slopes():
    network = n2p.Network(
        [
            n2p.Layer(0.3 * np.eye(3), np.full(3, 18.0), "tanh"),
            n2p.Layer([[0.1], [0.7], [0.3]], [0.1], "tanh"),
            n2p.Layer([[0.3]], [0.1]),
        ]
    )
    for seed in range(8):
        X = np.random.default_rng(seed).uniform(-1, 1, (100 + seed, 3))
        poly = n2p.convert(network, 2, data=X)
        assert np.abs(poly.coefficients).max() < 10


# ---- folds -----------------------------------------------------------------------------------


def test_folds_without_rows_are_passed_over():
    rng = np.random.default_rng(12)
    v = rng.normal(size=(4, 2))
    found = fit_activations(activation_moments(powers(v, 1), 3.0 * v + 1.0))
    np.testing.assert_allclose(found, [[1.0, 1.0], [3.0, 3.0]], rtol=0, atol=1e-5)
    inputs = rng.normal(size=(4, 1))
    change = fit_weights(*weight_moments(inputs, 2.0 * inputs), np.ones(1))
    np.testing.assert_allclose(change, [[0.0], [2.0]], rtol=0, atol=1e-3)
