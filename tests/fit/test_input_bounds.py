"""Numbers are held at bounds, so that a formula never runs away."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.fit import bound_choice, input_bounds
from nn2poly.fit.asked_rows import Answered
from nn2poly.fit.basis import design
from nn2poly.fit.input_bounds import column_bounds
from nn2poly.inputs.functions import Identity
from nn2poly.rows.fit_rows import FitRows


def heavy_rows(n=3000, seed=0):
    """Draw a number, one with Cauchy tails, one with a spike at zero, a flag and a constant."""
    rng = np.random.default_rng(seed)
    spike = np.where(rng.random(n) < 0.998, 0.0, rng.uniform(10.0, 20.0, n))
    flag = rng.integers(0, 2, n).astype(float)
    columns = [rng.normal(size=n), rng.standard_cauchy(n), spike, flag, np.full(n, 4.0)]
    return np.column_stack(columns)


@pytest.fixture(scope="module")
def network(make_network):
    scale = np.array([1.0, 3.0, 5.0, 1.0, 1.0])
    return make_network(1, (5, 16, 8, 1), "relu", spread=1.5, bias=0.5).recentered(0.0, scale)


@pytest.fixture(scope="module")
def poly(network):
    return n2p.convert(network, 3, data=heavy_rows(), bounded=True)


def functions(poly):
    return [coordinate.function for coordinate in poly.inputs.coordinates]


def quiet(poly, X):
    """Predict rows, some of which lie outside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", n2p.errors.OutsideRangeWarning)
        return poly.predict(X)


def test_every_column_that_varies_has_bounds_and_nothing_else(poly):
    found = [function.is_bounded for function in functions(poly)]
    assert found == [True, True, True, True, False]


def test_a_heavy_tail_is_cut_and_a_light_one_keeps_its_range():
    rng = np.random.default_rng(0)
    light, heavy = rng.uniform(-1.0, 2.0, 5000), rng.standard_cauchy(5000)
    assert column_bounds(light, 0.005) == (light.min(), light.max())
    low, high = column_bounds(heavy, 0.005)
    assert np.quantile(heavy, 0.005, method="inverted_cdf") == low
    assert np.quantile(heavy, 0.995, method="inverted_cdf") == high


def test_a_spike_that_holds_nearly_all_rows_does_not_hide_the_others():
    x = np.zeros(5000)
    x[:10] = np.arange(10.0, 20.0)
    low, high = column_bounds(x, 0.005)
    assert low == 0.0
    assert high > 18.0


@pytest.mark.parametrize("far", [50.0, 1e12, 1e300])
def test_whatever_comes_the_answer_is_that_of_the_edge(poly, far):
    row = heavy_rows()[:1]
    edge, beyond = row.copy(), row.copy()
    for j, function in enumerate(functions(poly)):
        if function.is_bounded:
            edge[0, j], beyond[0, j] = function.high, max(far, 1e4)
    with pytest.warns(n2p.errors.OutsideRangeWarning, match="held at its edge"):
        found = poly.predict(beyond)
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found, poly.predict(edge), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
@pytest.mark.parametrize("options", [{"max_order": 2}, {"regions": 4}, {"max_terms": 12}])
def test_years_flags_and_levels_far_outside_are_held_at_their_range(make_network, options):
    rng = np.random.default_rng(3)
    level = np.eye(3)[rng.integers(0, 3, 800)]
    X = np.column_stack([rng.normal(size=800), rng.integers(2011, 2013, 800), level])
    names = ["a", "year", "town=x", "town=y", "town=z"]
    scale = np.array([1.0, 0.5, 1.0, 1.0, 1.0])
    network = make_network(1, (5, 16, 1), "tanh").recentered([0.0, 2011.5, 0.0, 0.0, 0.0], scale)
    made = n2p.convert(network, data=X, feature_names=names, **options)
    assert [column.kind for column in made.inputs.columns] == ["number", "binary", "factor"]
    beyond = np.tile(X[:1], (8, 1))
    beyond[np.arange(8), np.repeat(np.arange(1, 5), 2)] = np.tile([1e12, -1e12], 4)
    edge = np.clip(beyond, X.min(axis=0), X.max(axis=0))
    np.testing.assert_allclose(made.predict(beyond), made.predict(edge), rtol=1e-12)
    names, scope = made.output_names, {}
    exec(n2p.export.python(made)[names[0]], scope)
    exported = scope[f"predict_{names[0]}"](*beyond.T)
    np.testing.assert_allclose(exported, np.ravel(made.predict(edge)), rtol=1e-9)


