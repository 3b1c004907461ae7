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
from nn2poly.network.readers.keras.values import activate_by_values
from nn2poly.network.readers.symbolic import Tensor

# These become the link when nothing follows.
LINKS = {"sigmoid": "sigmoid", "softmax": "softmax", "logsoftmax": "softmax"}


def _is_named(name: str) -> bool:
    key = name.replace("_", "").lower()
    return key in LINKS or key == "gelu" or key in shared.ACTIVATIONS


def by_its_values(call: Call) -> Tensor:
    """Apply an operation on one value that is known by its values alone."""
    op, tensors = call.op, [a for a in call.args if isinstance(a, Tensor)]
    if len(tensors) != 1:
        raise unsupported(call, "it combines several values")
    given = call.args

    def function(x: Any) -> Any:
        return op.call(*(x if isinstance(a, Tensor) else a for a in given))

    return activate_by_values(call, tensors[0], function, type(op).__name__.lower())


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
    own = str(getattr(function, "__module__", "")).partition(".")[0] == "keras"
    if not own or not _is_named(name):
        return activate_by_values(call, call.tensor(), partial(function, **given), name)
    defaults = {k: p.default for k, p in inspect.signature(function).parameters.items()}
    return _named(call, name, (defaults | given).get)


def prelu(call: Call) -> Tensor:
    """Apply ``keras.layers.PReLU``, with one slope or with one per neuron."""
    if not call.op.built:
        raise unsupported(call, "it has no slopes yet; call the model on a batch, or train it")
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


def _keras_relu(x: Any, **given: Any) -> Any:
    import keras

    return keras.activations.relu(x, **given)


def _relu(call: Call, get: Callable[[str], Any]) -> Tensor:
    slope, top, threshold = get("negative_slope") or 0.0, get("max_value"), get("threshold") or 0.0
    if threshold or (slope and top is not None) or top == 0:
        given = {"negative_slope": slope, "max_value": top, "threshold": threshold}
        return activate_by_values(
            call, call.tensor(), partial(_keras_relu, **given), "relu_by_parts"
        )
    if slope:
        return call.builder.activate(call.tensor(), "leaky_relu", negative_slope=slope)
    if top is None:
        return call.builder.activate(call.tensor(), "relu")
    return shared.clip(call.builder, call.tensor(), 0.0, top)
