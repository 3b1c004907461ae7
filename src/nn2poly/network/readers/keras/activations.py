"""Keras' activations: as layers, as functions inside Dense, as functional operations.

Their parameters are read from the layer, or from the defaults of Keras' own function, since
they differ from those of other frameworks (a leaky ReLU has slope 0.2, or 0.3 as a layer).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nn2poly.network.readers.keras.tensor import Step, Tensor, Walk, spread, unsupported

# Keras' names in lower case and without "_" → ours, and the parameters that pass.
ACTIVATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "arctan": ("arctan", ()),
    "celu": ("celu", ("alpha",)),
    "elu": ("elu", ("alpha",)),
    "exp": ("exp", ()),
    "exponential": ("exp", ()),
    "hardsigmoid": ("hard_sigmoid", ()),
    "hardtanh": ("hard_tanh", ()),
    "leakyrelu": ("leaky_relu", ("negative_slope",)),
    "linear": ("linear", ()),
    "logsigmoid": ("log_sigmoid", ()),
    "mish": ("mish", ()),
    "relu6": ("relu6", ()),
    "selu": ("selu", ()),
    "silu": ("silu", ()),
    "sin": ("sin", ()),
    "softplus": ("softplus", ()),
    "softsign": ("softsign", ()),
    "tanh": ("tanh", ()),
}
# These become the link when nothing follows.
LINKS = {"sigmoid": "sigmoid", "softmax": "softmax", "logsoftmax": "softmax"}
LAST_AXIS = (-1, 1, [-1], [1], (-1,), (1,))


def activation_operation(walk: Walk, step: Step) -> Tensor:
    """Apply a layer or operation that is an activation itself."""
    return _named(walk, step, type(step.op).__name__, lambda name: getattr(step.op, name, None))


def activation_layer(walk: Walk, step: Step) -> Tensor:
    """Apply ``keras.layers.Activation``."""
    return apply_function(walk, step, step.op.activation)


def apply_function(walk: Walk, step: Step, function: Any) -> Tensor:
    """Apply what a layer has as its activation: nothing, a function, or another layer."""
    if function is None:
        return step.tensor()
    if hasattr(function, "get_config"):
        return walk.apply(replace(step, op=function, where=f"{step.where}/{function.name}"))
    given: dict[str, Any] = {}
    if isinstance(function, partial) and not function.args:
        function, given = function.func, function.keywords
    name = getattr(function, "__name__", type(function).__name__)
    if str(getattr(function, "__module__", "")).partition(".")[0] != "keras":
        raise unsupported(step, f"its activation {name!r} is not one of Keras' own")
    defaults = {k: p.default for k, p in inspect.signature(function).parameters.items()}
    return _named(walk, step, name, (defaults | given).get)


def prelu(walk: Walk, step: Step) -> Tensor:
    """Apply ``keras.layers.PReLU``, with one slope or with one per neuron."""
    x = walk.settled(step.tensor())
    slopes = spread(step.op.alpha, x, step)
    if np.all(slopes == slopes[0]):
        return walk.activate(x, "leaky_relu", negative_slope=float(slopes[0]))
    # max(x, 0) + a·min(x, 0) = a·x + (1 - a)·max(x, 0)
    positive = walk.activate(x, "relu").value.scaled(1.0 - slopes)
    return Tensor(x.value.scaled(slopes).plus(positive), x.shape)


def _named(walk: Walk, step: Step, name: str, get: Callable[[str], Any]) -> Tensor:
    """Apply an activation by Keras' name; ``get`` gives its parameters."""
    key, x = name.replace("_", "").lower(), step.tensor()
    if key in LINKS:
        return _link(walk, step, LINKS[key], get("axis"))
    if key == "relu":
        return _relu(walk, step, get)
    if key == "gelu":
        return walk.activate(x, "gelu_tanh" if get("approximate") else "gelu")
    if key not in ACTIVATIONS:
        raise unsupported(step, f"nn2poly does not know the activation {name!r}")
    ours, passed = ACTIVATIONS[key]
    return walk.activate(x, ours, **{parameter: get(parameter) for parameter in passed})


def _link(walk: Walk, step: Step, link: str, axis: Any) -> Tensor:
    x = walk.settled(step.tensor())
    if link == "softmax" and (len(x.shape) != 1 or axis not in LAST_AXIS):
        raise unsupported(step, f"its softmax goes over axis {axis} of rows of shape {x.shape}")
    return replace(x, link=link, origin=step.where)


def _relu(walk: Walk, step: Step, get: Callable[[str], Any]) -> Tensor:
    slope, top, threshold = get("negative_slope") or 0.0, get("max_value"), get("threshold") or 0.0
    x = step.tensor()
    if threshold or (slope and top is not None) or top == 0:
        found = f"negative_slope={slope}, max_value={top}, threshold={threshold}"
        raise unsupported(step, f"nn2poly does not know a ReLU with {found}")
    if slope:
        return walk.activate(x, "leaky_relu", negative_slope=slope)
    if top is None or top == 6:
        return walk.activate(x, "relu" if top is None else "relu6")
    return walk.activate(x, "hard_tanh", min_val=0.0, max_val=top)
