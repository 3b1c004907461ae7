"""Readable transforms: columns that enter a formula as a logarithm or as a rank.

A long tail takes many powers of a number and few of its logarithm. The user says which columns
enter how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, floor, log10
from typing import Any

import numpy as np

from nn2poly.arguments import listed
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.fit.input_bounds import column_bounds
from nn2poly.formula.term_names import parse_term
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Curve, Function, Identity, Log, Log1p, Rank
from nn2poly.rows.fit_rows import FitRows

KINDS = (Log.kind, Log1p.kind, Rank.kind, Curve.kind)
# Points of the table of a rank (taste: what is still read), digits of its shares, and the part of
# the distance between two knots to which they are rounded.
KNOTS, SHARE_DIGITS, ROUNDED = 17, 4, 0.02
# The share of the rows beyond each bound of a logarithm whose tail is heavy (taste).
BEYOND = 0.005
# Times that the count of frequent values is lowered to a share of a sum that falls with it: each
# time the excess is divided by 16 or more, but where few values are left.
CAPPINGS = 10


@dataclass(frozen=True)
class Transforms:
    """What was asked for: a kind for each column, or curves for all numbers."""

    kinds: Mapping[str, str]
    all_curves: bool = False

    @property
    def has_curves(self) -> bool:
        """Tell whether curves were asked for."""
        return self.all_curves or Curve.kind in self.kinds.values()

    def bends(self, name: str, function: Function) -> bool:
        """Tell whether a column is to enter through a curve; a model's own functions stay."""
        plain = isinstance(function, Identity)
        return (self.all_curves and plain) or self.kinds.get(name) == Curve.kind


def check_transforms(given: Any) -> Transforms | None:
    """Read the user's ``transforms``; None for none.

    Examples
    --------
    >>> check_transforms({"AveOccup": "log"}), check_transforms(None)
    (Transforms(kinds={'AveOccup': 'log'}, all_curves=False), None)
    """
    if given is None:
        return None
    if isinstance(given, str) and given == Curve.kind:
        return Transforms({}, all_curves=True)
    if not isinstance(given, Mapping):
        raise _unknown(repr(given))
    if unknown := [f"{name}: {kind!r}" for name, kind in given.items() if kind not in KINDS]:
        raise _unknown(listed(unknown))
    return Transforms(dict(given)) if given else None


def check_transformable(asked: Transforms | None, *, bounded: bool, refit: bool = True) -> None:
    """Refuse transforms without bounds, or without a fit."""
    if asked is None or (bounded and refit):
        return
    found = "refit=False" if bounded else "bounded=False"
    raise InvalidInputError(
        "With transforms the outputs are fitted, within bounds.",
        where="transforms",
        expected="neither bounded=False nor refit=False beside them",
        found=found,
        remedy=f"leave {found.partition('=')[0]} out, or transforms",
    )


def transformed(inputs: Inputs, rows: FitRows, low: FloatArray, asked: Transforms) -> Inputs:
    """Let columns enter through functions.

    Parameters
    ----------
    inputs
        With their bounds.
    rows
        Rows to fit.
    low
        Array (p,): the smallest values of all rows.
    asked
        What was asked for.
    """
    for name, kind in asked.kinds.items():
        number, place = _column(inputs, name)
        if kind == Curve.kind:
            # Fitted later, together with the formula: see `fitted_curves`.
            continue
        x, held = rows.X[:, place], inputs.coordinates[place].function
        _check_values(x, float(low[place]), name, kind)
        inputs = _with(inputs, number, _function(kind, x, rows.weights, held))
    return inputs


def _with(inputs: Inputs, number: int, function: Function) -> Inputs:
    columns = list(inputs.columns)
    coordinate = replace(columns[number].coordinates[0], function=function)
    columns[number] = replace(columns[number], coordinates=(coordinate,))
    return replace(inputs, columns=tuple(columns))


def _function(kind: str, x: FloatArray, weights: FloatArray, held: Function) -> Function:
    if kind == Rank.kind:
        return rank_of(x, held.low, held.high, weights)
    # The tails of a logarithm are others than those of its argument: bounds of its own.
    curve, back, cls = (np.log, exp, Log) if kind == Log.kind else (np.log1p, np.expm1, Log1p)
    # Values so close that their logarithms are one keep the bounds that they have.
    ends = column_bounds(curve(x), BEYOND, weights)
    low, high = ends or (curve(held.low), curve(held.high))
    return cls(max(float(x.min()), float(back(low))), min(float(x.max()), float(back(high))))


