"""`Flow`: a batch of rows on its way through a PyTorch model, and what is linear on it.

Whatever only moves entries about (views, slices, joins, broadcasting) is run by torch itself on
a stand-in that holds the number of each entry; the result says which columns were taken, and
whether rows stayed rows. So no shape rule of torch is written down a second time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.fx.node import map_aggregate

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.builder import Value, concatenate
from nn2poly.network.readers.torch.bounds import check_size

FloatArray = npt.NDArray[np.float64]
# Rows of the imagined batch: more than one, so that an operation that mixes rows shows itself.
ROWS = 3
# What torch raises when sizes do not fit.
SIZE_ERRORS = (RuntimeError, IndexError, ValueError, TypeError)


class MisfitError(UnsupportedModelError):
    """Sizes do not fit: perhaps they do with another number of inputs."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A tensor that depends on the inputs: rows, each of a shape.

    Parameters
    ----------
    value
        Its entries, row by row, as an affine function of the layers so far.
    shape
        Of one row; its product is the width of ``value``.
    rows
        Number of rows of the imagined batch.
    axis
        The dimension of the tensor that is the rows: 0, unless members of an ensemble are
        stacked before them.
    link
        A link that is applied to the value and still has to reach the output.
    """

    value: Value
    shape: tuple[int, ...]
    rows: int = ROWS
    axis: int = 0
    link: str = "identity"

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape that torch sees."""
        return (*self.shape[: self.axis], self.rows, *self.shape[self.axis :])

    def with_value(self, value: Value) -> Flow:
        """Give the same shape with other entries."""
        return replace(self, value=value)

    def scaled(self, factor: npt.ArrayLike, shift: npt.ArrayLike = 0.0) -> Flow:
        """Multiply entries by factors and add shifts (numbers or (width,))."""
        return self.with_value(self.value.scaled(factor, shift))


def flows_in(*arguments: Any) -> list[Flow]:
    """List the distinct flows in nested arguments, in the order of their first appearance."""
    found: dict[int, Flow] = {}

    def collect(item: Any) -> Any:
        if isinstance(item, Flow):
            found.setdefault(id(item), item)
        return item

    map_aggregate(arguments, collect)
    return list(found.values())


def numbers(tensor: torch.Tensor) -> FloatArray:
    """Copy a tensor of any device and real type to float64."""
    if tensor.is_meta or tensor.is_complex() or tensor.is_quantized:
        raise UnsupportedModelError(
            "A tensor of the model cannot be used.",
            expected="real numbers in memory",
            found=f"{tensor.dtype} on device {tensor.device}",
            remedy="load the trained weights, in a real floating-point type",
        )
    return np.array(tensor.detach().to_dense().cpu().double().numpy())


# ---- entries that move ---------------------------------------------------------------------


