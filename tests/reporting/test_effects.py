"""Deviations, average curves and pairs, against the plain way to compute them."""

import numpy as np
import pytest

from nn2poly.formula.polynomial import Polynomial
from nn2poly.reporting.controls import binary_columns, typical_row
from nn2poly.reporting.effect_curves import (
    average_curves,
    factor_averages,
    pair_deviations,
    term_deviations,
)
from nn2poly.reporting.importance import comparable, judge
from nn2poly.reporting.scatter import scatter_views


def random_polynomial(seed, p=4, order=3, n_outputs=2, kept=None):
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(p)]
    size = len(Polynomial.from_terms([(0,) * order], [1.0], names).terms)
    full = Polynomial(
        rng.normal(size=(_count(p, order), n_outputs)),
        order,
        names,
        center=rng.normal(size=p),
        scale=rng.uniform(0.5, 2.0, p),
    )
    assert size == 1
    return full if kept is None else full.prune(kept)


def _count(p, order):
    from math import comb

    return comb(p + order, order)


CASES = [(4, 3, None), (4, 3, 12), (1, 4, None), (6, 1, None), (3, 0, None), (2, 5, 4)]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    p, order, kept = request.param
    poly = random_polynomial(0, p, order, kept=kept)
    X = np.random.default_rng(1).normal(size=(50, p)) + 0.5
    return poly, X, (X - poly.center) / poly.scale


def test_a_term_moves_the_output_by_the_deviation_of_its_contribution(case):
    poly, X, z = case
    found = term_deviations(poly.terms, z)[:, None] * np.abs(poly.coefficients)
    np.testing.assert_allclose(found, poly.contributions(X).std(axis=0), rtol=1e-9, atol=1e-12)


def test_a_constant_term_moves_nothing_at_all():
    poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    assert term_deviations(poly.terms, np.full((9, 1), 1e8 / 3))[1] == 0.0


def test_average_curves_are_partial_dependence_around_its_mean(case):
    poly, X, z = case
    curves = average_curves(poly, z)
    for j in range(poly.n_features):
        at = np.linspace(-1.0, 2.0, 5)
        dependence = []
        for value in at:
            moved = X.copy()
            moved[:, j] = value
            dependence.append(poly.predict(moved).mean(axis=0))
        zj = (at - poly.center[j]) / poly.scale[j]
        found = np.array([sum(curves[a, j] * t**a for a in range(len(curves))) for t in zj])
        shift = np.mean(
            [[sum(curves[a, j] * t**a for a in range(len(curves)))] for t in z[:, j]], axis=0
        )
        np.testing.assert_allclose(shift, 0.0, atol=1e-9)
        constant = np.array(dependence) - found
        np.testing.assert_allclose(constant, constant[:1].repeat(5, axis=0), rtol=1e-8, atol=1e-9)


def test_pairs_sum_the_terms_in_exactly_two_features(case):
    poly, X, z = case
    pairs, deviations = pair_deviations(poly, z)
    contributions = poly.contributions(X)
    wanted = {}
    for i, term in enumerate(poly.terms):
        if len(set(term)) == 2:
            wanted.setdefault(tuple(sorted(set(term))), []).append(i)
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(wanted)
    for pair, found in zip(pairs.tolist(), deviations, strict=True):
        expected = contributions[:, wanted[tuple(pair)]].sum(axis=1).std(axis=0)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_polynomial_in_raw_units_is_standardised_and_another_left_alone():
    X = np.random.default_rng(0).normal(100.0, 7.0, size=(40, 2))
    raw = Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"])
    shown, words = comparable(raw, X, binary_columns(X))
    np.testing.assert_allclose(shown.predict(X), raw.predict(X), rtol=1e-12)
    np.testing.assert_allclose(shown.scale, X.std(axis=0))
    assert "raw units" in words
    own = raw.rebase(X.mean(axis=0), 1.0)
    assert comparable(own, X, binary_columns(X))[0] is own


