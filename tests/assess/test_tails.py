"""Heavy tails: the few rows that carry the error are found, and why is named."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import nn2poly as n2p
from nn2poly.assess.tails import MAX_COLUMNS, find_tail, worst_rows
from nn2poly.formula.polynomial import Polynomial

NAMES = ("age", "AveOccup", "member")


def heavy(n=1000, far=(900.0,), seed=0):
    """Make rows of which the last lie far out in the second column; the third is a dummy."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(40, 10, n), rng.normal(3, 1, n), rng.random(n) < 0.01])
    X[n - len(far) :, 1] = far
    return X


@pytest.fixture(scope="module")
def housing():
    """Make a saturating network, and a square that runs away from it far out."""
    layers = [n2p.Layer([[0.01, 0.0], [0.0, 0.2], [0.0, 0.1]], [0.0, -0.5], "tanh"),
              n2p.Layer([[1.0], [1.0]])]  # fmt: skip
    network = n2p.Network(layers, feature_names=NAMES)
    poly = n2p.convert(network, 2, data=heavy(far=()), bounded=False)
    return network, poly


@pytest.mark.parametrize(("n", "count"), [(1, 1), (99, 1), (100, 1), (299, 2), (5000, 50)])
def test_the_worst_rows_are_a_hundredth_and_at_least_one(n, count):
    errors = np.random.default_rng(n).random(n)
    worst = worst_rows(errors)
    assert len(worst) == count
    assert errors[worst].min() >= np.sort(errors)[-count]


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_a_card_names_the_column_that_ruins_r2_and_keeps_r2_without_the_rows(housing):
    network, poly = housing
    X = heavy(far=(900.0, 1243.0), seed=1)
    card = n2p.fidelity(network, poly, X)
    assert card.r2 < -10
    error = np.abs(network.predict(X) - poly.outputs_by_order(X)[-1][:, 0])
    most = np.argsort(error)[:-10]
    expected = metrics.r2_score(network.predict(X[most]), poly.predict(X[most]))
    assert card.r2_without_worst == pytest.approx(expected, rel=1e-9)
    text = str(card.verdict)
    assert "without the 10 worst rows R2 is 0.9" in text
    assert "far out in 'AveOccup' (1,243; median " in text
    assert "'age'" not in text
    assert "'member'" not in text
    assert "higher order" not in text


def test_errors_everywhere_are_no_tail(housing):
    network, _ = housing
    poly = Polynomial.from_terms(["1", "age"], [0.0, -1.0], NAMES)
    card = n2p.fidelity(network, poly, heavy(far=()))
    assert card.r2_without_worst < 0.5
    assert "without the" not in str(card.verdict)


@pytest.mark.parametrize(
    ("r2", "without", "found"),
    [(0.3, 0.5, True), (0.3, 0.49, False), (0.91, 0.99, False), (0.8, 0.95, True),
     (float("nan"), 0.9, False), (0.1, float("nan"), False)],
)  # fmt: skip
def test_a_tail_makes_a_difference_and_leaves_something_good(r2, without, found):
    X = heavy()
    assert (find_tail(X, X[:, 1] ** 2, r2, without, NAMES) is not None) == found


def test_fewer_rows_than_20_have_no_tail():
    X = heavy(19)
    assert find_tail(X, X[:, 1] ** 2, -5.0, 0.9, NAMES) is None


def test_rows_that_lie_among_the_others_have_no_column_to_blame():
    X = heavy(far=())
    errors = np.where(np.arange(1000) == 7, 100.0, 0.1)
    assert find_tail(X, errors, -5.0, 0.9, NAMES).columns == ()


def test_a_row_of_small_error_does_not_speak_for_the_others():
    """It lies further out in another column, and its error is nothing beside the worst."""
    X = heavy(far=(900.0,))
    X[0, 0] = 1e4
    errors = np.full(1000, 0.1)
    errors[[0, 999]] = 0.2, 500.0
    assert [c.name for c in find_tail(X, errors, -5.0, 0.9, NAMES).columns] == ["AveOccup"]


def test_columns_without_quartiles_are_measured_and_constant_ones_are_not_blamed():
    X = np.zeros((500, 4))
    X[:3, 0] = 1.0, 2.0, 5000.0
    X[:, 1] = 7.0
    X[2, 2:] = 1.0
    errors = np.where(np.arange(500) == 2, 9.0, 0.0)
    found = find_tail(X, errors, -5.0, 0.9, tuple("abcd"))
    assert [(c.name, c.value, c.median) for c in found.columns] == [("a", 5000.0, 0.0)]


def test_only_so_many_columns_are_named():
    X = np.random.default_rng(0).normal(size=(300, 9))
    X[5] = 100.0
    errors = np.where(np.arange(300) == 5, 9.0, 0.0)
    assert len(find_tail(X, errors, -5.0, 0.9, tuple("abcdefghi")).columns) == MAX_COLUMNS
