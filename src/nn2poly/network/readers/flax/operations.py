"""What each of JAX's operations does to symbolic tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.elementwise import FUNCTIONS, Power, by_values
from nn2poly.network.readers.refusals import why
from nn2poly.network.readers.symbolic import (
    Tensor,
    TensorBuilder,
    added,
    constant_like,
    negated,
    numbered,
    selected,
)

Rule = Callable[[Any, list[Any], TensorBuilder], Any]
# What only moves entries: JAX does it to their numbers.
MOVES = (
    *("broadcast_in_dim", "concatenate", "copy", "copy_p", "expand_dims", "reshape", "rev"),
    *("slice", "squeeze", "transpose"),
)
NAMED = {"tanh": "tanh", "exp": "exp", "sin": "sin", "atan": "arctan"}


def apply(step: Any, args: list[Any], builder: TensorBuilder) -> list[Any]:
    """Apply an operation: on constants JAX does, on tensors a rule."""
    name = step.primitive.name
    if not any(isinstance(arg, Tensor) for arg in args):
        found = step.primitive.bind(*args, **step.params)
        parts = found if step.primitive.multiple_results else [found]
        return [np.asarray(part) for part in parts]
    if name not in RULES:
        raise _refused(name, why(name)[0])
    try:
        return [RULES[name](step, args, builder)]
    except UnsupportedModelError as error:
        if error.where is not None:
            raise
        raise error.within(f"operation {name}") from error


def _refused(name: str, reason: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The operation {name} cannot be read: {reason}.",
        where=f"operation {name}",
        expected=f"one of {', '.join(sorted(RULES))}",
        remedy="pass a function to fit its outputs instead: convert(lambda X: model(X), 2, data=X)",
    )


def _move(step: Any, args: list[Any], _builder: TensorBuilder) -> Tensor:
    first = next(arg for arg in args if isinstance(arg, Tensor))
    tensors = [a if isinstance(a, Tensor) else constant_like(a, first) for a in args]
    moved = step.primitive.bind(*_narrow(numbered(*tensors)), **step.params)
    return selected(np.asarray(moved), *tensors)


def _narrow(entries: list[Any]) -> list[Any]:
    """Give numbers of entries in the type that JAX takes without being asked for more."""
    return [np.asarray(part, dtype=np.int32) for part in entries]


def _dot(step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    x, weights = args
    (left, right), (batch, _) = step.params["dimension_numbers"]
    if not isinstance(x, Tensor) or isinstance(weights, Tensor) or batch:
        raise _refused("dot_general", "it multiplies values by each other")
    if tuple(left) != (len(x.full_shape) - 1,) or len(right) != 1 or weights.ndim != 2:
        raise _refused("dot_general", "it contracts other dimensions than the last")
    matrix = np.asarray(weights, dtype=np.float64)
    return builder.dense(x, matrix if tuple(right) == (0,) else matrix.T)


def _same(_step: Any, args: list[Any], _builder: TensorBuilder) -> Any:
    return args[0]


def _cast(step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    kind = np.dtype(step.params["new_dtype"]).kind
    if kind == "i":
        return builder.truncated(args[0])
    if kind not in "fV":  # bfloat16 is of kind V
        raise _refused("convert_element_type", "it makes values true or false")
    x: Tensor = args[0]
    return x


def _power(step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    exponent = float(step.params["y"])
    if exponent == 2.0:
        return builder.multiply(args[0], args[0])
    return builder.activate(args[0], by_values(Power(exponent), "power"))


def _square(_step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    return builder.multiply(args[0], args[0])


def _extreme(step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    """Give max(a, b) = b + relu(a - b), min(a, b) = b - relu(b - a)."""
    a, b = args
    if step.primitive.name == "max" and not isinstance(b, Tensor) and not np.any(b):
        return builder.activate(a, "relu")
    up = step.primitive.name == "max"
    gap = added(a, b, -1.0) if up else added(b, a, -1.0)
    return added(b, builder.activate(gap, "relu"), 1.0 if up else -1.0)


def _named(step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    return builder.activate(args[0], NAMED[step.primitive.name])


def _logistic(_step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    return builder.activate(args[0], "sigmoid")


def _by_values(step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    name = step.primitive.name
    return builder.activate(args[0], by_values(FUNCTIONS[name], name))


def _erfc(_step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    return added(np.ones(()), builder.activate(args[0], by_values(FUNCTIONS["erf"], "erf")), -1.0)


def _sum(step: Any, args: list[Any], builder: TensorBuilder) -> Tensor:
    x: Tensor = args[0]
    if tuple(step.params["axes"]) != (len(x.full_shape) - 1,):
        raise _refused("reduce_sum", "it sums other dimensions than the last")
    return builder.dense(x, np.ones(x.full_shape[-1]))


RULES: dict[str, Rule] = {
    "add": lambda _, args, __: added(*args),
    "add_any": lambda _, args, __: added(*args),
    "sub": lambda _, args, __: added(args[0], args[1], -1.0),
    "mul": lambda _, args, builder: builder.multiply(*args),
    "div": lambda _, args, builder: builder.divide(*args),
    "neg": lambda _, args, __: negated(args[0]),
    "dot_general": _dot,
    "erfc": _erfc,
    "integer_pow": _power,
    "square": _square,
    "max": _extreme,
    "min": _extreme,
    "logistic": _logistic,
    "reduce_sum": _sum,
    "convert_element_type": _cast,
    "stop_gradient": _same,
    **dict.fromkeys(MOVES, _move),
    **dict.fromkeys(NAMED, _named),
    **dict.fromkeys(
        ("abs", "acos", "asin", "asinh", "cos", "cosh", "erf", "exp2", "expm1", "log", "log1p",
         "rsqrt", "sign", "sinh", "sqrt"),
        _by_values,
    ),
}  # fmt: skip
