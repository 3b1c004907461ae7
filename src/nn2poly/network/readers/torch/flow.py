"""Tensors of PyTorch on their way through a model: what moves or adds up entries is run by torch.

A function that moves entries is run on numbered stand-ins (`symbolic.tensor`), one that adds them
up on units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.fx.node import map_aggregate

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.symbolic import (
    MisfitError,
    Tensor,
    check_memory,
    constant_like,
    numbered,
    rows_lost,
    selected,
)
from nn2poly.network.readers.torch.bounds import check_size

# What torch raises when sizes do not fit.
SIZE_ERRORS = (RuntimeError, IndexError, ValueError, TypeError)


def tensors_in(*arguments: Any) -> list[Tensor]:
    """List the distinct symbolic tensors in nested arguments, in the order of appearance."""
    found: dict[int, Tensor] = {}

    def collect(item: Any) -> Any:
        if isinstance(item, Tensor):
            found.setdefault(id(item), item)
        return item

    map_aggregate(arguments, collect)
    return list(found.values())


def numbers(tensor: Any) -> FloatArray:
    """Copy a tensor of any device and real type, or a number, to float64."""
    if not isinstance(tensor, torch.Tensor):
        return np.array(tensor, dtype=np.float64)
    if tensor.is_meta or tensor.is_complex() or tensor.is_quantized:
        raise UnsupportedModelError(
            "A tensor of the model cannot be used.",
            expected="real numbers in memory",
            found=f"{tensor.dtype} on device {tensor.device}",
            remedy="load the trained weights, in a real floating-point type",
        )
    return np.array(tensor.detach().to_dense().cpu().double().numpy())


def operand(item: Any) -> Tensor | FloatArray:
    """Give a symbolic tensor as it is, a constant as numbers."""
    return item if isinstance(item, Tensor) else numbers(item)


def rearrange(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function that only moves entries, on symbolic tensors anywhere in its arguments.

    Returns
    -------
    what the function returns, with symbolic tensors for tensors; numbers and shapes as they are
    """
    result, tensors = describe(function, *args, **kwargs), tensors_in(args, kwargs)
    if isinstance(result, torch.Tensor):
        return selected(result.numpy(), *tensors)
    if isinstance(result, tuple | list) and any(isinstance(r, torch.Tensor) for r in result):
        return tuple(selected(part.numpy(), *tensors) for part in result)
    return result


