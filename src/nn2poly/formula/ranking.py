"""The largest terms of polynomials too long to sort: one pass, in pieces, nothing else kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nn2poly.algebra.terms import Term, Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.importance import ranking
from nn2poly.formula.largest import largest
from nn2poly.formula.legend import legend
from nn2poly.formula.term_names import term_name
from nn2poly.inputs import Inputs
from nn2poly.tables import Table

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

# Rows of a polynomial that are looked at at a time: 2 MB for each output, near the cache.
PIECE_ROWS = 2**18


def largest_rows(
    pieces: Iterable[FloatArray], n: int, column: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Find the n largest rows of a long array that comes in pieces.

    Parameters
    ----------
    pieces
        Arrays (some rows, n_outputs), in order.
    n
        How many.
    column
        Rank by the absolute value of one column; None by the norm over all.

    Returns
    -------
    arrays (n,) and (n, n_outputs)
        Their places, largest first and ties in order, and the rows.

    Examples
    --------
    >>> pieces = [np.array([[1.0], [-5.0]]), np.array([[3.0]])]
    >>> largest_rows(pieces, 2)[0]
    array([1, 2])
    """
    places, rows, sizes = np.empty(0, dtype=np.intp), None, np.empty(0)
    begin, lowest = 0, -1.0
    for piece in pieces:
        size = _size(piece, column)
        new = np.flatnonzero(size > lowest)
        if len(new) > n:
            new = new[np.sort(largest(size[new], n))]
        places = np.concatenate([places, begin + new])
        rows = piece[new] if rows is None else np.concatenate([rows, piece[new]])
        sizes = np.concatenate([sizes, size[new]])
        begin += len(piece)
        if len(places) > 2 * n:
            # In order of place, so that of equal rows the earlier one stays.
            kept = np.sort(largest(sizes, n))
            places, rows, sizes = places[kept], rows[kept], sizes[kept]
            lowest = float(sizes.min())
    if rows is None:
        return places, np.empty((0, 0))
    order = largest(sizes, n)
    return places[order], rows[order]


def _size(piece: FloatArray, column: int | None) -> FloatArray:
    if column is None and piece.shape[1] > 1:
        norm: FloatArray = np.linalg.norm(piece, axis=1)
        return norm
    size: FloatArray = np.abs(piece[:, column or 0])
    return size


def top_places(poly: Polynomial, n: int, column: int | None = None) -> IntArray:
    """Find the n terms that matter most, the intercept aside: array (n,) of places.

    That is by the standard deviation of their contribution on the sample of the conversion; a
    polynomial that knows no sample is ranked by its coefficients, piece by piece.
    """
    begin = poly.terms.ends[1]
    if poly.deviations is not None:
        found = ranking(poly)
        size = found.overall if column is None else found.sizes[:, column]
        return begin + largest(size[begin:], n)
    return begin + largest_rows(row_pieces(poly.coefficients, begin), n, column)[0]


def row_pieces(values: FloatArray, begin: int = 0) -> Iterator[FloatArray]:
    """Cut an array (n, n_outputs) into pieces, from row ``begin`` on."""
    for first in range(begin, len(values), PIECE_ROWS):
        yield values[first : first + PIECE_ROWS]


def ranked_table(
    terms: Terms,
    found: tuple[IntArray, FloatArray],
    inputs: Inputs,
    output_names: Sequence[str],
    *,
    title: str,
    note: str,
) -> Table:
    """List terms by name, order and coefficients; the note ends with what names stand for.

    Parameters
    ----------
    terms
        The terms of the polynomial.
    found
        Places (n,) among them, and coefficients (n, n_outputs).
    """
    places, rows = found
    chosen = terms_at(terms, places)
    lines = tuple(
        (term_name(term, inputs.written_names), len(term), *values)
        for term, values in zip(chosen, rows.tolist(), strict=True)
    )
    columns = ("coefficient",) if len(output_names) == 1 else tuple(output_names)
    note = "\n".join(filter(None, (note, legend(inputs, chosen))))
    return Table(title, ("term", "order", *columns), lines, note=note)


def terms_at(terms: Terms, places: IntArray) -> list[Term]:
    """Give the terms at some places, all different, in the order of the places."""
    order = np.argsort(places)
    ordered = list(terms.at(places[order]))
    return [ordered[i] for i in np.argsort(order).tolist()]
