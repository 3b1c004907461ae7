"""Rows in well-conditioned coordinates, and the mean of every monomial over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nn2poly.algebra.graded import FloatArray
from nn2poly.algebra.monomials import IntArray, count_terms
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import as_matrix, matching_names, warn_outside
from nn2poly.polynomial.polynomial import Polynomial
from nn2poly.polynomial.terms import Terms
from nn2poly.streams import read_evenly

# Bytes of the monomials of one batch of rows.
BATCH_BYTES = 2**24
# A sparse polynomial is recentred when the full basis of its variables is no larger than this.
RECENTRED_TERMS = 2_000_000


def read_rows(poly: Polynomial, X: Any, where: str) -> FloatArray:
    """Check a table of raw data against the polynomial's features: array (n, p).

    Examples
    --------
    >>> read_rows(Polynomial([[0.0], [1.0]], 1, ["t"]), [[20], [25]], "X").ravel()
    array([20., 25.])
    """
    if not isinstance(poly, Polynomial):
        raise InvalidInputError(
            "Only an explicit polynomial can be explained.",
            where="poly",
            expected="a Polynomial",
            found=type(poly).__name__,
            remedy="convert the network first: poly = nn2poly.convert(model, data=X)",
        )

    def read(table: Any) -> FloatArray:
        names = matching_names(table, poly.feature_names)
        return as_matrix(table, feature_names=names, n_features=poly.n_features, where=where)

    return read_evenly(X, read)


def warn_once(poly: Polynomial, *tables: FloatArray) -> None:
    """Warn about the first of the tables (n, p) with rows outside the calibrated range."""
    if poly.low is None or poly.high is None:
        return
    for rows in tables:
        if poly.count_outside(rows):
            warn_outside(rows, poly.low, poly.high, poly.feature_names)
            return


def recentred(poly: Polynomial, rows: FloatArray) -> Polynomial:
    """Rewrite the polynomial around the mean of raw rows (n, p), where moments cancel least.

    Examples
    --------
    >>> poly = Polynomial([[0.0], [0.0], [1.0]], 2, ["year"])
    >>> recentred(poly, np.array([[1999.0], [2001.0]])).coefficients.ravel()
    array([4.e+06, 4.e+03, 1.e+00])
    """
    if poly.positions is not None:
        variables = [part.ravel() for _, part in poly.terms.by_degree()]
        used = len(np.unique(np.concatenate(variables)))
        # Wide and sparse: the dense change of coordinates costs more than the digits it saves.
        if not used or count_terms(used, poly.max_order) > RECENTRED_TERMS:
            return poly
    return poly.rebase(center=rows.mean(axis=0), scale=poly.scale)


def row_batches(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows so that ``width`` numbers for each of a batch take about 16 MB."""
    step = int(np.clip(BATCH_BYTES // (8 * max(width, 1)), 16, 4096))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


def monomial_values(terms: Terms, z: FloatArray) -> FloatArray:
    """Evaluate every term on a batch, terms first: rows of the result are contiguous.

    Parameters
    ----------
    terms
        The terms.
    z
        Array (rows, p).

    Returns
    -------
    array (n_terms, rows)

    Examples
    --------
    >>> monomial_values(Terms(2, 2), np.array([[2.0, 3.0]])).ravel()
    array([1., 2., 3., 4., 6., 9.])
    """
    columns = np.ascontiguousarray(z.T)
    out = np.empty((len(terms), len(z)))
    for here, variables in terms.by_degree():
        out[here] = columns[variables[:, 0]] if variables.shape[1] else 1.0
        for variable in variables[:, 1:].T:
            out[here] *= columns[variable]
    return out


def joint_moments(terms: Terms, z: FloatArray) -> FloatArray:
    """Average every monomial over rows z (n, p) as they are: array (n_terms,).

    Examples
    --------
    >>> joint_moments(Terms(2, 2), np.array([[1.0, 1.0], [-1.0, -1.0]]))
    array([1., 0., 0., 1., 1., 1.])
    """
    total = np.zeros(len(terms))
    for here in row_batches(len(z), len(terms)):
        total += monomial_values(terms, z[here]).sum(axis=1)
    return total / len(z)


def feature_moments(z: FloatArray, max_order: int) -> FloatArray:
    """Average the powers of each feature over rows z (n, p): array (p, max_order + 1).

    Examples
    --------
    >>> feature_moments(np.array([[1.0], [3.0]]), 2)
    array([[1., 2., 5.]])
    """
    powers = [(z**a).mean(axis=0) for a in range(max_order + 1)]
    return np.stack(powers, axis=1)


def patterns(variables: IntArray) -> Iterator[tuple[IntArray, IntArray, tuple[int, ...]]]:
    """Group monomials by their exponents.

    Parameters
    ----------
    variables
        Array (n, degree) of non-decreasing indices.

    Yields
    ------
    places (m,) of the monomials of a group, their distinct variables (m, k), and the k
    exponents that they share

    Examples
    --------
    >>> for group in patterns(np.array([[0, 0], [0, 1], [1, 1]])):
    ...     print(group)
    (array([0, 2]), array([[0],
           [1]]), (2,))
    (array([1]), array([[0, 1]]), (1, 1))
    """
    n, degree = variables.shape
    if degree == 0:
        yield np.arange(n), variables, ()
        return
    begins = np.ones((n, degree), dtype=bool)
    begins[:, 1:] = variables[:, 1:] != variables[:, :-1]
    code = begins @ (1 << np.arange(degree))
    for value in np.unique(code).tolist():
        places = np.flatnonzero(code == value)
        first = np.flatnonzero(begins[places[0]])
        exponents = tuple(np.diff([*first.tolist(), degree]).tolist())
        yield places, variables[places][:, first], exponents
