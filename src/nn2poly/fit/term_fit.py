"""Coefficients of given terms: a ridge regression of the model's answers, chosen by leaving out.

The model is asked on rows of the sample and on rows with columns from other rows (`asked_rows`).
How strongly terms are shrunk, and what rows weigh that only the model has seen, is chosen by the
error of rows of the sample that are left out (`ridge`). Where terms and rows are both too many for
that, the lower orders are fitted so, and conjugate gradients go on from there (`gradients`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from nn2poly.algebra.terms import Terms
from nn2poly.arrays import FloatArray
from nn2poly.fit.asked_rows import Answered, crossed_rows
from nn2poly.fit.classifiers import closest, less_where_far, near_decision
from nn2poly.fit.gradients import descend
from nn2poly.fit.problem import Problem
from nn2poly.fit.regression import Moments, Regression, shifted
from nn2poly.fit.ridge import Fit, Judged, Ridge, left_out_together, shrinkage
from nn2poly.rows.fit_rows import FitRows, stacked

# Terms, or rows, up to which the regression is solved in closed form: 2 s for each decomposition.
CLOSED = 2_500
# Rows for each term below which the model is asked for more than the sample has rows, at most so
# many times it; and how many it is asked for at least: with 1,000, order 3 of 160 rows of breast
# cancer has an R² of −.5 for .83 (boosting, seed 1).
ROWS_PER_TERM, TIMES, LEAST = 10, 10, 4_000
# What such a row weighs: the most that costs rows of the sample no more than `COST` of R², or than
# their error is known to. With .0015, up to four tenths of the effect of a column are lost where
# others go with it (carats and sizes of simulated diamonds, four seeds), for less than two tenths.
WEIGHTS, COST = (0.01, 0.04, 0.2, 1.0), 0.003
# Rows that are left out, each by itself (taste: an error of .05 is then known to about .002).
JUDGED = 4_000
# Times that rows weigh less which the fit of a classifier is far from; the last brings 1 %.
FAR_ROUNDS = 3


@dataclass(frozen=True)
class TermFit:
    """A regression of the problem's outputs on terms.

    Parameters
    ----------
    regression
        The terms.
    problem
        The rows, and what answers them.
    prior
        What gives coefficients (n_terms, k) that the fit may start from, where there are fewer rows
        than terms; None for none.
    held
        Whether the outputs at inputs held at their bounds are followed.
    """

    regression: Regression
    problem: Problem
    prior: Callable[[], FloatArray] | None = None
    held: bool = False

    @property
    def terms(self) -> Terms:
        """The terms that are fitted."""
        return self.regression.terms

    @cached_property
    def level(self) -> FloatArray:
        """Array (k,): the mean outputs. Fits are of what is around them, which else loses digits.

        Moments hold squares: of 1e9 + y, with y around 1, they keep nothing of y.
        """
        weights = self.problem.fit_rows.weights
        return np.asarray(weights @ self.problem.fit_truth / weights.sum())

    @cached_property
    def real(self) -> Answered:
        """Rows of the sample."""
        rows = self.problem.fit_rows
        return Answered(rows, self._truth(rows.X) if self.held else self.problem.fit_truth)

    @cached_property
    def asked(self) -> Answered:
        """Rows that only the model has seen."""
        n = len(self.problem.fit_rows)
        wanted = min(ROWS_PER_TERM * len(self.terms) - n, TIMES * n)
        rows = crossed_rows(self.problem.fit_rows, max(LEAST, n, wanted), self.regression.inputs)
        total = self.problem.fit_rows.weights.sum()
        rows = replace(rows, weights=rows.weights * total / rows.weights.sum())
        return self.problem.answered(rows, self._truth(rows.X))

    @cached_property
    def judged(self) -> Judged:
        """The rows of the sample that are left out; rows that belong together are all there."""
        number = self.real.rows.number
        real = self.real.some(number <= np.sort(number)[:JUDGED][-1])
        rows = real.rows
        matrix = np.concatenate([part for _, part in self.regression.matrices(rows.X)])
        fields = real.truth - self.level, rows.weights, left_out_together(rows.number)
        return Judged(matrix, *fields, self.problem.unit)

    @cached_property
    def penalty(self) -> FloatArray:
        """What each term is shrunk, relative to the others."""
        return shrinkage(self.terms.orders())

    def best(self) -> FloatArray:
        """Fit coefficients (n_terms, k)."""
        n_rows = len(self.real.rows) + len(self.asked.rows)
        if min(n_rows, len(self.terms)) > CLOSED:
            return self._descended()
        if self.problem.network.outputs.is_classifier:
            return self._of_classifier()
        return shifted(self.solve()[1].coefficients, self.level)

    def solve(self, weights: Sequence[float] = ()) -> tuple[float, Fit]:
        """Choose, on rows left out, what rows weigh that were asked for, and the strength."""
        weights = weights or WEIGHTS
        if self.prior is None or len(self.terms) <= len(self.real.rows):
            return self._best(self._ridges(weights))
        prior = shifted(self.prior(), -self.level)
        around = self._around(prior)
        weight, fit = around._best(around._ridges(weights))
        fit = replace(fit, coefficients=prior + fit.coefficients)
        return min(self._best(self._ridges(weights)), (weight, fit), key=lambda pair: pair[1].error)

    def _best(self, ridges: Sequence[tuple[float, Ridge]]) -> tuple[float, Fit]:
        fits = [(weight, ridge.best(self.judged)) for weight, ridge in ridges]
        least = min((fit for _, fit in fits), key=lambda fit: fit.whole.mean())
        return [pair for pair in fits if _costs_little(pair[1], least)][-1]

    def _around(self, start: FloatArray) -> TermFit:
        """Give the fit of what coefficients (n_terms, k) leave."""
        new, judged = replace(self, prior=None), self.judged
        for name in ("real", "asked"):
            part = getattr(self, name)
            left = part.truth - self.regression.predict(part.rows.X, start)
            vars(new)[name] = Answered(part.rows, left)
        left = judged.target - judged.matrix @ start
        vars(new).update(level=self.level, judged=replace(judged, target=left))
        return new

    @cached_property
    def real_moments(self) -> Moments:
        """Sums over rows of the sample."""
        return self.regression.moments(self.real.rows, self.real.truth - self.level)

    @cached_property
    def asked_moments(self) -> Moments:
        """Sums over the others."""
        return self.regression.moments(self.asked.rows, self.asked.truth - self.level)

    def _ridges(self, weights: Sequence[float]) -> list[tuple[float, Ridge]]:
        """Decompose the terms on all rows, with each weight of those that were asked for."""
        if len(self.terms) <= len(self.real.rows) + len(self.asked.rows):
            real, asked = self.real_moments, self.asked_moments
            return [(w, Ridge.of_moments(real + asked.scaled(w), self.penalty)) for w in weights]
        asked_rows = self.asked.rows
        light = replace(asked_rows, weights=weights[-1] * asked_rows.weights)
        rows = stacked([self.real.rows, light])
        target = np.concatenate([self.real.truth, self.asked.truth]) - self.level
        matrix = np.concatenate([part for _, part in self.regression.matrices(rows.X)])
        return [(weights[-1], Ridge.of_rows(matrix, rows.weights, target, self.penalty))]

    def _of_classifier(self) -> FloatArray:
        """Fit all rows alike, and with weights where labels are decided: what comes closer.

        Near the decision, outputs at held inputs are followed: what single rows beyond the bounds
        do to the network would bend the formula for all others. Where that brings probabilities
        closer, rows that it is far from weigh less once more.
        """
        weight, fit = self.solve()
        fits, guesses = [fit], [self._left_out(fit)]
        held = replace(self, held=True).nearer()
        near = held.real.rows
        for _ in range(1 + FAR_ROUNDS):
            fit = held.solve((weight,))[1]
            fits.append(fit)
            guesses.append(held._left_out(fit))
            if self._closest(guesses) != len(guesses) - 1:
                break
            apart = self.regression.predict(near.X, shifted(fit.coefficients, self.level))
            held = held.weighed(less_where_far(near, apart - held.real.truth))
        return shifted(fits[self._closest(guesses)].coefficients, self.level)

    def nearer(self) -> TermFit:
        """Give the same fit with rows that weigh more where labels are decided."""
        new = replace(self)
        parts = ("real", self.problem.fit_truth), ("asked", self.asked.truth)
        for name, truth in parts:
            part = getattr(self, name)
            rows = near_decision(part.rows, truth, self.problem)
            vars(new)[name] = Answered(rows, part.truth)
        return new

    def weighed(self, rows: FitRows) -> TermFit:
        """Give the same fit with other weights of the rows of the sample."""
        new = replace(self)
        vars(new).update(real=Answered(rows, self.real.truth), asked=self.asked)
        if "asked_moments" in vars(self):
            vars(new)["asked_moments"] = self.asked_moments
        return new

    def _left_out(self, fit: Fit) -> FloatArray:
        """Give the outputs (n, k) of judged rows, from fits without them."""
        judged = self.judged
        return np.asarray(judged.target + self.level - fit.residuals)

    def _closest(self, guesses: Sequence[FloatArray]) -> int:
        """Choose the fit that comes closest to the classifier."""
        number = self.real.rows.number
        judged = number <= np.sort(number)[:JUDGED][-1]
        return closest(guesses, self.problem.fit_truth[judged], self.problem.network.outputs)

    def _truth(self, X: FloatArray) -> FloatArray:
        """Ask the network for its outputs (n, k) on raw features (n, p)."""
        return self.problem.truth(self.regression.inputs.clipped(X) if self.held else X)

    def _descended(self) -> FloatArray:
        """Fit the lower orders, then descend from there and from the prior."""
        below = self.terms.up_to(self.terms.max_order - 1)
        start = np.zeros((len(self.terms), len(self.level)))
        regression = replace(self.regression, terms=below)
        start[: len(below)] = TermFit(regression, self.problem).best()
        starts = [start] if self.prior is None else [self.prior(), start]
        found = descend(self.regression, self.problem, starts, self.penalty, self.level)
        return starts[0] if found is None else found


def _costs_little(fit: Fit, least: Fit) -> bool:
    """Tell whether a fit is about as close as the closest."""
    apart = fit.whole - least.whole
    return bool(apart.mean() <= max(COST, float(apart.std()) / sqrt(len(apart))))
