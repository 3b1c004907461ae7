"""Check tables of data, before any algebra."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nn2poly.arguments import MAX_LISTED, default_names, listed, nearest, plural
from nn2poly.batches import gathered
from nn2poly.errors import InvalidInputError
from nn2poly.inputs.cuts import Interval, within
from nn2poly.streams import EXACT_WHOLE, ROUNDED, is_stream

_A_TABLE = "a 2-d array, a list of rows or a data frame of numbers"


class Level(NamedTuple):
    """What an indicator stands for: a column, the values that set it, and whether others do.

    Of a number that is cut it is the interval that sets it.
    """

    column: str
    values: tuple[str, ...]
    is_rest: bool = False
    interval: Interval | None = None


Levels = Mapping[str, Level]
Sources = Mapping[str, str]

# What sparse matrices and lazy frames call the step to plain data; NumPy would wrap them whole.
_UNPACK = ("toarray", "collect")
# What streams call the step to a table in memory.
_FETCH = ("collect", "compute", "to_pandas", "to_table")


def as_matrix(
    X: object,
    *,
    feature_names: tuple[str, ...] | None,
    n_features: int | None,
    where: str,
    allow_nan: bool = False,
    levels: Levels | None = None,
    sources: Sources | None = None,
) -> NDArray[np.float64]:
    """Turn a table of numbers into a C-contiguous float64 matrix, or say why it cannot be one.

    Parameters
    ----------
    X
        ``(n, p)`` array, list of rows, torch tensor, pandas or polars data frame.
    feature_names
        The p names. A data frame is matched by name: its columns are put in this order and
        extra ones ignored. A name ``column=level`` that is no column itself is read as the
        0/1 indicator of that level. With None the columns are taken by position.
    n_features
        The p to insist on; None takes it from ``feature_names``, or accepts any.
    where
        The call to name in messages.
    allow_nan
        Let NaN through. Infinities are refused either way.
    levels
        What the features stand for that are indicators of a level, where that is known.
    sources
        For a feature that is made of another column of the user's table: that column.

    Returns
    -------
    ndarray of shape (n, p)
        It may share memory with ``X``.

    Raises
    ------
    InvalidInputError
        When ``X`` is not a finite numeric table with at least one row and the p columns.

    Examples
    --------
    >>> as_matrix([[1, 2], [3, 4]], feature_names=None, n_features=2, where="predict")
    array([[1., 2.],
           [3., 4.]])
    """
    if is_stream(X):
        ways = (f"pass X.{name}()" for name in _FETCH if hasattr(type(X), name))
        raise InvalidInputError(
            "Here the data must be in memory.",
            where=where,
            expected=_A_TABLE,
            found=f"{type(X).__name__}, which is read in batches",
            remedy=next(ways, "read the file first, for example with pandas"),
        )
    X = gathered(X, where)
    if n_features is None and feature_names is not None:
        n_features = len(feature_names)
    labels = frame_columns(X)
    if labels is None:
        array, matrix = _array_matrix(X, where)
        _check_width(matrix.shape[1], n_features, where)
        names: Sequence[object] = feature_names or range(matrix.shape[1])
        for j, name in enumerate(names):
            check_exact(array[:, j], matrix[:, j], name, where)
    else:
        known = levels or {}, sources or {}
        matrix, names = _frame_matrix(X, labels, feature_names, n_features, where, *known)
    _check_finite(matrix, names, allow_nan, where)
    return matrix


def frame_columns(X: object) -> tuple[str, ...] | None:
    """Return the column labels, as strings, if ``X`` is a data frame; else None.

    Examples
    --------
    >>> frame_columns([[1.0, 2.0]]) is None
    True
    """
    # Ask the type: a column called "collect" is an attribute of a pandas frame.
    kind = type(X)
    if not (hasattr(kind, "columns") and hasattr(kind, "dtypes")) or hasattr(kind, "collect"):
        return None
    frame: Any = X
    return tuple(str(label) for label in frame.columns)


def table_width(table: Any) -> int | None:
    """Count the columns of a table; None where it does not tell."""
    labels = frame_columns(table)
    if labels is not None:
        return len(labels)
    shape: tuple[int, ...] = getattr(table, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def matching_names(
    X: object, *candidates: tuple[str, ...] | None, levels: Levels | None = None
) -> tuple[str, ...] | None:
    """Choose the names by which to read ``X``; None means by position.

    The first candidate whose names are all columns of the frame (or levels of them) wins;
    else the first that somebody chose, so that what is missing can be said; default names
    match by position.

    Examples
    --------
    >>> matching_names([[1.0]], ("rm",)), matching_names([[1.0]], ("x1",), None)
    (('rm',), None)
    """
    columns = set(frame_columns(X) or ())
    given = [names for names in candidates if names is not None]
    chosen = [names for names in given if names != default_names("x", len(names))]
    known = levels or {}
    readable = (names for names in given if all(_source(name, columns, known) for name in names))
    return next(readable, chosen[0] if chosen else None)


def level_text(value: object) -> str:
    """Write the value of a category as a level; a whole number without its decimal point.

    Examples
    --------
    >>> level_text("red"), level_text(3.0), level_text(True)
    ('red', '3', 'True')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _array_matrix(X: object, where: str) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Read an array (n, p) of numbers, as it is and as floats."""
    array = read_array(X, where)
    if array.ndim and not array.shape[0]:
        raise _no_rows(where)
    if array.ndim == 2 and array.dtype.kind == "O" and _all_numbers(array):
        return array, array.astype(np.float64)
    if array.ndim == 2 and array.dtype.kind in "biuf":
        return array, _to_float(array)
    if array.ndim and array.dtype.kind not in "biuf":
        what, expected = "The data are not real numbers.", "bool, int or float entries"
        remedy = "encode text as numbers, missing values as NaN, then np.asarray(X, dtype=float)"
    else:
        what, expected = "The data must have two dimensions.", "rows and columns, (n, p)"
        remedy = _reshape_remedy(X) if array.ndim == 1 else f"pass {_A_TABLE}"
    found = f"{type(X).__name__} of shape {array.shape} and dtype {array.dtype}"
    raise InvalidInputError(what, where=where, expected=expected, found=found, remedy=remedy)


def _all_numbers(array: NDArray[Any]) -> bool:
    """Say that an array of objects holds real numbers alone, as ``frame.to_numpy()`` may."""
    return all(isinstance(cell, Real) for cell in array.flat)


def read_array(X: object, where: str) -> NDArray[Any]:
    """Read anything but a frame as an array, of whatever shape and dtype."""
    what, found = "The data cannot be read as an array.", type(X).__name__
    if method := next((name for name in _UNPACK if hasattr(type(X), name)), None):
        remedy = f"pass X.{method}()"
        raise InvalidInputError(what, where=where, expected=_A_TABLE, found=found, remedy=remedy)
    data: Any = X
    is_torch = all(hasattr(type(X), name) for name in ("detach", "cpu", "numpy"))
    try:
        return np.asanyarray(_from_torch(data) if is_torch else data)
    except (TypeError, ValueError, RuntimeError) as error:
        found = f"{found}: {error}"
        remedy = "pass X.float(), dense" if is_torch else "give every row the same length"
        raise InvalidInputError(
            what, where=where, expected=_A_TABLE, found=found, remedy=remedy
        ) from error


def _from_torch(tensor: Any) -> NDArray[Any]:
    """Give a tensor as an array; NumPy has no bfloat16."""
    plain = tensor.detach().cpu()
    return np.asarray((plain.float() if str(plain.dtype) == "torch.bfloat16" else plain).numpy())


def _to_float(array: NDArray[Any]) -> NDArray[np.float64]:
    """Convert to float64; masked entries become NaN instead of the numbers under the mask."""
    with np.errstate(over="ignore"):  # a long double beyond float64 is reported as infinite
        if isinstance(array, np.ma.MaskedArray):
            array = np.ma.filled(array.astype(np.float64), np.nan)
        return np.ascontiguousarray(np.asarray(array), dtype=np.float64)


def _reshape_remedy(X: object) -> str:
    # A list and a pandas Series have no reshape.
    is_array = isinstance(X, np.ndarray) or hasattr(type(X), "detach")
    data = "X" if is_array else "np.asarray(X)"
    return f"{data}.reshape(1, -1) if it is one row, {data}.reshape(-1, 1) if it is one column"


def _frame_matrix(
    frame: Any,
    labels: tuple[str, ...],
    names: tuple[str, ...] | None,
    n_features: int | None,
    where: str,
    levels: Levels,
    told: Sources,
) -> tuple[NDArray[np.float64], list[str]]:
    """Give the matrix, and for each of its columns the column of the frame that it comes from."""
    if not len(frame):
        raise _no_rows(where)
    if names is None:
        _check_width(len(labels), n_features, where)
        sources: list[tuple[int, Level | None]] = [(j, None) for j in range(len(labels))]
    else:
        sources = _match_columns(labels, names, where, levels, told)
    columns = {j: _frame_column(frame, j) for j, _ in sources}
    plain = dict.fromkeys(j for j, level in sources if level is None or level.interval)
    _check_dtypes([labels[j] for j in plain], [columns[j] for j in plain], where)
    numbers = {j: _column_values(columns[j]) for j in plain}
    for j, values in numbers.items():
        check_exact(columns[j], values, labels[j], where)
    factors: dict[int, dict[int, Level]] = {}
    matrix = np.zeros((len(frame), len(sources)))
    for k, (j, level) in enumerate(sources):
        if level is None:
            matrix[:, k] = numbers[j]
        elif level.interval:
            matrix[:, k] = within(numbers[j], level.interval)
        else:
            factors.setdefault(j, {})[k] = level
    for j, found in factors.items():
        _mark_levels(matrix, found, columns[j], labels[j], where)
    return matrix, [labels[j] for j, _ in sources]


def _source(name: str, columns: Container[str], levels: Levels) -> tuple[str, Level | None] | None:
    """Find the column of a feature, and what it stands for if it is an indicator.

    Where nobody knows what a name stands for, ``column=level`` says it.
    """
    if name in columns:
        return name, None
    if name in levels:
        column = levels[name].column
        return (column, levels[name]) if column in columns else None
    end = name.rfind("=")
    while end >= 0 and name[:end] not in columns:
        end = name.rfind("=", 0, end)
    return (name[:end], Level(name[:end], (name[end + 1 :],))) if end >= 0 else None


def _mark_levels(
    matrix: NDArray[np.float64], levels: dict[int, Level], column: Any, label: str, where: str
) -> None:
    """Set the indicator of every row's level to 1, of all levels to NaN where it is missing.

    Where a level stands for all other values, a missing one is among them, as in encoders.

    ``levels`` tells what the columns of the matrix stand for that are levels of this one.
    """
    places = {text: k for k, level in levels.items() for text in level.values}
    rest = next((k for k, level in levels.items() if level.is_rest), None)
    values = np.asarray(column.to_numpy()).tolist()
    found = (places[t] if (t := str(v)) in places else _other_place(v, places) for v in values)
    place = np.fromiter(found, dtype=np.intp, count=len(values))
    known = np.flatnonzero(place >= 0)
    matrix[known, place[known]] = 1.0
    missing, strange = is_missing(column, values), place < 0
    if rest is not None:
        matrix[strange, rest] = 1.0
        return
    matrix[np.ix_(np.flatnonzero(strange & missing), np.array([*levels]))] = np.nan
    if rows := np.flatnonzero(strange & ~missing).tolist():
        unknown = list(dict.fromkeys(str(values[i]) for i in rows))
        raise InvalidInputError(
            f"The column {label!r} holds values that the network does not know.",
            where=where,
            expected=f"one of {listed(list(places))}",
            found=f"{listed(unknown)} in {plural(len(rows), 'row')} (the first is row {rows[0]})",
            remedy="correct or drop those rows; or pass the 0/1 columns themselves, "
            f"{label + '=' + next(iter(places))!r} and the others",
        )


def _other_place(value: object, places: dict[str, int]) -> int:
    """Look a value up that is stored otherwise than in training: 3 as 3.0, True as 1; else -1."""
    spellings = [level_text(value)]
    if isinstance(value, int | float) and value in (0, 1):
        spellings += [str(int(bool(value))), str(bool(value))]
    return next((places[text] for text in spellings if text in places), -1)


def is_missing(column: Any, values: list[Any]) -> NDArray[np.bool_]:
    """Mark the values (n,) of a column of a frame that are missing: NaN, None, NA."""
    if hasattr(type(column), "isna"):
        return np.asarray(column.isna(), dtype=np.bool_)
    return np.array([value is None or value != value for value in values], dtype=np.bool_)


def _match_columns(
    labels: tuple[str, ...], names: tuple[str, ...], where: str, levels: Levels, told: Sources
) -> list[tuple[int, Level | None]]:
    """Return the position among the labels of each name, and the level that it asks for.

    What is missing is named as ``told``, the columns of the user's table, says.
    """
    position, counts = {label: j for j, label in enumerate(labels)}, Counter(labels)
    split = [_source(name, position, levels) for name in names]
    matched = [part for part in split if part is not None]
    if len(matched) < len(names):
        missing = [name for name, part in zip(names, split, strict=True) if part is None]
        # A frame of 0/1 columns that lacks one of them is told of this one.
        split_up = {told.get(name) for name in names if name in levels and name in position}
        told = {name: column for name, column in told.items() if column not in split_up}
        names, missing = _told(names, told), list(_told(missing, told))
        what = f"The data frame lacks {plural(len(missing), 'column')} of the network."
        expected, found = f"columns {listed(names)}", f"no {listed(missing)}"
        wanted = set(names)
        remedy = _rename_remedy(missing, [label for label in labels if label not in wanted])
    elif repeated := [label for label in dict.fromkeys(c for c, _ in matched) if counts[label] > 1]:
        what, expected = "The data frame repeats column names.", "each needed column once"
        found, remedy = f"{listed(repeated)} more than once", "drop or rename the extra columns"
    else:
        return [(position[label], level) for label, level in matched]
    raise InvalidInputError(what, where=where, expected=expected, found=found, remedy=remedy)


def _told(names: Sequence[str], told: Sources) -> tuple[str, ...]:
    return tuple(dict.fromkeys(told.get(name, name) for name in names))


def _rename_remedy(missing: list[str], spare: list[str]) -> str:
    near = ((name, nearest(name, spare)) for name in missing[:MAX_LISTED])
    hints = ", ".join(f"{label!r} for {name!r}" for name, label in near if label)
    add = "add or rename the columns, or pass an array in the order of the network"
    return f"{add}; did you mean {hints}?" if hints else add


def _frame_column(frame: Any, j: int) -> Any:
    # By position in pandas, where labels may repeat or not be strings.
    return frame.iloc[:, j] if hasattr(type(frame), "iloc") else frame[frame.columns[j]]


def _check_dtypes(labels: list[str], columns: list[Any], where: str) -> None:
    pairs = zip(labels, columns, strict=True)
    if bad := [f"{label!r} ({c.dtype})" for label, c in pairs if not _is_numeric(c.dtype)]:
        what = f"{plural(len(bad), 'column')} of the data frame cannot be used as numbers."
        expected, found = "bool, int or float columns", listed(bad, str)
        remedy = "encode them as numbers, the same way as in training"
        raise InvalidInputError(what, where=where, expected=expected, found=found, remedy=remedy)


def _is_numeric(dtype: Any) -> bool:
    if hasattr(dtype, "kind"):  # NumPy's and pandas' dtypes
        return str(dtype.kind) in "biuf"
    return bool(dtype.is_numeric()) or str(dtype) == "Boolean"  # polars'


def _column_values(column: Any) -> NDArray[np.float64]:
    """Return the column as floats of shape (n,), missing values as NaN."""
    if hasattr(column.dtype, "kind"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.cast(float).to_numpy())


def check_exact(column: Any, values: NDArray[np.float64], name: object, where: str) -> None:
    """Refuse whole numbers that lose digits as floats: a model would see others.

    Parameters
    ----------
    column
        As it came: an array (n,) or a column of a frame.
    values
        Array (n,): the same as floats, NaN where one is missing.

    Examples
    --------
    >>> check_exact(np.array([2**53 + 1]), np.array([2.0**53]), "id", "data")
    Traceback (most recent call last):
    ...
    nn2poly.errors.InvalidInputError: The column 'id' holds whole numbers of too many digits...
    """
    rounded = name in getattr(column, "attrs", {}).get(ROUNDED, ())
    if getattr(column.dtype, "kind", "") == "f" and not rounded:
        return
    large = np.flatnonzero(np.abs(values) >= EXACT_WHOLE)
    if not len(large):
        return
    some = column.iloc[large] if hasattr(type(column), "iloc") else column[large]
    found = some.to_list() if hasattr(some, "to_list") else some.tolist()
    wrong = (v for v in found if rounded or (isinstance(v, Integral) and int(float(v)) != v))
    if (lost := next(wrong, None)) is not None:
        raise InvalidInputError(
            f"The column {name!r} holds whole numbers of too many digits.",
            where=where,
            expected=f"whole numbers up to {EXACT_WHOLE:,}, which floats tell apart",
            found=f"numbers such as {int(lost)}",
            remedy="subtract an offset, in the data and in the model; pass a number that only "
            "names things as text; or leave the column out",
        )


def _check_width(found: int, expected: int | None, where: str) -> None:
    if found and (expected is None or found == expected):
        return
    what, counted = "The data have the wrong number of columns.", plural(found, "column")
    wanted = "at least 1 column" if expected is None else plural(expected, "column")
    remedy = "pass one column for each input of the network, in its order, without the target"
    raise InvalidInputError(what, where=where, expected=wanted, found=counted, remedy=remedy)


def _check_finite(
    matrix: NDArray[np.float64], names: Sequence[object], allow_nan: bool, where: str
) -> None:
    bad = np.isinf(matrix) if allow_nan else ~np.isfinite(matrix)
    rows, columns = np.flatnonzero(bad.any(axis=1)), np.flatnonzero(bad.any(axis=0))
    if not rows.size:
        return
    what = f"The data hold {'' if allow_nan else 'NaN or '}infinite values."
    places = list(dict.fromkeys(names[j] for j in columns.tolist()))
    found = (
        f"{rows.size:,} of {plural(len(matrix), 'row')} (the first is row {rows[0]}), "
        f"in {'column' if len(places) == 1 else 'columns'} {listed(places)}"
    )
    expected = "finite numbers"
    remedy = (
        "fill them in as in training, or drop those rows; an imputer inside the pipeline that is "
        "converted fills them by itself"
    )
    raise InvalidInputError(what, where=where, expected=expected, found=found, remedy=remedy)


def _no_rows(where: str) -> InvalidInputError:
    what, remedy = "The data are empty.", "check the filter or the split that made the data"
    return InvalidInputError(
        what, where=where, expected="at least 1 row", found="0 rows", remedy=remedy
    )
