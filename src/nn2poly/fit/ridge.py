"""A ridge regression, and how far it is from rows that it has not seen.

One eigendecomposition gives the fits of all strengths. It also gives the residual that each row
would have if it were left out: its own, divided by what its leverage leaves of it. Strengths,
bounds and weights are chosen by these residuals, so they are chosen for the very fit that is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.regression import Moments

# Strengths that are tried, relative to terms of unit size: from no shrinkage to hardly any term.
STRENGTHS = np.array([0.0, *10.0 ** np.arange(-8.0, 2.1, 0.5)])
# An order is shrunk so many times as much as the one below.
GROWTH = 3.0
# Directions below this share of the largest are rounding.
SMALLEST = 1e-13
# What a row leaves to the others, of 1, is not less: else it has a direction of its own.
NOTHING_LEFT = 1e-9
# An error of more standard deviations counts as so many where fits are compared: no single row
# decides (taste).
LARGEST = 3.0


def shrinkage(degrees: IntArray) -> FloatArray:
    """Give what terms of these degrees are shrunk: the constant is free, each order more."""
    return np.where(degrees == 0, 0.0, GROWTH ** (degrees - 1.0))


@dataclass(frozen=True)
class Judged:
    """Rows of the sample that say how far off a fit is that was made without them.

    Parameters
    ----------
    matrix, target
        Arrays (n, m) and (n, k): the terms, the constant first, and the outputs.
    weights
        Array (n,).
    blocks
        Places of rows that are left out together, from `left_out_together`.
    unit
        Array (k,): the standard deviation of each output.
    """

    matrix: FloatArray
    target: FloatArray
    weights: FloatArray
    blocks: list[IntArray]
    unit: FloatArray

    def errors(self, residuals: FloatArray, largest: float = LARGEST) -> FloatArray:
        """Give the squared error (n,) of each row in units, times its weight; none is large."""
        squares = np.minimum(np.abs(residuals) / self.unit, largest) ** 2
        return np.asarray(squares.mean(axis=1) * self.weights / self.weights.mean())


def left_out_together(number: FloatArray) -> list[IntArray]:
    """Give the places (c, g) of rows (n,) with equal numbers, g at a time; others are left.

    Examples
    --------
    >>> left_out_together(np.array([0.1, 0.3, 0.1, 0.2]))
    [array([[0, 2]])]
    """
    _, group, counts = np.unique(number, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    of_order = counts[group[order]]
    sizes = np.unique(counts[counts > 1]).tolist()
    return [order[of_order == size].reshape(-1, size) for size in sizes]


@dataclass(frozen=True)
class Fit:
    """Coefficients, and what they leave of rows that were left out.

    Parameters
    ----------
    coefficients
        Array (m, k).
    strength
        Of the ridge.
    residuals
        Array (n, k): of each judged row, from the fit without it.
    errors
        Array (n,): what `Judged.errors` makes of them.
    whole
        The same where errors count however large they are.
    """

    coefficients: FloatArray
    strength: float
    residuals: FloatArray
    errors: FloatArray
    whole: FloatArray

    @property
    def error(self) -> float:
        """Share of the variance that is left."""
        return float(self.errors.mean())


@dataclass(frozen=True)
class Ridge:
    """Ridge regressions of all strengths; the first term is constant and not shrunk.

    Parameters
    ----------
    center, level
        Arrays (m - 1,) and (k,): means of the terms and of the outputs.
    values, vectors
        Arrays (r,) and (m - 1, r): the directions in which the terms vary, and how much.
    projected
        Array (r, k): the outputs along these directions.
    weight
        Sum of the weights of all rows.
    """

    center: FloatArray
    level: FloatArray
    values: FloatArray
    vectors: FloatArray
    projected: FloatArray
    weight: float

    @classmethod
    def of_moments(cls, sums: Moments, penalty: FloatArray) -> Ridge:
        """Decompose moments (m, m) of terms that are shrunk by a penalty (m,)."""
        size, center = np.sqrt(penalty[1:]), sums.gram[0, 1:] / sums.weight
        level = sums.cross[0] / sums.weight
        gram = sums.gram[1:, 1:] / sums.weight - np.outer(center, center)
        cross = sums.cross[1:] / sums.weight - np.outer(center, level)
        values, vectors = np.linalg.eigh(gram / size[:, None] / size)
        used = values > SMALLEST * values.max(initial=1e-300)
        values, vectors = values[used], vectors[:, used] / size[:, None]
        return cls(center, level, values, vectors, vectors.T @ cross, sums.weight)

    @classmethod
    def of_rows(
        cls, matrix: FloatArray, weights: FloatArray, target: FloatArray, penalty: FloatArray
    ) -> Ridge:
        """Decompose rows (n, m) where they are fewer than the terms."""
        weight = float(weights.sum())
        shares, size = weights / weight, np.sqrt(penalty[1:])
        center, level = shares @ matrix[:, 1:], shares @ target
        root = np.sqrt(shares)[:, None]
        rows = (matrix[:, 1:] - center) * root / size
        values, sides = np.linalg.eigh(rows @ rows.T)
        used = values > SMALLEST * values.max(initial=1e-300)
        values, sides = values[used], sides[:, used]
        vectors = rows.T @ (sides / np.sqrt(values)) / size[:, None]
        projected = np.sqrt(values)[:, None] * (sides.T @ ((target - level) * root))
        return cls(center, level, values, vectors, projected, weight)

    def coefficients(self, strength: float) -> FloatArray:
        """Give the coefficients (m, k) of one strength."""
        found = self.vectors @ (self.projected / (self.values + strength)[:, None])
        return np.vstack([self.level - self.center @ found, found])

    def best(self, judged: Judged, strengths: FloatArray = STRENGTHS) -> Fit:
        """Give the fit of the strength that does best on rows, each of which it is made without."""
        rotated = (judged.matrix[:, 1:] - self.center) @ self.vectors
        shares, target = judged.weights / self.weight, judged.target - self.level
        inverse = 1.0 / (self.values[:, None] + strengths)
        alone = np.maximum(1.0 - shares[:, None] * (1.0 + rotated**2 @ inverse), NOTHING_LEFT)
        best, residuals, place = np.inf, target, 0
        for number, factors in enumerate(inverse.T):
            apart = target - rotated @ (factors[:, None] * self.projected)
            left_out = apart / alone[:, number, None]
            for block in judged.blocks:
                left_out[block] = _together(apart[block], rotated[block], shares[block], factors)
            score = float(judged.weights @ ((left_out / judged.unit) ** 2).sum(axis=1))
            if score < best:
                best, residuals, place = score, left_out, number
        strength = float(strengths[place])
        errors = judged.errors(residuals), judged.errors(residuals, np.inf)
        return Fit(self.coefficients(strength), strength, residuals, *errors)


def _together(
    apart: FloatArray, rotated: FloatArray, shares: FloatArray, factors: FloatArray
) -> FloatArray:
    """Give the residuals (c, g, k) of blocks of rows, had each block been left out.

    With R the rows of a block, the constant among them, and F what the ridge makes of each
    direction, they are the residuals times the inverse of 1 - R F R'. A large block inverts
    1/F - R'R instead, on the smaller side (Woodbury).
    """
    root = np.sqrt(shares)[:, :, None]
    rows = np.concatenate([root, rotated * root], axis=2)
    both, left = np.append(1.0, factors), apart * root
    if rows.shape[1] <= rows.shape[2]:
        system = (1.0 + NOTHING_LEFT) * np.eye(rows.shape[1]) - (rows * both) @ rows.swapaxes(1, 2)
        return np.asarray(np.linalg.solve(system, left) / root)
    system = np.diag((1.0 + NOTHING_LEFT) / both) - rows.swapaxes(1, 2) @ rows
    moved = np.linalg.solve(system, rows.swapaxes(1, 2) @ left)
    return np.asarray((left + rows @ moved) / root)
