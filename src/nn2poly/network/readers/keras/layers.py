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
    by_its_values,
    prelu,
)
from nn2poly.network.readers.keras.calls import Call, Rule, to_array, unsupported
from nn2poly.network.readers.keras.lookups import (
    category_encoding,
    discretization,
    embedding,
    lookup,
)
from nn2poly.network.readers.keras.values import activate_by_values
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
    kind = type(call.op).__name__
    rule = find_rule(type(call.op).__module__, kind)
    if rule is None and type(call.op).__module__.startswith("keras."):
        rule = IN_MEMORY.get(kind)
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
    return _combined(call.builder.multiply, call)


def _quotient(call: Call) -> Tensor:
    return _combined(call.builder.divide, call)


def _square(call: Call) -> Tensor:
    x = call.tensor()
    return call.builder.multiply(x, x)


def _power(call: Call) -> Tensor:
    x, exponent = call.args
    if isinstance(x, Tensor) and not isinstance(exponent, Tensor) and to_array(exponent) == 2.0:
        return call.builder.multiply(x, x)
    return by_its_values(call)


def _dot(call: Call) -> Tensor:
    """Multiply two vectors entry by entry, and add the products up."""
    a, b = call.tensors()
    if len(a.shape) != 1 or a.shape != b.shape or call.op.normalize:
        raise unsupported(call, "it multiplies tables, or divides by norms")
    product = call.builder.multiply(a, b)
    return call.builder.dense(product, np.ones((a.shape[0], 1)))


def _extreme(call: Call, largest: bool) -> Tensor:
    """Give max(a, b) = b + relu(a - b), or min(a, b) = b - relu(b - a), from the left."""

    def two(a: Any, b: Any) -> Tensor:
        gap = added(a, b, -1.0) if largest else added(b, a, -1.0)
        return (
            added(call.builder.activate(gap, "relu"), b, 1.0)
            if largest
            else added(b, call.builder.activate(gap, "relu"), -1.0)
        )

    return _combined(two, call)


def _maximum(call: Call) -> Tensor:
    return _extreme(call, True)


def _minimum(call: Call) -> Tensor:
    return _extreme(call, False)


def _lambda(call: Call) -> Tensor:
    return activate_by_values(call, call.tensor(), call.op.function, "lambda")


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
# Operations on each entry by itself, of which the values are enough.
_BY_VALUES = (
    *("Abs", "Absolute", "Arcsinh", "Clip", "Cos", "Cosh", "Erf", "Exp2", "Expm1", "HardShrink"),
    *(
        "HardSilu",
        "Log",
        "Log1p",
        "Reciprocal",
        "Rsqrt",
        "Sign",
        "Sinh",
        "SoftShrink",
        "SparsePlus",
    ),
    *("Sqrt", "Squareplus", "TanhShrink", "Threshold"),
)
LAYERS: dict[str, Rule] = {
    **dict.fromkeys(_INACTIVE, _unchanged),
    **dict.fromkeys(("ELU", "LeakyReLU", "ReLU", "Softmax"), activation_operation),
    "Activation": lambda call: activation_layer(apply_rule, call),
    "Add": _sum,
    "Average": _average,
    "BatchNormalization": _batch_normalization,
    "CategoryEncoding": category_encoding,
    "Concatenate": _concatenate,
    "Dense": _dense,
    "Discretization": discretization,
    "Dot": _dot,
    "Embedding": embedding,
    "Flatten": _flatten,
    "Maximum": _maximum,
    "Minimum": _minimum,
    "Multiply": _product,
    "Normalization": _normalization,
    "PReLU": prelu,
    "Permute": _permute,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Subtract": _subtract,
}
# Read where the model is in memory: a file's code is never run, and none names another file, as
# the vocabulary of a lookup may.
IN_MEMORY: dict[str, Rule] = {
    "IntegerLookup": lookup,
    "Lambda": _lambda,
    "StringLookup": lookup,
    # What a FeatureSpace puts its encoded columns together with.
    "TFDConcat": _concatenate,
    "TFDIdentity": _unchanged,
}
# What arithmetic on Keras' symbolic tensors, keras.ops and keras.activations leave behind.
OPERATIONS: dict[str, Rule] = {
    **dict.fromkeys(_ACTIVATION_OPERATIONS, activation_operation),
    **dict.fromkeys(_BY_VALUES, by_its_values),
    "Add": _sum,
    "Concatenate": _concatenate,
    "Divide": _quotient,
    "GetItem": _get_item,
    "Maximum": _maximum,
    "Minimum": _minimum,
    "Multiply": _product,
    "Negative": _negative,
    "Power": _power,
    "Reshape": _reshape_operation,
    "Square": _square,
    "Subtract": _subtract,
    "TrueDivide": _quotient,
}
