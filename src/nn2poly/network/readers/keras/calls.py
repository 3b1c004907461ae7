"""Calls of Keras' layers and operations on symbolic tensors, and how one is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers.refusals import why
from nn2poly.network.readers.symbolic import Tensor, TensorBuilder

READABLE = (
    "Dense, activations, Normalization, BatchNormalization, Rescaling, Add, Subtract, Average, "
    "Concatenate, Flatten, Reshape, Permute, Dropout and noise"
)


@dataclass(frozen=True)
class Call:
    """One call of a layer or operation.

    Parameters
    ----------
    op
        The layer or operation.
    where
        Its qualified name.
    args
        Its arguments, one by one.
    builder
        Where layers are made.
    """

    op: Any
    where: str
    args: list[Any]
    builder: TensorBuilder

    def tensors(self) -> list[Tensor]:
        """Give the arguments, all of which must be tensors."""
        if not all(isinstance(arg, Tensor) for arg in self.args):
            raise unsupported(self, "it is called with more than the layers before it")
        return self.args

    def tensor(self) -> Tensor:
        """Give the only argument."""
        if len(self.args) != 1:
            raise unsupported(self, "it is called with more than one argument")
        return self.tensors()[0]

    def settled(self) -> list[Any]:
        """Give the arguments, a sigmoid that was not the last layer now as an activation."""
        return [self.builder.settled(a) if isinstance(a, Tensor) else a for a in self.args]


Rule = Callable[[Call], Tensor]


def unsupported(call: Call, reason: str | None = None) -> UnsupportedModelError:
    """Word the refusal of one layer."""
    return refusal(type(call.op).__module__, type(call.op).__name__, call.where, reason)


def refusal(module: str, kind: str, where: str, reason: str | None = None) -> UnsupportedModelError:
    """Word the refusal of a layer of the class ``module.kind``."""
    custom = module.partition(".")[0] != "keras"
    known = "it is a class of its own, whose call() cannot be looked into"
    return UnsupportedModelError(
        f"The layer {where!r} cannot be read: {reason or (known if custom else why(kind)[0])}.",
        where=where,
        expected=READABLE,
        found=f"{module}.{kind}",
        remedy="replace it, or convert the part after it: "
        "keras.Model(layer.output, model.outputs[0])",
    )


def to_array(tensor: Any) -> FloatArray:
    """Copy a variable or tensor of any backend, or a number, to float64."""
    value = getattr(tensor, "value", tensor)
    if hasattr(value, "detach"):
        value = value.detach().cpu().double()
    if hasattr(value, "numpy"):  # of PyTorch and TensorFlow
        value = value.numpy()
    return np.array(value, dtype=np.float64)
