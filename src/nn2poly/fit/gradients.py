"""A refit of more terms than moments can be kept of: conjugate gradients on the rows themselves.

The design matrix is kept in single precision, on as many rows as fit into memory. Each step is
judged on rows left out, and the best one is taken: to stop early is the ridge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.fit.asked_rows import shuffled_rows, weighed_down
from nn2poly.fit.problem import Problem
from nn2poly.fit.regression import Regression, shifted
from nn2poly.rows.fit_rows import FitRows, stacked
from nn2poly.sampling import evenly

# Bytes of the design matrix of rows to fit and of rows left out, which decide on their number.
DESIGN_BYTES = 3 * 2**28, 2**28
# Steps at most, and how many in a row may bring nothing (taste: adult of order 3 takes 15).
STEPS, PATIENCE = 60, 4
# A result must lower the error on the rows left out by so much of it.
GAIN = 0.01
# What leaves less of the variance is not refitted: single precision would trade one output's last
# digits for another's (order 3 of the paper's forest network, where 5e-9 became 4e-8).
NEGLIGIBLE = 1e-6

Single = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Design:
    """Terms (n, N) on rows, times roots of weights; outputs (n, k) times the same, over units.

    Terms that are shrunk more are smaller in it by the root of their penalty.
    """

    matrix: Single
    target: FloatArray

    def some(self, chosen: BoolArray) -> Design:
        """Choose rows."""
        return Design(self.matrix[chosen], self.target[chosen])

    def left(self, c: FloatArray) -> FloatArray:
        """Give what coefficients (N, k) leave."""
        return np.asarray(self.target - self.matrix @ c.astype(np.float32), dtype=np.float64)

    def error(self, c: FloatArray) -> float:
        """Sum the squared errors."""
        return float((self.left(c) ** 2).sum())


class Step(NamedTuple):
    """The error on rows left out, the number of the step, and its coefficients (N, k)."""

    error: float
    number: int
    coefficients: FloatArray


@dataclass(frozen=True)
class Scales:
    """What takes coefficients of terms to those of a `Design`, and back.

    Parameters
    ----------
    unit
        Array (k,): of the outputs.
    root
        Array (N,): of the terms; those with more penalty are smaller.
    level
        Array (k,): the outputs that are 0 in the design.
    """

    unit: FloatArray
    root: FloatArray
    level: FloatArray

    @classmethod
    def of(cls, unit: FloatArray, penalty: FloatArray, level: FloatArray | None = None) -> Scales:
        """Take units (k,), penalties (N,) and a level (k,), 0 if nothing is said."""
        least = penalty[penalty > 0].min(initial=1.0)
        start = np.zeros(len(unit)) if level is None else level
        return cls(unit, 1.0 / np.sqrt(np.maximum(penalty, least)), start)

    def design(
        self, regression: Regression, rows: FitRows, truth: FloatArray, n_bytes: int
    ) -> tuple[Design, IntArray]:
        """Evaluate the terms on as many rows as memory allows, evenly chosen; also say which."""
        most = max(256, n_bytes // (4 * len(regression.terms)))
        chosen = evenly(len(rows), most)
        rows, truth = rows.some(chosen), truth[chosen]
        root = np.sqrt(rows.weights / rows.weights.sum())
        matrix = np.empty((len(rows), len(regression.terms)), dtype=np.float32)
        for here, values in regression.matrices(rows.X):
            weighted = values * root[here, None] * self.root
            matrix[here] = weighted
        target = (truth - self.level) / self.unit
        return Design(matrix, target * root[:, None]), chosen

    def to_design(self, c: FloatArray) -> FloatArray:
        """Change coefficients (N, k) of terms to those of the design."""
        return shifted(c, -self.level) / self.unit / self.root[:, None]

    def from_design(self, c: FloatArray) -> FloatArray:
        """Change them back."""
        return shifted(c * self.unit * self.root[:, None], self.level)


def descend(
    regression: Regression,
    problem: Problem,
    starts: Sequence[FloatArray],
    penalty: FloatArray,
    level: FloatArray,
) -> FloatArray | None:
    """Refit coefficients (N, k); give None where the first start cannot be bettered.

    Parameters
    ----------
    starts
        Where to go on from; the first is what there is.
    penalty
        Array (N,): terms with more move less.
    level
        Array (k,): what the outputs are fitted around; see `TermFit.level`.
    """
    unit = np.maximum(problem.fit_truth.std(axis=0), 1e-300)
    scales = Scales.of(unit, penalty, level)
    fitted, kept = (
        scales.design(regression, rows, problem.truth(rows.X), most)[0]
        for rows, most in zip(_sides(problem), DESIGN_BYTES, strict=True)
    )
    begun = [scales.to_design(start) for start in starts]
    if kept.error(begun[0]) < NEGLIGIBLE * len(unit):
        return None
    best = best_of(fitted, kept, begun)
    gains = best.error < (1.0 - GAIN) * kept.error(begun[0])
    return scales.from_design(best.coefficients) if gains else None


def best_of(fitted: Design, kept: Design, starts: Sequence[FloatArray]) -> Step:
    """Walk a few steps from every start, and on from the best."""
    walks = [best_so_far(fitted, kept, start) for start in starts]
    begun = [list(islice(walk, 1 + PATIENCE))[-1] for walk in walks]
    first = min(range(len(walks)), key=lambda k: begun[k].error)
    *_, best = begun[first], *walks[first]
    return best


def best_so_far(fitted: Design, kept: Design, start: FloatArray) -> Iterator[Step]:
    """Walk until rows left out gain no more: after each step, the best one so far."""
    best = Step(kept.error(start), 0, start)
    yield best
    for number, found in enumerate(islice(steps(fitted, start), STEPS), start=1):
        error = kept.error(found)
        if error < best.error:
            best = Step(error, number, found)
        yield best
        if number - best.number == PATIENCE:
            return


def _sides(problem: Problem) -> tuple[FitRows, FitRows]:
    """Choose the rows to fit, with shuffled ones, and those to judge on."""
    rows = problem.fit_rows
    kept = rows.fold == rows.fold.min()
    fitted = rows.some(~kept)
    asked = shuffled_rows(fitted, problem.inputs)
    answers = problem.truth(asked.X)
    fine = np.all(np.isfinite(answers), axis=1)
    more = weighed_down(asked.some(fine), answers[fine], problem.fit_truth)
    return stacked([fitted, more]), rows.some(kept)


def steps(rows: Design, start: FloatArray) -> Iterator[FloatArray]:
    """Walk by conjugate gradients, all outputs beside each other: coefficients after each step."""
    found = start.copy()
    left = rows.left(found)
    gradient = np.asarray(rows.matrix.T @ left.astype(np.float32), dtype=np.float64)
    direction, size = gradient, (gradient**2).sum(axis=0)
    while np.any(size > 0):
        moved = np.asarray(rows.matrix @ direction.astype(np.float32), dtype=np.float64)
        length = size / np.maximum((moved**2).sum(axis=0), 1e-300)
        found = found + length * direction
        left = left - length * moved
        yield found
        gradient = np.asarray(rows.matrix.T @ left.astype(np.float32), dtype=np.float64)
        before, size = size, (gradient**2).sum(axis=0)
        direction = gradient + size / np.maximum(before, 1e-300) * direction
