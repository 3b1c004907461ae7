"""`Tensor`: a batch of rows on its way through a model, and how its entries move.

Whatever only moves entries about (views, slices, joins, broadcasting) is run by the framework
itself, or by NumPy, on the numbers of the entries; the result says which columns were taken, and
whether rows stayed rows. So no shape rule of a framework is written down a second time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import IntArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.builder import Value, concatenate
from nn2poly.network.readers.symbolic.limits import check_memory

# Rows of the imagined batch: more than one, so that an operation that mixes rows shows itself.
ROWS = 3


class MisfitError(UnsupportedModelError):
    """Sizes do not fit: perhaps they do with another number of inputs."""


class RowsLostError(MisfitError):
    """An operation does not keep the rows of the batch apart."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor that depends on the inputs: rows, each of a shape.

    Parameters
    ----------
    value
        The entries of a row, in row-major order, as an affine function of the layers so far.
    shape
        Of one row; its product is the width of ``value``.
    rows
        Number of rows of the imagined batch.
    axis
        The dimension of the tensor that is the rows: 0, unless others come before it.
    link, origin
        A sigmoid or softmax that no later operation has met, and where it stands in the model:
        the link, if this is the output.
    """

    value: Value
    shape: tuple[int, ...]
    rows: int = ROWS
    axis: int = 0
    link: str = "identity"
    origin: str = ""

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape that the framework sees."""
        return (*self.shape[: self.axis], self.rows, *self.shape[self.axis :])

    def with_value(self, value: Value) -> Tensor:
        """Give the same shape with other entries."""
        return replace(self, value=value)

    def scaled(self, factor: npt.ArrayLike, shift: npt.ArrayLike = 0.0) -> Tensor:
        """Multiply entries by factors and add shifts (numbers or (width,))."""
        return self.with_value(self.value.scaled(factor, shift))


Operand = Tensor | npt.ArrayLike


def size_of(value: Value) -> int:
    """Count the numbers that one column of a value needs."""
    return 1 + sum(len(matrix) for matrix in value.matrices.values())


# ---- entries that move -----------------------------------------------------------------------


def numbered(*tensors: Tensor) -> list[IntArray]:
    """Give every entry of tensors a number, those of a row in sequence: arrays of full shape."""
    total, start, rows = sum(t.value.width for t in tensors), 0, tensors[0].rows
    check_memory(rows * total)
    entries = np.arange(rows * total).reshape(rows, total)
    parts = []
    for tensor in tensors:
        part = entries[:, start : start + tensor.value.width].reshape(rows, *tensor.shape)
        parts.append(np.moveaxis(part, 0, tensor.axis))
        start += tensor.value.width
    return parts


def selected(entries: npt.NDArray[Any], *tensors: Tensor, axis: int | None = None) -> Tensor:
    """Read off entries that were `numbered` and moved which columns were taken.

    ``axis`` is the dimension of the rows, if it is known; else the first that can be it.
    """
    rows, axes = tensors[0].rows, range(entries.ndim) if axis is None else [axis]
    steps = sum(tensor.value.width for tensor in tensors) * np.arange(rows)[:, None]
    for here in [a for a in axes if entries.shape[a] == rows and entries.size]:
        index = np.moveaxis(entries, here, 0).reshape(rows, -1).astype(np.intp)
        if np.array_equal(index, index[0] + steps):
            break
    else:
        raise rows_lost(entries.shape, rows)
    shape = entries.shape[:here] + entries.shape[here + 1 :]
    return replace(_taken(tensors, index[0]), shape=shape, rows=rows, axis=here)


def _taken(tensors: Sequence[Tensor], columns: IntArray) -> Tensor:
    check_memory(len(columns) * sum(size_of(tensor.value) for tensor in tensors))
    first = tensors[0]
    value = first.value if len(tensors) == 1 else concatenate(t.value for t in tensors)
    everything = np.arange(value.width)
    if first.link == "softmax" and not np.array_equal(np.sort(columns), everything):
        raise UnsupportedModelError(
            "Only some of the probabilities of a softmax are given out.",
            remedy="give out all of them, or the logits before the softmax",
        )
    moved = value if np.array_equal(columns, everything) else value.columns(columns)
    return first.with_value(moved)


def rows_lost(shape: tuple[int, ...], rows: int) -> RowsLostError:
    """Say that an operation does not keep rows apart."""
    return RowsLostError(
        "An operation mixes or loses the rows of the batch.",
        expected=f"a tensor of {rows} rows from {rows} rows, each from its own",
        found=f"shape {shape}",
        remedy="keep the first dimension, for example with flatten(1) or view(x.size(0), -1)",
    )


# ---- two operands ----------------------------------------------------------------------------


def aligned(a: Operand, b: Operand) -> tuple[Tensor, Tensor]:
    """Give two operands, of which one or both are tensors, one shape, as NumPy broadcasts."""
    pair = [x if isinstance(x, Tensor) else np.asarray(x, dtype=np.float64) for x in (a, b)]
    tensors = [x for x in pair if isinstance(x, Tensor)]
    sizes = [x.full_shape if isinstance(x, Tensor) else x.shape for x in pair]
    try:
        full = np.broadcast_shapes(*sizes)
    except ValueError as error:
        raise MisfitError("The shapes do not fit.", found=str(error)) from error
    axes = {t.axis + len(full) - len(t.full_shape) for t in tensors}
    axis, rows = axes.pop(), tensors[0].rows
    if axes or full[axis] != rows:
        raise rows_lost(full, rows)
    first, second = (
        _spread(x, full, axis) if isinstance(x, Tensor) else lifted(x, full, axis, rows)
        for x in pair
    )
    return first, second


def _spread(tensor: Tensor, full: tuple[int, ...], axis: int) -> Tensor:
    if tensor.full_shape == full:
        return tensor
    check_memory(math.prod(full) * size_of(tensor.value))
    return selected(np.broadcast_to(numbered(tensor)[0], full), tensor, axis=axis)


def lifted(
    constant: npt.NDArray[Any], full: tuple[int, ...], axis: int = 0, rows: int = ROWS
) -> Tensor:
    """Take a constant, broadcast to a full shape, for a tensor; all its rows must be the same."""
    check_memory(math.prod(full) // max(rows, 1))
    values = np.moveaxis(np.broadcast_to(constant, full), axis, 0)
    place = axis + constant.ndim - len(full)
    varies = place >= 0 and constant.shape[place] != 1
    if len(values) != rows or (varies and (values != values[0]).any()):
        raise UnsupportedModelError(
            "A constant differs from row to row of the batch.",
            found=f"shape {constant.shape}",
            remedy="use constants of one number per feature",
        )
    entries = np.array(values[0].ravel(), dtype=np.float64)
    return Tensor(Value(entries, {}), values.shape[1:], rows, axis)
