"""Fold imputers: what they put for a missing value becomes the hole of a raw column.

A column that is filled with v is, up to a scaler, the raw column filled with some w. The first
imputer that meets a raw column decides w; another that fills it with w' is the same plus
(w' - w) times the mark of the hole, which is affine again. So are indicators of missing values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.inputs import Hole, level_text
from nn2poly.inputs.holes import Mark
from nn2poly.network.builder import Value, concatenate

if TYPE_CHECKING:
    from nn2poly.network.readers.sklearn.folding import RawColumns, Step, Table

# Sources of a table's value, see `folding`: the raw columns as numbers, the marks of their holes.
NUMBERS, MARKS = 0, -1


def simple_imputer(step: Step, table: Table) -> Table:
    """Fill every column with the number or text that the imputer keeps for it."""
    model, code = step.model, hole_code(step)
    fills = model.statistics_.tolist()
    kept = [k for k, fill in enumerate(fills) if _is_kept(model, fill)]
    filled = table
    for k in kept:
        filled = _filled(step, filled, k, fills[k], code)
    return _beside(filled.columns(kept), _marked(step, table, code))


def learned_imputer(step: Step, table: Table) -> Table:
    """Keep the columns; the model itself fills them in, while it is at hand."""
    model, code = step.model, hole_code(step)
    if code is not None:
        raise step.refuse(f"replaces the number {code}, not empty cells alone")
    before = getattr(model, "feature_names_in_", [f"x{k}" for k in range(model.n_features_in_)])
    out = set(model.get_feature_names_out())  # without columns that were never observed
    kept = [k for k, name in enumerate(before) if name in out]
    cells = [table.cells[k] for k in range(table.value.width)]
    bent = any(cell.raw is None and cell.origin in table.known.functions for cell in cells)
    if bent or any(cell.origin is None or cell.hole is not None for cell in cells):
        raise step.refuse("fills in columns that another step has computed or filled in")
    places = [cell.origin for cell in cells if cell.origin is not None]
    slopes = table.value.matrices[NUMBERS][places, range(len(places))]
    table.known.imputers.append((step.name, places, model, kept, slopes, table.value.bias))
    done = tuple(replace(cell, origin=None) for cell in table.cells)
    return _beside(replace(table, cells=done).columns(kept), _marked(step, table, code))


def missing_indicator(step: Step, table: Table) -> Table:
    """Give 1 where a column has a hole, for each column that the step watches."""
    return _marks(step, table, step.model, hole_code(step))


def hole_code(step: Step) -> Mark:
    """Give the value that an imputer takes for a hole; None for empty cells."""
    value = step.model.missing_values
    if value is None or value != value or type(value).__name__ == "NAType":
        return None
    if isinstance(value, str):
        return value
    return float(value)


def fill_with(known: RawColumns) -> list[tuple[str, list[int], Any]]:
    """Give the name, the raw columns and the function of each imputer that is a model itself."""
    return [(name, places, partial(_fill, *rest)) for name, places, *rest in known.imputers]


def _fill(
    model: Any, kept: list[int], slopes: FloatArray, shift: FloatArray, values: FloatArray
) -> FloatArray:
    """Fill in raw columns (n, m) by a model of these columns after a scaler."""
    given: Any = values * slopes + shift
    names = getattr(model, "feature_names_in_", None)
    if names is not None:  # a model that was fitted on a frame warns about arrays
        import pandas

        given = pandas.DataFrame(given, columns=names)
    result = values.copy()
    made = np.asarray(model.transform(given), dtype=np.float64)[:, : len(kept)]
    filled = (made - shift[kept]) / slopes[kept]
    result[:, kept] = np.where(np.isnan(values[:, kept]), filled, values[:, kept])
    return result


def _is_kept(model: Any, fill: Any) -> bool:
    """Tell a column that was never observed: it is dropped, unless all are kept."""
    is_nan = isinstance(fill, float) and np.isnan(fill)
    return not is_nan or model.strategy == "constant" or model.keep_empty_features


def _filled(step: Step, table: Table, k: int, fill: Any, code: Mark) -> Table:
    """Fill column k of a table."""
    cell = table.cells[k]
    j = cell.origin
    if j is None or cell.hole is not None:
        return table
    if cell.raw is None and j in table.known.functions:
        raise step.refuse("fills in columns after a function of them; fill them in before it")
    if isinstance(fill, str):
        return _with_cell(table, k, Hole(fill, code))
    if code is not None and cell.raw is None:
        raise step.refuse(f"replaces the number {code} of columns that another step has computed")
    numbers = table.value.matrices[NUMBERS]
    slope = numbers[j, k]
    own = float(fill) if cell.raw is not None else (float(fill) - table.value.bias[k]) / slope
    first = table.known.holes.setdefault(j, Hole(own, code))
    if first.code != code:
        raise step.refuse("takes another value for missing than an earlier step does")
    filled = _with_cell(table, k, Hole(level_text(own) if cell.raw is not None else None, code))
    if own == first.fill:
        return filled
    extra = np.zeros((table.known.count, table.value.width))
    extra[j, k] = slope * (own - float(first.fill or 0.0))
    _note_mark(step, table, j, code)
    return replace(filled, value=filled.value.plus(Value(np.zeros(len(extra.T)), {MARKS: extra})))


def _with_cell(table: Table, k: int, hole: Hole) -> Table:
    cells = list(table.cells)
    cells[k] = replace(cells[k], hole=hole)
    return replace(table, cells=tuple(cells))


def _marked(step: Step, table: Table, code: Mark) -> Table | None:
    """Give the indicators that an imputer adds, or None."""
    model = step.model
    return _marks(step, table, model.indicator_, code) if model.add_indicator else None


def _marks(step: Step, table: Table, indicator: Any, code: Mark) -> Table:
    features: Sequence[int] = indicator.features_.tolist()
    matrix = np.zeros((table.known.count, len(features)))
    for column, k in enumerate(features):
        cell = table.cells[k]
        if cell.origin is not None and cell.hole is None:
            matrix[cell.origin, column] = 1.0
            _note_mark(step, table, cell.origin, code)
    nothing = table.value.columns([])  # keeps the source of the numbers
    marks = concatenate([nothing, Value(np.zeros(len(features)), {MARKS: matrix})])
    return table.computed(marks)


def _note_mark(step: Step, table: Table, j: int, code: Mark) -> None:
    if table.known.marks.setdefault(j, code) != code:
        raise step.refuse("takes another value for missing than an earlier step does")


def _beside(table: Table, more: Table | None) -> Table:
    if more is None:
        return table
    joined = concatenate([table.value, more.value])
    return replace(table, value=joined, cells=(*table.cells, *more.cells))
