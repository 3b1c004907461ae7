"""A wide layer is refitted on its smallest side: the result is the same, the cost is not."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.factored import calibrated, propagation, shrinkage
from nn2poly.factored.calibrated import input_basis, layer_inputs
from nn2poly.rows.fit_rows import gather_rows
from nn2poly.rows.reading import read_sample
from nn2poly.rows.summary import summarise

# inputs, neurons, rows, order: the smallest side is the rows, the terms, or the inputs.
FEW_ROWS = (8, 150, 80, 3)
FEW_TERMS = (2, 60, 300, 3)
FEW_INPUTS = (6, 12, 300, 3)


def uniform(n, p, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, p))


def wide(make_network, p, width, **options):
    return make_network(3, (p, width, width, 2), "relu", spread=1.0, **options)


def fit_rows(network, X):
    """Give the network around a sample, and the rows to fit."""
    sample = read_sample(X, network, None)
    summary = summarise(sample)
    return network.recentered(summary.center, summary.scale), gather_rows(sample, len(X))


def after_first_layer(network, X, order):
    """Calibrate the first layer and take all rows through it."""
    working, rows = fit_rows(network, X)
    traces = propagation.start(working, rows, order)
    expansion = calibrated._fit_layer(working, 1, traces, order)
    for trace in traces:
        trace.step(working, 1, expansion)
    return working, [expansion], traces


@pytest.mark.parametrize(("case", "columns"), [(FEW_ROWS, 64), (FEW_TERMS, 26)])
@pytest.mark.parametrize("skips", [False, True])
def test_the_basis_is_orthonormal_and_spans_the_inputs_on_all_rows(
    make_network, case, columns, skips
):
    """Of 80 rows 64 are fitted; ten terms get 16 points more."""
    p, width, n, order = case
    network = wide(make_network, p, width, skips=skips)
    working, expansions, rows = after_first_layer(network, uniform(n, p), order)
    basis = input_basis(working, expansions, 2, rows)
    assert basis.shape == (width + (p if skips else 0), columns)
    np.testing.assert_allclose(basis.T @ basis, np.eye(columns), rtol=0, atol=1e-12)
    values = np.concatenate([layer_inputs(trace, working, 2) for trace in rows])
    np.testing.assert_allclose(values @ basis @ basis.T, values, rtol=0, atol=1e-11)


def test_no_basis_where_the_inputs_are_the_smallest_side(make_network):
    p, width, n, order = FEW_INPUTS
    found = after_first_layer(wide(make_network, p, width), uniform(n, p), order)
    working, expansions, rows = found
    assert input_basis(working, expansions, 2, rows) is None


def always(gram, cross, square, unit, *, n_inputs):
    """Refit whether it helps or not, so that every layer has something to compare."""
    return shrinkage._ridge_path(gram.sum(axis=0), cross.sum(axis=0), n_inputs).change(1e-3)


@pytest.mark.parametrize("case", [FEW_ROWS, FEW_TERMS])
@pytest.mark.parametrize("skips", [False, True])
def test_the_refitted_weights_are_the_same_on_every_side(monkeypatch, make_network, case, skips):
    p, width, n, order = case
    network, X = wide(make_network, p, width, skips=skips), uniform(n, p)
    monkeypatch.setattr(calibrated, "fit_weights", always)
    found = n2p.polynomial_network(network, order, data=X).network
    monkeypatch.setattr(calibrated, "input_basis", lambda *_: None)
    expected = n2p.polynomial_network(network, order, data=X).network
    for index in (2, 3):
        for (_, one), (_, other) in zip(found.sources(index), expected.sources(index), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
        changed = np.abs(found.layers[index - 1].weights - network.layers[index - 1].weights)
        assert changed.max() > 1e-3


@pytest.mark.parametrize(("case", "helps"), [(FEW_ROWS, False), (FEW_TERMS, True)])
def test_the_choice_to_refit_is_the_same_on_every_side(monkeypatch, make_network, case, helps):
    p, width, n, order = case
    working, rows = fit_rows(wide(make_network, p, width), uniform(n, p))
    found = calibrated.calibrate(working, rows, order, refit=True).expand().coefficients
    monkeypatch.setattr(calibrated, "input_basis", lambda *_: None)
    expected = calibrated.calibrate(working, rows, order, refit=True).expand().coefficients
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    alone = calibrated.calibrate(working, rows, order, refit=False).expand().coefficients
    assert bool(np.abs(found - alone).max() > 1e-4) == helps


def test_points_miss_no_direction_that_only_rare_rows_have(make_network):
    """One row in 300 has the third input at another value than the rest."""
    network, X = wide(make_network, 3, 60), uniform(300, 3)
    X[:, 2] = 0.0
    X[7, 2] = 1.0
    working, expansions, rows = after_first_layer(network, X, 2)
    basis = input_basis(working, expansions, 2, rows)
    values = np.concatenate([layer_inputs(trace, working, 2) for trace in rows])
    np.testing.assert_allclose(values @ basis @ basis.T, values, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("case", "largest"), [(FEW_ROWS, 64), (FEW_TERMS, 26)])
def test_nothing_is_decomposed_that_is_larger_than_the_smallest_side(
    monkeypatch, make_network, case, largest
):
    p, width, n, order = case
    sizes, eigh = [], np.linalg.eigh

    def noted(matrix):
        sizes.append(len(matrix))
        return eigh(matrix)

    monkeypatch.setattr(np.linalg, "eigh", noted)
    working, rows = fit_rows(wide(make_network, p, width), uniform(n, p))
    calibrated.calibrate(working, rows, order, refit=True)
    assert max(sizes) == largest


@pytest.mark.parametrize("case", [FEW_ROWS, FEW_TERMS])
def test_rows_that_lie_elsewhere_give_the_same(make_network, case):
    p, width, n, order = case
    network, X = wide(make_network, p, width), uniform(n, p)
    here = n2p.polynomial_network(network, order, data=X).expand()
    parts = dask.array.from_array(X, chunks=(7, p))
    elsewhere = n2p.polynomial_network(network, order, data=parts).expand()
    np.testing.assert_allclose(elsewhere.coefficients, here.coefficients, rtol=0, atol=1e-9)
