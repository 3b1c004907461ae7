"""The refit of the terms adds what the layers could not, and is left out where it does not help."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.fidelity import mean_r2
from nn2poly.fit import fitting, refine, term_fit

LEVELS = 6


def one_hot_rows(n, seed=0):
    """Draw two numbers and two factors, coded as 0/1 columns."""
    rng = np.random.default_rng(seed)
    factors = [np.eye(LEVELS)[rng.choice(LEVELS, n)] for _ in range(2)]
    return np.hstack([rng.normal(size=(n, 2)), *factors])


@pytest.fixture(scope="module")
def network(make_network):
    return make_network(2, (2 + 2 * LEVELS, 20, 15, 2), "relu", spread=3.0, bias=1.0)


@pytest.fixture(scope="module")
def rows():
    return one_hot_rows(4000)


@pytest.fixture(scope="module")
def pair(network, rows):
    """Fit the terms, and calibrate the layers alone."""
    return n2p.convert(network, 2, data=rows), n2p.convert(network, 2, data=rows, refit=False)


def test_new_rows_are_followed_better(network, pair):
    new = one_hot_rows(4000, seed=1)
    inside = ~np.any((new < pair[0].low) | (new > pair[0].high), axis=1)
    refitted, without = (n2p.fidelity(network, p, new[inside]).r2 for p in pair)
    assert refitted > without + 0.01


def test_the_card_is_that_of_the_refitted_polynomial(network, rows, pair):
    refitted, without = pair
    assert refitted.card.r2 > without.card.r2
    assert refitted.card.n_rows == without.card.n_rows
    # The row of the largest error is counted in the data that were passed.
    name, output = next(iter(refitted.card.per_output.items()))
    row = rows[[output.worst_row]]
    column = refitted.output_names.index(name)
    error = network.predict(row)[0, column] - refitted.predict(row)[0, column]
    assert abs(error) == pytest.approx(output.max_error)


def test_it_is_left_out_on_request_and_with_kept_layers(network, rows):
    options = {"data": rows, "refit": False, "binary": False}
    plain = n2p.polynomial_network(network, 2, **options).expand()
    found = n2p.convert(network, 2, **options)
    np.testing.assert_array_equal(found.coefficients, plain.coefficients)
    kept = n2p.convert(network, 2, data=rows, keep_layers=True, binary=False)
    last = kept.layers[-1].output.coefficients
    np.testing.assert_allclose(kept.coefficients, last, atol=1e-12)


def test_every_way_to_convert_gives_the_same_function(network, rows):
    """The refit is part of the factored form, and of kept layers."""
    formula = n2p.convert(network, 2, data=rows)
    factored = n2p.polynomial_network(network, 2, data=rows)
    kept = n2p.convert(network, 2, data=rows, keep_layers=True)
    size = np.abs(formula.predict(rows)).max()
    for other in (factored, factored.expand(), kept):
        np.testing.assert_allclose(other.predict(rows), formula.predict(rows), atol=1e-9 * size)
    term = (0, 3)
    assert factored.coefficient(term) == pytest.approx(factored.expand().coefficient(term))
    assert factored.card.r2 == pytest.approx(formula.card.r2)


def test_too_many_terms_for_moments_are_refitted_by_gradients(monkeypatch, network, rows, pair):
    monkeypatch.setattr(term_fit, "CLOSED", 20)
    found = n2p.convert(network, 2, data=rows)
    new = np.clip(one_hot_rows(4000, seed=1), -2.0, 2.0)
    truth = network.predict(new)
    by_gradients, solved, without = (mean_r2(truth, p.predict(new)) for p in (found, *pair))
    assert by_gradients > solved - 0.01
    assert by_gradients > without + 0.01


def test_what_is_not_written_out_is_no_further_off_than_the_order_below(monkeypatch, network, rows):
    lower = n2p.convert(network, 2, data=rows)
    without = n2p.convert(network, 3, data=rows, refit=False)
    for module in (fitting, refine):
        monkeypatch.setattr(module, "MAX_WRITTEN", lower.n_features**2)
    found = n2p.convert(network, 3, data=rows)
    factored = n2p.polynomial_network(network, 3, data=rows)
    new = np.clip(one_hot_rows(4000, seed=1), -2.0, 2.0)
    truth = network.predict(new)
    mixed, below, calibrated = (mean_r2(truth, p.predict(new)) for p in (found, lower, without))
    assert found.max_order == 3
    assert mixed > below - 0.002
    assert mixed > calibrated + 0.002
    size = np.abs(truth).max()
    np.testing.assert_allclose(factored.predict(rows), found.predict(rows), atol=1e-9 * size)


@pytest.mark.parametrize("n_rows", [6, 8])
def test_what_is_not_written_out_stays_as_it_is_where_rows_are_too_few(make_network, n_rows):
    network = make_network(2, (110, 6, 1), "tanh")  # 234,136 terms
    X = np.random.default_rng(0).normal(size=(n_rows, 110))
    found = n2p.polynomial_network(network, 3, data=X)
    plain = n2p.polynomial_network(network, 3, data=X, refit=False)
    assert np.all(np.isfinite(found.predict(X)))
    assert found.n_terms == plain.n_terms > refine.MAX_WRITTEN


def test_orders_between_are_fitted_on_the_way_to_one_of_many_terms(monkeypatch, network, rows):
    monkeypatch.setattr(term_fit, "CLOSED", 20)
    orders: list[int] = []
    descend = term_fit.descend

    def noted(regression, *others):
        orders.append(regression.terms.max_order)
        return descend(regression, *others)

    monkeypatch.setattr(term_fit, "descend", noted)
    n2p.convert(network, 3, data=rows)
    assert orders == [2, 3]


def test_few_rows_for_each_term_lose_nothing_on_new_rows(network, rows):
    new = np.clip(one_hot_rows(4000, seed=1), -2.0, 2.0)
    truth = network.predict(new)
    found = n2p.convert(network, 2, data=rows[:300])
    without = n2p.convert(network, 2, data=rows[:300], refit=False)
    assert mean_r2(truth, found.predict(new)) > mean_r2(truth, without.predict(new)) - 0.002


def test_a_polynomial_that_leaves_nothing_is_left_alone(make_network):
    network = make_network(3, (3, 4, 1), "linear")
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = n2p.convert(network, 2, data=X, bounded=False)
    np.testing.assert_allclose(found.predict(X), network.predict(X), rtol=1e-9, atol=1e-12)


def test_parts_elsewhere_give_the_same(network, rows):
    expected = n2p.convert(network, 2, data=rows)
    found = n2p.convert(network, 2, data=dask.array.from_array(rows, chunks=(700, rows.shape[1])))
    scale = np.abs(expected.coefficients).max()
    np.testing.assert_allclose(found.coefficients / scale, expected.coefficients / scale, atol=1e-8)


# ---- products that the data never show ----------------------------------------------------------


def test_two_flags_that_are_never_both_on_have_no_product(make_network):
    rng = np.random.default_rng(0)
    day = rng.choice(3, 1000, p=[0.1, 0.6, 0.3])
    X = np.column_stack([rng.normal(size=1000), day == 0, day == 1]).astype(float)
    names = ["hour", "holiday", "workingday"]
    network = make_network(5, (3, 10, 1), "relu", spread=2.0).named(names)
    poly = n2p.convert(network, 3, data=X)
    assert not [name for name in poly.term_names() if "holiday" in name and "workingday" in name]
    # Plain: a flag that nobody calls one is a number, which bounds would hold.
    whole = n2p.convert(network, 3, data=X, binary=False, refit=False, bounded=False)
    folded = n2p.convert(network, 3, data=X, refit=False, bounded=False)
    np.testing.assert_allclose(folded.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)


def test_rare_flags_that_never_met_by_chance_keep_their_product(make_network):
    X = np.zeros((300, 3))
    X[:, 0] = np.random.default_rng(0).normal(size=300)
    X[:5, 1], X[5:12, 2] = 1.0, 1.0
    names = ["x", "a", "b"]
    poly = n2p.convert(make_network(5, (3, 6, 1)).named(names), 2, data=X)
    assert "a · b" in poly.term_names()


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_asked_rows_weigh_as_much_as_costs_others_little(monkeypatch, make_network):
    rng = np.random.default_rng(4)
    network = make_network(4, (4, 30, 20, 1), "tanh", spread=1.0)
    # Columns that go together: shuffled ones are far from all rows.
    X, new = rng.normal(size=(2, 3_000, 1)) + 0.3 * rng.normal(size=(2, 3_000, 4))
    shuffled = rng.permuted(new, axis=0)
    chosen = n2p.convert(network, 3, data=X)
    monkeypatch.setattr(term_fit, "WEIGHTS", (0.001,))
    least = n2p.convert(network, 3, data=X)
    rows, mixed = (
        [mean_r2(network.predict(Z)[:, None], poly.predict(Z)[:, None]) for poly in (chosen, least)]
        for Z in (new, shuffled)
    )
    assert rows[0] > rows[1] - 0.004
    assert mixed[0] > mixed[1]
