"""The ridge regression behind refits, budgets of terms and regions, from sums over rows.

Moments of parts of the rows add up, and leaving a part out is a subtraction, so a strength can be
chosen on rows left out for the price of one pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nn2poly.algebra.terms import Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.basis import Basis, Group, design, term_groups
from nn2poly.inputs import Inputs
from nn2poly.rows.fit_rows import FitRows

# Bytes of the design matrix that is worked on at a time.
BATCH_BYTES = 2**26


@dataclass(frozen=True)
class Moments:
    """Weighted sums over rows of products of terms with terms, with outputs, and of outputs.

    Parameters
    ----------
    gram, cross, square
        Arrays (n, n), (n, k) and (k,).
    weight
        Sum of the weights.
    """

    gram: FloatArray
    cross: FloatArray
    square: FloatArray
    weight: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.gram + other.gram,
            self.cross + other.cross,
            self.square + other.square,
            self.weight + other.weight,
        )

    def scaled(self, factor: float) -> Moments:
        """Multiply all weights."""
        return Moments(
            factor * self.gram, factor * self.cross, factor * self.square, factor * self.weight
        )

    def at(self, places: IntArray) -> Moments:
        """Choose terms, in the order of their places."""
        gram = self.gram[np.ix_(places, places)]
        return Moments(gram, self.cross[places], self.square, self.weight)

    def error(self, c: FloatArray, unit: FloatArray) -> float:
        """Sum the squared errors of coefficients (m, k) of the first m terms, in units (k,)."""
        m = len(c)
        gained = (c * (self.gram[:m, :m] @ c - 2.0 * self.cross[:m])).sum(axis=0)
        return float((np.maximum(self.square + gained, 0.0) / unit).sum())


def shifted(coefficients: FloatArray, level: FloatArray) -> FloatArray:
    """Add a level (k,) to what coefficients (m, k) predict; the first term is constant.

    Examples
    --------
    >>> shifted(np.array([[1.0], [5.0]]), np.array([2.0])).ravel()
    array([3., 5.])
    """
    return np.concatenate([coefficients[:1] + level, coefficients[1:]])


@dataclass(frozen=True)
class Regression:
    """Outputs regressed on products of the polynomials of a basis.

    Parameters
    ----------
    inputs
        What raw features become before the basis sees them.
    basis, terms
        The polynomials of each feature, and which products of them there are.
    """

    inputs: Inputs
    basis: Basis
    terms: Terms

    @cached_property
    def groups(self) -> list[Group]:
        """The terms by their exponents: finding them took half the time of small designs."""
        return term_groups(self.terms)

    def matrices(self, X: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Evaluate the terms on raw rows, batch by batch: which rows, and an array (m, n)."""
        width = max(len(self.terms), self.basis.to_powers[:, :, 0].size)
        step = max(256, BATCH_BYTES // (8 * width))
        for begin in range(0, len(X), step):
            here = slice(begin, begin + step)
            values = self.basis.values(self.inputs.to_working(X[here]))
            yield here, design(self.terms, values, self.groups)

    def moments(self, rows: FitRows, truth: FloatArray) -> Moments:
        """Sum over rows, with their outputs (n, k)."""
        n, k = len(self.terms), truth.shape[1]
        gram, cross = np.zeros((n, n)), np.zeros((n, k))
        for here, matrix in self.matrices(rows.X):
            # The same array on both sides: half the work of another one.
            root = np.sqrt(rows.weights[here, None])
            matrix = matrix * root
            gram += matrix.T @ matrix
            cross += matrix.T @ (root * truth[here])
        return Moments(gram, cross, rows.weights @ truth**2, float(rows.weights.sum()))

    def predict(self, X: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Evaluate coefficients (n_terms, k) on raw rows: (n, k)."""
        parts = [matrix @ coefficients for _, matrix in self.matrices(X)]
        return np.concatenate([np.zeros((0, coefficients.shape[1])), *parts])
