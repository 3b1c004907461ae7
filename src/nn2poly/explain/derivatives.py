"""Exact slopes: the derivative of a polynomial is again a polynomial, of one order less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.effort import check_effort
from nn2poly.explain.factor_products import Sums, collected, merged
from nn2poly.explain.rows import checked_rows
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import separable
from nn2poly.explain.written import check_explained, plain, written
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
    (slope,) = derivatives(poly, [j])
    return slope


def derivatives(poly: Polynomial, features: Sequence[int] | None = None) -> Iterator[Polynomial]:
    """Differentiate with respect to some features, or each in turn, going through the terms once.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t", "t u"], [1.0, 5.0], ["t", "u"])
    >>> [slope.term_names() for slope in derivatives(poly)]
    [['1', 'u'], ['t']]
    """
    poly = plain(poly)
    chosen = range(poly.n_features) if features is None else features
    units = [_unit(poly, j) for j in chosen]
    # The blocks of `by_degree` are made anew each time: once for all features.
    blocks = [_holders(*block, poly.n_features) for block in poly.terms.by_degree()]
    for j, unit in zip(chosen, units, strict=True):
        rows, values = [], [np.empty((0, len(poly.output_names)))]
        for begin, variables, places, ends in blocks[1:]:
            here = places[ends[j] : ends[j + 1]]
            found = variables[here] == j
            degree = variables.shape[1]
            keep = np.arange(degree) != found.argmax(axis=1)[:, None]
            rows.append(variables[here][keep].reshape(len(here), degree - 1))
            values.append(poly.coefficients[begin + here] * (found.sum(axis=1) * unit)[:, None])
        yield written(poly, rows, np.concatenate(values))


def _unit(poly: Polynomial, j: int) -> float:
    """Give working units per raw unit of a feature; refuse one that enters by a curve."""
    coordinate = poly.inputs.coordinates[j]
    if not isinstance(coordinate.function, Identity):
        raise InvalidInputError(
            f"The slope along {poly.feature_names[j]!r} is no polynomial.",
            where="feature",
            expected="a column that enters as it is",
            found=coordinate.text(poly.feature_names[j]),
            remedy="explain.gradients gives the slopes at rows",
        )
    return 1.0 / coordinate.scale


def _holders(
    here: slice, variables: IntArray, n_features: int
) -> tuple[int, IntArray, IntArray, IntArray]:
    """Sort the terms (n, degree) of a block by the features that they hold.

    Returns
    -------
    int, and arrays (n, degree), (n_holders,), (n_features + 1,)
        Where the block begins, its terms, and those that hold feature j: from ``ends[j]`` to
        ``ends[j + 1]`` of the second array.
    """
    new = np.ones(variables.shape, dtype=bool)
    new[:, 1:] = variables[:, 1:] != variables[:, :-1]  # a power counts once
    places, _ = np.nonzero(new)
    held = variables[new]
    order = np.argsort(held, kind="stable")
    ends = np.searchsorted(held[order], np.arange(n_features + 1))
    return here.start, variables, places[order], ends


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


def slopes(form: Separable, rows: FloatArray, jumps: Sequence[Jump] = ()) -> FloatArray:
    """Differentiate by every feature at raw rows (n, p): array (n, p, n_outputs).

    ∂P/∂x_j = Σ_f ∂f/∂x_j · C_f, C_f the sum of the terms with factor f, without it. Of features
    that ``jumps`` name, Σ_f step_f · C_f.
    """
    sums = _cofactors(form)
    check_effort(
        # Sums are matrix products: measured 3 × 10⁹ a second at 2,000 inputs, six times the usual.
        len(rows) * sums.coefficients.size // 8,
        what=f"The slopes at {len(rows):,} rows",
        remedy="pass fewer rows, or prune the polynomial",
    )
    out = np.zeros((len(rows), len(form.feature_names), len(form.output_names)))
    jumping = {jump.feature for jump in jumps}
    for here, values in sums.batches(form.on(rows), len(rows)):
        pairs, steepness = form.slopes(rows[here])
        for (factor, feature), slope in zip(pairs.tolist(), steepness, strict=True):
            if feature not in jumping:
                out[here, feature] += slope[:, None] * values[:, factor]
        for jump in jumps:
            out[here, jump.feature] += jump.step * values[:, jump.factor]
    return out


class Jump(NamedTuple):
    """How much a factor changes when a feature takes its other value."""

    factor: int
    feature: int
    step: float


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
