"""The terms of a formula with factors, put together by column: levels are one.

What the term of a single level adds is a matter of how levels are coded; what all levels of a
factor add together, alone or with another column, is not.
"""

from __future__ import annotations

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.importance import MAX_ROWS, ranking
from nn2poly.formula.polynomial import Polynomial
from nn2poly.plots.units import thin

Group = tuple[int, ...]


def has_factors(poly: Polynomial) -> bool:
    """Say that some column has levels."""
    return any(column.width > 1 for column in poly.inputs.columns)


def column_terms(poly: Polynomial) -> dict[Group, IntArray]:
    """Give the places of the terms by the columns that they are of, the intercept's as ``()``.

    Examples
    --------
    >>> from nn2poly.inputs import Column, Inputs
    >>> inputs = Inputs((Column("t"), Column.factor("job", ["a", "b"])))
    >>> poly = Polynomial.from_terms([(), (0, 1), (0, 2)], np.ones((3, 1)), inputs.feature_names)
    >>> from dataclasses import replace
    >>> {k: v.tolist() for k, v in column_terms(replace(poly, inputs=inputs)).items()}
    {(): [0], (0, 1): [1, 2]}
    """
    column_of = poly.inputs.column_of.tolist()
    found: dict[Group, list[int]] = {}
    for place, term in enumerate(poly.terms):
        found.setdefault(tuple(sorted(column_of[j] for j in term)), []).append(place)
    return {group: np.array(places) for group, places in found.items()}


def column_value(poly: Polynomial, number: int, row: FloatArray) -> float:
    """Give what a row (p,) has in a column: of a factor the number of its level."""
    places = list(poly.inputs.places[number])
    return float(row[places].argmax()) if len(places) > 1 else float(row[places[0]])


def column_names(poly: Polynomial) -> list[str]:
    """Name the columns, whose numbers a group of terms has."""
    return [column.name for column in poly.inputs.columns]


def group_sizes(poly: Polynomial, rows: FloatArray | None) -> tuple[dict[Group, FloatArray], str]:
    """Measure what each group of terms adds: sizes (n_outputs,), and what they are.

    Over rows (n, p) it is the standard deviation of the sum. Without rows each level brings what
    the conversion knows of its term, and squares are added.
    """
    groups = {group: places for group, places in column_terms(poly).items() if group}
    if rows is None:
        found = ranking(poly, None)
        sizes = {g: np.linalg.norm(found.sizes[p], axis=0) for g, p in groups.items()}
        text = f"{found.measure},\nlevels together, {found.where}"
    else:
        few = thin(rows, MAX_ROWS)
        sizes = {g: _deviation(poly, p, few) for g, p in groups.items()}
        text = "standard deviation of the contribution,\nlevels together, over X"
    return sizes, text


def _deviation(poly: Polynomial, places: IntArray, rows: FloatArray) -> FloatArray:
    result: FloatArray = poly.keep(places).raw_outputs(rows).std(axis=0)
    return result