def test_without_bounds_it_is_a_plain_polynomial(network):
    plain = n2p.convert(network, 2, data=heavy_rows(), bounded=False)
    assert not plain.inputs.are_bounded
    for method in ({"method": "taylor"}, {"around": np.zeros(5)}):
        made = n2p.convert(network, 2, **method) if "around" in method else None
        assert made is None or not made.inputs.are_bounded


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_heavy_tails_do_not_harm_and_higher_orders_do_not_fall(network):
    X, new = heavy_rows(), heavy_rows(seed=1)
    truth = network.predict(new)
    far, inside = [], []
    for order in (1, 2, 3, 4):
        formula = n2p.convert(network, order, data=X)
        guess, held = quiet(formula, new), network.predict(formula.inputs.curved(new))
        far.append(1.0 - np.mean((truth - guess) ** 2) / truth.var())
        inside.append(1.0 - np.mean((held - guess) ** 2) / held.var())
    plain = quiet(n2p.convert(network, 3, data=X, bounded=False), new)
    assert min(far[1:]) > 0.5 > 1.0 - np.mean((truth - plain) ** 2) / truth.var()
    # What single rows a hundred units beyond the bounds do is no matter of the order.
    assert np.all(np.diff(inside) > -0.002)


def test_rows_with_shuffled_columns_are_followed_too(network, poly):
    new = heavy_rows(seed=2)
    rng = np.random.default_rng(0)
    shuffled = np.column_stack([rng.permutation(column) for column in new.T])
    held = poly.inputs.curved(shuffled)
    truth, guess = network.predict(held), quiet(poly, held)
    assert 1.0 - np.mean((truth - guess) ** 2) / truth.var() > 0.5


def test_bounds_are_kept_in_files_and_in_other_coordinates(poly, tmp_path):
    X = heavy_rows(50, seed=3)
    again = n2p.load(poly.save(tmp_path / "poly.json"))
    assert functions(again) == functions(poly)
    np.testing.assert_array_equal(quiet(again, X), quiet(poly, X))
    np.testing.assert_allclose(quiet(poly.rebase(), X), quiet(poly, X), rtol=1e-9, atol=1e-9)


def test_it_says_so_itself(poly):
    assert "inputs held at their bounds" in repr(poly)


def test_a_network_that_is_a_polynomial_stays_what_it_is():
    square = n2p.network.activations.activation(lambda x: x**2)
    rng = np.random.default_rng(0)
    layers = [n2p.Layer(rng.normal(size=(3, 4)), None, square), n2p.Layer(np.ones((4, 1)))]
    network, X = n2p.Network(layers), rng.uniform(-1.0, 1.0, (500, 3))
    found, inner = n2p.convert(network, 2, data=X, bounded=True), 0.9 * X
    np.testing.assert_allclose(found.predict(inner), network.predict(inner), rtol=1e-8, atol=1e-8)


def test_networks_held_at_other_bounds_are_no_ensemble(poly):
    inputs = poly.inputs
    functions = [Identity(-1.0, 1.0), *(c.function for c in inputs.coordinates[1:])]
    columns = [
        replace(column, coordinates=(replace(column.coordinates[0], function=function),))
        for column, function in zip(inputs.columns, functions, strict=True)
    ]
    other = replace(poly, inputs=replace(inputs, columns=tuple(columns)))
    with pytest.raises(n2p.errors.InvalidInputError, match="bounds or functions"):
        n2p.explain.ensemble([poly, other])
    assert n2p.explain.ensemble([poly, poly]).mean.inputs.are_bounded


