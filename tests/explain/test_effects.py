"""Gradients, marginal effects, partial dependence and individual curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.inspection import partial_dependence as sklearn_partial_dependence
from sklearn.neural_network import MLPClassifier, MLPRegressor

import nn2poly as n2p
from nn2poly import explain
from nn2poly.algebra.monomials import count_terms
from nn2poly.errors import InvalidInputError, OutsideRangeWarning, UnknownTermError

AWKWARD = ['a"; DROP TABLE x; --', "größe in m²", "<script>", "$x_{1}$", "lambda", "n" * 60]


def random_poly(seed, p, order, k=1, *, names=None, coordinates=True, kept=None):
    rng = np.random.default_rng(seed)
    poly = n2p.Polynomial(
        rng.normal(size=(count_terms(p, order), k)),
        order,
        names or [f"f{j}" for j in range(p)],
        center=rng.normal(size=p) if coordinates else 0.0,
        scale=rng.uniform(0.5, 3.0, p) if coordinates else 1.0,
    )
    return poly if kept is None else poly.prune(kept)


def outputs(poly, X):
    return poly.predict(X).reshape(len(X), poly.n_outputs)


CASES = {
    "one feature": random_poly(0, 1, 4),
    "seven outputs": random_poly(1, 3, 3, 7),
    "sparse": random_poly(2, 6, 4, 2, kept=20),
    "awkward names": random_poly(3, 6, 2, names=AWKWARD),
    "linear": random_poly(4, 3, 1),
    "constant": n2p.Polynomial([[3.0, 1.0]], 0, ["a", "b"]),
    "54 features": random_poly(5, 54, 2, 7),
    "from terms": n2p.Polynomial.from_terms(["b c^2", "a", "1"], [2.0, 1.0, 5.0], ["a", "b", "c"]),
}


@pytest.fixture(params=CASES, name="poly")
def fixture_poly(request):
    return CASES[request.param]


@pytest.fixture(name="X")
def fixture_x(poly):
    return np.random.default_rng(9).normal(size=(23, poly.n_features)) * 2


# --- gradients -------------------------------------------------------------------------------


def test_gradients_are_those_of_central_differences(poly, X):
    found = explain.gradients(poly, X)
    assert found.shape == (23, poly.n_features, poly.n_outputs)
    step = 1e-4
    for j in range(poly.n_features):
        shift = step * np.eye(poly.n_features)[j]
        slope = (outputs(poly, X + shift) - outputs(poly, X - shift)) / (2 * step)
        np.testing.assert_allclose(found[:, j], slope, rtol=1e-5, atol=1e-5)


def test_a_derivative_is_sympys():
    symbols = sympy.symbols("x0:4")
    poly = random_poly(7, 4, 3, 2)
    z = [(s - c) / d for s, c, d in zip(symbols, poly.center, poly.scale, strict=True)]
    for o in range(2):
        expression = sum(
            c * sympy.prod([z[i] for i in term])
            for term, c in zip(poly.terms, poly.coefficients[:, o], strict=True)
        )
        for j, symbol in enumerate(symbols):
            derived = explain.derivative(poly, j)
            slope = sympy.lambdify(symbols, sympy.diff(expression, symbol))
            point = [0.3, -1.2, 2.0, 0.7]
            np.testing.assert_allclose(outputs(derived, [point])[0, o], slope(*point), rtol=1e-11)


def test_the_derivative_of_a_dense_polynomial_is_dense_and_one_order_less():
    derived = explain.derivative(random_poly(0, 5, 3), "f2")
    assert derived.positions is None
    assert (derived.max_order, derived.n_terms) == (2, count_terms(5, 2))


def test_a_derivative_has_neither_link_nor_range():
    poly = n2p.Polynomial([[0.0], [1.0]], 1, ["t"], classes=[0, 1], link="sigmoid", low=0, high=1)
    derived = explain.derivative(poly, "t")
    assert (derived.link, derived.classes, derived.low) == ("identity", None, None)


def test_the_order_of_columns_of_a_frame_does_not_matter(X):
    poly = CASES["awkward names"]
    rows = np.random.default_rng(1).normal(size=(5, 6))
    frame = pd.DataFrame(rows, columns=AWKWARD)[AWKWARD[::-1]]
    np.testing.assert_array_equal(explain.gradients(poly, frame), explain.gradients(poly, rows))


def test_rows_outside_the_range_warn_once():
    poly = n2p.Polynomial([[0.0], [1.0]], 1, ["t"], low=0.0, high=1.0)
    with pytest.warns(OutsideRangeWarning) as seen:
        explain.gradients(poly, [[2.0]])
    assert len(seen) == 1


def test_an_unknown_feature_is_refused_with_a_suggestion():
    with pytest.raises(UnknownTermError, match="did you mean"):
        explain.derivative(CASES["seven outputs"], "f22")


# --- marginal effects ------------------------------------------------------------------------


def test_average_marginal_effects_are_the_mean_gradient(poly, X):
    effects = explain.marginal_effects(poly, X)
    gradients = explain.gradients(poly, X)
    assert set(effects.kinds) == {"slope"}
    np.testing.assert_allclose(effects.mean, gradients.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(effects.sd, gradients.std(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(effects.quantile(0.5), np.median(gradients, axis=0), atol=1e-12)
    np.testing.assert_array_equal(effects.positive, (gradients > 0).mean(axis=0))


def test_a_binary_feature_gets_the_difference_of_its_levels():
    poly = random_poly(1, 3, 3, 2)
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:, 1] = X[:, 1] > 0
    effects = explain.marginal_effects(poly, X)
    on, off = X.copy(), X.copy()
    on[:, 1], off[:, 1] = 1, 0
    assert effects.kinds == ("slope", "0 → 1", "slope")
    expected = outputs(poly, on) - outputs(poly, off)
    np.testing.assert_allclose(effects.values[:, 1], expected, rtol=1e-10, atol=1e-10)


def test_levels_other_than_0_and_1_count_when_the_conversion_saw_only_them():
    poly = n2p.Polynomial.from_terms(["a", "a b"], [1.0, 2.0], ["a", "b"])
    X = np.array([[3.0, -1.0], [5.0, 1.0], [3.0, 1.0], [4.5, -1.0]])
    ranged = n2p.Polynomial(
        poly.coefficients, 2, ["a", "b"], positions=poly.positions, low=[3, -1], high=[5, 1]
    )
    assert explain.marginal_effects(poly, X).kinds == ("slope", "slope")
    found = explain.marginal_effects(ranged, X)
    assert found.kinds == ("slope", "-1 → 1")
    np.testing.assert_allclose(found.values[:, 1, 0], 4 * X[:, 0])


def test_one_row_of_a_folded_polynomial_still_gets_differences():
    net = MLPRegressor(
        hidden_layer_sizes=6, solver="lbfgs", alpha=1.0, max_iter=5000, random_state=0
    )
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200) * 4.0 - 1.0])
    poly = n2p.convert(net.fit(X, X[:, 0] * X[:, 1]), 3, data=X)
    row = np.array([[0.1, 3.0]])
    found = explain.marginal_effects(poly, row)
    assert found.kinds == ("slope", "-1 → 3")
    expected = poly.predict([[0.1, 3.0]]) - poly.predict([[0.1, -1.0]])
    np.testing.assert_allclose(found.values[0, 1], expected)


def test_levels_of_a_factor_are_compared_with_the_first():
    poly = random_poly(3, 4, 3, 2, coordinates=False).fold([["f1", "f2", "f3"]])
    rng = np.random.default_rng(2)
    level = rng.integers(0, 3, 60)
    X = np.column_stack([rng.normal(size=60), np.eye(3)[level]])
    found = explain.marginal_effects(poly, X)
    assert found.kinds == ("slope", "reference", "'f1' → this", "'f1' → this")

    def at(place):
        rows = X.copy()
        rows[:, 1:] = np.eye(3)[place]
        return outputs(poly, rows)

    assert not found.values[:, 1].any()
    np.testing.assert_allclose(found.values[:, 3], at(2) - at(0), rtol=1e-10, atol=1e-10)
    other = explain.marginal_effects(poly, X, binary=[["f3", "f1", "f2"]])
    np.testing.assert_allclose(other.values[:, 1], at(0) - at(2), rtol=1e-10, atol=1e-10)
    assert other.kinds[3] == "reference"


def test_independent_binaries_of_few_rows_are_no_factor():
    poly = n2p.Polynomial.from_terms(["a", "b"], [2.0, 3.0], ["a", "b"])
    rows = [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    found = explain.marginal_effects(poly, rows)
    assert found.kinds == ("0 → 1", "0 → 1")
    np.testing.assert_array_equal(found.mean[:, 0], [2.0, 3.0])
    assert explain.marginal_effects(poly, rows * 5).kinds == ("reference", "'a' → this")


def test_a_level_that_is_never_seen_joins_no_factor():
    """z is 0 or 1 at the ends and no term holds a square: one value is enough to be binary."""
    poly = n2p.Polynomial.from_terms(
        ["a", "b", "c"], [1.0, 2.0, 3.0], list("abc"), low=[0, 0, 0], high=[1, 1, 1]
    )
    rows = np.tile([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], (10, 1))
    assert explain.marginal_effects(poly, rows).kinds == ("0 → 1",) * 3


def test_binary_false_gives_slopes_for_all():
    poly = random_poly(1, 2, 2)
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    found = explain.marginal_effects(poly, X, binary=False)
    np.testing.assert_allclose(found.values, explain.gradients(poly, X))


@pytest.mark.parametrize(
    ("binary", "message"),
    [(["f0"], "not binary"), ("f1", "must say which"), (["f1", "f1"], "twice"), (3, "must say")],
)
def test_a_wrong_list_of_binary_features_is_refused(binary, message):
    X = np.array([[0.5, 1.0], [0.7, 0.0], [0.1, 1.0]])
    with pytest.raises(InvalidInputError, match=message):
        explain.marginal_effects(random_poly(1, 2, 2), X, binary=binary)


def test_the_table_of_effects_names_outputs_and_sorts_by_size():
    poly = random_poly(1, 3, 2, 2)
    effects = explain.marginal_effects(poly, np.random.default_rng(0).normal(size=(9, 3)))
    table = effects.table(output="y2")
    assert table.columns[:3] == ("output", "feature", "change")
    assert [abs(row[3]) for row in table] == sorted((abs(row[3]) for row in table), reverse=True)
    assert len(effects.table()) == 6
    assert effects.table(2, output="y2").rows == table.rows[:2]
    assert [row[0] for row in effects.table(1)] == ["y1", "y2"]
    assert "y2" in repr(effects)
    assert "<table>" in effects._repr_html_()


# --- partial dependence and ICE --------------------------------------------------------------


@pytest.mark.parametrize("features", [0, (0, 1)])
def test_partial_dependence_is_scikit_learns_brute_force(poly, X, features):
    features = features if poly.n_features > 1 else 0
    brute = sklearn_partial_dependence(
        n2p.export.sklearn(poly), X, features, method="brute", grid_resolution=7
    )
    axes = brute["grid_values"]
    found = explain.partial_dependence(poly, X, features, grid=axes[0] if features == 0 else axes)
    # scikit-learn squeezes nothing but puts outputs first.
    expected = np.moveaxis(brute["average"], 0, -1)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-9 * size)


def test_partial_dependence_of_a_classifier_is_of_its_logits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    net = MLPClassifier((6,), solver="lbfgs", alpha=1.0, max_iter=5000, random_state=0)
    poly = n2p.convert(net.fit(X, y), 2, data=X)
    brute = sklearn_partial_dependence(
        n2p.export.sklearn(poly),
        X,
        [1],
        method="brute",
        response_method="decision_function",
        grid_resolution=9,
    )
    found = explain.partial_dependence(poly, X, "x2", grid=brute["grid_values"][0])
    np.testing.assert_allclose(found.values, brute["average"].T, rtol=1e-9, atol=1e-9)


def test_the_partial_dependence_is_itself_a_polynomial_in_its_features(poly, X):
    found = explain.partial_dependence(poly, X, poly.feature_names[-1], grid=5)
    assert found.polynomial.feature_names == poly.feature_names[-1:]
    again = found.polynomial.predict(found.grid[0][:, None]).reshape(found.values.shape)
    np.testing.assert_allclose(found.values, again, rtol=1e-12, atol=1e-12)


def test_features_of_a_pair_may_come_in_any_order():
    poly, X = random_poly(8, 4, 3, 2), np.random.default_rng(1).normal(size=(30, 4))
    grid = [np.array([0.0, 1.0, 2.0]), np.array([-1.0, 1.0])]
    one = explain.partial_dependence(poly, X, ["f3", "f1"], grid=grid)
    other = explain.partial_dependence(poly, X, ["f1", "f3"], grid=grid[::-1])
    assert one.values.shape == (3, 2, 2)
    np.testing.assert_allclose(one.values, other.values.transpose(1, 0, 2), rtol=1e-12)


def test_three_features_at_once_are_the_average_over_the_rest():
    poly, X = random_poly(8, 4, 3), np.random.default_rng(1).normal(size=(30, 4))
    grid = [np.array([0.5, 1.0])] * 3
    found = explain.partial_dependence(poly, X, [2, 0, 3], grid=grid)
    rows = X.copy()
    rows[:, [2, 0, 3]] = [0.5, 1.0, 0.5]
    np.testing.assert_allclose(found.values[0, 1, 0, 0], poly.predict(rows).mean(), rtol=1e-11)


def test_individual_curves_are_predictions_with_one_feature_moved(poly, X):
    found = explain.ice(poly, X, poly.n_features - 1, grid=[-1.0, 0.0, 2.5])
    for place, value in enumerate(found.grid):
        rows = X.copy()
        rows[:, -1] = value
        expected = outputs(poly, rows)
        size = np.abs(expected).max()
        np.testing.assert_allclose(found.values[:, place], expected, rtol=1e-10, atol=1e-12 * size)
    assert not found.centered()[:, 0].any()


def test_the_mean_of_the_individual_curves_is_the_partial_dependence(poly, X):
    curves = explain.ice(poly, X, 0, grid=6)
    average = explain.partial_dependence(poly, X, 0, grid=6)
    np.testing.assert_array_equal(curves.grid, average.grid[0])
    size = np.abs(average.values).max()
    np.testing.assert_allclose(curves.mean, average.values, rtol=1e-9, atol=1e-11 * size)


def test_the_default_grid_runs_between_percentiles_or_over_the_few_values():
    poly, rng = random_poly(8, 2, 2), np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 3, 500)])
    found = explain.partial_dependence(poly, X, [0, 1], grid=20)
    assert [len(axis) for axis in found.grid] == [20, 3]
    np.testing.assert_allclose(found.grid[0][[0, -1]], np.quantile(X[:, 0], [0.05, 0.95]))
    ends = explain.ice(poly, X, 0, grid=5, percentiles=(0, 1)).grid[[0, -1]]
    np.testing.assert_array_equal(ends, [X[:, 0].min(), X[:, 0].max()])


def test_one_row_of_data_is_enough():
    poly = random_poly(8, 2, 3)
    found = explain.partial_dependence(poly, [[1.0, 2.0]], 0)
    np.testing.assert_allclose(found.values[:, 0], poly.predict([[1.0, 2.0]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": []}, "cannot be used"),
        ({"features": [0, 0]}, "cannot be used"),
        ({"features": 0, "grid": [np.nan]}, "grid"),
        ({"features": 0, "grid": []}, "grid"),
        ({"features": 0, "grid": "fine"}, "grid"),
        ({"features": [0, 1], "grid": [[1.0], [2.0], [3.0]]}, "grid"),
        ({"features": 0, "grid": 0}, "positive integer"),
        ({"features": 0, "percentiles": (0.9, 0.1)}, "percentiles"),
        ({"features": 0, "percentiles": 3}, "percentiles"),
    ],
)
def test_wrong_features_and_grids_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        explain.partial_dependence(random_poly(8, 2, 2), np.eye(2), **options)


def test_a_table_of_a_pair_has_one_row_per_point():
    found = explain.partial_dependence(random_poly(8, 2, 2, 2), np.eye(2), [0, 1])
    assert found.table().columns == ("f0", "f1", "y1", "y2")
    assert len(found.table()) == 4
    assert found.output_names == ("y1", "y2")
    assert "<table>" in found._repr_html_()


def test_large_polynomials_stay_quick():
    """One pass over the data: 29,260 terms, 7 outputs, 500 rows; brute force needs minutes."""
    import time

    poly, X = random_poly(11, 54, 3, 7), np.random.default_rng(0).normal(size=(500, 54))
    begin = time.perf_counter()
    explain.partial_dependence(poly, X, (3, 40), grid=50)
    explain.gradients(poly, X)
    assert time.perf_counter() - begin < 10
