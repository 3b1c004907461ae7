"""The separable form: polynomials, levels and boxes are the same to every explanation.

Formulas of random trees (interval conditions on raw columns, sets of levels of a column that
enters as several indicators) are compared with the definitions, by brute force.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import factorial

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import TooManyTermsError
from nn2poly.explain.rewriting import (
    as_polynomial,
    centred,
    cofactors,
    joined,
    moments,
    shifted,
    total,
    within,
)
from nn2poly.explain.separable import Interval
from nn2poly.explain.separating import separable


@pytest.fixture
def rng():
    return np.random.default_rng(3)


# --- the form --------------------------------------------------------------------------------


def random_polynomial(seed, p=4, order=4, n_outputs=2):
    rng = np.random.default_rng(seed)
    terms = [t for k in range(order + 1) for t in combinations_with_replacement(range(p), k)]
    return n2p.Polynomial.from_terms(
        terms,
        rng.normal(size=(len(terms), n_outputs)),
        [*"abcde"[:p]],
        center=rng.normal(size=p),
        scale=rng.uniform(0.5, 2, p),
    )


def test_every_rewriting_predicts_the_same(rng):
    poly, X = random_polynomial(0), rng.normal(size=(30, 4))
    form = separable(poly)
    for other in (
        form,
        centred(form, X),
        shifted(centred(form, X), -centred(form, X).means),
        joined(form, {"outer": (0, 3)}),
        joined(form, {"all": (0, 1, 2, 3)}),
        centred(joined(form, {"outer": (3, 0), "inner": (1, 2)}), X),
    ):
        np.testing.assert_allclose(other.predict(X), poly.predict(X), rtol=1e-10, atol=1e-10)


def test_players_that_are_joined_have_one_factor_in_each_term(rng):
    form = joined(separable(random_polynomial(0)), {"outer": (3, 0)})
    assert form.players == ("outer", "b", "c")
    assert form.columns == ((0, 3), (1,), (2,))
    for _, rows in form.terms:
        owners = form.owners[rows]
        assert (np.diff(owners, axis=1) > 0).all()


def test_terms_without_coefficients_are_left_out():
    poly = n2p.Polynomial([[1.0], [0.0], [0.0], [0.0], [0.0], [2.0]], 2, ["a", "b"])
    form = separable(poly)
    assert [factor.features for factor in form.factors] == [(1, 1)]
    assert len(form.terms) == 2


def test_centred_terms_are_closed_under_faces_which_leave_out_whole_players(rng):
    poly = n2p.Polynomial.from_terms(["a^2 b c^3"], [1.0], ["a", "b", "c"])
    form = centred(separable(poly), rng.normal(size=(5, 3)))
    assert [f.features for f in form.factors] == [(0, 0), (1,), (2, 2, 2)]
    assert [len(rows) for _, rows in form.terms] == [1, 3, 3, 1]


def test_moments_are_means_over_the_rows(rng):
    X = rng.normal(size=(20, 4))
    form = centred(separable(random_polynomial(1)), X)
    expected = form.terms.values(form.values(X)).mean(axis=1)
    np.testing.assert_allclose(moments(form, X), expected, atol=1e-12)


def test_a_polynomial_comes_back_from_its_form(rng):
    poly = random_polynomial(2)
    again = as_polynomial(separable(poly), poly)
    assert list(again.terms) == list(poly.terms)
    np.testing.assert_array_equal(again.coefficients, poly.coefficients)


def test_too_many_faces_are_refused_before_they_are_made(monkeypatch):
    poly = n2p.Polynomial(np.ones((1540, 7)), 2, [f"f{i}" for i in range(54)])
    form = separable(poly)
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 10_000)
    with pytest.raises(TooManyTermsError, match="split by subsets"):
        centred(form, np.zeros((1, 54)))


@pytest.mark.slow
def test_a_wide_sparse_polynomial_is_explained(rng):
    names = [f"f{i}" for i in range(600)]
    terms = [tuple(rng.choice(600, 4)) for _ in range(400)]
    poly = n2p.Polynomial.from_terms(
        terms, rng.normal(size=400), names, center=rng.normal(size=600)
    )
    X, background = rng.normal(size=(5, 600)), rng.normal(size=(30, 600))
    found = explain.shapley(poly, X, background)
    np.testing.assert_allclose(found.total[:, 0], poly.predict(X), atol=1e-9)
    pairs = explain.interactions(poly, X, background, order=4)
    sums = pairs.base_values + pairs.values.sum(axis=1)
    np.testing.assert_allclose(sums[:, 0], poly.predict(X), atol=1e-9)


def test_years_in_raw_units_keep_their_digits(rng):
    """(year - 2000)³ and year × b, written out in raw years, against the same around 2000."""
    near = n2p.Polynomial.from_terms(
        ["year^3", "year b", "b"], [1e-3, 0.5, 2.0], ["year", "b"], center=[2000.0, 0.0]
    )
    X = rng.normal([2000.0, 1.0], [10.0, 1.0], (60, 2))
    raw = near.rebase()
    for call in (
        lambda poly: explain.shapley(poly, X, X).values,
        lambda poly: explain.interactions(poly, X, X).values,
        lambda poly: explain.sobol(poly, X).total,
        lambda poly: explain.friedman_h(poly, X).overall,
    ):
        np.testing.assert_allclose(call(raw), call(near), rtol=1e-10, atol=1e-10)


# --- trees of boxes and levels, by brute force -----------------------------------------------

# Four columns: three numbers and one of four levels, which enters as indicators of three.
COLUMNS = ((0,), (1,), (2,), (3, 4, 5))
NAMES = ("a", "b", "c", "colour")
FEATURES = ("a", "b", "c", "red", "green", "blue")


@dataclass(frozen=True)
class OneOf:
    """The condition that a column has one of some levels; level 0 is that of no indicator."""

    levels: frozenset[int]

    def __call__(self, rows):
        level = rows[:, 3:6] @ np.array([1, 2, 3])
        return np.isin(level, sorted(self.levels))


def draw_rows(rng, n):
    levels = rng.integers(0, 4, n)
    return np.column_stack([rng.normal(size=(n, 3)), levels[:, None] == np.arange(1, 4)]) * 1.0


def draw_leaf(rng):
    """Draw a polynomial of order 3 in all features, of which few terms are there."""
    terms = [
        (),
        *((j,) for j in range(6)),
        (0, 0),
        (0, 1),
        (1, 2),
        (0, 3),
        (2, 4),
        (1, 1, 5),
        (0, 1, 2),
    ]
    options = {"center": [0.5, -1.0, 0.0, 0.0, 0.0, 0.0], "scale": [2.0, 1.0, 0.5, 1.0, 1.0, 1.0]}
    poly = n2p.Polynomial.from_terms(terms, rng.normal(size=(len(terms), 2)), FEATURES, **options)
    return poly, joined(separable(poly), {"colour": (3, 4, 5)})


def draw_tree(rng, depth, conditions):
    """Draw leaves with their conditions by player: (polynomial, form, conditions)."""
    if depth == 0:
        return [(*draw_leaf(rng), conditions)]
    player = int(rng.integers(0, 4))
    if player == 3:
        before = conditions.get(3, OneOf(frozenset(range(4))))
        left = frozenset(rng.choice(4, 2, replace=False).tolist())
        sides = [OneOf(before.levels & left), OneOf(before.levels - left)]
    else:
        before = conditions.get(player, Interval(player))
        cut = float(np.clip(rng.normal(0, 0.5), before.low, before.high))
        sides = [replace(before, high=cut), replace(before, low=cut)]
    leaves = (draw_tree(rng, depth - 1, {**conditions, player: side}) for side in sides)
    return [leaf for part in leaves for leaf in part]


def tree(seed, depth):
    """Give a formula of boxes, and the same function leaf by leaf."""
    leaves = draw_tree(np.random.default_rng(seed), depth, {})
    form = total([within(f, {k: [c] for k, c in held.items()}) for _, f, held in leaves])

    def outputs(rows):
        out = np.zeros((len(rows), 2))
        for poly, _, conditions in leaves:
            inside = np.ones(len(rows), dtype=bool)
            for condition in conditions.values():
                inside &= condition(rows)
            if inside.any():
                out[inside] = poly.predict(rows[inside])
        return out

    return form, outputs


def game(outputs, x, background):
    """Give v(S) for every subset of columns at one row, by definition."""
    values = {}
    for size in range(5):
        for subset in combinations(range(4), size):
            mixed = background.copy()
            for player in subset:
                mixed[:, COLUMNS[player]] = x[list(COLUMNS[player])]
            values[subset] = outputs(mixed).mean(axis=0)
    return values


def moebius(values):
    """Give the Möbius coefficients of a game."""
    return {
        t: sum(
            (-1) ** (len(t) - size) * values[s]
            for size in range(len(t) + 1)
            for s in combinations(t, size)
        )
        for t in values
    }


trees = pytest.mark.parametrize(("seed", "depth"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 3)])


@trees
def test_a_tree_of_boxes_is_a_sum_of_products(seed, depth):
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 200)
    assert form.players == NAMES
    np.testing.assert_allclose(form.predict(X), outputs(X), atol=1e-12)


@trees
def test_shapley_values_and_interactions_of_a_tree_equal_the_definition(seed, depth):
    form, outputs = tree(seed, depth)
    rng = np.random.default_rng(seed)
    X, background = draw_rows(rng, 4), draw_rows(rng, 15)
    values = explain.shapley(form, X, background)
    indices = {
        i: explain.interactions(form, X, background, order=2, index=i) for i in ("SII", "STII")
    }
    assert values.feature_names == NAMES
    for row, x in enumerate(X):
        v = game(outputs, x, background)
        m = moebius(v)
        np.testing.assert_allclose(values.base_values, v[()], atol=1e-9)
        for player in range(4):
            expected = sum(m[t] / len(t) for t in m if player in t)
            np.testing.assert_allclose(values.values[row, player], expected, atol=1e-9)
            others = [i for i in range(4) if i != player]
            marginal = sum(
                factorial(k) * factorial(3 - k) / 24 * (v[tuple(sorted((*s, player)))] - v[s])
                for k in range(4)
                for s in combinations(others, k)
            )
            np.testing.assert_allclose(values.values[row, player], marginal, atol=1e-9)
        for pair in combinations(range(4), 2):
            above = [t for t in m if set(pair) <= set(t)]
            sii = sum(m[t] / (len(t) - 1) for t in above)
            np.testing.assert_allclose(indices["SII"].value(pair)[row], sii, atol=1e-9)
            stii = sum(m[t] * 2 / (len(t) * (len(t) - 1)) for t in above)
            np.testing.assert_allclose(indices["STII"].value(pair)[row], stii, atol=1e-9)


@trees
def test_anova_and_sobol_of_a_tree_equal_the_definition(seed, depth):
    """Conditional means over all combinations of the columns of a few rows."""
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 5)
    grid = np.array(list(product(range(5), repeat=4)))
    rows = np.concatenate([X[grid[:, i]][:, COLUMNS[i]] for i in range(4)], axis=1)
    values = outputs(rows).reshape(5, 5, 5, 5, 2)
    effects, shares = explain.anova(form, X), explain.sobol(form, X)
    variance = values.reshape(-1, 2).var(axis=0)
    np.testing.assert_allclose(effects.mean, values.reshape(-1, 2).mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(shares.variance, variance, rtol=1e-9)
    pure = {(): effects.mean}
    found = dict(zip(effects.subsets, effects.evaluate(rows).transpose(1, 0, 2), strict=True))
    for size in range(1, 5):
        for subset in combinations(range(4), size):
            others = tuple(i for i in range(4) if i not in subset)
            mean = values.mean(axis=others, keepdims=True)
            inner = (pure[s] for k in range(size) for s in combinations(subset, k))
            pure[subset] = mean - sum(inner)
            expected = np.broadcast_to(pure[subset], values.shape).reshape(-1, 2)
            ours = found.get(subset, np.zeros_like(expected))
            np.testing.assert_allclose(ours, expected, atol=1e-9)
            np.testing.assert_allclose(
                shares.share(subset), expected.var(axis=0) / variance, atol=1e-9
            )


@trees
def test_variances_are_the_same_by_squares_and_by_covariances(seed, depth, monkeypatch):
    form, _ = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 30)
    squares = explain.anova(form, X).variances
    monkeypatch.setattr(sys.modules["nn2poly.explain.anova"], "MAX_EXPANDED", 0)
    np.testing.assert_allclose(explain.anova(form, X).variances, squares, rtol=1e-9, atol=1e-12)


@trees
def test_joint_shares_of_a_tree_are_covariances_with_the_output(seed, depth):
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 60)
    found, effects = explain.sobol(form, X, joint=True), explain.anova(form, X).evaluate(X)
    y = outputs(X)
    np.testing.assert_allclose(found.variance, y.var(axis=0), rtol=1e-9)
    centred_y = y - y.mean(axis=0)
    expected = np.einsum("nsk,nk->sk", effects, centred_y) / len(X) / y.var(axis=0)
    np.testing.assert_allclose(found.shares, expected, atol=1e-9)


@trees
def test_partial_dependence_and_curves_of_a_tree_equal_repeated_predictions(seed, depth):
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 25)
    points = np.linspace(-2, 2, 7)
    for player in range(3):
        moved = np.repeat(X[:, None], 7, axis=1)
        moved[:, :, player] = points
        expected = outputs(moved.reshape(-1, 6)).reshape(25, 7, 2)
        curves = explain.ice(form, X, NAMES[player], grid=points)
        np.testing.assert_allclose(curves.values, expected, atol=1e-9)
        average = explain.partial_dependence(form, X, player, grid=points)
        np.testing.assert_allclose(average.values, expected.mean(axis=0), atol=1e-9)
    both = explain.partial_dependence(form, X, ["a", "c"], grid=[points, points])
    for (i, s), (j, t) in product(enumerate(points), repeat=2):
        moved = X.copy()
        moved[:, 0], moved[:, 2] = s, t
        np.testing.assert_allclose(both.values[i, j], outputs(moved).mean(axis=0), atol=1e-9)


@pytest.mark.slow
@trees
def test_friedmans_h_of_a_tree_equals_the_definition(seed, depth):
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 20)
    found = explain.friedman_h(form, X)

    def dependence(players):
        columns = [j for player in players for j in COLUMNS[player]]
        out = []
        for x in X:
            moved = X.copy()
            moved[:, columns] = x[columns]
            out.append(outputs(moved).mean(axis=0))
        return np.array(out) - np.mean(out, axis=0)

    for pair, h in zip(found.pairs, found.pairwise, strict=True):
        both = dependence(pair)
        apart = both - dependence(pair[:1]) - dependence(pair[1:])
        expected = (apart**2).sum(axis=0) / (both**2).sum(axis=0)
        np.testing.assert_allclose(h**2, expected, atol=1e-9)
    y = outputs(X) - outputs(X).mean(axis=0)
    for player in range(4):
        rest = [i for i in range(4) if i != player]
        apart = y - dependence((player,)) - dependence(rest)
        expected = (apart**2).sum(axis=0) / (y**2).sum(axis=0)
        np.testing.assert_allclose(found.overall[player] ** 2, expected, atol=1e-9)


@trees
def test_slopes_of_a_tree_are_those_within_its_boxes(seed, depth):
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 25)
    found = explain.gradients(form, X)
    for j in range(3):
        step = np.zeros(6)
        step[j] = 1e-6
        numeric = (outputs(X + step) - outputs(X - step)) / 2e-6
        np.testing.assert_allclose(found[:, j], numeric, rtol=1e-6, atol=1e-6)


@trees
def test_marginal_effects_of_a_tree_are_slopes_and_differences_of_levels(seed, depth):
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 25)
    found = explain.marginal_effects(form, X, binary=[["red", "green", "blue"]])
    assert found.kinds == (*["slope"] * 3, "reference", "'red' → this", "'red' → this")
    np.testing.assert_allclose(found.values[:, :3], explain.gradients(form, X)[:, :3], atol=1e-12)
    reference, level = X.copy(), X.copy()
    reference[:, 3:], level[:, 3:] = (1, 0, 0), (0, 0, 1)
    np.testing.assert_allclose(found.values[:, 5], outputs(level) - outputs(reference), atol=1e-9)


@trees
def test_importance_is_what_is_lost_when_a_column_is_that_of_other_rows(seed, depth):
    form, outputs = tree(seed, depth)
    X = draw_rows(np.random.default_rng(seed), 20)
    table = explain.importance(form, X)
    rows = {row[0]: row[1:] for row in table}
    for player, columns in enumerate(COLUMNS):
        lost = []
        for x in X:
            moved = np.repeat(x[None], len(X), axis=0)
            moved[:, columns] = X[:, columns]
            lost.append(outputs(x[None])[0] - outputs(moved).mean(axis=0))
        np.testing.assert_allclose(rows[NAMES[player]], np.std(lost, axis=0), atol=1e-9)


def test_levels_of_one_player_do_not_interact_with_each_other(rng):
    """red × green never happens; alone, as features, the two would share credit for it."""
    poly = n2p.Polynomial.from_terms(["red green", "red", "a red"], [5.0, 1.0, 2.0], FEATURES)
    form = joined(separable(poly), {"colour": (3, 4, 5)})
    X = draw_rows(rng, 30)
    assert explain.interactions(form, X, X).subsets == ((0,), (3,), (0, 3))
    assert explain.anova(form, X).subsets == ((0,), (3,), (0, 3))


def test_the_cofactors_put_together_are_the_formula(rng):
    form, outputs = tree(3, 3)
    X = draw_rows(rng, 40)
    for player in range(4):
        parts = cofactors(form, [player, 0])
        together = np.zeros((40, 2))
        for place, product_values in enumerate(parts.at(X)):
            together += product_values[:, None] * parts.cofactor(place).predict(X)
        np.testing.assert_allclose(together, outputs(X), atol=1e-11)
