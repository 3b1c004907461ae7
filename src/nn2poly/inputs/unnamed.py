"""Tables without names: one row as a labelled Series, arrays that hold text beside numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nn2poly.arguments import default_names, listed, plural
from nn2poly.batches import gathered
from nn2poly.errors import InvalidInputError, require
from nn2poly.inputs.matrices import frame_columns, read_array
from nn2poly.streams import is_stream


def one_row(X: Any, names: Sequence[str]) -> Any:
    """Make a frame of one row of a pandas Series that is labelled with names; else give X back.

    Examples
    --------
    >>> import pandas as pd
    >>> one_row(pd.Series({"age": 39, "job": "clerk"}), ["age", "job"]).shape
    (1, 2)
    """
    is_series = hasattr(type(X), "iloc") and hasattr(type(X), "to_frame")
    if is_series and frame_columns(X) is None and set(names) & set(map(str, X.index)):
        return X.to_frame().T.infer_objects()
    return X


def with_text(X: Any, names: Sequence[str], *, where: str) -> Any:
    """Make a frame of an array (n, m) of objects or of rows of text and numbers; else give X back.

    Parameters
    ----------
    names
        Of the m columns, in order; default names ``x1 …`` may leave some out.

    Examples
    --------
    >>> with_text([[39, "clerk"], [50, "nurse"]], ["age", "job"], where="X")["age"].sum() == 89
    np.True_
    """
    array = _objects(X)
    if array is None:
        return X
    pandas = require("pandas", what="A table of objects")
    labels = _labels(array.shape[1], names)
    if labels is None:
        raise InvalidInputError(
            "The columns of this table cannot be told apart.",
            where=where,
            expected=f"the columns {listed(list(names))}",
            found=f"{plural(array.shape[1], 'column')} without names",
            remedy="pass a data frame, whose columns have names",
        )
    return pandas.DataFrame(array, columns=list(labels)).infer_objects()


def by_position(X: Any, names: Sequence[str], *, named: bool, where: str) -> Any:
    """Make a frame of an array (n, m) of numbers, some of which stand for levels; else give X back.

    Parameters
    ----------
    names
        Of the m columns, in order.
    named
        Somebody gave these names; else a frame of m columns takes them by position.

    Examples
    --------
    >>> by_position([[39.0, 2.0]], ["age", "job"], named=True, where="X").columns.tolist()
    ['age', 'job']
    """
    if is_stream(X):
        return X
    labels = frame_columns(X)
    if labels is not None:
        # Default names are no names: a frame may call its columns x2, x1.
        known = set(names) <= set(labels) and tuple(names) != default_names("x", len(names))
        fits = not named and len(labels) == len(names) and not known
        return _relabelled(X, names) if fits else X
    array = read_array(gathered(X, where), where)
    if array.ndim != 2 or array.shape[1] != len(names):
        return X
    pandas = require("pandas", what="A table with factors")
    return pandas.DataFrame(array, columns=list(names))


def _relabelled(frame: Any, names: Sequence[str]) -> Any:
    if hasattr(type(frame), "set_axis"):
        return frame.set_axis(list(names), axis=1)
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def _objects(X: Any) -> Any:
    """Give an array (n, m) of objects, or None where X is none."""
    if isinstance(X, np.ndarray):
        return X if X.dtype.kind == "O" and X.ndim == 2 else None
    rows = isinstance(X, list) and bool(X) and all(isinstance(row, list | tuple) for row in X)
    if not rows or not any(isinstance(cell, str) for cell in X[0]):
        return None
    array = np.array([*map(tuple, X)], dtype=object)
    return array if array.ndim == 2 else None


def _labels(width: int, names: Sequence[str]) -> Sequence[str] | None:
    """Name the columns by their places."""
    numbered = default_names("x", width)
    if set(names) <= set(numbered):
        return numbered
    return names if len(names) == width else None
