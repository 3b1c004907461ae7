"""What ONNX's affine operations do to tensors: a table, from the operator's name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nn2poly.network.elementwise import Power, by_values
from nn2poly.network.readers.onnx.constants import part_of_shape
from nn2poly.network.readers.onnx.graph import ML_DOMAIN, Node
from nn2poly.network.readers.onnx.rearranging import Thing, split_sizes
from nn2poly.network.readers.onnx.tensors import FLOATS, WHOLE, Array
from nn2poly.network.readers.symbolic import (
    Tensor,
    TensorBuilder,
    added,
    joined,
    multiplied,
    negated,
    numbered,
    selected,
)

Args = list[Thing | None]

# ---- arguments ------------------------------------------------------------------------------


def tensor(thing: Thing | None, node: Node) -> Tensor:
    """Insist that an input depends on the model's inputs."""
    if not isinstance(thing, Tensor):
        node.refuse("a constant stands where a value is expected")
    return thing


def constants(things: Args, node: Node) -> list[Array | None]:
    """Insist that inputs are constants."""
    return [None if thing is None else _constant(thing, node) for thing in things]


def _constant(thing: Thing | None, node: Node) -> Array:
    if thing is None or isinstance(thing, Tensor):
        node.refuse("a value stands where a constant is expected: the model is not a dense network")
    return thing


def numbers(thing: Thing | None, node: Node) -> Array:
    """Insist that an input is a constant of numbers, as float64."""
    array = _constant(thing, node)
    if array.dtype.kind not in "fib":
        node.damaged("text where numbers are expected")
    return array.astype(np.float64)


def _operands(node: Node, args: Args) -> tuple[Tensor | Array, Tensor | Array]:
    """Give two inputs: tensors as they are, constants as numbers."""
    first, second = (
        thing if isinstance(thing, Tensor) else numbers(thing, node) for thing in pair(node, args)
    )
    return first, second


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


# ---- affine operations ----------------------------------------------------------------------


def _matmul(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    left, right = pair(node, args)
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        node.refuse("a product of two values, as in attention, is not affine")
    return _dense(builder, node, tensor(left, node), numbers(right, node))


def _dense(builder: TensorBuilder, node: Node, x: Tensor, weights: Array) -> Tensor:
    if 0 in weights.shape:
        node.damaged(f"weights of shape {weights.shape}")
    if x.axis == len(x.shape):
        node.refuse("it is applied across the rows")
    return builder.dense(x, weights)


def _gemm(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    left, right = pair(node, args[:2])
    if node.integer("transA", 0):
        node.refuse("transA multiplies across the rows")
    weights = numbers(right, node) * node.number("alpha", 1.0)
    if weights.ndim != 2:
        node.damaged(f"weights of shape {weights.shape}")
    weights = weights.T if node.integer("transB", 0) else weights
    product = _dense(builder, node, tensor(left, node), weights)
    if len(args) < 3 or args[2] is None:
        return product
    beta, extra = node.number("beta", 1.0), args[2]
    return added(product, extra if isinstance(extra, Tensor) else numbers(extra, node), beta)


def _add(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    return added(*_operands(node, args))


def _sub(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    return added(*_operands(node, args), -1.0)


def _sum_all(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    total = args[0]
    for arg in args[1:]:
        total = added(*_operands(node, [total, arg]))
    return tensor(total, node)


def _mul(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    return builder.multiply(*_operands(node, args))


def _div(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    return builder.divide(*_operands(node, args))


def _pow(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    x, exponent = pair(node, args)
    power = single(numbers(exponent, node), node)
    if power == 2.0:
        return builder.multiply(tensor(x, node), tensor(x, node))
    return builder.activate(tensor(x, node), by_values(Power(power), "power"))


def gather(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    """Take rows of a table by number; of tensors, `rearranging` does."""
    table, index = pair(node, args)
    weights = numbers(table, node)
    if node.integer("axis", 0) != 0 or weights.ndim != 2:
        node.refuse("it looks values up in something else than the rows of a table")
    return builder.dense(builder.levels(tensor(index, node), len(weights)), weights)


def _neg(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    return negated(tensor(args[0], node))


def _batch_normalization(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    x = tensor(args[0], node)
    if node.integer("training_mode", 0):
        node.refuse("it is in training mode", "call model.eval() before exporting")
    if len(args) != 5:
        node.damaged(f"{len(args)} inputs where five are expected")
    gain, shift, mean, variance = (numbers(arg, node) for arg in args[1:])
    return builder.batch_norm(x, mean, variance, node.number("epsilon", 1e-5), gain, shift)


def _scaler(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    offset, scale = (node.attribute(name, "floats") for name in ("offset", "scale"))
    moved = added(tensor(args[0], node), np.array(offset or [0.0], dtype=np.float64), -1.0)
    return multiplied(moved, np.array(scale or [1.0], dtype=np.float64))


# ---- the rest -------------------------------------------------------------------------------


def _cast(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    kind = node.integer("to", 0)
    if node.op == "Cast" and kind in WHOLE:
        return builder.truncated(tensor(args[0], node))
    if node.op == "Cast" and kind not in FLOATS:
        node.refuse("it makes a value true or false, or text")
    return tensor(args[0], node)


def _dropout(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    training = constants(args[2:3], node)
    if any(array is not None and array.any() for array in training):
        node.refuse("it is in training mode", "call model.eval() before exporting")
    return tensor(args[0], node)


def _imputer(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    # Inputs with NaN are refused before they reach a network: nothing is left to impute.
    if not np.isnan(node.number("replaced_value_float", 0.0)):
        node.refuse("it replaces a number by another")
    return tensor(args[0], node)


def _shape(_builder: TensorBuilder, node: Node, args: Args) -> Array:
    return part_of_shape(node, tensor(args[0], node).full_shape)


def _concat(_builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    things = [thing for thing in args if thing is not None]
    return joined(lambda parts: np.concatenate(parts, axis=node.integer("axis", 1)), things)


def _split(_builder: TensorBuilder, node: Node, args: Args) -> list[Thing]:
    x = tensor(args[0], node)
    axis = node.integer("axis", 0) % len(x.full_shape)
    sizes = split_sizes(node, constants(args[1:], node), x.full_shape[axis])
    parts = np.split(numbered(x)[0], np.cumsum(sizes)[:-1], axis=axis)
    return [selected(part, x) for part in parts]


AFFINE: dict[str, Callable[[TensorBuilder, Node, Args], Thing | list[Thing]]] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "BatchNormalization": _batch_normalization,
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Neg": _neg,
    "Pow": _pow,
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
