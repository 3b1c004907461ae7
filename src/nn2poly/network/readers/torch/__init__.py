"""Read PyTorch models: modules, Lightning modules, exported programs and skorch's wrappers.

Any module is read whose forward is a chain of dense layers, normalisations and activations,
with residual sums. Its operations are traced (`tracing`), then walked through
(`walk`). A PyTorch module does not say how many inputs it takes; its layers do. Where they
leave a doubt, ``module.example_input_array``, Lightning's name for a batch, decides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

import nn2poly.network.readers.torch.tracing as tracing
from nn2poly.errors import UnsupportedModelError
from nn2poly.inputs.joined import Parts
from nn2poly.network.network import Network
from nn2poly.network.readers.symbolic import MisfitError, rows_counted, same_layers
from nn2poly.network.readers.torch.answers import NO_FORWARD
from nn2poly.network.readers.torch.flow import first_line
from nn2poly.network.readers.torch.joining import Joined, cuts, joined, labels, required_inputs
from nn2poly.network.readers.torch.nodes import place, rule_name
from nn2poly.network.readers.torch.operations import unknown
from nn2poly.network.readers.torch.rules import MEASURES
from nn2poly.network.readers.torch.sizes import (
    EXAMPLE,
    first_fit,
    is_sliced,
    module_shapes,
    no_size,
)
from nn2poly.network.readers.torch.skeleton import check_plain, unwrap
from nn2poly.network.readers.torch.tracing import REWRITE, Program
from nn2poly.network.readers.torch.walk import Walk, refuse_unknown

# Layers that no model is read with, whatever else it does.
HOPELESS = (
    *("LayerNorm", "RMSNorm", "GroupNorm", "MultiheadAttention", "TransformerEncoder", "LSTM"),
    *("GRU", "RNN", "Conv2d", "Conv3d"),
)


def read(
    model: Any, n_features: int | Parts | None = None, output: str | int | None = None
) -> Network:
    """Read a trained model, which stays as it is.

    Parameters
    ----------
    model
        A ``torch.nn.Module`` (a ``LightningModule`` is one), a ``torch.export.ExportedProgram``
        or a fitted ``skorch`` net.
    n_features
        The number of columns of the data, where they are at hand: tried before what the layers
        suggest; of a model with several inputs, how the columns are cut into them.
    output
        Of several outputs the one to read: its name or number.

    Raises
    ------
    UnsupportedModelError
        Naming the layer or operation that cannot be read.

    Examples
    --------
    >>> from torch import nn
    >>> read(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
    Network(3 → 4 tanh → 1 linear)
    """
    with torch.no_grad(), _no_random_numbers(model):
        if isinstance(model, torch.nn.Module):
            return _read_module(model, n_features, output)
        if isinstance(model, torch.export.ExportedProgram):
            program = tracing.exported_program(model, "the exported program")
            return _network(replace(program, foreign=True))
        from nn2poly.network.readers.torch.skorch import read_net

        return read_net(model, partial(_read_module, n_features=n_features, output=output))


@contextlib.contextmanager
def _no_random_numbers(model: Any) -> Iterator[None]:
    """Refuse a forward that draws random numbers, and leave the generator as it was."""
    before = torch.get_rng_state()
    try:
        yield
        drawn = not torch.equal(before, torch.get_rng_state())
    finally:
        torch.set_rng_state(before)
    if drawn:
        raise UnsupportedModelError(
            "The forward draws random numbers.",
            where=f"forward of {type(model).__name__}",
            expected="the same outputs for the same inputs",
            remedy="draw them only under `if self.training:`, or convert the part without them",
        )


# ---- from a module to a program --------------------------------------------------------------


def _read_module(
    model: torch.nn.Module,
    n_features: int | Parts | None = None,
    output: str | int | None = None,
) -> Network:
    module = one_table(_with_forward(unwrap(model)), n_features, output)
    count = n_features.n_columns if isinstance(n_features, Parts) else n_features
    network = _network(_program(module, count), count)
    names = labels(module, network.n_outputs) if isinstance(module, Joined) else None
    return network if names is None else network.named(None, names)


def one_table(
    module: torch.nn.Module, n_features: int | Parts | None, output: str | int | None
) -> torch.nn.Module:
    """Give a model that takes one table and gives one: itself, or with what is around it."""
    if isinstance(n_features, Parts):
        return joined(module, n_features, output)
    names = required_inputs(module)
    if len(names) > 1 and n_features is not None:
        return _cut(module, names, n_features, output)
    return module if output is None or len(names) > 1 else joined(module, None, output)


def _cut(
    module: torch.nn.Module, names: tuple[str, ...], n_columns: int, output: str | int | None
) -> torch.nn.Module:
    """Find the one way to cut a table into several inputs that all layers fit."""
    fits, reason = [], None
    for parts in cuts(module, names, n_columns):
        whole = joined(module, parts, output)
        try:
            _network(_program(whole, n_columns), n_columns)
        except MisfitError:
            continue
        except UnsupportedModelError as error:
            reason = error  # this part is refused however the table is cut
            continue
        fits.append(whole)
    if len(fits) == 1:
        return fits[0]
    if reason is not None and not fits:
        raise reason
    raise UnsupportedModelError(
        f"It cannot be told how {n_columns} columns are cut into the inputs.",
        where=f"forward of {type(module).__name__}",
        expected=f"one way to cut them into {', '.join(names)}",
        found=f"{len(fits) or 'no'} ways that fit the layers",
        remedy=f"pass the tables themselves: data=({', '.join(names)})",
    )


def _with_forward(model: torch.nn.Module) -> torch.nn.Module:
    """Give the module that has a forward: the model, or its only part with parameters."""
    check_plain(model, "")
    if type(model).forward.__qualname__ not in NO_FORWARD:
        return model
    parts = [name for name, part in model.named_children() if any(True for _ in part.parameters())]
    if len(parts) == 1:
        return _with_forward(unwrap(model.get_submodule(parts[0])))
    raise UnsupportedModelError(
        f"{type(model).__name__} has no forward.",
        expected="a forward, or a single part with parameters",
        found=f"parts: {', '.join(parts) or 'none'}",
        remedy="pass the part that makes the predictions, for example model.net",
    )


def _program(module: torch.nn.Module, n_features: int | None) -> Program:
    shape = _example_shape(module)
    try:
        program = tracing.trace(module)
    except UnsupportedModelError:
        raise
    except Exception as error:  # a forward may raise anything when it meets a tracer
        return _exported(module, shape, n_features, error)
    return replace(program, row_shape=shape or program.row_shape)


def _example_shape(module: torch.nn.Module) -> tuple[int, ...] | None:
    if isinstance(module, Joined) and module.parts is not None:
        return (module.parts.n_columns,)
    example = getattr(module, "example_input_array", None)
    shape = getattr(example, "shape", ())
    return tuple(int(n) for n in shape[1:]) if len(shape) > 1 else None


def _exported(
    module: torch.nn.Module,
    shape: tuple[int, ...] | None,
    n_features: int | None,
    by_fx: Exception,
) -> Program:
    _refuse_by_layers(module)
    errors = []
    told = [] if n_features is None else [(n_features,)]
    for candidate in [shape] if shape else [*told, *module_shapes(module)]:
        try:
            program = tracing.export(module, candidate)
        except UnsupportedModelError:
            raise
        except Exception as error:
            errors.append(error)
            continue
        if shape is None and candidate not in told and is_sliced(program):
            raise no_size(program)
        return program
    by_export = first_line(errors[0]) if errors else "not tried, for want of a linear layer"
    decides = any("data-dependent" in str(error) for error in errors)
    title = type(module).__name__
    raise UnsupportedModelError(
        f"The forward of {title} decides by the values it meets (data-dependent control flow)."
        if decides
        else f"The forward of {title} cannot be traced.",
        where=f"forward of {title}",
        expected="the same operations for all inputs",
        found=f"torch.fx says {first_line(by_fx)}; torch.export says {by_export}",
        remedy=f"{REWRITE}; if it takes its inputs apart, {EXAMPLE}",
    ) from by_fx


def _refuse_by_layers(module: torch.nn.Module) -> None:
    """Refuse a model that cannot be traced by what it is made of, before a slow export."""
    for name, part in module.named_modules():
        if type(part).__name__ in HOPELESS and type(part).__module__.startswith("torch.nn."):
            raise unknown(part).within(f"{name.removeprefix('model.')} ({type(part).__name__})")
        if type(part).__module__.partition(".")[0] == "tabm":
            raise UnsupportedModelError(
                "TabM is an ensemble: many networks in one, each with outputs of its own.",
                where=f"{name.removeprefix('model.') or 'the model'} ({type(part).__name__})",
                expected="one network",
                remedy="fit the mean of its outputs: convert(lambda x: model(x).mean(1), 2, "
                "data=X), X a tensor",
            )


# ---- from a program to a network -------------------------------------------------------------


def _network(program: Program, n_features: int | None = None) -> Network:
    refuse_unknown(program)
    walk, result = first_fit(program, n_features)
    make = partial(Walk, row_shape=walk.row_shape)
    if walk.builder.factors.wanted:
        make = partial(make, factors=walk.builder.factors.wanted)
        walk = make(program)
        result = walk.run()
    coordinates = walk.builder.coordinates()
    if coordinates is not None:
        make = partial(make, center=coordinates[0], scale=coordinates[1])
        walk = make(program)
        result = walk.run()
    if result.axis:
        raise UnsupportedModelError(
            "The outputs do not have the rows of the batch as their first dimension.",
            where=place(program, program.output),
            found=f"shape {result.full_shape} from {result.rows} rows",
            remedy="give out one row per row of inputs",
        )
    network = walk.builder.finish(result)
    _check_other_rows(program, make, network)
    return network


def _check_other_rows(
    program: Program, walk_of: Callable[[Program], Walk], network: Network
) -> None:
    """Refuse outputs that depend on the number of rows in the batch."""
    if not any(rule_name(program, node) in (*MEASURES, "getattr") for node in program.graph.nodes):
        return
    walk = walk_of(replace(program, rows=program.rows + 1))
    try:
        other = walk.builder.finish(walk.run())
    except MisfitError:  # a program that was exported for one number of rows
        return
    if not same_layers(network, other):
        raise rows_counted(f"forward of {program.title}")
