"""Ask a scikit-learn model itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.inputs import frame_columns


def own_outputs(model: Any, X: FloatArray, table: Any, _output: Any = None) -> Any:
    """Give the probabilities of a classifier, else what it predicts; None where it cannot be asked.

    A pipeline is asked with the user's own table: features of its encoders are no rows of it.
    """
    rows = _table(model, X, table)
    if rows is None:
        return None
    ask = getattr(model, "predict_proba", None) or model.predict
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that only one side has
            found = ask(rows)
    except Exception:  # the table is in another form than in training: nothing can be compared
        return None
    if isinstance(found, list):  # of several labels: one table of two columns for each
        return np.column_stack([part[:, -1] for part in found])
    array = np.asarray(found)
    return array if array.dtype.kind in "biuf" else None


def _table(model: Any, X: FloatArray, table: Any) -> Any:
    """Give the rows in the columns of the training."""
    names = getattr(model, "feature_names_in_", None)
    labels = None if table is None else frame_columns(table)
    if labels is not None:
        if names is None or not set(names) <= set(table.columns):
            return table
        return table[list(names)]
    if getattr(model, "n_features_in_", X.shape[1]) != X.shape[1]:
        return None
    if names is None or table is not None:
        return X
    try:
        import pandas
    except ImportError:
        return X
    return pandas.DataFrame(X, columns=names)
