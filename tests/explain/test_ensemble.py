"""Coefficients and explanations of several networks side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas
import pytest
from sklearn.neural_network import MLPRegressor

import nn2poly as n2p
from nn2poly import explain
from nn2poly.algebra.monomials import count_terms
from nn2poly.errors import InvalidInputError
from nn2poly.formula.region_tree import Leaf, Split


def random_poly(seed, p=3, order=2, k=2, **options):
    rng = np.random.default_rng(seed)
    options = {
        "center": rng.normal(size=p),
        "scale": rng.uniform(0.5, 2.0, p),
        "feature_names": [f"f{j}" for j in range(p)],
    } | options
    return n2p.Polynomial(rng.normal(size=(count_terms(p, order), k)), order, **options)


def test_the_mean_polynomial_predicts_the_mean_of_the_predictions():
    polys = [random_poly(0), random_poly(1, order=3), random_poly(2, order=3).prune(4)]
    found = explain.ensemble(polys)
    X = np.random.default_rng(0).normal(size=(20, 3))
    expected = np.mean([poly.predict(X) for poly in polys], axis=0)
    np.testing.assert_allclose(found.mean.predict(X), expected, rtol=1e-9, atol=1e-9)


def test_coefficients_are_those_of_the_members_in_common_coordinates():
    polys = [random_poly(s) for s in range(4)]
    found = explain.ensemble(polys, center=1.0, scale=2.0)
    stacked = np.stack([poly.rebase(1.0, 2.0).coefficients for poly in polys])
    np.testing.assert_allclose(found.coefficients, stacked)
    np.testing.assert_allclose(found.std, stacked.std(axis=0, ddof=1))
    shares = np.maximum((stacked > 0).mean(axis=0), (stacked < 0).mean(axis=0))
    np.testing.assert_array_equal(found.sign_stability, shares)


def test_members_that_agree_on_their_coordinates_keep_them_to_the_last_digit():
    polys = [random_poly(s, center=[0.1, 0.2, 0.3], scale=[0.1, 1 / 3, 7.0]) for s in range(3)]
    found = explain.ensemble(polys)
    np.testing.assert_array_equal(found.mean.center, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(found.coefficients[1], polys[1].coefficients)


def test_folded_members_stay_folded():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=150), rng.integers(0, 2, 150)])
    y = X[:, 0] * X[:, 1]
    polys = []
    for seed in range(3):
        net = MLPRegressor(hidden_layer_sizes=5, solver="lbfgs", alpha=1.0, max_iter=5000)
        net.set_params(random_state=seed).fit(X, y)
        polys.append(n2p.convert(net, 2, data=X, bounded={"x1": (-3.0, 3.0)}))
    found = explain.ensemble(polys)
    assert (1, 1) not in found.mean.terms
    assert found.mean.coefficient("x1 x2") == pytest.approx(
        np.mean([p.rebase(found.mean.center, found.mean.scale).coefficient("x1 x2") for p in polys])
    )
    assert found.sign_stability[found.mean.terms.index((0, 1)), 0] == 1.0


def test_terms_that_one_member_lacks_count_as_zero():
    one = n2p.Polynomial.from_terms(["a", "a b"], [1.0, 2.0], ["a", "b"])
    two = n2p.Polynomial.from_terms(["a", "1"], [3.0, 5.0], ["a", "b"])
    found = explain.ensemble([one, two])
    assert dict(zip(found.mean.term_names(), found.mean.coefficients[:, 0], strict=True)) == {
        "1": 2.5,
        "a": 2.0,
        "a · b": 1.0,
    }
    assert found.sign_stability[:, 0].tolist() == [0.5, 1.0, 0.5]


def test_the_range_of_the_mean_is_the_one_that_all_saw():
    one, two = (random_poly(s, low=low, high=high) for s, low, high in [(0, 0, 5), (1, 2, 9)])
    found = explain.ensemble([one, two]).mean
    np.testing.assert_array_equal(np.stack([found.low, found.high]), [[2] * 3, [5] * 3])
    assert explain.ensemble([one, random_poly(2)]).mean.low is None
    assert explain.ensemble([one, random_poly(1, low=6, high=7)]).mean.low is None


def test_classifiers_stay_classifiers():
    options = {"link": "softmax", "classes": ("no", "yes")}
    found = explain.ensemble([random_poly(s, **options) for s in range(2)])
    assert (found.mean.link, found.mean.classes) == ("softmax", ("no", "yes"))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (random_poly(1, feature_names=["f0", "f1", "g"]), r"lacks 'f2' and adds 'g'"),
        (random_poly(1, feature_names=["f1", "f0", "f2"]), "another order"),
        (random_poly(1, 4), "adds 'f3'"),
        (random_poly(1, k=3), "output names differ"),
        (random_poly(1, link="softmax"), "link differ"),
    ],
)
def test_polynomials_that_differ_are_refused_and_the_difference_is_said(other, message):
    with pytest.raises(InvalidInputError, match=message):
        explain.ensemble([random_poly(0), other])


@pytest.mark.parametrize(
    "members", [[], [random_poly(0)], [random_poly(0), 3], ["a", "b"], [random_poly(0), None]]
)
def test_what_cannot_be_put_side_by_side_is_refused(members):
    with pytest.raises(InvalidInputError):
        explain.ensemble(members)


def test_the_table_starts_with_the_intercept_and_sorts_by_size():
    table = explain.ensemble([random_poly(s) for s in range(3)]).table(4, output="y2")
    assert table[0][0] == "1"
    sizes = [abs(row[2]) for row in table[1:]]
    assert len(sizes) == 4
    assert sizes == sorted(sizes, reverse=True)


def test_the_table_says_in_which_units_the_coefficients_are():
    units = {"center": [0.0, 20.0], "scale": [1.0, 2.0]}
    poly = n2p.Polynomial([[1.0], [2.0], [9.0]], 1, ["a", "b"], **units)
    members = explain.ensemble([poly, poly], center=poly.center, scale=poly.scale)
    first, last = members.table(1).note.splitlines()
    assert first == "coefficients per scaled unit; .mean.rebase() gives raw units"
    assert last == "b stands for (b - 20) / 2"


def test_large_ensembles_stay_small():
    found = explain.ensemble([random_poly(s, 54, 3, 7) for s in range(3)])
    assert found.coefficients.shape == (3, 29_260, 7)
    assert found.mean.positions is None
    assert len(found.table(5)) == 6


# --- explanations ----------------------------------------------------------------------------


def test_marginal_effects_of_several_networks_are_put_side_by_side():
    X = np.random.default_rng(0).normal(size=(30, 3))
    effects = [explain.marginal_effects(random_poly(s), X) for s in range(4)]
    found = explain.ensemble(effects)
    stacked = np.stack([e.values for e in effects])
    np.testing.assert_allclose(found.mean, stacked.mean(axis=0))
    np.testing.assert_allclose(found.std, stacked.std(axis=0, ddof=1))
    assert found.feature_names == ("f0", "f1", "f2")
    assert found.sign_stability.min() >= 0.5
    assert len(found.table(output="y2")) == 3
    assert len(found.table(2)) == 2


def test_shapley_values_of_several_networks_are_put_side_by_side():
    X = np.random.default_rng(0).normal(size=(12, 3))
    values = [explain.shapley(random_poly(s), X, X) for s in range(3)]
    found = explain.ensemble(values)
    np.testing.assert_allclose(found.mean, np.mean([v.values for v in values], axis=0))
    assert found.table().columns[0] == "feature"


def test_explanations_of_other_rows_or_features_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    one = explain.marginal_effects(random_poly(0), X)
    with pytest.raises(InvalidInputError, match="shapes of the values differ"):
        explain.ensemble([one, explain.marginal_effects(random_poly(1), X[:5])])
    renamed = random_poly(1, feature_names=["a", "b", "c"])
    with pytest.raises(InvalidInputError, match="feature names differ"):
        explain.ensemble([one, explain.marginal_effects(renamed, X)])


def test_only_explanations_by_row_feature_and_output_have_a_table():
    curves = [
        explain.partial_dependence(random_poly(s), np.eye(3), 0, grid=[0.0, 1.0]) for s in range(2)
    ]
    found = explain.ensemble(curves)
    assert found.mean.shape == (2, 2)
    with pytest.raises(InvalidInputError, match="table"):
        found.table()
    assert "shape (2, 2)" in repr(found)


def three_terms(*terms):
    return n2p.Polynomial.from_terms(terms, np.arange(1.0, len(terms) + 1), ["a", "b", "c"])


def test_interactions_of_other_subsets_indices_or_orders_are_refused():
    X = np.random.default_rng(0).normal(size=(4, 3))
    one, two = three_terms("a", "a b"), three_terms("c", "b c")
    first = explain.interactions(one, X, X)
    with pytest.raises(InvalidInputError, match="subsets of features differ"):
        explain.ensemble([first, explain.interactions(two, X, X)])
    with pytest.raises(InvalidInputError, match="indices differ"):
        explain.ensemble([first, explain.interactions(one, X, X, index="STII")])
    with pytest.raises(InvalidInputError, match="orders differ"):
        explain.ensemble([first, explain.interactions(one, X, X, order=3)])


def test_explanations_of_other_rows_of_the_same_shape_are_refused():
    X, poly = np.random.default_rng(0).normal(size=(6, 3)), random_poly(0)
    for make in (
        lambda rows: explain.shapley(poly, rows, X),
        lambda rows: explain.interactions(poly, rows, X),
        lambda rows: explain.marginal_effects(poly, rows),
        lambda rows: explain.ice(poly, rows, 0, grid=[0.0, 1.0]),
    ):
        with pytest.raises(InvalidInputError, match="rows explained differ"):
            explain.ensemble([make(X), make(X + 1)])


def test_effects_of_other_kinds_and_explanations_of_other_kinds_are_refused():
    X, poly = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0]]), random_poly(0)
    one = explain.marginal_effects(poly, X)
    with pytest.raises(InvalidInputError, match="kinds of effects differ"):
        explain.ensemble([one, explain.marginal_effects(poly, X, binary=False)])
    with pytest.raises(InvalidInputError, match="kinds of explanation differ"):
        explain.ensemble([one, explain.shapley(poly, X, X)])


def test_curves_at_other_points_or_of_other_features_are_refused():
    X, poly = np.eye(3), random_poly(0)
    for make in (explain.partial_dependence, explain.ice):
        curve = make(poly, X, 0, grid=[0.0, 1.0])
        with pytest.raises(InvalidInputError, match="grids differ"):
            explain.ensemble([curve, make(poly, X, 0, grid=[0.0, 2.0])])
        with pytest.raises(InvalidInputError, match="differ"):
            explain.ensemble([curve, make(poly, X, 1, grid=[0.0, 1.0])])


def test_of_one_row_the_table_shows_the_sign_of_the_mean():
    poly = n2p.Polynomial.from_terms(["a", "b"], [1.0, -5.0], ["a", "b"])
    found = explain.ensemble([explain.shapley(poly, [[1.0, 1.0]], [[0.0, 0.0]])] * 2)
    assert [row[:2] for row in found.table()] == [("b", -5.0), ("a", 1.0)]
    assert found.table().columns[1] == "value"


def test_the_table_of_interactions_names_the_subsets():
    X = np.random.default_rng(0).normal(size=(4, 3))
    found = explain.ensemble([explain.interactions(random_poly(s), X, X) for s in range(3)])
    assert found.table().columns[0] == "features"
    assert {row[0] for row in found.table()} >= {"f0", "f0 × f1", "f1 × f2"}
    assert "f0 × f2" in repr(found)
    assert len(found.table(2)) == 2


def test_curves_have_no_table_of_features():
    X = np.random.default_rng(0).normal(size=(4, 3))
    grid = [np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0])]
    for found in (
        explain.ensemble([explain.ice(random_poly(s), X, 0, grid=grid[0]) for s in range(2)]),
        explain.ensemble(
            [explain.partial_dependence(random_poly(s), X, [0, 2], grid=grid) for s in range(2)]
        ),
    ):
        with pytest.raises(InvalidInputError, match="of curves"):
            found.table()
        assert "shape" in repr(found)


def test_data_frames_with_their_own_index_can_still_be_put_side_by_side():
    frames = [pandas.DataFrame({"a": [1.0, s]}, index=["u", "v"]) for s in (2.0, 4.0)]
    np.testing.assert_array_equal(explain.ensemble(frames).mean, [[1.0], [3.0]])
    with pytest.raises(InvalidInputError, match="differ"):
        explain.ensemble([frames[0], frames[1].set_axis(["v", "u"])])


# --- formulas with regions -------------------------------------------------------------------


def pieces(seed, threshold=0.0):
    tree = Split(0, threshold, left=Leaf(0), right=Leaf(1))
    inputs = random_poly(seed)
    polys = [replace(random_poly(10 * seed + k), inputs=inputs.inputs) for k in range(2)]
    return n2p.PiecewisePolynomial(tree, tuple(polys))


def test_formulas_with_the_same_regions_have_a_mean_that_predicts_the_mean():
    members = [pieces(seed) for seed in range(3)]
    found = explain.ensemble(members)
    X = np.random.default_rng(0).normal(size=(30, 3))
    expected = np.mean([member.predict(X) for member in members], axis=0)
    np.testing.assert_allclose(found.mean.predict(X), expected, rtol=1e-10)
    assert found.regions[0].sign_stability.shape == found.mean.polynomials[0].coefficients.shape
    assert {row[0] for row in found.table(2)} == {0, 1}
    assert "region" in repr(found)


def test_other_regions_are_refused_with_their_rules_and_the_way_out():
    with pytest.raises(InvalidInputError) as caught:
        explain.ensemble([pieces(0), pieces(1, threshold=1.5)])
    assert "f0 < 1.5" in caught.value.found
    assert "shapley" in caught.value.remedy
    with pytest.raises(InvalidInputError, match="side by side"):
        explain.ensemble([pieces(0), random_poly(0)])


def test_explanations_of_different_regions_stand_side_by_side():
    X = np.random.default_rng(0).normal(size=(12, 3))
    members = [pieces(0), pieces(1, threshold=1.5)]
    found = explain.ensemble([explain.shapley(member, X, X) for member in members])
    assert found.mean.shape == (12, 3, 2)


def test_a_sign_that_holds_is_measured_against_networks_with_nothing_to_learn():
    """With pure noise most first-order terms keep their sign over seeds: that alone is nothing."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(4, 1))
    names = ["a", "b", "c"]
    drawn = [shared + 0.1 * rng.normal(size=(4, 1)) for _ in range(5)]
    noise = [n2p.Polynomial(values, 1, names) for values in drawn]
    null = [n2p.Polynomial(rng.normal(size=(4, 1)), 1, names) for _ in range(19)]
    found, nothing = explain.ensemble(noise), explain.ensemble(null)
    assert found.sign_stability.mean() > 0.8
    assert found.beside(nothing).min() > 0.05
    strong = explain.ensemble([n2p.Polynomial(9.0 + p.coefficients, 1, names) for p in noise])
    assert strong.beside(nothing).max() == pytest.approx(0.05)


