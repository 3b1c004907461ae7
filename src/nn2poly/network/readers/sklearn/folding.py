"""Fold the transformers of a scikit-learn pipeline into one affine map of the raw columns.

`fold` walks fitted steps over a `Table`: what every column is by then, an affine function of
the raw columns. A category is a raw column too; its one-hot levels are inputs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nn2poly.arguments import default_names
from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.inputs import Column, Coordinate, Hole, Inputs, LearnedImputer, level_text
from nn2poly.inputs.functions import Function, Identity
from nn2poly.network.builder import Value, concatenate
from nn2poly.network.readers.sklearn.curves import CURVED, function_step, power_step, quantile_step
from nn2poly.network.readers.sklearn.encoders import ENCODERS, Levels
from nn2poly.network.readers.sklearn.imputing import (
    MARKS,
    NUMBERS,
    fill_with,
    learned_imputer,
    missing_indicator,
    simple_imputer,
)
from nn2poly.network.readers.sklearn.transformers import (
    PROJECTIONS,
    SCALERS,
    check_fitted,
    column_positions,
    diagonal,
    is_passthrough,
    sklearn_class,
    sklearn_kind,
)

# Sources of a table's value: `NUMBERS` holds the raw columns as numbers, `MARKS` where they have
# holes, `CURVED` what they are after a function, 1 + j the levels of column j.
_SUPPORTED = (
    "scalers, PCA and other linear projections, column selections, ColumnTransformer, "
    "FeatureUnion, encoders of raw columns (one-hot, ordinal, target, bins), imputers, "
    "passthrough, and of raw columns log, log1p, sqrt, powers and ranks by few quantiles"
)


@dataclass(frozen=True)
class Step:
    """A transformer and its place: its qualified name, and the step that ``after`` can name."""

    name: str
    model: Any
    after: str

    def inside(self, name: str, model: Any, *, in_pipeline: bool) -> Step:
        """Give a part of this step; only the steps of pipelines can be named by ``after``."""
        full = f"{self.name}__{name}"
        return Step(full, model, full if in_pipeline and self.after == self.name else self.after)

    def refuse(self, why: str) -> UnsupportedModelError:
        """Make the error that names this step."""
        title = f"{self.name!r} ({type(self.model).__name__})"
        return UnsupportedModelError(
            f"Step {title} {why}.",
            where=f"step {title}",
            expected=f"steps that are affine in their columns: {_SUPPORTED}",
            remedy="pass the part of the pipeline after it: "
            f"nn2poly.read_network(pipeline, after={self.after!r}), whose inputs are the columns "
            f"that {self.after!r} gives",
        )


@dataclass(frozen=True)
class RawColumns:
    """The raw columns, and what the steps tell about them.

    Parameters
    ----------
    count, names
        How many there are, and their names if the pipeline was fitted on a data frame.
    coordinates
        Center and scale of a column, from the first scaler that meets it.
    levels
        The levels of a column that is encoded.
    holes, marks, level_holes
        What stands in for a missing number; the value that means a hole, where holes are marked;
        what stands in for a missing level.
    unfilled
        Columns that a step takes with their holes.
    imputers
        What `learned_imputer` keeps about imputers of several columns.
    functions
        What a column goes through before the network sees it.
    """

    count: int
    names: tuple[str, ...] | None
    coordinates: dict[int, tuple[float, float]] = field(default_factory=dict)
    levels: dict[int, Levels] = field(default_factory=dict)
    holes: dict[int, Hole] = field(default_factory=dict)
    marks: dict[int, Any] = field(default_factory=dict)
    level_holes: dict[int, Hole | None] = field(default_factory=dict)
    unfilled: set[int] = field(default_factory=set)
    imputers: list[Any] = field(default_factory=list)
    functions: dict[int, Function] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """What is known of a column of a table.

    Parameters
    ----------
    raw
        The raw column that it still is, holes aside; None once it is computed.
    origin
        The raw column whose holes are its own; None where it has none.
    hole
        What an imputer has put there; None before.
    curved
        The raw column of which it is the function; None once it is computed further.
    """

    raw: int | None = None
    origin: int | None = None
    hole: Hole | None = None
    curved: int | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """The columns at one point of a pipeline.

    Parameters
    ----------
    value
        Every column as an affine function of the raw columns.
    cells
        What is known of each column.
    known
        What is known about the raw columns; steps add to it.
    """

    value: Value
    cells: tuple[Cell, ...]
    known: RawColumns

    @property
    def raw(self) -> tuple[int | None, ...]:
        """For each column the raw column that it still is, or None once it is computed."""
        return tuple(cell.raw for cell in self.cells)

    def columns(self, chosen: Sequence[int]) -> Table:
        """Select columns, in the order given."""
        return Table(self.value.columns(chosen), tuple(self.cells[k] for k in chosen), self.known)

    def computed(self, value: Value) -> Table:
        """Replace all columns by computed ones."""
        return Table(value, (Cell(),) * value.width, self.known)

    def rescaled(self, value: Value) -> Table:
        """Replace every column by one that is computed of it alone, and shares its holes."""
        cells = (replace(cell, raw=None, curved=None) for cell in self.cells)
        return Table(value, tuple(cells), self.known)

    def scaled_by(self, center: FloatArray, scale: FloatArray) -> Table:
        """Centre and scale every column; the first to do so sets the raw column's coordinate."""
        for k, cell in enumerate(self.cells):
            j = cell.raw if cell.curved is None else cell.curved
            if j is not None:
                self.known.coordinates.setdefault(j, (float(center[k]), float(scale[k])))
        return self.rescaled(self.value.scaled(1.0 / scale, -center / scale))

    def beside(self, parts: Sequence[Table]) -> Table:
        """Put tables side by side in place of this one."""
        joined = concatenate([self.value.columns([]), *(part.value for part in parts)])
        return Table(joined, tuple(cell for part in parts for cell in part.cells), self.known)

    def note_unfilled(self) -> None:
        """Remember the raw columns that are taken with their holes: nothing fills these in."""
        open_cells = (cell for cell in self.cells if cell.hole is None)
        self.known.unfilled.update(c.origin for c in open_cells if c.origin is not None)


