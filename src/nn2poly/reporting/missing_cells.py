"""The missing values of the table that was given, before a model fills them in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.inputs import Column, Inputs, as_matrix, find_holes, frame_columns
from nn2poly.inputs.joined import one_table
from nn2poly.inputs.unnamed import one_row, with_text
from nn2poly.reporting.numerals import number


def missing_cells(X: Any, inputs: Inputs, features: FloatArray) -> BoolArray:
    """Mark where the table has no value: array (n, p), alike for all features of a column.

    Parameters
    ----------
    X
        The table, as the user has it.
    features
        Array (n, p): what is read of it, with NaN where nothing fills a value in.

    Examples
    --------
    >>> from nn2poly.inputs import Hole
    >>> inputs = Inputs((Column("age"), Column("income", hole=Hole(20.0))))
    >>> X = [[30.0, np.nan], [np.nan, 5.0]]
    >>> missing_cells(X, inputs, inputs.read(X, allow_nan=True)).tolist()
    [[False, True], [True, False]]
    """
    absent: BoolArray = np.isnan(features)
    names = [column.name for column in inputs.columns if not column.marks]
    table = one_row(one_table(X), (*names, *inputs.feature_names))
    table = with_text(table, names, where="X") if inputs.levels_of else table
    cells = _Cells(table, names, inputs)
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        values = [] if column.marks else cells.of(column)
        if values:
            found = np.all([_holes(part, column) for part in values], axis=0)
            absent[:, list(places)] |= found[:, None]
    return absent


class _Cells:
    """Finds the cells of a column in a table: by name, by the names of its levels, by place."""

    def __init__(self, table: Any, names: list[str], inputs: Inputs) -> None:
        self._labels = list(frame_columns(table) or ())
        self._table = table
        if not self._labels:
            self._table = as_matrix(
                table, feature_names=None, n_features=None, where="X", allow_nan=True
            )
        width = len(self._labels) or self._table.shape[1]
        features = list(inputs.feature_names)
        marks = {column.name for column in inputs.columns if column.marks}
        sequences = (names, [name for name in features if name not in marks], features)
        self._places = next((names for names in sequences if len(names) == width), [])

    def of(self, column: Column) -> list[npt.NDArray[Any]]:
        """Give the columns of the table that hold a column; none where it is not found."""
        for labels in (self._labels, self._places):
            for wanted in ([column.name], list(column.features)):
                if set(wanted) <= set(labels):
                    return [self._values(labels.index(name)) for name in wanted]
        return []

    def _values(self, place: int) -> npt.NDArray[Any]:
        if not self._labels:
            return np.asarray(self._table[:, place])
        frame = self._table
        series = (
            frame.iloc[:, place] if hasattr(type(frame), "iloc") else frame[frame.columns[place]]
        )
        return np.asarray(series.to_numpy())


def _holes(values: npt.NDArray[Any], column: Column) -> BoolArray:
    """Mark empty cells, and those with the value that stands for one."""
    found = find_holes(values, None)
    if column.hole is None or column.hole.code is None:
        return found
    result: BoolArray = found | find_holes(values, column.hole.code)
    return result


def treatments(inputs: Inputs, features: FloatArray, absent: BoolArray) -> tuple[str, ...]:
    """Say for each feature (p,) what becomes of the missing values of its column; "" of none."""
    found = [""] * inputs.n_features
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        rows = absent[:, places[0]]
        if rows.any():
            mine = features[:, list(places)]
            text = _treatment(column, inputs, mine[rows], mine[~rows])
            for place in places:
                found[place] = text
    return tuple(found)


def _treatment(column: Column, inputs: Inputs, filled: FloatArray, known: FloatArray) -> str:
    """Say it of one column: its features (m, width) where it has no value, and where it has."""
    code = None if column.hole is None else column.hole.code
    shown = number(code) if isinstance(code, float) else repr(code)
    start = "" if code is None else f"{shown} is missing; "
    marked = ", and marked" * any(other.marks == column.name for other in inputs.columns)
    if np.isnan(filled).all():
        return f"{start}rows left out"
    learned = [one.name for one in inputs.imputers if set(column.features) & set(one.columns)]
    if learned:
        return f"{start}filled in by {learned[0]}{marked}"
    if column.kind != "factor":
        return f"{start}filled in with {number(float(filled[0, 0]))}{marked}"
    level = int(np.nan_to_num(filled).sum(axis=0).argmax())
    if not filled.any() or level == other_level(column):
        return f"{start}read as any other value{marked}"
    if not known[:, level].any():
        return f"{start}a level of their own{marked}"
    return f"{start}read as {column.levels[level]}{marked}"


def other_level(column: Column) -> int | None:
    """Give the number of the level that only values mean which the model does not know.

    Examples
    --------
    >>> plain = Column("city", "factor", ("a", "b"), ("city=a", "city=b"))
    >>> rest = Column("city", "factor", ("a", "(unseen)"), plain.features, rest=1,
    ...               members=(("a",), ()))
    >>> other_level(plain), other_level(rest)
    (None, 1)
    """
    return column.rest if column.rest is not None and not column.values[column.rest] else None
