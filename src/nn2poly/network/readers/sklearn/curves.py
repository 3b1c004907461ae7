"""Fold functions of single columns: a raw column that enters as its logarithm, power or rank.

Such a column is a number that goes through a function of `nn2poly.inputs.functions` before the
network sees it; it can enter that way alone. Functions of the user are recognised by their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from sys import float_info
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.inputs.functions import (
    MAX_KNOTS,
    BoxCox,
    Function,
    Identity,
    Log,
    Log1p,
    Rank,
    Sqrt,
    YeoJohnson,
)
from nn2poly.network.builder import Value

if TYPE_CHECKING:
    from nn2poly.network.readers.sklearn.folding import Step, Table

# The source of a table's value that holds raw columns after their function, see `folding`.
CURVED = -2
# Where a function is looked at, several sizes and signs, so that one that is cut somewhere is not
# taken for another.
POINTS = np.array([-40.0, -2.5, -0.9, -0.4, 0.0, 1e-3, 0.2, 0.7, 1.0, 3.0, 11.0, 70.0, 900.0, 2e5])
# Values may differ by so much of the largest: some roundings.
ROUNDING = 1e-10
# The functions that are known, as far as they are defined.
KNOWN: tuple[Function, ...] = (
    Identity(),
    Log(),
    Log1p(low=float(np.nextafter(-1.0, 0.0))),
    Sqrt(),
)


def function_step(step: Step, table: Table) -> Table:
    """Fold a ``FunctionTransformer``: nothing, an affine function, or a known one of columns."""
    model = step.model
    if model.func is None:
        return table
    name = getattr(model.func, "__name__", repr(model.func))
    found = recognised(model, table.value.width)
    if found is None:
        raise step.refuse(f"applies the function {name}, which is not known to be affine")
    function, shift, factor = found
    bent = table if isinstance(function, Identity) else through(step, table, function)
    scaled = bent.value.scaled(factor, shift)
    if isinstance(function, Identity):
        return table.rescaled(scaled)
    return replace(bent, value=scaled)


def power_step(step: Step, table: Table) -> Table:
    """Fold a ``PowerTransformer``: a power for each column, and its scaler."""
    model, parts = step.model, []
    for k, power in enumerate(model.lambdas_.tolist()):
        one, box_cox = table.columns([k]), model.method == "box-cox"
        if not isfinite(power):
            raise step.refuse("was fitted to columns without a value")
        if power == 1.0:
            parts.append(one.rescaled(one.value.scaled(1.0, -1.0 if box_cox else 0.0)))
        elif box_cox:
            parts.append(through(step, one, BoxCox(power=power) if power else Log()))
        else:
            parts.append(through(step, one, YeoJohnson(power=power)))
    joined = table.beside(parts)
    if not model.standardize:
        return joined
    scaler = model._scaler
    return joined.scaled_by(scaler.mean_, scaler.scale_)


def quantile_step(step: Step, table: Table) -> Table:
    """Fold a ``QuantileTransformer`` to uniform ranks: a table of points for each column."""
    model = step.model
    if model.output_distribution != "uniform":
        raise step.refuse("turns ranks into normal quantiles, which no table of points writes")
    parts = []
    for k, knots in enumerate(model.quantiles_.T):
        if len(knots) > MAX_KNOTS or not np.all(np.diff(knots) > 0):
            raise step.refuse(
                f"ranks a column by {len(knots)} quantiles, some of them equal or more than the "
                f"{MAX_KNOTS} that a formula writes out: n_quantiles={MAX_KNOTS // 2} or fewer of "
                "a column without frequent values would do"
            )
        rank = Rank(knots=tuple(knots.tolist()), shares=tuple(model.references_.tolist()))
        parts.append(through(step, table.columns([k]), rank))
    return table.beside(parts)


def through(step: Step, table: Table, function: Function) -> Table:
    """Let raw columns enter through a function."""
    matrix = np.zeros((table.known.count, table.value.width))
    cells = []
    for k, cell in enumerate(table.cells):
        if cell.raw is None:
            raise step.refuse(f"takes {function.text('x')} of columns that another step computed")
        if table.known.functions.setdefault(cell.raw, function) != function:
            raise step.refuse("takes another function of a column than an earlier step does")
        matrix[cell.raw, k] = 1.0
        cells.append(replace(cell, raw=None, curved=cell.raw))
    nothing = {source: 0.0 * old for source, old in table.value.matrices.items()}
    value = Value(np.zeros(table.value.width), {**nothing, CURVED: matrix})
    return replace(table, value=value, cells=tuple(cells))


def recognised(model: Any, width: int) -> tuple[Function, FloatArray, FloatArray] | None:
    """Find a function of which the model's is a multiple, shifted, in every column."""
    given = np.column_stack([np.roll(POINTS, k) for k in range(width)])
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(model.func(given.copy(), **(model.kw_args or {})), dtype=np.float64)
    except Exception:  # a function of the user may raise anything, for example of a frame
        return None
    if made.shape != given.shape:
        return None
    found = np.column_stack([np.roll(made[:, k], -k) for k in range(width)])
    return next(_matches(found), None)


def _matches(found: FloatArray) -> Iterator[tuple[Function, FloatArray, FloatArray]]:
    """List the known functions that values (n, width) at `POINTS` are multiples of."""
    for function in KNOWN:
        inside = (function.low <= POINTS) & (function.high >= POINTS)
        curve = function.curve(POINTS[inside])
        values = found[inside]
        if not np.isfinite(values).all() or np.isfinite(found[~inside]).any():
            continue
        factor = (values[-1] - values[0]) / (curve[-1] - curve[0])
        shift = values[0] - factor * curve[0]
        gap = np.abs(shift + factor * curve[:, None] - values)
        size = ROUNDING * np.maximum(np.abs(values).max(axis=0), float_info.min)
        if np.all(gap <= size) and factor.all():
            yield function, shift, factor
