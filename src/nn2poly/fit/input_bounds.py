"""Bounds of numeric columns: where a formula holds a value at the edge.

A polynomial of an unbounded input is a bomb: one row with 1,243 occupants moved the R² of a cubic
to −971,354. So every number enters as clip(x, low, high). How far it is cut is chosen in
`bound_choice`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nn2poly.arguments import check_flag, listed
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity

# A tail is light while it ends within so many times the distance between the quantiles (taste).
LIGHT = 0.5

Ends = tuple[float, float]


def check_bounds(bounded: object) -> tuple[bool, dict[str, Ends]]:
    """Tell whether numbers are held at bounds, and give those that the user gave, by column.

    Examples
    --------
    >>> check_bounds({"age": (18, 90)})
    (True, {'age': (18.0, 90.0)})
    """
    if not isinstance(bounded, Mapping):
        return check_flag(bounded, name="bounded"), {}
    return True, {str(name): _pair(name, ends) for name, ends in bounded.items()}


def _pair(name: object, ends: Any) -> Ends:
    try:
        low, high = map(float, ends)
        Identity(low, high)
    except (TypeError, ValueError, InvalidInputError):
        raise InvalidInputError(
            f"The bounds of {name!r} are not two numbers, the lower one first.",
            where="bounded",
            expected="a pair (low, high)",
            found=repr(ends),
            remedy=f"pass bounded={{{name!r}: (low, high)}}, or bounded=True",
        ) from None
    return low, high


def named_bounds(inputs: Inputs, given: Mapping[str, Ends]) -> Inputs:
    """Hold columns at bounds that the user gives, by name."""
    numbers = {column.name: place for place, column in enumerate(inputs.columns)}
    for name, ends in given.items():
        if name not in numbers or inputs.columns[numbers[name]].kind != "number":
            expected = [column.name for column in inputs.columns if column.kind == "number"]
            raise InvalidInputError(
                f"There is no number {name!r} to hold at bounds.",
                where="bounded",
                expected=f"names of numbers: {listed(expected)}",
                found=repr(name),
            )
        inputs = with_bounds(inputs, {numbers[name]: ends})
    return inputs


def flags_held(inputs: Inputs) -> Inputs:
    """Hold columns of two values, and levels that the table brings as 0/1 columns, at their range.

    Levels of text cannot lie outside, nor can marks of holes.

    Examples
    --------
    >>> from nn2poly.inputs import Column
    >>> year = Column("year", "binary", ranges=((2011.0, 2012.0),))
    >>> flags_held(Inputs((year,))).bounds()
    {'year': (2011.0, 2012.0)}
    """
    low, high = inputs.ends()
    columns = []
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        if column.kind != "number" and not column.in_one_column and not column.marks:
            functions = [Identity(float(low[j]), float(high[j])) for j in places]
            pairs = zip(column.coordinates, functions, strict=True)
            held = tuple(replace(coordinate, function=f) for coordinate, f in pairs)
            column = replace(column, coordinates=held)
        columns.append(column)
    return replace(inputs, columns=tuple(columns))


def numbers(inputs: Inputs) -> Iterator[tuple[int, int]]:
    """List the columns that are numbers: place of the column, and its feature."""
    for number, (column, places) in enumerate(zip(inputs.columns, inputs.places, strict=True)):
        function = column.coordinates[0].function
        # A table of ranks ends at its outer knots; other functions may be held further inside.
        inner = not isinstance(function, Identity) and not function.points
        if column.kind == "number" and (inner or column.coordinates[0].is_affine):
            yield number, places[0]


def with_bounds(inputs: Inputs, ends: dict[int, Ends]) -> Inputs:
    """Hold columns at bounds, by their number."""
    columns = list(inputs.columns)
    for number, pair in ends.items():
        coordinate = columns[number].coordinates[0]
        low, high = max(pair[0], coordinate.function.low), min(pair[1], coordinate.function.high)
        if isinstance(coordinate.function, Identity):  # bounds of the user may be wider
            low, high = pair
        new = replace(coordinate, function=replace(coordinate.function, low=low, high=high))
        columns[number] = replace(columns[number], coordinates=(new,))
    return replace(inputs, columns=tuple(columns))


def column_bounds(x: FloatArray, beyond: float, weights: FloatArray | None = None) -> Ends | None:
    """Choose bounds of one column: its range where tails are light, else quantiles.

    Examples
    --------
    >>> column_bounds(np.arange(100.0), 0.005)
    (0.0, 99.0)
    >>> column_bounds(np.array([2.0, 2.0]), 0.005)
    """
    low, high = float(x.min()), float(x.max())
    if not low < high:
        return None
    inner = column_ends(x, beyond, np.ones(len(x)) if weights is None else weights)
    reach = LIGHT * (inner[1] - inner[0])
    first = low if low >= inner[0] - reach else inner[0]
    last = high if high <= inner[1] + reach else inner[1]
    return (first, last) if first < last else (low, high)


def column_ends(x: FloatArray, beyond: float, weights: FloatArray) -> Ends:
    """Give two quantiles; of the other values where one value holds nearly all rows."""
    if beyond == 0.0:
        return float(x.min()), float(x.max())
    first, last = _weighted(x, beyond, weights)
    if first < last:
        return first, last
    others = x != first
    low, high = _weighted(x[others], beyond, weights[others])
    return min(low, first), max(high, first)


def _weighted(x: FloatArray, beyond: float, weights: FloatArray) -> Ends:
    """Give the values below and above which a share of the weight lies."""
    order = np.argsort(x, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    # Sums of weights end at 1 but for rounding.
    places = np.minimum(np.searchsorted(share, [beyond, 1.0 - beyond]), len(x) - 1)
    low, high = x[order[places]].tolist()
    return low, high
