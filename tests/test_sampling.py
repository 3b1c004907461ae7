"""Which rows are taken: no period, no order and no copy of the rows changes the choice much."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError
from nn2poly.rows.reading import read_sample
from nn2poly.rows.summary import summarise
from nn2poly.sampling import evenly, group_keys, hashed, highest_number, ranked, row_keys


@pytest.mark.parametrize("period", [2, 5, 7, 12, 24, 144, 233, 288])
def test_no_period_is_met_again_by_the_choice(period):
    """The golden ratio fails at 144 and 233 (Fibonacci), strides at their divisors."""
    chosen = evenly(40 * period, 8 * period)
    counts = np.bincount(chosen % period, minlength=period)
    assert len(chosen) == 8 * period
    # Of 40 rows of each kind 8 on average, with a deviation of 2.5.
    assert counts.min() >= 1 if period > 50 else counts.min() >= 2
    assert counts.std() < 3.5


def test_a_choice_is_in_order_and_as_large_as_asked_for():
    chosen = evenly(1000, 100)
    assert len(chosen) == 100
    assert np.all(np.diff(chosen) > 0)
    assert evenly(3, 10).tolist() == [0, 1, 2]
    assert evenly(5, 0).tolist() == []


def test_the_highest_number_of_a_long_stream_is_found_in_parts(monkeypatch):
    whole = highest_number(5000, 300)
    monkeypatch.setattr("nn2poly.sampling._COUNTED", 700)
    assert highest_number(5000, 300) == whole


def test_equal_rows_have_equal_keys_and_minus_zero_is_zero():
    keys = row_keys(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    assert keys[0] == keys[1] != keys[2]


def test_hashed_rows_of_small_whole_numbers_are_all_different():
    X = np.array([[a, b, c] for a in range(20) for b in range(20) for c in range(20)], dtype=float)
    assert len(np.unique(row_keys(X))) == len(X)
    assert np.histogram(hashed(row_keys(X)), 10, (0, 1))[0] == pytest.approx(800, abs=120)


def test_ranks_are_even_whatever_the_keys():
    numbers = ranked(row_keys(np.arange(10.0)[:, None]))
    assert np.sort(numbers) == pytest.approx((np.arange(10) + 0.5) / 10)


def test_groups_of_another_length_are_refused():
    with pytest.raises(InvalidInputError, match="groups do not fit"):
        group_keys([1, 2], 3)


# --- what follows for a conversion -------------------------------------------------------------


def sides(X, groups=None, weights=None):
    """Tell which rows of X the card of a conversion is judged on."""
    network = n2p.Network([n2p.Layer(np.ones((X.shape[1], 1)))])
    summary = summarise(read_sample(X, network, weights, groups))
    judged = np.zeros(len(X), dtype=bool)
    judged[summary.held_out_numbers] = True
    return judged


def test_the_order_of_the_rows_does_not_change_the_split():
    X = np.random.default_rng(0).normal(size=(600, 3))
    order = np.random.default_rng(1).permutation(600)
    assert np.array_equal(sides(X)[order], sides(X[order]))


@pytest.mark.parametrize("n", [60, 3000])
def test_copies_of_a_row_are_on_one_side(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    once, twice = sides(X), sides(np.concatenate([X, X]))
    assert np.array_equal(twice, np.tile(once, 2))


@pytest.mark.parametrize("count", [8, 40, 400])
def test_a_group_is_on_one_side(count):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(2000, 2)), rng.integers(count, size=2000)
    judged = sides(X, [f"patient {g}" for g in groups])
    assert 0.05 < judged.mean() < 0.45
    for group in range(count):
        assert len(np.unique(judged[groups == group])) <= 1


def test_few_groups_are_refused_and_so_are_groups_without_data():
    X = np.random.default_rng(0).normal(size=(100, 2))
    network = n2p.Network([n2p.Layer(np.ones((2, 1)))])
    with pytest.raises(InvalidInputError, match="too few groups"):
        n2p.convert(network, 1, data=X, groups=np.arange(100) % 3)
    with pytest.raises(InvalidInputError, match="groups"):
        n2p.convert(network, 1, groups=[1, 2])


def test_few_different_rows_are_split_by_their_places():
    X = np.tile(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), (100, 1))
    assert sides(X).mean() == pytest.approx(0.2, abs=0.05)


def test_a_stream_of_daily_rows_keeps_its_weekdays(tmp_path):
    """Every seventh row is one weekday: its Sobol' index was 0 for .55."""
    pd = pytest.importorskip("pandas")
    streams = pytest.importorskip("pyarrow") and n2p.streams
    frame = pd.DataFrame({"weekday": np.arange(7 * 500) % 7.0, "x": np.arange(3500) % 11.0})
    frame.to_parquet(tmp_path / "days.parquet")
    rows = streams.read_evenly(str(tmp_path / "days.parquet"), lambda t: t.to_numpy(float), 500)
    assert len(rows) == 500
    assert rows[:, 0].var() == pytest.approx(4.0, rel=0.15)
