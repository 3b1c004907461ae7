"""Refit the written terms to the network's own outputs, without a cliff.

A calibration follows the network layer by layer and never sees the terms. Once they are written
out, a ridge regression of the outputs on the terms adds what the layers could not (`term_fit`). It
works in products of orthonormal polynomials (`basis`), shrinks towards what is known so far, and
chooses its strength on rows that it does not fit (`strengths`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded, Listed, Terms, collect
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.factored.correction import Correction
from nn2poly.fit.basis import orthonormal_basis
from nn2poly.fit.problem import Problem
from nn2poly.fit.regression import Regression
from nn2poly.fit.term_fit import TermFit
from nn2poly.formula.fold import fold_terms
from nn2poly.formula.polynomial import Polynomial

# All terms of an order are fitted up to so many, before indicators are folded: the design matrix of
# as many takes a gigabyte on 1,000 rows.
MAX_LISTED = 200_000


def refit_terms(poly: Polynomial, problem: Problem) -> Polynomial:
    """Refit the coefficients to the network's outputs, where that helps on rows left out.

    Parameters
    ----------
    poly
        The polynomial, with all divisors of its terms.

    Returns
    -------
    Polynomial
        The same one when there are too few rows to choose on, or when nothing is gained.
    """
    rows = problem.fit_rows
    if poly.max_order < 1 or not can_refit(problem):
        return poly
    z = poly.inputs.to_working(rows.X)
    basis = orthonormal_basis(z, rows.weights, poly.max_order)
    terms = poly.terms.at(basis.carried(poly.terms))
    prior = _aligned(terms, *basis.products(poly.terms, poly.coefficients))
    found = TermFit(Regression(poly.inputs, basis, terms), problem, prior).best()
    if found is None:
        return poly
    fitted = Correction(*basis.powers(terms, found))
    # The mean of equal values may be another number by rounding: 0 is not asked for.
    flat = _of_flat_columns(poly, np.ptp(z, axis=0) == 0.0)
    whole = fitted if flat is None else fitted.plus(flat)
    return _with_terms(poly, whole.terms, whole.coefficients)


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


def fit_terms(problem: Problem, max_order: int) -> Polynomial:
    """Fit all terms up to an order to the network's outputs, without a calibration before.

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
    few = len(rows) < 2 * max(2, len(np.unique(rows.fold)))
    if few or not np.all(np.isfinite(problem.fit_truth)):
        raise _unfit(len(rows))
    terms = _all_terms(problem, max_order)
    basis = orthonormal_basis(inputs.to_working(rows.X), rows.weights, max_order)
    terms = terms.at(basis.carried(terms))
    nothing = np.zeros((len(terms), problem.network.n_outputs))
    found = TermFit(Regression(inputs, basis, terms), problem, nothing, calibrated=False).best()
    if found is None:
        raise _unfit(len(rows))
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