def rearrange(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function that only moves entries, on flows anywhere in its arguments.

    Returns
    -------
    what the function returns, with flows for tensors; numbers and shapes as they are
    """
    result, flows = describe(function, *args, **kwargs), flows_in(args, kwargs)
    if isinstance(result, torch.Tensor):
        return _selected(result, flows)
    if isinstance(result, tuple | list) and any(isinstance(r, torch.Tensor) for r in result):
        return tuple(_selected(part, flows) for part in result)
    return result


def describe(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function on stand-ins for the flows in its arguments."""
    stand_ins = _stand_ins(flows_in(args, kwargs))
    given = map_aggregate((args, kwargs), lambda a: stand_ins.get(id(a), a))
    try:
        check_size(function, *given[0], **given[1])
        return function(*given[0], **given[1])
    except SIZE_ERRORS as error:
        raise MisfitError("The shapes do not fit.", found=first_line(error)) from error


def _stand_ins(flows: list[Flow]) -> dict[int, torch.Tensor]:
    """Give every entry of the flows a number, those of a row in sequence."""
    total, offset, rows = sum(flow.value.width for flow in flows), 0, flows[0].rows
    entries = torch.arange(rows * total, dtype=torch.float64, device="cpu").reshape(rows, total)
    stand_ins = {}
    for flow in flows:
        part = entries[:, offset : offset + flow.value.width]
        stand_ins[id(flow)] = part.reshape(rows, *flow.shape).movedim(0, flow.axis)
        offset += flow.value.width
    return stand_ins


def _selected(entries: torch.Tensor, flows: list[Flow]) -> Flow:
    """Read off a rearranged stand-in which columns were taken."""
    rows, shape = flows[0].rows, tuple(entries.shape)
    steps = sum(flow.value.width for flow in flows) * np.arange(rows)[:, None]
    for axis in [a for a, size in enumerate(shape) if size == rows and entries.numel()]:
        index = entries.movedim(axis, 0).reshape(rows, -1).numpy().astype(np.intp)
        if np.array_equal(index, index[0] + steps):
            break
    else:
        raise _rows_lost(shape, rows)
    value = flows[0].value if len(flows) == 1 else concatenate(flow.value for flow in flows)
    if not np.array_equal(index[0], np.arange(value.width)):
        value = value.columns(index[0])
    row_shape = shape[:axis] + shape[axis + 1 :]
    return Flow(value, row_shape, rows, axis, _kept_link(flows, index[0]))


def _kept_link(flows: list[Flow], columns: npt.NDArray[np.intp]) -> str:
    link = flows[0].link
    if link == "softmax" and not np.array_equal(np.sort(columns), np.arange(flows[0].value.width)):
        raise UnsupportedModelError(
            "Only some of the probabilities of a softmax are given out.",
            remedy="give out all of them, or the logits before the softmax",
        )
    return link


def _rows_lost(shape: tuple[int, ...], rows: int) -> MisfitError:
    return MisfitError(
        "An operation mixes or loses the rows of the batch.",
        expected=f"a tensor of {rows} rows from {rows} rows, each from its own",
        found=f"shape {shape}",
        remedy="keep the first dimension, for example with flatten(1) or view(x.size(0), -1)",
    )


def joined(function: Callable[..., Any], parts: Any, *args: Any, **kwargs: Any) -> Any:
    """Join flows and constant tensors with ``cat``, ``stack`` or the like."""
    first = flows_in(parts)[0]
    lifted = [p if isinstance(p, Flow) else _constant(torch.as_tensor(p), first) for p in parts]
    return rearrange(function, lifted, *args, **kwargs)


def broadcast(a: Any, b: Any) -> tuple[Flow, Flow]:
    """Give two operands, of which one or both are flows, the same shape; constants are lifted."""
    if isinstance(a, Flow) and isinstance(b, Flow):
        if a.shape == b.shape:
            return a, b
        both: tuple[Flow, Flow] = rearrange(torch.broadcast_tensors, a, b)
        return both
    if isinstance(b, Flow):
        return broadcast(b, a)[::-1]
    constant = torch.as_tensor(b)
    try:
        shape = np.broadcast_shapes(a.full_shape, tuple(constant.shape))
    except ValueError as error:
        raise MisfitError("The shapes do not fit.", found=first_line(error)) from error
    flow = a if shape == a.full_shape else rearrange(torch.broadcast_to, a, shape)
    return flow, _constant(constant.broadcast_to(shape), flow)


def _constant(tensor: torch.Tensor, like: Flow) -> Flow:
    """Take a constant for a flow; it must have the rows of another, all the same."""
    values = np.moveaxis(numbers(tensor), like.axis, 0) if tensor.dim() > like.axis else np.zeros(0)
    if len(values) != like.rows or (values != values[0]).any():
        raise UnsupportedModelError(
            "A constant differs from row to row of the batch.",
            found=f"shape {tuple(tensor.shape)}",
            remedy="use constants of one number per feature",
        )
    return replace(like, value=Value(values[0].ravel(), {}), shape=values.shape[1:])


# ---- entries that are added ------------------------------------------------------------------


def linear(flow: Flow, weights: FloatArray, bias: FloatArray | None = None) -> Flow:
    """Contract the last dimension with ``weights`` (n_in, n_out) and add ``bias`` (n_out,)."""
    shape = flow.full_shape
    if weights.ndim != 2 or flow.axis == len(shape) - 1 or shape[-1] != len(weights):
        raise MisfitError(
            "A linear layer does not fit what feeds it.",
            expected=f"weights (inputs, outputs) for values of shape {shape}",
            found=f"weights of shape {weights.shape}",
            remedy="check the sizes of this layer and of what comes before it",
        )
    groups = math.prod(flow.shape[:-1])
    if groups > 1:  # the same layer on each of them
        weights = np.kron(np.eye(groups), weights).astype(np.float64)
        bias = None if bias is None else np.tile(bias, groups)
    row_shape = (*flow.shape[:-1], weights.shape[1] // groups)
    return replace(flow, value=flow.value.linear(weights, bias), shape=row_shape)


def reduce(function: Callable[..., Any], flow: Flow, *args: Any, **kwargs: Any) -> Flow:
    """Apply a linear function of each row, a sum or a mean: its matrix is what it does to units.

    One row of zeros comes last, and must stay one: a function that mixes rows fills it.
    """
    width = flow.value.width
    units = torch.eye(width + 1, width, dtype=torch.float64, device="cpu")
    try:
        out = function(units.reshape(-1, *flow.shape).movedim(0, flow.axis), *args, **kwargs)
    except SIZE_ERRORS as error:
        raise MisfitError("The shapes do not fit.", found=first_line(error)) from error
    axis = out.shape.index(width + 1) if width + 1 in out.shape else None
    if axis is None or out.select(axis, -1).any():
        raise _rows_lost(tuple(out.shape), width + 1)
    row = out.movedim(axis, 0)[:-1]
    value = flow.value.linear(row.reshape(width, -1).numpy())
    return replace(flow, value=value, shape=tuple(row.shape[1:]), axis=axis)


def first_line(error: BaseException) -> str:
    """Give what torch said, short enough for a line."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text[:300]}"
