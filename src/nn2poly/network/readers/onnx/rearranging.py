"""ONNX's operations that only move cells about, on constants and on tensors alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nn2poly.network.readers.onnx.graph import Node
from nn2poly.network.readers.onnx.tensors import Array
from nn2poly.network.readers.symbolic import Tensor, check_memory, numbered, selected

# Stands for the number of rows where a model computes with shapes: a prime that the size of no
# real array reaches, so that it cannot be taken for anything else.
ROWS = 2**61 - 1
# Exporters slice to the largest integer of 32 or 64 bits when they mean the end.
FAR = 2**31 - 1

Thing = Array | Tensor
Rest = Sequence[Array | None]


@dataclass(frozen=True, eq=False)
class Cells:
    """What is rearranged.

    Parameters
    ----------
    array
        A constant, or the numbers of the columns of a tensor of one row.
    rows
        The axis of the rows; None for a constant.
    n_rows
        The number of rows for which the model was exported, if it is fixed.
    """

    array: Array
    rows: int | None = None
    n_rows: int | None = None

    def to(self, array: Array, rows: int | None) -> Cells:
        """Give other cells; a constant has no rows."""
        return replace(self, array=array, rows=None if self.rows is None else rows)


def rearrange(thing: Thing, node: Node, rest: Rest, n_rows: int | None = None) -> Thing:
    """Apply the rearrangement that a node names."""
    change = REARRANGING[node.op]
    if not isinstance(thing, Tensor):
        return change(Cells(thing), node, rest).array
    cells = change(Cells(numbered(thing)[0], thing.axis, n_rows), node, rest)
    return taken(thing, cells.array, cells.rows, node)


def taken(x: Tensor, cells: Array, rows: int | None, node: Node) -> Tensor:
    """Take the columns whose numbers are in ``cells``, the rows now on axis ``rows``."""
    if rows is None or cells.shape[rows] != 1:
        node.refuse("it mixes, repeats or drops rows")
    if not cells.size:
        node.refuse("it leaves no columns")
    return selected(cells, x, axis=rows)


def integers(rest: Rest, position: int, node: Node) -> list[int]:
    """Give the constant of integers at a position among the inputs after the first."""
    array = rest[position] if position < len(rest) else None
    if array is None or array.dtype.kind != "i":
        node.refuse("one of its arguments is not a constant of integers")
    return [int(i) for i in array.ravel()]


def _transpose(cells: Cells, node: Node, _rest: Rest) -> Cells:
    array, rows = cells.array, cells.rows
    order = list(node.attribute("perm", "ints") or reversed(range(array.ndim)))
    return cells.to(array.transpose(order), None if rows is None else order.index(rows))


def _flatten(cells: Cells, node: Node, _rest: Rest) -> Cells:
    array, rows = cells.array, cells.rows
    axis = node.integer("axis", 1)
    axis = axis + array.ndim if axis < 0 else axis
    before = math.prod(array.shape[:axis])
    kept = 0 if rows is not None and rows < axis and before == 1 else None
    return cells.to(array.reshape(before, math.prod(array.shape[axis:])), kept)


def _reshape(cells: Cells, node: Node, rest: Rest) -> Cells:
    array, rows = cells.array, cells.rows
    target = integers(rest, 0, node)
    if not node.integer("allowzero", 0):
        sizes = [ROWS if axis == rows else size for axis, size in enumerate(array.shape)]
        target = [sizes[i] if size == 0 else size for i, size in enumerate(target)]
    if rows is None:
        return cells.to(array.reshape(target), None)
    others = target[1:]
    fits = target[:1] != [-1] or math.prod(others) == array.size
    if rows != 0 or not target or target[0] not in (-1, ROWS, cells.n_rows) or not fits:
        shown = ["rows" if size == ROWS else size for size in target]
        node.refuse(f"its shape {shown} does not keep the rows")
    return cells.to(array.reshape([1, *others]), 0)


def _axes(node: Node, rest: Rest) -> list[int] | None:
    """Give the axes of a node: an input since version 13, an attribute before."""
    if rest and rest[0] is not None:
        return integers(rest, 0, node)
    given = node.attribute("axes", "ints")
    return None if given is None else list(given)


def _squeeze(cells: Cells, node: Node, rest: Rest) -> Cells:
    array, rows = cells.array, cells.rows
    given = _axes(node, rest)
    ones = [axis for axis, size in enumerate(array.shape) if size == 1 and axis != rows]
    gone = ones if given is None else [axis % max(array.ndim, 1) for axis in given]
    kept = None if rows is None or rows in gone else rows - sum(axis < rows for axis in gone)
    return cells.to(np.squeeze(array, tuple(gone)), kept)


def _unsqueeze(cells: Cells, node: Node, rest: Rest) -> Cells:
    axes = _axes(node, rest) or []
    moved = np.expand_dims(cells.array, tuple(axes))
    new = {axis % moved.ndim for axis in axes}
    old = [axis for axis in range(moved.ndim) if axis not in new]
    return cells.to(moved, None if cells.rows is None else old[cells.rows])


def _slice(cells: Cells, node: Node, rest: Rest) -> Cells:
    array = cells.array
    index = [slice(None)] * array.ndim
    for axis, start, end, step in zip(*_bounds(node, rest), strict=True):
        if cells.rows is not None and axis % array.ndim == cells.rows:
            if (start, step) != (0, 1) or (end < FAR and end != cells.n_rows):
                node.refuse("it selects rows")
        else:
            # Going backwards, an end before the first cell takes that cell too.
            stop = None if step < 0 and end < -array.shape[axis] else end
            index[axis] = slice(start, stop, step)
    return cells.to(array[tuple(index)], cells.rows)


def _bounds(node: Node, rest: Rest) -> tuple[list[int], list[int], list[int], list[int]]:
    """Give axes, starts, ends and steps: inputs since version 10, attributes before."""
    given = [node.attribute(name, "ints") for name in ("axes", "starts", "ends")]
    axes, starts, ends = (list(values or []) for values in given)
    steps: list[int] = []
    if rest:
        starts, ends = integers(rest, 0, node), integers(rest, 1, node)
        axes = integers(rest, 2, node) if rest[2:] and rest[2] is not None else []
        steps = integers(rest, 3, node) if rest[3:] else []
    return axes or list(range(len(starts))), starts, ends, steps or [1] * len(starts)


def _gather(cells: Cells, node: Node, rest: Rest) -> Cells:
    return _take(cells, node, rest, node.integer("axis", 0))


def _gather_nd(cells: Cells, node: Node, rest: Rest) -> Cells:
    index = rest[0] if rest else None
    if index is None or index.shape[1:] != (1,) or node.integer("batch_dims", 0):
        node.refuse("it selects single cells")
    return _take(cells, node, [index[:, 0]], 0)


def _extract(cells: Cells, node: Node, rest: Rest) -> Cells:
    return _take(cells, node, [np.array(integers(rest, 0, node))], -1)


def _take(cells: Cells, node: Node, rest: Rest, axis: int) -> Cells:
    array, rows = cells.array, cells.rows
    index = np.asarray(integers(rest, 0, node)).reshape(np.asarray(rest[0]).shape)
    axis = axis % max(array.ndim, 1)
    if axis == rows:
        node.refuse("it selects rows")
    check_memory(index.size * array.size, node.where)
    shift = index.ndim - 1 if rows is not None and axis < rows else 0
    return cells.to(np.take(array, index, axis=axis), None if rows is None else rows + shift)


def split_sizes(node: Node, rest: Rest, length: int) -> list[int]:
    """Give the sizes of the parts of a Split: an input since version 13, an attribute before."""
    given = node.attribute("split", "ints")
    if rest and rest[0] is not None:
        return integers(rest, 0, node)
    if given is not None:
        return list(given)
    part = -(-length // len(node.outputs))
    return [max(0, min(part, length - start)) for start in range(0, part * len(node.outputs), part)]


REARRANGING: dict[str, Callable[[Cells, Node, Rest], Cells]] = {
    "Transpose": _transpose,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "ai.onnx.ml.ArrayFeatureExtractor": _extract,
}
