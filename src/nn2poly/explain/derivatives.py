"""Exact slopes: the derivative of a polynomial is again a polynomial, of one order less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.factor_products import Sums, collected, merged
from nn2poly.explain.rows import checked_rows
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import separable
from nn2poly.explain.written import check_explained, written
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import parse_term
from nn2poly.inputs.functions import Identity
from nn2poly.memory import check_terms


@overload
def derivative(poly: Polynomial, feature: int | str) -> Polynomial: ...
@overload
def derivative(poly: PiecewisePolynomial, feature: int | str) -> PiecewisePolynomial: ...
def derivative(
    poly: Polynomial | PiecewisePolynomial, feature: int | str
) -> Polynomial | PiecewisePolynomial:
    """Differentiate with respect to one feature, in raw units.

    With z = (x - center) / scale, ∂P/∂x_j = (1 / scale_j) ∂P/∂z_j. Beyond the bounds at which a
    column is held the true slope is 0; `gradients` says so, this polynomial goes on. With
    regions: region by region, the jumps between them aside.

    Parameters
    ----------
    poly
        The polynomial, or a piecewise one.
    feature
        Index or name.

    Returns
    -------
    Polynomial or PiecewisePolynomial
        Of order Q - 1, in the same coordinates; its outputs are slopes, so it has no link.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t", "t^2", "t u"], [1.0, 3.0, 5.0], ["t", "u"])
    >>> slope = derivative(poly, "t")
    >>> dict(zip(slope.term_names(), slope.coefficients[:, 0].tolist()))
    {'1': 1.0, 't': 6.0, 'u': 5.0}
    """
    check_explained(poly)
    if isinstance(poly, PiecewisePolynomial):
        return _in_each_region(poly, feature)
    (j,) = parse_term((feature,), poly.feature_names)
    coordinate = poly.inputs.coordinates[j]
    if not isinstance(coordinate.function, Identity):
        raise InvalidInputError(
            f"The slope along {poly.feature_names[j]!r} is no polynomial.",
            where="feature",
            expected="a column that enters as it is",
            found=coordinate.text(poly.feature_names[j]),
            remedy="explain.gradients gives the slopes at rows",
        )
    unit = 1.0 / coordinate.scale
    rows, values = [], [np.empty((0, len(poly.output_names)))]
    for here, variables in poly.terms.by_degree():
        n, degree = variables.shape
        if degree:
            found = variables == j
            power = found.sum(axis=1)
            keep = np.ones((n, degree), dtype=bool)
            keep[np.arange(n), found.argmax(axis=1)] = False
            keep = keep[chosen := np.flatnonzero(power)]
            rows.append(variables[chosen][keep].reshape(len(chosen), degree - 1))
            values.append(poly.coefficients[here][chosen] * power[chosen, None] * unit)
    return written(poly, rows, np.concatenate(values))


def _in_each_region(poly: PiecewisePolynomial, feature: int | str) -> PiecewisePolynomial:
    slopes = [derivative(part, feature) for part in poly.polynomials]
    # The ranges stay: they tell a level that is on from one that is off.
    parts = tuple(replace(slope, inputs=poly.inputs) for slope in slopes)
    return PiecewisePolynomial(poly.tree, parts, poly.n_rows)


def gradients(poly: Formula, X: Any) -> FloatArray:
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
    form = separable(poly)
    check_size(form, len(rows), "The array of gradients")
    return slopes(form, rows)


def slopes(form: Separable, rows: FloatArray) -> FloatArray:
    """Differentiate by every feature at raw rows (n, p): array (n, p, n_outputs).

    ∂P/∂x_j = Σ_f ∂f/∂x_j · C_f, C_f the sum of the terms with factor f, without it.
    """
    out = np.zeros((len(rows), len(form.feature_names), len(form.output_names)))
    for here, values in _cofactors(form).batches(form.on(rows), len(rows)):
        pairs, steepness = form.slopes(rows[here])
        for (factor, feature), slope in zip(pairs.tolist(), steepness, strict=True):
            out[here, feature] += slope[:, None] * values[:, factor]
    return out


def _cofactors(form: Separable) -> Sums:
    """Take each factor out of the terms that hold it: one sum per factor."""
    nothing = np.empty((0, form.coefficients.shape[1]))
    factors, rests = [np.empty(0, dtype=np.intp)], [np.empty((0, 0), dtype=np.intp)]
    values = [nothing]
    for here, products in form.terms:
        for column in range(products.shape[1]):
            factors.append(products[:, column])
            rests.append(np.delete(products, column, axis=1))
            values.append(form.coefficients[here])
    listed, _ = merged(rests, [np.empty((len(rest), 0)) for rest in rests], len(form.factors))
    places = np.concatenate([listed.find(rest) for rest in rests])
    return collected(
        listed, np.concatenate(factors), places, np.concatenate(values), len(form.factors)
    )


def check_size(form: Separable, n_rows: int, what: str) -> None:
    """Refuse an array (n, p, n_outputs), and its copy, that does not fit in memory."""
    check_terms(
        len(form.terms),
        16 * n_rows * len(form.feature_names) * len(form.output_names),
        what=f"{what} on {n_rows:,} rows, of a polynomial that",
        remedy="pass fewer rows at a time",
    )
