"""From a table to features, columns by name or by position, and from features back to a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import default_names
from nn2poly.arrays import FloatArray
from nn2poly.inputs.column import Column
from nn2poly.inputs.holes import filled_frame, filled_matrix, imputed
from nn2poly.inputs.joined import one_table
from nn2poly.inputs.matrices import as_matrix, frame_columns, matching_names
from nn2poly.inputs.unnamed import by_position, one_row, with_text
from nn2poly.streams import is_stream

if TYPE_CHECKING:
    from nn2poly.inputs.columns import Inputs


def read_table(inputs: Inputs, X: Any, *, where: str, allow_nan: bool) -> FloatArray:
    """Turn a table into features (n, p), as `Inputs.read` says."""
    levels, columns = inputs.levels_of, [c.name for c in inputs.columns if not c.marks]
    X = one_table(X)
    X = one_row(X, (*columns, *inputs.feature_names))
    X = with_text(X, columns, where=where) if levels else X
    if inputs.are_numbers and len(columns) < inputs.n_features:
        X = by_position(X, columns, named=inputs.named, where=where)
    names = matching_names(X, inputs.table_features, levels=levels)
    if not inputs.named and len(frame_columns(X) or ()) == inputs.n_features:
        # Names that a model gives to its inputs are followed where the frame has them.
        own = inputs.feature_names != default_names("x", inputs.n_features)
        known = own and set(inputs.feature_names) <= set(frame_columns(X) or ())
        names = names if known else None
    if inputs.has_holes:
        X, names = _filled(inputs, X, names, where), inputs.feature_names
    return _matrix(inputs, X, names, where, allow_nan)


def _filled(inputs: Inputs, X: Any, names: tuple[str, ...] | None, where: str) -> Any:
    """Fill in the holes of a table, read by names or, with None, by position."""
    if names is not None and frame_columns(X) is not None and not is_stream(X):
        X = filled_frame(X, inputs.columns)
        if not inputs.imputers:
            return X
        X = _matrix(inputs, X, inputs.feature_names, where, True)
    else:
        plain = as_matrix(X, feature_names=None, n_features=None, where=where, allow_nan=True)
        X = filled_matrix(plain, inputs.columns, inputs.places)
    return imputed(X, inputs.feature_names, inputs.imputers)


def _matrix(
    inputs: Inputs, X: Any, names: tuple[str, ...] | None, where: str, allow_nan: bool
) -> FloatArray:
    return as_matrix(
        X,
        feature_names=names,
        n_features=inputs.n_features,
        where=where,
        allow_nan=allow_nan,
        levels=inputs.levels_of,
        sources=inputs.sources_of,
    )


def table_columns(
    features: FloatArray, columns: Sequence[Column], places: Sequence[tuple[int, ...]]
) -> npt.NDArray[Any]:
    """Give the columns (n, m) of the table that features (n, p) stand for.

    Levels of a factor that the table holds as one column are numbers again, or text; of a
    number that is cut, some number of the level.

    Examples
    --------
    >>> age = Column.cut("age", [30.0, 45.0])
    >>> table_columns(np.array([[0.0, 1.0, 0.0, 5.0]]), [age, Column("x")], [(0, 1, 2), (3,)])
    array([[30.,  5.]])
    """
    if not any(column.in_one_column for column in columns):
        return features
    parts: list[Any] = []
    for column, at in zip(columns, places, strict=True):
        mine = features[:, list(at)]
        levels = np.array(column.level_values, dtype=object)
        parts += [levels[mine.argmax(axis=1)]] if column.in_one_column else list(mine.T)
    numbers = not any(isinstance(part[0], str) for part in parts if len(part))
    return np.column_stack(parts).astype(np.float64 if numbers else object)
