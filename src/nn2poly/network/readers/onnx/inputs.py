"""The inputs of an ONNX model: its columns, how many features they make, and their names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import BoolArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.inputs import Column, Inputs, level_text
from nn2poly.network.readers.onnx.graph import ML_DOMAIN, Graph, Node
from nn2poly.network.readers.onnx.rearranging import Thing
from nn2poly.network.readers.onnx.tensors import NUMBERS
from nn2poly.network.readers.symbolic import TensorBuilder, check_memory, numbered, selected

ENCODER = f"{ML_DOMAIN}.OneHotEncoder"
# What keeps the number of columns, on the way to the first matrix.
KEEPING = ("Identity", "Cast", "Dropout", "Flatten", "Add", "Sub", "Mul", "Div")


@dataclass(frozen=True)
class DeclaredInputs:
    """The inputs that a model declares, side by side.

    Parameters
    ----------
    shapes
        Name of each input → the shape of one row, as the model goes on with it.
    n_rows
        The number of rows for which the model was exported, if it is fixed.
    levels
        Name of each input that is only one-hot encoded → its levels.
    encoded
        Name of what an encoder gives → its input.
    """

    shapes: dict[str, tuple[int, ...]]
    n_rows: int | None
    levels: dict[str, tuple[str, ...]]
    encoded: dict[str, str]

    @classmethod
    def of(cls, graph: Graph) -> DeclaredInputs:
        """Read the declarations of a graph."""
        if not graph.inputs:
            raise UnsupportedModelError("The ONNX model has no inputs.")
        levels, encoded = _categories(graph)
        sizes = {entry.name: _sizes(graph, entry, entry.name in levels) for entry in graph.inputs}
        rows = {shape[0] for shape in sizes.values()}
        shapes = {name: tuple(shape[1:]) for name, shape in sizes.items()}
        shapes |= {name: (*shapes[name], len(found)) for name, found in levels.items()}
        return cls(shapes, rows.pop() or None if len(rows) == 1 else None, levels, encoded)

    @property
    def n_features(self) -> int:
        """Number of features of all inputs."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def columns(self) -> Inputs | None:
        """Name the columns after the inputs; None for one input of numbers, which has no names."""
        if len(self.shapes) == 1 and not self.levels:
            return None
        columns: list[Column] = []
        for name, shape in self.shapes.items():
            count = math.prod(shape)
            if name in self.levels:
                columns.append(Column.factor(name, self.levels[name]))
            else:
                columns += [Column(name if count == 1 else f"{name}_{i}") for i in range(count)]
        return Inputs(tuple(columns))

    def names(self) -> list[str] | None:
        """Name the columns of numbers; None where they have no names, or some are levels."""
        columns = self.columns()
        return None if columns is None or self.levels else [c.name for c in columns.columns]

    def is_level(self) -> BoolArray:
        """Say of each feature whether it is a level, which stays 0 or 1: an array (n_features,)."""
        parts = [np.full(math.prod(shape), n in self.levels) for n, shape in self.shapes.items()]
        return np.concatenate(parts)

    def tensors(self, builder: TensorBuilder) -> dict[str, Thing]:
        """Give the inputs as tensors, by name; of encoded ones what the encoders give."""
        found: dict[str, Thing] = {}
        everything, start = builder.input(), 0
        entries = numbered(everything)[0]
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            part = entries[:, start:stop].reshape(len(entries), *shape)
            found[name], start = selected(part, everything, axis=0), stop
        found |= {output: found[name] for output, name in self.encoded.items()}
        return {name: thing for name, thing in found.items() if name not in self.levels}


def _categories(graph: Graph) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Find the inputs of one column that are one-hot encoded, and what the encoders give."""
    levels: dict[str, tuple[str, ...]] = {}
    encoded: dict[str, str] = {}
    names = {entry.name for entry in graph.inputs if _is_column(entry)}
    for node in graph.nodes:
        source = _source(graph, node)
        found = _levels(node) if node.op == ENCODER and source in names else ()
        if found and levels.setdefault(source, found) == found:
            encoded[node.outputs[0]] = source
    return levels, encoded


def _is_column(entry: Any) -> bool:
    sizes = [int(size.dim_value) for size in entry.type.tensor_type.shape.dim]
    return len(sizes) in (1, 2) and sizes[1:] in ([], [1])


def _source(graph: Graph, node: Node) -> str:
    """Give the tensor that a node takes, before any cast."""
    name = next(iter(node.inputs), "")
    maker = graph.producer(name)
    while maker is not None and maker.inputs and _is_same(graph, maker):
        name = maker.inputs[0]
        maker = graph.producer(name)
    return name


def _is_same(graph: Graph, node: Node) -> bool:
    """Say whether a node gives the one column that it takes, as skl2onnx chooses columns."""
    if node.op != "Gather" or len(node.inputs) < 2:
        return node.op in ("Cast", "Identity")
    chosen = graph.initializer(node.inputs[1])
    return chosen is not None and chosen.ravel().tolist() == [0] and node.integer("axis", 0) == 1


def _levels(node: Node) -> tuple[str, ...]:
    texts = node.attribute("cats_strings", "strings") or []
    numbers = node.attribute("cats_int64s", "ints") or []
    return (*(text.decode("utf-8", "replace") for text in texts), *map(level_text, numbers))


def _sizes(graph: Graph, entry: Any, is_factor: bool) -> list[int]:
    """Give the sizes of an input, the number of rows first; 0 for rows that are not fixed."""
    tensor, where = entry.type.tensor_type, f'input "{entry.name}"'
    if is_factor:
        return [max(0, int(size.dim_value)) for size in tensor.shape.dim]
    if tensor.elem_type not in NUMBERS:
        raise UnsupportedModelError(
            "An input is not a table of numbers.",
            where=where,
            expected="a tensor of floats or integers",
            found=f"ONNX data type {tensor.elem_type}" if tensor.elem_type else "no tensor",
            remedy="export each column of text as an input of its own, of shape (rows, 1), or "
            "encode text and categories before the model",
        )
    sizes = [max(0, int(size.dim_value)) for size in tensor.shape.dim]
    unknown = 0 in sizes[1:] or not tensor.HasField("shape")
    if unknown and len(sizes) in (0, 2):
        sizes = [*(sizes[:1] or [0]), _width(graph, entry.name)]
    if len(sizes) < 2 or 0 in sizes[1:]:
        raise UnsupportedModelError(
            "The number of features is not known.",
            where=where,
            expected="an input of shape (rows, features)",
            found=f"shape {tuple(size or '?' for size in sizes)}",
            remedy="export the model with the number of features fixed, and rows in front",
        )
    check_memory(math.prod(sizes[1:]) ** 2, where)
    return sizes


def _width(graph: Graph, name: str) -> int:
    """Find the number of columns of an input from the first matrix that it meets; 0 if none."""
    same = {name}
    for node in graph.nodes:
        if node.inputs and same.intersection(node.inputs):
            width = _declared(graph, node)
            if width:
                return width
            if node.op in KEEPING:
                same |= set(node.outputs)
    return 0


def _declared(graph: Graph, node: Node) -> int:
    if node.op == f"{ML_DOMAIN}.Scaler":
        return len(node.attribute("offset", "floats") or [])
    if node.op not in ("Gemm", "MatMul") or len(node.inputs) < 2:
        return 0
    weights = graph.initializer(node.inputs[1])
    if weights is None or weights.ndim != 2:
        return 0
    return int(weights.shape[1 if node.op == "Gemm" and node.integer("transB", 0) else 0])
