"""Classifiers around a classifier: where they draw the line, how they correct probabilities."""

from __future__ import annotations

from typing import Any

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.sklearn.transformers import check_fitted


def threshold_of(model: Any) -> tuple[Any, float | None]:
    """Give the classifier inside, and the probability of its second class that is enough."""
    title = type(model).__name__
    if hasattr(model, "cv_results_") or hasattr(model, "best_threshold_"):
        limit, positive = model.best_threshold_, model._curve_scorer._get_pos_label()
    else:
        limit, positive = model.__dict__.get("threshold"), model.__dict__.get("pos_label")
        if "threshold" not in model.__dict__:  # tuned, and not fitted yet
            check_fitted(model, "The model")
    inner = getattr(model, "estimator_", model.estimator)
    if model.response_method == "decision_function":
        raise UnsupportedModelError(
            f"This {title} draws its line by a decision function.",
            expected="response_method 'auto' or 'predict_proba'",
            found=repr(model.response_method),
        )
    if isinstance(limit, str):  # "auto" is the most probable class
        return inner, None
    classes = list(model.classes_)
    is_first = positive is not None and classes.index(positive) == 0
    return inner, 1.0 - float(limit) if is_first else float(limit)


def calibration_of(model: Any) -> tuple[Any, tuple[float, float]]:
    """Give the classifier inside, and (a, b) of its calibrated probability.

    The probability p of the classifier becomes 1 / (1 + exp(a p + b)), exactly.
    """
    check_fitted(model, "The model")
    parts = model.calibrated_classifiers_
    if len(parts) != 1:
        raise _refusal(
            f"averages {len(parts)} classifiers, which is no single network",
            "fit it with ensemble=False, or on a FrozenEstimator",
        )
    part = parts[0]
    if part.method != "sigmoid" or len(part.classes) != 2:
        what = f"calibrates by method {part.method!r}"
        if part.method == "sigmoid":
            what = f"calibrates {len(part.classes)} classes one by one"
        raise _refusal(
            f"{what}, which is no link of the network's output",
            "use method='sigmoid' with two classes, or pass the classifier inside, "
            "model.calibrated_classifiers_[0].estimator, whose probabilities are not calibrated",
        )
    if hasattr(part.estimator, "decision_function"):
        raise _refusal("calibrates a decision function", "calibrate an MLPClassifier")
    inner = part.calibrators[0]
    return part.estimator, (float(inner.a_), float(inner.b_))


def _refusal(why: str, remedy: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"This CalibratedClassifierCV {why}.",
        expected="one sigmoid (Platt) calibration of a classifier of two classes",
        remedy=remedy,
    )
