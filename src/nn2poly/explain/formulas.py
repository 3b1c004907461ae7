"""What explanations ask of a formula, and how they write one: the one place that knows both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from nn2poly.algebra.monomials import count_terms, rank
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.products import row_codes
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import Terms, offsets

# Standard deviations from the mean of its column at which a polynomial is rewritten: nearer, a
# cubic loses at most 30³ of 10¹⁶.
FAR = 30.0
# A sparse polynomial is rewritten when the full basis of its variables is no larger than this.
RECENTRED_TERMS = 2_000_000
# Fields of a polynomial whose outputs are no predictions: a slope, an effect.
NO_PREDICTION: dict[str, Any] = {
    "classes": None,
    "link": "identity",
    "layers": (),
    "low": None,
    "high": None,
    "card": None,
}
ASKED = ("terms", "coefficients", "feature_names", "output_names", "predict")


class Formula(Protocol):
    """What can be explained: terms in named features, with coefficients for named outputs."""

    @property
    def terms(self) -> Any:
        """The terms; ``by_degree()`` walks their features."""

    @property
    def coefficients(self) -> FloatArray:
        """Array (n_terms, n_outputs)."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Of the columns that go in."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Of what comes out."""

    def predict(self, X: Any) -> FloatArray:
        """Compute the raw outputs."""


def check_formula(poly: object) -> None:
    """Refuse what has no terms, before anything asks for them."""
    if all(hasattr(poly, name) for name in ASKED):
        return
    factored = hasattr(type(poly), "expand")
    raise InvalidInputError(
        "Only an explicit polynomial can be explained.",
        where="poly",
        expected="a Polynomial",
        found=type(poly).__name__,
        remedy="write its terms out: poly.expand()"
        if factored
        else "convert the network first: poly = nn2poly.convert(model, data=X)",
    )


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates that terms are written in, one per feature: z = (x - center) / scale."""

    center: FloatArray
    scale: FloatArray

    def to_working(self, rows: FloatArray) -> FloatArray:
        """Give raw rows (n, p) in these coordinates: array (n, p)."""
        return (rows - self.center) / self.scale

    def slopes(self, rows: FloatArray) -> FloatArray:
        """Give dz/dx of every feature at raw rows (n, p): array (n, p)."""
        return np.broadcast_to(1 / self.scale, rows.shape)


def coordinates(poly: Formula) -> Coordinates:
    """Give the coordinates of a formula."""
    formula: Any = poly
    return Coordinates(formula.center, formula.scale)


def known_range(poly: Formula) -> tuple[FloatArray, FloatArray] | None:
    """Give the lowest and highest values (p,) that the conversion saw, if it saw data."""
    low, high = getattr(poly, "low", None), getattr(poly, "high", None)
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
    if not isinstance(poly, Polynomial):
        return poly
    z = coordinates(poly).to_working(rows)
    far = np.abs(z.mean(axis=0)) > FAR * z.std(axis=0)
    if poly.positions is not None and far.any():
        used = {j for _, variables in poly.terms.by_degree() for j in np.unique(variables).tolist()}
        # Wide and sparse: the dense change of coordinates costs more than the digits it saves.
        far &= count_terms(len(used), poly.max_order) <= RECENTRED_TERMS
    if not far.any():
        return poly
    return poly.rebase(np.where(far, rows.mean(axis=0), poly.center), poly.scale)


def evaluate(poly: Formula, rows: FloatArray) -> FloatArray:
    """Compute the raw outputs, always (n, n_outputs)."""
    return poly.predict(rows).reshape(len(rows), len(poly.output_names))


def plain(poly: Polynomial) -> Polynomial:
    """Leave out link, classes, layers, range and card: the outputs are no predictions."""
    return replace(poly, **NO_PREDICTION)


def listed_terms(n_features: int, rows: Sequence[IntArray]) -> tuple[Terms, IntArray]:
    """List terms that come as arrays (n_d, d) of features, each degree once or not at all.

    Returns
    -------
    Terms, and array (n_terms,)
        The order of the terms given, degree after degree, in which they are listed.
    """
    order = max((part.shape[1] for part in rows), default=0)
    begin = offsets(n_features, order)
    given = [begin[part.shape[1]] + rank(part, n_features) for part in rows]
    positions, first = np.unique(
        np.concatenate([np.empty(0, dtype=np.intp), *given]), return_index=True
    )
    full = len(positions) == begin[-1]
    return Terms(n_features, order, None if full else positions), first


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
    return replace(
        poly,
        **NO_PREDICTION,
        coefficients=coefficients[order],
        max_order=terms.max_order,
        positions=terms.positions,
        feature_names=tuple(poly.feature_names[j] for j in chosen),
        center=poly.center[chosen],
        scale=poly.scale[chosen],
    )


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
