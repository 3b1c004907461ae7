"""Explanations of formulas with regions equal their definitions, by enumeration and averaging."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from math import factorial

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.algebra.terms import Graded
from nn2poly.errors import InvalidInputError
from nn2poly.explain.levels import level_averages
from nn2poly.explain.separating import separable
from nn2poly.formula.region_tree import Leaf, Split, paths
from nn2poly.formula.substituted import fixed_features, with_fixed
from nn2poly.inputs import Column, Inputs

EXACT = 1e-9


def columns_of(kinds):
    """Make columns: n a number, b a yes/no of 1 and 2, f a factor of three levels."""
    made = {
        "n": lambda name: Column(name, ranges=((-4.0, 4.0),)),
        "b": lambda name: Column(name, "binary", ranges=((1.0, 2.0),)),
        "f": lambda name: replace(Column.factor(name, "uvw"), ranges=((0.0, 1.0),) * 3),
    }
    return tuple(made[kind](f"c{i}") for i, kind in enumerate(kinds))


def draw_rows(inputs, rng, n):
    out = np.empty((n, inputs.n_features))
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        if column.kind == "number":
            out[:, places[0]] = np.clip(rng.normal(size=n), -4, 4)
        elif column.kind == "binary":
            out[:, places[0]] = rng.integers(1, 3, n)
        else:
            out[:, places] = np.eye(3)[rng.integers(0, 3, n)]
    return out


def draw_tree(inputs, rng, depth, numbers, known=None):
    """Draw splits that leave something on both sides; now and then a path ends early."""
    known = known or {}
    if depth == 0 or (known and rng.random() < 0.15):
        return Leaf(next(numbers))
    column = int(rng.integers(0, len(inputs.columns)))
    kind = inputs.columns[column].kind
    if kind == "number":
        low, high = known.get(column, (-1.5, 1.5))
        at = float(rng.uniform(low, high))
        options, sides = {"threshold": at}, [(low, at), (at, high)]
    else:
        levels = known.get(column, tuple(range(2 if kind == "binary" else 3)))
        if len(levels) < 2:
            return draw_tree(inputs, rng, depth, numbers, known)
        count = int(rng.integers(1, len(levels)))
        left = tuple(sorted(rng.choice(levels, count, replace=False).tolist()))
        options = {"levels": left}
        sides = [left, tuple(k for k in levels if k not in left)]
    nodes = [draw_tree(inputs, rng, depth - 1, numbers, {**known, column: s}) for s in sides]
    return Split(column, **options, left=nodes[0], right=nodes[1])


@lru_cache
def formula(kinds, depth, order, seed=0, n_outputs=1):
    rng = np.random.default_rng(seed)
    inputs = Inputs(columns_of(kinds))
    inputs = inputs.around(rng.normal(size=inputs.n_features), 0.5 + rng.random(inputs.n_features))
    tree = draw_tree(inputs, rng, depth, iter(range(100)))
    terms = Graded(inputs.n_features, order)
    count = len(list(leaves(tree)))
    polys = [
        n2p.Polynomial(rng.normal(size=(len(terms), n_outputs)), terms=terms, inputs=inputs)
        for _ in range(count)
    ]
    return n2p.PiecewisePolynomial(tree, tuple(poly.prune(25) for poly in polys))


def leaves(tree):
    if isinstance(tree, Leaf):
        yield tree.number
    else:
        yield from leaves(tree.left)
        yield from leaves(tree.right)


def game(poly, x, background):
    """Give v(S) for every subset of columns at one row, by definition: (2^m, n_outputs)."""
    places = poly.inputs.places
    values = {}
    for bits in product((False, True), repeat=len(places)):
        mixed = background.copy()
        for on, here in zip(bits, places, strict=True):
            if on:
                mixed[:, here] = x[list(here)]
        values[bits] = poly.predict(mixed).reshape(len(mixed), -1).mean(axis=0)
    return values


def shapley_values(values, m):
    out = np.zeros((m, len(next(iter(values.values())))))
    for bits, value in values.items():
        size = sum(bits)
        for i in range(m):
            if bits[i]:
                without = (*bits[:i], False, *bits[i + 1 :])
                weight = factorial(size - 1) * factorial(m - size) / factorial(m)
                out[i] += weight * (value - values[without])
    return out


CASES = [
    ("nnn", 1, 1, 0),
    ("nnnn", 2, 2, 1),
    ("nnbf", 3, 2, 2),
    ("nbff", 4, 3, 3),
    ("fff", 4, 3, 4),
    ("nnnnbf", 4, 3, 5),
    ("nnnnnbf", 4, 2, 6),
    ("nnnnnnnnnn", 4, 3, 7),
    ("nnnnnnnbff", 4, 3, 9),
]
cases = pytest.mark.parametrize(("kinds", "depth", "order", "seed"), CASES)


@cases
def test_the_separable_form_is_the_formula(kinds, depth, order, seed):
    poly = formula(kinds, depth, order, seed)
    form = separable(poly)
    X = draw_rows(poly.inputs, np.random.default_rng(seed), 200)
    assert form.players == tuple(column.name for column in poly.inputs.columns)
    assert len(set(poly.region_of(X))) > 1
    np.testing.assert_allclose(form.predict(X)[:, 0], poly.predict(X), atol=EXACT)
    # Rows that show two levels of a factor, or none, are decided alike.
    X = np.random.default_rng(seed).integers(0, 2, X.shape) * 1.0
    np.testing.assert_allclose(form.predict(X)[:, 0], poly.predict(X), atol=EXACT)


pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")


@cases
def test_shapley_values_equal_enumeration_and_add_up(kinds, depth, order, seed):
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    X, background = draw_rows(poly.inputs, rng, 3), draw_rows(poly.inputs, rng, 12)
    found = explain.shapley(poly, X, background)
    m = len(poly.inputs.columns)
    for row, values in zip(X, found.values, strict=True):
        np.testing.assert_allclose(
            values, shapley_values(game(poly, row, background), m), atol=EXACT
        )
    np.testing.assert_allclose(found.total[:, 0], poly.predict(X), atol=EXACT)
    mean = poly.predict(background).mean()
    np.testing.assert_allclose(found.base_values, mean, atol=EXACT)
    assert found.data.shape == (3, m)


def simplified(poly):
    """Put what the regions fix into their polynomials."""
    ways = paths(poly.tree)
    parts = [
        with_fixed(part, fixed_features(ways[number], poly.inputs))
        for number, part in enumerate(poly.polynomials)
    ]
    return replace(poly, polynomials=tuple(parts))


@pytest.mark.parametrize(
    ("kinds", "depth", "order", "seed"), [case for case in CASES if "f" in case[0]]
)
def test_what_regions_fix_can_be_put_into_their_formulas(kinds, depth, order, seed):
    """Explanations mix columns across regions: what is evaluated of a leaf lies inside of it."""
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    short = simplified(poly)
    assert short.n_terms < poly.n_terms
    X, background = draw_rows(poly.inputs, rng, 60), draw_rows(poly.inputs, rng, 20)
    np.testing.assert_allclose(short.predict(X), poly.predict(X), atol=EXACT)
    found = explain.shapley(short, X[:3], background)
    for row, values in zip(X, found.values, strict=False):
        expected = shapley_values(game(poly, row, background), len(poly.inputs.columns))
        np.testing.assert_allclose(values, expected, atol=EXACT)
    pairs = [explain.interactions(one, X[:3], background) for one in (poly, short)]
    for subset in pairs[0].subsets:
        np.testing.assert_allclose(*(p.value(subset) for p in pairs), atol=EXACT)
    for column in poly.inputs.columns:
        curves = [explain.partial_dependence(one, X, column.name) for one in (poly, short)]
        np.testing.assert_allclose(*(curve.values for curve in curves), atol=EXACT)
    tables = [dict(explain.importance(one, X).rows) for one in (poly, short)]
    assert tables[1] == pytest.approx(tables[0], abs=1e-6)


def test_a_row_that_shows_no_level_keeps_its_prediction_where_no_level_was_asked_for():
    poly = formula("nff", 3, 2, 4)
    none = draw_rows(poly.inputs, np.random.default_rng(0), 50)
    none[:, list(poly.inputs.places[1])] = 0.0
    short = simplified(poly)
    np.testing.assert_allclose(short.raw_outputs(none), poly.raw_outputs(none), atol=EXACT)


def test_several_outputs_are_explained_at_once():
    poly = formula("nnbf", 3, 2, 8, 2)
    rng = np.random.default_rng(0)
    X, background = draw_rows(poly.inputs, rng, 3), draw_rows(poly.inputs, rng, 10)
    found = explain.shapley(poly, X, background)
    for row, values in zip(X, found.values, strict=True):
        expected = shapley_values(game(poly, row, background), 4)
        np.testing.assert_allclose(values, expected, atol=EXACT)


@pytest.mark.parametrize(("kinds", "depth", "order", "seed"), CASES[:5])
def test_interactions_are_the_moebius_coefficients_shared_out(kinds, depth, order, seed):
    """With the largest order the interaction of all players is their Möbius coefficient."""
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    X, background = draw_rows(poly.inputs, rng, 2), draw_rows(poly.inputs, rng, 10)
    m = len(poly.inputs.columns)
    found = explain.interactions(poly, X, background, order=m, index="STII")
    for i, row in enumerate(X):
        values = game(poly, row, background)
        for size in range(1, m + 1):
            for subset in combinations(range(m), size):
                inside = [
                    bits for bits in values if not any(bits[k] for k in {*range(m)} - {*subset})
                ]
                expected = sum((-1) ** (size - sum(bits)) * values[bits] for bits in inside)
                np.testing.assert_allclose(found.value(subset)[i], expected, atol=EXACT)


@pytest.mark.parametrize(("kinds", "depth", "order", "seed"), CASES[:6])
def test_sobol_shares_are_the_variances_of_the_effects_on_the_grid(kinds, depth, order, seed):
    """For independent columns the total index of one is a mean of conditional variances."""
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    m = len(poly.inputs.columns)
    X = draw_rows(poly.inputs, rng, 3 if m > 4 else 4)
    marginals = [X[:, places] for places in poly.inputs.places]
    grid = np.array([np.concatenate(cells) for cells in product(*marginals)])
    order_of = [j for places in poly.inputs.places for j in places]
    features = np.empty_like(grid)
    features[:, order_of] = grid
    y = poly.predict(features).reshape((len(X),) * m)
    found = explain.sobol(poly, X)
    for i in range(m):
        total = y.var(axis=i).mean() / y.var()
        np.testing.assert_allclose(found.total[i, 0], total, atol=EXACT)
        others = tuple(k for k in range(m) if k != i)
        np.testing.assert_allclose(
            found.first[i, 0], y.mean(axis=others).var() / y.var(), atol=EXACT
        )


@cases
def test_effects_of_the_anova_add_up(kinds, depth, order, seed):
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    X = draw_rows(poly.inputs, rng, 50)
    effects = explain.anova(poly, X)
    total = effects.mean + effects.evaluate(X).sum(axis=1)
    np.testing.assert_allclose(total[:, 0], poly.predict(X), atol=EXACT)
    first = effects.component(effects.subsets[0])
    np.testing.assert_allclose(first.predict(X), effects.evaluate(X)[:, 0], atol=EXACT)


@cases
def test_partial_dependence_and_curves_equal_repeated_predictions(kinds, depth, order, seed):
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    X = draw_rows(poly.inputs, rng, 30)
    for column, places in zip(poly.inputs.columns, poly.inputs.places, strict=True):
        found = explain.partial_dependence(poly, X, column.name, grid=7)
        curves = explain.ice(poly, X, column.name, grid=7)
        assert found.feature_names == (column.name,)
        for g, point in enumerate(found.grid[0]):
            moved = X.copy()
            moved[:, places] = np.eye(3)[int(point)] if len(places) > 1 else point
            expected = poly.predict(moved)
            np.testing.assert_allclose(curves.values[:, g, 0], expected, atol=EXACT)
            np.testing.assert_allclose(found.values[g, 0], expected.mean(), atol=EXACT)


def test_a_level_by_itself_has_no_dependence_and_levels_are_checked():
    poly = formula("nbff", 4, 3, 3)
    X = draw_rows(poly.inputs, np.random.default_rng(0), 20)
    with pytest.raises(InvalidInputError, match="moves as a whole"):
        explain.partial_dependence(poly, X, "c2=v")
    with pytest.raises(InvalidInputError, match="not its levels"):
        explain.partial_dependence(poly, X, "c2", grid=[0.5])
    both = explain.partial_dependence(poly, X, ["c2", 0], grid=5)
    assert both.values.shape == (3, 5, 1)
    some = explain.partial_dependence(poly, X, "c2", grid=[2, 0])
    np.testing.assert_allclose(some.values[:, 0], level_averages(poly, X, (2, 3, 4))[[2, 0], 0])


@cases
def test_gradients_are_those_of_the_region_of_each_row(kinds, depth, order, seed):
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    X = draw_rows(poly.inputs, rng, 25)
    found, where = explain.gradients(poly, X), poly.region_of(X)
    for k, part in enumerate(poly.polynomials):
        if (where == k).any():
            expected = explain.gradients(part, X[where == k])
            np.testing.assert_allclose(found[where == k], expected, atol=EXACT)
    slope = explain.derivative(poly, 0)
    assert isinstance(slope, n2p.PiecewisePolynomial)
    np.testing.assert_allclose(slope.predict(X), found[:, 0, 0], atol=EXACT)


def test_marginal_effects_of_levels_are_differences_across_regions():
    poly = formula("nbff", 4, 3, 3)
    X = draw_rows(poly.inputs, np.random.default_rng(0), 20)
    found = explain.marginal_effects(poly, X)
    low, high = X.copy(), X.copy()
    low[:, 1], high[:, 1] = 1.0, 2.0
    expected = poly.predict(high) - poly.predict(low)
    np.testing.assert_allclose(found.values[:, 1, 0], expected, atol=EXACT)
    first, second = X.copy(), X.copy()
    first[:, 2:5], second[:, 2:5] = np.eye(3)[0], np.eye(3)[1]
    expected = poly.predict(second) - poly.predict(first)
    np.testing.assert_allclose(found.values[:, 3, 0], expected, atol=EXACT)


@pytest.mark.parametrize(("kinds", "depth", "order", "seed"), CASES[:5])
def test_importance_and_h_equal_their_definitions(kinds, depth, order, seed):
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    X = draw_rows(poly.inputs, rng, 25)
    y, places = poly.predict(X), poly.inputs.places

    def dependence(columns):
        out = np.empty(len(X))
        for i, row in enumerate(X):
            moved = X.copy()
            for c in columns:
                moved[:, places[c]] = row[list(places[c])]
            out[i] = poly.predict(moved).mean()
        return out

    m = len(places)
    rest = [dependence([k for k in range(m) if k != i]) for i in range(m)]
    table = dict(explain.importance(poly, X).rows)
    h = explain.friedman_h(poly, X)
    alone = [dependence([i]) for i in range(m)]
    for i in range(m):
        np.testing.assert_allclose(table[f"c{i}"], (y - rest[i]).std(), atol=1e-8)
        expected = np.sqrt((y - alone[i] - rest[i]).var() / y.var())
        np.testing.assert_allclose(h.overall[i, 0], expected, atol=1e-8)
    pair = h.pairs[0]
    both = dependence(pair)
    step = (both - alone[pair[0]] - alone[pair[1]]).var()
    np.testing.assert_allclose(h.pairwise[0, 0], np.sqrt(step / both.var()), atol=1e-7)


def test_columns_far_from_zero_are_explained_in_other_coordinates():
    years = n2p.Polynomial([[0.0], [1.0], [0.5]], 2, ["year"])
    later = n2p.Polynomial([[3.0], [2.0], [-0.5]], 2, ["year"])
    poly = n2p.PiecewisePolynomial(Split(0, 2000.0, left=Leaf(0), right=Leaf(1)), (years, later))
    X = np.array([[1999.0], [1999.5], [2000.0], [2001.0]])
    found = explain.shapley(poly, X, X)
    y = poly.predict(X)
    np.testing.assert_allclose(found.values[:, 0, 0], y - y.mean(), rtol=1e-9)


# --- bounds and directions -------------------------------------------------------------------


@cases
def test_bounds_hold_in_every_region_and_are_not_far(kinds, depth, order, seed):
    poly, rng = formula(kinds, depth, order, seed), np.random.default_rng(seed)
    rows = draw_rows(poly.inputs, rng, 3000)
    loose = explain.bounds(poly)
    y = poly.predict(rows)
    assert loose.low[0] <= y.min()
    assert loose.high[0] >= y.max()
    box = (rows[:50].min(axis=0), rows[:50].max(axis=0))
    inside, spread = draw_rows(poly.inputs, rng, 2000), box[1] - box[0]
    factors = [j for c, p in zip(poly.inputs.columns, poly.inputs.places, strict=True)
               if c.kind == "factor" for j in p]  # fmt: skip
    others = np.delete(np.arange(poly.n_features), factors)
    anywhere = box[0] + rng.random(inside.shape) * spread
    inside[:, others] = anywhere[:, others]
    inside = inside[((inside >= box[0]) & (inside <= box[1])).all(axis=1)]
    small = explain.bounds(poly, box)
    y = poly.predict(inside)
    assert small.low[0] <= y.min()
    assert small.high[0] >= y.max()


def test_bounds_of_lines_by_region_are_exact():
    up, down = n2p.Polynomial([[0.0], [1.0]], 1, ["t"]), n2p.Polynomial([[9.0], [-1.0]], 1, ["t"])
    poly = n2p.PiecewisePolynomial(Split(0, 2.0, left=Leaf(0), right=Leaf(1)), (up, down))
    found = explain.bounds(poly, (-1.0, 3.0))
    np.testing.assert_allclose([found.low[0], found.high[0]], [-1.0, 7.0], atol=1e-9)
    # The border belongs to the right: a box that ends on it meets both regions.
    np.testing.assert_allclose(explain.bounds(poly, (0.0, 2.0)).high, 7.0, atol=1e-9)
    np.testing.assert_allclose(explain.bounds(poly, (2.0, 3.0)).low, 6.0, atol=1e-9)


def lines(*pairs):
    """Make regions of the lines a + b t, cut at 0, 1, 2 …."""
    polys = tuple(n2p.Polynomial([[a], [b], [1.0]], 1, ["t", "u"]) for a, b in pairs)
    tree = Leaf(0)
    for k in range(1, len(pairs)):
        tree = Split(0, float(k), left=tree, right=Leaf(k))
    return n2p.PiecewisePolynomial(tree, polys)


@pytest.mark.parametrize(
    ("pairs", "word"),
    [
        ([(0.0, 1.0), (0.0, 2.0)], "increasing"),
        ([(0.0, 1.0), (-5.0, 2.0)], "unknown"),  # the jump at 1 goes down
        ([(0.0, -1.0), (-5.0, -2.0)], "decreasing"),
        ([(0.0, 1.0), (0.0, -2.0)], "neither"),
        ([(1.0, 0.0), (1.0, 0.0)], "constant"),
        ([(1.0, 0.0), (2.0, 0.0)], "increasing"),
        ([(2.0, 0.0), (1.0, 0.0)], "decreasing"),
    ],
)
def test_directions_count_the_jumps_between_regions(pairs, word):
    found = explain.monotonicity(lines(*pairs), (-1.0, 3.0))
    assert found.direction("t") == word
    assert found.direction("u") == "increasing"


def test_directions_are_never_wrong():
    rng = np.random.default_rng(0)
    for seed in range(12):
        poly = formula("nnb", 2, 1, seed)
        found = explain.monotonicity(poly)
        rows = draw_rows(poly.inputs, rng, 300)
        for j, places in enumerate(poly.inputs.places):
            word = found.direction(places[0])
            if word not in ("increasing", "decreasing"):
                continue
            curves = explain.ice(
                poly, rows, places[0], grid=np.linspace(-4, 4, 200) if j < 2 else [1, 2]
            )
            steps = np.diff(curves.values[:, :, 0], axis=1)
            assert (steps >= -1e-9).all() if word == "increasing" else (steps <= 1e-9).all()


# --- beside other formulas -------------------------------------------------------------------


def test_explanations_of_formulas_with_regions_stand_side_by_side():
    X = draw_rows(formula("nnbf", 3, 2, 2).inputs, np.random.default_rng(0), 10)
    polys = [formula("nnbf", 3, 2, seed) for seed in (2, 9)]
    both = explain.ensemble([explain.shapley(poly, X, X) for poly in polys])
    assert both.values.shape == (2, 10, 4, 1)
    with pytest.raises(InvalidInputError, match="side by side"):
        explain.ensemble(polys)


def test_the_polynomial_of_the_points_region_is_compared_with_the_network():
    net = n2p.Network([n2p.Layer([[0.5], [0.2]], [0.0], "tanh"), n2p.Layer([[1.0]], [3.0])])
    good = n2p.convert(net, 3)
    other = replace(good, coefficients=good.coefficients + 1.0)
    poly = n2p.PiecewisePolynomial(Split(0, 0.0, left=Leaf(0), right=Leaf(1)), (other, good))
    assert not explain.compare_local(net, poly, [0.0, 0.0]).difference.round(12).any()
    assert explain.compare_local(net, poly, [-0.1, 0.0]).difference.round(2).any()


def test_a_large_explanation_takes_seconds():
    """1,000 rows, a background of 1,000, 12 features, 16 regions of order 2."""
    rng = np.random.default_rng(0)
    inputs, terms = Inputs.of([f"x{j}" for j in range(12)]), Graded(12, 2)
    order = rng.permutation(12)[:4].tolist()

    def grown(depth, first):
        if depth == 4:
            return Leaf(first)
        halves = (grown(depth + 1, first), grown(depth + 1, first + 2 ** (3 - depth)))
        return Split(order[depth], 0.1 * depth, left=halves[0], right=halves[1])

    polys = tuple(
        n2p.Polynomial(rng.normal(size=(len(terms), 1)), terms=terms, inputs=inputs)
        for _ in range(16)
    )
    poly = n2p.PiecewisePolynomial(grown(0, 0), polys)
    X, background = rng.normal(size=(1000, 12)), rng.normal(size=(1000, 12))
    begin = time.process_time()
    found = explain.shapley(poly, X, background)
    assert time.process_time() - begin < 30.0
    np.testing.assert_allclose(found.total[:, 0], poly.predict(X), atol=EXACT)
