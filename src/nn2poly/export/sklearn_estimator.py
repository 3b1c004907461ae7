"""A polynomial as a fitted scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nn2poly.errors import InvalidInputError
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial

if TYPE_CHECKING:
    from nn2poly.estimators import FixedPolynomialClassifier, FixedPolynomialRegressor


def sklearn(poly: Explicit) -> FixedPolynomialRegressor | FixedPolynomialClassifier:
    """Give a fitted scikit-learn estimator that predicts with the polynomial.

    A regressor, or a classifier when the polynomial has a link. It goes into pipelines and
    searches, `clone` keeps the polynomial, ``fit`` only checks the data, and skops stores it
    without pickle. The polynomials of single layers are left behind.

    Parameters
    ----------
    poly
        The polynomial.

    Returns
    -------
    FixedPolynomialRegressor or FixedPolynomialClassifier

    Examples
    --------
    >>> poly = Polynomial([[1.0], [2.0]], 1, ["t"])
    >>> model = sklearn(poly)
    >>> model.predict([[3.0]]), model.score([[0.0], [1.0]], [1.0, 3.0])
    (array([7.]), 1.0)
    """
    # Loads scikit-learn, and says how to get it.
    from nn2poly.estimators import FixedPolynomialClassifier, FixedPolynomialRegressor

    given: Any = poly
    if not isinstance(given, Polynomial | PiecewisePolynomial):
        raise InvalidInputError(
            "Only an explicit polynomial can be exported.",
            where="poly",
            expected="a Polynomial or a PiecewisePolynomial",
            found=type(given).__name__,
            remedy="convert the network first: poly = nn2poly.convert(model, data=X)",
        )
    light = replace(poly, layers=()) if isinstance(poly, Polynomial) else poly
    if poly.outputs.is_classifier:
        return FixedPolynomialClassifier(light)
    return FixedPolynomialRegressor(light)
