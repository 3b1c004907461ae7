"""More rows are no worse: no rule switches at a number of rows and moves the formula."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.fidelity import mean_r2


def smooth(X):
    return np.tanh(X[:, 0] + 0.5 * X[:, 1] * X[:, 2]) + 0.3 * X[:, 3] ** 2


def kinked(X):
    return np.maximum(X[:, 0], X[:, 1]) + np.abs(X[:, 2]) * (X[:, 3] > 0.5)


def drawn(tails, n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)) if tails == "light" else rng.standard_t(3, size=(n, 5))


@pytest.mark.study
@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
@pytest.mark.parametrize("model", [smooth, kinked])
@pytest.mark.parametrize("tails", ["light", "heavy"])
@pytest.mark.parametrize("numbers", [range(140, 401, 20), range(1_400, 2_601, 120)])
def test_r2_never_falls_by_a_rule_from_one_number_of_rows_to_a_larger_one(model, tails, numbers):
    """The mean of several samples: what single ones fall by is chance."""
    new = drawn(tails, 4_000, 99)
    truth = model(new)[:, None]

    def r2(n):
        found = [n2p.convert(model, 2, data=drawn(tails, n, seed)) for seed in range(8)]
        return np.array([mean_r2(truth, poly.outputs_by_order(new)[-1]) for poly in found])

    reached = [r2(n) for n in numbers]
    for before, after in pairwise(reached):
        chance = 2.0 * np.hypot(before.std(), after.std()) / np.sqrt(len(before))
        assert after.mean() > before.mean() - 0.01 - chance
