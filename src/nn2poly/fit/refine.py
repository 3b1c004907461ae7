"""Refine what the expansion gave: fold the indicators, refit the terms; one shape for each step.

A step takes a formula and the problem and gives a formula, the same one when it cannot help.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.substitution import substitute_listed
from nn2poly.arrays import FloatArray
from nn2poly.factored.correction import Correction
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.problem import Problem
from nn2poly.fit.refit import fit_terms, fold_indicators, refit_terms
from nn2poly.formula.deviations import term_deviations
from nn2poly.formula.polynomial import Polynomial
from nn2poly.sampling import evenly

# A polynomial network is written out to be refined up to so many terms: the refit itself takes
# fewer, and folding can bring a longer one down to them. Of a longer one the lower orders are.
MAX_WRITTEN = 200_000
# Rows that tell how far terms move the outputs: the standard error of a deviation is 2 % then.
DEVIATION_ROWS = 1_000


def refine(pnet: PolynomialNetwork, problem: Problem) -> tuple[PolynomialNetwork, Polynomial]:
    """Refit the written terms; give the polynomial network that equals the formula, and it."""
    formula = fold_indicators(pnet.expand(), problem)
    refitted = refit_terms(formula, problem)
    if refitted is formula:
        return pnet, formula
    before = Correction(formula.terms, -formula.coefficients)
    change = Correction(refitted.terms, refitted.coefficients).plus(before)
    return replace(pnet, correction=_in_coordinates_of(change, formula, pnet)), refitted


def highest_written(n_features: int, max_order: int) -> int:
    """Give the highest order below one that is written out to be refined.

    Examples
    --------
    >>> highest_written(54, 4), highest_written(784, 3)
    (3, 1)
    """
    orders = range(1, max_order)
    return max((q for q in orders if count_terms(n_features, q) <= MAX_WRITTEN), default=0)


def refine_unwritten(
    pnet: PolynomialNetwork, lower: Polynomial, problem: Problem
) -> PolynomialNetwork:
    """Refine a polynomial network of too many terms to write: its lower orders take what it leaves.

    What comes of that is mixed with the refined formula of these lower orders alone, as much of
    each as does best on the rows kept for choices: a calibration of many terms can be further off
    than a refit of fewer, by .07 of R² on adult census (ReLU, order 3).

    Parameters
    ----------
    lower
        The formula of the lower orders, refined.
    """
    change = fit_terms(problem.left_by(pnet), lower.max_order)
    rows = problem.fit_rows
    X = rows.X[rows.fold == rows.fold.min()]
    whole = pnet.outputs_by_order(X)[-1] + change.outputs_by_order(X)[-1]
    share = _best_share(problem.truth(X), lower.outputs_by_order(X)[-1], whole)
    added = Correction(lower.terms, (1.0 - share) * lower.coefficients)
    moved = _in_coordinates_of(added, lower, pnet).plus(
        _in_coordinates_of(Correction(change.terms, share * change.coefficients), change, pnet)
    )
    expansions = (*pnet.expansions[:-1], share * pnet.expansions[-1])
    return replace(pnet, expansions=expansions, correction=moved)


def _best_share(truth: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Give the share (k,) of the second of two guesses (n, k), 0 to 1, by least squares."""
    between = second - first
    size = np.maximum((between**2).sum(axis=0), 1e-300)
    share: FloatArray = np.clip(((truth - first) * between).sum(axis=0) / size, 0.0, 1.0)
    return share


def _in_coordinates_of(
    change: Correction, formula: Polynomial, pnet: PolynomialNetwork
) -> Correction:
    """Rewrite a change of the formula's coefficients in the coordinates of the network."""
    inputs = pnet.network.inputs
    factor, shift = inputs.scale / formula.scale, (inputs.center - formula.center) / formula.scale
    return Correction(*substitute_listed(change.terms, change.coefficients, factor, shift))


def with_deviations(formula: Polynomial, problem: Problem) -> Polynomial:
    """Remember how far each term moved the outputs on rows of the sample."""
    if formula.coefficients.size > MAX_WRITTEN:
        return formula
    rows = problem.summary.held_out
    some = rows[evenly(len(rows), DEVIATION_ROWS)]
    return replace(formula, deviations=term_deviations(formula, some))
