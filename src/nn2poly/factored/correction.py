"""`Correction`: terms that are added to what the layers of a polynomial network give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.graded import Blocks
from nn2poly.algebra.monomials import count_degree, rank
from nn2poly.algebra.terms import Terms, collect
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.evaluate import evaluate


@dataclass(frozen=True)
class Correction:
    """A polynomial in working coordinates.

    Parameters
    ----------
    terms, coefficients
        The terms, and an array (n_terms, n_outputs).

    Examples
    --------
    >>> from nn2poly.algebra.terms import Listed
    >>> two = Correction(Listed.of([(), (0, 1)], 2), np.array([[1.0], [3.0]]))
    >>> two.values(np.array([[2.0, 5.0]])), two.coefficient((0, 1)), two.coefficient((0,))
    (array([[31.]]), array([3.]), array([0.]))
    """

    terms: Terms
    coefficients: FloatArray

    def values(self, z: FloatArray) -> FloatArray:
        """Evaluate on rows (n, p), in their precision: an array (n, n_outputs)."""
        return evaluate(self.terms, self.coefficients, z)

    def parts(self, z: FloatArray, max_order: int) -> FloatArray:
        """Evaluate the parts of degree 0 … max_order: an array (max_order + 1, n, n_outputs)."""
        totals = np.zeros((max_order + 1, len(z), self.coefficients.shape[1]))
        for degree in range(min(max_order, self.terms.max_order) + 1):
            upper = self.terms.up_to(degree)
            here = slice(self.terms.ends[degree], self.terms.ends[degree + 1])
            block = np.zeros((len(upper), totals.shape[2]))
            block[here] = self.coefficients[here]
            totals[degree] = evaluate(upper, block, z)
        return totals

    def block(self, degree: int) -> FloatArray:
        """Write one degree in the graded basis: an array (N_degree, n_outputs)."""
        p = self.terms.n_features
        out = np.zeros((count_degree(p, degree), self.coefficients.shape[1]))
        if degree <= self.terms.max_order:
            here = slice(self.terms.ends[degree], self.terms.ends[degree + 1])
            out[rank(self.terms.block(degree), p)] = self.coefficients[here]
        return out

    def added_to(self, blocks: Blocks) -> Blocks:
        """Add to degree blocks (N_d, n_outputs), d = 0, 1, …."""
        return [block + self.block(degree) for degree, block in enumerate(blocks)]

    def coefficient(self, variables: Sequence[int]) -> FloatArray:
        """Give the coefficients (n_outputs,) of the product of some variables."""
        term = tuple(variables)
        if term not in self.terms:
            return np.zeros(self.coefficients.shape[1])
        found: FloatArray = self.coefficients[self.terms.index(term)]
        return found

    def plus(self, other: Correction) -> Correction:
        """Add two corrections of the same features."""
        order = max(self.terms.max_order, other.terms.max_order)
        parts = [
            (rows, each.coefficients[here])
            for each in (self, other)
            for here, rows in each.terms.by_degree()
        ]
        summed = collect(parts, self.terms.n_features, self.coefficients.shape[1], order)
        return Correction(*summed)

    def of(self, variables: IntArray) -> Correction:
        """Put the features in another order: the new feature i is the old ``variables[i]``."""
        new = np.empty(self.terms.n_features, dtype=np.intp)
        new[variables] = np.arange(len(variables))
        parts = [
            (np.sort(new[rows], axis=1), self.coefficients[here])
            for here, rows in self.terms.by_degree()
        ]
        width = self.coefficients.shape[1]
        return Correction(*collect(parts, len(variables), width, self.terms.max_order))
