"""Regions are found where they help, and nowhere else."""

from __future__ import annotations

import warnings

import dask.array
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

import nn2poly as n2p
from nn2poly.assess.fidelity import mean_r2
from nn2poly.errors import InvalidInputError
from nn2poly.fit import splitting
from nn2poly.fit.asked_rows import edge_rows
from nn2poly.fit.problem import read_problem
from nn2poly.fit.region_cuts import cuts
from nn2poly.sampling import evenly

LEVELS = 4


def rush_hours(n, seed=0):
    """Draw hour, temperature, a working day and the weather as indicators."""
    rng = np.random.default_rng(seed)
    hour, day = rng.integers(0, 24, n), rng.integers(0, 2, n)
    weather = np.eye(LEVELS)[rng.choice(LEVELS, n)]
    return np.column_stack([hour, rng.normal(15.0, 8.0, n), day, weather]).astype(float)


NAMES = ["hour", "temp", "working", "weather=sun", "weather=cloud", "weather=rain", "weather=snow"]


@pytest.fixture(scope="module")
def network():
    """A network with steps at 6.5 and 9.5 on working days, and another slope in rain and snow."""
    steep = 8.0
    first = np.zeros((7, 5))
    first[0, :2] = steep
    first[2, :2] = 200.0
    first[1, 2], first[1, 3], first[5:, 3] = 0.1, 0.1, -40.0
    first[0, 4] = 0.05
    bias = np.array([-steep * 6.5 - 200.0, -steep * 9.5 - 200.0, 0.0, 0.0, 0.0])
    layers = [
        n2p.Layer(first, bias, "sigmoid"),
        n2p.Layer(np.array([[3.0], [-3.0], [1.0], [1.0], [2.0]])),
    ]
    return n2p.Network(layers).named(NAMES, ["rentals"])


@pytest.fixture(scope="module")
def pieces(network):
    return n2p.convert(network, 2, data=rush_hours(4000), regions=8)


def outputs(network, X):
    return network.predict(X).reshape(len(X), -1)


def r2(network, formula, X):
    truth = outputs(network, X)
    return mean_r2(truth, formula.predict(X).reshape(truth.shape))


def inside(X, formula):
    """Hold rows within what the conversion saw."""
    return np.clip(X, formula.low, formula.high)


def test_regions_follow_what_one_polynomial_cannot(network, pieces):
    one = n2p.convert(network, 2, data=rush_hours(4000))
    new = inside(rush_hours(4000, seed=1), pieces)
    assert isinstance(pieces, n2p.PiecewisePolynomial)
    assert r2(network, one, new) < 0.75
    assert r2(network, pieces, new) > 0.97
    assert pieces.card.r2 == pytest.approx(r2(network, pieces, new), abs=0.02)


def test_splits_are_at_round_numbers_and_say_what_they_ask(pieces):
    rules = " | ".join(region.rule for region in pieces.regions)
    assert "6.5" in rules
    assert "9.5" in rules


def test_small_tables_are_split_where_that_helps(network):
    """160 rows are fitted; one polynomial has an R² of .32."""
    found = n2p.convert(network, 2, data=rush_hours(200), regions=8)
    assert r2(network, found, inside(rush_hours(2000, seed=1), found)) > 0.9


def test_a_split_by_levels_names_them(network):
    # Quadratics have products of the weather with the temperature, and need no such split.
    straight = n2p.convert(network, 1, data=rush_hours(4000), regions=8)
    assert any("weather is (rain or snow)" in region.rule for region in straight.regions)


def test_every_row_is_counted_in_its_region(pieces):
    X = rush_hours(4000)
    found = np.bincount(pieces.region_of(X), minlength=len(pieces.regions))
    np.testing.assert_array_equal(found, pieces.n_rows)
    assert sum(region.share for region in pieces.regions) == pytest.approx(1.0)


def test_a_factor_is_split_by_its_levels():
    """The temperature works in rain and snow alone."""
    first = np.zeros((7, 1))
    first[1], first[5:] = 2.0, 500.0
    layers = [n2p.Layer(first, np.array([-400.0]), "relu"), n2p.Layer(np.ones((1, 1)))]
    network = n2p.Network(layers).named(NAMES)
    found = n2p.convert(network, 1, data=rush_hours(3000), regions=2)
    assert {region.rule for region in found.regions} == {
        "weather is (rain or snow)",
        "weather is (sun or cloud)",
    }


