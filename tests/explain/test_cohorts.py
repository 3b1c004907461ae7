"""Cohort Shapley values: rows as they are, against all coalitions written out."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain
from nn2poly.errors import InvalidInputError
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Inputs

rng = np.random.default_rng(0)
A = rng.normal(size=80)
ROWS = np.column_stack(
    [A, A + 0.3 * rng.normal(size=80), rng.random(80) < 0.4, rng.normal(size=80)]
)
NAMES = ["a", "b", "yes", "d"]
CURVED = n2p.Polynomial.from_terms(
    ["1", "a", "a b", "yes d", "d^2"], [1.0, 2.0, -1.0, 3.0, 0.5], NAMES
)
LINE = n2p.Polynomial.from_terms(["b", "d"], [2.0, -1.0], NAMES)
PIECES = n2p.PiecewisePolynomial(Split(0, 0.1, left=Leaf(0), right=Leaf(1)), (LINE, CURVED))


def midranks(values):
    return np.array([((values < v).sum() + (values <= v).sum()) / 2 / len(values) for v in values])


def by_hand(poly, x, rows, reach=0.1):
    """Sum over all coalitions, as the definition says, for a row that is one of the rows."""
    here = int(np.flatnonzero((rows == x).all(axis=1))[0])
    ranks = np.column_stack([midranks(column) for column in rows.T])
    near = (np.abs(ranks - ranks[here]) <= reach + 1e-12) | (rows == x)
    outputs, p = poly.raw_outputs(rows)[:, 0], rows.shape[1]

    def worth(coalition):
        if len(coalition) == p:
            return outputs[here]
        return outputs[near[:, list(coalition)].all(axis=1)].mean()

    values = np.zeros(p)
    for i in range(p):
        for size in range(p):
            share = factorial(size) * factorial(p - size - 1) / factorial(p)
            for others in combinations([j for j in range(p) if j != i], size):
                values[i] += share * (worth((*others, i)) - worth(others))
    return values


@pytest.mark.parametrize("poly", [CURVED, LINE, PIECES], ids=["products", "line", "regions"])
def test_the_values_are_those_of_all_coalitions_written_out(poly):
    found = explain.cohort_shapley(poly, ROWS[:3], ROWS)
    for values, x in zip(found.values[:, :, 0], ROWS[:3], strict=True):
        np.testing.assert_allclose(values, by_hand(poly, x, ROWS), atol=1e-12)


def test_they_add_up_to_the_prediction_of_any_row():
    new = np.array([[9.0, -9.0, 1.0, 0.0], [0.0, 0.1, 0.0, 0.2]])
    found = explain.cohort_shapley(CURVED, new, ROWS)
    np.testing.assert_allclose(found.total, CURVED.raw_outputs(new), atol=1e-12)
    np.testing.assert_allclose(found.base_values, CURVED.raw_outputs(ROWS).mean(axis=0))


def test_no_prediction_is_made_for_a_row_that_does_not_exist():
    """Far from the rows the formula may be anything: interventional values see it, these do not."""
    wild = n2p.Polynomial.from_terms(["a", "a^2", "a b"], [1.0, 900.0, -900.0], NAMES)
    tame = n2p.Polynomial.from_terms(["a"], [1.0], NAMES)
    X = ROWS.copy()
    X[:, 1] = X[:, 0]  # 900 a (a - b) is nothing on the rows
    pair = [explain.cohort_shapley(poly, X[:5], X).values for poly in (wild, tame)]
    np.testing.assert_allclose(pair[0], pair[1], atol=1e-9)
    away = [explain.shapley(poly, X[:5], X).values for poly in (wild, tame)]
    assert np.abs(away[0] - away[1]).max() > 100


def test_a_column_that_the_formula_does_not_use_shares_what_it_tells():
    X = ROWS.copy()
    X[:, 1] = X[:, 0]
    poly = n2p.Polynomial.from_terms(["a"], [1.0], NAMES)
    values = explain.cohort_shapley(poly, X, X).values[:, :, 0]
    np.testing.assert_allclose(values[:, 0], values[:, 1], atol=1e-12)
    assert values[:, 0].std() > 0.3


def test_of_independent_columns_they_are_close_to_interventional_ones():
    X = np.random.default_rng(1).normal(size=(8000, 2))
    poly = n2p.Polynomial.from_terms(["a", "b", "a b"], [1.0, 2.0, 0.5], ["a", "b"])
    near = explain.cohort_shapley(poly, X[:20], X, reach=0.02).values
    exact = explain.shapley(poly, X[:20], X).values
    assert np.abs(near - exact).max() < 0.2 * exact.std()


def test_a_factor_is_one_player_and_its_levels_are_alike_where_they_are_the_same():
    inputs = Inputs((Column.factor("town", ["x", "y", "z"]), Column("size")))
    poly = n2p.Polynomial([[0.0], [1.0], [5.0], [2.0], [3.0]], 1, inputs=inputs)
    towns = np.eye(3)[np.arange(60) % 3]
    X = np.column_stack([towns, np.random.default_rng(2).normal(size=60)])
    found = explain.cohort_shapley(poly, X[:6], X)
    assert found.feature_names == ("town", "size")
    np.testing.assert_allclose(found.total, poly.raw_outputs(X[:6]), atol=1e-12)
    assert found.values[1, 0, 0] == pytest.approx(5.0 - 8.0 / 3.0, abs=1.0)


def test_some_columns_are_asked_about_and_the_others_are_one():
    found = explain.cohort_shapley(CURVED, ROWS[:4], ROWS, columns=["a", "d"])
    assert found.feature_names == ("a", "d", "other columns")
    # What the two tell together is the mean of their cohort.
    ranks = np.column_stack([midranks(ROWS[:, j]) for j in (0, 3)])
    near = (np.abs(ranks - ranks[0]) <= 0.1 + 1e-12).all(axis=1)
    told = CURVED.raw_outputs(ROWS)[near].mean() - CURVED.raw_outputs(ROWS).mean()
    assert found.values[0, :2].sum() == pytest.approx(told)
    np.testing.assert_allclose(found.total, CURVED.raw_outputs(ROWS[:4]), atol=1e-12)
    assert str(found).startswith("Cohort Shapley values: root mean square over 4 rows")


def test_too_many_columns_and_a_reach_that_is_none_are_refused():
    names = [f"x{j}" for j in range(17)]
    poly = n2p.Polynomial.from_terms(["x1"], [1.0], names)
    X = np.zeros((3, 17))
    with pytest.raises(InvalidInputError, match="too many") as caught:
        explain.cohort_shapley(poly, X, X)
    assert "columns=" in caught.value.remedy
    for bad in (-0.1, 1.5, "wide", True, np.nan):
        with pytest.raises(InvalidInputError, match="reach"):
            explain.cohort_shapley(LINE, ROWS, ROWS, reach=bad)