def describe(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function on stand-ins for the symbolic tensors in its arguments."""
    tensors = tensors_in(args, kwargs)
    entries = [torch.from_numpy(part).double() for part in numbered(*tensors)]
    stand_ins = {id(tensor): part for tensor, part in zip(tensors, entries, strict=True)}
    given = map_aggregate((args, kwargs), lambda a: stand_ins.get(id(a), a))
    try:
        check_size(function, *given[0], **given[1])
        return function(*given[0], **given[1])
    except SIZE_ERRORS as error:
        raise MisfitError("The shapes do not fit.", found=first_line(error)) from error


def join(function: Callable[..., Any], parts: Any, *args: Any, **kwargs: Any) -> Any:
    """Join symbolic and constant tensors with ``cat``, ``stack`` or the like."""
    first = tensors_in(parts)[0]
    same = [p if isinstance(p, Tensor) else constant_like(numbers(p), first) for p in parts]
    return rearrange(function, same, *args, **kwargs)


def written(x: Any, key: Any, value: Any) -> Tensor:
    """Give a tensor or constant with some entries replaced, as ``x[key] = value`` does."""
    if tensors_in(key):
        raise UnsupportedModelError(
            "Values decide where others are written.",
            expected="rows and columns by number",
            remedy="use torch.where, or an activation",
        )
    first = x if isinstance(x, Tensor) else value
    base = x if isinstance(x, Tensor) else constant_like(numbers(x), first)
    try:
        if not isinstance(value, Tensor):
            filled = torch.zeros(base.full_shape, dtype=torch.float64)
            filled[key] = torch.as_tensor(numbers(value))
            value = constant_like(filled.numpy(), base)
            key = _mask(base.full_shape, key)
            mine, theirs = (torch.from_numpy(part) for part in numbered(base, value))
            return selected(torch.where(key, theirs, mine).numpy(), base, value)
        mine, theirs = (torch.from_numpy(part).clone() for part in numbered(base, value))
        mine[key] = theirs
    except SIZE_ERRORS as error:
        raise MisfitError("The shapes do not fit.", found=first_line(error)) from error
    return selected(mine.numpy(), base, value)


def _mask(shape: tuple[int, ...], key: Any) -> torch.Tensor:
    mask = torch.zeros(shape, dtype=torch.bool)
    mask[key] = True
    return mask


def reduce(function: Callable[..., Any], x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Apply a linear function of each row, a sum or a mean: its matrix is what it does to units.

    One row of zeros comes last, and must stay one: a function that mixes rows fills it.
    """
    width = x.value.width
    check_memory((width + 1) * width)
    units = torch.eye(width + 1, width, dtype=torch.float64, device="cpu")
    try:
        out = function(units.reshape(-1, *x.shape).movedim(0, x.axis), *args, **kwargs)
    except SIZE_ERRORS as error:
        raise MisfitError("The shapes do not fit.", found=first_line(error)) from error
    axis = out.shape.index(width + 1) if width + 1 in out.shape else None
    if axis is None or out.select(axis, -1).any():
        raise rows_lost(tuple(out.shape), width + 1)
    row = out.movedim(axis, 0)[:-1]
    value = x.value.linear(row.reshape(width, -1).numpy())
    return replace(x, value=value, shape=tuple(row.shape[1:]), axis=axis)


def affine(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Tensor:
    """Apply a function that is affine in its one symbolic tensor, row by row.

    What it does to a row of zeros and to the units of a row tells its matrix. It is run on two
    numbers of rows: the dimension that grows is that of the rows. Rows of random numbers then
    show whether it keeps rows apart.
    """
    (x,) = tensors_in(args, kwargs)
    width = x.value.width
    check_memory((width + 4) * width)
    drawn = torch.from_numpy(np.random.default_rng(0).normal(size=(3, width)))
    units = torch.cat([torch.zeros(1, width), torch.eye(width), drawn]).double()

    def run(rows: torch.Tensor) -> torch.Tensor:
        moved = rows.reshape(-1, *x.shape).movedim(0, x.axis)
        given = map_aggregate((args, kwargs), lambda a: moved if id(a) == id(x) else _as_double(a))
        try:
            check_size(function, *given[0], **given[1])
            out: torch.Tensor = function(*given[0], **given[1])
        except SIZE_ERRORS as error:
            raise MisfitError("The shapes do not fit.", found=first_line(error)) from error
        return out

    fewer, more = run(units[:-1]), run(units)
    grown = [k for k, (a, b) in enumerate(zip(fewer.shape, more.shape, strict=True)) if a != b]
    if len(grown) != 1 or more.shape[grown[0]] != len(units):
        raise rows_lost(tuple(more.shape), len(units))
    row = more.movedim(grown[0], 0)
    found = row.reshape(len(units), -1).numpy()
    bias, matrix = found[0], found[1 : width + 1] - found[0]
    expected = drawn.numpy() @ matrix + bias
    if not np.allclose(found[width + 1 :], expected, rtol=0, atol=1e-9 * np.abs(found).max()):
        raise rows_lost(tuple(more.shape), len(units))
    check_memory(found.size)
    value = x.value.linear(matrix, bias)
    return replace(x, value=value, shape=tuple(row.shape[1:]), axis=grown[0])


def _as_double(item: Any) -> Any:
    is_real = isinstance(item, torch.Tensor) and item.is_floating_point()
    return item.double() if is_real else item


def first_line(error: BaseException) -> str:
    """Give what torch said, short enough for a line."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text[:300]}"
