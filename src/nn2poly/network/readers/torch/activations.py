"""The rules of PyTorch's activations, and of those that are the output link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import nn2poly.network.readers.symbolic.activations as shared
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.elementwise import (
    FUNCTIONS,
    Power,
    Shrink,
    Threshold,
    by_values,
    closed_step,
    step,
)
from nn2poly.network.readers.symbolic import Tensor, added, per_channel
from nn2poly.network.readers.symbolic.build import softmax_inside
from nn2poly.network.readers.torch.flow import numbers, operand
from nn2poly.network.readers.torch.operations import PARAMETERS, Call, unknown

# Those of the shared table that torch has, with the same parameters.
ACTIVATIONS = (
    *("atan", "celu", "exp", "gelu", "hardsigmoid", "hardtanh", "leaky_relu", "logsigmoid", "mish"),
    *("relu", "relu6", "selu", "silu", "sin", "softsign", "tanh"),
)
# Up to there torch computes softplus; from 20, its default, on, the line that it then gives
# differs by less than 3e-9 from the curve.
SOFTPLUS_THRESHOLD = 20.0


def _activation(call: Call) -> Tensor:
    given = {k: v for k, v in call.parameters().items() if k in PARAMETERS.get(call.name, ())}
    return shared.named(call.builder, call.args[0], call.name, given.get)


def _elu(call: Call) -> Tensor:
    given = {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0} | call.parameters()
    inner, outer, alpha = given["input_scale"], given["scale"], given["alpha"]
    return shared.scaled_inside(call.builder, call.args[0], "elu", inner, outer, alpha=alpha)


def _softplus(call: Call) -> Tensor:
    given = {"beta": 1.0, "threshold": SOFTPLUS_THRESHOLD} | call.parameters()
    if given["threshold"] < SOFTPLUS_THRESHOLD:
        raise UnsupportedModelError(
            "Softplus turns into a line too early.",
            expected="threshold 20, the default, or more",
            found=f"threshold {given['threshold']}",
            remedy="leave the threshold at its default",
        )
    return call.builder.activate(call.args[0], "softplus", beta=given["beta"])


def _prelu(call: Call) -> Tensor:
    slopes, x = numbers(call.parameters()["weight"]), call.args[0]
    each = slopes if slopes.size == 1 else per_channel(slopes, x)
    return shared.prelu(call.builder, x, each)


def _clamp(call: Call) -> Tensor:
    given = {"min": None, "max": None} | call.parameters()
    low, high = (None if given[k] is None else numbers(given[k]) for k in ("min", "max"))
    if all(end is None or end.size == 1 for end in (low, high)):
        ends = (None if end is None else float(end.reshape(())) for end in (low, high))
        return shared.clip(call.builder, call.args[0], *ends)
    x: Tensor = call.args[0]
    below = x if high is None else shared.at_most(call.builder, x, high)
    return below if low is None else shared.at_least(call.builder, below, low)


def _clamp_min(call: Call) -> Tensor:
    return shared.at_least(call.builder, call.args[0], numbers(call.parameters()["min"]))


def _clamp_max(call: Call) -> Tensor:
    return shared.at_most(call.builder, call.args[0], numbers(call.parameters()["max"]))


def _by_values(call: Call) -> Tensor:
    return call.builder.activate(call.args[0], by_values(FUNCTIONS[call.name], call.name))


def _square(call: Call) -> Tensor:
    return call.builder.multiply(call.args[0], call.args[0])


def _pow(call: Call) -> Tensor:
    x, exponent = call.args[:2]
    if not isinstance(x, Tensor) or isinstance(exponent, Tensor):
        raise UnsupportedModelError(
            "A power has an exponent that depends on the inputs.",
            expected="a constant exponent",
            remedy="convert the parts before the power",
        )
    power = numbers(exponent)
    if power.size != 1:
        raise UnsupportedModelError(
            "A power has several exponents.",
            expected="one number",
            remedy="raise each part to its own one power, and join them",
        )
    number = float(power.reshape(()))
    if number == 1.0:
        return x
    if number == 2.0:
        return call.builder.multiply(x, x)
    return call.builder.activate(x, by_values(Power(number), f"power {number:g}"))


def _shrink(call: Call) -> Tensor:
    edge = float(call.parameters().get("lambd", 0.5))
    function = Shrink(edge, soft=call.name == "softshrink")
    return call.builder.activate(call.args[0], by_values(function, call.name))


def _threshold(call: Call) -> Tensor:
    given = call.parameters()
    function = Threshold(float(given["threshold"]), float(given["value"]))
    return call.builder.activate(call.args[0], by_values(function, call.name))


# ---- comparisons, and what is chosen by them ---------------------------------------------------


def _compare(call: Call) -> Tensor:
    """Give 1 where a comparison holds, else 0."""
    a, b = map(operand, call.args[:2])
    swapped = call.name in ("lt", "le")
    difference = added(b, a, -1.0) if swapped else added(a, b, -1.0)
    function = step if call.name in ("gt", "lt") else closed_step
    return call.builder.activate(difference, by_values(function, call.name))


def _where(call: Call) -> Any:
    """Give b + c · (a − b), c being 1 or 0."""
    if len(call.args) != 3:
        raise unknown(call.target)
    condition, a, b = map(operand, call.args)
    return added(b, call.builder.multiply(condition, _difference(a, b)))


def _difference(a: Any, b: Any) -> Any:
    return added(a, b, -1.0) if isinstance(a, Tensor) or isinstance(b, Tensor) else a - b


def _larger(call: Call) -> Any:
    a, b = _pair(call)
    return shared.at_least(call.builder, a, b)


def _smaller(call: Call) -> Any:
    a, b = _pair(call)
    return shared.at_most(call.builder, a, b)


def _pair(call: Call) -> tuple[Any, Any]:
    """Give the two operands of max and min; of one alone they look for an entry."""
    if len(call.args) != 2 or isinstance(call.args[1], int) or call.kwargs:
        raise unknown(call.target)
    a, b = map(operand, call.args)
    return a, b


def _sigmoid(call: Call) -> Tensor:
    x: Tensor = call.args[0]
    return replace(x, link="sigmoid") if call.final else call.builder.activate(x, "sigmoid")


def _softmax(call: Call) -> Tensor:
    found = call.builder.softmax(call.args[0], call.parameters().get("dim"), "")
    if not call.final:
        raise softmax_inside("")
    return found


ACTIVATION_RULES: dict[str, Callable[[Call], Any]] = {
    **dict.fromkeys(ACTIVATIONS, _activation),
    "elu": _elu, "softplus": _softplus, "prelu": _prelu, "clamp": _clamp,
    "sigmoid": _sigmoid, "softmax": _softmax, "log_softmax": _softmax,
    "clamp_min": _clamp_min, "clamp_max": _clamp_max, "square": _square,
    "hardshrink": _shrink, "softshrink": _shrink, "threshold": _threshold,
    **dict.fromkeys(FUNCTIONS, _by_values),
}  # fmt: skip
# Of operands in any order.
COMPARING_RULES: dict[str, Callable[[Call], Any]] = {
    **dict.fromkeys(("ge", "gt", "le", "lt"), _compare),
    "where": _where, "pow": _pow,
    **dict.fromkeys(("max", "maximum"), _larger), **dict.fromkeys(("min", "minimum"), _smaller),
}  # fmt: skip