def test_a_region_has_no_term_that_is_always_0_there_and_no_factor_that_is_always_1(network):
    X = rush_hours(4000)
    found = n2p.convert(network, 1, data=X, regions=8)
    assert any(" is " in region.rule for region in found.regions)
    where = found.region_of(X)
    for region in found.regions:
        z = found.inputs.to_working(X[where == region.number])
        used = {j for term in region.polynomial.terms for j in term}
        assert not {j for j in used if np.ptp(z[:, j]) == 0.0 and z[0, j] in (0.0, 1.0)}


def test_levels_that_a_region_leaves_sum_to_zero_by_themselves(network):
    X = rush_hours(4000)
    found = n2p.convert(network, 1, data=X, regions=8)
    seen = X[:, 3:].mean(axis=0)
    tried = 0
    for region in found.regions:
        kept = [j for j in range(3, 7) if (j,) in list(region.polynomial.terms)]
        effects = [region.polynomial.coefficient((j,)) for j in kept]
        assert len(kept) != 1
        tried += len(kept) in (2, 3)
        if kept:
            assert seen[[j - 3 for j in kept]] @ effects == pytest.approx(0.0, abs=1e-9)
    assert tried


def test_the_same_rows_in_parts_elsewhere_give_the_same(network, pieces):
    X = rush_hours(4000)
    parts = dask.array.from_array(X, chunks=(900, X.shape[1]))
    found = n2p.convert(network, 2, data=parts, regions=8)
    assert found.tree == pieces.tree
    np.testing.assert_allclose(found.predict(X), pieces.predict(X), atol=1e-6)


def test_a_conversion_again_gives_the_same(network, pieces):
    again = n2p.convert(network, 2, data=rush_hours(4000), regions=8)
    assert again.tree == pieces.tree
    for one, other in zip(again.polynomials, pieces.polynomials, strict=True):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)


def test_more_regions_begin_with_the_same_splits(network, pieces):
    few = n2p.convert(network, 2, data=rush_hours(4000), regions=2)
    assert (few.tree.column, few.tree.threshold) == (pieces.tree.column, pieces.tree.threshold)


def test_what_needs_no_splitting_is_not_split(make_network):
    X = np.random.default_rng(0).normal(size=(600, 4))
    line = make_network(3, (4, 4, 1), "linear")
    assert isinstance(n2p.convert(line, 1, data=X, regions=8), n2p.Polynomial)
    smooth = make_network(4, (4, 6, 1), "tanh", spread=0.3)
    assert isinstance(n2p.convert(smooth, 2, data=X, regions="auto"), n2p.Polynomial)


def test_auto_does_not_split_friedmans_function_or_noise():
    X, y = make_friedman1(1000, random_state=0)
    net = MLPRegressor(hidden_layer_sizes=(40,), activation="tanh", max_iter=500, random_state=0)
    net.fit(X, (y - y.mean()) / y.std())
    assert isinstance(n2p.convert(net, 3, data=X, regions="auto"), n2p.Polynomial)
    rng = np.random.default_rng(0)
    net.fit(X, rng.normal(size=len(X)))
    assert isinstance(n2p.convert(net, 2, data=X, regions="auto"), n2p.Polynomial)


@pytest.mark.parametrize("order", [2, 3])
def test_auto_does_not_split_the_papers_simulation(order):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (800, 5))
    first, second = rng.integers(0, 5, (2, 5))
    products = (X[:, first] * X[:, second]) @ rng.uniform(-3.0, 3.0, 5)
    y = X @ rng.uniform(-3.0, 3.0, 5) + products + rng.normal(0.0, 0.1, len(X))
    net = MLPRegressor(hidden_layer_sizes=(50,), activation="relu", max_iter=400, random_state=1)
    net.fit(X, y / y.std())
    assert isinstance(n2p.convert(net, order, data=X, regions="auto"), n2p.Polynomial)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_auto_does_not_split_constrained_networks(order):
    """Every neuron has weights of unit l1 norm, as the paper's training gives."""
    rng = np.random.default_rng(2)
    layers = []
    for n_in, n_out, activation in ((6, 30, "tanh"), (30, 30, "tanh"), (30, 1, "linear")):
        matrix = rng.normal(size=(1 + n_in, n_out))
        matrix /= np.abs(matrix).sum(axis=0)
        layers.append(n2p.Layer(matrix[1:], matrix[0], activation))
    X = rng.uniform(-1.0, 1.0, (1000, 6))
    found = n2p.convert(n2p.Network(layers), order, data=X, regions="auto")
    assert isinstance(found, n2p.Polynomial)


