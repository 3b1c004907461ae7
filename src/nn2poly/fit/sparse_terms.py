"""A budget of terms instead of a degree: `sparse_polynomial`; `sparsity` shows the way there.

Total degree is the wrong budget for real columns: the hour of a day needs degree 16 where most
columns need 1 or 2. `growth` finds the terms, in products of orthonormal polynomials; here they
are fitted to the network's own outputs, and written in plain powers. As all divisors of a term
are there, these are the same terms.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from nn2poly.algebra.terms import Listed, Term
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.fit.asked_rows import Answered, edge_rows, mixed_rows, shuffled_rows, weighed_down
from nn2poly.fit.basis import Basis, orthonormal_basis
from nn2poly.fit.growth import PATIENCE, Grid, Part, grow, penalty
from nn2poly.fit.identify import complete_factors
from nn2poly.fit.problem import Problem
from nn2poly.fit.regression import Regression, shifted
from nn2poly.fit.ridge import STRENGTHS, Ridge
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs
from nn2poly.rows.fit_rows import FitRows, stacked
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
# Plain powers may predict otherwise than the basis by so much of an output's deviation.
EXACT = 1e-6
# Units in the last place of the largest output that sums of some dozen terms lose.
ROUNDED = 16


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
    highest = min(MAX_DEGREE, max_order)
    for degree in range(highest, 0, -1):
        poly, is_exact = _of_degree(problem, max_terms, max_order, degree)
        if is_exact:
            break
    if degree < highest:
        warnings.warn(
            f"Powers above {degree} lose digits on these data: no column has a higher one.",
            stacklevel=3,
        )
    return poly


def _of_degree(
    problem: Problem, max_terms: int, max_order: int, degree: int
) -> tuple[Polynomial, bool]:
    """Fit with columns up to a degree; also tell whether plain powers say the same."""
    inputs, X = problem.folded_inputs, problem.fit_rows.X
    sample = Answered(problem.fit_rows, problem.fit_truth)
    task = Budget(sample, problem.truth, inputs, max_terms, degree)
    found, best = task.grow(max_order, _allows(problem, inputs))
    terms, places = listed(found[:best], inputs.n_features)
    values = np.empty((best, problem.network.n_outputs))
    values[places] = task.fits(found[:best], [best])[0]
    powers, written = task.basis.powers(terms, values)
    poly = Polynomial(written, terms=powers, inputs=inputs, outputs=problem.network.outputs)
    apart = np.abs(Regression(inputs, task.basis, terms).predict(X, values) - poly.raw_outputs(X))
    # Sums of large outputs are themselves rounded.
    rounded = ROUNDED * np.finfo(float).eps * np.abs(sample.truth).max(axis=0)
    return poly, bool(np.all(apart <= EXACT * task.unit + rounded))


def _allows(problem: Problem, inputs: Inputs) -> Callable[[Term], bool]:
    """Give what tells whether a term may come.

    Levels of one factor exclude each other. Of two levels that rows show the rarer one says all:
    which of them explains more would be left to the last digit of a sum.
    """
    pairs = [(a, b) for group in inputs.indicators() for a in group for b in group if a != b]
    apart = {frozenset(pair) for pair in (*pairs, *problem.never)} if problem.folded else set()
    factors = complete_factors(inputs, problem).items()
    two = [(places, shares) for places, shares in factors if np.count_nonzero(shares) == 2]
    common = {places[int(np.argmax(shares))] for places, shares in two}
    return lambda term: (
        common.isdisjoint(term)
        and (not apart or apart.isdisjoint(map(frozenset, combinations(set(term), 2))))
    )


def listed(found: Sequence[Term], n_features: int) -> tuple[Listed, IntArray]:
    """Sort terms; also give the place of each.

    Examples
    --------
    >>> listed([(), (1,), (0,)], 2)
    (Listed([(), (0,), (1,)]), array([0, 2, 1]))
    """
    terms = Listed.of(found, n_features)
    place = {term: number for number, term in enumerate(terms)}
    return terms, np.array([place[term] for term in found], dtype=np.intp)


@dataclass(frozen=True)
class Budget:
    """The regression of the outputs on a budget of products of a basis.

    Parameters
    ----------
    sample
        Rows of the sample.
    ask
        Gives the outputs (n, k) on other rows (n, p).
    inputs
        What the rows become before the basis sees them.
    max_terms, max_degree
        Most terms, and the highest power of a column.
    """

    sample: Answered
    ask: Callable[[FloatArray], FloatArray]
    inputs: Inputs
    max_terms: int
    max_degree: int

    @cached_property
    def basis(self) -> Basis:
        """The polynomials of each feature."""
        rows = self.sample.rows
        return orthonormal_basis(self.inputs.to_working(rows.X), rows.weights, self.max_degree)

    @cached_property
    def unit(self) -> FloatArray:
        """Array (k,): the standard deviation of each output; 1 for one that does not vary."""
        weights, truth = self.sample.rows.weights, _finite(self.sample.truth)
        weights = weights / weights.sum()
        spread = np.sqrt(weights @ (truth - weights @ truth) ** 2)
        return np.where(spread > 1e-12 * np.abs(truth).max(axis=0), spread, 1.0)

    @cached_property
    def level(self) -> FloatArray:
        """Array (k,): the mean outputs, around which terms are fitted, as in `TermFit.level`."""
        weights = self.sample.rows.weights
        return np.asarray(weights @ self.sample.truth / weights.sum())

    @cached_property
    def sides(self) -> tuple[Answered, Answered]:
        """Rows to fit, and rows kept for choices; the same where rows are too few."""
        fold = self.sample.rows.fold
        kept = fold == fold.min()
        fitted = self.sample if kept.all() else self.sample.some(~kept)
        return self._with_shuffled(self._more(fitted)), self._with_shuffled(self.sample.some(kept))

    def _more(self, real: Answered) -> Answered:
        """Ask the network for rows with some columns from other rows, where rows are few."""
        n = len(real.rows)
        count = min(ROWS_PER_TERM * self.max_terms - n, TIMES * n)
        return real if count <= 0 else self._with(real, mixed_rows(real.rows, count, self.inputs))

    def _with_shuffled(self, real: Answered) -> Answered:
        """Add rows with every column shuffled, and at the edges: no formula runs away there."""
        edges = edge_rows(real.rows, self.inputs, share=EDGE_SHARE)
        return self._with(self._with(real, edges), shuffled_rows(real.rows, self.inputs))

    def _with(self, real: Answered, asked: FitRows) -> Answered:
        if not len(asked):
            return real
        truth = _finite(self.ask(asked.X))
        asked = weighed_down(asked, truth, self.sample.truth)
        return Answered(stacked([real.rows, asked]), np.concatenate([real.truth, truth]))

    def grow(
        self, max_order: int, allows: Callable[[Term], bool], patience: float = PATIENCE
    ) -> tuple[list[Term], int]:
        """Find terms up to an order, as `growth.grow` does."""
        fitted, kept = (self._part(*side) for side in zip(self.sides, (0.8, 0.2), strict=True))
        return grow(
            fitted, kept, Grid(self.basis.degrees, max_order, allows), self.max_terms, patience
        )

    def _part(self, side: Answered, share: float) -> Part:
        """Choose rows to search on, evenly."""
        width = self.basis.to_powers[:, :, 0].size
        most = int(share * min(SEARCH_ROWS, SEARCH_BYTES // (8 * width)))
        side = side.some(evenly(len(side.rows), max(most, 1)))
        root = np.sqrt(side.rows.weights / side.rows.weights.sum())
        values = self.basis.values(self.inputs.to_working(side.rows.X))
        return Part(values, root, self._around(side) / self.unit * root[:, None])

    def fits(self, found: Sequence[Term], sizes: Iterable[int]) -> list[FloatArray]:
        """Fit the first so many of some terms, each with the strength that does best on rows kept.

        Gives coefficients (size, k) in the basis, in the order of the terms.
        """
        terms, places = listed(found, self.inputs.n_features)
        regression = Regression(self.inputs, self.basis, terms)
        sums = [regression.moments(s.rows, self._around(s)).at(places) for s in self.sides]
        fitted, kept, whole = *sums, sums[0] + sums[1]
        strengths = penalty(np.array([len(term) for term in found]))
        out = []
        for size in sizes:
            here, first = strengths[:size], np.arange(size)
            inner, every = (Ridge.of_moments(s.at(first), here) for s in (fitted, whole))
            errors = [kept.error(inner.coefficients(s), self.unit**2) for s in STRENGTHS]
            best = float(STRENGTHS[int(np.argmin(errors))])
            out.append(shifted(every.coefficients(best), self.level))
        return out

    def _around(self, side: Answered) -> FloatArray:
        """Give outputs (n, k) as they are fitted."""
        return side.truth - self.level


def _finite(truth: FloatArray) -> FloatArray:
    if np.all(np.isfinite(truth)):
        return truth
    raise InvalidInputError(
        "The network's outputs are not finite on all rows.",
        where="data",
        expected="finite outputs",
        found="NaN or infinite values",
        remedy="check the network's weights and the units of the data",
    )
