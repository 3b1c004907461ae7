"""PyTorch models with several inputs or outputs, as one of one table in and one table out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import combinations, pairwise
from math import comb
from types import SimpleNamespace
from typing import Any

import torch

from nn2poly.errors import UnsupportedModelError
from nn2poly.inputs.joined import Parts
from nn2poly.network.readers.choosing import chosen_output, output_labels
from nn2poly.network.readers.torch.sizes import module_sizes

# Ways to cut one table into the inputs that are tried; a try is one walk (taste).
MOST_CUTS = 500


class Joined(torch.nn.Module):
    """Cuts a table into the inputs of a model, and takes one of its outputs.

    Parameters
    ----------
    model
        The model.
    parts
        Its inputs; None for one table.
    output
        The one of its outputs; None where it has one.
    """

    def __init__(self, model: torch.nn.Module, parts: Parts | None, output: str | int | None):
        super().__init__()
        self.model, self.output = model, output
        self.parts: Parts | None = parts
        # A forward is run on a copy of this module, which shares this object.
        self.seen = SimpleNamespace(names=[""])
        example = getattr(model, "example_input_array", None)
        if parts is None and isinstance(example, torch.Tensor):
            self.example_input_array = example

    def forward(self, x: Any) -> Any:
        """Run the model."""
        found, self.seen.names = pick(self._run(x), self.output, type(self).__name__)
        return found

    def _run(self, x: Any) -> Any:
        parts = self.parts
        if parts is None:
            return self.model(x)
        given = [_part(x, parts, k) for k in range(len(parts.names))]
        if parts.keyed:
            return self.model(dict(zip(parts.names, given, strict=True)))
        return self.model(*given)


def joined(module: torch.nn.Module, parts: Parts | None, output: str | int | None) -> Joined:
    """Wrap a model, under its own name."""
    kind = type(type(module).__name__, (Joined,), {})
    wrapped: Joined = kind(module, parts, output)
    return wrapped.train(module.training)


def required_inputs(module: torch.nn.Module) -> tuple[str, ...]:
    """List the arguments that a forward asks for."""
    given = list(inspect.signature(type(module).forward).parameters.values())[1:]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in given if p.default is p.empty and p.kind in kinds)


def possible_inputs(module: torch.nn.Module) -> tuple[str, ...]:
    """List the arguments that a forward asks for; where all may be left out, all of them."""
    given = inspect.signature(type(module).forward).parameters
    return required_inputs(module) or tuple(given)[1:]


def _part(x: Any, parts: Parts, k: int) -> Any:
    part = x[:, parts.slices()[k]]
    if parts.flat[k]:
        part = part[:, 0]
    return part.long() if parts.whole[k] else part


def pick(found: Any, output: str | int | None, title: str) -> tuple[Any, list[str]]:
    """Take one result out of the containers around it, and list the names of all."""
    values, names = _leaves(found)
    if values is None:
        return found, [""]
    if not values:
        raise UnsupportedModelError(
            f"The forward of {title} gives out nothing.", where=f"forward of {title}"
        )
    place = chosen_output(names, output, f"forward of {title}")
    return pick(values[place], None, title)[0], names


def labels(module: Joined, width: int) -> list[str] | None:
    """Name the columns of the output that was picked."""
    names: list[str] = module.seen.names
    return (
        output_labels(names, chosen_output(names, module.output, ""), width) if names[0] else None
    )


def _leaves(found: Any) -> tuple[list[Any] | None, list[str]]:
    """List what a container holds, and its names; None of what is none."""
    if isinstance(found, dict):
        return list(found.values()), [str(key) for key in found]
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return list(found), list(found._fields)
    if isinstance(found, tuple | list):
        return list(found), [f"output{k}" for k in range(len(found))]
    if hasattr(type(found), "__dataclass_fields__"):
        own = {k: v for k in found.__dataclass_fields__ if (v := getattr(found, k)) is not None}
        return list(own.values()), list(own)
    return None, []


def cuts(module: torch.nn.Module, names: tuple[str, ...], n_columns: int) -> Iterator[Parts]:
    """List ways to cut columns into inputs; none where there are too many."""
    if comb(n_columns - 1, len(names) - 1) > MOST_CUTS:
        return
    sizes = set(module_sizes(module))
    places = combinations(range(1, n_columns), len(names) - 1)

    def widths(stops: tuple[int, ...]) -> tuple[int, ...]:
        ends = (0, *stops, n_columns)
        return tuple(b - a for a, b in pairwise(ends))

    found = sorted(map(widths, places), key=lambda w: -sum(width in sizes for width in w))
    yield from (Parts.of_widths(names, w) for w in found)
