"""What is affine on a `Tensor`: sums, products with constants, dense layers, joins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.symbolic.limits import check_memory
from nn2poly.network.readers.symbolic.tensor import (
    MisfitError,
    Operand,
    Tensor,
    aligned,
    lifted,
    numbered,
    rows_lost,
    selected,
    size_of,
)


def added(a: Operand, b: Operand, sign: float = 1.0) -> Tensor:
    """Add two operands, the second with a factor."""
    first, second = aligned(a, b)
    check_memory(first.value.width * (size_of(first.value) + size_of(second.value)))
    return first.with_value(first.value.plus(second.value, sign))


def multiplied(a: Operand, b: Operand) -> Tensor:
    """Multiply a tensor by a constant."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        raise UnsupportedModelError(
            "Two values that both depend on the inputs are multiplied.",
            expected="sums of values, and products with constants",
            remedy="add the values (x + f(x)), or convert the parts before the product",
        )
    first, second = aligned(a, b)
    tensor, constant = (first, second) if isinstance(a, Tensor) else (second, first)
    return tensor.scaled(constant.value.bias)


def divided(a: Operand, b: Operand) -> Tensor:
    """Divide a tensor by a constant."""
    if isinstance(b, Tensor):
        raise UnsupportedModelError(
            "A value that depends on the inputs divides.",
            expected="division by constants",
            remedy="convert the parts before the division",
        )
    with np.errstate(divide="ignore"):  # the network's own check names what is not finite
        return multiplied(a, 1.0 / np.asarray(b, dtype=np.float64))


def negated(x: Tensor) -> Tensor:
    """Change the sign."""
    return x.scaled(-1.0)


def dense_value(x: Tensor, weights: FloatArray, bias: npt.ArrayLike | None = None) -> Tensor:
    """Contract the last dimension with ``weights`` (n_in, n_out) or (n_in,), and add a bias."""
    shape = x.full_shape
    if weights.ndim not in (1, 2) or x.axis == len(shape) - 1 or shape[-1] != len(weights):
        raise MisfitError(
            "A linear layer does not fit what feeds it.",
            expected=f"weights (inputs, outputs) for values of shape {shape}",
            found=f"weights of shape {weights.shape}",
            remedy="check the sizes of this layer and of what comes before it",
        )
    matrix = weights if weights.ndim == 2 else weights[:, None]
    groups = math.prod(x.shape[:-1])
    # The product, and with several groups the matrix of them all, which is square in groups.
    check_memory(groups * matrix.shape[1] * (size_of(x.value) + x.value.width))
    if groups > 1:  # the same layer on each of them
        matrix = np.asarray(np.kron(np.eye(groups), matrix), dtype=np.float64)
        bias = None if bias is None else np.tile(np.asarray(bias), groups)
    row_shape = (*x.shape[:-1], *weights.shape[1:])
    return replace(x, value=x.value.linear(matrix, bias), shape=row_shape)


def per_channel(values: npt.ArrayLike, x: Tensor, axis: int = 1) -> FloatArray:
    """Shape one number per channel so that it broadcasts along an axis of the full shape."""
    array, full = np.asarray(values, dtype=np.float64), x.full_shape
    place = axis % len(full)
    if place == x.axis or axis >= len(full) or (array.ndim and array.size != full[place]):
        raise MisfitError(
            "A batch normalisation does not fit what feeds it.",
            expected=f"channels for values of shape {full}",
            found=f"{array.size} channels",
            remedy="check the sizes of this layer and of what comes before it",
        )
    return array.reshape([-1 if k == place else 1 for k in range(len(full))])


def joined(join: Callable[[list[Any]], Any], parts: Sequence[Operand]) -> Tensor:
    """Join tensors and constants; ``join`` does it to a list of arrays."""
    first = next(part for part in parts if isinstance(part, Tensor))
    tensors = [part if isinstance(part, Tensor) else constant_like(part, first) for part in parts]
    if any(tensor.axis != first.axis for tensor in tensors):
        raise rows_lost(first.full_shape, first.rows)
    total = sum(tensor.value.width for tensor in tensors)
    check_memory(total * sum(size_of(tensor.value) for tensor in tensors))
    return selected(join(numbered(*tensors)), *tensors, axis=None if first.rows > 1 else first.axis)


def constant_like(constant: npt.ArrayLike, first: Tensor) -> Tensor:
    """Take a constant that has the rows of a tensor for one."""
    array = np.asarray(constant, dtype=np.float64)
    if array.ndim <= first.axis:
        raise rows_lost(array.shape, first.rows)
    return lifted(array, array.shape, first.axis, first.rows)