def test_a_point_beyond_the_bounds_is_not_compared_with_a_local_polynomial(network, poly):
    row = heavy_rows()[0].copy()
    row[1] = 1e6
    with pytest.raises(n2p.errors.InvalidInputError, match="holds a column at its bound"):
        n2p.explain.compare_local(network, poly, row)


@pytest.mark.parametrize(
    ("options", "tried"),
    [
        ({"max_order": 2}, 2),
        ({"max_order": 3}, 3),
        ({"max_order": 2, "regions": 2}, 2),
        ({"max_order": 2, "max_terms": 20}, 4),
    ],
)
def test_bounds_are_tried_with_the_terms_of_the_formula(network, monkeypatch, options, tried):
    seen = []
    terms = bound_choice._terms
    monkeypatch.setattr(
        bound_choice, "_terms", lambda *parts: [seen.append(parts[-1]), terms(*parts)][1]
    )
    n2p.convert(network, data=heavy_rows(2500), **options)
    assert seen == [tried]


def heavy_ratios(n=8000, seed=0):
    """Draw twenty ratios with Cauchy tails: every tenth row is an outlier of one of them."""
    return np.random.default_rng(seed).standard_cauchy((n, 20))


@pytest.fixture(scope="module")
def nearly_linear():
    """Make a network that follows its inputs far into their tails."""
    weights = np.random.default_rng(0).uniform(0.5, 1.0, (20, 1))
    return n2p.Network([n2p.Layer(weights / 500.0, None, "tanh"), n2p.Layer([[50.0]])])


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_many_heavy_tails_are_cut_less_where_the_network_follows_them(nearly_linear):
    X, new = heavy_ratios(), heavy_ratios(seed=1)
    poly = n2p.convert(nearly_linear, 1, data=X)
    low, high = np.array([(f.low, f.high) for f in functions(poly)]).T
    outside = np.mean((low > X) | (high < X), axis=0)
    assert np.median(outside) < 0.003
    truth, cut = nearly_linear.predict(new), np.quantile(X, [0.005, 0.995], axis=0)
    lost = np.mean((truth - nearly_linear.predict(np.clip(new, *cut))) ** 2)
    assert np.mean((truth - poly.predict(new)) ** 2) < 0.7 * lost


@pytest.mark.parametrize("draw", ["standard_cauchy", "uniform"])
def test_a_small_table_is_cut_where_its_tails_are_heavy(draw):
    """Without, order 3 of 400 rows with Cauchy tails has an R² of .3 on new rows."""
    rng = np.random.default_rng(0)
    X, new = (getattr(rng, draw)(size=(n, 4)) for n in (400, 2000))
    layers = [n2p.Layer(rng.normal(size=(4, 8)), None, "tanh"), n2p.Layer(rng.normal(size=(8, 1)))]
    network = n2p.Network(layers)
    poly = n2p.convert(network, 3, data=X)
    low, high = np.array([(f.low, f.high) for f in functions(poly)]).T
    if draw == "uniform":
        assert np.all(np.mean((low > X) | (high < X), axis=0) <= 0.01)  # rows of the card
        return
    assert np.all(np.mean((low > X) | (high < X), axis=0) > 0.02)
    truth = network.predict(new)
    with pytest.warns(n2p.errors.OutsideRangeWarning):
        found = poly.predict(new)
    cut = np.quantile(X, [0.0, 1.0], axis=0)
    held = n2p.convert(
        network, 3, data=X, bounded={f"x{j + 1}": tuple(cut[:, j]) for j in range(4)}
    )
    with pytest.warns(n2p.errors.OutsideRangeWarning):
        loose = held.predict(new)
    assert np.mean((truth - found) ** 2) < 0.5 * np.mean((truth - loose) ** 2)


