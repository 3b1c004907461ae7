"""ONNX's operations that only move cells about, on constants and on tensors alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from nn2poly.network.readers.onnx.graph import Node
from nn2poly.network.readers.onnx.tensors import Array
from nn2poly.network.readers.symbolic import Tensor, check_memory, numbered, selected

Thing = Array | Tensor
Rest = Sequence[Array | None]


def rearrange(thing: Thing, node: Node, rest: Rest) -> Thing:
    """Apply the rearrangement that a node names."""
    change = REARRANGING[node.op]
    if not isinstance(thing, Tensor):
        return change(thing, node, rest)
    return selected(change(numbered(thing)[0], node, rest), thing)


def integers(rest: Rest, position: int, node: Node) -> list[int]:
    """Give the constant of integers at a position among the inputs after the first."""
    array = rest[position] if position < len(rest) else None
    if array is None or array.dtype.kind != "i":
        node.refuse("one of its arguments is not a constant of integers")
    return [int(i) for i in array.ravel()]


def _transpose(array: Array, node: Node, _rest: Rest) -> Array:
    return array.transpose(node.attribute("perm", "ints") or None)


def _flatten(array: Array, node: Node, _rest: Rest) -> Array:
    axis = node.integer("axis", 1)
    axis = axis + array.ndim if axis < 0 else axis
    return array.reshape(math.prod(array.shape[:axis]), math.prod(array.shape[axis:]))


def _reshape(array: Array, node: Node, rest: Rest) -> Array:
    target = integers(rest, 0, node)
    if not node.integer("allowzero", 0):
        target = [array.shape[i] if size == 0 else size for i, size in enumerate(target)]
    return array.reshape(target)


def _axes(node: Node, rest: Rest) -> list[int] | None:
    """Give the axes of a node: an input since version 13, an attribute before."""
    if rest and rest[0] is not None:
        return integers(rest, 0, node)
    given = node.attribute("axes", "ints")
    return None if given is None else list(given)


def _squeeze(array: Array, node: Node, rest: Rest) -> Array:
    axes = _axes(node, rest)
    return np.squeeze(array, None if axes is None else tuple(axes))


def _unsqueeze(array: Array, node: Node, rest: Rest) -> Array:
    return np.expand_dims(array, tuple(_axes(node, rest) or []))


def _slice(array: Array, node: Node, rest: Rest) -> Array:
    index = [slice(None)] * array.ndim
    for axis, start, end, step in zip(*_bounds(node, rest), strict=True):
        # Going backwards, an end before the first cell takes that cell too.
        stop = None if step < 0 and end < -array.shape[axis] else end
        index[axis] = slice(start, stop, step)
    return array[tuple(index)]


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


def _gather(array: Array, node: Node, rest: Rest) -> Array:
    return _take(array, node, rest, node.integer("axis", 0))


def _gather_nd(array: Array, node: Node, rest: Rest) -> Array:
    index = rest[0] if rest else None
    if index is None or index.shape[1:] != (1,) or node.integer("batch_dims", 0):
        node.refuse("it selects single cells")
    return _take(array, node, [index[:, 0]], 0)


def _extract(array: Array, node: Node, rest: Rest) -> Array:
    return _take(array, node, [np.array(integers(rest, 0, node))], -1)


def _take(array: Array, node: Node, rest: Rest, axis: int) -> Array:
    index = np.asarray(integers(rest, 0, node)).reshape(np.asarray(rest[0]).shape)
    check_memory(index.size * array.size, node.where)
    return np.take(array, index, axis=axis)


def split_sizes(node: Node, rest: Rest, length: int) -> list[int]:
    """Give the sizes of the parts of a Split: an input since version 13, an attribute before."""
    given = node.attribute("split", "ints")
    if rest and rest[0] is not None:
        return integers(rest, 0, node)
    if given is not None:
        return list(given)
    part = -(-length // len(node.outputs))
    return [max(0, min(part, length - start)) for start in range(0, part * len(node.outputs), part)]


REARRANGING: dict[str, Callable[[Array, Node, Rest], Array]] = {
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
