"""`Trial`: a small regression of a network's outputs, to try bounds of its inputs on.

Bounds are tried by the dozen, one column at a time. So a trial keeps the polynomials of every
feature and the moments of its terms, and another column changes no more than its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt

import numpy as np

from nn2poly.algebra.terms import Graded, Listed, Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.basis import design, orthonormal_basis
from nn2poly.inputs import Inputs
from nn2poly.rows.fit_rows import FitRows

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
    values: FloatArray
    matrix: FloatArray
    gram: FloatArray

    @cached_property
    def errors(self) -> FloatArray:
        """Array (m,): the squared error of each row that is judged, at the best strength."""
        return min((self._errors(ridge) for ridge in CURVED_RIDGES), key=np.mean)

    @property
    def error(self) -> float:
        """Their mean."""
        return float(np.mean(self.errors))

    @cached_property
    def free_error(self) -> float:
        """The mean when powers are free, which tells how far higher orders would run away."""
        return float(np.mean(self._errors(TRIAL_RIDGE)))

    @property
    def whole_error(self) -> float:
        """Their mean where the error of a row counts however large it is."""
        return min(float(np.mean(self._errors(ridge, inf))) for ridge in CURVED_RIDGES)

    def beats(self, other: Trial, gain: float, price: float = 0.0) -> bool:
        """Tell whether the error is lower by so much of it, and powers do no more harm.

        Both judge the same rows, which gain more than by chance, and more than a price.
        """
        gained = other.errors - self.errors
        least = max(gain * other.error, CHANCE * float(gained.std()) / sqrt(len(gained)), price)
        return bool(gained.mean() > least) and (
            self.free_error < (1.0 + MORE_HARM) * other.free_error
        )

    def _errors(self, ridge: float, largest: float = LARGEST) -> FloatArray:
        n, system = self.n_fit, self.gram / self.n_fit
        strengths = np.where(self.terms.orders() > 1, ridge, TRIAL_RIDGE)
        system[np.diag_indices_from(system)] += strengths
        found = np.linalg.solve(system, self.matrix[:, :n] @ self.target[:n] / n)
        apart = np.abs(self.target[n:] - self.matrix[:, n:].T @ found)
        return np.asarray(np.mean(np.minimum(apart, largest) ** 2, axis=1))

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


def crossed_error(
    inputs: Inputs, rows: FitRows, truth: FloatArray, powers: tuple[int, ...]
) -> float:
    """Give the mean error of trials that judge each fold in turn: few rows say little in one."""
    folds = np.unique(rows.fold).tolist()
    return float(np.mean([start_trial(inputs, rows, truth, powers, f).error for f in folds]))


def start_trial(
    inputs: Inputs,
    rows: FitRows,
    truth: FloatArray,
    powers: tuple[int, ...] = POWERS,
    fold: int | None = None,
) -> Trial:
    """Regress the network's outputs (n, k) on inputs with bounds; a fold, the first, is judged."""
    judged = rows.fold == (rows.fold.min() if fold is None else fold)
    order = np.argsort(judged, kind="stable")
    rows, truth = rows.some(order), truth[order]
    n_fit = int(np.count_nonzero(~judged))
    target = (truth - truth.mean(axis=0)) / np.maximum(truth.std(axis=0), 1e-300)
    terms = _trial_terms(inputs, powers)
    values = _polynomials(inputs.curved(rows.X), rows.weights, terms.max_order)
    matrix = np.ascontiguousarray(design(terms, values).T)
    gram = matrix[:, :n_fit] @ matrix[:, :n_fit].T
    return Trial(terms, rows, target, n_fit, values, matrix, gram)


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
