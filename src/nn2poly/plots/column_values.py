"""What the columns of a formula do: how far they move it, and their Shapley values.

The terms of a formula with regions are those of one region each; its columns are of all.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, OutsideRangeWarning
from nn2poly.explain.feature_importance import importance
from nn2poly.explain.shapley import shapley
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.protocol import Formula
from nn2poly.formula.region_tree import level_names
from nn2poly.plots.labels import WIDTH, axis_labels, number, wrap
from nn2poly.plots.units import read_rows


def column_moves(poly: PiecewisePolynomial, X: Any, *, remedy: str) -> dict[str, FloatArray]:
    """Give how far the outputs move with each column, array (n_outputs,), what moves most first.

    Raises
    ------
    InvalidInputError
        When there is no X.
    """
    if X is None:
        raise InvalidInputError(
            "Which columns matter most in a formula with regions is told by data.",
            where="X",
            expected="rows, as an array or a data frame",
            found="None",
            remedy=remedy,
        )
    with warnings.catch_warnings():
        # What a picture covers, its rows, is the user's choice.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        rows = importance(poly, read_rows(poly, X)).rows
    return {str(name): np.array(values, dtype=np.float64) for name, *values in rows}


def goes_by_column(poly: Explicit) -> bool:
    """Say that terms do not tell what columns do: there are regions, or levels of factors.

    What single levels do is a matter of how they are coded; what the column does is not.
    """
    factors = any(column.width > 1 for column in poly.inputs.columns)
    return factors or isinstance(poly, PiecewisePolynomial)


@dataclass(frozen=True, eq=False)
class Players:
    """Shapley values of some rows for one output.

    Parameters
    ----------
    names
        Columns.
    values
        Array (n, n_names).
    data
        Array (n, n_names): the rows; of a column with levels the number of its level.
    base
        The mean prediction of the background.
    ordered
        Array (n_names,) of bool: more of it means more; levels have no order.
    """

    names: tuple[str, ...]
    values: FloatArray
    data: FloatArray
    base: float
    ordered: FloatArray


def players(poly: Formula, rows: FloatArray, background: FloatArray, output: int) -> Players:
    """Compute the Shapley values of raw rows (n, p) against others (m, p)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideRangeWarning)
        found = shapley(poly, rows, background)
    kinds = {column.name: column.kind for column in poly.inputs.columns}
    # A feature of a factor is an indicator; its column, which has no order, is none.
    ordered = np.array([kinds.get(name) != "factor" for name in found.feature_names])
    return Players(
        found.feature_names,
        found.values[:, :, output],
        found.data,
        float(found.base_values[output]),
        ordered,
    )


def value_labels(
    poly: Explicit, names: Sequence[str], values: Sequence[float], lines: int
) -> list[str]:
    """Name columns with their values, in words if they have levels: ``weather = rain``."""
    labels = axis_labels(names, WIDTH, lines)
    texts = [value_text(poly, name, value) for name, value in zip(names, values, strict=True)]
    return [
        with_value(label, wrap(text, WIDTH - 3, 1), lines)
        for label, text in zip(labels, texts, strict=True)
    ]


def with_value(label: str, value: str, lines: int) -> str:
    """Add a value to a label, on a line of its own where it needs one and there is more than one.

    Examples
    --------
    >>> with_value("weather", "rain", 1)
    'weather = rain'
    """
    text = f" = {value}"
    if len(label.rpartition("\n")[2] + text) <= WIDTH:
        return label + text
    return label if lines < 2 else f"{label}\n{text.strip()}"


def value_text(poly: Explicit, name: str, value: float) -> str:
    """Write the value of a column: a number, or the name of its level."""
    names = [column.name for column in poly.inputs.columns]
    place = names.index(name) if name in names else None
    if place is None or poly.inputs.columns[place].kind == "number":
        return number(value)
    levels = level_names(poly.inputs, place)
    if poly.inputs.columns[place].kind == "factor":
        return levels[int(value)]
    (feature,) = poly.inputs.places[place]
    low, high = (float(end[feature]) for end in poly.inputs.ends())
    # A yes/no of other numbers than 0 and 1 is named by them.
    return {low: levels[0], high: levels[1]}.get(value, number(value)).replace("-", "−")
