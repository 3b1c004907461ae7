"""Find the estimator inside pipelines and searches that takes the weights of the rows."""

from __future__ import annotations

from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from nn2poly.errors import InvalidInputError


def weight_name(model: Any) -> str:
    """Give the name under which ``model.fit`` takes sample weights.

    Raises
    ------
    InvalidInputError
        When the estimator at the end takes none.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_name(make_pipeline(StandardScaler(), Ridge()))
    'ridge__sample_weight'
    """
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return f"{name}__{weight_name(last)}"
    if isinstance(model, TransformedTargetRegressor):
        return weight_name(model.regressor)
    if isinstance(model, BaseSearchCV):
        return weight_name(model.estimator)
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    raise InvalidInputError(
        "This estimator takes no sample weights.",
        where="sample_weight",
        found=type(model).__name__,
        remedy="scikit-learn's perceptrons take them from version 1.7 on; or train without",
    )