def test_two_valued_columns_keep_their_values_when_a_polynomial_is_standardised():
    X = np.c_[np.arange(20.0) % 2, np.arange(20.0)]
    shown, _ = comparable(Polynomial([[0.0], [1.0], [1.0]], 1, ["u", "t"]), X, binary_columns(X))
    assert (shown.center[0], shown.scale[0]) == (0.0, 1.0)


def test_factors_are_runs_of_columns_of_which_always_one_is_high():
    levels = np.eye(3)[np.arange(30) % 3]
    alone = (np.arange(30) % 5 == 0).astype(float)[:, None]
    X = np.hstack([alone, levels, np.arange(30.0)[:, None]])
    assert binary_columns(X).factors == ((0,), (1, 2, 3))


def test_few_rows_make_no_factor():
    assert binary_columns(np.array([[0.0], [1.0]])).factors == ()


def test_the_typical_row_is_a_row_that_can_be():
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(3)[rng.integers(0, 3, 60)], rng.normal(5.0, 2.0, (60, 1))])
    row = typical_row(X, binary_columns(X))
    assert sorted(row[:3]) == [0.0, 0.0, 1.0]
    assert row[3] == pytest.approx(X[:, 3].mean(), abs=1e-3)


def test_the_feature_that_moves_most_comes_first():
    X = np.random.default_rng(0).normal(size=(30, 3))
    poly = Polynomial.from_terms(["a", "b", "b c"], [1.0, 5.0, 2.0], ["a", "b", "c"])
    assert judge(poly, X, binary_columns(X)).order == (1, 2, 0)


@pytest.mark.parametrize("kept", [None, 12])
def test_a_factor_moves_all_its_columns_together(kept):
    poly = random_polynomial(3, 5, 3, kept=kept)
    X = np.random.default_rng(3).normal(size=(40, 5))
    X[:, 1:4] = np.eye(3)[np.arange(40) % 3]
    levels = np.full((3, 5), np.nan)
    levels[:, 1:4] = np.eye(3)
    z, at = ((values - poly.center) / poly.scale for values in (X, levels))
    found = factor_averages(poly, z, at)
    for i in range(3):
        moved = X.copy()
        moved[:, 1:4] = np.eye(3)[i]
        np.testing.assert_allclose(found[i], poly.predict(moved).mean(axis=0), rtol=1e-9)


def test_a_level_that_no_row_has_does_not_part_a_factor_of_one_name():
    X = np.insert(np.eye(3)[np.arange(30) % 3], 1, 0.0, axis=1)
    names = ["job_a", "job_b", "job_c", "job_d"]
    assert binary_columns(X, names).factors == ((0, 2, 3),)
    assert binary_columns(X, ["job_a", "wage", "job_c", "job_d"]).factors != ((0, 2, 3),)
    assert (0, 2, 3) not in binary_columns(X).factors


def test_a_view_leaves_out_what_is_far_off_only():
    y = np.random.default_rng(0).normal(size=(300, 1))
    whole = scatter_views(y, y)[0]
    assert whole["outside"] == 0
    assert whole["all"] == whole["bulk"]
    guess = y.copy()
    guess[[3, 50]] = [[-28_000.0], [900.0]]
    view = scatter_views(y, guess)[0]
    assert view["outside"] == 2
    assert np.ptp(view["bulk"]) < 15
    assert view["all"][0] < -28_000


def test_a_rare_group_and_a_constant_stay_in_view():
    rare = np.where(np.arange(200) % 20 == 0, 100.0, np.linspace(0, 1, 200))[:, None]
    assert scatter_views(rare, rare)[0]["outside"] == 0
    still = np.r_[np.zeros(99), 5.0][:, None]
    assert scatter_views(still, still)[0]["outside"] == 0
    assert scatter_views(still[:1], still[:1])[0]["bulk"] == [-1.0, 1.0]