@dataclass(frozen=True, eq=False)
class Folded:
    """All steps as one map of the network's features: ``features @ weights + bias``."""

    weights: FloatArray
    bias: FloatArray
    inputs: Inputs


def fold_pipeline(steps: Iterable[Step], raw: RawColumns) -> Folded:
    """Fold fitted steps into one affine map.

    Its inputs are the raw columns in their order, a one-hot encoded one as a factor, whose
    features are called ``column=level``. Columns that no step uses are left out, unless only
    their place can tell the columns apart.
    """
    start = Value(np.zeros(raw.count), {NUMBERS: np.eye(raw.count)})
    table = Table(start, tuple(Cell(j, j) for j in range(raw.count)), raw)
    for step in steps:
        table = fold(step, table)
    table.note_unfilled()
    known = raw.names or default_names("x", raw.count)
    by_place = raw.names is None and all(levels.cuts for levels in raw.levels.values())
    numbers, marks = table.value.matrices[NUMBERS], table.value.matrices.get(MARKS)
    curved = table.value.matrices.get(CURVED, np.zeros_like(numbers))
    imputed = {j for _, places, *_ in raw.imputers for j in places}
    rows: list[FloatArray] = []
    columns: list[Column] = []
    for j, name in enumerate(known):
        # An imputer of several columns needs those too that nothing else does.
        kept = (by_place and j not in raw.levels) or j in imputed
        if kept or numbers[j].any() or curved[j].any():
            rows.append(curved[j : j + 1] if curved[j].any() else numbers[j : j + 1])
            function = raw.functions[j] if curved[j].any() else Identity()
            if numbers[j].any() and curved[j].any():
                raise _entering_twice(name, function.text(name))
            place = Coordinate(*raw.coordinates.get(j, (0.0, 1.0)), function)
            hole = None if j in raw.unfilled else raw.holes.get(j)
            columns.append(Column(name, coordinates=(place,), hole=hole))
        block = table.value.matrices.get(1 + j)
        if block is not None and block.any():
            rows.append(block)
            factor = _factor(name, raw.levels[j])
            if numbers[j].any() or curved[j].any():
                raise _entering_twice(name, "its bins" if factor.cuts else "its categories")
            hole, is_text = raw.level_holes.get(j), not factor.cuts
            columns.append(replace(factor, hole=hole, is_text=is_text))
        if marks is not None and marks[j].any():
            rows.append(marks[j : j + 1])
            columns.append(Column.marking(name, Hole(code=raw.marks[j])))
    imputers = tuple(
        LearnedImputer(title, tuple(known[j] for j in places), fill)
        for title, places, fill in fill_with(raw)
    )
    inputs = Inputs(tuple(columns), named=not by_place, imputers=imputers)
    return Folded(np.vstack(rows), table.value.bias, inputs)


