"""The ridge regression: what it says of rows that are left out equals a fit without them."""

from __future__ import annotations

import numpy as np
import pytest

from nn2poly.fit.regression import Moments
from nn2poly.fit.ridge import STRENGTHS, Judged, Ridge, left_out_together


def moments(matrix, target, weights):
    root = np.sqrt(weights)[:, None]
    rows, left = matrix * root, target * root
    return Moments(rows.T @ rows, rows.T @ left, (left**2).sum(axis=0), float(weights.sum()))


class Case:
    """Rows with weights, of which some are equal and some belong together."""

    def __init__(self, n, m, seed=0):
        rng = np.random.default_rng(seed)
        self.matrix = np.column_stack([np.ones(n), rng.normal(size=(n, m - 1))])
        self.target = rng.normal(size=(n, 2))
        self.weights = rng.uniform(0.5, 2.0, n)
        self.number = rng.random(n)
        self.matrix[10], self.target[10] = self.matrix[11], self.target[11]
        self.number[10] = self.number[11]
        self.number[20:23] = self.number[20]
        self.penalty = np.concatenate([[0.0], rng.uniform(1.0, 3.0, m - 1)])

    @property
    def judged(self):
        unit = self.target.std(axis=0)
        blocks = left_out_together(self.number)
        return Judged(self.matrix, self.target, self.weights, blocks, unit)

    def ridge(self, side):
        if side == "terms":
            return Ridge.of_moments(moments(self.matrix, self.target, self.weights), self.penalty)
        return Ridge.of_rows(self.matrix, self.weights, self.target, self.penalty)

    def without(self, row, strength):
        """Fit without a row and all that go with it, and give what it leaves of the row."""
        kept = self.number != self.number[row]
        weighted = self.matrix[kept] * self.weights[kept, None]
        system = weighted.T @ self.matrix[kept] / self.weights.sum()
        system += np.diag(strength * self.penalty)
        found = np.linalg.solve(system, weighted.T @ self.target[kept] / self.weights.sum())
        return self.target[row] - self.matrix[row] @ found


@pytest.mark.parametrize("side", ["terms", "rows"])
@pytest.mark.parametrize(("n", "m"), [(60, 7), (40, 70)])
def test_residuals_are_those_of_fits_without_the_rows(side, n, m):
    case = Case(n, m)
    found = case.ridge(side).best(case.judged, np.array([0.1]))
    wanted = [case.without(row, 0.1) for row in range(n)]
    assert found.residuals == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-6)


def test_blocks_of_more_rows_than_terms_are_left_out_whole():
    case = Case(60, 7)
    case.number = np.repeat([0.1, 0.2, 0.3, 0.4], 15)
    found = case.ridge("terms").best(case.judged, np.array([0.1]))
    wanted = [case.without(row, 0.1) for row in range(60)]
    assert found.residuals == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("n", "m"), [(60, 7), (40, 70)])
def test_both_sides_give_the_same_coefficients(n, m):
    case = Case(n, m)
    one, other = (case.ridge(side).coefficients(0.01) for side in ("terms", "rows"))
    assert one == pytest.approx(other, rel=1e-9, abs=1e-9)


def test_the_strength_is_the_one_with_the_least_error():
    case = Case(60, 7)
    ridge, unit = case.ridge("terms"), case.target.std(axis=0)
    found = ridge.best(case.judged)

    def error(strength):
        left = ridge.best(case.judged, np.array([strength])).residuals
        return case.weights @ ((left / unit) ** 2).sum(axis=1)

    assert found.strength == min(STRENGTHS, key=error)


def test_what_is_exact_stays_exact():
    case = Case(60, 7)
    case.target = case.matrix @ np.arange(14.0).reshape(7, 2)
    found = case.ridge("terms").best(case.judged)
    assert found.coefficients == pytest.approx(np.arange(14.0).reshape(7, 2), abs=1e-9)


def test_one_large_error_counts_no_more_than_three_deviations():
    case = Case(60, 7)
    residuals = np.zeros((60, 2))
    residuals[5] = 1e6
    assert case.judged.errors(residuals).max() <= 9.0 * case.weights.max() / case.weights.mean()
