"""Rows that are not independent are seen, and the verdict asks for groups."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.alike_rows import find_alike
from nn2poly.inputs import Inputs
from nn2poly.verdicts import Alike

INPUTS = Inputs.of(list("abcd"))


def independent(rng, n):
    return rng.normal(size=(n, 4))


def heavy(rng, n):
    return rng.standard_cauchy(size=(n, 4))


def sorted_by_one(rng, n):
    X = rng.normal(size=(n, 4))
    return X[np.argsort(X[:, 0])]


def series(rng, n, step=0.98):
    X = rng.normal(size=(n, 4))
    for now in range(1, n):
        X[now] = step * X[now - 1] + np.sqrt(1 - step**2) * X[now]
    return X


def clusters(rng, n):
    return rng.normal(size=(n // 15, 4))[np.arange(n) % (n // 15)] + 0.05 * rng.normal(size=(n, 4))


def near_copies(rng, n):
    return rng.normal(size=(n // 5, 4))[np.arange(n) % (n // 5)] + 1e-6 * rng.normal(size=(n, 4))


@pytest.mark.parametrize("make", [independent, heavy, sorted_by_one])
@pytest.mark.parametrize("n", [60, 300, 3000])
def test_independent_rows_are_not_called_alike(make, n):
    # Seeds that no threshold was chosen on.
    for seed in range(100, 110):
        assert find_alike(make(np.random.default_rng(seed), n), INPUTS) is None


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (series, Alike(clusters=False, series=True)),
        (clusters, Alike(clusters=True, series=False)),
        (near_copies, Alike(clusters=True, series=False)),
    ],
)
def test_series_clusters_and_near_copies_are_seen(make, found):
    seen = [find_alike(make(np.random.default_rng(seed), 300), INPUTS) for seed in range(100, 120)]
    assert np.mean([one == found for one in seen]) >= 0.9


def test_copies_to_the_digit_are_drawn_together_and_not_told():
    X = np.tile(independent(np.random.default_rng(0), 100), (3, 1))
    assert find_alike(X, INPUTS) is None


def test_the_verdict_asks_for_groups_and_is_content_with_them(make_network):
    network = make_network(1, (4, 8, 1), "tanh")
    X, patients = clusters(np.random.default_rng(0), 600), np.arange(600) % 40
    said = str(n2p.convert(network, 1, data=X).card.verdict)
    assert "come in clusters of near copies" in said
    assert "groups=" in said
    grouped = n2p.convert(network, 1, data=X, groups=patients)
    assert "clusters" not in str(grouped.card.verdict)
    assert "clusters" in str(n2p.fidelity(network, grouped, X).verdict)
    assert "clusters" not in str(n2p.fidelity(network, grouped, X, groups=patients).verdict)