def _entering_twice(name: str, way: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The column {name!r} enters the network twice: as a number, and as {way}.",
        expected="each number to enter in one way",
        remedy="give the table a second column with the same values, and use one for each; or "
        "pass the part of the pipeline after the transformer: after=…",
    )


def _factor(name: str, levels: Levels) -> Column:
    if levels.cuts:
        return Column.cut(name, levels.cuts)
    plain = levels.members == tuple((level,) for level in levels.names)
    members = () if plain else levels.members
    return replace(Column.factor(name, levels.names), members=members, rest=levels.rest)


# ---- walking ------------------------------------------------------------------------------


def flatten(step: Step) -> Iterator[Step]:
    """List the steps of nested pipelines one by one."""
    kind = sklearn_kind(step.model, ("Pipeline", "FrozenEstimator"))
    if kind == "Pipeline":
        for name, model in step.model.steps:
            yield from flatten(step.inside(name, model, in_pipeline=True))
    elif kind == "FrozenEstimator":
        yield from flatten(replace(step, model=step.model.estimator))
    else:
        yield step


def fold(step: Step, table: Table) -> Table:
    """Fold one step (or a pipeline of them) into a table."""
    for part in flatten(step):
        if not is_passthrough(part.model):
            kind = _known_kind(part)
            check_fitted(part.model, f"Step {part.name!r}")
            table = FOLDS[kind](part, table)
            _check_finite(part, table)
    return table


def _known_kind(step: Step) -> str:
    base = sklearn_class(step.model, FOLDS)
    if base is None:
        known = sklearn_kind(step.model, NOT_AFFINE)
        raise step.refuse(NOT_AFFINE[known] if known else "is not affine, or not known to be")
    if type(step.model).transform is not base.transform:
        raise step.refuse(f"changes what {base.__name__} does in its transform method")
    return str(base.__name__)


def _check_finite(step: Step, table: Table) -> None:
    arrays = (table.value.bias, *table.value.matrices.values())
    if not all(np.isfinite(array).all() for array in arrays):
        raise step.refuse("was fitted to NaN or infinite parameters")


# ---- one function per kind of step --------------------------------------------------------


def _scaler(step: Step, table: Table) -> Table:
    pair = diagonal(step.model)
    if pair is None:
        raise step.refuse("clips its columns (clip=True), which is not affine")
    center, scale = (np.broadcast_to(part, (table.value.width,)).astype(float) for part in pair)
    return table.scaled_by(center, scale)


def _projection(step: Step, table: Table) -> Table:
    table.note_unfilled()
    matrix, center = PROJECTIONS[sklearn_kind(step.model, PROJECTIONS) or ""](step.model)
    shift = np.broadcast_to(0.0 if center is None else center, (table.value.width,))
    return table.computed(table.value.linear(matrix, -(shift @ matrix)))


