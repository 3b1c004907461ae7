"""`Trial`: a small regression of a network's outputs, to try bounds of its inputs on.

Bounds are tried by the dozen, one column at a time. So a trial keeps the polynomials of every
feature and the moments of its terms, and another column changes no more than its own.

A bound also says that the network is flat beyond it. Rows of the sample alone cannot tell where
columns go together: another column takes over what the clamped one can no longer say. So a trial
also judges rows with one column taken from another row, which is where effects look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np

from nn2poly.algebra.terms import Graded, Listed, Terms
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.conversion.basis import design, orthonormal_basis
from nn2poly.conversion.fit_rows import FitRows, stacked
from nn2poly.inputs import Inputs

# Terms up to which a trial has products, the strength of its ridge, and those that are tried of
# terms above order 1: a formula leaves powers out that harm it, and so does a trial.
TRIAL_TERMS, TRIAL_RIDGE, CURVED_RIDGES = 150, 1e-4, (1e-4, 1e-2, 1.0)
# Powers of numbers in a trial, and in that of one polynomial of order 2. With squares alone order 4
# on California has .012 less, and order 2 has .003 to .005 more (ReLU and tanh, seeds 0 and 1).
POWERS, SQUARES = (2, 3, 4), (2,)
# By how much of it the error of free powers may rise (taste; where a looser cut of Cauchy columns
# raised it by 0.11, the R² of a ReLU network fell from .84 at order 2 to .11 at order 3).
MORE_HARM = 0.05
# Standard errors of what rows gain that it must exceed, beside its share (taste: one in six).
CHANCE = 1.0
# An error of more standard deviations counts as so many: no single row decides (taste).
LARGEST = 3.0
# One in so many of the rows that are fitted is fitted with one column changed as well, as the fit
# itself has rows with shuffled columns (taste): columns that go together would else be anything.
FITTED_COPIES = 20

Ask = Callable[[FloatArray], FloatArray]
Part = tuple[FitRows, FloatArray]


@dataclass(frozen=True)
class Trial:
    """A regression of outputs on polynomials of features.

    Parameters
    ----------
    terms
        Which products of the polynomials there are.
    rows, target
        The rows, and their outputs (n, k) in units of variance 1.
    n_fit
        The first so many rows are fitted, the others judged.
    changed
        Array (m,): for each row that is judged, the column that comes from another row; −1 for a
        row of the sample.
    values
        Array (p, D + 1, n): the polynomials of each feature.
    matrix
        Array (n_terms, n): the terms.
    gram
        Array (n_terms, n_terms): sums over the rows that are fitted.
    """

    terms: Terms
    rows: FitRows
    target: FloatArray
    n_fit: int
    changed: IntArray
    values: FloatArray
    matrix: FloatArray
    gram: FloatArray

    @cached_property
    def errors(self) -> FloatArray:
        """Array (m,): the squared error of each row that is judged, at the best strength."""
        real = self.changed < 0
        found = (self._errors(ridge) for ridge in CURVED_RIDGES)
        return min(found, key=lambda errors: np.mean(errors[real]))

    @property
    def error(self) -> float:
        """Their mean over rows of the sample."""
        return float(np.mean(self.errors[self.changed < 0]))

    @cached_property
    def free_error(self) -> float:
        """The mean when powers are free, which tells how far higher orders would run away."""
        return float(np.mean(self._errors(TRIAL_RIDGE)[self.changed < 0]))

    def beats(self, other: Trial, gain: float, columns: Sequence[int] | None = None) -> bool:
        """Tell whether the error is lower by so much of it, and nothing else is harmed.

        Both judge the same rows, which gain more than by chance. Powers do no more harm, and rows
        where one of the columns (by default any) is changed lose no more than the others gain, but
        for chance.
        """
        gained, real = other.errors - self.errors, self.changed < 0
        mean, chance = _mean(gained[real])
        moved, chance_of_moved = _mean(gained[self._is_changed(columns)])
        least = max(gain * other.error, CHANCE * chance, -moved - CHANCE * chance_of_moved)
        is_tame = self.free_error < (1.0 + MORE_HARM) * other.free_error
        return mean > least and is_tame

    def _is_changed(self, columns: Sequence[int] | None) -> BoolArray:
        found = self.changed >= 0 if columns is None else np.isin(self.changed, columns)
        return np.asarray(found)

    def _errors(self, ridge: float) -> FloatArray:
        n, system = self.n_fit, self.gram / self.n_fit
        strengths = np.where(self.terms.orders() > 1, ridge, TRIAL_RIDGE)
        system[np.diag_indices_from(system)] += strengths
        found = np.linalg.solve(system, self.matrix[:, :n] @ self.target[:n] / n)
        apart = np.abs(self.target[n:] - self.matrix[:, n:].T @ found)
        return np.asarray(np.mean(np.minimum(apart, LARGEST) ** 2, axis=1))

    def held(self, feature: int, low: float, high: float) -> Trial:
        """Give the same trial with other bounds of one feature."""
        x = np.clip(self.rows.X[:, [feature]], low, high)
        values, matrix, gram = self.values.copy(), self.matrix.copy(), self.gram.copy()
        values[feature] = _polynomials(x, self.rows.weights, self.terms.max_order)[0]
        places = self._with_feature[feature]
        matrix[places] = design(self.terms.at(places), values).T
        gram[places] = matrix[places, : self.n_fit] @ matrix[:, : self.n_fit].T
        gram[:, places] = gram[places].T
        return replace(self, values=values, matrix=matrix, gram=gram)

    @cached_property
    def _with_feature(self) -> list[IntArray]:
        """Places of the terms of each feature."""
        found: list[list[int]] = [[] for _ in self.values]
        for place, term in enumerate(self.terms):
            for feature in set(term):
                found[feature].append(place)
        return [np.array(places, dtype=np.intp) for places in found]


def _mean(values: FloatArray) -> tuple[float, float]:
    """Give a mean and its standard error; of no values, none."""
    if not len(values):
        return 0.0, 0.0
    return float(values.mean()), float(values.std()) / sqrt(len(values))


@dataclass(frozen=True)
class TrialRows:
    """The rows of a trial: those that are fitted, then those that are judged.

    Parameters
    ----------
    rows, truth
        The rows, and the network's outputs (n, k) on them.
    n_fit, changed
        As in `Trial`.
    """

    rows: FitRows
    truth: FloatArray
    n_fit: int
    changed: IntArray

    @classmethod
    def of(cls, fitted: Sequence[Part], judged: Sequence[Part], changed: IntArray) -> TrialRows:
        """Put parts, each rows and their outputs, below each other."""
        rows, truth = zip(*fitted, *judged, strict=True)
        n_fit = sum(len(part) for part, _ in fitted)
        return cls(stacked(rows), np.concatenate(truth), n_fit, changed)


def divided(
    rows: FitRows,
    truth: FloatArray,
    inputs: Inputs,
    ask: Ask | None = None,
    fold: int | None = None,
) -> TrialRows:
    """Judge a fold, the first by default, and copies of its rows with one column changed.

    Copies of some other rows are fitted. Without ``ask``, which gives the network's outputs, there
    are no copies.
    """
    judged = rows.fold == (rows.fold.min() if fold is None else fold)
    fitted, others = np.flatnonzero(~judged), np.flatnonzero(judged)
    real = [(rows.some(places), truth[places]) for places in (fitted, others)]
    if ask is None:
        return TrialRows.of(real[:1], real[1:], np.full(len(others), -1))
    some = real[0][0].some(slice(None, None, FITTED_COPIES))
    (fitted_copies, _), (copies, columns) = (
        _with_one_changed(rows, inputs) for rows in (some, real[1][0])
    )
    asked = [(rows, ask(rows.X)) for rows in (fitted_copies, copies)]
    changed = np.concatenate([np.full(len(others), -1), columns])
    return TrialRows.of([real[0], asked[0]], [real[1], asked[1]], changed)


def _with_one_changed(rows: FitRows, inputs: Inputs) -> tuple[FitRows, IntArray]:
    """Take one column of each row, each column in turn, from another row; give which it was."""
    columns = np.arange(len(rows)) % len(inputs.places)
    X, donors = rows.X.copy(), np.random.default_rng(len(rows)).permutation(len(rows))
    for column, places in enumerate(inputs.places):
        some = np.flatnonzero(columns == column)
        for place in places:
            X[some, place] = rows.X[donors[some], place]
    return replace(rows, X=X), columns


def crossed_error(
    inputs: Inputs, rows: FitRows, truth: FloatArray, powers: tuple[int, ...]
) -> float:
    """Give the mean error of trials that judge each fold in turn: few rows say little in one."""
    parts = (divided(rows, truth, inputs, fold=fold) for fold in np.unique(rows.fold).tolist())
    return float(np.mean([start_trial(inputs, part, powers).error for part in parts]))


def start_trial(inputs: Inputs, given: TrialRows, powers: tuple[int, ...] = POWERS) -> Trial:
    """Regress the network's outputs on inputs with bounds."""
    n_fit, rows = given.n_fit, given.rows
    fitted = given.truth[:n_fit]
    target = (given.truth - fitted.mean(axis=0)) / np.maximum(fitted.std(axis=0), 1e-300)
    terms = _trial_terms(inputs, powers)
    values = _polynomials(inputs.curved(rows.X), rows.weights, terms.max_order)
    matrix = np.ascontiguousarray(design(terms, values).T)
    gram = matrix[:, :n_fit] @ matrix[:, :n_fit].T
    return Trial(terms, rows, target, n_fit, given.changed, values, matrix, gram)


def _polynomials(x: FloatArray, weights: FloatArray, order: int) -> FloatArray:
    """Evaluate orthonormal polynomials of columns (n, p): an array (p, order + 1, n).

    Those of a degree that a column does not carry are 0.
    """
    center, scale = x.mean(axis=0), x.std(axis=0)
    z = (x - center) / np.where(scale > 0, scale, 1.0)
    return orthonormal_basis(z, weights, order).values(z)


def _trial_terms(inputs: Inputs, degrees: tuple[int, ...]) -> Terms:
    """Choose the terms of the trial: powers of numbers, and all products of two where few."""
    pairs = list(zip(inputs.columns, inputs.places, strict=True))
    numbers = [places[0] for column, places in pairs if column.kind == "number"]
    powers = {(j,) * degree for degree in degrees for j in numbers}
    low = Graded(inputs.n_features, 2)
    if len(low) > TRIAL_TERMS:
        low = Graded(inputs.n_features, 1)
    return Listed.of(list({*low, *powers}), inputs.n_features)
