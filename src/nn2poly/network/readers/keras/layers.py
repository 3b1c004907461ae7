"""What each kind of Keras layer or functional operation does to symbolic tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.keras.activations import (
    activation_layer,
    activation_operation,
    apply_function,
    prelu,
)
from nn2poly.network.readers.keras.calls import Call, Rule, to_array, unsupported
from nn2poly.network.readers.refusals import as_reason
from nn2poly.network.readers.symbolic import (
    Tensor,
    added,
    divided,
    joined,
    multiplied,
    negated,
    numbered,
    selected,
)

Array = npt.NDArray[Any]


def apply_rule(call: Call) -> Tensor:
    """Apply one operation, or refuse it by name."""
    rule = find_rule(type(call.op).__module__, type(call.op).__name__)
    if rule is None:
        raise unsupported(call)
    # What only gives back or moves numbers leaves the link, where it is the last layer, alone.
    ready = call if rule in _MOVING else replace(call, args=call.settled())
    try:
        return rule(ready)
    except UnsupportedModelError as error:
        if error.where is not None:
            raise
        found = f" ({error.found})" if error.found else ""
        raise unsupported(call, as_reason(error) + found) from error


def find_rule(module: str, kind: str) -> Rule | None:
    """Find the rule of a class of Keras; layers and operations may share a name."""
    root, *rest = module.split(".")
    if root != "keras":
        return None
    return (LAYERS if "layers" in rest else OPERATIONS).get(kind)


# ---- dense, normalisation, shifts and scales ---------------------------------------------


def _dense(call: Call) -> Tensor:
    layer, x = call.op, call.tensor()
    if len(x.shape) != 1:
        raise unsupported(call, f"rows of shape {x.shape} reach it; put Flatten() before it")
    if getattr(layer, "quantization_mode", None) is not None:
        raise unsupported(call, "its weights are quantised; convert the model from before that")
    bias = None if layer.bias is None else to_array(layer.bias)
    out = call.builder.dense(x, to_array(layer.kernel), bias)
    return apply_function(apply_rule, replace(call, args=[out]), layer.activation)


def _normalization(call: Call) -> Tensor:
    import keras

    mean, variance = to_array(call.op.mean), to_array(call.op.variance)
    deviation = np.maximum(np.sqrt(variance), keras.config.epsilon())
    if call.op.invert:
        return added(multiplied(call.tensor(), deviation), mean)
    return divided(added(call.tensor(), mean, -1.0), deviation)


def _batch_normalization(call: Call) -> Tensor:
    layer = call.op
    return call.builder.batch_norm(
        call.tensor(),
        to_array(layer.moving_mean),
        to_array(layer.moving_variance),
        layer.epsilon,
        1.0 if layer.gamma is None else to_array(layer.gamma),
        0.0 if layer.beta is None else to_array(layer.beta),
        axis=layer.axis,
    )


def _rescaling(call: Call) -> Tensor:
    scale, offset = to_array(call.op.scale), to_array(call.op.offset)
    return added(multiplied(call.tensor(), scale), offset)


def _combined(operation: Callable[[Any, Any], Tensor], call: Call) -> Tensor:
    """Combine two or more arguments from the left: tensors, and anything else as numbers."""
    first, second, *others = (a if isinstance(a, Tensor) else to_array(a) for a in call.args)
    return reduce(operation, others, operation(first, second))


def _product(call: Call) -> Tensor:
    return _combined(multiplied, call)


def _quotient(call: Call) -> Tensor:
    return _combined(divided, call)


def _sum(call: Call) -> Tensor:
    # Tensors first, so that each sum has one.
    args = sorted(call.args, key=lambda arg: not isinstance(arg, Tensor))
    return _combined(added, replace(call, args=args))


def _subtract(call: Call) -> Tensor:
    return _combined(partial(added, sign=-1.0), call)


def _negative(call: Call) -> Tensor:
    return negated(call.tensor())


def _average(call: Call) -> Tensor:
    return _sum(call).scaled(1.0 / len(call.args))


# ---- the same numbers in another shape ---------------------------------------------------


def _concatenate(call: Call) -> Tensor:
    return joined(lambda parts: np.concatenate(parts, axis=call.op.axis), call.tensors())


def _unchanged(call: Call) -> Tensor:
    return call.tensor()


def _rearranged(call: Call, change: Callable[[Array], Any]) -> Tensor:
    """Change the shape or choose columns; ``change`` is tried on numbered rows."""
    x: Tensor = call.args[0]
    try:
        return selected(np.asarray(change(numbered(x)[0])), x)
    except (IndexError, TypeError, ValueError) as error:
        if isinstance(error, UnsupportedModelError):
            raise
        raise unsupported(call, f"it cannot be applied row by row ({error})") from error


def _flatten(call: Call) -> Tensor:
    channels_first = call.op.data_format == "channels_first" and len(call.tensor().shape) > 1

    def change(rows: Array) -> Array:
        return (np.moveaxis(rows, 1, -1) if channels_first else rows).reshape(len(rows), -1)

    return _rearranged(call, change)


def _reshape(call: Call) -> Tensor:
    return _rearranged(call, lambda rows: rows.reshape(len(rows), *call.op.target_shape))


def _reshape_operation(call: Call) -> Tensor:
    return _rearranged(call, lambda rows: rows.reshape(call.op.newshape))


def _permute(call: Call) -> Tensor:
    return _rearranged(call, lambda rows: rows.transpose(0, *call.op.dims))


def _get_item(call: Call) -> Tensor:
    key = call.args[1]
    return _rearranged(call, lambda rows: rows[tuple(key) if isinstance(key, list) else key])


_MOVING = (_unchanged, _flatten, _reshape, _reshape_operation, _permute, _get_item)

# ---- tables ------------------------------------------------------------------------------

# At inference these layers give back what they get.
_INACTIVE = (
    *("ActivityRegularization", "AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise"),
    *("Identity", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"),
)
_ACTIVATION_OPERATIONS = (
    *("Arctan", "Celu", "Elu", "Exp", "Gelu", "HardSigmoid", "HardTanh", "LeakyRelu"),
    *("LogSigmoid", "LogSoftmax", "Mish", "ReLU", "Relu", "Relu6", "Selu", "Sigmoid", "Silu"),
    *("Sin", "Softmax", "Softplus", "Softsign", "Tanh"),
)
LAYERS: dict[str, Rule] = {
    **dict.fromkeys(_INACTIVE, _unchanged),
    **dict.fromkeys(("ELU", "LeakyReLU", "ReLU", "Softmax"), activation_operation),
    "Activation": lambda call: activation_layer(apply_rule, call),
    "Add": _sum,
    "Average": _average,
    "BatchNormalization": _batch_normalization,
    "Concatenate": _concatenate,
    "Dense": _dense,
    "Flatten": _flatten,
    "Normalization": _normalization,
    "PReLU": prelu,
    "Permute": _permute,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Subtract": _subtract,
}
# What arithmetic on Keras' symbolic tensors, keras.ops and keras.activations leave behind.
OPERATIONS: dict[str, Rule] = {
    **dict.fromkeys(_ACTIVATION_OPERATIONS, activation_operation),
    "Add": _sum,
    "Concatenate": _concatenate,
    "Divide": _quotient,
    "GetItem": _get_item,
    "Multiply": _product,
    "Negative": _negative,
    "Reshape": _reshape_operation,
    "Subtract": _subtract,
    "TrueDivide": _quotient,
}
