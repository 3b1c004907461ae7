"""Exact slopes of a polynomial: the derivative is again a polynomial, of one order less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nn2poly.algebra.monomials import (
    count_terms,
    rank,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.explain.moments import check_polynomial, read_rows, warn_once
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import offsets, parse_term
from nn2poly.memory import check_terms

Degrees = Sequence[tuple[slice, IntArray]]


def derivative(poly: Polynomial, feature: int | str) -> Polynomial:
    """Differentiate with respect to one feature, in raw units.

    With z = (x - center) / scale, ∂P/∂x_j = (1 / scale_j) ∂P/∂z_j.

    Parameters
    ----------
    poly
        The polynomial.
    feature
        Index or name.

    Returns
    -------
    Polynomial
        Of order Q - 1, in the same coordinates; its outputs are slopes, so it has no link.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t", "t^2", "t u"], [1.0, 3.0, 5.0], ["t", "u"])
    >>> slope = derivative(poly, "t")
    >>> dict(zip(slope.term_names(), slope.coefficients[:, 0].tolist()))
    {'1': 1.0, 't': 6.0, 'u': 5.0}
    """
    check_polynomial(poly)
    (j,) = parse_term((feature,), poly.feature_names)
    return _derivative(poly, j, list(poly.terms.by_degree()))


def gradients(poly: Polynomial, X: Any) -> FloatArray:
    """Compute the exact gradient of every output at every row.

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array, data frame or stream (n, p) in raw units.

    Returns
    -------
    array (n, p, n_outputs)
        Change of the raw output (before the link) per raw unit of the feature.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t^2", "t u"], [3.0, 5.0], ["t", "u"])
    >>> gradients(poly, [[1.0, 2.0]])[0, :, 0]
    array([16.,  5.])
    """
    rows = checked_rows(poly, X)
    check_room(poly, len(rows), "The array of gradients")
    degrees = list(poly.terms.by_degree())
    slopes = (evaluate(_derivative(poly, j, degrees), rows) for j in range(poly.n_features))
    result: FloatArray = np.stack(list(slopes), axis=1)
    return result


def _derivative(poly: Polynomial, j: int, degrees: Degrees) -> Polynomial:
    """Differentiate; ``degrees`` are the terms by degree, worked out once for all features."""
    order = max(poly.max_order - 1, 0)
    begin = offsets(poly.n_features, order)
    # Removing one factor z_j keeps the graded order, so the positions come out sorted.
    positions = [np.empty(0, dtype=np.intp)]
    values = [np.empty((0, poly.n_outputs))]
    for here, variables in degrees:
        found = variables == j
        power = found.sum(axis=1)
        chosen = np.flatnonzero(power)
        if not len(chosen):
            continue
        degree = variables.shape[1]
        keep = np.ones((len(chosen), degree), dtype=bool)
        keep[np.arange(len(chosen)), found[chosen].argmax(axis=1)] = False
        reduced = variables[chosen][keep].reshape(len(chosen), degree - 1)
        positions.append(begin[degree - 1] + rank(reduced, poly.n_features))
        values.append(poly.coefficients[here][chosen] * power[chosen, None] / poly.scale[j])
    return plain(poly, order, np.concatenate(positions), np.concatenate(values))


def plain(
    poly: Polynomial, order: int, positions: IntArray, coefficients: FloatArray
) -> Polynomial:
    """Give a polynomial in the same features, without link, layers, range or card."""
    full = len(positions) == count_terms(poly.n_features, order)
    return replace(
        poly,
        coefficients=coefficients,
        max_order=order,
        positions=None if full else positions,
        classes=None,
        link="identity",
        layers=(),
        low=None,
        high=None,
        card=None,
    )


def evaluate(poly: Polynomial, rows: FloatArray) -> FloatArray:
    """Compute the raw outputs, always (n, n_outputs)."""
    return poly.predict(rows).reshape(len(rows), poly.n_outputs)


def checked_rows(poly: Polynomial, X: Any) -> FloatArray:
    """Read every row of a table or of a stream, and warn about those outside the range.

    Returns
    -------
    array (n, p)
    """
    rows = read_rows(poly, X, "X")
    warn_once(poly, rows)
    return rows


def check_room(poly: Polynomial, n_rows: int, what: str) -> None:
    """Refuse an array (n, p, n_outputs), and its copy, that does not fit in memory."""
    check_terms(
        poly.n_terms,
        16 * n_rows * poly.n_features * poly.n_outputs,
        what=f"{what} on {n_rows:,} rows, of a polynomial that",
        remedy="pass fewer rows at a time",
    )
