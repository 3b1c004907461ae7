"""What each kind of Keras layer or functional operation does to symbolic tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.network.builder import Value, concatenate
from nn2poly.network.readers.keras.activations import (
    activation_layer,
    activation_operation,
    apply_function,
    prelu,
)
from nn2poly.network.readers.keras.tensor import Step, Tensor, Walk, spread, to_array, unsupported

Rule = Callable[[Walk, Step], Tensor]
IndexArray = npt.NDArray[np.intp]


def apply_rule(walk: Walk, step: Step) -> Tensor:
    """Apply one operation, or refuse it by name."""
    rule = find_rule(type(step.op).__module__, type(step.op).__name__)
    if rule is None:
        raise unsupported(step)
    return rule(walk, step)


def find_rule(module: str, kind: str) -> Rule | None:
    """Find the rule of a class of Keras; layers and operations may share a name."""
    root, *rest = module.split(".")
    if root != "keras":
        return None
    return (LAYERS if "layers" in rest else OPERATIONS).get(kind)


# ---- dense, normalisation, shifts and scales ---------------------------------------------


def _dense(walk: Walk, step: Step) -> Tensor:
    layer, x = step.op, walk.settled(step.tensor())
    if len(x.shape) != 1:
        raise unsupported(step, f"rows of shape {x.shape} reach it; put Flatten() before it")
    if getattr(layer, "quantization_mode", None) is not None:
        raise unsupported(step, "its weights are quantised; convert the model from before that")
    walk.first = walk.first or x.value
    bias = None if layer.bias is None else to_array(layer.bias)
    value = x.value.linear(to_array(layer.kernel), bias)
    return apply_function(
        walk, replace(step, args=[Tensor(value, (value.width,))]), layer.activation
    )


def _scaled(walk: Walk, tensor: Tensor, factor: FloatArray, shift: Any = 0.0) -> Tensor:
    x = walk.settled(tensor)
    return Tensor(x.value.scaled(factor, shift), x.shape)


def _normalization(walk: Walk, step: Step) -> Tensor:
    import keras

    layer, x = step.op, step.tensor()
    mean, variance = spread(layer.mean, x, step), spread(layer.variance, x, step)
    deviation = np.maximum(np.sqrt(variance), keras.config.epsilon())
    if layer.invert:
        return _scaled(walk, x, deviation, mean)
    return _scaled(walk, x, 1.0 / deviation, -mean / deviation)


def _batch_normalization(walk: Walk, step: Step) -> Tensor:
    layer, x = step.op, step.tensor()
    shape = [1] * (1 + len(x.shape))
    shape[layer.axis] = -1

    def along_axis(variable: Any, default: float = 0.0) -> FloatArray:
        values = np.array(default) if variable is None else to_array(variable)
        return spread(values.reshape(shape), x, step)

    deviation = np.sqrt(along_axis(layer.moving_variance) + layer.epsilon)
    factor = along_axis(layer.gamma, 1.0) / deviation
    shift = along_axis(layer.beta) - along_axis(layer.moving_mean) * factor
    return _scaled(walk, x, factor, shift)


def _rescaling(walk: Walk, step: Step) -> Tensor:
    x = step.tensor()
    return _scaled(walk, x, spread(step.op.scale, x, step), spread(step.op.offset, x, step))


def _product(walk: Walk, step: Step) -> Tensor:
    """Multiply a tensor by a number or by one per column; tensors are not multiplied."""
    tensors = [arg for arg in step.args if isinstance(arg, Tensor)]
    numbers = [arg for arg in step.args if not isinstance(arg, Tensor)]
    if len(tensors) != 1 or len(numbers) != 1:
        raise unsupported(step)
    return _scaled(walk, tensors[0], spread(numbers[0], tensors[0], step))


def _quotient(walk: Walk, step: Step) -> Tensor:
    above, below = step.args
    if isinstance(below, Tensor):
        raise unsupported(step, "it divides by values of the network")
    return _scaled(walk, above, 1.0 / spread(below, above, step))


# ---- several tensors ---------------------------------------------------------------------


def _sum(signs: Callable[[int], list[float]], walk: Walk, step: Step) -> Tensor:
    """Add tensors and numbers, each with its sign, after broadcasting within the row."""
    tensors = [walk.settled(arg) for arg in step.args if isinstance(arg, Tensor)]
    if len({len(tensor.shape) for tensor in tensors}) != 1:
        raise unsupported(step, "it adds tensors of different ranks")
    shape = np.broadcast_shapes(*(tensor.shape for tensor in tensors))
    total = Tensor(Value(np.zeros(math.prod(shape)), {}), shape)
    for arg, sign in zip(step.args, signs(len(step.args)), strict=True):
        if isinstance(arg, Tensor):
            part = walk.settled(arg)
            value = total.value.plus(part.take(np.broadcast_to(part.index, shape)).value, sign)
        else:
            value = total.value.scaled(1.0, sign * spread(arg, total, step))
        total = replace(total, value=value)
    return total


def _concatenate(walk: Walk, step: Step) -> Tensor:
    parts = [walk.settled(tensor) for tensor in step.tensors()]
    axis = step.op.axis % (1 + len(parts[0].shape))
    if axis == 0:
        raise unsupported(step, "it puts rows under each other")
    begins = np.cumsum([0, *(part.value.width for part in parts)])
    index = [part.index + begin for part, begin in zip(parts, begins[:-1], strict=True)]
    whole = Tensor(concatenate(part.value for part in parts), (int(begins[-1]),))
    return whole.take(np.concatenate(index, axis=axis - 1))


# ---- the same numbers in another shape ---------------------------------------------------


def _unchanged(_: Walk, step: Step) -> Tensor:
    return step.tensor()


def _rearranged(step: Step, change: Callable[[IndexArray], Any]) -> Tensor:
    """Change the shape or choose columns; ``change`` is tried on two numbered rows."""
    x: Tensor = step.args[0]
    both = np.stack([x.index, x.index + x.value.width])
    try:
        result = np.asarray(change(both))
    except (IndexError, TypeError, ValueError) as error:
        raise unsupported(step, f"it cannot be applied row by row ({error})") from error
    if len(result) != 2 or not np.array_equal(result[0] + x.value.width, result[1]):
        raise unsupported(step, "it mixes the numbers of different rows")
    return x.take(result[0])


def _flatten(_: Walk, step: Step) -> Tensor:
    channels_first = step.op.data_format == "channels_first" and len(step.tensor().shape) > 1

    def change(rows: IndexArray) -> IndexArray:
        return (np.moveaxis(rows, 1, -1) if channels_first else rows).reshape(2, -1)

    return _rearranged(step, change)


def _reshape(_: Walk, step: Step) -> Tensor:
    return _rearranged(step, lambda rows: rows.reshape(len(rows), *step.op.target_shape))


def _reshape_operation(_: Walk, step: Step) -> Tensor:
    return _rearranged(step, lambda rows: rows.reshape(step.op.newshape))


def _permute(_: Walk, step: Step) -> Tensor:
    return _rearranged(step, lambda rows: rows.transpose(0, *step.op.dims))


def _get_item(_: Walk, step: Step) -> Tensor:
    key = step.args[1]
    return _rearranged(step, lambda rows: rows[tuple(key) if isinstance(key, list) else key])


# ---- tables ------------------------------------------------------------------------------

_ADD = partial(_sum, lambda n: [1.0] * n)
_SUBTRACT = partial(_sum, lambda n: [1.0, -1.0][:n])

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
    "Activation": activation_layer,
    "Add": _ADD,
    "Average": partial(_sum, lambda n: [1.0 / n] * n),
    "BatchNormalization": _batch_normalization,
    "Concatenate": _concatenate,
    "Dense": _dense,
    "Flatten": _flatten,
    "Normalization": _normalization,
    "PReLU": prelu,
    "Permute": _permute,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Subtract": _SUBTRACT,
}
# What arithmetic on Keras' symbolic tensors, keras.ops and keras.activations leave behind.
OPERATIONS: dict[str, Rule] = {
    **dict.fromkeys(_ACTIVATION_OPERATIONS, activation_operation),
    "Add": _ADD,
    "Concatenate": _concatenate,
    "Divide": _quotient,
    "GetItem": _get_item,
    "Multiply": _product,
    "Negative": partial(_sum, lambda n: [-1.0] * n),
    "Reshape": _reshape_operation,
    "Subtract": _SUBTRACT,
    "TrueDivide": _quotient,
}
