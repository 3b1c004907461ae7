"""Variance shares: known answers, brute force over the product of marginals, and SALib."""

from __future__ import annotations

import warnings
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.errors import OutsideRangeWarning
from nn2poly.explain import anova, sobol


def random_polynomial(seed, p, order, n_outputs=1, **options):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(Graded(p, order)), n_outputs))
    return n2p.Polynomial(values, order, [f"x{i + 1}" for i in range(p)], **options)


def uniform_columns(low, high, n, p):
    """Lay an even grid out in every column; each column's moments are a uniform's to 1/n²."""
    middle = low + (high - low) * (np.arange(n) + 0.5) / n
    return np.column_stack([np.roll(middle, 7 * i) for i in range(p)])


def by_definition(poly, X):
    """Variances of all subsets from conditional means over the full product of marginals."""
    n, p = X.shape
    grid = np.array(list(product(range(n), repeat=p)))
    rows = np.column_stack([X[grid[:, i], i] for i in range(p)])
    values = poly.predict(rows).reshape(*([n] * p), -1)
    explained = {(): np.zeros(values.shape[-1])}
    for size in range(1, p + 1):
        for subset in combinations(range(p), size):
            others = tuple(i for i in range(p) if i not in subset)
            closed = values.mean(axis=others).reshape(-1, values.shape[-1]).var(axis=0)
            inner = (explained[s] for k in range(size) for s in combinations(subset, k))
            explained[subset] = closed - sum(inner)
    return explained, values.reshape(-1, values.shape[-1]).var(axis=0)


# --- known answers ---------------------------------------------------------------------------


def test_ishigamis_polynomial_analogue_has_its_known_indices():
    """x1 + 7 x2² + 0.1 x3⁴ x1, uniform on ±π: Ishigami with sin t replaced by t."""
    poly = n2p.Polynomial.from_terms(["x1", "x2^2", "x1 x3^4"], [1.0, 7.0, 0.1], ["x1", "x2", "x3"])
    found = sobol(poly, uniform_columns(-np.pi, np.pi, 40_000, 3))
    first = (1 + 0.1 * np.pi**4 / 5) ** 2 * np.pi**2 / 3
    second = 7**2 * 4 * np.pi**4 / 45
    both = 0.1**2 * np.pi**2 / 3 * 16 * np.pi**8 / 225
    total = first + second + both
    np.testing.assert_allclose(found.variance, [total], rtol=1e-7)
    np.testing.assert_allclose(found.first[:, 0], np.array([first, second, 0]) / total, atol=1e-7)
    expected = np.array([first + both, second, both]) / total
    np.testing.assert_allclose(found.total[:, 0], expected, atol=1e-7)
    assert found.share("x1 x3")[0] == pytest.approx(both / total, abs=1e-7)
    assert found.share("x2 x3")[0] == 0


def test_a_hand_computed_polynomial():
    """y = 3 + 2 a + a b + b², a and b each ±1 or 0 with equal chance: E a² = 2/3."""
    poly = n2p.Polynomial.from_terms(["1", "a", "a b", "b^2"], [3.0, 2.0, 1.0, 1.0], ["a", "b"])
    found = sobol(poly, [[-1, 0], [0, 1], [1, -1]])
    parts = np.array([4 * 2 / 3, 2 / 3 - 4 / 9, 4 / 9])
    np.testing.assert_allclose(found.variance, [parts.sum()], rtol=1e-14)
    assert found.subsets == ((0,), (1,), (0, 1))
    np.testing.assert_allclose(found.shares[:, 0], parts / parts.sum(), rtol=1e-13)


def test_salib_agrees_within_its_sampling_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from SALib.analyze import sobol as analyze
        from SALib.sample import sobol as sample

        names = ["x1", "x2", "x3", "x4"]
        problem = {"num_vars": 4, "names": names, "bounds": [[-1.0, 2.0]] * 4}
        poly = random_polynomial(1, 4, 3)
        outputs = poly.predict(sample.sample(problem, 2048, seed=0))
        theirs = analyze.analyze(problem, outputs, seed=0)
    ours = sobol(poly, uniform_columns(-1.0, 2.0, 20_000, 4))
    for name, found in [("S1", ours.first), ("ST", ours.total)]:
        np.testing.assert_array_less(
            np.abs(theirs[name] - found[:, 0]), 2 * theirs[f"{name}_conf"] + 1e-6
        )
    for i, j in combinations(range(4), 2):
        error = abs(theirs["S2"][i, j] - ours.share((i, j))[0])
        assert error < 2 * theirs["S2_conf"][i, j] + 1e-6


