"""Shapley values: equal to brute force and to SHAP's exact explainer, and lawful."""

from __future__ import annotations

import sys
import warnings
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.errors import (
    InvalidInputError,
    MissingDependencyError,
    OutsideRangeWarning,
    TooManyTermsError,
)
from nn2poly.explain import shapley

AWKWARD = [
    "a b",
    'quo"te',
    "naïve ζ",
    "<script>alert(1)</script>",
    "$x$ {y}",
    "lambda",
    "w" * 60,
]


def random_polynomial(seed, p, order, n_outputs=1, **options):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(Graded(p, order)), n_outputs))
    return n2p.Polynomial(values, order, [f"x{i + 1}" for i in range(p)], **options)


def coordinates(seed, p):
    rng = np.random.default_rng(seed)
    return {"center": rng.normal(size=p), "scale": rng.uniform(0.5, 2.0, p)}


@pytest.fixture(scope="module")
def shap():
    """Import SHAP, which warns about matplotlib's future while it is loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap
    return shap


def raw(poly, X):
    return poly.predict(X).reshape(len(X), -1)


def coalition(poly, x, background, kept):
    mixed = background.copy()
    mixed[:, list(kept)] = x[list(kept)]
    return raw(poly, mixed).mean(axis=0)


def by_definition(poly, x, background):
    """Average marginal contributions over all coalitions: array (p, n_outputs)."""
    p = poly.n_features
    values = np.zeros((p, poly.n_outputs))
    for i in range(p):
        others = [j for j in range(p) if j != i]
        for size in range(p):
            weight = factorial(size) * factorial(p - size - 1) / factorial(p)
            for kept in combinations(others, size):
                gain = coalition(poly, x, background, (*kept, i))
                values[i] += weight * (gain - coalition(poly, x, background, kept))
    return values


# --- against others --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "order", "n_outputs"), [(1, 1, 1), (1, 8, 2), (2, 8, 1), (3, 3, 7), (4, 5, 2), (5, 2, 1)]
)
def test_values_equal_the_definition(p, order, n_outputs):
    poly = random_polynomial(p + order, p, order, n_outputs, **coordinates(p, p))
    rng = np.random.default_rng(5)
    X, background = rng.uniform(-1, 1, (3, p)), rng.uniform(-1, 1, (11, p))
    found = shapley(poly, X, background)
    expected = np.array([by_definition(poly, x, background) for x in X])
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    np.testing.assert_allclose(found.base_values, raw(poly, background).mean(axis=0), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "order", "n_outputs"), [(6, 3, 1), (5, 4, 3)])
def test_values_equal_those_of_shap(shap, p, order, n_outputs):
    poly = random_polynomial(1, p, order, n_outputs, **coordinates(2, p))
    rng = np.random.default_rng(2)
    X, background = rng.normal(size=(2, p)), rng.normal(size=(50, p))
    masker = shap.maskers.Independent(background, max_samples=50)
    theirs = shap.explainers.Exact(poly.predict, masker)(X)
    ours = shapley(poly, X, background)
    np.testing.assert_allclose(ours.values.reshape(theirs.values.shape), theirs.values, atol=1e-9)
    np.testing.assert_allclose(
        np.broadcast_to(ours.base_values, (2, n_outputs)),
        theirs.base_values.reshape(2, n_outputs),
        atol=1e-9,
    )


def test_values_of_a_linear_polynomial_are_coefficients_times_deviations():
    poly = n2p.Polynomial.from_terms(["a", "b", "1"], [2.0, -3.0, 7.0], ["a", "b"])
    found = shapley(poly, [[5.0, 1.0]], [[1.0, 2.0], [3.0, 0.0]])
    np.testing.assert_allclose(found.values[0, :, 0], [2 * (5 - 2), -3 * (1 - 1)])
    assert found.base_values == pytest.approx(2 * 2 - 3 * 1 + 7)


# --- laws ------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 5),
    order=st.integers(1, 4),
    n_outputs=st.sampled_from([1, 7]),
    rows=st.integers(1, 3),
    size=st.integers(1, 4),
)
def test_efficiency(seed, p, order, n_outputs, rows, size):
    poly = random_polynomial(seed, p, order, n_outputs, **coordinates(seed, p))
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(rows, p)), rng.normal(size=(size, p))
    found = shapley(poly, X, background)
    assert found.values.shape == (rows, p, n_outputs)
    scale = max(1.0, np.abs(raw(poly, X)).max())
    np.testing.assert_allclose(found.total, raw(poly, X), atol=1e-11 * scale)
    np.testing.assert_allclose(found.base_values, raw(poly, background).mean(axis=0), rtol=1e-9)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), order=st.integers(1, 4))
def test_dummy(seed, order):
    """A feature in no term is worth nothing."""
    rng = np.random.default_rng(seed)
    terms = [tuple(rng.choice([0, 2, 3], d)) for d in range(1, order + 1) for _ in range(3)]
    poly = n2p.Polynomial.from_terms(terms, rng.normal(size=len(terms)), list("abcd"))
    found = shapley(poly, rng.normal(size=(2, 4)), rng.normal(size=(3, 4)))
    assert np.all(found.values[:, 1] == 0)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), order=st.integers(1, 4))
def test_symmetry(seed, order):
    """Two features that play the same role, with the same values, are worth the same."""
    rng = np.random.default_rng(seed)
    poly = random_polynomial(seed, 4, order)
    swapped = [tuple(sorted({0: 1, 1: 0}.get(i, i) for i in term)) for term in poly.terms]
    values = poly.coefficients[:, 0]
    both = n2p.Polynomial.from_terms(
        [*poly.terms, *swapped], np.concatenate([values, values]), poly.feature_names
    )
    X, background = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    X[:, 1] = X[:, 0]
    found = shapley(both, X, np.concatenate([background, background[:, [1, 0, 2, 3]]])).values
    np.testing.assert_allclose(found[:, 0], found[:, 1], atol=1e-10)


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), weight=st.floats(-3, 3))
def test_linearity(seed, weight):
    rng = np.random.default_rng(seed)
    first, second = random_polynomial(seed, 3, 3), random_polynomial(seed + 1, 3, 2)
    values = first.coefficients.copy()
    values[: second.n_terms] += weight * second.coefficients
    mixed = n2p.Polynomial(values, 3, first.feature_names)
    X, background = rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    parts = [shapley(poly, X, background).values for poly in (first, second, mixed)]
    np.testing.assert_allclose(parts[0] + weight * parts[1], parts[2], atol=1e-10)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_coordinates_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    poly = random_polynomial(seed, 3, 3, 2, **coordinates(seed, 3))
    X, background = rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    ours, theirs = (shapley(p, X, background).values for p in (poly, poly.rebase()))
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


# --- shapes and sizes ------------------------------------------------------------------------


def test_a_background_of_one_row_and_that_row_itself_is_worth_nothing():
    poly, x = random_polynomial(0, 3, 3), [[0.3, -0.2, 0.9]]
    found = shapley(poly, x, x)
    np.testing.assert_allclose(found.values, 0, atol=1e-12)
    assert found.base_values == pytest.approx(poly.predict(x))


def test_pruned_and_folded_polynomials_are_explained_as_they_are():
    rng = np.random.default_rng(4)
    poly = random_polynomial(3, 5, 3, 2, **coordinates(3, 5))
    z = np.column_stack([rng.normal(size=(30, 3)), rng.integers(0, 2, (30, 2))])
    X = z * poly.scale + poly.center
    for sparse in (poly.prune(12), poly.fold([[3], [4]]), poly.fold([[3, 4]])):
        found = shapley(sparse, X[:3], X)
        expected = np.array([by_definition(sparse, x, X) for x in X[:3]])
        np.testing.assert_allclose(found.values, expected, atol=1e-9)


def test_a_constant_polynomial_is_its_base_value():
    for constant in (
        n2p.Polynomial([[4.0, 5.0]], 0, ["a", "b"]),
        n2p.Polynomial.from_terms(["1"], [[4.0, 5.0]], ["a", "b"]),
        n2p.Polynomial([[4.0, 5.0], [0, 0], [0, 0]], 1, ["a", "b"]),
    ):
        found = shapley(constant, [[1.0, 2.0]], [[3.0, 4.0]])
        assert np.all(found.values == 0)
        np.testing.assert_array_equal(found.base_values, [4.0, 5.0])


def test_a_polynomial_that_is_zero_everywhere_is_explained():
    found = shapley(n2p.Polynomial([[0.0], [0.0]], 1, ["a"]), [[1.0]], [[2.0]])
    assert found.values.tolist() == [[[0.0]]]
    assert found.base_values.tolist() == [0.0]


def test_sums_hold_far_from_the_origin():
    """Years around 2000, squared and cubed, in raw units: centring keeps the digits."""
    rng = np.random.default_rng(6)
    near = random_polynomial(6, 3, 3, center=[2000.0, 1e4, 0.0], scale=[10.0, 50.0, 1.0])
    X = rng.normal(near.center, near.scale, (200, 3))
    found = shapley(near.rebase(), X[:50], X)
    exact = shapley(near, X[:50], X)
    # In raw units the terms reach 1e9: what is left of their digits in double precision.
    np.testing.assert_allclose(found.values, exact.values, atol=2e-5)
    np.testing.assert_allclose(exact.total[:, 0], near.predict(X[:50]), atol=1e-9)


@pytest.mark.parametrize(("order", "n_outputs"), [(2, 7), (3, 7)])
def test_54_features_add_up_and_stay_fast(order, n_outputs):
    from time import perf_counter

    poly = random_polynomial(7, 54, order, n_outputs)
    rng = np.random.default_rng(7)
    X, background = rng.uniform(-1, 1, (200, 54)), rng.uniform(-1, 1, (200, 54))
    begin = perf_counter()
    found = shapley(poly, X, background)
    assert perf_counter() - begin < 20
    np.testing.assert_allclose(found.total, poly.predict(X), atol=1e-9)


def test_one_row_of_a_54_feature_polynomial_equals_a_permutation_identity():
    """Of order 2, the value of i is v(i) - v() plus half of what it shares with all others."""
    poly = random_polynomial(8, 54, 2)
    rng = np.random.default_rng(8)
    x, background = rng.normal(size=54), rng.normal(size=(60, 54))
    found = shapley(poly, x[None], background).values[0, :, 0]
    base, full = coalition(poly, x, background, ()), raw(poly, x[None])[0]
    for i in (0, 17, 53):
        alone = coalition(poly, x, background, [i]) - base
        last = full - coalition(poly, x, background, [j for j in range(54) if j != i])
        assert found[i] == pytest.approx(((alone + last) / 2)[0], abs=1e-9)


def test_more_rows_than_fit_are_refused(monkeypatch):
    poly = random_polynomial(0, 2, 1)
    monkeypatch.setattr("nn2poly.memory.available_bytes", lambda: 1000)
    with pytest.raises(TooManyTermsError, match="fewer rows"):
        shapley(poly, np.zeros((100, 2)), [[0.0, 0.0]])


# --- data ------------------------------------------------------------------------------------


def test_data_frames_are_matched_by_name():
    import pandas

    poly = n2p.Polynomial.from_terms(["b", "a b"], [1.0, 2.0], ["a", "b"])
    X = pandas.DataFrame({"b": [1.0, 2.0], "other": [0.0, 0.0], "a": [3.0, 4.0]})
    ours = shapley(poly, X, X)
    np.testing.assert_array_equal(ours.values, shapley(poly, X[["a", "b"]].to_numpy(), X).values)
    np.testing.assert_array_equal(ours.data, [[3.0, 1.0], [4.0, 2.0]])


@pytest.mark.parametrize(
    ("X", "background", "where"),
    [
        ([[1.0]], [[1.0, 2.0]], "X"),
        ([[1.0, 2.0]], [[1.0]], "background"),
        ([[1.0, 2.0]], np.zeros((0, 2)), "background"),
        ([[1.0, np.nan]], [[1.0, 2.0]], "X"),
    ],
)
def test_a_table_that_does_not_fit_is_named(X, background, where):
    with pytest.raises(InvalidInputError) as caught:
        shapley(random_polynomial(0, 2, 2), X, background)
    assert caught.value.where == where


def test_rows_outside_the_calibrated_range_warn_once():
    poly = random_polynomial(0, 2, 2, low=[-1.0, -1.0], high=[1.0, 1.0])
    inside, outside = [[0.0, 0.5]], [[0.0, 3.0]]
    for X, background in [(outside, inside), (inside, outside), (outside, outside)]:
        with pytest.warns(OutsideRangeWarning) as caught:
            shapley(poly, X, background)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    shapley(poly, inside, inside)


# --- the network -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::nn2poly.errors.MixedRowsWarning")
def test_with_the_model_the_sum_is_the_output_of_the_network(make_network):
    network = make_network(0, (4, 6, 3), "relu")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    poly = n2p.convert(network, 2, data=X)
    found = shapley(poly, X[:20], X, model=network)
    np.testing.assert_allclose(found.total, network.predict(X[:20]), atol=1e-12)
    gap = network.predict(X[:20]) - poly.predict(X[:20])
    np.testing.assert_allclose(found.residual, gap, atol=1e-10)
    assert "beyond polynomial" in str(found)


def test_a_model_of_another_shape_is_refused(make_network):
    poly = random_polynomial(0, 3, 2)
    with pytest.raises(InvalidInputError, match="does not belong to this network"):
        shapley(poly, np.zeros((1, 3)), np.zeros((1, 3)), model=make_network(0, (3, 4, 2)))


def test_a_model_with_its_features_in_another_order_is_refused(make_network):
    network = make_network(0, (2, 4, 1))
    named = n2p.Network(network.layers, feature_names=["a", "b"])
    swapped = n2p.Polynomial([[0.0], [1.0], [2.0]], 1, ["b", "a"])
    with pytest.raises(InvalidInputError, match="another order"):
        shapley(swapped, [[1.0, 2.0]], [[0.0, 0.0]], model=named)
    assert shapley(swapped, [[1.0, 2.0]], [[0.0, 0.0]], model=network).residual is not None


def test_the_table_can_show_one_output(make_network):
    network = make_network(0, (3, 4, 2))
    X = np.random.default_rng(0).normal(size=(5, 3))
    found = shapley(n2p.convert(network, 2), X, X, model=network)
    table = found.table(2, output="y2")
    assert table.title.endswith("output y2")
    sizes = np.sqrt((found.values[:, :, 1] ** 2).mean(axis=0))
    assert [row[1] for row in table[:2]] == pytest.approx(sorted(sizes, reverse=True)[:2])
    assert table[2][1] == pytest.approx(np.sqrt(np.mean(found.residual[:, 1] ** 2)))


def test_a_scikit_learn_classifier_is_explained_before_the_link():
    from sklearn.datasets import load_iris
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MLPClassifier((8,), max_iter=50, random_state=0).fit(X, y)
    poly = n2p.convert(model, 2, data=X)
    found = shapley(poly, X, X, model=model)
    shifted = np.exp(found.total - found.total.max(axis=1, keepdims=True))
    chances = shifted / shifted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chances, model.predict_proba(X), atol=1e-9)


# --- what is shown ---------------------------------------------------------------------------


def test_the_table_ranks_features_and_holds_one_column_per_output():
    poly = n2p.Polynomial.from_terms(
        ["a", "b"], [[1.0, 0.0], [0.0, 5.0]], ["a", "b"], output_names=["low", "high"]
    )
    table = shapley(poly, [[1.0, 1.0]], [[0.0, 0.0]]).table()
    assert table.columns == ("feature", "low", "high")
    assert table.rows == (("b", 0.0, 5.0), ("a", 1.0, 0.0))


def test_of_one_row_the_table_shows_signs_and_of_several_sizes():
    """A root mean square of one row would hide in which direction a feature moved it."""
    poly = n2p.Polynomial.from_terms(["a", "b"], [1.0, -5.0], ["a", "b"])
    one = shapley(poly, [[1.0, 1.0]], [[0.0, 0.0]]).table()
    assert one.rows == (("b", -5.0), ("a", 1.0))
    assert one.title == "Shapley values of 1 row"
    assert one.columns == ("feature", "value")
    two = shapley(poly, [[1.0, 1.0], [1.0, -1.0]], [[0.0, 0.0]]).table()
    assert two.rows == (("b", 5.0), ("a", 1.0))
    assert two.title.endswith("root mean square over 2 rows")


def test_the_table_of_one_row_adds_up_to_its_prediction(make_network):
    network = make_network(0, (3, 4, 2))
    X = np.random.default_rng(0).normal(size=(5, 3))
    poly = n2p.convert(network, 2)
    found = shapley(poly, X[:1], X, model=network)
    numbers = np.array([row[1:] for row in found.table()])
    assert (numbers < 0).any()
    np.testing.assert_allclose(found.base_values + numbers.sum(0), network.predict(X[:1])[0])
    second = [row[1] for row in found.table(output="y2")]
    assert sum(second) == pytest.approx(numbers.sum(0)[1])


def test_of_one_row_and_many_outputs_the_table_says_that_it_shows_sizes():
    poly = random_polynomial(0, 4, 1, 12)
    found = shapley(poly, np.ones((1, 4)), np.zeros((1, 4)))
    table = found.table()
    assert [row[1] for row in table] == pytest.approx(
        sorted(np.abs(found.values[0]).mean(axis=1), reverse=True)
    )
    assert table.note == "mean size over 12 outputs"


def test_many_features_and_outputs_still_print_small():
    poly = random_polynomial(0, 40, 1, 12)
    text = str(shapley(poly, np.ones((2, 40)), np.zeros((1, 40))))
    assert len(text.splitlines()) == 24
    assert "the largest 20 of 40; mean size over 12 outputs" in text


def test_html_is_escaped():
    poly = n2p.Polynomial(np.ones((8, 1)), 1, AWKWARD)
    page = shapley(poly, np.ones((1, 7)), np.zeros((1, 7)))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


# --- SHAP's plots ----------------------------------------------------------------------------


@pytest.fixture
def figures():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    yield plt
    plt.close("all")


def texts(axes):
    return {label.get_text() for label in axes.get_yticklabels()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:No data for colormapping", "ignore:.*layout has changed")
@pytest.mark.parametrize("plot", ["beeswarm", "waterfall", "bar"])
def test_shap_draws_the_values(shap, plot, figures, make_network, tmp_path):
    network = make_network(1, (4, 6, 2), "tanh")
    X = np.random.default_rng(1).normal(size=(60, 4))
    names = AWKWARD[:2] + AWKWARD[5:]
    poly = n2p.convert(network, 2, data=X, feature_names=names, output_names=["left", "right"])
    explanation = shapley(poly, X, X, model=network).to_shap("right")
    assert explanation.shape == (60, 5)
    assert explanation.output_names == "right"
    drawn = explanation[0] if plot == "waterfall" else explanation
    axes = getattr(shap.plots, plot)(drawn, show=False)
    figures.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000
    shown = " ".join(texts(axes))
    assert all(name in shown for name in [*names, "beyond polynomial"])


def test_all_outputs_go_to_shap_and_one_can_be_sliced(shap):
    poly = random_polynomial(0, 3, 2, 7)
    found = shapley(poly, np.ones((4, 3)), np.zeros((1, 3)))
    explanation = found.to_shap()
    assert explanation.values.shape == (4, 3, 7)
    assert explanation.base_values.shape == (4, 7)
    np.testing.assert_array_equal(explanation[:, :, "y3"].values, found.values[:, :, 2])
    single = shapley(random_polynomial(0, 3, 2), np.ones((4, 3)), np.zeros((1, 3))).to_shap()
    assert single.values.shape == (4, 3)
    assert single.base_values.shape == (4,)


def test_without_shap_the_extra_to_install_is_named(monkeypatch):
    found = shapley(random_polynomial(0, 2, 1), [[0.0, 1.0]], [[0.0, 0.0]])
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingDependencyError, match=r"nn2poly\[explain\]"):
        found.to_shap()
