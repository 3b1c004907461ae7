"""Refine what the expansion gave: fold the indicators, refit the terms; one shape for each step.

A step takes a formula and the problem and gives a formula, the same one when it cannot help.
"""

from __future__ import annotations

from dataclasses import replace

from nn2poly.algebra.substitution import substitute_listed
from nn2poly.conversion.correction import Correction
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.refit import refit_terms
from nn2poly.formula.deviations import term_deviations
from nn2poly.formula.polynomial import Polynomial
from nn2poly.sampling import evenly

# A polynomial network is written out to be refined up to so many terms: the refit itself takes
# fewer, and folding can bring a longer one down to them.
MAX_WRITTEN = 200_000
# Rows that tell how far terms move the outputs: the standard error of a deviation is 2 % then.
DEVIATION_ROWS = 1_000


def fold_indicators(poly: Polynomial, problem: Problem) -> Polynomial:
    """Write a polynomial in 0/1 indicators u, for which u² = u, and leave out what vanishes."""
    groups = poly.inputs.indicators() if problem.folded else []
    if not groups:
        return poly
    center, scale = poly.center.copy(), poly.scale.copy()
    low, high = problem.inputs.ends()
    chosen = [j for group in groups for j in group]
    center[chosen], scale[chosen] = low[chosen], (high - low)[chosen]
    folded = poly.rebase(center, scale).fold(groups, never=problem.never)
    return replace(folded, layers=poly.layers)


def refine(pnet: PolynomialNetwork, problem: Problem) -> tuple[PolynomialNetwork, Polynomial]:
    """Refit the written terms; give the polynomial network that equals the formula, and it."""
    formula = fold_indicators(pnet.expand(), problem)
    refitted = refit_terms(formula, problem)
    if refitted is formula:
        return pnet, formula
    before = Correction(formula.terms, -formula.coefficients)
    change = Correction(refitted.terms, refitted.coefficients).plus(before)
    moved = _in_coordinates_of(change, formula, pnet)
    total = moved if pnet.correction is None else pnet.correction.plus(moved)
    return replace(pnet, correction=total), refitted


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
