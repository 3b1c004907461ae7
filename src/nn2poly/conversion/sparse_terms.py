"""A budget of terms instead of a degree: `sparse_polynomial`.

Total degree is the wrong budget for real columns: the hour of a day needs degree 16 where most
columns need 1 or 2. `growth` finds the terms, in products of orthonormal polynomials; here they
are fitted to the network's own outputs, and written in plain powers. As all divisors of a term
are there, these are the same terms.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nn2poly.algebra.terms import Listed, Terms
from nn2poly.arrays import FloatArray
from nn2poly.conversion.asked_rows import edge_rows, mixed_rows, shuffled_rows, weighed_down
from nn2poly.conversion.basis import Basis, orthonormal_basis
from nn2poly.conversion.fit_rows import FitRows, stacked
from nn2poly.conversion.growth import Grid, Part, grow, penalty
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.regression import Regression
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs
from nn2poly.sampling import evenly

# Highest degree of a column, and of a term when no other is asked for. Bike sharing, the hour of
# which has 24 values, with 100 terms: .870 with 12, .914 with 16, .918 with 20.
MAX_DEGREE, MAX_ORDER = 16, 20
# Rows that the search looks at, fewer where there are many features: their polynomials take at
# most so many bytes.
SEARCH_ROWS, SEARCH_BYTES = 24_000, 2**28
# Rows for each term below which the network is asked for more, at most so many times the sample.
# California with 1,000 terms .953 without, .961 with 40. On bike the difference (.915 without,
# .913 to .921 with 40) is that between ways of choosing the rows of the search.
ROWS_PER_TERM, TIMES = 40, 3
# Rows with one number at a bound, of the sample: without them 300 and 1,000 terms on California
# (seeds 11 and 10) had an R² of .94 and .95 for .97 and .98.
EDGE_SHARE = 0.25
# Strengths of the last ridge that are tried, relative to orthonormal terms.
STRENGTHS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
# Plain powers may predict otherwise than the basis by so much of an output's deviation.
EXACT = 1e-6


def sparse_polynomial(problem: Problem, max_terms: int, max_order: int = MAX_ORDER) -> Polynomial:
    """Fit a polynomial of few terms, chosen where they matter, to the network's outputs.

    Parameters
    ----------
    max_terms
        Most terms, the constant included.
    max_order
        Highest total degree of a term.

    Returns
    -------
    Polynomial
        With all divisors of each of its terms. Where plain powers lose digits, the degree of a
        column is lowered, and a warning says so.
    """
    inputs = problem.folded_inputs
    highest = min(MAX_DEGREE, max_order)
    for degree in range(highest, 0, -1):
        poly, is_exact = _of_degree(problem, inputs, max_terms, max_order, degree)
        if is_exact:
            break
    if degree < highest:
        warnings.warn(
            f"Powers above {degree} lose digits on these data: no column has a higher one.",
            stacklevel=3,
        )
    return poly


def _of_degree(
    problem: Problem, inputs: Inputs, max_terms: int, max_order: int, degree: int
) -> tuple[Polynomial, bool]:
    """Fit with columns up to a degree; also tell whether plain powers say the same."""
    rows = problem.fit_rows
    basis = orthonormal_basis(inputs.to_working(rows.X), rows.weights, degree)
    task = _Task(problem, inputs, basis, max_terms)
    grid = Grid(basis.degrees, max_order, _apart(problem, inputs))
    fitted, kept = task.sides
    found = grow(task.part(fitted, 0.8), task.part(kept, 0.2), grid, max_terms)
    terms = Listed.of(found, inputs.n_features)
    values = task.solve(terms)
    powers, written = basis.powers(terms, values)
    poly = Polynomial(written, terms=powers, inputs=inputs, outputs=problem.network.outputs)
    return poly, task.agrees(terms, values, poly)


def _apart(problem: Problem, inputs: Inputs) -> list[set[int]]:
    """Give, for each feature, those that never stand with it in a term: levels of its factor."""
    out: list[set[int]] = [set() for _ in range(inputs.n_features)]
    if problem.folded:
        pairs = [(a, b) for group in inputs.indicators() for a in group for b in group if a != b]
        for a, b in (*pairs, *problem.never):
            out[a].add(b)
            out[b].add(a)
    return out


@dataclass(frozen=True)
class _Task:
    """The regression of the outputs on a budget of products of a basis."""

    problem: Problem
    inputs: Inputs
    basis: Basis
    max_terms: int

    @cached_property
    def unit(self) -> FloatArray:
        """Array (k,): the standard deviation of each output; 1 for one that does not vary."""
        rows = self.problem.fit_rows
        truth = self._truth(rows)
        weights = rows.weights / rows.weights.sum()
        spread = np.sqrt(weights @ (truth - weights @ truth) ** 2)
        return np.where(spread > 1e-12 * np.abs(truth).max(axis=0), spread, 1.0)

    def _truth(self, rows: FitRows) -> FloatArray:
        truth = self.problem.truth(rows.X)
        if np.all(np.isfinite(truth)):
            return truth
        raise InvalidInputError(
            "The network's outputs are not finite on all rows.",
            where="data",
            expected="finite outputs",
            found="NaN or infinite values",
            remedy="check the network's weights and the units of the data",
        )

    @cached_property
    def sides(self) -> tuple[FitRows, FitRows]:
        """Rows to fit, and rows kept for choices; the same where rows are too few."""
        rows = self.problem.fit_rows
        kept = rows.fold == rows.fold.min()
        fitted = rows if kept.all() else rows.some(~kept)
        return self._with_shuffled(self._more(fitted)), self._with_shuffled(rows.some(kept))

    def _more(self, rows: FitRows) -> FitRows:
        """Ask the network for rows with some columns from other rows, where rows are few."""
        count = min(ROWS_PER_TERM * self.max_terms - len(rows), TIMES * len(rows))
        return rows if count <= 0 else self._with(rows, mixed_rows(rows, count, self.inputs))

    def _with_shuffled(self, rows: FitRows) -> FitRows:
        """Add rows with every column shuffled, and at the edges: no formula runs away there."""
        edges = edge_rows(rows, self.inputs, share=EDGE_SHARE)
        return self._with(self._with(rows, edges), shuffled_rows(rows, self.inputs))

    def _with(self, rows: FitRows, asked: FitRows) -> FitRows:
        if not len(asked):
            return rows
        real = self.problem.fit_truth
        return stacked([rows, weighed_down(asked, self._truth(asked), real)])

    def part(self, rows: FitRows, share: float) -> Part:
        """Choose rows to search on, evenly."""
        width = self.basis.to_powers[:, :, 0].size
        most = int(share * min(SEARCH_ROWS, SEARCH_BYTES // (8 * width)))
        rows = rows.some(evenly(len(rows), max(most, 1)))
        root = np.sqrt(rows.weights / rows.weights.sum())
        values = self.basis.values(self.inputs.to_working(rows.X))
        return Part(values, root, self._truth(rows) / self.unit * root[:, None])

    def solve(self, terms: Terms) -> FloatArray:
        """Fit all rows, with the strength that does best on those kept: (n_terms, k)."""
        regression = Regression(self.inputs, self.basis, terms)
        fitted, kept = (regression.moments(rows, self._truth(rows)) for rows in self.sides)
        strengths = penalty(terms.orders())
        errors = [kept.error(fitted.ridge(s * strengths), self.unit**2) for s in STRENGTHS]
        best = STRENGTHS[int(np.argmin(errors))]
        return (fitted + kept).ridge(best * strengths)

    def agrees(self, terms: Terms, values: FloatArray, poly: Polynomial) -> bool:
        """Tell whether plain powers predict what the basis does, on the rows to fit."""
        X = self.problem.fit_rows.X
        found = Regression(self.inputs, self.basis, terms).predict(X, values)
        plain = poly.raw_outputs(X)
        return bool(np.all(np.abs(found - plain) <= EXACT * self.unit))
