"""The quick version of `benchmarks/honesty.py`: what cards claim holds on new rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def honesty():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import honesty
    finally:
        sys.path.remove(str(BENCHMARKS))
    return honesty


# Repetitions: seeds 0, 1, … with every number of rows, none left out. What is claimed is that 9 of
# 10 are honest; so many as `fewest_honest` says are by chance in 99 of 100 such tests.
SEEDS, SIZES = range(6), (60, 300)


def is_honest_often_enough(honesty, trials):
    count = sum(trial.is_honest for trial in trials)
    return count >= honesty.fewest_honest(len(trials))


def test_cards_claim_what_holds_on_new_rows(honesty):
    trials = [honesty.card_trial(seed, n, 2) for n in SIZES for seed in SEEDS]
    assert is_honest_often_enough(honesty, trials)
    # The standard deviation of a gap is about .08, of the mean of 12 about .023: two and a half.
    assert np.mean([trial.gap for trial in trials]) < 0.06


def test_an_order_that_was_chosen_claims_what_holds_on_new_rows(honesty):
    trials = [honesty.card_trial(seed, 150, "auto") for seed in SEEDS]
    assert is_honest_often_enough(honesty, trials)


def test_the_best_step_of_a_path_is_not_claimed_to_be_closer_than_it_is(honesty):
    trials = [honesty.path_trial(seed, n) for n in SIZES for seed in SEEDS]
    assert is_honest_often_enough(honesty, trials)
    assert np.mean([trial.gap for trial in trials]) < 0.06


def test_the_guarantee_holds_on_new_rows(honesty):
    shares = [honesty.guarantee_trial(seed, 1600) for seed in SEEDS]
    # Promised with a confidence of 95 %: 2 of 6 fail in 3 of 100 such tests, 3 in 2 of 1,000.
    assert sum(share >= 0.99 for share in shares) >= 4


def test_sorted_shuffled_and_copied_rows_change_no_conclusion(honesty):
    found = honesty.orders_agree(n_rows=200)
    assert found["sorted"] == pytest.approx(found["as they are"], abs=1e-3)
    assert found["shuffled"] == pytest.approx(found["as they are"], abs=1e-3)
    assert found["copied"] == pytest.approx(found["as they are"], abs=0.03)


@pytest.mark.slow
def test_a_good_grade_of_a_rare_class_is_worth_something_on_new_rows(honesty):
    """Seeds that nobody chose on; labels of a constant agree on 99 of 100 rows."""
    trials = [
        honesty.rare_trial(5_000 + seed, 0.01, order) for seed in range(4) for order in (1, 4)
    ]
    assert len({trial.grade for trial in trials}) > 1
    assert min(trial.agreement for trial in trials) > 0.97
    for trial in trials:
        # Six rows of yes judge: their kappa is off by about .2.
        floor = {"faithful": 0.6, "useful": 0.5, "rough": 0.2}.get(trial.grade, -1.0)
        assert trial.kappa >= floor
