"""What matters: the one ranking of terms for plots, report and command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.deviations import term_deviations
from nn2poly.formula.largest import largest
from nn2poly.formula.legend import unit_text
from nn2poly.sampling import evenly

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

# Rows on which contributions are measured: a standard deviation of 1,000 is good to 2 or 3 %.
MAX_ROWS = 1_000
DEVIATION = "standard deviation of the contribution"


@dataclass(frozen=True, eq=False)
class Ranking:
    """How much each term matters to each output, and what that is measured by.

    Parameters
    ----------
    sizes
        Array (n_terms, n_outputs), 0 for the intercept, which moves nothing.
    measure, where
        What they are, in words: the standard deviation of the contribution, and over which
        rows; or the absolute coefficient, and per which unit.
    """

    sizes: FloatArray
    measure: str
    where: str

    def places(self, n: int, output: int | None = None) -> IntArray:
        """Give the n terms that matter most, to one output or to all; those that do not, never."""
        size = self.overall if output is None else self.sizes[:, output]
        found = largest(size, n)
        return found[size[found] > 0.0]

    @property
    def overall(self) -> FloatArray:
        """Array (n_terms,): over all outputs, each in units of its largest."""
        norm: FloatArray = np.linalg.norm(self._scaled(), axis=1)
        return norm

    def _scaled(self) -> FloatArray:
        most = self.sizes.max(axis=0, initial=0.0)
        scaled: FloatArray = self.sizes / np.where(most > 0.0, most, 1.0)
        return scaled

    def features(self, poly: Polynomial) -> tuple[int, ...]:
        """Order all features by the sum of squares of their terms, most important first."""
        squared = (self._scaled() ** 2).sum(axis=1)
        total = np.zeros(len(poly.feature_names))
        for here, variables in poly.terms.by_degree():
            for c in range(variables.shape[1]):
                fresh = (variables[:, :c] != variables[:, c : c + 1]).all(axis=1)
                np.add.at(total, variables[fresh, c], squared[here][fresh])
        return tuple(np.argsort(-total, kind="stable").tolist())


def ranking(poly: Polynomial, X: Any = None) -> Ranking:
    """Measure how much each term matters.

    That is the standard deviation of its contribution: over X, or else over the sample of the
    conversion, if the polynomial keeps it. One that was made without data has no sample; then
    it is the absolute coefficient in the polynomial's own coordinates, and the words say so.

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array or data frame (n, p) in raw units, of which at most 1,000 rows, evenly chosen, are
        used; or None.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[9.0], [2.0], [-3.0]], 1, ["a", "b"])
    >>> found = ranking(poly, [[0.0, 1.0], [4.0, 2.0]])
    >>> found.sizes.ravel(), found.places(2), found.measure, found.where
    (array([0. , 4. , 1.5]), array([1, 2]), 'standard deviation of the contribution', 'over X')
    >>> ranking(poly).places(2), ranking(poly).measure, ranking(poly).where
    (array([2, 1]), 'absolute coefficient', 'per raw unit')
    """
    if X is not None:
        rows = poly.inputs.read(X)
        rows = rows[evenly(len(rows), MAX_ROWS)]
        return Ranking(_settled(term_deviations(poly, rows)), DEVIATION, "over X")
    kept = getattr(poly, "deviations", None)
    if kept is not None:
        return Ranking(np.asarray(kept, dtype=np.float64), DEVIATION, "on the sample")
    sizes = np.where(poly.terms.orders()[:, None] == 0, 0.0, np.abs(poly.coefficients))
    return Ranking(sizes, "absolute coefficient", unit_text(poly.inputs))


def _settled(sizes: FloatArray) -> FloatArray:
    """Take what rounding leaves of a term that does not vary for the zero that it is."""
    return np.where(sizes > 1e-12 * sizes.max(axis=0, initial=0.0), sizes, 0.0)
