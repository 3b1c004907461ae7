"""How many inputs a PyTorch model takes: it does not say, but its layers do.

Numbers that the layers declare are tried until all layers fit. A forward that takes its inputs
apart may fit several; it gets the smallest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import combinations_with_replacement

import torch

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.symbolic import MisfitError, Tensor
from nn2poly.network.readers.torch.nodes import attribute, rule_name
from nn2poly.network.readers.torch.tracing import Program
from nn2poly.network.readers.torch.walk import Walk

EXAMPLE = "set module.example_input_array = torch.zeros(1, n_features)"
# Operations that take the inputs apart, and the number of inputs up to which all are tried then.
SLICES = (
    *("chunk", "getitem", "index", "index_select", "narrow", "select", "slice", "split"),
    *("split_with_sizes", "tensor_split", "unbind"),
)
# A try is one walk, so that this bounds the time; by taste.
MOST_TRIED = 1024


def first_fit(program: Program, n_features: int | None = None) -> tuple[Walk, Tensor]:
    """Walk with the number of inputs that fits all layers: that of the data if it does."""
    if program.row_shape is not None:
        walk = Walk(program, program.row_shape)
        return walk, walk.run()
    if n_features is not None:
        with contextlib.suppress(MisfitError):
            return _fit(program, n_features)
    misfit = None
    for size in _unique(_graph_sizes(program)):
        try:
            return _smallest_below(program, size) if is_sliced(program) else _fit(program, size)
        except MisfitError as error:
            misfit = misfit or error
    if misfit is None:
        raise no_size(program)
    remedy = misfit.remedy or "check the sizes of the layers"
    raise MisfitError(
        misfit.what,
        where=misfit.where,
        expected=misfit.expected,
        found=misfit.found,
        remedy=f"{remedy}; if they are right, {EXAMPLE}",
    )


def _fit(program: Program, size: int) -> tuple[Walk, Tensor]:
    walk = Walk(program, (size,))
    return walk, walk.run()


def _smallest_below(program: Program, size: int) -> tuple[Walk, Tensor]:
    """Go down from a number that fits for as long as the next one fits, too."""
    found = _fit(program, size)
    for smaller in range(size - 1, 0, -1):
        try:
            found = _fit(program, smaller)
        except MisfitError:
            break
    return found


def is_sliced(program: Program) -> bool:
    """Say whether a forward takes its inputs apart."""
    return any(rule_name(program, user) in SLICES for user in program.input.users)


def module_shapes(module: torch.nn.Module) -> list[tuple[int, ...]]:
    """List shapes of one row that the layers of a model suggest."""
    return [(size,) for size in _unique(module_sizes(module))]


def no_size(program: Program) -> UnsupportedModelError:
    """Ask for an example."""
    return UnsupportedModelError(
        "The number of inputs cannot be told.",
        where=f"forward of {program.title}",
        expected="layers that fit one number only, or an example",
        remedy=EXAMPLE,
    )


def module_sizes(module: torch.nn.Module) -> Iterator[int]:
    """List the numbers of inputs that layers and matrices declare."""
    for part in module.modules():
        yield from _declared(part)
    yield from (p.shape[-1] for p in module.parameters() if p.dim() == 2)


def _declared(module: torch.nn.Module) -> list[int]:
    found = [getattr(module, name, None) for name in ("in_features", "num_features")]
    return [size for size in found if isinstance(size, int)]


def _graph_sizes(program: Program) -> Iterator[int]:
    """List declared numbers in the order in which the operations come."""
    for node in program.graph.nodes:
        if node.op == "call_module":
            yield from _declared(program.root.get_submodule(str(node.target)))
        elif node.op == "get_attr":
            yield from reversed(getattr(attribute(program, node), "shape", ()))
    if is_sliced(program):
        # Two parts that go to two layers: the sum of their sizes is a good guess.
        sizes = _unique(module_sizes(program.root))
        yield from (a + b for a, b in combinations_with_replacement(sizes, 2))
        yield from range(1, MOST_TRIED + 1)


def _unique(sizes: Iterable[int]) -> list[int]:
    """Drop repetitions; 1 comes last, since what broadcasts fits it by accident."""
    return sorted(dict.fromkeys(sizes), key=lambda size: size == 1)