def rank_of(x: FloatArray, low: float, high: float, weights: FloatArray | None = None) -> Rank:
    """Make the table of a rank: quantiles of a column within bounds, rounded, and their shares.

    Examples
    --------
    >>> rank = rank_of(np.arange(1000.0) ** 2, 0.0, 998001.0)
    >>> rank.knots[:3], rank.shares[:3], rank.shares[-1]
    ((0.0, 3840.0, 15500.0), (0.0005, 0.0625, 0.125), 0.9995)
    """
    values, shares = _shares(x, np.ones(len(x)) if weights is None else weights)
    inner = np.interp(np.linspace(0.0, 1.0, KNOTS)[1:-1], shares, values)
    knots = rounded_knots(np.unique([low, *inner[(inner > low) & (inner < high)], high]))
    found = np.round(np.interp(knots, values, shares), SHARE_DIGITS)
    # The outer knots stay; inner ones that do not rise between them go.
    rises = np.concatenate([[True], np.diff(found) > 0])
    rises &= found < found[-1]
    rises[[0, -1]] = True
    return Rank(knots=tuple(knots[rises].tolist()), shares=tuple(found[rises].tolist()))


def rounded_knots(knots: FloatArray) -> FloatArray:
    """Round the inner ones of increasing knots to the digits that they need.

    Examples
    --------
    >>> rounded_knots(np.array([0.0, 1.23456, 2.7182, 5.0]))
    array([0.  , 1.23, 2.72, 5.  ])
    """
    low, high = knots[0], knots[-1]
    step = np.diff(knots).min() * ROUNDED
    inner = np.unique(np.round(knots[1:-1], -floor(log10(step))))
    return np.array([low, *inner[(inner > low) & (inner < high)], high])


def _shares(x: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the distinct values of a column, and the share of the weight below each.

    A value of many rows counts as few enough that it takes no more than the step of a table:
    next to it would be a gap that no row lies in, where a polynomial does what it likes.
    """
    values, places = np.unique(x, return_inverse=True)
    # One row counts about 1.
    counts = np.bincount(places, weights / weights.mean())
    for _ in range(CAPPINGS):
        counts = np.minimum(counts, max(1.0, counts.sum() / (KNOTS - 1)))
    return values, (np.cumsum(counts) - counts / 2.0) / counts.sum()


def _column(inputs: Inputs, name: str) -> tuple[int, int]:
    """Find a number with bounds: its place among the columns, and that of its feature."""
    names = [column.name for column in inputs.columns]
    if name not in names:
        parse_term((name,), inputs.feature_names)
        raise no_number(name, "a level of a factor")
    number = names.index(name)
    column, place = inputs.columns[number], inputs.places[number][0]
    if column.kind != "number":
        raise no_number(name, {"binary": "a yes/no"}.get(column.kind, f"a {column.kind}"))
    if not column.coordinates[0].function.is_bounded:
        raise no_number(name, "the same value in all rows")
    return number, place


def _check_values(x: FloatArray, low: float, name: str, kind: str) -> None:
    limit = {Log.kind: 0.0, Log1p.kind: -1.0}.get(kind)
    if limit is None or low > limit:
        return
    count = int(np.count_nonzero(x <= limit))
    others = [k for k in KINDS if k != kind and (k != Log1p.kind or low >= 0)]
    raise InvalidInputError(
        f"The column {name!r} has no {kind}.",
        where="transforms",
        expected=f"values above {limit:g}",
        found=f"{low:g} as the smallest; {count:,} of {len(x):,} rows at {limit:g} or below",
        remedy=f"{' or '.join(map(repr, others))} instead, or leave the column as it is",
    )


def no_number(name: str, found: str) -> InvalidInputError:
    """Say that a column cannot go through a function."""
    return InvalidInputError(
        f"The column {name!r} cannot go through a function.",
        where="transforms",
        expected="a number that varies",
        found=found,
        remedy="leave it out of transforms; see also binary=",
    )


def _unknown(found: str) -> InvalidInputError:
    return InvalidInputError(
        "The transforms are not understood.",
        where="transforms",
        expected=f'None, "curve", or columns with one of {", ".join(KINDS)}',
        found=found,
        remedy='write transforms={"income": "log"}',
    )
