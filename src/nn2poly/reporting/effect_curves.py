"""What terms and features do on the rows of a sample: deviations, average curves, pairs."""

from __future__ import annotations

import numpy as np

from nn2poly.algebra.terms import Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.evaluate import term_values
from nn2poly.formula.polynomial import Polynomial

# Numbers that one batch of rows × terms may hold, and the fewest rows that pairs are judged on.
BATCH = 2**21
MIN_ROWS = 32


def term_deviations(terms: Terms, z: FloatArray) -> FloatArray:
    """Compute the standard deviation of every term's value over the rows.

    Times the absolute coefficient, it is how much the term moves the output: a measure that
    does not depend on the units of the inputs.

    Parameters
    ----------
    z
        Array (n, p) in the polynomial's coordinates.

    Returns
    -------
    array (n_terms,)

    Examples
    --------
    >>> term_deviations(Terms(1, 2), np.array([[-1.0], [1.0]]))
    array([0., 1., 0.])
    """
    # Shifted by the first row, the sums of a constant term are exactly 0.
    shift = term_values(terms, z[:1])[0]
    total, squares = np.zeros(len(terms)), np.zeros(len(terms))
    for batch in _batches(z, len(terms)):
        values = term_values(terms, batch) - shift
        total += values.sum(axis=0)
        squares += np.einsum("ij,ij->j", values, values)
    mean = total / len(z)
    deviations: FloatArray = np.sqrt(np.maximum(squares / len(z) - mean**2, 0.0))
    return deviations


def average_curves(poly: Polynomial, z: FloatArray) -> FloatArray:
    """Average the polynomial over the rows as one feature varies (its partial dependence).

    Friedman (2001), Greedy function approximation, section 8.2. A term z_j^a·r adds
    mean(r)·z_j^a; each curve is shifted to have mean 0 over the rows.

    Parameters
    ----------
    z
        Array (n, p) in the polynomial's coordinates.

    Returns
    -------
    array (Q + 1, p, n_outputs)
        Coefficients of z_j^0 … z_j^Q.

    Examples
    --------
    >>> poly = Polynomial.from_terms(["a", "a b"], [1.0, 2.0], ["a", "b"])
    >>> average_curves(poly, np.array([[0.0, 1.0], [0.0, 3.0]]))[:, 0, 0]
    array([0., 5., 0.])
    """
    curves = np.zeros((poly.max_order + 1, poly.n_features, poly.n_outputs))
    for here, variables in poly.terms.by_degree():
        degree = variables.shape[1]
        for power in range(1, degree + 1):
            for first in range(degree - power + 1):
                rows = _runs(variables, first, power)
                rest = np.delete(variables[rows], np.s_[first : first + power], axis=1)
                weights = _mean_products(rest, z)[:, None] * poly.coefficients[here][rows]
                np.add.at(curves[power], variables[rows, first], weights)
    powers = np.stack([(z**a).mean(axis=0) for a in range(poly.max_order + 1)])
    curves[0] -= np.einsum("apk,ap->pk", curves[1:], powers[1:])
    return curves


def factor_averages(poly: Polynomial, z: FloatArray, levels: FloatArray) -> FloatArray:
    """Average the polynomial over the rows with exactly one level of a factor on.

    Moving one 0/1 column of a factor by itself asks about rows with two levels or none; here
    all columns of the factor move together.

    Parameters
    ----------
    z
        Array (n, p) in the polynomial's coordinates.
    levels
        Array (L, p): for each level the values of the factor's columns, NaN in all others.

    Returns
    -------
    array (L, n_outputs)

    Examples
    --------
    >>> poly = Polynomial.from_terms(["a", "b c"], [1.0, 2.0], ["a", "b", "c"])
    >>> z = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 5.0]])
    >>> factor_averages(poly, z, np.array([[1.0, 0.0, np.nan], [0.0, 1.0, np.nan]])).ravel()
    array([1., 8.])
    """
    held = ~np.isnan(levels[0])
    fixed = np.where(held, levels, 1.0)
    # A last column of ones stands for what a level fixes.
    free = np.hstack([z, np.ones((len(z), 1))])
    averages = np.zeros((len(levels), poly.n_outputs))
    for here, variables in poly.terms.by_degree():
        rest = np.where(held[variables], poly.n_features, variables)
        weights = _mean_products(np.sort(rest, axis=1), free)[:, None] * poly.coefficients[here]
        for average, level in zip(averages, fixed, strict=True):
            average += level[variables].prod(axis=1) @ weights
    return averages


