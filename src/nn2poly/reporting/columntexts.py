"""Rows told by the columns of the user's table, levels in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nn2poly.arguments import plural
from nn2poly.arrays import FloatArray
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import level_names
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.inputs.indicators import detect_indicators
from nn2poly.reporting.missing_cells import other_level

# How encoders spell the level of missing values.
NO_VALUE = ("nan", "None", "<NA>", "NaT")


def by_column(poly: Explicit, X: FloatArray) -> Explicit:
    """Give the same formula with indicators of the rows (n, p) put together to columns.

    A tree asks about columns by their number: with regions they stay what the conversion found.
    """
    if not isinstance(poly, Polynomial):
        return poly
    return replace(poly, inputs=detect_indicators(poly.inputs, X))


def entering_text(inputs: Inputs) -> str:
    """Say what the formula means by a function of a column; nothing where there is none.

    Examples
    --------
    >>> from nn2poly.inputs import Column, Coordinate
    >>> from nn2poly.inputs.functions import Log
    >>> income = Column("income", coordinates=(Coordinate(function=Log()),))
    >>> entering_text(Inputs((income,)))
    'log(income) is a function of income: centre and scale are those of its values.'
    >>> entering_text(Inputs.of(["income"]))
    ''
    """
    found = [j for j, z in enumerate(inputs.coordinates) if not isinstance(z.function, Identity)]
    if not found:
        return ""
    more = len(found) - 1
    alike = f", and {plural(more, 'other input')} enter{'s' * (more == 1)} through one, too"
    text = (
        f"{inputs.entry_names[found[0]]} is a function of {inputs.feature_names[found[0]]}"
        f"{alike * (more > 0)}: centre and scale are those of its values."
    )
    tabled = next((j for j in found if inputs.coordinates[j].function.points), None)
    if tabled is None:
        return text
    return (
        f"{text} {inputs.entry_names[tabled]} rises from 0 to 1 in straight lines between points; "
        "the text to copy lists the points."
    )


def told_levels(inputs: Inputs, number: int) -> list[str]:
    """Name the levels of a column, in words those of missing values and of unknown ones.

    Examples
    --------
    >>> from nn2poly.inputs import Column
    >>> known = Column.factor("city", ["a", "(unseen)"])
    >>> told_levels(Inputs((replace(known, rest=1, members=(("a",), ())),)), 0)
    ['a', 'any other value']
    """
    names, column = list(level_names(inputs, number)), inputs.columns[number]
    if column.hole is not None and column.hole.fill in NO_VALUE:
        names = ["missing" if name == column.hole.fill else name for name in names]
    other = other_level(column)
    if other is not None:
        names[other] = "any other value"
    return names


def column_value(inputs: Inputs, number: int, x: FloatArray) -> object:
    """Give what a raw row (p,) holds in a column: a number, or the name of a level.

    Examples
    --------
    >>> from nn2poly.inputs import Column
    >>> inputs = Inputs((Column.factor("sex", ["male", "female"]), Column("age")))
    >>> row = np.array([0.0, 1.0, 30.0])
    >>> column_value(inputs, 0, row), column_value(inputs, 1, row)
    ('female', 30.0)
    """
    column, places = inputs.columns[number], list(inputs.places[number])
    if column.kind != "factor":
        return float(x[places[0]])
    on = np.flatnonzero(x[places] == inputs.ends()[1][places])
    return told_levels(inputs, number)[int(on[0])] if len(on) else "none"
