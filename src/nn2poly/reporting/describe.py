"""Describe the rows: columns, response, and how network and polynomial meet the response."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import interval_text, plural
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.piecewise import Explicit
from nn2poly.inputs import (
    Column,
    Inputs,
    check_row_labels,
    complete_rows,
    level_text,
    share_beyond,
)
from nn2poly.reporting.missing_cells import missing_cells, other_level, treatments
from nn2poly.reporting.numerals import percent
from nn2poly.tables import Table

# Classes of the response that are counted one by one, and that an error lists (taste).
MAX_CLASSES, MAX_LISTED = 20, 8


@dataclass(frozen=True)
class Rows:
    """Rows without a missing value, once the model has filled in what it fills in.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    y
        Array (n,) or (n, k) of anything, or None.
    index
        Array (n,): their numbers in the data that were given.
    absent
        Array (n_given, p): where the data that were given have no value.
    treatments
        For each feature what becomes of the missing values of its column; "" where there are none.
    """

    X: FloatArray
    y: npt.NDArray[Any] | None
    index: npt.NDArray[np.intp]
    absent: BoolArray
    treatments: tuple[str, ...]

    @property
    def n_given(self) -> int:
        """Rows that were given."""
        return len(self.absent)

    @property
    def filled(self) -> BoolArray:
        """Array (n, p): the values of these rows that the data do not have."""
        return self.absent[self.index]


def read_rows(X: Any, y: Any, poly: Explicit) -> Rows:
    """Check the data and leave out rows with a missing input that nothing fills in.

    Raises
    ------
    InvalidInputError
        When X cannot be read, no row is complete, or y has another length.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    >>> rows = read_rows([[1.0], [np.nan], [3.0]], [10, 20, 30], poly)
    >>> rows.index, rows.y, rows.treatments
    (array([0, 2]), array([10, 30]), ('rows left out',))
    """
    check_row_labels(X, y=y)
    matrix = poly.inputs.read(X, allow_nan=True)
    absent = missing_cells(X, poly.inputs, matrix)
    index = np.flatnonzero(complete_rows(matrix, "X"))
    response = None if y is None else _read_response(y, len(matrix))[index]
    return Rows(matrix[index], response, index, absent, treatments(poly.inputs, matrix, absent))


def _read_response(y: Any, n_rows: int) -> npt.NDArray[Any]:
    values = np.asarray(y.to_numpy() if hasattr(type(y), "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2) or len(values) != n_rows:
        raise InvalidInputError(
            "The response does not go with the data.",
            where="y",
            expected=f"one value, or one row of outputs, for each of {n_rows:,} rows",
            found=f"shape {values.shape}",
        )
    return values


def describe_columns(rows: Rows, shown: Explicit) -> Table:
    """Describe every column as it was given: type, range, mean, deviation, missing and distinct.

    Where the polynomial holds inputs at bounds, also these, and the share of rows beyond; where
    values are missing, also what becomes of them. A factor is one line; its levels are told with
    their shares.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> X = np.array([[0.0], [1.0]])
    >>> rows = Rows(X, None, np.arange(2), np.zeros((2, 1), bool), ("",))
    >>> describe_columns(rows, Polynomial([[1.0], [2.0]], 1, ["a"])).rows
    (('a', 'two values', 0.0, 0.5, 0.5, 1.0, 0, 2, 0.0, 1.0),)
    """
    inputs = shown.inputs
    bounds = _bounds(inputs, rows.X)
    has_holes = any(rows.treatments)
    missing, filled = rows.absent.sum(axis=0).tolist(), rows.filled
    lines = []
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        j = places[0]
        unit: tuple[object, ...] = (float(shown.center[j]), float(shown.scale[j]), *bounds[j])
        if column.width > 1:
            blank = (None, None, *("n/a" for _ in bounds[0]))
            told = _factor(column, rows.X[:, list(places)] > 0.5, filled[:, j], missing[j])
            line = (column.name, *told, *blank)
        else:
            line = (column.name, *_column(rows.X[~filled[:, j], j], missing[j]), *unit)
        lines.append((*line, *[rows.treatments[j]] * has_holes))
    held = _HELD if inputs.are_bounded else ()
    head = (*_HEAD, "centre", "scale", *held, *["missing values"] * has_holes)
    return Table("", head, tuple(lines))


# Levels of a factor that are told with their shares (taste).
MAX_LEVELS = 3


def _factor(column: Column, on: BoolArray, filled: BoolArray, missing: int) -> tuple[object, ...]:
    """Describe a factor: how many levels, and the most frequent with their shares.

    The level of values that the model does not know is none, and nor is one of missing values.

    Parameters
    ----------
    on
        Array (n, n_levels): the level of each row.
    filled
        Array (n,): the rows that have none of their own.
    """
    other, share = other_level(column), on[~filled].sum(axis=0) / max(1, int((~filled).sum()))
    fill = None if column.hole is None else column.hole.fill
    alone = [level == fill and not share[k] for k, level in enumerate(column.levels)]
    names = [level or "(empty)" for level in column.levels]
    count = len(names) - sum(alone) - (other is not None)
    if other is not None:
        names[other] = "other values"
    usual = [k for k in np.argsort(-share, kind="stable").tolist() if share[k] > 0]
    listed = [f"{names[k]}\u00a0({100 * share[k]:.3g}\u00a0%)" for k in usual[:MAX_LEVELS]]
    strange = other in usual
    seen = len(usual) - strange
    kind = f"{plural(count, 'level')}{' and other values' * strange}"
    kind += f", {seen} of them here" * (seen < count and not strange)
    shown = f": {', '.join(listed)}" * bool(listed) + ", …" * (len(usual) > MAX_LEVELS)
    return (f"{kind}{shown}", *(None,) * 4, missing, len(usual))


_HELD = ("held within",)


def _bounds(inputs: Inputs, X: FloatArray) -> list[tuple[str, ...]]:
    """Say of every feature within which bounds it is held, and the share of rows beyond, if any."""
    if not inputs.are_bounded:
        return [()] * inputs.n_features
    bounds, shares = inputs.bounds(), share_beyond(inputs, X).tolist()
    return [
        (_held(*bounds[name], share),) if name in bounds else ("n/a",)
        for name, share in zip(inputs.feature_names, shares, strict=True)
    ]


def _held(low: float | None, high: float | None, share: float) -> str:
    """Write bounds, of which one may be missing."""
    text = interval_text(low, high).replace("-", "−")
    return f"{text} ({percent(share)} beyond)" if share > 0 else text


_HEAD = ("column", "type", "min", "mean", "sd", "max", "missing", "distinct")


def _column(values: FloatArray, missing: int) -> tuple[object, ...]:
    if not len(values):
        return ("empty", *(None,) * 4, missing, 0)
    distinct = len(np.unique(values))
    kind = {1: "constant", 2: "two values"}.get(distinct)
    kind = kind or ("whole numbers" if np.all(values == np.round(values)) else "real numbers")
    # The mean of symmetric values is 0, not what rounding leaves of it.
    size = max(abs(float(values.min())), abs(float(values.max())))
    mean = float(values.mean())
    mean = mean if abs(mean) > 1e-14 * size else 0.0
    summary = (values.min(), mean, values.std() if distinct > 1 else 0.0, values.max())
    return (kind, *map(float, summary), missing, distinct)


def describe_response(rows: Rows, poly: Explicit, raw: dict[str, FloatArray]) -> tuple[Table, ...]:
    """Describe y, and how close each model comes to it.

    Parameters
    ----------
    raw
        Raw outputs (n, k) by the name of the model.

    Raises
    ------
    InvalidInputError
        When y has another number of columns than there are outputs, is not numeric where the
        outputs are, or holds no label that is a class.
    """
    if rows.y is None:
        return ()
    if not poly.outputs.is_classifier:
        predicted = {name: poly.outputs.predictions(values) for name, values in raw.items()}
        return _numeric_response(rows.y, poly.output_names, predicted)
    return _class_response(rows.y, poly, raw)


def _numeric_response(
    y: npt.NDArray[Any], names: tuple[str, ...], raw: dict[str, FloatArray]
) -> tuple[Table, ...]:
    try:
        values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            "The response of a regression must be numbers.", where="y", found=str(error)
        ) from error
    if values.shape[1] != len(names):
        raise InvalidInputError(
            "The response does not go with the outputs.",
            where="y",
            expected=f"{len(names)} columns, one for each output",
            found=f"{values.shape[1]}",
            remedy="leave y out, or pass one column per output",
        )
    known = [np.isfinite(column) for column in values.T]
    described = [
        (name, *_column(values[here, k], int((~here).sum())))
        for k, (name, here) in enumerate(zip(names, known, strict=True))
        if here.any()
    ]
    scores = [
        (model, name, *_scores(values[here, k], outputs[here, k]))
        for k, (name, here) in enumerate(zip(names, known, strict=True))
        for model, outputs in raw.items()
        if here.any()
    ]
    return (
        Table("The response", ("output", *_HEAD[1:]), tuple(described)),
        Table("Against the response", ("model", "output", "R2", "RMSE"), tuple(scores)),
    )


def typical_errors(
    y: npt.NDArray[Any] | None, poly: Explicit, raw: dict[str, FloatArray]
) -> tuple[float, float, float] | None:
    """Give the typical error of network, formula and mean against a response of single numbers.

    They are root mean squares; None without a response, a network, or with several outputs.
    """
    if y is None or len(raw) < 2 or poly.outputs.is_classifier or poly.n_outputs > 1:
        return None
    seen = np.asarray(y, dtype=np.float64).ravel()
    here = np.isfinite(seen)
    if not here.any():
        return None
    errors = [
        _scores(seen[here], poly.outputs.predictions(values)[here, 0])[1] for values in raw.values()
    ]
    return errors[0], errors[1], float(seen[here].std())


def _scores(truth: FloatArray, guess: FloatArray) -> tuple[float | None, float]:
    squared, spread = float(((truth - guess) ** 2).mean()), float(truth.var())
    return (1.0 - squared / spread if spread else None), float(np.sqrt(squared))


def _class_response(
    y: npt.NDArray[Any], poly: Explicit, raw: dict[str, FloatArray]
) -> tuple[Table, ...]:
    given = {name: poly.outputs.labels(outputs) for name, outputs in raw.items()}
    shape = next(iter(given.values())).shape
    if y.shape != shape:
        raise InvalidInputError(
            "The response does not go with the classes.",
            where="y",
            expected=f"labels of shape {shape}",
            found=f"shape {y.shape}",
        )
    truth = _texts(y)
    _check_labels(y, truth, poly)
    counts = Counter(truth.ravel().tolist()).most_common()
    classes = tuple((name, n, n / truth.size) for name, n in counts[:MAX_CLASSES])
    note = "" if len(counts) <= MAX_CLASSES else f"the {MAX_CLASSES} largest of {len(counts)}"
    right = tuple((name, float(np.mean(_texts(g) == truth))) for name, g in given.items())
    return (
        Table("The response", ("class", "rows", "share"), classes, note=note),
        Table("Against the response", ("model", "share of labels right"), right),
    )


def _check_labels(y: npt.NDArray[Any], truth: npt.NDArray[Any], poly: Explicit) -> None:
    """Refuse labels of which none is a class: they are coded otherwise, and all would be wrong."""
    several = poly.link == "sigmoid" and poly.n_outputs > 1
    known: tuple[Any, ...] = (0, 1) if several else poly.classes or ()
    known = known or tuple(range(max(2, poly.n_outputs)))
    if not truth.size or set(truth.ravel().tolist()) & {level_text(c) for c in known}:
        return
    found = sorted(set(y.ravel().tolist()), key=str)
    raise InvalidInputError(
        "None of the labels is a class of the polynomial.",
        where="y",
        expected=f"labels among {_listed(known)}",
        found=f"only {_listed(found)}",
        remedy=_recoding(found, len(known), several),
    )


def _recoding(found: list[Any], n_classes: int, several: bool) -> str:
    """Say how to code the labels as the classes are."""
    if several:
        return "pass 0 and 1 for each output (y.astype(int) where they are True and False)"
    numbers = all(isinstance(v, int | float) and v in range(n_classes) for v in found)
    index = "y.astype(int)" if any(isinstance(v, bool | float) for v in found) else "y"
    how = f": if they are positions in the classes, np.array(poly.classes)[{index}]"
    return f"pass the labels as the network was taught them{how if numbers else ''}; or leave y out"


def _listed(values: Sequence[Any]) -> str:
    shown = ", ".join(repr(value) for value in values[:MAX_LISTED])
    return shown if len(values) <= MAX_LISTED else f"{shown}, … ({len(values):,} in all)"


def _texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Spell labels alike, whether they came as 3 or 3.0."""
    spelt = [level_text(value) for value in values.ravel().tolist()]
    return np.array(spelt, dtype=object).reshape(values.shape)
