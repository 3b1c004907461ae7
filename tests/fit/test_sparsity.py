"""The path from one term to many: what joins, how much it adds, on rows not used."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf, Split


@pytest.fixture(scope="module")
def planted():
    """Make a network that computes 2 x1 + 3 x2 x3 of 8 inputs, exactly."""
    square = np.square
    pair = np.zeros((8, 2))
    pair[[1, 2], 0], pair[[1, 2], 1] = 1.0, [1.0, -1.0]
    skip = np.zeros((8, 1))
    skip[0] = 2.0
    net = n2p.Network(
        [n2p.Layer(pair, None, square), n2p.Layer([[0.75], [-0.75]], None, skips={0: skip})]
    )
    X = np.random.default_rng(0).normal(size=(500, 8))
    return net, n2p.convert(net, 2, data=X, bounded=False), X


def test_the_planted_terms_join_first_and_then_nothing_is_missing(planted):
    net, poly, X = planted
    path = n2p.sparse_path(net, poly, X, max_terms=5)
    raw = path.polynomial(5).rebase()
    assert path.r2[-1] == pytest.approx(1.0, abs=1e-9)
    assert raw.coefficient("x2 x3") == pytest.approx(3.0, abs=1e-6)
    assert [row[1] for row in path.table()] == ["1", "x1", "x2", "x3", "x2 · x3"]
    assert path.r2[3] < 0.5


def test_every_step_has_all_divisors_of_its_terms(overfitted):
    for n in range(1, len(overfitted.r2) + 1):
        terms = set(overfitted.polynomial(n).terms)
        assert all((*t[:i], *t[i + 1 :]) in terms for t in terms for i in range(len(t)))


def test_divisors_that_a_pruned_polynomial_lacks_may_join(planted):
    net, poly, X = planted
    pruned = poly.prune(3)
    path = n2p.sparse_path(net, pruned, X)
    assert set(pruned.terms) < set(path.poly.terms)
    assert path.polynomial(5).rebase().coefficient("x2 x3") == pytest.approx(3.0, abs=1e-6)
    assert len(path.r2) == len(path.poly.terms) == 5


def test_a_step_is_the_budget_of_as_many_terms(planted):
    """One machinery: the same terms from the same rows, and nearly the same coefficients."""
    net, _, X = planted
    poly = n2p.convert(net, 2, data=X)
    path = n2p.sparse_path(net, poly, X, max_terms=5)
    budget = n2p.convert(net, 2, data=X, max_terms=5)
    assert path.polynomial(5).terms == budget.terms
    truth, guess = budget.predict(X), path.polynomial(5).predict(X)
    assert np.max(np.abs(truth - guess)) < 0.05 * truth.std()


def test_each_step_keeps_the_terms_before_it_and_refits_them(planted):
    net, poly, X = planted
    path = n2p.sparse_path(net, poly, X, max_terms=6)
    for n in range(1, 7):
        terms = set(path.polynomial(n).terms)
        assert len(terms) == n
        assert terms <= set(path.polynomial(6).terms)
    assert not np.array_equal(path.coefficients[2][:2], path.coefficients[1])


def test_the_stated_fidelity_is_that_of_rows_left_out(planted):
    """Of paths that did not see them, the terms of the whole path may differ."""
    net, poly, X = planted
    path = n2p.sparse_path(net, poly, X, max_terms=3)
    truth, guess = net.predict(X), path.polynomial(2).predict(X)
    fitted = 1 - np.sum((truth - guess) ** 2) / np.sum((truth - truth.mean()) ** 2)
    assert path.r2[1] < fitted
    assert path.r2[1] == pytest.approx(fitted, abs=0.1)


@pytest.mark.study
def test_the_best_step_is_judged_by_folds_that_did_not_choose_it():
    """At its highest the path is optimistic; what is stated of the best step is not."""
    gaps, claimed = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=(6, 12))
        net = n2p.Network([n2p.Layer(weights, None, "relu"), n2p.Layer(rng.normal(size=(12, 1)))])
        X, new = rng.uniform(-1, 1, (40, 6)), rng.uniform(-1, 1, (2000, 6))
        path = n2p.sparse_path(net, n2p.convert(net, 2, data=X, bounded=False), X, max_terms=20)
        truth = net.predict(new)
        guess = path.polynomial().raw_outputs(new)[:, 0]
        fresh = 1 - np.sum((truth - guess) ** 2) / np.sum((truth - truth.mean()) ** 2)
        gaps.append(path.best_r2 - fresh)
        claimed.append(path.r2.max() - path.best_r2)
    assert np.mean(gaps) < 0.02
    assert np.mean(claimed) > 0.0


def test_a_weekday_in_calendar_order_is_judged_on_all_weekdays():
    """Every fifth row after every seventh was held out: one weekday alone, R² .9985 for .083."""
    rng = np.random.default_rng(0)
    n = 7 * 4000
    day = np.arange(n) % 7
    X = np.column_stack([(day == 3).astype(float), rng.normal(size=n)])
    bump = n2p.Layer([[4.0, 0.0], [0.0, 0.2]], [-2.0, 0.0], "tanh")
    net = n2p.Network([bump, n2p.Layer([[3.0], [1.0]])])
    poly = n2p.convert(net, 1, data=X[:2000])
    path = n2p.sparse_path(net, poly, X, max_terms=2)
    truth = net.predict(X)
    for step in (1, 2):
        left = truth - path.polynomial(step).raw_outputs(X)[:, 0]
        expected = 1 - np.sum(left**2) / np.sum((truth - truth.mean()) ** 2)
        assert path.r2[step - 1] == pytest.approx(expected, abs=0.02)


def test_refitting_beats_dropping_terms():
    rng = np.random.default_rng(1)
    net = n2p.Network([n2p.Layer(rng.normal(size=(6, 30)) / 2, rng.normal(size=30), "relu"),
                       n2p.Layer(rng.normal(size=(30, 2)) / 5)])  # fmt: skip
    X, new = rng.normal(size=(800, 6)), rng.normal(size=(400, 6))
    poly = n2p.convert(net, 3, data=X)
    path = n2p.sparse_path(net, poly, X, max_terms=12)
    assert (
        n2p.fidelity(net, path.polynomial(12), new).r2 > n2p.fidelity(net, poly.prune(12), new).r2
    )


def test_smallest_gives_the_first_step_that_is_good_enough(planted):
    net, poly, X = planted
    path = n2p.sparse_path(net, poly, X, max_terms=6)
    assert path.smallest(0.99).n_terms == 5
    with pytest.raises(InvalidInputError, match="No step of the path reaches"):
        path.smallest(1.5)


def test_a_path_from_a_folded_polynomial_and_few_rows(planted):
    net, _, X = planted
    X = X.copy()
    X[:, 7] = X[:, 7] > 0
    poly = n2p.convert(net, 2, data=X)
    assert poly.positions is not None
    path = n2p.sparse_path(net, poly, X[:9], max_terms=50)
    assert len(path.r2) <= 4
    assert "joins" in repr(path)
    assert "<table" in path._repr_html_()


@pytest.mark.parametrize("max_terms", [0, -1, 2.5, None])
def test_a_length_that_is_none_is_refused(planted, max_terms):
    net, poly, X = planted
    with pytest.raises(InvalidInputError, match="max_terms"):
        n2p.sparse_path(net, poly, X, max_terms=max_terms)


@pytest.fixture(scope="module")
def overfitted():
    """Make few rows with heavy tails, on which every further term does harm."""
    rng = np.random.default_rng(3)
    net = n2p.Network([n2p.Layer(rng.normal(size=(6, 30)), rng.normal(size=30), "relu"),
                       n2p.Layer(rng.normal(size=(30, 1)) / 5)])  # fmt: skip
    X = rng.standard_t(2, size=(120, 6))
    return n2p.sparse_path(net, n2p.convert(net, 3, data=X), X, max_terms=45)


def test_the_path_ends_when_nothing_has_been_gained_for_ten_steps(overfitted):
    path = overfitted
    assert len(path.r2) == path.n_best + 10 < 45
    assert len(path.chosen) == len(path.coefficients) == len(path.r2)
    assert path.r2[path.n_best - 1] == path.r2.max()


def test_the_best_step_is_marked_and_given_by_default(overfitted):
    path = overfitted
    assert [row[0] for row in path.table() if row[3] == "best"] == [path.n_best]
    assert path.polynomial().n_terms == path.n_best < len(path.r2)


def test_an_output_that_does_not_vary_needs_one_term():
    net = n2p.Network([n2p.Layer(np.zeros((2, 1)), [3.0])])
    X = np.random.default_rng(0).normal(size=(50, 2))
    poly = Polynomial([[3.0], [1.0], [1.0]], 1, ["x1", "x2"])
    path = n2p.sparse_path(net, poly, X)
    assert path.n_best == 1
    assert path.polynomial().predict(X) == pytest.approx(3.0)


def test_a_formula_with_regions_is_refused_with_what_to_do_instead(planted):
    net, poly, X = planted
    tree = Split(0, 0.0, left=Leaf(0), right=Leaf(1))
    with pytest.raises(InvalidInputError) as caught:
        n2p.sparse_path(net, n2p.PiecewisePolynomial(tree, (poly, poly)), X)
    assert caught.value.found == "2 regions"
    assert "max_terms=" in caught.value.remedy
    assert "prune" in caught.value.remedy


def test_polynomials_of_a_path_have_the_card_of_its_folds_and_warn_of_mixed_rows():
    rng = np.random.default_rng(0)
    a = rng.normal(size=600)
    X = np.column_stack([a, a + 0.1 * rng.normal(size=600)])

    def model(rows):
        return rows[:, 0] ** 2 + 8.0 * np.tanh(3.0 * (rows[:, 0] - rows[:, 1])) ** 2

    path = n2p.sparse_path(model, n2p.convert(model, 2, data=X), X, max_terms=6)
    best, other = path.polynomial(), path.polynomial(3)
    assert best.card.r2 == pytest.approx(path.best_r2)
    assert best.card.r2_interval == pytest.approx(path.best_interval)
    assert other.card.r2 == pytest.approx(path.r2[2])
    assert "10 formulas that did not see them" in str(best.card.verdict)
    assert best.card.verdict.effects in ("rough", "not faithful")
    with pytest.warns(n2p.errors.MixedRowsWarning):
        n2p.explain.shapley(best, X[:5], X)


def test_without_folds_the_card_says_that_it_proves_nothing(planted):
    net, poly, X = planted
    card = n2p.sparse_path(net, poly, X[:8], max_terms=3).polynomial(3).card
    assert "which promises nothing for new ones" in str(card)
