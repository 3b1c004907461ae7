"""What matters: how far each term moves the outputs over some rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nn2poly.algebra.terms import Terms
from nn2poly.arrays import FloatArray
from nn2poly.formula.evaluate import products

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

# Numbers (rows × terms) that are worked on at a time: 32 MB.
NUMBERS = 2**22


def term_deviations(poly: Polynomial, rows: FloatArray) -> FloatArray:
    """Compute the standard deviation of each term's contribution over the rows.

    A contribution is coefficient × value, in units of the output, so that terms compare whatever
    the units of their features; that of the constant is 0.

    Parameters
    ----------
    poly
        The polynomial.
    rows
        Array (n, p) of raw features.

    Returns
    -------
    array (n_terms, n_outputs)

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial.from_terms(["1", "km", "km t"], [7.0, 2.0, -3.0], ["km", "t"])
    >>> term_deviations(poly, np.array([[1.0, 2.0], [-1.0, 0.0]])).ravel()
    array([0., 2., 3.])
    """
    z = poly.inputs.to_working(rows)
    step = max(1, NUMBERS // max(1, len(z)))
    spread = np.empty(len(poly.terms))
    for here, variables in poly.terms.by_degree():
        for begin in range(0, len(variables), step):
            values = products(variables[begin : begin + step], z)
            place = here.start + begin
            spread[place : place + values.shape[1]] = values.std(axis=0)
    result: FloatArray = np.abs(poly.coefficients) * spread[:, None]
    return result


def carried(terms: Terms, sizes: FloatArray, others: Terms) -> FloatArray:
    """Give other terms the sizes (n_terms, n_outputs) of the same ones; new ones have none.

    Examples
    --------
    >>> from nn2poly.algebra.terms import Listed
    >>> few, more = Listed.of([(0, 1)], 2), Listed.of([(), (0,), (0, 1)], 2)
    >>> carried(few, np.array([[3.0]]), more).ravel()
    array([0., 0., 3.])
    """
    known = dict(zip(terms, sizes, strict=True))
    nothing = np.zeros(sizes.shape[1])
    return np.array([known.get(term, nothing) for term in others]).reshape(len(others), -1)
