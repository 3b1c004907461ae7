"""Holes: the missing values of a column, what stands in for them, and who marks them.

A hole is an empty cell (NaN, None, NA) or a value that the table writes instead of one (-999,
``"?"``). The imputer of a pipeline makes it a `Hole` of its column; everything that reads rows
then fills it in, before any other step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arguments import check_choice
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.inputs.cuts import intervals, within
from nn2poly.inputs.matrices import frame_columns
from nn2poly.plain import plain_number, plain_object

if TYPE_CHECKING:
    from nn2poly.inputs.column import Column

Mark = float | str | None


@dataclass(frozen=True)
class Hole:
    """What a hole of a column is, and what stands in for it.

    Parameters
    ----------
    fill
        The number, or of a factor the level, that stands in; None where nothing does.
    code
        The value of the table that means a hole; None for an empty cell.

    Examples
    --------
    >>> Hole(32_000.0).text("income"), Hole("none", code="?").text("job")
    ('32000 where income is missing', "none where job is '?'")
    """

    fill: Mark = None
    code: Mark = None

    def text(self, name: str) -> str:
        """Say it as people read it."""
        fill = f"{self.fill:.6g}" if isinstance(self.fill, float) else self.fill
        state = "missing" if self.code is None else f"{self.code!r}"
        return f"{fill} where {name} is {state}"

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file."""
        return {"fill": self.fill, "code": self.code}

    @classmethod
    def from_dict(cls, data: Any) -> Hole:
        """Rebuild a hole from `to_dict`."""
        fields = plain_object(data, ("fill", "code"))
        return cls(_mark(fields["fill"]), _mark(fields["code"]))


@dataclass(frozen=True)
class LearnedImputer:
    """An imputer that looks at several columns: a function of a live model, not of a formula.

    Files and exports do not hold it: a formula that was loaded refuses holes of these columns.

    Parameters
    ----------
    name
        What it is called, for messages.
    columns
        The names of the columns that it takes.
    fill
        Takes an array (n, m) of these columns with NaN, and gives one without.
    """

    name: str
    columns: tuple[str, ...]
    fill: Callable[[FloatArray], FloatArray]


def missing_name(column: str) -> str:
    """Name the feature that marks the holes of a column.

    Examples
    --------
    >>> missing_name("income")
    'missing(income)'
    """
    return f"missing({column})"


def filled_frame(frame: Any, columns: Sequence[Column]) -> Any:
    """Give a data frame whose holes are filled in, with a column for each that marks them."""
    labels = frame_columns(frame) or ()
    new: dict[int | str, Any] = {}
    for column in columns:
        source = column.marks or column.name
        if column.hole is None or source not in labels or (column.marks and column.name in labels):
            continue
        place = labels.index(source)
        is_number = column.kind != "factor" or bool(column.cuts)
        values = _cells(frame, place, as_number=is_number and not column.marks)
        holes = find_holes(values, column.hole.code)
        if column.marks:
            new[column.name] = holes.astype(np.float64)
        elif column.hole.fill is not None and (holes.any() or values.dtype.kind == "f"):
            new[place] = np.where(holes, np.array(column.hole.fill, dtype=values.dtype), values)
    return _with_columns(frame, new) if new else frame


def filled_matrix(
    matrix: FloatArray, columns: Sequence[Column], places: Sequence[tuple[int, ...]]
) -> FloatArray:
    """Fill in the holes of features (n, p), or of all (n, m) but those that mark holes: (n, p)."""
    width, marks = sum(map(len, places)), [j for c, (j, *_) in _pairs(columns, places) if c.marks]
    result = np.array(matrix, dtype=np.float64)
    if marks and matrix.shape[1] == width - len(marks):
        result = np.zeros((len(matrix), width))
        result[:, np.delete(np.arange(width), marks)] = matrix
    elif matrix.shape[1] != width:
        return matrix  # refused by its width
    position = {column.name: at for column, at in _pairs(columns, places) if not column.marks}
    for column, (j, *_) in _pairs(columns, places):
        if column.marks in position and column.hole is not None:
            values = result[:, list(position[column.marks])]
            holes = find_holes(values, column.hole.code).all(axis=1)
            result[:, j] = np.maximum(np.nan_to_num(result[:, j]), holes)
    for column, at in _pairs(columns, places):
        if not column.marks and column.hole is not None and column.hole.fill is not None:
            _fill_features(result, column, column.hole, list(at))
    return result