@pytest.mark.parametrize("regions", [16, "auto"])
def test_outputs_that_are_noise_are_not_split(regions):
    """The last digits of the inputs say nothing that holds on other rows."""
    X = np.random.default_rng(0).normal(size=(1500, 4))

    def noise(rows):
        return np.sin(1e6 * rows.sum(axis=1))

    assert isinstance(n2p.convert(noise, 2, data=X, regions=regions), n2p.Polynomial)


def test_where_nothing_is_split_the_formula_is_that_of_one_region():
    """Its bounds as well, which one polynomial of order 2 chooses by itself."""

    def line_and_noise(rows):
        return rows @ np.array([1.0, 2.0, 3.0]) + np.sin(1e6 * rows.sum(axis=1))

    X = np.random.default_rng(1).standard_t(2, size=(300, 3))
    one, asked = (n2p.convert(line_and_noise, 2, data=X, regions=k) for k in (1, 4))
    assert isinstance(asked, n2p.Polynomial)
    assert asked.inputs.bounds() == one.inputs.bounds()
    np.testing.assert_array_equal(asked.coefficients, one.coefficients)


def test_auto_ends_where_the_target_is_reached(network):
    X = rush_hours(4000)
    few = n2p.convert(network, 2, data=X, regions="auto", target_r2=0.75)
    many = n2p.convert(network, 2, data=X, regions="auto", target_r2=0.999)
    assert 1 < len(few.regions) < len(many.regions) <= 16
    assert few.card.r2 > 0.73


@pytest.mark.parametrize(("n", "loss"), [(150, 0.01), (400, 0.002), (800, 0.002)])
def test_small_tables_lose_little_by_more_regions(n, loss):
    """Of 150 rows 120 are fitted, with 66 terms."""
    X, y = make_friedman1(n + 3000, random_state=1)
    X, new, y = X[:n], X[n:], y[:n]
    net = MLPRegressor(hidden_layer_sizes=(50,), activation="relu", max_iter=2000, random_state=1)
    network = n2p.read_network(net.fit(X, (y - y.mean()) / y.std()))
    formulas = [n2p.convert(network, 2, data=X, regions=k) for k in (1, 4, 16)]
    new = inside(new, formulas[0])
    found = [r2(network, formula, new) for formula in formulas]
    assert np.all(np.diff(found) > -loss), found


@pytest.mark.study
@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "activation"),
    [
        (load_diabetes, "relu"),
        (load_diabetes, "tanh"),
        (load_breast_cancer, "relu"),
        (load_wine, "tanh"),
    ],
)
def test_small_real_tables_lose_nothing_by_more_regions(load, activation):
    X, y = load(return_X_y=True)
    X, order = (X - X.mean(axis=0)) / X.std(axis=0), np.random.default_rng(0).permutation(len(X))
    some, new = X[order[: 3 * len(X) // 4]], X[order[3 * len(X) // 4 :]]
    kind, target = (MLPRegressor, y / y.std()) if load is load_diabetes else (MLPClassifier, y)
    net = kind(hidden_layer_sizes=(50,), activation=activation, max_iter=600, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network = n2p.read_network(net.fit(some, target[order[: len(some)]]))
    formulas = [n2p.convert(network, 2, data=some, regions=k) for k in (1, 4, 16)]
    new = inside(new, formulas[0])
    found = [mean_r2(outputs(network, new), formula.raw_outputs(new)) for formula in formulas]
    assert np.all(np.diff(found) > -0.002), found


def test_weights_decide_where_the_splits_are():
    """A step at 0 on one half of the rows, at 5 on the other."""
    first = np.array([[30.0, 30.0], [-600.0, 600.0]])
    layers = [
        n2p.Layer(first, np.array([0.0, -750.0]), "sigmoid"),
        n2p.Layer(np.array([[1.0], [1.0]])),
    ]
    network = n2p.Network(layers).named(["x", "side"])
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-10, 10, 3000), rng.integers(0, 2, 3000)])
    at = []
    for side in (0, 1):
        weights = np.where(X[:, 1] == side, 1.0, 1e-6)
        at.append(n2p.convert(network, 1, data=X, regions=2, sample_weight=weights).tree.threshold)
    assert at[0] == pytest.approx(0.0, abs=1.0)
    assert at[1] == pytest.approx(5.0, abs=1.0)


