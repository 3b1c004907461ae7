"""Fidelity in groups, and how near rows are to each other."""

import numpy as np
import pytest

from nn2poly.assess.fidelity import mean_r2
from nn2poly.assess.neighbours import nearness
from nn2poly.assess.subgroups import MIN_ROWS, column_groups, subgroups
from nn2poly.inputs import Column, Inputs
from nn2poly.outputs import Outputs

INPUTS = Inputs(
    (Column("age"), Column.factor("sex", ["male", "female"]), Column("smoker", "binary"))
)


@pytest.fixture(name="X")
def rows():
    rng = np.random.default_rng(0)
    sex = np.eye(2)[rng.integers(0, 2, 300)]
    return np.column_stack([rng.normal(40, 10, 300), sex, rng.integers(0, 2, 300)])


def test_groups_are_levels_or_quarters_and_every_row_is_in_one(X):
    names = [[name for name, _ in column_groups(INPUTS, k, X)] for k in range(3)]
    assert names[1:] == [["male", "female"], ["no", "yes"]]
    assert len(names[0]) == 4
    for k in range(3):
        inside = sum(here.astype(int) for _, here in column_groups(INPUTS, k, X))
        assert (inside == 1).all()


def test_a_group_is_measured_on_its_own_rows(X):
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(300, 1))
    guess = truth + X[:, 2:3]  # wrong for women alone
    men, women = subgroups(INPUTS, Outputs(("y",)), 1, X, truth, guess)
    assert (men.within, men.bias, men.r2) == (0.0, 0.0, 1.0)
    assert women.bias == pytest.approx(1.0)
    here = X[:, 2] == 1
    assert women.r2 == mean_r2(truth[here], guess[here])
    assert men.n_rows + women.n_rows == 300


def test_labels_and_probabilities_of_a_classifier_are_compared(X):
    truth = np.where(X[:, 3:] == 1, 2.0, -2.0)
    guess = np.where(X[:, 1:2] == 1, truth, -truth)
    outputs = Outputs(("y",), link="sigmoid")
    men, women = subgroups(INPUTS, outputs, 1, X, truth, guess)
    assert (men.agreement, women.agreement) == (1.0, 0.0)
    assert women.within == pytest.approx(np.tanh(1.0), rel=1e-12)


def test_a_small_group_is_left_out(X):
    few = X.copy()
    few[:, 3] = np.arange(300) < MIN_ROWS - 1
    y = few[:, :1]
    assert [g.name for g in subgroups(INPUTS, Outputs(("y",)), 2, few, y, y)] == ["no"]


def test_another_level_or_one_deviation_is_a_distance_of_one(X):
    found = nearness(INPUTS, X, np.arange(300))
    steps = np.array([[X[:, 0].std(), 0, 0, 0], [0, 1, -1, 0], [0, 0, 0, 1.0]])
    np.testing.assert_allclose(np.linalg.norm(steps / found.scale, axis=1), 1.0)
    assert 0 < found.usual <= found.far


def test_a_single_row_has_no_neighbour(X):
    assert nearness(INPUTS, X[:1], np.arange(1)) is None
