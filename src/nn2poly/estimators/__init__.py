"""Polynomials as scikit-learn estimators: train a network and convert it, or use one as it is."""

from nn2poly.errors import MissingDependencyError

try:
    from nn2poly.estimators.classifier import PolynomialClassifier
    from nn2poly.estimators.fixed import FixedPolynomialClassifier, FixedPolynomialRegressor
    from nn2poly.estimators.regressor import PolynomialRegressor
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "sklearn":
        raise
    raise MissingDependencyError(
        "The estimators need scikit-learn, which is not installed.",
        remedy='pip install "nn2poly[sklearn]"',
    ) from error

__all__ = [
    "FixedPolynomialClassifier",
    "FixedPolynomialRegressor",
    "PolynomialClassifier",
    "PolynomialRegressor",
]