def test_a_trial_with_another_column_equals_one_from_scratch(network):
    X = heavy_rows()
    places = np.arange(len(X))
    rows = FitRows(X, np.ones(len(X)), places % 5, places, places / len(X))
    real = Answered(rows, network.predict(X).reshape(-1, 1))
    asked = real.some(places[:100])
    table = bound_choice._Table(network.inputs, real)
    moved = bound_choice._start(table, asked, 2).at({1: (-3.0, 4.0)})
    held = input_bounds.with_bounds(network.inputs, moved.ends).curved(moved.X)
    values = bound_choice._polynomials(held, moved.weights, 2)
    assert moved.ends[1] == (-3.0, 4.0)
    assert moved.matrix == pytest.approx(design(moved.terms, values), rel=1e-9)


# ---- bounds by name -----------------------------------------------------------------------------


def test_bounds_may_be_given_by_name(network):
    named = network.named(["a", "b", "c", "d", "e"])
    found = n2p.convert(named, 2, data=heavy_rows(), bounded={"b": (-1, 2)})
    assert (functions(found)[1].low, functions(found)[1].high) == (-1.0, 2.0)
    others = n2p.convert(named, 2, data=heavy_rows())
    assert functions(found)[0] == functions(others)[0]


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"b": (2, -1)}, "lower one first"),
        ({"b": (1, 1)}, "lower one first"),
        ({"b": 3}, "lower one first"),
        ({"b": (0, float("nan"))}, "lower one first"),
        ({"z": (0, 1)}, "no number 'z'"),
        ("yes", "True or False"),
    ],
)
def test_bounds_that_are_none_are_refused(network, bounds, words):
    named = network.named(["a", "b", "c", "d", "e"])
    with pytest.raises(n2p.NN2PolyError, match=words):
        n2p.convert(named, 1, data=heavy_rows(200), bounded=bounds)


@pytest.mark.parametrize("options", [{}, {"method": "taylor", "data": heavy_rows(50)}])
def test_bounds_that_nothing_would_use_are_refused(network, options):
    with pytest.raises(n2p.NN2PolyError, match="Only a fit to data can use bounded"):
        n2p.convert(network, 1, bounded={"x1": (0, 1)}, **options)


def carats(seed, n):
    """Weights of stones and three sides, each nearly the cube root of the weight."""
    rng = np.random.default_rng(seed)
    carat = np.clip(np.exp(rng.normal(-0.4, 0.58, n)), 0.2, 4.0)
    noise = 1.0 + np.array([0.004, 0.006, 0.012]) * rng.normal(size=(n, 3))
    return np.column_stack([carat, 6.45 * carat[:, None] ** (1 / 3) * noise * [1.0, 1.0, 0.617]])


def price(X):
    return np.sqrt(X[:, 0]) * 2.0 + 0.3 * X[:, 1] + 0.2 * np.maximum(X[:, 3] - 3.5, 0.0)


def saturating_price(X):
    sides = 0.9 * np.tanh(0.4 * (X[:, 1] - 5.7)) + 0.5 * np.tanh(0.5 * (X[:, 2] - 6.0))
    return 1.6 * np.tanh(0.6 * X[:, 0]) + sides


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
@pytest.mark.parametrize("model", [price, saturating_price])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bounds_of_a_column_do_not_hide_its_effect_behind_others_that_go_with_it(model, seed):
    poly = n2p.convert(model, 2, data=carats(seed, 4000))
    rows = np.tile(carats(50 + seed, 500), (2, 1, 1))
    rows[0, :, 0], rows[1, :, 0] = 1.0, 2.5
    rises = [np.mean(f(rows[1]) - f(rows[0])) for f in (model, poly.predict)]
    assert rises[1] == pytest.approx(rises[0], rel=0.25)


def test_the_full_range_wins_where_bounds_gain_nothing():
    X = carats(1, 4000)
    poly = n2p.convert(price, 2, data=X)
    for j, ends in enumerate(poly.inputs.bounds().values()):
        assert ends[0] <= np.quantile(X[:, j], 0.001)
        assert ends[1] >= np.quantile(X[:, j], 0.999)
