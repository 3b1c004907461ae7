"""Refit the written terms to the network's own outputs, without a cliff.

A calibration follows the network layer by layer and never sees the terms. Once they are written
out, a ridge regression of the outputs on the terms adds what the layers could not. It works in
products of orthonormal polynomials (`basis`), shrinks towards what is known so far, and chooses
its strength on rows that it does not fit (`strengths`):

- order after order, the fit of order d is shrunk towards that of order d - 1, so that a higher
  order is never worse on the rows kept for choices;
- at the last order it may be shrunk towards the calibrated coefficients instead, which is what
  helps where rows are few, or, in powers on [-1, 1], towards none;
- where rows are few for each term, the network is asked for more (`asked_rows`);
- where terms are too many for their moments, the lower orders are fitted so, and conjugate
  gradients go on from there, as long as rows left out gain by it (`gradients`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded, Listed, Terms, collect
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.conversion.asked_rows import mixed_rows, shuffled_rows, weighed_down
from nn2poly.conversion.basis import orthonormal_basis
from nn2poly.conversion.classifiers import closest, less_where_far, near_decision
from nn2poly.conversion.correction import Correction
from nn2poly.conversion.fit_rows import FitRows
from nn2poly.conversion.gradients import descend
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.regression import Moments, Regression
from nn2poly.conversion.strengths import UNCHANGED, Choice, OrderRidges, shrinkage, typical
from nn2poly.errors import InvalidInputError
from nn2poly.formula.fold import fold_terms
from nn2poly.formula.polynomial import Polynomial

# Terms up to which the moments are summed: 128 MB, solved in about a second. More are refitted by
# conjugate gradients.
MAX_TERMS = 4_000
# All terms of an order are fitted up to so many, before indicators are folded: the design matrix of
# as many takes a gigabyte on 1,000 rows.
MAX_LISTED = 200_000
# Up to so many terms every fold is left out in turn, else the first alone: by one fold, order 4 on
# California chose a strength that cost .004 (seeds 0 and 1).
ALL_FOLDS_TERMS = 600
# Rows for each term below which the network is asked for more, at most so many times the sample.
ROWS_PER_TERM, TIMES = 10, 3
# Times their weight that shuffled rows may weigh, as long as rows of the sample lose no more of R².
# On them order 4 on California (seeds 0 and 1, three activations) has .7 to .9 for .65 to .80.
# Of fewer rows the loss is not known well enough.
SHUFFLED_TIMES, COST, ROWS_TO_WEIGH = (0.5, 1.0, 3.0, 10.0), 0.0015, 2_000
# Times that rows weigh less which the fit of a classifier is far from; the last brings 1 %.
FAR_ROUNDS = 3


@dataclass(frozen=True)
class _Solution:
    """Coefficients (n_terms, k), None for the calibrated ones; inner: without the first fold."""

    coefficients: FloatArray | None
    inner: FloatArray


@dataclass(frozen=True)
class _Side:
    """Moments of rows to fit, and of a fold that judges them.

    Parameters
    ----------
    fitted, held
        Rows of the sample; those to fit with more that the network was asked for.
    shuffled_in, shuffled_out
        Rows with every column from other rows: to fit, and to judge.
    """

    fitted: Moments
    held: Moments
    shuffled_in: Moments
    shuffled_out: Moments

    def pair(self, times: float) -> tuple[Moments, Moments]:
        """Give what is fitted and what judges, with shuffled rows of so many times their weight."""
        fitted = self.fitted + self.shuffled_in.scaled(times)
        return fitted, self.held + self.shuffled_out.scaled(times)


def refit_terms(poly: Polynomial, problem: Problem) -> Polynomial:
    """Refit the coefficients to the network's outputs, where that helps on rows left out.

    Parameters
    ----------
    poly
        The polynomial, with all divisors of its terms.

    Returns
    -------
    Polynomial
        The same one when there are too few rows to choose on, or when nothing is gained.
    """
    rows = problem.fit_rows
    if poly.max_order < 1 or not can_refit(problem):
        return poly
    z = poly.inputs.to_working(rows.X)
    basis = orthonormal_basis(z, rows.weights, poly.max_order)
    terms = poly.terms.at(basis.carried(poly.terms))
    prior = _aligned(terms, *basis.products(poly.terms, poly.coefficients))
    found = _Fit(Regression(poly.inputs, basis, terms), problem, prior).best()
    if found is None:
        return poly
    fitted = Correction(*basis.powers(terms, found))
    # The mean of equal values may be another number by rounding: 0 is not asked for.
    flat = _of_flat_columns(poly, np.ptp(z, axis=0) == 0.0)
    whole = fitted if flat is None else fitted.plus(flat)
    return _with_terms(poly, whole.terms, whole.coefficients)


def can_refit(problem: Problem) -> bool:
    """Tell whether there are rows enough to choose on, and outputs that are finite and vary."""
    rows = problem.fit_rows
    few = len(rows) < 2 * max(2, len(np.unique(rows.fold)))
    return not few and _varies(problem.fit_truth)


def _varies(truth: FloatArray) -> bool:
    """Tell whether outputs are finite, and one of them is more than a constant and rounding."""
    if not np.all(np.isfinite(truth)):
        return False
    return bool(np.any(np.ptp(truth, axis=0) > 1e-12 * np.abs(truth).max(axis=0)))


def _of_flat_columns(poly: Polynomial, is_flat: BoolArray) -> Correction | None:
    """Keep what a calibration says of features that do not vary: it was not refitted."""
    if not is_flat.any():
        return None
    places = [k for k, term in enumerate(poly.terms) if any(is_flat[j] for j in term)]
    kept = poly.terms.at(np.array(places, dtype=np.intp))
    return Correction(kept, poly.coefficients[places])


def fit_terms(problem: Problem, max_order: int) -> Polynomial:
    """Fit all terms up to an order to the network's outputs, without a calibration before.

    Parameters
    ----------
    max_order
        Total order Q.

    Returns
    -------
    Polynomial
        In the inputs of the problem, which may be functions of the columns.
    """
    inputs, rows = problem.folded_inputs, problem.fit_rows
    few = len(rows) < 2 * max(2, len(np.unique(rows.fold)))
    if few or not np.all(np.isfinite(problem.fit_truth)):
        raise _unfit(len(rows))
    terms = _all_terms(problem, max_order)
    basis = orthonormal_basis(inputs.to_working(rows.X), rows.weights, max_order)
    terms = terms.at(basis.carried(terms))
    nothing = np.zeros((len(terms), problem.network.n_outputs))
    found = _Fit(Regression(inputs, basis, terms), problem, nothing, calibrated=False).best()
    if found is None:
        raise _unfit(len(rows))
    powers, values = basis.powers(terms, found)
    full = len(powers) == count_terms(inputs.n_features, max_order)
    kept: Terms = Graded(inputs.n_features, max_order) if full else powers
    return Polynomial(values, terms=kept, inputs=inputs, outputs=problem.network.outputs)


def _all_terms(problem: Problem, max_order: int) -> Terms:
    """Give all terms up to an order that do not vanish."""
    inputs = problem.network.inputs
    count = count_terms(inputs.n_features, max_order)
    if count > MAX_LISTED:
        raise _too_many(count, max_order)
    terms: Terms = Graded(inputs.n_features, max_order)
    if groups := inputs.indicators() if problem.folded else []:
        terms, _ = fold_terms(terms, np.zeros((count, 1)), groups, problem.never)
    return terms


def _too_many(count: int, max_order: int) -> InvalidInputError:
    return InvalidInputError(
        "A formula of outputs alone is fitted term by term, and has too many.",
        where="max_order",
        expected=f"at most {MAX_LISTED:,} terms",
        found=f"{count:,} of order {max_order}",
        remedy="lower max_order, or give a budget: max_terms=300",
    )


def _unfit(count: int) -> InvalidInputError:
    return InvalidInputError(
        "The terms cannot be fitted to this sample.",
        where="data",
        expected="rows, hundreds if possible, on which the network's outputs are finite",
        found=f"{count:,} rows to fit",
        remedy="pass more rows, or check their units",
    )


def _aligned(terms: Terms, found: Listed, values: FloatArray) -> FloatArray:
    """Put coefficients in the order of the terms; others are left out."""
    out = np.zeros((len(terms), values.shape[1]))
    parts = [(rows, np.zeros((len(rows), values.shape[1]))) for _, rows in terms.by_degree()]
    parts += [(rows, values[here]) for here, rows in found.by_degree()]
    order = max(terms.max_order, found.max_order)
    union, summed = collect(parts, terms.n_features, values.shape[1], order)
    if len(union) == len(terms):
        return summed
    place = {term: k for k, term in enumerate(union)}
    for k, term in enumerate(terms):
        out[k] = summed[place[term]]
    return out


def _with_terms(poly: Polynomial, terms: Terms, values: FloatArray) -> Polynomial:
    """Give the polynomial other terms and coefficients; all of an order are graded again."""
    full = len(terms) == count_terms(poly.n_features, poly.max_order)
    kept: Terms = Graded(poly.n_features, poly.max_order) if full else terms
    return replace(poly, terms=kept, coefficients=values, card=None, deviations=None)


@dataclass(frozen=True)
class _Fit:
    """A regression of the problem's outputs, on what a calibration said or on nothing.

    Parameters
    ----------
    prior
        Array (n_terms, k): the calibrated coefficients; 0 without a calibration.
    calibrated
        Whether there is a calibration.
    held
        Whether the outputs at inputs held at their bounds are followed.
    """

    regression: Regression
    problem: Problem
    prior: FloatArray
    calibrated: bool = True
    held: bool = False

    @property
    def terms(self) -> Terms:
        """The terms that are fitted."""
        return self.regression.terms

    @cached_property
    def ridges(self) -> OrderRidges:
        """The regressions of one order after the other."""
        n_rows = len(self.problem.fit_rows)
        return OrderRidges(self.regression, self.prior, self.calibrated, n_rows)

    def best(self) -> FloatArray | None:
        """Fit coefficients (n_terms, k), from moments where these can be kept."""
        return self.few_terms() if len(self.terms) <= MAX_TERMS else self.many_terms()

    def few_terms(self) -> FloatArray | None:
        """Fit all terms; of a classifier also with weights where its label is decided.

        Near the decision, outputs at held inputs are followed: what single rows beyond the bounds
        do to the network would bend the formula for all others. Where that brings probabilities
        closer, rows that it is far from weigh less once more.
        """
        rows, problem = self.problem.fit_rows, self.problem
        found, calibrated = self.solve(rows), _Solution(None, self.prior)
        if not problem.network.outputs.is_classifier:
            return found.coefficients
        held, near = replace(self, held=True), near_decision(rows, problem.fit_truth, problem)
        rows, fits = near, [found, calibrated]
        for _ in range(1 + FAR_ROUNDS):
            fits.append(held.solve(rows))
            if self._closest(fits) is not fits[-1]:
                break
            apart = self.regression.predict(rows.X, fits[-1].inner) - held.truth(rows.X)
            rows = less_where_far(near, apart)
        return self._closest(fits).coefficients

    def many_terms(self) -> FloatArray | None:
        """Fit the lower orders, then descend from there and from the calibrated coefficients."""
        terms = self.terms
        below = terms.up_to(terms.max_order - 1)
        n, regression = len(below), replace(self.regression, terms=below)
        start = np.zeros_like(self.prior)
        start[:n] = replace(self, regression=regression, prior=self.prior[:n]).inner()
        starts = [self.prior, start] if self.calibrated else [start]
        found = descend(self.regression, self.problem, starts, shrinkage(terms.orders()))
        return start if found is None and not self.calibrated else found

    def inner(self) -> FloatArray:
        """Fit without the rows that judge: with them it would always look better."""
        if len(self.terms) <= MAX_TERMS:
            return self.solve(self.problem.fit_rows).inner
        found = self.many_terms()
        return self.prior if found is None else found

    def solve(self, rows: FitRows) -> _Solution:
        """Choose strengths on rows left out, and fit all rows."""
        truth = self.truth(rows.X) if self.held else self.problem.fit_truth
        folds = self._folds(rows)
        parts = [self._moments(rows.some(rows.fold == k), truth[rows.fold == k]) for k in folds]
        rest = ~np.isin(rows.fold, folds)
        whole = sum(parts[1:], start=parts[0])
        if rest.any():
            whole = whole + self._moments(rows.some(rest), truth[rest])
        unit = whole.variances()
        sides = [self._side(rows, k, held, whole) for k, held in zip(folds, parts, strict=True)]
        choices, inner = self.ridges.choose([side.pair(1.0) for side in sides], unit)
        if choices[-1] == UNCHANGED:
            return _Solution(None, self.prior)
        times = 1.0
        if len(self.terms) <= ALL_FOLDS_TERMS and len(rows) > ROWS_TO_WEIGH:
            times = self._times(sides, choices, whole)
            inner = self.ridges.fitted(sides[0].pair(times)[0], choices)
        one, other = sides[0].pair(times)
        return _Solution(self.ridges.fitted(one + other, choices), inner)

    def _side(self, rows: FitRows, fold: int, held: Moments, whole: Moments) -> _Side:
        inside, outside = rows.some(rows.fold != fold), rows.some(rows.fold == fold)
        inputs, fitted = self.regression.inputs, whole - held
        wanted = min(ROWS_PER_TERM * len(self.terms) - len(inside), TIMES * len(inside))
        if wanted > 0:
            fitted = fitted + self._answered(mixed_rows(inside, wanted, inputs))
        shuffled = (self._answered(shuffled_rows(part, inputs)) for part in (inside, outside))
        return _Side(fitted, held, *shuffled)

    def _times(self, sides: Sequence[_Side], choices: list[Choice], whole: Moments) -> float:
        """Give how many times their weight shuffled rows weigh: the most that costs others little.

        Where columns go together a polynomial follows either well; the others come first.
        """
        unit = whole.variances()
        rows = sum(side.held.weight for side in sides) / len(sides) / whole.weight
        left = []
        for times in SHUFFLED_TIMES:
            fits = [self.ridges.fitted(side.pair(times)[0], choices) for side in sides]
            errors = [s.held.error(c, unit) for s, c in zip(sides, fits, strict=True)]
            left.append(typical(errors) / rows / len(unit))
        cheap = [t for t, e in zip(SHUFFLED_TIMES, left, strict=True) if e <= min(left) + COST]
        return max(cheap)

    def truth(self, X: FloatArray) -> FloatArray:
        """Ask the network for its outputs (n, k) on raw features (n, p)."""
        return self.problem.truth(self.regression.inputs.clipped(X) if self.held else X)

    def _closest(self, fits: Sequence[_Solution]) -> _Solution:
        """Choose the fit that comes closest to the classifier on the rows kept for choices."""
        rows, outputs = self.problem.fit_rows, self.problem.network.outputs
        kept = rows.fold == rows.fold.min()
        found = [self.regression.predict(rows.X[kept], fit.inner) for fit in fits]
        return fits[closest(found, self.problem.fit_truth[kept], outputs)]

    def _answered(self, rows: FitRows) -> Moments:
        """Ask the network, and sum the rows on which it has an answer."""
        truth = self.truth(rows.X)
        fine = np.all(np.isfinite(truth), axis=1)
        rows, truth = rows.some(fine), truth[fine]
        if self.held:
            rows = near_decision(rows, truth, self.problem)
        return self._moments(weighed_down(rows, truth, self.problem.fit_truth), truth)

    def _moments(self, rows: FitRows, truth: FloatArray) -> Moments:
        return self.regression.moments(rows, truth)

    def _folds(self, rows: FitRows) -> list[int]:
        """List the folds that are left out in turn."""
        found: list[int] = np.unique(rows.fold).tolist()
        return found[:1] if len(self.terms) > ALL_FOLDS_TERMS else found
