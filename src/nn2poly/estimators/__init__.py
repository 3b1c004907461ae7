"""Polynomials as scikit-learn estimators: train a network and convert it, or use one as it is."""

from nn2poly.errors import require

require("sklearn", what="An estimator", extra="sklearn")

from nn2poly.estimators.classifier import PolynomialClassifier  # noqa: E402
from nn2poly.estimators.fixed import (  # noqa: E402
    FixedPolynomialClassifier,
    FixedPolynomialRegressor,
)
from nn2poly.estimators.regressor import PolynomialRegressor  # noqa: E402

__all__ = [
    "FixedPolynomialClassifier",
    "FixedPolynomialRegressor",
    "PolynomialClassifier",
    "PolynomialRegressor",
]
