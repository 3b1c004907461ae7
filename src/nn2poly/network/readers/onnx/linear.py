"""What ONNX's affine operations do to values: a table, from the operator's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nn2poly.network.readers.onnx.columns import Columns, Thing, join, size_of
from nn2poly.network.readers.onnx.constants import part_of_shape
from nn2poly.network.readers.onnx.graph import ML_DOMAIN, Node
from nn2poly.network.readers.onnx.moves import ROWS, split_sizes
from nn2poly.network.readers.onnx.tensors import FLOATS, Array, check_room

Args = list[Thing | None]

# ---- arguments ------------------------------------------------------------------------------


def columns(thing: Thing | None, node: Node) -> Columns:
    """Insist that an input depends on the model's inputs."""
    if not isinstance(thing, Columns):
        node.refuse("a constant stands where a value is expected")
    return thing


def constants(things: Args, node: Node) -> list[Array | None]:
    """Insist that inputs are constants."""
    return [None if thing is None else _constant(thing, node) for thing in things]


def _constant(thing: Thing | None, node: Node) -> Array:
    if thing is None or isinstance(thing, Columns):
        node.refuse("a value stands where a constant is expected: the model is not a dense network")
    return thing


def numbers(thing: Thing | None, node: Node) -> Array:
    """Insist that an input is a constant of numbers, as float64."""
    array = _constant(thing, node)
    if array.dtype.kind not in "fib":
        node.damaged("text where numbers are expected")
    return array.astype(np.float64)


def pair(node: Node, args: Args) -> tuple[Thing, Thing]:
    """Insist that there are two inputs."""
    if len(args) != 2 or args[0] is None or args[1] is None:
        node.damaged(f"{len(args)} inputs where two are expected")
    return args[0], args[1]


def single(array: Array, node: Node) -> float:
    """Insist that a constant is one number, or the same number throughout."""
    if array.size < 1 or np.ptp(array):
        node.refuse("only a single number is read as its parameter")
    return float(array.ravel()[0])


# ---- linear operations ----------------------------------------------------------------------


def scaled(x: Columns, factor: float, shift: float = 0.0) -> Columns:
    """Multiply by a number and add another."""
    if (factor, shift) == (1.0, 0.0):
        return x
    return Columns(x.value.scaled(factor, shift), x.shape, x.rows)


def affine(node: Node, x: Columns, factor: Any, shift: Any) -> Columns:
    """Multiply by a constant array and add another, both broadcast as NumPy does."""
    a, b = np.asarray(factor), np.asarray(shift)
    wide = x.broadcast(np.broadcast_shapes(a.shape, b.shape), node)
    a, b = np.broadcast_to(a, wide.shape).ravel(), np.broadcast_to(b, wide.shape).ravel()
    return Columns(wide.value.scaled(a, b), wide.shape, wide.rows)


def _dense(node: Node, x: Columns, weights: Array) -> Columns:
    """Multiply the last axis by ``weights`` (n_inputs, n_outputs), for each of the others."""
    if weights.ndim not in (1, 2) or x.shape[-1:] != weights.shape[:1] or 0 in weights.shape:
        node.damaged(f"weights of shape {weights.shape} on a value of shape {x.shape}")
    if x.rows == len(x.shape) - 1:
        node.refuse("it is applied across the rows")
    matrix = weights if weights.ndim == 2 else weights[:, None]
    groups = x.value.width // len(matrix)
    check_room(groups * matrix.shape[1] * (size_of(x.value) + x.value.width), node.where)
    product = x.value.linear(np.kron(np.eye(groups), matrix) if groups > 1 else matrix)
    return Columns(product, (*x.shape[:-1], *weights.shape[1:]), x.rows)


def _matmul(node: Node, args: Args) -> Columns:
    left, right = pair(node, args)
    if isinstance(left, Columns) and isinstance(right, Columns):
        node.refuse("a product of two values, as in attention, is not affine")
    return _dense(node, columns(left, node), numbers(right, node))


def _gemm(node: Node, args: Args) -> Columns:
    left, right = pair(node, args[:2])
    if node.integer("transA", 0):
        node.refuse("transA multiplies across the rows")
    weights = numbers(right, node) * node.number("alpha", 1.0)
    if weights.ndim != 2:
        node.damaged(f"weights of shape {weights.shape}")
    weights = weights.T if node.integer("transB", 0) else weights
    product = _dense(node, columns(left, node), weights)
    if len(args) < 3 or args[2] is None:
        return product
    beta, extra = node.number("beta", 1.0), args[2]
    if isinstance(extra, Columns):
        return _sum(node, product, scaled(extra, beta))
    return affine(node, product, 1.0, beta * numbers(extra, node))


