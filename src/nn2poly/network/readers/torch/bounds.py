"""How many numbers an operation may make: told before it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.node import map_aggregate

from nn2poly.errors import UnsupportedModelError
from nn2poly.memory import FILE_MEMORY, file_allowance
from nn2poly.network.readers.torch.operations import operation_name

# What makes a tensor out of numbers; they take the device on which to make it.
MAKERS = ("arange", "eye", "full", "linspace", "ones", "scalar_tensor", "tensor", "zeros")
# What takes entries by an index or a mask.
INDEXED = ("getitem", "index")
LARGEST_INTEGER = 2**63


def check_size(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Count the numbers that a function would make, and refuse it when there are too many.

    torch itself tells the shape of the result, on tensors that have a shape and no memory.
    """
    if isinstance(function, torch.nn.Module):  # of the user's own, with weights in memory
        return 0
    given, options = map_aggregate((args, dict(kwargs)), _shape_only)
    name = operation_name(function)
    if name in INDEXED:  # how much is taken depends on the numbers of a mask
        given = (given[0], *args[1:])
    if name in MAKERS or "device" in options:
        options = {**options, "device": "meta"}
    try:
        made = _entries(function(*given, **options))
    except NotImplementedError:  # without a rule for shapes: of these none makes a tensor grow
        return 0
    check_count(made)
    return made


def _shape_only(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to("meta")
    return torch.device("meta") if isinstance(value, torch.device) else value


def _entries(result: Any) -> int:
    """Count the numbers of a result, the parts of a sequence together."""
    if isinstance(result, torch.Tensor):
        return math.prod(result.shape)
    if isinstance(result, tuple | list):
        return len(result) + sum(_entries(part) for part in result)
    return 0


def check_count(made: int) -> None:
    """Refuse more numbers than the constants of a forward may have."""
    most = file_allowance(0) // 8  # of float64, all constants of a forward together
    if made > most:
        raise UnsupportedModelError(
            "The constants of the forward are too large.",
            expected=f"at most {most:,} numbers",
            found=f"{made:,} numbers",
            remedy="compute what is needed of them beforehand, and keep it as a buffer; or set "
            f"{FILE_MEMORY}={8 * made}",
        )


def check_integer(result: Any) -> None:
    """Refuse integers that no tensor could hold: they could grow without end."""
    if isinstance(result, int) and abs(result) >= LARGEST_INTEGER:
        raise UnsupportedModelError(
            "The forward computes an integer that is too large.",
            expected="at most 64 bits",
            found=f"{result.bit_length()} bits",
            remedy="compute with numbers of the size of a tensor",
        )
