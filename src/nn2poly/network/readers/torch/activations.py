"""The rules of PyTorch's activations, and of those that are the output link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.torch.flow import Flow, numbers
from nn2poly.network.readers.torch.operations import PARAMETERS, Call

# torch's name → ours, where the parameters have the same names and meanings.
ACTIVATIONS = {
    **{name: name for name in ("exp", "mish", "relu", "relu6", "selu", "silu", "sin", "softsign")},
    **{name: name for name in ("celu", "leaky_relu", "tanh")},
    "atan": "arctan", "hardsigmoid": "hard_sigmoid", "hardtanh": "hard_tanh",
    "logsigmoid": "log_sigmoid",
}  # fmt: skip


def _activation(call: Call) -> Flow:
    given = {k: v for k, v in call.parameters().items() if k in PARAMETERS.get(call.name, ())}
    return _activated(call, call.args[0], ACTIVATIONS[call.name], **given)


def _activated(call: Call, flow: Flow, name: str, **parameters: float) -> Flow:
    return flow.with_value(call.builder.activate(flow.value, name, **parameters))


def _elu(call: Call) -> Flow:
    given = {"alpha": 1.0, "scale": 1.0, "input_scale": 1.0} | call.parameters()
    inner = call.args[0].scaled(given["input_scale"])
    return _activated(call, inner, "elu", alpha=given["alpha"]).scaled(given["scale"])


def _gelu(call: Call) -> Flow:
    exact = call.parameters().get("approximate", "none") == "none"
    return _activated(call, call.args[0], "gelu" if exact else "gelu_tanh")


def _softplus(call: Call) -> Flow:
    given = {"beta": 1.0, "threshold": 20.0} | call.parameters()
    if given["threshold"] < 20:  # from 20 on, the line differs by less than 3e-9 from the curve
        raise UnsupportedModelError(
            "Softplus turns into a line too early.",
            expected="threshold 20, the default, or more",
            found=f"threshold {given['threshold']}",
            remedy="leave the threshold at its default",
        )
    return _activated(call, call.args[0], "softplus", beta=given["beta"])


def _prelu(call: Call) -> Flow:
    slopes = np.unique(numbers(call.parameters()["weight"]))
    if len(slopes) > 1:
        raise UnsupportedModelError(
            "PReLU has a slope of its own for every channel.",
            expected="one slope",
            found=f"{len(slopes)} slopes, from {slopes[0]:.3g} to {slopes[-1]:.3g}",
            remedy="use PReLU() with one parameter, or LeakyReLU",
        )
    return _activated(call, call.args[0], "leaky_relu", negative_slope=float(slopes[0]))


def _clamp(call: Call) -> Flow:
    given = {"min": None, "max": None} | call.parameters()
    low, high = (None if given[k] is None else float(given[k]) for k in ("min", "max"))
    flow: Flow = call.args[0]
    if low is not None and high is not None:
        return _activated(call, flow, "hard_tanh", min_val=low, max_val=high)
    if low is not None:
        return _activated(call, flow.scaled(1.0, -low), "relu").scaled(1.0, low)
    if high is not None:
        return _activated(call, flow.scaled(-1.0, high), "relu").scaled(-1.0, high)
    return flow


def _sigmoid(call: Call) -> Flow:
    flow: Flow = call.args[0]
    return replace(flow, link="sigmoid") if call.final else _activated(call, flow, "sigmoid")


def _softmax(call: Call) -> Flow:
    flow: Flow = call.args[0]
    dim = call.parameters().get("dim")
    if len(flow.shape) != 1 or flow.axis or dim not in (None, 1, -1):
        raise UnsupportedModelError(
            "A softmax runs over something else than the outputs.",
            expected="a table (rows, classes) and dim 1 or -1",
            found=f"shape {flow.full_shape}, dim {dim}",
            remedy="use dim=1",
        )
    if not call.final:
        raise UnsupportedModelError(
            "A softmax inside the network divides by a sum, which no polynomial can follow.",
            expected="a softmax at the very end, where it is the output link",
            remedy="convert what comes before it, or use sigmoid or tanh in its place",
        )
    return replace(flow, link="softmax")


ACTIVATION_RULES: dict[str, Callable[[Call], Any]] = {
    **dict.fromkeys(ACTIVATIONS, _activation),
    "elu": _elu, "gelu": _gelu, "softplus": _softplus, "prelu": _prelu, "clamp": _clamp,
    "sigmoid": _sigmoid, "softmax": _softmax, "log_softmax": _softmax,
}  # fmt: skip
