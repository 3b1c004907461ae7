"""Rows in well-conditioned coordinates, and the mean of every monomial over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from nn2poly.algebra.monomials import (
    count_terms,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import Terms
from nn2poly.inputs import as_matrix, matching_names, warn_outside
from nn2poly.streams import dask_parts, is_dask, open_stream, read_evenly

# Bytes of the monomials of one batch of rows.
BATCH_BYTES = 2**24
# A sparse polynomial is recentred when the full basis of its variables is no larger than this.
RECENTRED_TERMS = 2_000_000


def check_polynomial(poly: object) -> None:
    """Refuse what is no explicit polynomial, before anything asks it for its terms."""
    if isinstance(poly, Polynomial):
        return
    factored = hasattr(type(poly), "outputs_by_order") and hasattr(type(poly), "expand")
    raise InvalidInputError(
        "Only an explicit polynomial can be explained.",
        where="poly",
        expected="a Polynomial",
        found=type(poly).__name__,
        remedy="write its terms out: poly.expand()"
        if factored
        else "convert the network first: poly = nn2poly.convert(model, data=X)",
    )


def read_rows(poly: Polynomial, X: Any, where: str) -> FloatArray:
    """Read every row of a table or of a stream, checked against the features: array (n, p).

    Examples
    --------
    >>> read_rows(Polynomial([[0.0], [1.0]], 1, ["t"]), [[20], [25]], "X").ravel()
    array([20., 25.])
    """
    parts = list(row_parts(poly, X, where))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def row_parts(poly: Polynomial, X: Any, where: str) -> Iterator[FloatArray]:
    """Walk every row of a table or of a stream: one matrix (m, p) or more of them.

    Examples
    --------
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"])
    >>> [part.shape for part in row_parts(poly, [[20], [25]], "X")]
    [(2, 1)]
    """
    check_polynomial(poly)
    empty = True
    for table in _tables(X):
        empty = False
        yield _matrix(poly, table, where)
    if empty:
        raise InvalidInputError(
            "The data are empty.", where=where, expected="at least 1 row", found="0 rows"
        )


def read_population(poly: Polynomial, X: Any, where: str) -> FloatArray:
    """Read rows that stand for a population: of a stream an even choice of at most 200,000.

    Examples
    --------
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"])
    >>> read_population(poly, [[20], [25]], "background").ravel()
    array([20., 25.])
    """
    check_polynomial(poly)
    return read_evenly(X, lambda table: _matrix(poly, table, where))


def _tables(X: Any) -> Iterable[Any]:
    """Give the tables that X consists of; an empty part of a stream is no table."""
    if is_dask(X):
        import dask

        return (part for part in dask.compute(*dask_parts(X)) if len(part))
    stream = open_stream(X)
    return (X,) if stream is None else (part for part in stream() if len(part))


def _matrix(poly: Polynomial, table: Any, where: str) -> FloatArray:
    names = matching_names(table, poly.feature_names)
    return as_matrix(table, feature_names=names, n_features=poly.n_features, where=where)


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
