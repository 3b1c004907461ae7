"""The form in which a user holds rows: what a function expects that predicts from them.

The algebra works on features, one number each. A function wants the user's own table back: a data
frame with its texts and types, a tensor, an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from nn2poly.arguments import plural
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.inputs.column import Column
from nn2poly.inputs.columns import Inputs
from nn2poly.inputs.cuts import examples
from nn2poly.inputs.matrices import frame_columns, is_missing, level_text, read_array

# Levels of one column of text, beyond which it is more likely a name or a number of a row (taste).
MAX_LEVELS = 200


@dataclass(frozen=True)
class ColumnForm:
    """How one column of a frame is made from features.

    Parameters
    ----------
    label
        The frame's own label.
    places
        The features: one of a number, one per level of a factor.
    values
        For a factor: the value that each level stands for.
    dtype
        Of the frame's column.
    """

    label: Any
    places: tuple[int, ...]
    values: tuple[Any, ...]
    dtype: Any


@dataclass(frozen=True)
class TableForm:
    """How features become the table that a function takes.

    Parameters
    ----------
    make
        Makes the table from features (n, p).
    """

    make: Callable[[FloatArray], Any]


def table_inputs(tables: Iterable[Any]) -> tuple[Inputs, TableForm]:
    """Tell from tables of one kind what their columns are, and how to make more of them.

    Columns of text and categories become factors with the levels that the tables show.

    Parameters
    ----------
    tables
        Data frames, arrays, tensors or lists of rows; the first tells their kind.

    Examples
    --------
    >>> inputs, form = table_inputs([np.zeros((2, 3))])
    >>> inputs.n_features, form.make(np.ones((1, 3)))
    (3, array([[1., 1., 1.]]))
    """
    parts = list(tables)
    labels = frame_columns(parts[0])
    if labels is None:
        array = read_array(parts[0], "data")
        if array.ndim != 2:
            raise InvalidInputError(
                "The data must have two dimensions.",
                where="data",
                expected="rows and columns, (n, p)",
                found=f"shape {array.shape}",
            )
        return Inputs.of(None, array.shape[1]), _array_form(parts[0])
    columns = [_column(parts, j, label) for j, label in enumerate(labels)]
    inputs = Inputs(tuple(column for column, _ in columns))
    values = [found for _, found in columns]
    return inputs, _frame_form(parts[0], inputs.places, values)


def form_like(table: Any, inputs: Inputs) -> TableForm:
    """Tell how tables like this one are made from the features of known inputs.

    Columns of a frame that are none of the inputs are left out.
    """
    labels = frame_columns(table)
    if labels is None:
        form = _array_form(table)
        return TableForm(lambda X: form.make(inputs.as_columns(X))) if inputs.are_numbers else form
    numbers = {name: place for place, name in enumerate(inputs.feature_names)}
    factors = {c.name: (c, p) for c, p in zip(inputs.columns, inputs.places, strict=True)}
    kept, places, values = [], [], []
    for j, label in enumerate(labels):
        if label in numbers:
            found: tuple[tuple[int, ...], tuple[Any, ...]] = (numbers[label],), ()
        elif label in factors:
            column, here = factors[label]
            known = {} if column.cuts else {level_text(v): v for v in _distinct([table], j)}
            shown = tuple(known.get(level, level) for level in column.levels)
            found = here, examples(column.cuts) if column.cuts else shown
        else:
            continue
        kept.append(j)
        places.append(found[0])
        values.append(found[1])
    # Default names x1, x2, … give way to the frame's columns, by position.
    if not kept and len(labels) == inputs.n_features:
        kept = list(range(len(labels)))
        places, values = [(j,) for j in kept], [()] * len(kept)
    return _frame_form(_some_columns(table, kept), places, values)


def in_order(table: Any, inputs: Inputs) -> Any:
    """Put the columns of a frame in the order of known inputs, others behind them.

    A formula reads a frame by name, a function may read it by place.

    Examples
    --------
    >>> import pandas as pd
    >>> in_order(pd.DataFrame({"b": [1], "a": [2]}), Inputs.of(["a", "b"])).columns.tolist()
    ['a', 'b']
    """
    labels = frame_columns(table)
    if labels is None:
        return table
    place = {name: at for at, name in enumerate(inputs.feature_names)}
    place |= {c.name: at[0] for c, at in zip(inputs.columns, inputs.places, strict=True)}
    order = sorted(range(len(labels)), key=lambda j: place.get(labels[j], len(place)))
    return _some_columns(table, order)


def _column(tables: Sequence[Any], j: int, label: str) -> tuple[Column, tuple[Any, ...]]:
    """Tell what a column of frames is, and the value of each of its levels."""
    dtype = _series(tables[0], j).dtype
    if _is_number(dtype):
        return Column(label), ()
    if getattr(dtype, "kind", "") in ("M", "m", "c") or str(dtype).startswith(("Date", "Dur")):
        raise InvalidInputError(
            f"The column {label!r} is neither a number nor a category.",
            where="data",
            expected="numbers, yes/no, or texts",
            found=str(dtype),
            remedy="turn it into numbers in the data, and back inside the function",
        )
    values = _distinct(tables, j)
    if len(values) > MAX_LEVELS:
        raise InvalidInputError(
            f"The column {label!r} has too many levels to be a factor.",
            where="data",
            expected=f"at most {MAX_LEVELS} different values of a column of text",
            found=plural(len(values), "value"),
            remedy="leave it out of the data and fill it in inside the function, or group its "
            "values",
        )
    if not values:
        raise InvalidInputError(
            f"The column {label!r} holds no value.",
            where="data",
            expected="one value at least in every column",
            remedy="leave it out of the data and fill it in inside the function",
        )
    return Column.factor(label, [level_text(value) for value in values]), tuple(values)


def _distinct(tables: Sequence[Any], j: int) -> list[Any]:
    """List the values of a column; of a category those that occur, in its own order."""
    first = _series(tables[0], j)
    seen: dict[Any, None] = {}
    for column in (_series(table, j) for table in tables):
        values = column.to_list()
        pairs = zip(values, is_missing(column, values), strict=True)
        seen.update(dict.fromkeys(value for value, missing in pairs if not missing))
    known = list(seen)
    order = getattr(first.dtype, "categories", None)
    if order is None:
        return sorted(known, key=lambda value: (str(type(value)), value))
    ranks = {value: rank for rank, value in enumerate(list(order))}
    return sorted(known, key=lambda value: (ranks.get(value, len(ranks)), str(value)))


def _series(frame: Any, j: int) -> Any:
    return frame.iloc[:, j] if hasattr(type(frame), "iloc") else frame[frame.columns[j]]


def _some_columns(frame: Any, kept: list[int]) -> Any:
    if hasattr(type(frame), "iloc"):
        return frame.iloc[:, kept]
    return frame[[frame.columns[j] for j in kept]]


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "kind") and not hasattr(dtype, "categories"):
        return str(dtype.kind) in "biuf"
    return hasattr(dtype, "is_numeric") and (bool(dtype.is_numeric()) or str(dtype) == "Boolean")


# ---- making tables ---------------------------------------------------------------------------


def _array_form(table: Any) -> TableForm:
    """Make arrays or tensors of the same type."""
    if hasattr(type(table), "detach"):
        torch = import_module("torch")
        dtype = table.dtype if table.is_floating_point() else torch.float32
        device = table.device
        return TableForm(lambda X: torch.as_tensor(X, dtype=dtype, device=device))
    kind = table.dtype if isinstance(table, np.ndarray) and table.dtype.kind == "f" else np.float64
    return TableForm(lambda X: np.ascontiguousarray(X, dtype=kind))


def _frame_form(
    frame: Any, places: Sequence[tuple[int, ...]], values: Sequence[tuple[Any, ...]]
) -> TableForm:
    """Make frames of the same library with the same columns and types."""
    library = import_module(type(frame).__module__.partition(".")[0])
    parts = [
        ColumnForm(label, where, what, _series(frame, j).dtype)
        for j, (label, where, what) in enumerate(zip(frame.columns, places, values, strict=True))
    ]

    def make(X: FloatArray) -> Any:
        made = (_typed(library.Series(_entries(part, X)), part.dtype) for part in parts)
        data = dict(enumerate(made))
        if library.__name__ == "polars":
            return library.DataFrame({str(part.label): data[j] for j, part in enumerate(parts)})
        table = library.DataFrame(data)
        table.columns = frame.columns
        return table

    return TableForm(make)


def _entries(part: ColumnForm, X: FloatArray) -> Any:
    """Give a column's values (n,): numbers, or the values of the levels."""
    if not part.values:
        return X[:, part.places[0]]
    chosen = X[:, list(part.places)].argmax(axis=1)
    return [part.values[k] for k in chosen.tolist()]


def _typed(series: Any, dtype: Any) -> Any:
    """Give a column its type, where its values allow: a half is no integer."""
    if hasattr(series, "cast"):
        whole = not (dtype.is_integer() or str(dtype) == "Boolean") or _is_whole(series)
        return series.cast(dtype) if whole else series
    integer = getattr(dtype, "kind", "") in "iub" and not hasattr(dtype, "categories")
    return series if integer and not _is_whole(series) else series.astype(dtype)


def _is_whole(series: Any) -> bool:
    values = np.asarray(series.to_numpy(), dtype=np.float64)
    return bool(np.all(values == np.round(values)))
