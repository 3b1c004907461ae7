"""Terms of an order, and the polynomial of their coefficients; see `term_fit`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded, Listed, Terms, collect
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.factored.calibrated import calibrate
from nn2poly.factored.correction import Correction
from nn2poly.fit.basis import Basis, orthonormal_basis
from nn2poly.fit.problem import Problem
from nn2poly.fit.regression import Regression
from nn2poly.fit.term_fit import TermFit
from nn2poly.formula.fold import fold_terms
from nn2poly.formula.polynomial import Polynomial

# All terms of an order are fitted up to so many, before indicators are folded: the design matrix of
# as many takes a gigabyte on 1,000 rows.
MAX_LISTED = 200_000
# What a polynomial leaves of the outputs, over their deviation, is rounding below this.
ROUNDING = 1e-9


def refit_terms(poly: Polynomial, problem: Problem) -> Polynomial:
    """Refit the coefficients of a calibration to the network's outputs.

    Parameters
    ----------
    poly
        The polynomial, with all divisors of its terms.

    Returns
    -------
    Polynomial
        The same one when there are too few rows to choose on, or when outputs do not vary.
    """
    rows = problem.fit_rows
    if poly.max_order < 1 or not can_refit(problem) or _leaves_nothing(poly, problem):
        return poly
    z = poly.inputs.to_working(rows.X)
    basis = orthonormal_basis(z, rows.weights, poly.max_order)
    terms = poly.terms.at(basis.carried(poly.terms))
    regression = Regression(poly.inputs, basis, terms)
    found = TermFit(regression, problem, partial(_in_basis, poly, basis, terms)).best()
    fitted = Correction(*basis.powers(terms, found))
    flat = _of_flat_columns(poly, basis.degrees == 0)
    whole = fitted if flat is None else fitted.plus(flat)
    return _with_terms(poly, whole.terms, whole.coefficients)


def _leaves_nothing(poly: Polynomial, problem: Problem) -> bool:
    """Tell whether a polynomial is the network, but for rounding."""
    apart = poly.outputs_by_order(problem.fit_rows.X)[-1] - problem.fit_truth
    return bool(np.all(np.abs(apart) <= ROUNDING * problem.unit))


def _in_basis(poly: Polynomial, basis: Basis, terms: Terms) -> FloatArray:
    """Give the coefficients (n, k) of a polynomial in products of orthonormal polynomials."""
    return _aligned(terms, *basis.products(poly.terms, poly.coefficients))


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


def fit_terms(problem: Problem, max_order: int) -> Polynomial:
    """Fit all terms up to an order to the model's outputs.

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
    if len(rows) < max_order + 2 or not np.all(np.isfinite(problem.fit_truth)):
        raise _unfit(len(rows))
    terms = _all_terms(problem, max_order)
    basis = orthonormal_basis(inputs.to_working(rows.X), rows.weights, max_order)
    terms = terms.at(basis.carried(terms))

    def calibrated() -> FloatArray:
        pnet = calibrate(problem.working, rows, max_order, refit=True)
        return _in_basis(fold_indicators(pnet.expand(), problem), basis, terms)

    prior = None if problem.of_outputs else calibrated
    found = TermFit(Regression(inputs, basis, terms), problem, prior).best()
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
