"""How strongly each order of a formula is shrunk, and towards what: chosen on rows left out.

Order after order, the fit of order d is shrunk towards that of order d - 1, so that a higher order
is never worse on the rows kept for choices. At the last order it may be shrunk towards the
calibrated coefficients instead, which is what helps where rows are few, or, in powers on [-1, 1],
towards none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nn2poly.algebra.terms import Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.regression import Moments, Regression

# Strengths tried, relative to orthonormal terms; 0 as a last one is what there was before.
STRENGTHS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# And of what holds down powers on [-1, 1] instead, up to so many terms: orthonormal terms may be
# steep where rows are thin. Order 4 on California (three activations, seeds 0 and 1) is .0002 to
# .0017 behind a ridge of such powers for .0013 to .0034, and no further off on shuffled rows.
IN_POWERS, IN_POWERS_TERMS = (1e-6, 1e-5, 1e-4, 1e-3), 2_000
# With more terms only the neighbours of the strength of the order before are tried.
ALL_STRENGTHS_TERMS = 600
# Each further order is shrunk so many times more.
GROWTH = 3.0
# The refit stays if it lowers the error on rows left out by so much of it, and of the variance: 1 %
# of what order 2 leaves of bike rentals would be .004 of R².
GAIN, ROUNDING = 0.001, 1e-9
# A calibration has seen all rows, those left out too. With so many rows for each term its error is
# raised by what a fit of as many terms gains on its own rows: bike of order 2 gains .003 by it.
# With fewer, calibrations have far fewer free numbers than terms.
PLENTY = 30


@dataclass(frozen=True)
class Choice:
    """How one order is fitted: towards what, and how strongly; no strength leaves it as it is.

    What is shrunk are coefficients of orthonormal terms, or those of powers on [-1, 1].
    """

    calibrated: bool
    strength: float | None
    in_powers: bool = False


# The calibrated polynomial as it is.
UNCHANGED = Choice(calibrated=True, strength=None)


@dataclass(frozen=True)
class OrderRidges:
    """Ridge regressions of one order after the other, all of them from moments.

    Parameters
    ----------
    regression
        The terms, and the polynomials that they are products of.
    prior
        Array (n_terms, k): the calibrated coefficients; 0 without a calibration.
    calibrated
        Whether there is a calibration.
    n_rows
        Rows of the sample, which a calibration has seen.
    """

    regression: Regression
    prior: FloatArray
    calibrated: bool
    n_rows: int

    @property
    def terms(self) -> Terms:
        """The terms that are fitted."""
        return self.regression.terms

    @cached_property
    def roughness(self) -> FloatArray:
        """What shrinks coefficients of powers on [-1, 1]."""
        return self.regression.basis.roughness(self.terms)

    def choose(
        self, pairs: Sequence[tuple[Moments, Moments]], unit: FloatArray
    ) -> tuple[list[Choice], FloatArray]:
        """Choose, order after order, what does best on the folds left out.

        Also gives the fit without the first of them.

        Parameters
        ----------
        pairs
            For each fold that is left out: moments of the rows to fit, and of those that judge.
        unit
            Array (k,): of the squared errors.
        """
        choices: list[Choice] = []
        before = [np.zeros((0, self.prior.shape[1])) for _ in pairs]
        for order in range(self.terms.max_order + 1):
            tried: dict[Choice, tuple[float, list[FloatArray]]] = {}
            for choice in self._candidates(order, choices):
                fits = [
                    self._step(fitted, start, order, choice)
                    for (fitted, _), start in zip(pairs, before, strict=True)
                ]
                errors = [h.error(c, unit) for (_, h), c in zip(pairs, fits, strict=True)]
                tried[choice] = self._optimism(choice) * typical(errors), fits
            best = min(tried, key=lambda choice: tried[choice][0])
            # What the calibration leaves may be rounding: it stays unless something is gained.
            if (
                UNCHANGED in tried
                and tried[best][0] > (1.0 - GAIN) * tried[UNCHANGED][0] - ROUNDING
            ):
                best = UNCHANGED
            choices.append(best)
            before = tried[best][1]
        return choices, before[0]

    def fitted(self, moments: Moments, choices: Sequence[Choice]) -> FloatArray:
        """Fit all orders as chosen: coefficients (n_terms, k)."""
        found = np.zeros((0, self.prior.shape[1]))
        for order, choice in enumerate(choices):
            found = self._step(moments, found, order, choice)
        return found

    def _optimism(self, choice: Choice) -> float:
        """Give how much larger the error of a fit is on new rows than on its own."""
        share = len(self.terms) / self.n_rows
        return 1.0 + 2.0 * share if choice.calibrated and share * PLENTY <= 1.0 else 1.0

    def _candidates(self, order: int, before: list[Choice]) -> Iterator[Choice]:
        """List what is tried for an order, given what was chosen for those below."""
        yield Choice(calibrated=False, strength=None if order else 0.0)
        strengths = self._strengths(order, before) if order else ()
        for strength in strengths:
            yield Choice(calibrated=False, strength=strength)
        if self.calibrated and order and order == self.terms.max_order:
            yield UNCHANGED
            for strength in strengths:
                yield Choice(calibrated=True, strength=strength)
        if order and order == self.terms.max_order and len(self.terms) <= IN_POWERS_TERMS:
            for strength in IN_POWERS:
                yield Choice(calibrated=False, strength=strength, in_powers=True)

    def _strengths(self, order: int, before: list[Choice]) -> Sequence[float]:
        """List the strengths to try; of many terms, each a solution of seconds, the near ones."""
        last = before[-1].strength
        if self.terms.ends[order + 1] <= ALL_STRENGTHS_TERMS:
            return STRENGTHS
        if last not in STRENGTHS:
            return STRENGTHS[::2]
        place = STRENGTHS.index(last)
        return STRENGTHS[max(0, place - 1) : place + 2]

    def _step(self, moments: Moments, before: FloatArray, order: int, choice: Choice) -> FloatArray:
        """Fit one order: coefficients (n, k) of the terms up to it."""
        n = self.terms.ends[order + 1]
        start = np.zeros((n, self.prior.shape[1]))
        start[: len(before)] = before
        if choice.calibrated:
            start = self.prior[:n]
        if choice.strength is None:
            return start
        if choice.in_powers:
            return moments.ridge(choice.strength * self.roughness)
        return moments.ridge(choice.strength * shrinkage(self.terms.orders()[:n]), start)


def typical(errors: Sequence[float]) -> float:
    """Give the geometric mean: where tails are heavy, one row would decide by the sum."""
    return float(np.exp(np.mean(np.log(np.array(errors) + ROUNDING**2))))


def shrinkage(degrees: IntArray) -> FloatArray:
    """Give what terms of these degrees are shrunk: the constant is free, each order more."""
    return np.where(degrees == 0, 0.0, GROWTH ** (degrees - 1.0))
