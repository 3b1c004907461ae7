"""Accumulated local effects: brute force by Apley and Zhu's definition, and what they are for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.algebra.terms import Graded
from nn2poly.errors import InvalidInputError
from nn2poly.explain import ale
from nn2poly.inputs import Column, Inputs


def random_polynomial(seed, p, order, n_outputs=1):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(Graded(p, order)), n_outputs))
    return n2p.Polynomial(values, order, [f"x{i + 1}" for i in range(p)])


def by_definition(poly, X, j, edges):
    """Follow every row by itself."""
    n_bins = len(edges) - 1
    steps = [[] for _ in range(n_bins)]
    for row in X:
        k = next(k for k in range(n_bins) if row[j] <= edges[k + 1])
        left, right = row.copy(), row.copy()
        left[j], right[j] = edges[k], edges[k + 1]
        steps[k].append((poly.predict([right]) - poly.predict([left])).ravel())
    means = [np.mean(step, axis=0) for step in steps]
    zero = np.zeros_like(means[0])
    values = np.array([sum(means[:k], zero) for k in range(n_bins + 1)])
    middle = sum(len(s) * (values[k] + values[k + 1]) / 2 for k, s in enumerate(steps)) / len(X)
    return values - middle


@pytest.mark.parametrize(("seed", "n_outputs", "bins"), [(0, 1, 5), (1, 3, 12), (2, 1, 1)])
def test_effects_are_those_of_the_definition(seed, n_outputs, bins):
    poly = random_polynomial(seed, 3, 3, n_outputs)
    X = np.random.default_rng(seed).normal(size=(80, 3))
    for j in range(3):
        found = ale(poly, X, j, bins=bins)
        assert len(found.counts) == bins
        assert found.counts.sum() == 80
        np.testing.assert_allclose(
            found.values, by_definition(poly, X, j, found.grid), rtol=1e-9, atol=1e-9
        )


def test_values_that_repeat_are_edges_once_and_no_bin_is_empty():
    poly = random_polynomial(3, 2, 2)
    X = np.random.default_rng(3).integers(0, 4, size=(60, 2)).astype(float)
    found = ale(poly, X, "x1")
    np.testing.assert_array_equal(found.grid, [0.0, 1.0, 2.0, 3.0])
    assert (found.counts > 0).all()
    np.testing.assert_allclose(found.values, by_definition(poly, X, 0, found.grid), atol=1e-9)


def test_edges_of_ones_own_leave_the_rows_outside_out():
    poly = random_polynomial(4, 2, 3)
    X = np.random.default_rng(4).uniform(-2, 2, (200, 2))
    inside = X[(X[:, 1] >= -1) & (X[:, 1] <= 1)]
    found = ale(poly, X, "x2", bins=[-1.0, 0.0, 1.0])
    np.testing.assert_allclose(
        found.values, by_definition(poly, inside, 1, found.grid), rtol=1e-9, atol=1e-9
    )
    assert found.counts.sum() == len(inside)


def test_a_sum_of_single_columns_gives_the_function_of_the_column_itself():
    poly = n2p.Polynomial.from_terms(["a^2", "b"], [3.0, 5.0], ["a", "b"])
    X = np.random.default_rng(5).normal(size=(300, 2))
    found = ale(poly, X, "a", bins=20)
    curve = 3 * found.grid**2
    np.testing.assert_allclose(np.diff(found.values[:, 0]), np.diff(curve), atol=1e-12)


def test_what_a_formula_says_far_from_the_rows_does_not_matter():
    """0 on rows with b = a, and large elsewhere: partial dependence sees it, ALE hardly."""
    far = n2p.Polynomial.from_terms(["a", "a^2", "a b", "b^2"], [1, 9, -18, 9], ["a", "b"])
    a = np.linspace(-1, 1, 501)
    X = np.column_stack([a, a])
    near = ale(far, X, "a", bins=100)
    np.testing.assert_allclose(near.values[:, 0], near.grid, atol=0.2)
    assert np.ptp(n2p.explain.partial_dependence(far, X, "a").values - 1) > 5


def test_regions_are_followed_across_their_border():
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (600, 2))
    poly = n2p.convert(lambda Z: np.abs(Z[:, 0]) + Z[:, 1], 1, data=X, regions=2)
    found = ale(poly, X, 0, bins=10)
    np.testing.assert_allclose(found.values, by_definition(poly, X, 0, found.grid), atol=1e-9)


def test_a_feature_with_one_value_has_no_effect():
    found = ale(random_polynomial(7, 2, 2), [[1.0, 2.0], [1.0, 3.0]], 0)
    assert found.values.tolist() == [[0.0]]


def test_the_table_has_an_edge_a_row_and_counts_the_rows():
    poly = random_polynomial(8, 2, 2, 2)
    X = np.random.default_rng(8).normal(size=(50, 2))
    table = ale(poly, X, "x1", bins=5).table()
    assert table.columns == ("x1", "y1", "y2", "rows")
    assert sum(row[-1] for row in table.rows) == 50
    assert "Accumulated local effects of x1" in repr(ale(poly, X, "x1", bins=5))


def test_a_factor_is_refused_for_its_levels_have_no_order():
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"city": rng.choice(["x", "y", "z"], 200), "age": rng.normal(size=200)})
    poly = n2p.convert(lambda t: (t["city"] == "x") * 1.0 + t["age"], 1, data=frame)
    with pytest.raises(InvalidInputError, match="without an order"):
        ale(poly, frame, "city")
    assert len(ale(poly, frame, "age", bins=4).counts) == 4


@pytest.mark.parametrize("bins", [[1.0], [0.0, 0.0], [1.0, 0.0], [[0.0, 1.0]]])
def test_edges_that_do_not_increase_are_refused(bins):
    with pytest.raises(InvalidInputError, match="edges of the bins"):
        ale(random_polynomial(0, 2, 1), [[0.0, 1.0], [1.0, 0.0]], 0, bins=bins)


def test_a_bin_without_rows_is_refused_by_name():
    with pytest.raises(InvalidInputError, match="none between 2 and 3"):
        ale(random_polynomial(0, 1, 1), [[0.0], [1.0]], 0, bins=[0.0, 2.0, 3.0])


def test_a_number_cut_into_bins_is_refused_for_what_it_is():
    inputs = Inputs((Column.cut("age", [30.0, 45.0]),))
    poly = n2p.Polynomial.from_terms(["age=[30, 45)"], [1.0], inputs.feature_names)
    poly = replace(poly, inputs=inputs)
    with pytest.raises(InvalidInputError, match="3 bins, and within a bin"):
        ale(poly, pd.DataFrame({"age": [20.0, 35.0, 50.0]}), "age")
