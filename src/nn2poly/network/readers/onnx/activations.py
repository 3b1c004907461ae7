"""What ONNX's activations do to tensors: a table, from the operator's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nn2poly.network.readers.symbolic.activations as shared
from nn2poly.network.elementwise import FUNCTIONS, by_values
from nn2poly.network.readers.onnx.affine import Args, numbers, pair, single, tensor
from nn2poly.network.readers.onnx.graph import Node
from nn2poly.network.readers.symbolic import Tensor, TensorBuilder, added

# Operators of the shared table of activations.
NAMED = (
    *("Atan", "Celu", "Elu", "Exp", "Gelu", "LeakyRelu", "Mish", "Relu", "Sigmoid", "Sin"),
    *("Softplus", "Softsign", "Tanh"),
)
# Operators of which the values are enough.
BY_VALUES = (
    *("Abs", "Acos", "Asin", "Asinh", "Cos", "Cosh", "Erf", "HardSwish", "Log", "Reciprocal"),
    *("Sign", "Sinh", "Sqrt"),
)
# Defaults of the standard (Selu-6), which are those of the table in float32.
SELU = (1.67326319217681884765625, 1.05070102214813232421875)
# float32 and float64 write "no limit" as their largest number, 3.4e38 or more.
UNLIMITED = 3e38
# Parameters are float32: relative rounding of 6e-8, and a little more for what exporters compute.
ROUNDING = 1e-6


def _named(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    def parameter(name: str) -> Any:
        if name == "approximate":
            return node.text(name, "none")
        known = name in ("alpha", "negative_slope") and node.attribute("alpha", "f") is not None
        return node.number("alpha", 1.0) if known else None

    return shared.named(builder, tensor(args[0], node), node.op, parameter)


def _selu(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    alpha, gamma = node.number("alpha", SELU[0]), node.number("gamma", SELU[1])
    x = tensor(args[0], node)
    if np.allclose((alpha, gamma), SELU, rtol=ROUNDING, atol=0):
        return builder.activate(x, "selu")
    return shared.scaled_inside(builder, x, "elu", 1.0, gamma, alpha=alpha)


def _swish(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    alpha = node.number("alpha", 1.0)
    if alpha == 0.0:
        node.refuse("alpha is 0")
    return shared.scaled_inside(builder, tensor(args[0], node), "silu", alpha, 1.0 / alpha)


def _prelu(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    x, slopes = pair(node, args)
    return shared.prelu(builder, tensor(x, node), numbers(slopes, node))


def _hard_sigmoid(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    x = tensor(args[0], node)
    if np.allclose((alpha, beta), (1 / 6, 0.5), rtol=ROUNDING, atol=0):
        return builder.activate(x, "hard_sigmoid")
    return shared.clip(builder, x.scaled(alpha, beta), 0.0, 1.0)


def _clip(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    """Clip to [low, high]: inputs since version 11, attributes before."""
    bounds: list[float] = []
    for position, (name, default) in enumerate((("min", -np.inf), ("max", np.inf)), start=1):
        given = args[position] if position < len(args) else None
        number = node.number(name, default)
        bounds.append(number if given is None else single(numbers(given, node), node))
    low, high = (bound if abs(bound) < UNLIMITED else None for bound in bounds)
    return shared.clip(builder, tensor(args[0], node), low, high)


def _by_values(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    name = node.op.lower()
    return builder.activate(tensor(args[0], node), by_values(FUNCTIONS[name], name))


def _largest(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    """Give max(a, b) = b + relu(a - b), or min(a, b) = b - relu(b - a), from the left."""
    found = args[0] if isinstance(args[0], Tensor) else numbers(args[0], node)
    for arg in args[1:]:
        other = arg if isinstance(arg, Tensor) else numbers(arg, node)
        up = node.op == "Max"
        gap = added(found, other, -1.0) if up else added(other, found, -1.0)
        found = added(other, builder.activate(gap, "relu"), 1.0 if up else -1.0)
    return tensor(found, node)


def _maximum(builder: TensorBuilder, node: Node, args: Args) -> Tensor:
    values = [arg for arg in args if isinstance(arg, Tensor)]
    if len(values) != 1:
        return _largest(builder, node, args)
    bend, x = shared.at_least if node.op == "Max" else shared.at_most, values[0]
    for arg in args:
        if not isinstance(arg, Tensor):
            x = bend(builder, x, numbers(arg, node))
    return x


ACTIVATIONS: dict[str, Callable[[TensorBuilder, Node, Args], Tensor]] = {
    **dict.fromkeys(NAMED, _named),
    **dict.fromkeys(BY_VALUES, _by_values),
    "Selu": _selu,
    "Swish": _swish,
    "PRelu": _prelu,
    "HardSigmoid": _hard_sigmoid,
    "Clip": _clip,
    "Max": _maximum,
    "Min": _maximum,
}
