"""What ONNX's activations do to values: a table, from the operator's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nn2poly.errors import InvalidInputError
from nn2poly.network.builder import NetworkBuilder
from nn2poly.network.readers.onnx.columns import Columns
from nn2poly.network.readers.onnx.graph import Node
from nn2poly.network.readers.onnx.linear import Args, affine, columns, numbers, pair, scaled, single
from nn2poly.network.readers.onnx.tensors import check_room

# Operators that are an activation of the table without parameters.
PLAIN = {
    "Atan": "arctan",
    "Exp": "exp",
    "Mish": "mish",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Sin": "sin",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Tanh": "tanh",
}
# Operators with one parameter: (our name, its parameter, the operator's default for "alpha").
WITH_ALPHA = {
    "Celu": ("celu", "alpha", 1.0),
    "Elu": ("elu", "alpha", 1.0),
    "LeakyRelu": ("leaky_relu", "negative_slope", 0.01),
}
SELU = (1.67326319217681884765625, 1.05070102214813232421875)
# float32 and float64 write "no limit" as their largest number.
UNLIMITED = 3e38


def activate(
    builder: NetworkBuilder, node: Node, x: Columns, name: str, **parameters: float
) -> Columns:
    """Apply an activation: a layer."""
    check_room(x.value.width**2, node.where)
    try:
        value = builder.activate(x.value, name, **parameters)
    except InvalidInputError as error:
        node.refuse(f"{error.what.rstrip('.')} ({error.found}, expected {error.expected})")
    return Columns(value, x.shape, x.rows)


def _plain(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    return activate(builder, node, columns(args[0], node), PLAIN[node.op])


def _with_alpha(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    name, parameter, default = WITH_ALPHA[node.op]
    value = {parameter: node.number("alpha", default)}
    return activate(builder, node, columns(args[0], node), name, **value)


def _selu(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    alpha, gamma = node.number("alpha", SELU[0]), node.number("gamma", SELU[1])
    x = columns(args[0], node)
    if np.allclose((alpha, gamma), SELU, rtol=1e-6, atol=0):
        return activate(builder, node, x, "selu")
    return scaled(activate(builder, node, x, "elu", alpha=alpha), gamma)


def _gelu(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    form = node.text("approximate", "none")
    if form not in ("none", "tanh"):
        node.refuse(f"approximate={form!r} is not known")
    return activate(
        builder, node, columns(args[0], node), "gelu" if form == "none" else "gelu_tanh"
    )


def _swish(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    alpha = node.number("alpha", 1.0)
    if alpha == 0.0:
        node.refuse("alpha is 0")
    x = scaled(columns(args[0], node), alpha)
    return scaled(activate(builder, node, x, "silu"), 1.0 / alpha)


def _prelu(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    x, slopes = pair(node, args)
    slope = single(numbers(slopes, node), node)
    return activate(builder, node, columns(x, node), "leaky_relu", negative_slope=slope)


def _hard_sigmoid(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    x = columns(args[0], node)
    if np.allclose((alpha, beta), (1 / 6, 0.5), rtol=1e-6, atol=0):
        return activate(builder, node, x, "hard_sigmoid")
    return activate(builder, node, scaled(x, alpha, beta), "hard_tanh", min_val=0.0, max_val=1.0)


def _clip(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    """Clip to [low, high]: inputs since version 11, attributes before."""
    bounds: list[float] = []
    for position, (name, default) in enumerate((("min", -np.inf), ("max", np.inf)), start=1):
        given = args[position] if position < len(args) else None
        number = node.number(name, default)
        bounds.append(number if given is None else single(numbers(given, node), node))
    low, high = (bound if abs(bound) < UNLIMITED else None for bound in bounds)
    x = columns(args[0], node)
    if low is None or high is None:
        return _above(builder, node, _below(builder, node, x, high), low)
    if (low, high) == (0.0, 6.0):
        return activate(builder, node, x, "relu6")
    return activate(builder, node, x, "hard_tanh", min_val=low, max_val=high)


def _above(builder: NetworkBuilder, node: Node, x: Columns, low: Any) -> Columns:
    """Give max(x, low) as low + relu(x - low)."""
    if low is None:
        return x
    shifted = affine(node, x, 1.0, -np.asarray(low))
    return affine(node, activate(builder, node, shifted, "relu"), 1.0, low)


def _below(builder: NetworkBuilder, node: Node, x: Columns, high: Any) -> Columns:
    """Give min(x, high) as high - relu(high - x)."""
    if high is None:
        return x
    shifted = affine(node, x, -1.0, high)
    return affine(node, activate(builder, node, shifted, "relu"), -1.0, high)


def _maximum(builder: NetworkBuilder, node: Node, args: Args) -> Columns:
    values = [arg for arg in args if isinstance(arg, Columns)]
    if len(values) != 1:
        node.refuse("the larger or smaller of two values is not an activation of one")
    bend, x = _above if node.op == "Max" else _below, values[0]
    for arg in args:
        if not isinstance(arg, Columns):
            x = bend(builder, node, x, numbers(arg, node))
    return x


ACTIVATIONS: dict[str, Callable[[NetworkBuilder, Node, Args], Columns]] = {
    **dict.fromkeys(PLAIN, _plain),
    **dict.fromkeys(WITH_ALPHA, _with_alpha),
    "Selu": _selu,
    "Gelu": _gelu,
    "Swish": _swish,
    "PRelu": _prelu,
    "HardSigmoid": _hard_sigmoid,
    "Clip": _clip,
    "Max": _maximum,
    "Min": _maximum,
}
