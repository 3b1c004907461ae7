"""Refit the written terms of a plain polynomial, whose inputs are not held at bounds.

A calibration fits layer after layer and never sees the terms. Once they are written out, and
are not too many, a ridge regression of what is left of the network's outputs on the terms
themselves adds what the layers could not: above all products of one-hot columns. Its
strength is chosen on held-out folds, and it is left out unless it helps there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from operator import add

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.conversion.folds import FOLDS, Batch, Rows
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.propagation import OUTPUT_LIMIT, STRETCH, stretched_batches
from nn2poly.conversion.summary import Summary
from nn2poly.formula.evaluate import term_values
from nn2poly.formula.polynomial import Polynomial
from nn2poly.network.network import Network

# Terms up to which there is a refit, and up to which every fold is left out in turn.
MAX_TERMS, ALL_FOLDS_TERMS = 2_000, 600
# Ridge strengths tried, relative to terms of unit size.
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Rows that are needed, in all and for each term: with fewer, free terms explode beyond them.
MIN_ROWS, ROWS_PER_TERM = 1_000, 4
# The refit stays if it lowers the held-out error at least so much.
GAIN = 0.1


@dataclass(frozen=True)
class Moments:
    """Moments of the terms with themselves and with what is left, fold by fold.

    Parameters
    ----------
    gram, cross, square, weight
        Arrays (folds, N, N), (folds, N, k), (folds, k) and (folds,).
    """

    gram: FloatArray
    cross: FloatArray
    square: FloatArray
    weight: FloatArray

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def refit_plain(poly: Polynomial, problem: Problem) -> Polynomial:
    """Refit the coefficients to what is left of the network's outputs, where that helps.

    Parameters
    ----------
    poly
        The polynomial, in any coordinates, folded or not.

    Returns
    -------
    Polynomial
        The same one when there are too many terms or too few rows, or when held-out folds
        gain little.
    """
    sample, summary = problem.sample, problem.summary
    enough = summary.n_rows >= max(MIN_ROWS, ROWS_PER_TERM * poly.n_terms)
    if poly.n_terms > MAX_TERMS or not enough:
        return poly
    left = _Left(poly, problem.network, FOLDS if poly.n_terms <= ALL_FOLDS_TERMS else 2)
    moments = sample.over(left.moments, add)
    for batch, share in stretched_batches(sample, summary, poly.max_order, poly.n_features):
        moments = moments + left.stretched_moments(batch, share, summary)
    change = _solve(moments)
    if change is None:
        return poly
    return replace(poly, coefficients=poly.coefficients + change, card=None)


@dataclass(frozen=True)
class _Left:
    """What a polynomial leaves of its network, in moments."""

    poly: Polynomial
    network: Network
    n_folds: int

    def moments(self, rows: Rows) -> Moments:
        """Add up the moments of the rows to fit."""
        n, k = self.poly.coefficients.shape
        shapes = (self.n_folds, n, n), (self.n_folds, n, k), (self.n_folds, k), (self.n_folds,)
        total = Moments(*(np.zeros(shape) for shape in shapes))
        for batch in rows.to_fit():
            self._add(total, batch.X, batch.weights, batch.ends, self._truth(batch.X))
        return total

    def stretched_moments(self, batch: Batch, share: float, summary: Summary) -> Moments:
        """Ask a little beyond the sample too; two-valued inputs have no beyond."""
        factor = np.full(self.poly.n_features, STRETCH)
        factor[[j for places in self.poly.inputs.indicators() for j in places]] = 1.0
        X = summary.center + factor * (batch.X - summary.center)
        with np.errstate(all="ignore"):
            truth = self._truth(X)
            limit = OUTPUT_LIMIT * np.abs(self._truth(batch.X)).max(axis=0)
            kept = (np.abs(truth) <= limit).all(axis=1)
        weights = np.where(kept, share * batch.weights, 0.0)
        total = self.moments(Rows(lambda: iter(()), hold_out=False))
        self._add(total, X, weights, batch.ends, np.where(kept[:, None], truth, 0.0))
        return total

    def _truth(self, X: FloatArray) -> FloatArray:
        return self.network.outputs_by_layer(self.network.to_working(X))[-1]

    def _add(
        self,
        total: Moments,
        X: FloatArray,
        weights: FloatArray,
        ends: npt.NDArray[np.intp],
        truth: FloatArray,
    ) -> None:
        terms = term_values(self.poly.terms, self.poly.inputs.to_working(X))
        left = truth - terms @ self.poly.coefficients
        places = ends if self.n_folds == FOLDS else ends[[0, 1, FOLDS]]
        for fold, (begin, end) in enumerate(pairwise(places.tolist())):
            here = slice(begin, end)
            weighted = weights[here, None] * terms[here]
            total.gram[fold] += weighted.T @ terms[here]
            total.cross[fold] += weighted.T @ left[here]
            total.square[fold] += weights[here] @ left[here] ** 2
            total.weight[fold] += weights[here].sum()


def _solve(moments: Moments) -> FloatArray | None:
    """Give the change (N, k) of the coefficients, or None when held-out folds gain nothing."""
    total = Moments(*(getattr(moments, f.name).sum(axis=0, keepdims=True) for f in fields(moments)))
    if not all(np.all(np.isfinite(getattr(total, f.name))) for f in fields(total)):
        return None
    weight = total.weight[0]
    size = np.sqrt(np.diagonal(total.gram[0]) / weight)
    size = np.where(size > 1e-12 * size.max(), size, np.inf)
    unit = np.maximum(total.square[0], 1e-300)
    errors, alone = np.zeros(len(RIDGES)), 0.0
    for fold in range(len(moments.weight) if len(moments.weight) > 2 else 1):
        gram, cross, square = moments.gram[fold], moments.cross[fold], moments.square[fold]
        rest = weight - moments.weight[fold]
        if not 0.0 < rest < weight:
            continue
        alone += float((square / unit).sum())
        others = (total.gram[0] - gram) / rest, (total.cross[0] - cross) / rest
        for i, ridge in enumerate(RIDGES):
            change = _ridge(*others, ridge, size)
            gained = (change * (gram @ change - 2 * cross)).sum(axis=0)
            errors[i] += float(((square + gained) / unit).sum())
    best = int(errors.argmin())
    if not errors[best] < (1 - GAIN) * alone:
        return None
    return _ridge(total.gram[0] / weight, total.cross[0] / weight, RIDGES[best], size)


def _ridge(gram: FloatArray, cross: FloatArray, ridge: float, size: FloatArray) -> FloatArray:
    scaled = gram / size[:, None] / size
    scaled[np.diag_indices_from(scaled)] += ridge
    solution: FloatArray = np.linalg.solve(scaled, cross / size[:, None]) / size[:, None]
    return solution
