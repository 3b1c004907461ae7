"""The activations of all frameworks: one table of names, and those that are made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.symbolic.affine import added, multiplied
from nn2poly.network.readers.symbolic.build import TensorBuilder
from nn2poly.network.readers.symbolic.tensor import Tensor, aligned

# A framework's name in lower case and without "_" → ours, and the parameters that pass.
ACTIVATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (name, ()) for name in ("arctan", "exp", "linear", "mish", "relu", "relu6", "selu")},
    **{name: (name, ()) for name in ("sigmoid", "silu", "sin", "softsign", "tanh")},
    **{name: (name, ("alpha",)) for name in ("celu", "elu")},
    "atan": ("arctan", ()),
    "exponential": ("exp", ()),
    "hardsigmoid": ("hard_sigmoid", ()),
    "hardtanh": ("hard_tanh", ("min_val", "max_val")),
    "leakyrelu": ("leaky_relu", ("negative_slope",)),
    "logsigmoid": ("log_sigmoid", ()),
    "softplus": ("softplus", ("beta",)),
}
# What frameworks say of GELU's form → ours.
GELU = {None: "gelu", False: "gelu", "none": "gelu", True: "gelu_tanh", "tanh": "gelu_tanh"}


def named(builder: TensorBuilder, x: Tensor, name: str, get: Callable[[str], Any]) -> Tensor:
    """Apply an activation by a framework's name; ``get`` gives its parameters, None for none."""
    key = name.replace("_", "").lower()
    if key == "gelu":
        return gelu(builder, x, get("approximate"))
    if key not in ACTIVATIONS:
        raise UnsupportedModelError(f"nn2poly does not know the activation {name!r}.")
    ours, passed = ACTIVATIONS[key]
    given = {parameter: get(parameter) for parameter in passed}
    return builder.activate(x, ours, **{k: v for k, v in given.items() if v is not None})


def gelu(builder: TensorBuilder, x: Tensor, form: Any) -> Tensor:
    """Apply GELU, exact or by tanh."""
    if form not in GELU:
        raise UnsupportedModelError(
            "This form of GELU is not known.", expected="none or tanh", found=repr(form)
        )
    return builder.activate(x, GELU[form])


def prelu(builder: TensorBuilder, x: Tensor, slopes: npt.ArrayLike) -> Tensor:
    """Apply a leaky ReLU with one slope, or with slopes that broadcast over a row."""
    x, each = aligned(x, slopes)
    a = each.value.bias
    if np.all(a == a[0]):
        return builder.activate(x, "leaky_relu", negative_slope=float(a[0]))
    # max(x, 0) + a·min(x, 0) = a·x + (1 - a)·max(x, 0)
    return added(x.scaled(a), builder.activate(x, "relu").scaled(1.0 - a))


def clip(builder: TensorBuilder, x: Tensor, low: float | None, high: float | None) -> Tensor:
    """Hold entries between two numbers, either of which may be left out."""
    if (low, high) == (0.0, 6.0):
        return builder.activate(x, "relu6")
    if low is not None and high is not None:
        return builder.activate(x, "hard_tanh", min_val=low, max_val=high)
    below = x if high is None else at_most(builder, x, high)
    return below if low is None else at_least(builder, below, low)


def at_least(builder: TensorBuilder, x: Tensor, low: npt.ArrayLike) -> Tensor:
    """Give max(x, low) as low + relu(x - low)."""
    return added(builder.activate(added(x, low, -1.0), "relu"), low)


def at_most(builder: TensorBuilder, x: Tensor, high: npt.ArrayLike) -> Tensor:
    """Give min(x, high) as high - relu(high - x)."""
    return added(high, builder.activate(added(high, x, -1.0), "relu"), -1.0)


def scaled_inside(
    builder: TensorBuilder, x: Tensor, name: str, inner: float, outer: float, **parameters: float
) -> Tensor:
    """Apply ``outer · activation(inner · x)``."""
    scaled = x if inner == 1.0 else multiplied(x, inner)
    done = builder.activate(scaled, name, **parameters)
    return done if outer == 1.0 else multiplied(done, outer)
