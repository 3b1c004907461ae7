"""The inputs and outputs of a Keras model: several tables side by side, one of the outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.choosing import chosen_output
from nn2poly.network.readers.symbolic import Tensor, TensorBuilder, numbered, selected


@dataclass(frozen=True)
class DeclaredInputs:
    """The inputs of a graph.

    Parameters
    ----------
    names, shapes, dtypes
        For each input: its name, the shape of one row, the type of its numbers.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @classmethod
    def of(cls, graph: Any, where: str) -> DeclaredInputs:
        """Read them; the shape of a row must be known."""
        shapes = tuple(tuple(tensor.shape[1:]) for tensor in graph.inputs)
        for tensor, shape in zip(graph.inputs, shapes, strict=True):
            if None in shape:
                raise UnsupportedModelError(
                    "The number of inputs of the Keras model is not known.",
                    where=where,
                    expected="a fixed shape of each row",
                    found=f"shape {(None, *shape)} of {tensor.name!r}",
                    remedy="give keras.Input the full shape of a row",
                )
        names, types = zip(*((t.name, str(t.dtype)) for t in graph.inputs), strict=True)
        return cls(names, shapes, types)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of a row of all inputs: their own of one, else flat."""
        return self.shapes[0] if len(self.shapes) == 1 else (sum(map(math.prod, self.shapes)),)

    def column_names(self) -> list[str] | None:
        """Name the columns after the inputs; None for one table, which has no names."""
        if len(self.shapes) == 1:
            return None
        found: list[str] = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            count = math.prod(shape)
            found += [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
        return found

    def tensors(self, builder: TensorBuilder) -> list[Tensor]:
        """Give each input as a tensor."""
        everything = builder.input()
        if len(self.shapes) == 1:
            return [everything]
        entries, found, start = numbered(everything)[0], [], 0
        for shape in self.shapes:
            stop = start + math.prod(shape)
            part = entries[:, start:stop].reshape(len(entries), *shape)
            found.append(selected(part, everything, axis=0))
            start = stop
        return found

    def split(self, X: Any) -> list[Any]:
        """Cut columns (n, m) into what the model takes: numbers of its types, or text."""
        found, start = [], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            stop = start + math.prod(shape)
            part = X[:, start:stop].reshape(len(X), *shape)
            found.append(part.astype(str) if dtype == "string" else _typed(part, dtype))
            start = stop
        return found


def _typed(part: Any, dtype: str) -> Any:
    numbers = part.astype(np.float64)
    return numbers.astype(dtype if dtype.startswith("int") else np.float32)


def output_names(model: Any) -> list[str]:
    """List the outputs of a model: the keys of a dictionary, or the names of its layers."""
    graph = getattr(model, "_functional", model)
    struct = graph._outputs_struct
    return sorted(struct) if isinstance(struct, dict) else list(graph.output_names)


def output_place(model: Any, output: str | int | None, where: str) -> int:
    """Find the number of the output that is wanted."""
    return chosen_output(output_names(model), output, where)
