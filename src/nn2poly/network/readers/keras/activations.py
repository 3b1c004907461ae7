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

import nn2poly.network.readers.symbolic.activations as shared
from nn2poly.network.readers.keras.calls import Call, Rule, to_array, unsupported
from nn2poly.network.readers.symbolic import Tensor

# These become the link when nothing follows.
LINKS = {"sigmoid": "sigmoid", "softmax": "softmax", "logsoftmax": "softmax"}


def activation_operation(call: Call) -> Tensor:
    """Apply a layer or operation that is an activation itself."""
    return _named(call, type(call.op).__name__, lambda name: getattr(call.op, name, None))


def activation_layer(apply: Rule, call: Call) -> Tensor:
    """Apply ``keras.layers.Activation``."""
    return apply_function(apply, call, call.op.activation)


def apply_function(apply: Rule, call: Call, function: Any) -> Tensor:
    """Apply what a layer has as its activation: nothing, a function, or another layer.

    ``apply`` applies a layer by its rule.
    """
    if function is None:
        return call.tensor()
    if hasattr(function, "get_config"):
        return apply(replace(call, op=function, where=f"{call.where}/{function.name}"))
    given: dict[str, Any] = {}
    if isinstance(function, partial) and not function.args:
        function, given = function.func, function.keywords
    name = getattr(function, "__name__", type(function).__name__)
    if str(getattr(function, "__module__", "")).partition(".")[0] != "keras":
        raise unsupported(call, f"its activation {name!r} is not one of Keras' own")
    defaults = {k: p.default for k, p in inspect.signature(function).parameters.items()}
    return _named(call, name, (defaults | given).get)


def prelu(call: Call) -> Tensor:
    """Apply ``keras.layers.PReLU``, with one slope or with one per neuron."""
    return shared.prelu(call.builder, call.tensor(), to_array(call.op.alpha))


def _named(call: Call, name: str, get: Callable[[str], Any]) -> Tensor:
    """Apply an activation by Keras' name; ``get`` gives its parameters."""
    key = name.replace("_", "").lower()
    if LINKS.get(key) == "softmax":
        axis = get("axis")
        single = axis[0] if isinstance(axis, list | tuple) and len(axis) == 1 else axis
        return call.builder.softmax(call.tensor(), single, call.where)
    if key in LINKS:
        return replace(call.tensor(), link="sigmoid", origin=call.where)
    if key == "relu":
        return _relu(call, get)
    return shared.named(call.builder, call.tensor(), name, get)


def _relu(call: Call, get: Callable[[str], Any]) -> Tensor:
    slope, top, threshold = get("negative_slope") or 0.0, get("max_value"), get("threshold") or 0.0
    if threshold or (slope and top is not None) or top == 0:
        found = f"negative_slope={slope}, max_value={top}, threshold={threshold}"
        raise unsupported(call, f"nn2poly does not know a ReLU with {found}")
    if slope:
        return call.builder.activate(call.tensor(), "leaky_relu", negative_slope=slope)
    if top is None:
        return call.builder.activate(call.tensor(), "relu")
    return shared.clip(call.builder, call.tensor(), 0.0, top)
