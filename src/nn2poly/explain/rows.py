"""Rows to explain and rows that stand for a population, read from tables and streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, MixedRowsWarning, warn_user
from nn2poly.explain.written import check_explained, known_range
from nn2poly.formula.protocol import Formula
from nn2poly.inputs import outside_range, warn_outside
from nn2poly.score_texts import r2_text
from nn2poly.streams import dask_parts, is_dask, open_stream, read_evenly
from nn2poly.verdicts import POOR


def read_rows(poly: Formula, X: Any, where: str) -> FloatArray:
    """Read every row of a table or of a stream, checked against the features: array (n, p).

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> read_rows(Polynomial([[0.0], [1.0]], 1, ["t"]), [[20], [25]], "X").ravel()
    array([20., 25.])
    """
    parts = list(row_parts(poly, X, where))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def row_parts(poly: Formula, X: Any, where: str) -> Iterator[FloatArray]:
    """Walk every row of a table or of a stream: one matrix (m, p) or more of them.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"])
    >>> [part.shape for part in row_parts(poly, [[20], [25]], "X")]
    [(2, 1)]
    """
    check_explained(poly)
    empty = True
    for table in _tables(X):
        empty = False
        yield _matrix(poly, table, where)
    if empty:
        raise InvalidInputError(
            "The data are empty.", where=where, expected="at least 1 row", found="0 rows"
        )


def read_population(poly: Formula, X: Any, where: str) -> FloatArray:
    """Read rows that stand for a population: of a stream an even choice of at most 200,000.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"])
    >>> read_population(poly, [[20], [25]], "background").ravel()
    array([20., 25.])
    """
    check_explained(poly)
    return read_evenly(X, lambda table: _matrix(poly, table, where))


def _tables(X: Any) -> Iterable[Any]:
    """Give the tables that X consists of; an empty part of a stream is no table."""
    if is_dask(X):
        import dask

        return (part for part in dask.compute(*dask_parts(X)) if len(part))
    stream = open_stream(X)
    return (X,) if stream is None else (part for part in stream() if len(part))


def _matrix(poly: Formula, table: Any, where: str) -> FloatArray:
    return poly.inputs.read(table, where=where)


def checked_rows(poly: Formula, X: Any) -> FloatArray:
    """Read every row of a table or of a stream, and warn about those outside the range: (n, p)."""
    rows = read_rows(poly, X, "X")
    warn_once(poly, rows)
    return rows


def checked_population(poly: Formula, X: Any) -> FloatArray:
    """Read rows that stand for a population, and warn about those outside the range: (n, p)."""
    rows = read_population(poly, X, "X")
    warn_once(poly, rows)
    return rows


def warn_once(poly: Formula, *tables: FloatArray) -> None:
    """Warn about the first of the tables (n, p) with rows outside the calibrated range."""
    seen = known_range(poly)
    outside = (rows for rows in tables if seen and outside_range(rows, *seen).any())
    if seen and (rows := next(outside, None)) is not None:
        warn_outside(rows, *seen, poly.feature_names, held=poly.inputs.held_outside)


def warn_mixed(poly: Formula) -> None:
    """Warn where the card grades effects as rough or worse."""
    # A `Separable`, which the functions take as well, has no card.
    card = getattr(poly, "card", None)
    if card is None or card.verdict.effects not in POOR:
        return
    there, here = r2_text(card.r2_mixed), r2_text(card.r2)
    warn_user(
        "This explanation moves columns apart from each other, and on rows with shuffled columns "
        f"the formula is {card.verdict.effects} (R2 {there}; on rows as they are R2 {here}): it "
        "may tell of the formula alone. explain.ale and explain.cohort_shapley stay near the rows.",
        MixedRowsWarning,
    )
