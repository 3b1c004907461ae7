"""The interval of R²: what it covers, what it draws together, what it costs."""

from __future__ import annotations

import time

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.fidelity import JudgingRows, make_card
from nn2poly.assess.interval import r2_interval


def sample(rng, n, kind="normal"):
    x = rng.normal(size=n)
    error = {"normal": 0.2 * rng.normal(size=n), "wider": 0.1 * x**2 * rng.normal(size=n)}[kind]
    return x[:, None], error[:, None]


@pytest.mark.parametrize(("kind", "true"), [("normal", 0.96), ("wider", 0.97)])
@pytest.mark.parametrize("n", [30, 150])
def test_the_interval_covers_r2_of_new_rows(kind, true, n):
    rng = np.random.default_rng(n)
    inside = []
    for _ in range(200):
        low, high = r2_interval(*sample(rng, n, kind), np.ones(n), np.arange(n))
        inside.append(low <= true <= high)
    assert np.mean(inside) > (0.9 if kind == "normal" else 0.8)


def test_more_rows_are_surer():
    rng = np.random.default_rng(0)
    widths = []
    for n in (50, 500, 5000, 20_000):
        low, high = r2_interval(*sample(rng, n), np.ones(n), np.arange(n))
        widths.append(high - low)
    assert np.all(np.diff(widths) < 0)
    assert widths[-1] == pytest.approx(widths[-2] / 2, rel=0.5)


def test_copies_of_rows_make_nothing_surer():
    truth, error = sample(np.random.default_rng(0), 100)
    once = r2_interval(truth, error, np.ones(100), np.arange(100))
    copied = [np.tile(a, (4, 1)) for a in (truth, error)]
    four = r2_interval(*copied, np.ones(400), np.tile(np.arange(100), 4))
    assert four == pytest.approx(once)
    fooled = r2_interval(*copied, np.ones(400), np.arange(400))
    assert fooled[1] - fooled[0] < 0.7 * (once[1] - once[0])


def test_a_weight_of_two_is_a_row_that_comes_twice():
    truth, error = sample(np.random.default_rng(0), 100)
    weights = np.where(np.arange(100) < 50, 2.0, 1.0)
    double = np.concatenate([np.arange(50), np.arange(100)])
    weighted = r2_interval(truth, error, weights, np.arange(100))
    repeated = r2_interval(truth[double], error[double], np.ones(150), double)
    assert weighted == pytest.approx(repeated)


def test_one_row_and_a_constant_output_have_no_interval():
    one = np.ones((1, 1))
    assert r2_interval(one, one, np.ones(1), np.arange(1)) is None
    assert r2_interval(np.ones((9, 1)), np.ones((9, 1)), np.ones(9), np.arange(9)) is None


def test_an_exact_formula_has_an_interval_of_one():
    truth = np.arange(50.0)[:, None]
    assert r2_interval(truth, 0 * truth, np.ones(50), np.arange(50)) == (1.0, 1.0)


def test_the_bootstrap_costs_milliseconds():
    truth, error = sample(np.random.default_rng(0), 20_000)
    r2_interval(truth, error, np.ones(20_000), np.arange(20_000))
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        r2_interval(truth, error, np.ones(20_000), np.arange(20_000))
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.1


# --- on a card ----------------------------------------------------------------------------------


@pytest.fixture
def network():
    rng = np.random.default_rng(4)
    return n2p.Network(
        [
            n2p.Layer(rng.normal(size=(3, 12)), rng.normal(size=12), "tanh"),
            n2p.Layer(rng.normal(size=(12, 1))),
        ]
    )


def test_the_grade_goes_by_the_lower_end(network):
    X = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    card = n2p.convert(network, 3, data=X).card
    low, high = card.r2_interval
    assert low < card.r2 < high
    limits = {"faithful": 0.99, "useful": 0.95, "rough": 0.8, "not faithful": -np.inf}
    assert card.verdict.grade == next(name for name, limit in limits.items() if low >= limit)
    assert "95 % interval" in str(card.verdict)


def test_fewer_than_thirty_rows_have_no_grade(network):
    """ "Faithful … on 95 % of 5 rows" had .81 on new ones."""
    poly = n2p.convert(network, 3, data=np.random.default_rng(0).uniform(-1, 1, (400, 3)))
    X = np.random.default_rng(1).uniform(-1, 1, (29, 3))
    assert n2p.fidelity(network, poly, X).verdict.grade == "ungraded"
    assert "No grade" in str(n2p.fidelity(network, poly, X).verdict)
    assert n2p.fidelity(network, poly, np.tile(X[:5], (10, 1))).verdict.grade == "ungraded"
    more = np.random.default_rng(1).uniform(-1, 1, (300, 3))
    assert n2p.fidelity(network, poly, more).verdict.grade in ("faithful", "useful", "rough")