def _sum(node: Node, left: Thing, right: Thing, sign: float = 1.0) -> Columns:
    if not isinstance(right, Columns):
        return affine(node, columns(left, node), 1.0, sign * numbers(right, node))
    if not isinstance(left, Columns):
        return affine(node, right, sign, numbers(left, node))
    left, right = left.broadcast(right.shape, node), right.broadcast(left.shape, node)
    if left.rows != right.rows:
        node.refuse("it mixes the rows of two values")
    check_room(left.value.width * (size_of(left.value) + size_of(right.value)), node.where)
    return Columns(left.value.plus(right.value, sign), left.shape, left.rows)


def _add(node: Node, args: Args) -> Columns:
    return _sum(node, *pair(node, args))


def _sub(node: Node, args: Args) -> Columns:
    return _sum(node, *pair(node, args), sign=-1.0)


def _sum_all(node: Node, args: Args) -> Columns:
    total = args[0]
    for arg in args[1:]:
        total = _sum(node, *pair(node, [total, arg]))
    return columns(total, node)


def _mul(node: Node, args: Args) -> Columns:
    left, right = pair(node, args)
    x, factor = (left, right) if isinstance(left, Columns) else (right, left)
    return affine(node, columns(x, node), numbers(factor, node), 0.0)


def _div(node: Node, args: Args) -> Columns:
    left, right = pair(node, args)
    return affine(node, columns(left, node), 1.0 / numbers(right, node), 0.0)


def _neg(node: Node, args: Args) -> Columns:
    return scaled(columns(args[0], node), -1.0)


def _batch_normalization(node: Node, args: Args) -> Columns:
    x = columns(args[0], node)
    if node.integer("training_mode", 0):
        node.refuse("it is in training mode", "call model.eval() before exporting")
    if len(args) != 5 or len(x.shape) < 2 or x.rows != 0:
        node.damaged(f"{len(args)} inputs, a value of shape {x.shape}")
    shape = (1, x.shape[1], *[1] * (len(x.shape) - 2))
    gain, shift, mean, variance = (numbers(arg, node).reshape(shape) for arg in args[1:])
    factor = gain / np.sqrt(variance + node.number("epsilon", 1e-5))
    return affine(node, x, factor, shift - mean * factor)


def _scaler(node: Node, args: Args) -> Columns:
    offset, scale = (node.attribute(name, "floats") for name in ("offset", "scale"))
    factor = np.array(scale or [1.0], dtype=np.float64)
    return affine(
        node, columns(args[0], node), factor, -np.array(offset or [0.0], dtype=np.float64) * factor
    )


# ---- the rest -------------------------------------------------------------------------------


def _cast(node: Node, args: Args) -> Columns:
    if node.op == "Cast" and node.integer("to", 0) not in FLOATS:
        node.refuse("it rounds a value")
    return columns(args[0], node)


def _dropout(node: Node, args: Args) -> Columns:
    training = constants(args[2:3], node)
    if any(array is not None and array.any() for array in training):
        node.refuse("it is in training mode", "call model.eval() before exporting")
    return columns(args[0], node)


def _imputer(node: Node, args: Args) -> Columns:
    # Inputs with NaN are refused before they reach a network: nothing is left to impute.
    if not np.isnan(node.number("replaced_value_float", 0.0)):
        node.refuse("it replaces a number by another")
    return columns(args[0], node)


def _shape(node: Node, args: Args) -> Array:
    x = columns(args[0], node)
    return part_of_shape(node, tuple(ROWS if i == x.rows else n for i, n in enumerate(x.shape)))


def _concat(node: Node, args: Args) -> Columns:
    things = [thing for thing in args if thing is not None]
    return join(things, node.integer("axis", 1), node)


def _split(node: Node, args: Args) -> list[Thing]:
    x = columns(args[0], node)
    axis = node.integer("axis", 0) % len(x.shape)
    rest = constants(args[1:], node)
    if axis == x.rows:
        node.refuse("it splits the rows")
    cuts = np.cumsum(split_sizes(node, rest, x.shape[axis]))[:-1]
    return [x.moved(cells, x.rows, node) for cells in np.split(x.cells(), cuts, axis=axis)]


LINEAR: dict[str, Callable[[Node, Args], Thing | list[Thing]]] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "BatchNormalization": _batch_normalization,
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Neg": _neg,
    "Sum": _sum_all,
    **dict.fromkeys(("Identity", "Cast", "CastLike"), _cast),
    "Dropout": _dropout,
    "Shape": _shape,
    "Concat": _concat,
    "Split": _split,
    f"{ML_DOMAIN}.Scaler": _scaler,
    f"{ML_DOMAIN}.Imputer": _imputer,
    f"{ML_DOMAIN}.FeatureVectorizer": _concat,
}
