"""The numbers of fitted scikit-learn transformers: what each does to its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from nn2poly.errors import UnsupportedModelError

Pair = tuple[Any, Any]


def sklearn_class(model: Any, names: Iterable[str]) -> Any:
    """Find the first class of scikit-learn, among the model's and its bases, that is named."""
    wanted = set(names)
    classes = (c for c in type(model).__mro__ if c.__module__.partition(".")[0] == "sklearn")
    return next((c for c in classes if c.__name__ in wanted), None)


def sklearn_kind(model: Any, names: Iterable[str]) -> str | None:
    """Give the name of that class, or None."""
    found = sklearn_class(model, names)
    return None if found is None else str(found.__name__)


def is_passthrough(model: Any) -> bool:
    """Tell whether a step leaves the columns as they are, by the word for it."""
    return model is None or (isinstance(model, str) and model == "passthrough")


def check_fitted(model: Any, title: str) -> None:
    """Raise an error that names the part unless it is fitted."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise UnsupportedModelError(
            f"{title} ({type(model).__name__}) is not fitted yet.",
            remedy="call fit(X, y) on the whole model first, and pass what it returns",
        ) from error


def _min_max(model: Any) -> Pair:
    return -model.min_ / model.scale_, 1.0 / model.scale_


def _pca(model: Any) -> Pair:
    matrix = model.components_.T
    if model.whiten:
        deviation = np.sqrt(model.explained_variance_)
        matrix = matrix / np.maximum(deviation, np.finfo(deviation.dtype).eps)
    return matrix, model.mean_


def _factor_analysis(model: Any) -> Pair:
    weighted = model.components_ / model.noise_variance_
    posterior = np.linalg.inv(np.eye(len(weighted)) + weighted @ model.components_.T)
    return weighted.T @ posterior, model.mean_


def _dense(model: Any) -> Pair:
    matrix = model.components_.T
    return (matrix.toarray() if hasattr(matrix, "toarray") else matrix), None


# Scaler → (center, scale) of ``(x - center) / scale``; None is none.
SCALERS: dict[str, Callable[[Any], Pair]] = {
    "MaxAbsScaler": lambda model: (None, model.scale_),
    "MinMaxScaler": _min_max,
    "RobustScaler": lambda model: (model.center_, model.scale_),
    "StandardScaler": lambda model: (model.mean_ if model.with_mean else None, model.scale_),
}
# Projection → (matrix, center) of ``(x - center) @ matrix``; None is none.
PROJECTIONS: dict[str, Callable[[Any], Pair]] = {
    "FactorAnalysis": _factor_analysis,
    "FastICA": lambda model: (model.components_.T, model.mean_ if model.whiten else None),
    "GaussianRandomProjection": _dense,
    "IncrementalPCA": _pca,
    "NeighborhoodComponentsAnalysis": _dense,
    "PCA": _pca,
    "SparseRandomProjection": _dense,
    "TruncatedSVD": _dense,
}


def diagonal(model: Any) -> Pair | None:
    """Give center and scale of a scaler, ``(x - center) / scale``; None if it is none."""
    kind = sklearn_kind(model, SCALERS)
    if kind is None or getattr(model, "clip", False):
        return None
    center, scale = SCALERS[kind](model)
    return (0.0 if center is None else center), (1.0 if scale is None else scale)


def column_positions(columns: Any, names: list[str], width: int) -> list[int]:
    """Resolve a ColumnTransformer's columns: names, places, slices of either, or a mask.

    Examples
    --------
    >>> column_positions(slice("b", "c"), ["a", "b", "c"], 3), column_positions(-1, [], 3)
    ([1, 2], [2])
    """
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        first = names.index(start) if isinstance(start, str) else start
        last = names.index(stop) + 1 if isinstance(stop, str) else stop  # a label is included
        return list(range(width)[first : last : columns.step])
    chosen = np.atleast_1d(np.asarray(columns))
    if chosen.dtype.kind == "b":
        return [int(k) for k in np.flatnonzero(chosen)]
    return [names.index(c) if isinstance(c, str) else range(width)[c] for c in chosen.tolist()]
