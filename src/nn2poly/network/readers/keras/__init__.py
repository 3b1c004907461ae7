"""Read Keras 3 models on any backend: Sequential, Functional, nested, and ``.keras`` files.

A Keras model is a graph of operations. Keras' own walk over that graph is run on symbolic
values in place of tensors; each kind of operation has its rule in `layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.network import Network
from nn2poly.network.readers.choosing import output_labels
from nn2poly.network.readers.keras.calls import Call, unsupported
from nn2poly.network.readers.keras.file import load
from nn2poly.network.readers.keras.inputs import DeclaredInputs, output_names, output_place
from nn2poly.network.readers.keras.layers import apply_rule
from nn2poly.network.readers.symbolic import Factor, Tensor, TensorBuilder, in_own_coordinates

Walked = tuple[TensorBuilder, Tensor]


def read(model: Any, output: str | int | None = None) -> Network:
    """Read a built Keras model; its inputs (of any shape) count as one flat row.

    A last softmax or sigmoid becomes the link. A normalisation or rescaling of the inputs,
    when it comes first, becomes the network's working coordinates.

    Parameters
    ----------
    model
        A ``keras.Sequential`` or a functional ``keras.Model``, on any backend.
    output
        Of several outputs the one to read: its name or number.

    Returns
    -------
    Network

    Raises
    ------
    UnsupportedModelError
        Naming the layer that is not a chain or sum of supported parts.
    """
    graph = graph_of(model, model.name)
    inputs = DeclaredInputs.of(graph, model.name)
    place = output_place(model, output, model.name)

    def walk(
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        factors: Mapping[int, Factor] | None = None,
    ) -> Walked:
        names = inputs.column_names()
        builder = TensorBuilder(inputs.row_shape, center, scale, factors=factors, names=names)
        return builder, _follow(graph, builder, (), inputs.tensors(builder))[place]

    builder, result = in_own_coordinates(walk)
    if len(result.shape) > 1:
        raise UnsupportedModelError(
            "The model gives a table for every row, not a row of outputs.",
            where=f"the output of {model.name!r}",
            expected="outputs of shape (rows, n_outputs)",
            found=f"shape {(None, *result.shape)}",
            remedy="end the model with keras.layers.Flatten()",
        )
    labels = output_labels(output_names(model), place, result.value.width)
    return builder.finish(result, output_names=labels)


def read_file(path: str | Path, output: str | int | None = None) -> Network:
    """Read a saved ``.keras`` file without running anything that it brings; see `load`."""
    return read(load(Path(path)), output)


def dense_layers(model: Any) -> list[Any]:
    """List the Dense layers of a model in the order in which it runs them, nested ones too."""
    dense = [op for op in _operations(model, model.name) if is_a(op, "Dense")]
    # A layer that is shared counts where it runs last.
    return list({id(op): op for op in reversed(dense)}.values())[::-1]


def graph_of(model: Any, where: str) -> Any:
    """Give the graph of operations of a built model, which only Keras' own classes have."""
    # The class is Keras' or inherits call() from it: the graph is then what the model does.
    own_call = type(model).call.__module__.partition(".")[0] != "keras"
    graph = getattr(model, "_functional", model)
    if own_call or not (graph is None or hasattr(graph, "_run_through_graph")):
        raise UnsupportedModelError(
            "A model with a call() of its own cannot be read.",
            where=where,
            expected="a keras.Sequential or a functional keras.Model(inputs, outputs)",
            found=f"{type(model).__module__}.{type(model).__qualname__}",
            remedy="make it functional: x = keras.Input((n_features,)); "
            "keras.Model(x, model.call(x))",
        )
    if graph is None:
        raise UnsupportedModelError(
            "The Keras model is not built yet, so it has no weights.",
            where=where,
            remedy="begin it with keras.Input((n_features,)), or train it first",
        )
    return graph


def _follow(
    graph: Any, builder: TensorBuilder, path: tuple[str, ...], inputs: list[Tensor]
) -> list[Tensor]:
    """Run a graph, or a graph within one, on symbolic tensors."""

    def operation(op: Any) -> Callable[..., Tensor]:
        return partial(_apply, builder, path, op)

    found = graph._run_through_graph(inputs, operation_fn=operation)
    # In the order of `output_names`: dictionaries keep theirs on some backends only.
    return _flat([found[key] for key in sorted(found)] if isinstance(found, dict) else found)


def _apply(
    builder: TensorBuilder, path: tuple[str, ...], op: Any, *args: Any, **options: Any
) -> Tensor:
    inner = (*path, op.name)
    given = _flat([*args, *filter(_holds_tensor, options.values())])
    call = Call(op, "/".join(inner), given, builder)
    if options.get("training"):
        raise unsupported(call, "it is called with training=True, so it is random or batchwise")
    if is_a(op, "Model"):
        return _inner(op, call, inner)
    return apply_rule(call)


def _inner(model: Any, call: Call, path: tuple[str, ...]) -> Tensor:
    """Run a model within a model."""
    outputs = _follow(graph_of(model, call.where), call.builder, path, call.tensors())
    if len(outputs) != 1:
        raise UnsupportedModelError(
            "A nested model has several outputs.",
            where="/".join(path),
            remedy="give every inner model a single output",
        )
    return outputs[0]


def _flat(values: Any) -> list[Any]:
    """List the arguments one by one; a list of mere numbers is one argument."""
    if isinstance(values, Tensor) or not _holds_tensor(values):
        return [values]
    return [leaf for value in _parts(values) for leaf in _flat(value)]


def _holds_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or any(map(_holds_tensor, _parts(value)))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def is_a(op: Any, name: str) -> bool:
    """Tell whether an object is of Keras' class of that name, or of one derived from it."""
    bases = type(op).__mro__
    return any(c.__name__ == name and c.__module__.partition(".")[0] == "keras" for c in bases)


def _operations(model: Any, where: str) -> Iterator[Any]:
    """Walk the operations in the order in which Keras runs them."""
    nodes_by_depth = graph_of(model, where)._nodes_by_depth
    for depth in sorted(nodes_by_depth, reverse=True):
        for node in nodes_by_depth[depth]:
            op = node.operation
            yield from _operations(op, f"{where}/{op.name}") if is_a(op, "Model") else [op]