def _runs(variables: IntArray, first: int, power: int) -> IntArray:
    """Find the terms whose columns ``first … first + power`` are all of one variable's power."""
    value, end = variables[:, first], first + power
    alike = (variables[:, first:end] == value[:, None]).all(axis=1)
    if first:
        alike &= variables[:, first - 1] != value
    if end < variables.shape[1]:
        alike &= variables[:, end] != value
    return np.flatnonzero(alike)


def _mean_products(variables: IntArray, z: FloatArray) -> FloatArray:
    """Average the products of columns of z over the rows, each different product once."""
    if not variables.shape[1] or not len(variables):
        return np.ones(len(variables))
    unique, inverse = np.unique(variables, axis=0, return_inverse=True)
    total = np.zeros(len(unique))
    for batch in _batches(z, len(unique)):
        values = np.ones((len(batch), len(unique)))
        for column in unique.T:
            values *= batch[:, column]
        total += values.sum(axis=0)
    means: FloatArray = (total / len(z))[inverse.ravel()]
    return means


def pair_deviations(poly: Polynomial, z: FloatArray) -> tuple[IntArray, FloatArray]:
    """Measure how much the terms in exactly two features, taken together, move the output.

    Parameters
    ----------
    z
        Array (n, p) in the polynomial's coordinates.

    Returns
    -------
    pairs
        Array (m, 2) of features, the first smaller.
    deviations
        Array (m, n_outputs): standard deviation over the rows of the sum of those terms.

    Examples
    --------
    >>> poly = Polynomial.from_terms(["a b", "b"], [3.0, 1.0], ["a", "b"])
    >>> pairs, deviations = pair_deviations(poly, np.array([[1.0, 1.0], [1.0, -1.0]]))
    >>> pairs.tolist(), deviations.ravel().tolist()
    ([[0, 1]], [3.0])
    """
    values, coefficients, group = _narrow_terms(poly, z)
    keys, begin = np.unique(group, return_index=True)
    pairs = np.stack([keys // poly.n_features, keys % poly.n_features], axis=1)
    deviations = np.zeros((len(keys), poly.n_outputs))
    for k in range(poly.n_outputs if len(keys) else 0):
        sums = np.add.reduceat(values * coefficients[:, k], begin, axis=1)
        deviations[:, k] = sums.std(axis=0)
    return pairs, deviations


def _narrow_terms(poly: Polynomial, z: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Give values (n, m), coefficients (m, k) and pair of the terms in two features."""
    places, groups = [], []
    for here, variables in poly.terms.by_degree():
        if variables.shape[1] < 2:
            continue
        first, last = variables[:, :1], variables[:, -1:]
        only = ((variables == first) | (variables == last)).all(axis=1)
        narrow = np.flatnonzero(only & (first != last)[:, 0])
        places.append(here.start + narrow)
        groups.append((first * poly.n_features + last)[narrow, 0])
    if not places:
        return np.zeros((len(z), 0)), poly.coefficients[:0], np.zeros(0, dtype=np.intp)
    place, group = np.concatenate(places), np.concatenate(groups)
    order = np.argsort(group, kind="stable")
    place = place[order]
    positions = place if poly.positions is None else poly.positions[place]
    # By position the terms are sorted by degree; undo that for the order by pair.
    by_position = np.argsort(positions)
    back = np.argsort(by_position)
    terms = Terms(poly.n_features, poly.max_order, positions[by_position])
    rows = z[:: max(1, -(-len(z) * len(place) // max(BATCH, MIN_ROWS * len(place))))]
    return term_values(terms, rows)[:, back], poly.coefficients[place], group[order]


def _batches(z: FloatArray, width: int) -> list[FloatArray]:
    rows = max(1, BATCH // max(width, 1))
    return [z[i : i + rows] for i in range(0, len(z), rows)]
