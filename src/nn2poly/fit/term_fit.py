"""Coefficients of given terms, fitted to the network's outputs on rows of the sample and others.

Rows of some folds are left out, on which strengths are chosen (`strengths`). Where rows are few
for each term, the network is asked for more (`asked_rows`). Where terms are too many for their
moments, the lower orders are fitted so, and conjugate gradients go on from there, as long as rows
left out gain by it (`gradients`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nn2poly.algebra.terms import Terms
from nn2poly.arrays import FloatArray
from nn2poly.fit.asked_rows import mixed_rows, shuffled_rows, weighed_down
from nn2poly.fit.classifiers import closest, less_where_far, near_decision
from nn2poly.fit.gradients import descend
from nn2poly.fit.problem import Problem
from nn2poly.fit.regression import Moments, Regression, shifted
from nn2poly.fit.strengths import UNCHANGED, Choice, OrderRidges, shrinkage, typical
from nn2poly.rows.fit_rows import FitRows

# Terms up to which the moments are summed: 128 MB, solved in about a second. More are refitted by
# conjugate gradients.
MAX_TERMS = 4_000
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


@dataclass(frozen=True)
class TermFit:
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
        n_rows, prior = len(self.problem.fit_rows), shifted(self.prior, -self.level)
        return OrderRidges(self.regression, prior, self.calibrated, n_rows)

    @cached_property
    def level(self) -> FloatArray:
        """Array (k,): the mean outputs. Fits are of what is around them, which else loses digits.

        Moments hold squares: of 1e9 + y, with y around 1, they keep nothing of y.
        """
        weights = self.problem.fit_rows.weights
        return np.asarray(weights @ self.problem.fit_truth / weights.sum())

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
        penalty = shrinkage(terms.orders())
        found = descend(self.regression, self.problem, starts, penalty, self.level)
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
        found = self.ridges.fitted(one + other, choices)
        return _Solution(shifted(found, self.level), shifted(inner, self.level))

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
        return self.regression.moments(rows, truth - self.level)

    def _folds(self, rows: FitRows) -> list[int]:
        """List the folds that are left out in turn."""
        found: list[int] = np.unique(rows.fold).tolist()
        return found[:1] if len(self.terms) > ALL_FOLDS_TERMS else found