@pytest.mark.parametrize(("p", "order", "n"), [(1, 5, 6), (2, 8, 7), (3, 3, 5), (4, 4, 4)])
def test_shares_equal_the_definition(p, order, n):
    rng = np.random.default_rng(p)
    poly = random_polynomial(
        order, p, order, 3, center=rng.normal(size=p), scale=rng.uniform(0.5, 2, p)
    )
    X = rng.normal(size=(n, p))
    expected, variance = by_definition(poly, X)
    found = sobol(poly, X)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-10)
    for subset, value in expected.items():
        if subset:
            np.testing.assert_allclose(found.share(subset), value / variance, atol=1e-10)


def test_shares_of_binary_features_and_of_their_folded_polynomial_agree():
    """u² = u on 0 and 1: more powers than a feature has values change nothing."""
    rng = np.random.default_rng(2)
    poly = random_polynomial(2, 4, 3)
    X = np.column_stack([rng.normal(size=(20, 2)), rng.integers(0, 2, (20, 2))])
    whole, folded = sobol(poly, X), sobol(poly.fold([[2], [3]]), X)
    assert whole.subsets == folded.subsets
    np.testing.assert_allclose(whole.shares, folded.shares, atol=1e-10)


# --- laws ------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 4),
    order=st.integers(1, 4),
    n=st.integers(2, 9),
    joint=st.booleans(),
)
def test_shares_add_up_to_one(seed, p, order, n, joint):
    poly = random_polynomial(seed, p, order, 2)
    found = sobol(poly, np.random.default_rng(seed).normal(size=(n, p)), joint=joint)
    np.testing.assert_allclose(found.shares.sum(axis=0), 1, atol=1e-8)
    assert np.all(found.structural >= 0)
    if not joint:
        assert np.all(found.correlative == 0)
        assert np.all(found.total >= found.first - 1e-12)


def test_shift_and_scale_of_the_output_do_not_change_shares():
    poly, X = random_polynomial(3, 3, 3), np.random.default_rng(3).normal(size=(30, 3))
    moved = poly.coefficients * 7.0
    moved[0] += 1e6
    other = n2p.Polynomial(moved, 3, poly.feature_names)
    np.testing.assert_allclose(sobol(other, X).shares, sobol(poly, X).shares, atol=1e-12)


# --- the joint distribution ------------------------------------------------------------------


def test_joint_shares_are_covariances_of_the_effects_with_the_output():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    poly = random_polynomial(4, 3, 3, 2)
    found, effects = sobol(poly, X, joint=True), anova(poly, X).evaluate(X)
    outputs = poly.predict(X)
    np.testing.assert_allclose(found.variance, outputs.var(axis=0), rtol=1e-10)
    for j in range(len(found.subsets)):
        for k in range(2):
            matrix = np.cov(effects[:, j, k], outputs[:, k], bias=True) / outputs[:, k].var()
            assert found.structural[j, k] == pytest.approx(matrix[0, 0], abs=1e-10)
            assert found.shares[j, k] == pytest.approx(matrix[0, 1], abs=1e-10)


def test_joint_shares_of_a_full_factorial_design_are_sobol_indices():
    grid = np.array(list(product([-1.0, 0.5, 2.0], [0.0, 1.0], [3.0, 4.0, 7.0, 9.0])))
    poly = random_polynomial(5, 3, 4, 2)
    apart, together = sobol(poly, grid), sobol(poly, grid, joint=True)
    np.testing.assert_allclose(together.shares, apart.shares, atol=1e-9)
    np.testing.assert_allclose(together.correlative, 0, atol=1e-9)


def test_two_copies_of_a_feature_share_a_correlative_part():
    """a + b with b = a: variance 4, of which each has 1 by itself and 1 through the other."""
    poly = n2p.Polynomial.from_terms(["a", "b"], [1.0, 1.0], ["a", "b"])
    found = sobol(poly, [[-1.0, -1.0], [1.0, 1.0]], joint=True)
    np.testing.assert_allclose(found.structural[:, 0], [0.25, 0.25])
    np.testing.assert_allclose(found.correlative[:, 0], [0.25, 0.25])
    assert sobol(poly, [[-1.0, -1.0], [1.0, 1.0]]).first[:, 0].tolist() == [0.5, 0.5]


# --- shapes, sizes and words -----------------------------------------------------------------


def test_outputs_that_do_not_vary_have_no_shares():
    poly = n2p.Polynomial([[1.0, 0.1], [0.0, 2.0]], 1, ["a"], ["flat", "steep"])
    for joint in (False, True):
        found = sobol(poly, [[0.1], [0.4]], joint=joint)
        assert np.isnan(found.first[0, 0])
        assert found.first[0, 1] == pytest.approx(1.0)
        assert "n/a" in str(found)
    constant = sobol(n2p.Polynomial([[1.0]], 0, ["a"]), [[0.1], [0.4]])
    assert np.isnan(constant.total).all()
    one_row = sobol(random_polynomial(0, 2, 2), [[0.3, 0.7]])
    assert np.isnan(one_row.total).all()


