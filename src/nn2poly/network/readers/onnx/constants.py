"""Work out the constants of an ONNX model: what does not depend on its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from nn2poly.errors import NN2PolyError
from nn2poly.network.erf import erf, sigmoid, softplus
from nn2poly.network.readers.onnx.graph import Graph, Node
from nn2poly.network.readers.onnx.rearranging import REARRANGING, Rest, rearrange
from nn2poly.network.readers.onnx.tensors import FLOATS, NUMBERS, Array, decode
from nn2poly.network.readers.symbolic import check_memory

# Operations on each number by itself, with NumPy's name for them.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Neg": np.negative,
    "Abs": np.abs,
    "Sqrt": np.sqrt,
    "Reciprocal": np.reciprocal,
    "Exp": np.exp,
    "Log": np.log,
    "Tanh": np.tanh,
    "Erf": erf,
    "Sigmoid": sigmoid,
    "Softplus": softplus,
    "Relu": lambda x: np.maximum(x, 0.0),
    "Max": np.maximum,
    "Min": np.minimum,
    "Where": np.where,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
}
ANY_NUMBER = ("Max", "Min")  # of inputs
# Attributes of a Constant that are not tensors → (field of the protocol, dtype).
PLAIN = {
    "value_float": ("f", np.float64),
    "value_floats": ("floats", np.float64),
    "value_int": ("i", np.int64),
    "value_ints": ("ints", np.int64),
}
# What a NumPy operation raises when its arguments do not fit each other.
MISFITS = (ValueError, IndexError, OverflowError, ZeroDivisionError)


def constants_of(graph: Graph, needed: set[str]) -> dict[str, Array]:
    """Compute the constants among the tensors that are needed, by name."""
    found: dict[str, Array] = {}
    for name in needed:
        value = graph.initializer(name)
        if value is not None:
            found[name] = value
    made = 0
    for node in graph.nodes:
        if needed.intersection(node.outputs) - graph.varying:
            value = fold(node, [found.get(name) for name in node.inputs])
            found[node.outputs[0]] = value
            # All of them are kept: each may be small, and their sum large.
            made += value.size
            check_memory(made, node.where)
    return found


def fold(node: Node, args: Rest) -> Array:
    """Compute an operation on constants; an input that is left out, or only a type, is None."""
    try:
        return _fold(node, args)
    except NN2PolyError:
        raise
    except MISFITS as error:
        return node.damaged(str(error))


def _fold(node: Node, args: Rest) -> Array:
    if node.op == "Constant":
        return _constant(node)
    arrays = [array for array in args if array is not None]
    if not arrays:
        node.refuse()
    if node.op in ("Identity", "CastLike"):
        return arrays[0]
    if node.op in REARRANGING:
        return np.asarray(rearrange(arrays[0], node, args[1:]))
    if node.op in ELEMENTWISE:
        check_memory(math.prod(np.broadcast_shapes(*(a.shape for a in arrays))), node.where)
        return np.asarray(elementwise(node, arrays))
    if node.op not in FOLDS:
        node.refuse()
    return FOLDS[node.op](node, arrays)


def elementwise(node: Node, arrays: Sequence[Any]) -> Any:
    """Apply an operation of the table `ELEMENTWISE`."""
    function = ELEMENTWISE[node.op]
    kinds = [np.asarray(array).dtype.kind for array in arrays]
    arity = 3 if node.op == "Where" else getattr(function, "nin", 1)
    asked = kinds[1:] if node.op == "Where" else kinds
    many = node.op in ANY_NUMBER and bool(arrays)
    if "O" in kinds or "b" in asked or not (many or len(arrays) == arity):
        node.damaged(f"{len(arrays)} inputs, or inputs that are not numbers")
    if many:
        return reduce(function, arrays)
    if node.op == "Div" and kinds == ["i", "i"]:
        if not np.all(arrays[1]):
            node.damaged("a division by zero")
        return np.floor_divide(*arrays)
    return function(*arrays)


def _constant(node: Node) -> Array:
    tensor = node.attribute("value", "t")
    if tensor is not None:
        return decode(tensor, node.where)
    for name, (kind, dtype) in PLAIN.items():
        value = node.attribute(name, kind)
        if value is not None:
            return np.array(value, dtype)
    return node.refuse("it holds no numbers")


def _cast(node: Node, arrays: list[Array]) -> Array:
    kind = node.integer("to", 0)
    if kind not in NUMBERS | {9} or arrays[0].dtype.kind == "O":
        node.refuse("it does not give numbers")
    dtype = bool if kind == 9 else np.float64 if kind in FLOATS else np.int64
    return arrays[0].astype(dtype)


def _concat(node: Node, arrays: list[Array]) -> Array:
    check_memory(sum(array.size for array in arrays), node.where)
    return np.concatenate(arrays, axis=node.integer("axis", 0))


def _shape(node: Node, arrays: list[Array]) -> Array:
    return part_of_shape(node, arrays[0].shape)


def part_of_shape(node: Node, shape: tuple[int, ...]) -> Array:
    """Give the sizes that a Shape node asks for."""
    chosen = slice(node.integer("start", 0), node.integer("end", len(shape)))
    return np.array(shape[chosen], dtype=np.int64)


def _filled(node: Node, arrays: list[Array]) -> Array:
    tensor = node.attribute("value", "t")
    value = np.zeros(1) if tensor is None else decode(tensor, node.where)
    shape = [int(size) for size in arrays[0].ravel()]
    check_memory(math.prod(shape), node.where)
    return np.full(shape, value.ravel()[0])


def _expand(node: Node, arrays: list[Array]) -> Array:
    if len(arrays) != 2:
        node.damaged(f"{len(arrays)} inputs where two are expected")
    shape = np.broadcast_shapes(arrays[0].shape, tuple(int(n) for n in arrays[1].ravel()))
    check_memory(math.prod(shape), node.where)
    return np.broadcast_to(arrays[0], shape)


FOLDS: dict[str, Callable[[Node, list[Array]], Array]] = {
    "Cast": _cast,
    "Concat": _concat,
    "Shape": _shape,
    "ConstantOfShape": _filled,
    "Expand": _expand,
}