def _selector(step: Step, table: Table) -> Table:
    return table.columns(step.model.get_support(indices=True).tolist())


def _encoder(step: Step, table: Table) -> Table:
    encode, parts = ENCODERS[sklearn_kind(step.model, ENCODERS) or ""], []
    for k, j in enumerate(table.raw):
        if j is None:
            raise step.refuse("encodes columns that another step has computed")
        if any(j in places for _, places, *_ in table.known.imputers):
            raise step.refuse("encodes columns that an imputer of several columns fills in")
        found = encode(step.model, k)
        width = found.numbers.shape[1]
        if not found.levels.names:
            parts.append(Value(found.numbers[0], {}))
            continue
        if table.known.levels.setdefault(j, found.levels) != found.levels:
            raise step.refuse("encodes a column that another step encodes with other levels")
        hole = _level_hole(step, k, table.cells[k].hole)
        if table.known.level_holes.setdefault(j, hole) != hole:
            raise step.refuse("encodes a column that another step fills in otherwise")
        parts.append(Value(np.zeros(width), {1 + j: found.numbers}))
    nothing = table.value.columns([])  # keeps the source of the numbers
    return table.computed(concatenate([nothing, *parts]))


def _bins(step: Step, table: Table) -> Table:
    if step.model.dtype is not None and np.dtype(step.model.dtype) == np.float32:
        raise step.refuse("rounds numbers to float32 before it cuts them (dtype=np.float32)")
    return _encoder(step, table)


def _level_hole(step: Step, k: int, filled: Hole | None) -> Hole | None:
    """Give what a missing level becomes: a level of its own, or what an imputer puts there.

    Of a number that is cut it is the number of the imputer.
    """
    if not hasattr(step.model, "categories_"):
        return None if filled is None else replace(filled, fill=float(filled.fill or 0.0))
    levels = step.model.categories_[k].tolist()
    own = next((v for v in levels if v is None or v != v), "")
    return filled if own == "" else Hole(level_text(own), None if filled is None else filled.code)


def _column_transformer(step: Step, table: Table) -> Table:
    names = getattr(step.model, "feature_names_in_", ())
    parts = [
        (name, model, table.columns(column_positions(columns, list(names), table.value.width)))
        for name, model, columns in step.model.transformers_
    ]
    return _side_by_side(step, parts, table)


def _feature_union(step: Step, table: Table) -> Table:
    parts = [(name, model, table) for name, model in step.model.transformer_list]
    return _side_by_side(step, parts, table)


def _side_by_side(step: Step, parts: list[tuple[str, Any, Table]], table: Table) -> Table:
    weights = step.model.transformer_weights or {}
    done = []
    for name, model, part in parts:
        if part.value.width == 0 or (isinstance(model, str) and model == "drop"):
            continue
        result = fold(step.inside(name, model, in_pipeline=False), part)
        if name in weights:
            result = result.rescaled(result.value.scaled(weights[name]))
        done.append(result)
    return table.beside(done)


# ---- tables -------------------------------------------------------------------------------


# Why known steps cannot be folded.
NOT_AFFINE = {
    "PolynomialFeatures": "gives powers and products of columns, which is not affine; a network "
    "without it learns these itself, and its formula is written in them",
    "SplineTransformer": "turns a column into several splines, each a polynomial between knots, "
    "which is not affine",
}
FOLDS: dict[str, Callable[[Step, Table], Table]] = {
    **dict.fromkeys(SCALERS, _scaler),
    **dict.fromkeys(PROJECTIONS, _projection),
    **dict.fromkeys(ENCODERS, _encoder),
    **dict.fromkeys(("IterativeImputer", "KNNImputer"), learned_imputer),
    "KBinsDiscretizer": _bins,
    "SimpleImputer": simple_imputer,
    "MissingIndicator": missing_indicator,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _feature_union,
    "FunctionTransformer": function_step,
    "PowerTransformer": power_step,
    "QuantileTransformer": quantile_step,
    "SelectorMixin": _selector,
}
