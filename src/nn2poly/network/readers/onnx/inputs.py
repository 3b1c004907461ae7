"""The inputs of an ONNX model: how many features there are, and what they are called."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.onnx.graph import ML_DOMAIN, Graph, Node
from nn2poly.network.readers.onnx.rearranging import Thing
from nn2poly.network.readers.onnx.tensors import NUMBERS
from nn2poly.network.readers.symbolic import TensorBuilder, check_memory, numbered, selected

# What keeps the number of columns, on the way to the first matrix.
KEEPING = ("Identity", "Cast", "Dropout", "Flatten", "Add", "Sub", "Mul", "Div")


@dataclass(frozen=True)
class DeclaredInputs:
    """The inputs that a model declares, side by side.

    Parameters
    ----------
    shapes
        Name of each input → the shape of one row.
    n_rows
        The number of rows for which the model was exported, if it is fixed.
    """

    shapes: dict[str, tuple[int, ...]]
    n_rows: int | None

    @classmethod
    def of(cls, graph: Graph) -> DeclaredInputs:
        """Read the declarations of a graph."""
        if not graph.inputs:
            raise UnsupportedModelError("The ONNX model has no inputs.")
        sizes = {entry.name: _sizes(graph, entry) for entry in graph.inputs}
        rows = {shape[0] for shape in sizes.values()}
        shapes = {name: tuple(shape[1:]) for name, shape in sizes.items()}
        return cls(shapes, rows.pop() or None if len(rows) == 1 else None)

    @property
    def n_features(self) -> int:
        """Number of columns of all inputs."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def names(self) -> list[str] | None:
        """Name the features after the inputs, if there are several inputs."""
        if len(self.shapes) == 1:
            return None
        counts = {name: math.prod(shape) for name, shape in self.shapes.items()}
        return [
            name if count == 1 else f"{name}_{i}"
            for name, count in counts.items()
            for i in range(count)
        ]

    def tensors(self, builder: TensorBuilder) -> dict[str, Thing]:
        """Give the inputs as tensors, by name."""
        found: dict[str, Thing] = {}
        everything, start = builder.input(), 0
        entries = numbered(everything)[0]
        for name, shape in self.shapes.items():
            stop = start + math.prod(shape)
            part = entries[:, start:stop].reshape(len(entries), *shape)
            found[name] = selected(part, everything, axis=0)
            start = stop
        return found


def _sizes(graph: Graph, entry: Any) -> list[int]:
    """Give the sizes of an input, the number of rows first; 0 for rows that are not fixed."""
    tensor, where = entry.type.tensor_type, f'input "{entry.name}"'
    if tensor.elem_type not in NUMBERS:
        raise UnsupportedModelError(
            "An input is not a table of numbers.",
            where=where,
            expected="a tensor of floats or integers",
            found=f"ONNX data type {tensor.elem_type}" if tensor.elem_type else "no tensor",
            remedy="encode text and categories before the model, and export only the rest",
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