def test_a_constant_column_has_no_share():
    poly = random_polynomial(1, 3, 3)
    X = np.random.default_rng(1).normal(size=(40, 3))
    X[:, 1] = 0.1
    np.testing.assert_allclose(sobol(poly, X).total[1], 0, atol=1e-25)


@pytest.mark.parametrize("joint", [False, True])
def test_54_features_and_7_outputs(joint):
    poly = random_polynomial(6, 54, 2, 7)
    X = np.random.default_rng(6).uniform(-1, 1, (300, 54))
    found = sobol(poly, X, joint=joint)
    assert found.first.shape == found.total.shape == (54, 7)
    assert len(found.subsets) == 54 + 54 * 53 // 2
    np.testing.assert_allclose(found.shares.sum(axis=0), 1, atol=1e-9)
    assert "… and 4 more outputs" in str(found)


def test_29260_terms_take_seconds():
    from time import perf_counter

    poly = random_polynomial(7, 54, 3)
    X = np.random.default_rng(7).uniform(-1, 1, (100, 54))
    begin = perf_counter()
    found = sobol(poly, X)
    assert perf_counter() - begin < 20
    np.testing.assert_allclose(found.shares.sum(), 1, atol=1e-9)


def test_tables_rank_features_and_subsets():
    poly = n2p.Polynomial.from_terms(["a", "a b", "c"], [1.0, 1.0, 2.0], ["a", "b", "c"])
    corners = list(product([-1, 1], repeat=3))
    found = sobol(poly, corners)
    assert [row[0] for row in found.table()] == ["c", "a", "b"]
    assert found.subset_table(n=1).rows == (("c", pytest.approx(2 / 3)),)
    joint = sobol(poly, corners, joint=True)
    assert joint.subset_table().columns == ("features", "share", "structural", "correlative")
    assert "joint distribution" in joint._repr_html_()
    assert "independent" not in str(joint)
    two = sobol(random_polynomial(0, 3, 2, 2), corners)
    assert "of y2" in two.table(2, output="y2").title
    assert len(two.table(2, output="y2")) == 2
    assert two.subset_table(3, output=1).rows == two.subset_table(None, output="y2").rows[:3]


def test_rows_outside_the_calibrated_range_warn_once():
    poly = random_polynomial(0, 2, 2, low=[-1.0, -1.0], high=[1.0, 1.0])
    for joint in (False, True):
        with pytest.warns(OutsideRangeWarning) as caught:
            sobol(poly, [[0.0, 3.0], [0.0, 0.0]], joint=joint)
        assert len(caught) == 1


def test_data_frames_are_matched_by_name():
    import pandas

    poly = n2p.Polynomial.from_terms(["b", "a b"], [1.0, 2.0], ["a", "b"])
    frame = pandas.DataFrame({"b": [1.0, 2.0, 5.0], "a": [3.0, 4.0, 4.0]})
    for joint in (False, True):
        ours = sobol(poly, frame, joint=joint).shares
        theirs = sobol(poly, frame[["a", "b"]].to_numpy(), joint=joint).shares
        np.testing.assert_array_equal(ours, theirs)


# --- independent features against the rows as they are ---------------------------------------


@pytest.mark.parametrize("joint", [False, True])
def test_the_ratio_is_of_the_two_variances(joint):
    rng = np.random.default_rng(11)
    a = rng.normal(size=500)
    X = np.column_stack([a, a + 0.3 * rng.normal(size=500), rng.normal(size=500)])
    poly = random_polynomial(11, 3, 2, 2)
    independent = anova(poly, X).variances.sum(axis=0)
    found = sobol(poly, X, joint=joint)
    np.testing.assert_allclose(found.ratio, independent / poly.predict(X).var(axis=0), rtol=1e-9)


@pytest.mark.parametrize(("sign", "far"), [(1.0, False), (-1.0, True)])
def test_the_table_says_when_shares_are_of_a_variance_that_the_data_do_not_have(sign, far):
    """Of a ± b with b close to a: the variance with independent features is 1/2 or many times."""
    rng = np.random.default_rng(12)
    a = rng.normal(size=400)
    X = np.column_stack([a, a + 0.9 * rng.normal(size=400)])
    poly = n2p.Polynomial.from_terms(["a", "b"], [1.0, sign], ["a", "b"])
    found = sobol(poly, X)
    note = found.table().note
    assert f"{found.ratio[0]:.3g} times that on the rows as they are" in note
    assert ("joint=True" in note) is far
    whole = sobol(poly, X, joint=True)
    assert whole.table().note == ""
    # Where they differ much, the joint form comes first.
    assert str(found).startswith(str(whole.table(10))) is far
    assert (found.as_they_are is not None) is far


def test_an_output_that_does_not_vary_has_no_ratio():
    poly = n2p.Polynomial([[3.0], [0.0]], 1, ["a"])
    found = sobol(poly, [[0.0], [1.0]])
    assert np.isnan(found.ratio).all()
    assert found.table().note == ""
