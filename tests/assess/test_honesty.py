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


@pytest.mark.parametrize("n_rows", [60, 300])
def test_cards_claim_what_holds_on_new_rows(honesty, n_rows):
    trials = [honesty.card_trial(seed, n_rows, 2) for seed in range(5)]
    assert np.mean([trial.is_honest for trial in trials]) >= 0.7
    assert np.mean([trial.gap for trial in trials]) < 0.03


def test_the_best_step_of_a_path_is_not_claimed_to_be_closer_than_it_is(honesty):
    trials = [honesty.path_trial(seed, 60) for seed in range(5)]
    assert np.mean([trial.is_honest for trial in trials]) >= 0.7


def test_sorted_shuffled_and_copied_rows_change_no_conclusion(honesty):
    found = honesty.orders_agree(n_rows=200)
    assert found["sorted"] == pytest.approx(found["as they are"], abs=1e-3)
    assert found["shuffled"] == pytest.approx(found["as they are"], abs=1e-3)
    assert found["copied"] == pytest.approx(found["as they are"], abs=0.02)