def test_a_budget_is_one_for_each_region(network):
    found = n2p.convert(network, data=rush_hours(4000), max_terms=12, regions=4)
    assert all(poly.n_terms <= 12 for poly in found.polynomials)
    assert len(found.regions) > 1


def test_leaves_of_more_terms_than_moments_are_kept_of_are_fitted_too(monkeypatch, network):
    monkeypatch.setattr(splitting, "FEW_TERMS", 12)
    X = rush_hours(4000)
    found, one = (n2p.convert(network, 2, data=X, regions=k) for k in (8, 1))
    new = inside(rush_hours(4000, seed=1), found)
    assert r2(network, found, new) > 0.95
    assert r2(network, one, new) < 0.75


def test_several_outputs_and_classes_share_the_regions(make_network):
    net = make_network(2, (3, 30, 20, 3), "relu", spread=2.0, bias=1.0)
    X = np.random.default_rng(0).uniform(-2, 2, size=(3000, 3))
    found = n2p.convert(net, 1, data=X, regions=6)
    one = n2p.convert(net, 1, data=X)
    assert len(found.output_names) == 3
    assert found.card.r2 > one.card.r2 + 0.02


# ---- cuts ---------------------------------------------------------------------------------------


def test_cuts_of_whole_numbers_stand_between_them():
    x = np.random.default_rng(0).integers(0, 500, 3000).astype(float)
    assert np.all(cuts(x) % 1.0 == 0.5)


def test_cuts_of_numbers_are_as_round_as_the_quantiles_allow():
    x = np.random.default_rng(0).uniform(0.0, 16.0, 20000)
    np.testing.assert_allclose(cuts(x), np.arange(1.0, 16.0))


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0]])
def test_one_value_has_no_cut(values):
    assert len(cuts(np.array(values))) == 0


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("regions", [0, -1, 2.5, True, "many", None])
def test_regions_are_a_positive_integer_or_auto(network, regions):
    with pytest.raises(InvalidInputError, match=r'regions must be .* "auto"'):
        n2p.convert(network, 2, data=rush_hours(200), regions=regions)


@pytest.mark.parametrize(
    "options", [{"method": "taylor"}, {"keep_layers": True}, {"out": "somewhere.npz"}], ids=str
)
def test_what_regions_cannot_be_used_with(network, options):
    with pytest.raises(InvalidInputError, match="regions"):
        n2p.convert(network, 2, data=rush_hours(200), regions=4, **options)


def test_regions_need_a_sample(network):
    with pytest.raises(InvalidInputError, match="regions"):
        n2p.convert(network, 2, regions=4)


def test_more_regions_than_rows_allow_are_as_many_as_they_do(network):
    found = n2p.convert(network, 1, data=rush_hours(200), regions=100)
    assert 1 < len(found.regions) <= 6


def test_a_column_that_does_not_vary_is_never_split(network):
    X = rush_hours(2000)
    X[:, 1] = 10.0
    found = n2p.convert(network, 2, data=X, regions=8)
    assert not any("temp" in region.rule for region in found.regions)


def test_rows_at_the_edges_have_one_number_at_a_bound(network):
    """Leaves without rows there follow the network all the same."""
    X = rush_hours(400)
    problem = read_problem(n2p.read_network(network), X, None, bounded=True)
    inputs, rows = problem.inputs, problem.fit_rows
    found = edge_rows(rows, inputs, share=0.5, weight=0.1)
    base = inputs.clipped(rows.X[evenly(len(rows), len(found))])
    moved = base != found.X
    assert len(found) == len(rows) // 2
    assert moved.sum(axis=1).max() == 1
    bounds = [coordinate.function for coordinate in inputs.coordinates]
    low, high = ([getattr(b, end, np.nan) for b in bounds] for end in ("low", "high"))
    at_end = (low == found.X) | (high == found.X)
    assert np.all(at_end[moved])
    assert found.weights.sum() == pytest.approx(0.1 * rows.weights.sum())