def test_ensembles_of_other_terms_are_not_compared():
    one, two = (
        explain.ensemble([n2p.Polynomial(np.ones((n, 1)), n - 1, ["t"])] * 2) for n in (2, 3)
    )
    with pytest.raises(InvalidInputError, match="same terms"):
        one.beside(two)


def least_squares(X, y, seed):
    """Train the smallest network there is; the seed only disturbs it a little."""
    jitter = 0.01 * np.random.default_rng(seed).normal(size=X.shape[1])
    slopes = np.linalg.lstsq(X, y, rcond=None)[0] + jitter
    return n2p.Network([n2p.Layer(slopes[:, None])])


def test_pure_noise_holds_its_signs_and_is_told_from_a_signal():
    """Version 0.1 called a term whose sign holds a finding: with noise 83 to 93 % of them do."""
    stable, chance, strong = [], [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, noise = rng.normal(size=(50, 4)), rng.normal(size=50)
        found = explain.against_chance(least_squares, X, noise, seed=seed, data=None)
        stable.append(found.sign_stability[1:] == 1.0)
        chance.append(found.by_chance[1:])
        y = noise + X[:, 0]
        signal = explain.against_chance(least_squares, X, y, seed=seed, n_networks=2, data=None)
        strong.append(signal.by_chance[1, 0])
    assert np.mean(stable) > 0.8
    # 32 terms, of which 1 in 20 is at 1 / 20 by chance: 6 or more are in 1 of 250 such tests.
    assert np.sum(np.array(chance) <= 0.051) <= 5
    assert np.median(strong) == pytest.approx(0.05)


def test_the_share_by_chance_is_in_the_table_and_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    found = explain.against_chance(least_squares, X, X[:, 0], n_permuted=9, data=None)
    assert found.null.shape == (9, 3, 1)
    table = found.table(2)
    assert table.columns[-1] == "by chance"
    assert "9 networks trained on permuted responses" in table.note
    assert table[1][-1] == pytest.approx(0.1)
    assert explain.ensemble([found.mean, found.mean]).by_chance is None


def test_an_estimator_is_cloned_and_started_anew():
    class Line:
        """The least of an estimator: scikit-learn clones it by its parameters."""

        def __init__(self, random_state=0):
            self.random_state = random_state

        def get_params(self, deep=True):
            return {"random_state": self.random_state}

        def set_params(self, **params):
            self.__dict__.update(params)
            return self

        def fit(self, X, y):
            starts.append(self.random_state)
            return least_squares(X, y, self.random_state)

    starts, rng = [], np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    explain.against_chance(Line(), X, X[:, 1], n_networks=2, n_permuted=2, seed=7, data=None)
    assert starts == [7, 8, 9, 10]
    with pytest.raises(InvalidInputError, match="cannot train"):
        explain.against_chance("MLP", X, X[:, 1])
