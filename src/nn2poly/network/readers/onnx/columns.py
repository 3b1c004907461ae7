"""Values with the shape of a tensor: their columns move as ONNX moves the cells.

Every rearrangement is done once, by NumPy, on the numbers of the columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nn2poly.network.builder import Value, concatenate
from nn2poly.network.readers.onnx.graph import Node
from nn2poly.network.readers.onnx.tensors import Array, check_room


@dataclass(frozen=True, eq=False)
class Columns:
    """A value whose columns have a place in a tensor.

    Parameters
    ----------
    value
        What the columns hold.
    shape
        Of the tensor, with 1 in place of the number of rows; its product is ``value.width``.
    rows
        The axis of the rows.
    """

    value: Value
    shape: tuple[int, ...]
    rows: int = 0

    def cells(self) -> Array:
        """Give the number of the column in each cell: an array of this shape."""
        return np.arange(self.value.width).reshape(self.shape)

    def moved(self, cells: Array, rows: int | None, node: Node) -> Columns:
        """Take the columns whose numbers are in ``cells``, the rows now on axis ``rows``."""
        if rows is None or cells.shape[rows] != 1:
            node.refuse("it mixes, repeats or drops rows")
        flat = cells.ravel()
        if not flat.size:
            node.refuse("it leaves no columns")
        if flat.size == self.value.width and np.array_equal(flat, np.arange(flat.size)):
            return Columns(self.value, cells.shape, rows)
        check_room(flat.size * size_of(self.value), node.where)
        return Columns(self.value.columns(flat), cells.shape, rows)

    def broadcast(self, shape: tuple[int, ...], node: Node) -> Columns:
        """Repeat columns as a sum or product with an array of this shape does."""
        full = np.broadcast_shapes(self.shape, shape)
        check_room(math.prod(full) * size_of(self.value), node.where)
        rows = self.rows + len(full) - len(self.shape)
        return self.moved(np.broadcast_to(self.cells(), full), rows, node)


Thing = Array | Columns


def size_of(value: Value) -> int:
    """Count the numbers that one column of a value needs."""
    return 1 + sum(len(matrix) for matrix in value.matrices.values())


def join(things: Sequence[Thing], axis: int, node: Node) -> Columns:
    """Put columns, and constants that are the same for every row, side by side."""
    first = next(thing for thing in things if isinstance(thing, Columns))
    parts = [thing if isinstance(thing, Columns) else _fixed(thing, first) for thing in things]
    axis = axis % len(first.shape)
    if axis == first.rows or any(part.rows != first.rows for part in parts):
        node.refuse("it stacks rows")
    starts = [0, *np.cumsum([part.value.width for part in parts]).tolist()]
    check_room(starts[-1] * sum(size_of(part.value) for part in parts), node.where)
    cells = [part.cells() + start for part, start in zip(parts, starts, strict=False)]
    whole = Columns(concatenate(part.value for part in parts), (1, starts[-1]))
    return whole.moved(np.concatenate(cells, axis=axis), first.rows, node)


def _fixed(array: Array, like: Columns) -> Columns:
    return Columns(Value(array.astype(np.float64).ravel(), {}), array.shape, like.rows)