def imputed(
    features: FloatArray, names: Sequence[str], imputers: Sequence[LearnedImputer]
) -> FloatArray:
    """Let imputers of several columns fill in the rows of features (n, p) with holes."""
    for imputer in imputers:
        at = [names.index(name) for name in imputer.columns]
        rows = np.isnan(features[:, at]).any(axis=1)
        if rows.any():
            features = features.copy()
            mine = np.ix_(rows, np.array(at))
            features[mine] = imputer.fill(features[mine])
    return features


def complete_rows(features: FloatArray, where: str) -> BoolArray:
    """Mark the rows of features (n, p) without holes; at least one must be.

    Examples
    --------
    >>> complete_rows(np.array([[1.0], [np.nan]]), "X")
    array([ True, False])
    """
    rows: BoolArray = np.logical_not(np.isnan(features).any(axis=1))
    if not rows.any():
        raise InvalidInputError(
            "Every row of the data has a missing value.",
            where=where,
            expected="at least 1 complete row",
            found=f"{len(features):,} rows, none of them complete",
            remedy="fill the missing values in as in training",
        )
    return rows


def check_missing(missing: str) -> bool:
    """Tell whether rows with holes are to be left out.

    Examples
    --------
    >>> check_missing("skip"), check_missing("refuse")
    (True, False)
    """
    return check_choice(missing, ("refuse", "skip"), name="missing") == "skip"


@contextmanager
def offering_skip() -> Iterator[None]:
    """Add to the refusal of a hole that the caller may leave such rows out.

    Examples
    --------
    >>> with offering_skip():
    ...     raise InvalidInputError("The data hold NaN.", remedy="fill them in")
    Traceback (most recent call last):
    ...
    nn2poly.errors.InvalidInputError: The data hold NaN.
      remedy: fill them in; or missing="skip" leaves such rows out
    """
    try:
        yield
    except InvalidInputError as error:
        error.also('missing="skip" leaves such rows out' if "NaN" in error.what else None)
        raise


def find_holes(values: Any, code: Mark) -> BoolArray:
    """Mark the entries of an array that are holes.

    Examples
    --------
    >>> find_holes(np.array([1.0, np.nan]), None), find_holes(np.array(["?", "a"], object), "?")
    (array([False,  True]), array([ True, False]))
    """
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values) if code is None else values == code)
    is_code = _is_empty if code is None else code.__eq__
    flat = [is_code(value) is True for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.bool_).reshape(values.shape)


def _fill_features(matrix: FloatArray, column: Column, hole: Hole, at: list[int]) -> None:
    """Fill in place: a number, or the 0/1 of all levels where they are all missing."""
    if column.kind != "factor":
        matrix[find_holes(matrix[:, at[0]], hole.code), at[0]] = hole.fill
        return
    rows = np.isnan(matrix[:, at]).all(axis=1)
    shown = [float(level == hole.fill) for level in column.levels]
    if column.cuts:
        fill = np.array([hole.fill], dtype=np.float64)
        shown = [float(within(fill, ends)[0]) for ends in intervals(column.cuts)]
    matrix[np.ix_(rows, np.array(at))] = shown


def _is_empty(value: Any) -> bool:
    """Tell None, NaN and pandas' NA, which is neither equal nor unequal to itself."""
    return value is None or (not isinstance(value, str) and (value != value) is not False)


def _cells(frame: Any, place: int, *, as_number: bool) -> Any:
    """Give a column of a frame as an array of floats or of objects."""
    label = frame.columns[place]
    column = frame.iloc[:, place] if hasattr(type(frame), "iloc") else frame[label]
    values = np.asarray(column.to_numpy(), dtype=object)
    if not as_number:
        return values
    try:
        plain = [np.nan if _is_empty(value) else value for value in values.tolist()]
        if any(isinstance(value, str) for value in plain):
            return values
        return np.array(plain, dtype=np.float64)
    except (TypeError, ValueError):
        return values


def _with_columns(frame: Any, new: dict[int | str, Any]) -> Any:
    """Give a frame with other columns: those at a place, and new ones by name."""
    named = {frame.columns[key] if isinstance(key, int) else key: new[key] for key in new}
    if hasattr(type(frame), "with_columns"):  # polars
        series = type(frame[frame.columns[0]])
        return frame.with_columns([series(k, v.tolist()) for k, v in named.items()])
    result = frame.copy(deep=False)
    for label, values in named.items():
        result[label] = values
    return result


def _pairs(
    columns: Sequence[Column], places: Sequence[tuple[int, ...]]
) -> list[tuple[Column, tuple[int, ...]]]:
    return list(zip(columns, places, strict=True))


def _mark(data: Any) -> Mark:
    return data if data is None or isinstance(data, str) else plain_number(data)
