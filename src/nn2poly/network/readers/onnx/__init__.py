"""Read ONNX models: a ``ModelProto``, its bytes, or a file.

Only tensors and names are taken from the file: nothing in it is executed, no other file is
opened, and every size is checked before memory is taken for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.errors import NN2PolyError, StorageError, UnsupportedModelError, require
from nn2poly.files import open_regular
from nn2poly.memory import available_bytes, human_bytes
from nn2poly.network.network import Network
from nn2poly.network.readers.choosing import chosen_output
from nn2poly.network.readers.onnx.constants import constants_of
from nn2poly.network.readers.onnx.curves import Curve, is_group, recognise
from nn2poly.network.readers.onnx.external import fetch_weights
from nn2poly.network.readers.onnx.graph import Graph, Node
from nn2poly.network.readers.onnx.inputs import DeclaredInputs
from nn2poly.network.readers.onnx.outputs import Ending, find_ending
from nn2poly.network.readers.onnx.rearranging import REARRANGING, Thing
from nn2poly.network.readers.onnx.tensors import Array
from nn2poly.network.readers.onnx.walk import Walk
from nn2poly.network.readers.symbolic import (
    ROWS,
    Factor,
    Tensor,
    TensorBuilder,
    in_own_coordinates,
    reading_file,
    rows_counted,
    same_layers,
)

Walked = tuple[TensorBuilder, Tensor]
# What may count rows, or hold their number as a constant.
COUNTING = {"Shape", "Split", *REARRANGING}

# The format ends at 2 GiB; reading takes about four times the size of the file.
LARGEST_FILE = 2**31
MEMORY_PER_BYTE = 4


def read(model: Any, output: str | int | None = None) -> Network:
    """Read an ``onnx.ModelProto`` or its bytes; of several outputs one, by its name or number.

    Raises
    ------
    UnsupportedModelError
        For a part that is not a dense network, by name; for weights in other files.
    StorageError
        For bytes that are not an ONNX model, or a damaged one.
    """
    proto = _parsed(model) if isinstance(model, bytes) else model
    try:
        # The network is checked for what is not finite.
        with np.errstate(all="ignore"), reading_file(proto.ByteSize()):
            return _read(_chosen(Graph(proto), output))
    except UnicodeDecodeError as error:  # a name in the file
        raise _not_onnx(f"a name that is not text ({error.reason})") from error


def _chosen(graph: Graph, output: str | int | None) -> Graph:
    """Leave one of the outputs, if one is named."""
    if output is not None:
        graph.outputs = [graph.outputs[chosen_output(graph.outputs, output, "the ONNX model")]]
    return graph


def read_file(path: str | Path, output: str | int | None = None) -> Network:
    """Read an ``.onnx`` file, and the file beside it where its weights are, if any."""
    try:
        return read(load(path), output)
    except (StorageError, UnsupportedModelError) as error:
        if error.where is not None:
            raise
        parts = {name: getattr(error, name) for name in ("expected", "found", "remedy")}
        raise type(error)(error.what, where=str(path), **parts) from error


def load(path: str | Path) -> Any:
    """Open an ``.onnx`` file: the model with all its weights."""
    file = Path(path)
    try:
        with open_regular(file) as opened:
            _check_file(file, os.fstat(opened.fileno()))
            data = opened.read()
    except OSError as error:
        raise StorageError(
            "The file cannot be read.", where=str(file), found=error.strerror
        ) from error
    proto = _parsed(data)
    fetch_weights(proto, file)
    return proto


def _check_file(file: Path, status: Any) -> None:
    room = min(LARGEST_FILE, available_bytes() // MEMORY_PER_BYTE)
    if status.st_size > room:
        raise StorageError(
            "The file is not read.",
            where=str(file),
            expected=f"a regular file of at most {human_bytes(room)}",
            found=human_bytes(status.st_size),
        )


def _parsed(data: bytes) -> Any:
    onnx = require("onnx", what="Reading ONNX models", extra="onnx")
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]

    try:
        return onnx.ModelProto.FromString(data)
    except DecodeError as error:
        raise _not_onnx(str(error)) from error


def _not_onnx(found: str) -> StorageError:
    return StorageError(
        "These bytes are not an ONNX model, or a damaged one.",
        found=found,
        remedy="check that the file is complete and was written by an ONNX exporter",
    )


def _read(graph: Graph) -> Network:
    inputs, ending = DeclaredInputs.of(graph), find_ending(graph)
    if ending.tensor not in graph.varying:
        raise UnsupportedModelError("The output of the model does not depend on its inputs.")
    constants = constants_of(graph, graph.needed([ending.tensor]))
    steps, is_level = _plan(graph, ending, constants, inputs.encoded), inputs.is_level()

    def walk(
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        factors: Mapping[int, Factor] | None = None,
        rows: int = inputs.n_rows or ROWS,
    ) -> Walked:
        place = center, scale
        if inputs.levels:
            # A level stays 0 or 1 in the algebra, also where a scaler comes after the encoder.
            place = np.where(is_level, 0.0, center), np.where(is_level, 1.0, scale)
            factors = None
        shape, names = (inputs.n_features,), inputs.names()
        builder = TensorBuilder(shape, *place, rows=rows, factors=factors, names=names)
        known = {**constants, **inputs.tensors(builder)}
        return builder, _run(Walk(builder, ending.end), steps, known, ending.tensor)

    builder, result = in_own_coordinates(walk)
    network = builder.finish(
        result,
        inputs=builder.factors.inputs() if builder.factors.found else inputs.columns(),
        output_names=ending.output_names(result.value.width),
        classes=ending.classes,
        link=ending.link,
    )
    if inputs.n_rows is None and any(node.op in COUNTING for node, _ in steps):
        place, found = (network.center, network.scale), builder.factors.found
        _check_other_rows(network, lambda: walk(*place, found, ROWS + 1))
    return network


def _check_other_rows(network: Network, walk: Callable[[], Walked]) -> None:
    """Refuse outputs that depend on the number of rows in the batch."""
    try:
        builder, result = walk()
    except NN2PolyError as error:
        raise rows_counted(error.where) from error
    if not same_layers(network, builder.finish(result)):
        raise rows_counted(None)


def _plan(
    graph: Graph, ending: Ending, constants: dict[str, Array], known: Container[str]
) -> list[tuple[Node, Curve | None]]:
    """List the nodes to run, in order, with the activation where a group of them is one.

    What is ``known`` from the start, as the result of an encoder, is not computed.
    """
    steps: dict[int, tuple[Node, Curve | None]] = {}
    stack = [ending.tensor]
    while stack:
        name = stack.pop()
        node = None if name in known else graph.producer(name)
        if node is None or node.index in steps:
            continue
        alone = node.index == ending.end or not is_group(graph, node)
        curve = None if alone else recognise(graph, node, constants)
        steps[node.index] = node, curve
        stack += graph.varying_inputs(node) if curve is None else [curve.base]
    return [steps[index] for index in sorted(steps)]


def _run(
    walk: Walk, steps: list[tuple[Node, Curve | None]], things: dict[str, Thing], target: str
) -> Tensor:
    for node, curve in steps:
        used = node.inputs[:1] if node.op == "CastLike" else node.inputs
        names = used if curve is None else (curve.base,)
        if any(name and name not in things for name in names):
            node.refuse("it uses a category as a number, or what another operation did not give")
        outputs = walk.apply(node, [things[name] if name else None for name in names], curve)
        things |= dict(zip(node.outputs, outputs, strict=False))
    found = things.get(target)
    if not isinstance(found, Tensor) or found.axis != 0:
        raise UnsupportedModelError(
            "The output of the model does not have one row per row of its inputs.",
            where=f'output "{target}"',
            expected="a tensor of shape (rows, outputs), computed from the inputs",
        )
    return found
