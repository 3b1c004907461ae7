"""What explanations ask of a formula, and how they write one: the one place that knows both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded, Listed, Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.explain.factor_products import row_codes
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula, check_formula
from nn2poly.inputs.functions import IDENTITY

# Standard deviations from the mean of its column at which a polynomial is rewritten: nearer, a
# cubic loses at most 30³ of 10¹⁶.
FAR = 30.0


def check_explained(poly: object) -> None:
    """Refuse what has no terms, before anything asks for them."""
    check_formula(poly, verb="explained")


def known_range(poly: Formula) -> tuple[FloatArray, FloatArray] | None:
    """Give the lowest and highest values (p,) that the conversion saw, if it saw data."""
    low, high = poly.inputs.low, poly.inputs.high
    return None if low is None or high is None else (low, high)


def recentred(poly: Formula, rows: FloatArray) -> Formula:
    """Rewrite a polynomial around the mean of raw rows (n, p) in the columns far from it.

    Powers of a year in raw units are almost the same function, and their coefficients cancel.

    Examples
    --------
    >>> poly = Polynomial([[0.0], [0.0], [1.0]], 2, ["year"])
    >>> recentred(poly, np.array([[1999.0], [2001.0]])).coefficients.ravel()
    array([4.e+06, 4.e+03, 1.e+00])
    """
    if not isinstance(poly, Polynomial | PiecewisePolynomial):
        return poly
    z = poly.inputs.to_working(rows)
    mean = z.mean(axis=0)
    far = np.abs(mean) > FAR * z.std(axis=0)
    if not far.any():
        return poly
    center = poly.inputs.curved(rows).mean(axis=0)
    return poly.rebase(np.where(far, center, poly.center), poly.scale)


def evaluate(poly: Formula, rows: FloatArray) -> FloatArray:
    """Compute the raw outputs, always (n, n_outputs)."""
    poly.inputs.warn_outside(rows)
    return poly.raw_outputs(rows)


def plain(poly: Polynomial) -> Polynomial:
    """Leave out link, classes, layers, range and card: the outputs are no predictions."""
    return replace(
        poly,
        inputs=poly.inputs.seen(None, None),
        outputs=poly.outputs.raw(),
        layers=(),
        card=None,
        deviations=None,
    )


def entered(poly: Polynomial) -> Polynomial:
    """Take what features enter as, such as a logarithm, for the features themselves."""
    return replace(
        poly, inputs=poly.inputs.through(dict.fromkeys(range(poly.n_features), IDENTITY))
    )


def listed_terms(n_features: int, rows: Sequence[IntArray]) -> tuple[Terms, IntArray]:
    """List terms that come as arrays (n_d, d) of features, each degree once or not at all.

    Returns
    -------
    Terms, and array (n_terms,)
        The order of the terms given, degree after degree, in which they are listed.
    """
    order = max((part.shape[1] for part in rows), default=0)
    blocks = [np.empty((0, degree), dtype=np.intp) for degree in range(order + 1)]
    places = [np.empty(0, dtype=np.intp) for _ in blocks]
    begin = 0
    for part in rows:
        degree = part.shape[1]
        sequence = np.lexsort(part.T[::-1]) if degree else np.arange(len(part))
        blocks[degree], places[degree] = part[sequence], begin + sequence
        begin += len(part)
    every = np.concatenate(places)
    full = len(every) == count_terms(n_features, order)
    terms = Graded(n_features, order) if full else Listed(n_features, tuple(blocks))
    return terms, every


def written(
    poly: Polynomial,
    rows: Sequence[IntArray],
    coefficients: FloatArray,
    features: Sequence[int] | None = None,
) -> Polynomial:
    """Write a polynomial of other terms in the coordinates of one that there is.

    Parameters
    ----------
    rows
        Arrays (n_d, d) of feature indices, each degree once or not at all.
    coefficients
        Array (n_terms, n_outputs), in the order of the rows.
    features
        The only features of the new polynomial, which the rows count from 0; None for all.
    """
    chosen = list(range(len(poly.feature_names)) if features is None else features)
    terms, order = listed_terms(len(chosen), rows)
    bare = plain(poly)
    inputs = bare.inputs if features is None else bare.inputs.select(chosen)
    return replace(bare, coefficients=coefficients[order], terms=terms, inputs=inputs)


def union_of_terms(polys: Sequence[Polynomial]) -> tuple[Terms, FloatArray]:
    """Bring polynomials of the same features and coordinates to the same terms.

    Returns
    -------
    Terms, and array (n_members, n_terms, n_outputs)
        The terms that any of them has, and their coefficients, 0 where absent.
    """
    p, n_outputs = len(polys[0].feature_names), polys[0].coefficients.shape[1]
    degrees = [list(poly.terms.by_degree()) for poly in polys]
    rows, values = [], []
    for degree in range(max(map(len, degrees))):
        parts = [(k, *by[degree]) for k, by in enumerate(degrees) if degree < len(by)]
        every = np.concatenate([part for _, _, part in parts])
        unique, first, places = np.unique(
            row_codes(every, p), return_index=True, return_inverse=True
        )
        block, begin = np.zeros((len(polys), len(unique), n_outputs)), 0
        for k, here, part in parts:
            block[k, places[begin : begin + len(part)]] = polys[k].coefficients[here]
            begin += len(part)
        rows.append(every[first])
        values.append(block)
    terms, order = listed_terms(p, rows)
    return terms, np.concatenate(values, axis=1)[:, order]
