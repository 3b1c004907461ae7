"""Several networks at once give what each gives alone, whoever does the work."""

from __future__ import annotations

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, StorageError


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(200, 3))


@pytest.fixture(scope="module")
def networks(make_network):
    return [make_network(seed, (3, 6, 5, 2), "relu", spread=1.0) for seed in range(4)]


@pytest.fixture(scope="module")
def alone(networks, rows):
    return [n2p.convert(network, 3, data=rows) for network in networks]


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_every_backend_gives_what_each_network_gives_alone(networks, rows, alone, backend):
    found = n2p.convert_many(networks, 3, data=rows, backend=backend, n_jobs=2)
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
        found = n2p.convert_many(networks, 3, data=rows, backend="dask")
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=0, atol=1e-12)


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
