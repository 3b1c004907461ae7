"""The rules of PyTorch's activations, and of those that are the output link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import nn2poly.network.readers.symbolic.activations as shared
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.symbolic import Tensor, per_channel
from nn2poly.network.readers.symbolic.build import softmax_inside
from nn2poly.network.readers.torch.flow import numbers
from nn2poly.network.readers.torch.operations import PARAMETERS, Call

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
    low, high = (None if given[k] is None else float(given[k]) for k in ("min", "max"))
    return shared.clip(call.builder, call.args[0], low, high)


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
}  # fmt: skip
