"""Ask a PyTorch model itself: in evaluation mode, without gradients, as it was afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
import torch

from nn2poly.arrays import FloatArray
from nn2poly.inputs.joined import Parts
from nn2poly.network.readers.torch.joining import Joined
from nn2poly.network.readers.torch.skeleton import skeleton, unwrap

# The forwards that only say that there is none.
NO_FORWARD = ("_forward_unimplemented", "LightningModule.forward")


def own_outputs(
    model: Any,
    X: FloatArray,
    _table: Any = None,
    output: str | int | None = None,
    n_features: int | Parts | None = None,
) -> Any:
    """Run the model on columns (n, m): what it gives, or None for what is not run.

    The graph of an exported program may be a stranger's, and is never run.
    """
    if isinstance(model, torch.export.ExportedProgram):
        return None
    module = model if isinstance(model, torch.nn.Module) else model.module_
    if type(module).forward.__qualname__.endswith(NO_FORWARD):
        return None
    from nn2poly.network.readers.torch import one_table

    given = X.shape[1] if n_features is None else n_features
    module = one_table(unwrap(module), given, output)
    bare = _own_buffers(skeleton(module))
    shape = getattr(getattr(module, "example_input_array", None), "shape", ())
    rows = X.reshape(len(X), *shape[1:]) if len(shape) > 1 else X
    state = torch.get_rng_state()
    try:
        with torch.no_grad():
            return first_tensor(_run(bare, _like(module, rows)))
    finally:
        torch.set_rng_state(state)


def _run(module: torch.nn.Module, rows: torch.Tensor) -> Any:
    """Run a model, with whole numbers for what it looks up."""
    try:
        return module(rows)
    except (RuntimeError, IndexError) as error:
        whole = [bool((part == part.round()).all()) for part in rows.T]
        if not any(whole):
            raise
        parts = module.parts if isinstance(module, Joined) else None
        if parts is None:
            if not all(whole):
                raise
            return module(rows.long())
        fits = tuple(all(whole[here]) for here in parts.slices())
        if fits == parts.whole:
            raise error
        vars(module)["parts"] = replace(parts, whole=fits)
        return module(rows)


def _own_buffers(module: torch.nn.Module) -> torch.nn.Module:
    """Copy the buffers: a forward may write to them."""
    for part in module.modules():
        copies = {k: None if v is None else v.clone() for k, v in part._buffers.items()}
        vars(part)["_buffers"] = copies
    return module


def first_tensor(found: Any) -> Any:
    """Take the one result out of the containers around it, as an array."""
    while isinstance(found, dict | tuple | list) and len(found) == 1:
        (found,) = found.values() if isinstance(found, dict) else found
    return found.detach().cpu() if isinstance(found, torch.Tensor) else found


def _like(module: torch.nn.Module, rows: Any) -> torch.Tensor:
    """Make a tensor of the type and on the device of the model's parameters."""
    floating = (p for p in module.parameters() if p.is_floating_point())
    like = next(floating, torch.zeros(()))
    if isinstance(rows, torch.Tensor):
        return rows.to(like.device)
    return torch.as_tensor(np.ascontiguousarray(rows), dtype=like.dtype, device=like.device)


def on_tensors(function: Callable[[Any], Any], module: torch.nn.Module) -> Callable[[Any], Any]:
    """Give a method of a module as a function of tables."""

    @wraps(function)
    def ask(table: Any) -> Any:
        numbers = np.asarray(table.to_numpy(), float) if hasattr(table, "to_numpy") else table
        parts = [part for part in module.modules() if part.training]
        for part in parts:
            part.training = False
        try:
            with torch.no_grad():
                return first_tensor(function(_like(module, numbers)))
        finally:
            for part in parts:
                part.training = True

    return ask
