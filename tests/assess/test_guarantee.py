"""The guarantee: an order statistic whose promise holds whatever the distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, expon, t

import nn2poly as n2p
from nn2poly.assess.guarantee import CONFIDENCE, COVERAGE, guarantee, order_statistic, rows_needed
from nn2poly.formula.polynomial import Polynomial

LEVELS = [(0.95, 0.99), (0.9, 0.9), (0.99, 0.95), (0.8, 0.5), (0.51, 0.3)]


@pytest.mark.parametrize(("confidence", "coverage"), LEVELS)
def test_the_rank_is_that_of_a_brute_force_binomial(confidence, coverage):
    for n in range(rows_needed(confidence, coverage), 700):
        ranks = np.arange(1, n + 1)
        enough = ranks[binom.cdf(ranks - 1, n, coverage) >= confidence]
        assert order_statistic(n, confidence, coverage) == enough[0]


@pytest.mark.parametrize("n", [20_000, 1_000_000])
def test_the_rank_is_right_for_many_rows(n):
    rank = order_statistic(n, CONFIDENCE, COVERAGE)
    assert binom.cdf(rank - 1, n, COVERAGE) >= CONFIDENCE > binom.cdf(rank - 2, n, COVERAGE)


@pytest.mark.parametrize(("confidence", "coverage"), LEVELS)
def test_the_rows_needed_are_the_fewest_whose_largest_error_is_a_bound(confidence, coverage):
    n = rows_needed(confidence, coverage)
    assert 1 - coverage**n >= confidence > 1 - coverage ** (n - 1)
    assert order_statistic(n, confidence, coverage) == n
    assert order_statistic(n - 1, confidence, coverage) == n


def test_one_row_fewer_than_needed_gives_no_bound_and_says_how_many_are():
    needed = rows_needed(CONFIDENCE, COVERAGE)
    few, enough = (guarantee(np.ones((n, 2))) for n in (needed - 1, needed))
    assert few.bounds == ()
    assert (few.rows_needed, few.n_rows) == (299, 298)
    for part in ("too few rows", "299 needed", "99 % of new rows", "95 % confidence", "298"):
        assert part in str(few)
    assert enough.bounds == (1.0, 1.0)
    assert "too few" not in str(enough)


def test_the_bound_is_the_error_at_the_rank_for_every_output():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(1000, 3)) * [1.0, 10.0, 1e-6]
    found = guarantee(errors)
    assert found.bounds == tuple(np.sort(np.abs(errors), axis=0)[995].tolist())
    assert guarantee(-errors[::-1]).bounds == found.bounds


def test_many_outputs_are_cut_short_in_words_only():
    found = guarantee(np.tile(np.arange(1.0, 13.0), (300, 1)))
    assert len(found.bounds) == 12
    assert "±8, …" in str(found)
    assert "±9" not in str(found)


@pytest.mark.parametrize("n", [299, 1000])
@pytest.mark.parametrize("distribution", [expon(), t(1)], ids=["exponential", "Cauchy"])
def test_the_promise_holds_as_often_as_it_says(distribution, n):
    """2000 samples: the share of kept promises is the exact one within Monte-Carlo error."""
    trials = 2000
    draws = distribution.rvs(size=(n, trials), random_state=1)
    bounds = np.array(guarantee(draws).bounds)
    coverage = distribution.cdf(bounds)
    if distribution.support()[0] < 0:
        coverage -= distribution.cdf(-bounds)
    kept = np.mean(coverage >= COVERAGE)
    exact = binom.cdf(order_statistic(n, CONFIDENCE, COVERAGE) - 1, n, COVERAGE)
    assert exact >= CONFIDENCE
    assert abs(kept - exact) < 4 * np.sqrt(exact * (1 - exact) / trials)


def test_the_promise_holds_with_ties_and_with_no_error_at_all():
    rng = np.random.default_rng(2)
    bounds = np.array(guarantee(rng.binomial(1, 0.02, (500, 1000)).astype(float)).bounds)
    assert np.mean(bounds == 1.0) > CONFIDENCE
    assert guarantee(np.zeros((300, 1))).bounds == (0.0,)


def test_several_outputs_are_promised_each_by_itself():
    rng = np.random.default_rng(5)
    text = str(guarantee(rng.normal(size=(400, 2))))
    assert "(each output by itself)" in text
    assert "each output" not in str(guarantee(rng.normal(size=(400, 1))))


def test_the_promise_carries_its_condition_unless_the_rows_are_known_to_be_new(make_network):
    network = make_network(4, (3, 8, 1), "tanh")
    X = np.random.default_rng(4).uniform(-1, 1, (2500, 3))
    poly = n2p.convert(network, 2, data=X)
    condition = "of the network, if the conversion did not see these rows"
    checked = n2p.fidelity(network, poly, X).guarantee
    assert checked.held_out is None
    assert str(checked).endswith(condition)
    assert poly.card.guarantee.held_out is True
    assert str(poly.card.guarantee).endswith("of the network")


def test_a_bound_is_no_comfort_when_r2_is_negative(make_network):
    network = make_network(4, (3, 8, 1), "tanh")
    X = np.random.default_rng(4).uniform(-1, 1, (400, 3))
    far = Polynomial([[100.0], [1.0], [0.0], [0.0]], 1, ["x1", "x2", "x3"])
    assert str(n2p.fidelity(network, far, X).guarantee).startswith("worse than a constant (R2 is n")
    assert "worse" not in str(n2p.fidelity(network, n2p.convert(network, 2, data=X), X).guarantee)


def test_the_card_of_a_calibration_bounds_new_rows(make_network):
    network = make_network(4, (3, 8, 6, 1), "relu", spread=1.0)
    rng = np.random.default_rng(4)
    pnet = n2p.polynomial_network(network, 2, data=rng.uniform(-1, 1, (2500, 3)))
    assert pnet.card.guarantee.n_rows == pnet.card.n_rows >= 299
    new = rng.uniform(-1, 1, (20_000, 3))
    error = np.abs(pnet.outputs_by_order(new)[-1][:, 0] - network.predict(new))
    assert np.mean(error <= pnet.card.guarantee.bounds[0]) >= COVERAGE
