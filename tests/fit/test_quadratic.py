"""What the layers leave is fitted by a quadratic, where that helps on rows that are left out."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement

import dask.array
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.factored.correction import Correction
from nn2poly.fit import quadratic as module
from nn2poly.fit.expand import calibrate_network
from nn2poly.fit.problem import read_problem
from nn2poly.fit.quadratic import _Left, _left_out, _quadratic, _ridge, _spectrum


def uniform(n, p, seed=0, reach=1.0):
    return np.random.default_rng(seed).uniform(-reach, reach, (n, p))


def added(pnet, seed=0):
    """Give a polynomial network a correction that is not small."""
    rng, p, k = np.random.default_rng(seed), pnet.network.n_features, pnet.network.n_outputs
    terms = Graded(p, min(pnet.max_order, 2))
    return replace(pnet, correction=Correction(terms, rng.normal(size=(len(terms), k))))


@pytest.fixture(scope="module")
def network(make_network):
    return make_network(3, (6, 20, 15, 2), "relu", spread=3.0, bias=1.0)


@pytest.fixture(scope="module")
def pnet(network):
    found = n2p.polynomial_network(network, 3, data=uniform(300, 6))
    assert found.correction is not None
    return found


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, new, y, _ = train_test_split(X / 16.0, y, test_size=0.25, random_state=0, stratify=y)
    return n2p.read_network(trained(X, y, "tanh")), X, new


@pytest.fixture(scope="module")
def followed(digits):
    """Calibrate the network of the digits once for each order."""
    network, X, _ = digits
    return cache(lambda order: calibrated(network, order, X))


def calibrated(network, order, X, *, bounded=True, weights=None):
    """Calibrate, quadratic included, without the refit of written terms that would follow."""
    problem = read_problem(network, X, weights, bounded=bounded)
    return calibrate_network(problem, order, refit=True, report=lambda _: None)


def trained(X, y, activation):
    model = MLPClassifier(
        hidden_layer_sizes=(40, 40), activation=activation, tol=1e-2, random_state=0
    )
    return model.fit(X, y)


# ---- what it is good for ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 3])
def test_new_digits_are_followed_better(digits, followed, order):
    network, _, new = digits
    with_it = followed(order)
    without = replace(with_it, correction=None)
    errors = [1.0 - n2p.fidelity(network, found, new).r2 for found in (with_it, without)]
    assert errors[0] < 0.95 * errors[1]


@pytest.mark.slow
@pytest.mark.study
def test_the_card_speaks_of_the_whole(digits):
    network, X, new = digits
    found = n2p.polynomial_network(network, 2, data=X)
    without = n2p.polynomial_network(network, 2, data=X, refit=False)
    assert found.card.r2 > without.card.r2
    assert found.card.r2 == pytest.approx(n2p.fidelity(network, found, new).r2, abs=0.02)


@pytest.mark.slow
def test_rare_inputs_are_followed_beyond_the_sample(monkeypatch):
    X, y = load_digits(return_X_y=True)
    scaler = StandardScaler().fit(X)
    X = scaler.transform(X)
    network = n2p.read_network(trained(X, y, "relu"))
    rare = [j for j in range(64) if 15.0 < X[:, j].max() < 50.0]
    assert len(rare) > 3
    far = X[: 50 * len(rare)].copy()
    far[np.arange(len(far)), np.repeat(rare, 50)] = np.repeat(2.0 * X[:, rare].max(axis=0), 50)
    truth, errors = network.predict(far), []
    for probes in (module.rare_probes, lambda network, *_: np.zeros((0, network.n_features))):
        monkeypatch.setattr(module, "rare_probes", probes)
        found = calibrated(network, 3, X, bounded=False)
        errors.append(np.mean((found.outputs_by_order(far)[-1] - truth) ** 2))
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 3])
def test_rows_whose_columns_do_not_go_together_are_followed_no_worse(digits, followed, order):
    network, _, new = digits
    rng = np.random.default_rng(0)
    mixed = np.column_stack([rng.permutation(column) for column in new.T])
    truth, found = network.predict(mixed), followed(order)
    with_it, without = (
        np.mean((p.outputs_by_order(mixed)[-1] - truth) ** 2)
        for p in (found, replace(found, correction=None))
    )
    assert found.correction is not None
    assert with_it < without


def test_a_fit_that_harms_off_the_sample_is_not_taken():
    """Two columns that go together: what helps along their line must not cost beside it."""
    rng = np.random.default_rng(0)
    along, beside = rng.normal(size=(60, 1)), rng.normal(size=(60, 2))
    z = np.concatenate([np.hstack([along, along]), beside])
    weights = np.concatenate([np.ones(60), np.full(60, 0.01)])
    none = np.zeros(0, dtype=np.intp)
    for values, taken in (
        (z[:, :1] * z[:, 1:], True),
        (z[:, :1] ** 2 * (z[:, :1] == z[:, 1:]), False),
    ):
        left = _Left(z, values, values, weights, 60, none, 120)
        assert (_ridge(left, z, 2) is not None) is taken


def test_a_fit_that_harms_the_rows_themselves_is_not_taken():
    """What is left far out is large, and no quadratic that mends it may cost what is near."""
    rng = np.random.default_rng(0)
    near = rng.uniform(-1, 1, size=(60, 1))
    z = np.concatenate([near, 1.5 * near, rng.uniform(-1, 1, size=(60, 1))])
    values = 0.01 * np.sign(z) + np.where(np.abs(z) > 1, 5.0 * np.abs(z) - 5.0, 0.0)
    weights = np.repeat([1.0, 0.2, 0.05], 60)
    left = _Left(z, values, values, weights, 60, np.arange(60), 180)
    found = _ridge(left, z, 2)
    near_error = np.mean(values[:60] ** 2)
    assert found is None or np.mean((values[:60] - found.value(z[:60])) ** 2) <= near_error


# ---- it is part of the polynomial ---------------------------------------------------------


def test_all_ways_to_the_polynomial_agree(pnet):
    X = uniform(40, 6, seed=1, reach=0.9)
    poly = pnet.expand()
    np.testing.assert_allclose(pnet.predict(X), poly.predict(X), atol=1e-12)
    np.testing.assert_allclose(pnet.outputs_by_order(X)[-1], pnet.predict(X), atol=1e-12)
    low = poly.truncate(1).predict(X)
    np.testing.assert_allclose(pnet.outputs_by_order(X)[1], low, atol=1e-12)
    short = pnet.predict(X, dtype=np.float32)
    assert short.dtype == np.float32
    np.testing.assert_allclose(short, pnet.predict(X), atol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_coefficient_is_that_of_the_terms(network, order):
    found = added(n2p.polynomial_network(network, order, data=uniform(300, 6)))
    poly = found.expand()
    terms = [t for d in range(order + 1) for t in combinations_with_replacement(range(6), d)]
    for row, term in zip(poly.coefficients, terms, strict=True):
        single = [found.coefficient(term, output) for output in range(2)]
        np.testing.assert_allclose(single, row, rtol=1e-9, atol=1e-12)


def test_the_largest_terms_are_those_of_the_whole(pnet):
    poly = pnet.expand()
    listed = {row[0]: row[2:] for row in pnet.top_terms(poly.n_terms - 1)}
    features = pnet.feature_names
    held = {row[0]: row[2:] for row in pnet.interactions_of("x4")}
    assert len(listed) == poly.n_terms - 1
    for name, values in [*listed.items(), *held.items()]:
        expected = [poly.coefficient(name, output) for output in range(2)]
        np.testing.assert_allclose(values[-2:], expected, rtol=1e-9, atol=1e-12)
    assert all("x4" in name for name in held)
    assert features[3] == "x4"


@pytest.mark.parametrize("order", [1, 2, 4])
def test_kept_layers_end_in_the_polynomial(network, order):
    found = added(n2p.polynomial_network(network, order, data=uniform(300, 6)))
    before = [expansion.copy() for expansion in found.expansions]
    poly = found.expand(keep_layers=True)
    np.testing.assert_array_equal(poly.layers[-1].output.coefficients, poly.coefficients)
    np.testing.assert_allclose(poly.coefficients, found.expand().coefficients, atol=1e-11)
    for expansion, expected in zip(found.expansions, before, strict=True):
        np.testing.assert_array_equal(expansion, expected)


def test_it_is_written_to_disk_with_the_rest(network, pnet, tmp_path):
    poly = n2p.convert(network, 3, data=uniform(300, 6), out=tmp_path / "poly", binary=False)
    np.testing.assert_allclose(poly.coefficients, pnet.expand().coefficients, atol=1e-13)


def test_batches_and_partitions_give_the_same(network, pnet):
    X = uniform(300, 6)
    for data in ([X[:100], X[100:130], X[130:]], dask.array.from_array(X, chunks=(90, 6))):
        found = n2p.polynomial_network(network, 3, data=data)
        expected = pnet.correction.coefficients
        np.testing.assert_allclose(found.correction.coefficients, expected, atol=1e-9)


def test_the_unit_of_the_weights_does_not_matter(network):
    X = uniform(300, 6)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    one, other = (
        calibrated(network, 3, X, weights=unit * weights).correction for unit in (1.0, 1000.0)
    )
    np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-8)


# ---- when there is none -------------------------------------------------------------------


def test_none_without_refit_or_with_many_rows_or_many_inputs(network, monkeypatch):
    X = uniform(300, 6)
    problem = read_problem(network, X, None, bounded=True)
    options = {"refit": True, "report": print}
    assert calibrate_network(problem, 3, refit=False, report=print).correction is None
    many = read_problem(network, uniform(2600, 6), None, bounded=True)
    assert calibrate_network(many, 3, **options).correction is None
    monkeypatch.setattr(module, "MAX_NUMBERS", 71)
    assert calibrate_network(problem, 3, **options).correction is None
    monkeypatch.setattr(module, "MAX_NUMBERS", 72)
    assert calibrate_network(problem, 3, **options).correction is not None


@pytest.mark.parametrize("order", [1, 2])
def test_none_where_nothing_is_left(make_network, order):
    line = make_network(0, (3, 4, 1), "linear")
    assert n2p.polynomial_network(line, order, data=uniform(100, 3)).correction is None


@pytest.mark.slow
def test_constant_inputs_have_no_part_in_it(digits, followed):
    _, X, _ = digits
    dark = np.flatnonzero(np.ptp(X, axis=0) == 0)
    assert len(dark)
    found = followed(2).correction
    for here, rows in found.terms.by_degree():
        np.testing.assert_array_equal(found.coefficients[here][np.isin(rows, dark).any(axis=1)], 0)


# ---- the regression -----------------------------------------------------------------------


def drawn_left(n, p, n_copies, n_probes, seed=0):
    rng = np.random.default_rng(seed)
    total = n + n_copies + n_probes
    z = rng.normal(size=(total, p))
    values = np.sin(z @ rng.normal(size=(p, 2)))
    origin = rng.permutation(n)[:n_copies]
    weights = rng.uniform(0.2, 1.5, total)
    return _Left(z, values, values, weights, n, origin, n + n_copies)


def solved(z, values, weights, ridge, order):
    """Solve the weighted ridge regression directly: its dual coefficients."""
    kernel = (1.0 + z @ z.T / z.shape[1]) ** order
    return np.linalg.solve(kernel + ridge * np.diag(1.0 / weights), values)


@pytest.mark.parametrize("shape", [(12, 5, 4, 2), (60, 3, 20, 2), (30, 4, 0, 0)])
@pytest.mark.parametrize("order", [1, 2])
def test_leaving_out_is_fitting_without(shape, order):
    left, ridge = drawn_left(*shape), 0.7
    root = np.sqrt(left.weights)[:, None]
    values, vectors = _spectrum(left.z, root, order)
    kept = values / (values + ridge)
    target = root * left.values
    residual = target - vectors @ (kept[:, None] * (vectors.T @ target))
    found = _left_out(left, residual, vectors, kept)
    copies = {int(row): left.n_real + i for i, row in enumerate(left.origin)}
    for row in range(left.n_real):
        out = [row, copies[row]] if row in copies else [row]
        rest = np.delete(np.arange(len(left.z)), out)
        dual = solved(left.z[rest], left.values[rest], left.weights[rest], ridge, order)
        kernel = (1.0 + left.z[out] @ left.z[rest].T / left.z.shape[1]) ** order
        expected = root[out] * (left.values[out] - kernel @ dual)
        np.testing.assert_allclose(found[out], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", [(12, 5, 4, 2), (60, 3, 20, 2)])
@pytest.mark.parametrize("order", [1, 2])
def test_the_quadratic_is_the_ridge_regression(shape, order, monkeypatch):
    left = drawn_left(*shape)
    monkeypatch.setattr(module, "STRENGTHS", (0.1,))
    found = _ridge(left, left.z, order)
    kernel = (1.0 + left.z @ left.z.T / left.z.shape[1]) ** order
    ridge = 0.1 * np.sum(left.weights * np.diag(kernel)) / len(left.z)
    dual = solved(left.z, left.values, left.weights, ridge, order)
    np.testing.assert_allclose(found.values(left.z), kernel @ dual, rtol=1e-6, atol=1e-8)
    direct = _quadratic(left.z, dual, order).values(left.z)
    np.testing.assert_allclose(direct, kernel @ dual, atol=1e-10)


def test_noise_is_not_fitted():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(80, 1))
    z, weights = rng.normal(size=(80, 6)), np.ones(80)
    none = np.zeros(0, dtype=np.intp)
    found = _ridge(_Left(z, values, values, weights, 80, none, 80), z, 2)
    assert found is None or np.abs(found.value(z)).max() < 0.3