def test_a_card_is_weighted(network):
    poly = n2p.convert(network, 1, data=np.random.default_rng(0).uniform(-1, 1, (400, 3)))
    X = np.random.default_rng(1).uniform(-1, 1, (200, 3))
    weights = np.where(X[:, 0] > 0, 3.0, 1.0)
    heavy = np.concatenate([X, X[X[:, 0] > 0], X[X[:, 0] > 0]])
    found = n2p.fidelity(network, poly, X, sample_weight=weights)
    expected = n2p.fidelity(network, poly, heavy)
    assert found.r2 == pytest.approx(expected.r2)
    assert found.rmse == pytest.approx(expected.rmse)
    assert found.r2_interval == pytest.approx(expected.r2_interval)
    assert found.r2 != pytest.approx(n2p.fidelity(network, poly, X).r2, rel=1e-6)


def test_the_card_of_a_weighted_conversion_is_weighted(network):
    X = np.random.default_rng(1).uniform(-1, 1, (1000, 3))
    weights = np.where(X[:, 0] > 0, 50.0, 1.0)
    poly = n2p.convert(network, 1, data=X, sample_weight=weights)
    new = np.random.default_rng(2).uniform(-1, 1, (20_000, 3))
    fresh = n2p.fidelity(network, poly, new, sample_weight=np.where(new[:, 0] > 0, 50.0, 1.0))
    assert poly.card.r2 == pytest.approx(fresh.r2, abs=0.012)
    assert abs(fresh.r2 - n2p.fidelity(network, poly, new).r2) > 0.01


def test_rows_outside_the_range_of_those_fitted_are_counted(network):
    """The range that a formula knows is that of all rows, and none of them lies outside it."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    poly = n2p.convert(network, 2, data=X)
    judged = n2p.fidelity(network, poly, X)
    assert judged.outside == 0
    assert poly.card.outside > 0


def test_errors_are_told_in_deviations_and_quartiles(network):
    poly = n2p.convert(network, 1, data=np.random.default_rng(0).uniform(-1, 1, (400, 3)))
    X = np.random.default_rng(1).uniform(-1, 1, (200, 3))
    output = n2p.fidelity(network, poly, X).per_output["y"]
    truth = network.predict(X)
    assert output.deviation == pytest.approx(truth.std())
    assert output.middle == pytest.approx(np.subtract(*np.quantile(truth, [0.75, 0.25])))


def test_the_network_itself_is_judged_first_when_the_response_is_known(network):
    """A faithful formula of a bad network is no good model."""
    poly = n2p.convert(network, 3, data=np.random.default_rng(0).uniform(-1, 1, (400, 3)))
    X = np.random.default_rng(1).uniform(-1, 1, (200, 3))
    y = np.random.default_rng(2).normal(size=200)
    card = n2p.fidelity(network, poly, X, y)
    assert card.observed.network < 0.1
    assert str(card.verdict).startswith("Against what was observed the network reaches R2 ")
    assert n2p.cards.FidelityCard.from_dict(card.to_dict()) == card
    exact = n2p.fidelity(network, poly, X, network.predict(X)).observed
    assert exact.network == 1.0
    assert exact.formula == pytest.approx(card.r2)


def test_a_response_of_another_length_is_refused(network):
    poly = n2p.convert(network, 1, data=np.random.default_rng(0).uniform(-1, 1, (200, 3)))
    with pytest.raises(n2p.NN2PolyError, match="observed"):
        n2p.fidelity(network, poly, np.zeros((3, 3)), [1.0, 2.0])


def test_rows_of_one_group_are_drawn_together(network):
    poly = n2p.convert(network, 1, data=np.random.default_rng(0).uniform(-1, 1, (400, 3)))
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(20), 30)
    X = rng.uniform(-1, 1, (20, 3))[groups] + 0.01 * rng.normal(size=(600, 3))
    plain, grouped = (n2p.fidelity(network, poly, X, groups=g) for g in (None, groups))
    assert np.ptp(grouped.r2_interval) > 2 * np.ptp(plain.r2_interval)
    rows = JudgingRows.of(X, groups=groups)
    assert make_card(network, poly, X, rows=rows).r2_interval == grouped.r2_interval


@pytest.mark.parametrize("n", [40, 200, 1000])
def test_a_row_that_carries_all_error_takes_the_interval_no_further_than_it_allows(n):
    truth = np.random.default_rng(0).normal(size=(n, 1))
    error = np.full((n, 1), 1e-12)
    error[0] = 0.3
    lost = float(np.mean(error**2) / truth.var())
    low, high = r2_interval(truth, error, np.ones(n), np.arange(n))
    assert 1.0 - 20.0 * lost < low < 1.0 - 2.0 * lost < high <= 1.0


@pytest.mark.parametrize("n", [60, 200])
def test_heavy_tails_of_outputs_widen_the_interval(n):
    inside = []
    for seed in range(100, 200):
        rng = np.random.default_rng(seed)
        x = rng.standard_t(2, size=(200_000, 1))
        noise = 0.2 * rng.normal(size=x.shape)
        truth, error = x, noise + 0.3 * np.maximum(np.abs(x) - 3.0, 0.0)
        true = 1.0 - float((error**2).mean() / truth.var())
        low, high = r2_interval(truth[:n], error[:n], np.ones(n), np.arange(n))
        inside.append(low <= true <= high or abs(low - true) < 0.01)
    assert np.mean(inside) > 0.75
