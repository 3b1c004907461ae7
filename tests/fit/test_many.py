"""Several networks at once give what each gives alone, whoever does the work."""

from __future__ import annotations

import threading
import time

import dask
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, StorageError
from nn2poly.fit import many


@pytest.fixture(scope="module")
def rows():
    """Draw rows without tails: those of several networks are cut as suits all of them."""
    return np.random.default_rng(0).uniform(-2.0, 2.0, size=(200, 3))


@pytest.fixture(scope="module")
def networks(make_network):
    return [make_network(seed, (3, 6, 5, 2), "relu", spread=1.0) for seed in range(4)]


@pytest.fixture(scope="module")
def alone(networks, rows):
    return [n2p.convert(network, 3, data=rows, bounded=False) for network in networks]


@pytest.fixture
def no_patience(monkeypatch):
    """Start processes at once."""
    monkeypatch.setattr(many, "PATIENCE", 0.0)


@pytest.fixture
def sent(monkeypatch):
    """Note the numbers of the models that go to other processes, and convert them here."""
    numbers = []

    def elsewhere(backend, n_jobs):
        def run(tasks):
            numbers.extend(task[1] for task in tasks)
            return [many._one(*task) for task in tasks]

        return run

    monkeypatch.setattr(many, "_elsewhere", elsewhere)
    return numbers


@pytest.mark.slow
@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_every_backend_gives_what_each_network_gives_alone(networks, rows, alone, backend):
    found = n2p.convert_many(networks, 3, data=rows, bounded=False, backend=backend, n_jobs=2)
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=0, atol=1e-12)
        assert one.card.r2 == pytest.approx(other.card.r2)


def test_the_workers_of_dask_do_it_too(networks, rows, alone):
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}),
        LocalCluster(processes=False, **options) as cluster,
        Client(cluster),
    ):
        found = n2p.convert_many(networks, 3, data=rows, bounded=False, backend="dask")
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=0, atol=1e-12)


def test_small_networks_start_no_process(monkeypatch, networks, rows, alone):
    def refuse(*_, **__):
        raise AssertionError("joblib was asked")

    monkeypatch.setattr(joblib, "Parallel", refuse)
    begin = time.perf_counter()
    found = n2p.convert_many(networks, 3, data=rows, bounded=False)
    assert time.perf_counter() - begin < many.PATIENCE
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)


@pytest.mark.slow
def test_a_long_conversion_goes_on_here_while_others_begin_elsewhere(
    monkeypatch, networks, rows, alone, sent
):
    released, convert = threading.Event(), many.convert

    def slow(network, *args, **options):
        if network is networks[1]:
            assert released.wait(60)
        elif network is networks[2]:
            released.set()
        return convert(network, *args, **options)

    monkeypatch.setattr(many, "convert", slow)
    monkeypatch.setattr(many, "PATIENCE", 1.0)
    found = n2p.convert_many(networks, 3, data=rows, bounded=False)
    assert sent == [2, 3]
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)


def test_after_a_mistake_nothing_more_begins(networks, rows, sent):
    with pytest.raises(InvalidInputError, match=r"models\[0\]"):
        n2p.convert_many(networks, 3, data=rows[:, :2])
    assert sent == []


def test_one_job_at_a_time_stays_one(networks, rows, sent):
    assert len(n2p.convert_many(networks, 3, data=rows, bounded=False, n_jobs=1)) == len(networks)
    assert sent == [0, 1, 2, 3]


def test_mean_and_spread_of_every_coefficient(alone):
    ensemble = n2p.explain.ensemble(alone)
    stacked = np.stack([poly.coefficients for poly in alone])
    np.testing.assert_allclose(ensemble.mean.coefficients, stacked.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(ensemble.std, stacked.std(axis=0, ddof=1), atol=1e-12)


def test_models_of_a_framework_are_read_where_they_are(rows):
    y = rows[:, 0] - rows[:, 1] * rows[:, 2]
    model = MLPRegressor(hidden_layer_sizes=(5,), max_iter=5000, random_state=0, solver="lbfgs")
    pipes = [make_pipeline(StandardScaler(), model).fit(rows, y) for _ in range(2)]
    found = n2p.convert_many(pipes, 2, data=rows, n_jobs=2)
    expected = n2p.convert(pipes[0], 2, data=rows)
    np.testing.assert_allclose(found[1].coefficients, expected.coefficients, atol=1e-12)
    options = {"after": "standardscaler", "backend": "sequential"}
    after = n2p.convert_many(pipes, 1, data=rows, **options)
    assert after[0].coefficients.shape == (4, 1)


@pytest.mark.usefixtures("no_patience")
def test_mistakes_are_told_before_the_work_and_with_the_model(networks, rows):
    with pytest.raises(TypeError, match="max_ordr"):
        n2p.convert_many(networks, 2, max_ordr=3)
    with pytest.raises(InvalidInputError, match="no models"):
        n2p.convert_many([])
    with pytest.raises(StorageError, match=r"models\[4\]"):
        n2p.convert_many([*networks, "nothing.onnx"])
    for backend in ("sequential", "loky"):
        with pytest.raises(InvalidInputError, match=r"models\[[01]\]"):
            n2p.convert_many(networks[:2], 2, data=rows[:, :2], backend=backend, n_jobs=2)
    with pytest.raises(InvalidInputError, match="backend"):
        n2p.convert_many(networks, backend="spark")


def test_a_budget_of_terms_is_not_held_at_order_two():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 2))
    net = n2p.Network([n2p.Layer([[3.0], [0.0]], None, "sin"), n2p.Layer([[1.0]])])
    (poly,) = n2p.convert_many([net], data=X, max_terms=12, backend="sequential")
    assert poly.max_order > 2


def test_regions_are_found_for_each_network():
    X = np.random.default_rng(0).uniform(-2, 2, (600, 2))
    nets = [
        n2p.Network([n2p.Layer(w * np.ones((2, 1)), [b], "relu"), n2p.Layer([[1.0]])])
        for w, b in ((1.0, 0.0), (-1.0, 0.5))
    ]
    found = n2p.convert_many(nets, 1, data=X, regions=4, backend="sequential")
    assert [type(poly).__name__ for poly in found] == ["PiecewisePolynomial"] * 2
    assert all(poly.card.r2 > 0.95 for poly in found)


def test_a_misspelt_number_of_regions_is_refused():
    net = n2p.Network([n2p.Layer([[1.0]])])
    with pytest.raises(n2p.NN2PolyError, match="regions"):
        n2p.convert_many([net], 1, data=[[0.0], [1.0]] * 20, regions="some", backend="sequential")


def test_networks_share_their_bounds_so_that_they_can_be_compared(make_network):
    rng = np.random.default_rng(0)
    draws = rng.standard_cauchy(3000), rng.lognormal(size=3000), rng.normal(size=3000)
    X = np.column_stack(draws)
    nets = [make_network(seed, (3, 12, 1), "relu", spread=1.0) for seed in range(3)]
    polys = n2p.convert_many(nets, 2, data=X, backend="sequential")
    held = [[c.function for c in poly.inputs.coordinates] for poly in polys]
    assert held[0] == held[1] == held[2]
    assert n2p.explain.ensemble(polys).mean.inputs.are_bounded
