"""Read Flax NNX models: the operations that JAX traces, followed with symbolic tensors.

A model is traced in evaluation mode, on a copy, for a few imagined rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.network import Network
from nn2poly.network.readers.flax.operations import apply
from nn2poly.network.readers.symbolic import (
    ROWS,
    Factor,
    Tensor,
    TensorBuilder,
    in_own_coordinates,
)

Walked = tuple[TensorBuilder, Tensor]
# Operations that hold others → the parameter that they are in.
NESTED = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def read(model: Any, n_features: int | None = None) -> Network:
    """Read a trained ``flax.nnx.Module``, which stays as it is.

    Parameters
    ----------
    n_features
        The number of columns of the data; by default what the first layer declares.

    Raises
    ------
    UnsupportedModelError
        Naming the operation that cannot be read.
    """
    width = n_features or _declared(model)
    traced = _traced(model, width)

    def walk(
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        factors: Mapping[int, Factor] | None = None,
    ) -> Walked:
        builder = TensorBuilder((width,), center, scale, factors=factors)
        (result,) = _follow(traced.jaxpr, traced.consts, [builder.input()], builder)
        if isinstance(result, Tensor) and not result.axis:
            return builder, result
        raise UnsupportedModelError(
            "The output does not have one row for each row of the inputs.",
            where=type(model).__name__,
            remedy="give out what the last layer computes",
        )

    builder, result = in_own_coordinates(walk)
    return builder.finish(result)


def evaluated(model: Any) -> Any:
    """Copy a model, in evaluation mode."""
    nnx = import_module("flax.nnx")
    if not isinstance(model, nnx.Module):
        raise UnsupportedModelError(
            "A module of flax.linen holds no weights.",
            where=type(model).__name__,
            expected="a flax.nnx.Module",
            remedy="pass a function to fit its outputs instead: "
            "convert(lambda X: model.apply(params, X), 2, data=X)",
        )
    copy = nnx.clone(model)
    copy.eval()
    return copy


def _declared(model: Any) -> int:
    for _, part in import_module("flax.nnx").iter_graph(evaluated(model)):
        for name in ("in_features", "num_features"):
            size = getattr(part, name, None)
            if isinstance(size, int):
                return size
    raise UnsupportedModelError(
        "The number of inputs cannot be told.",
        where=type(model).__name__,
        remedy="pass data, or read_network(model, n_features=…)",
    )


def _traced(model: Any, width: int) -> Any:
    try:
        rows = np.zeros((ROWS, width), dtype=np.float32)
        traced = import_module("jax").make_jaxpr(evaluated(model))(rows)
    except UnsupportedModelError:
        raise
    except Exception as error:  # a __call__ may raise anything
        text = str(error).strip().partition("\n")[0][:300]
        raise UnsupportedModelError(
            "The model cannot be traced.",
            where=type(model).__name__,
            expected=f"a model of tables of shape (rows, {width})",
            found=f"{type(error).__name__}: {text}",
            remedy="write __call__ as a fixed sequence of layers",
        ) from error
    if len(traced.jaxpr.outvars) != 1:
        raise UnsupportedModelError(
            "The model has several outputs.",
            where=type(model).__name__,
            found=f"{len(traced.jaxpr.outvars)} arrays",
            remedy="convert a function of one of them: convert(lambda X: model(X)[0], 2, data=X)",
        )
    return traced


def _follow(jaxpr: Any, consts: Any, inputs: list[Any], builder: TensorBuilder) -> list[Any]:
    """Run operations, and those inside them, on tensors and constants."""
    known: dict[Any, Any] = {}

    def value(atom: Any) -> Any:
        return np.asarray(atom.val) if hasattr(atom, "val") else known[atom]

    known |= dict(zip(jaxpr.constvars, map(np.asarray, consts), strict=True))
    known |= dict(zip(jaxpr.invars, inputs, strict=True))
    for step in jaxpr.eqns:
        args = [value(atom) for atom in step.invars]
        inner = next((step.params[name] for name in NESTED if name in step.params), None)
        if step.params.get("name") == "softplus" and len(args) == 1:
            # Inside, it asks whether values are numbers at all.
            found = [builder.activate(args[0], "softplus")]
        elif inner is None:
            found = apply(step, args, builder)
        else:
            closed = hasattr(inner, "consts")
            body, own = (inner.jaxpr, inner.consts) if closed else (inner, ())
            found = _follow(body, own, args, builder)
        known |= dict(zip(step.outvars, found, strict=True))
    return [value(atom) for atom in jaxpr.outvars]
