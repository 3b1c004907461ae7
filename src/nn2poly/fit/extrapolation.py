"""Bounds beyond the sample, where a formula follows its model further than the rows reach.

A formula is clamped at the range of its rows because a polynomial runs away beyond it. A formula of
a linear model does not, nor does one of a network that is nearly a polynomial: there the clamp is
the only error left. So the model is asked on the rows stretched beyond their range, and where the
formula without clamps is faithful on them, it is clamped at their range instead, or not at all.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, TypeVar

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.errors import NN2PolyError
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.input_bounds import Ends, with_bounds
from nn2poly.fit.problem import Problem
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.sampling import evenly
from nn2poly.verdicts import FAITHFUL

# Times the range to which rows are stretched: whole numbers, for columns of whole numbers. A
# formula that is faithful at the second needs no clamp (taste).
STRETCHED = (2.0, 1000.0)
# Rows that the model is asked on (taste; R² of .99 is then known to about .002).
ROWS = 1_000


Clamped = TypeVar("Clamped", Polynomial, PolynomialNetwork)


def bounds_beyond(formula: Clamped, problem: Problem) -> dict[int, Ends]:
    """Give wider bounds of columns, by their number, as far beyond the rows as it is faithful."""
    numbers, found = _full_ranges(formula.inputs, problem), dict[int, Ends]()
    for factor in STRETCHED if numbers else ():
        X = _stretched(problem.fit_rows.X, [formula.inputs.places[n][0] for n in numbers], factor)
        wider = {n: _ends(X[:, formula.inputs.places[n][0]]) for n in numbers}
        if not _is_faithful(clamped_at(formula, wider), problem, X[evenly(len(X), ROWS)]):
            return found
        found = wider
    return dict.fromkeys(numbers, (-inf, inf))


def clamped_at(formula: Clamped, ends: dict[int, Ends]) -> Clamped:
    """Give the same formula with other bounds of some columns, by their number."""
    inputs = with_bounds(formula.inputs, ends)
    changed: dict[str, Any] = {"inputs": inputs}
    if isinstance(formula, PolynomialNetwork):
        changed = {"network": replace(formula.network, inputs=inputs)}
    return replace(formula, **changed)


def _full_ranges(inputs: Inputs, problem: Problem) -> list[int]:
    """List the columns, by number, that are clamped at the range of their rows."""
    if not problem.bounded:
        return []
    X, found = problem.fit_rows.X, []
    for number, (column, (place, *_)) in enumerate(zip(inputs.columns, inputs.places, strict=True)):
        function = column.coordinates[0].function
        is_plain = column.kind == "number" and isinstance(function, Identity)
        is_chosen = column.name not in problem.bounds
        if is_plain and is_chosen and _ends(X[:, place]) == (function.low, function.high):
            found.append(number)
    return found


def _ends(values: FloatArray) -> Ends:
    return float(values.min()), float(values.max())


def _stretched(X: FloatArray, places: list[int], factor: float) -> FloatArray:
    """Stretch columns of rows (n, p) around the value that is nearest to the middle of each."""
    X = X.copy()
    for place in places:
        column = X[:, place]
        middle = column[np.argmin(np.abs(column - sum(_ends(column)) / 2.0))]
        X[:, place] = middle + factor * (column - middle)
    return X


def _is_faithful(formula: Polynomial | PolynomialNetwork, problem: Problem, X: FloatArray) -> bool:
    try:
        truth = problem.truth(X)
    except NN2PolyError:  # a function need not answer beyond its rows: then nothing is known there
        return False
    guess = formula.outputs_by_order(X)[-1]
    return bool(np.isfinite(truth).all()) and mean_r2(truth, guess) >= FAITHFUL
