"""The symbolic tensors and steps of a walk over a Keras model, and how a step is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.builder import NetworkBuilder, Value

# Part of a class name → why it is refused.
REASONS = {
    "Lambda": "it runs Python code that cannot be looked into",
    "Conv": "a convolution is not dense",
    "Pool": "pooling is not dense",
    "Attention": "attention multiplies values by each other",
    "RNN": "a recurrent layer is not feed-forward",
    "LSTM": "a recurrent layer is not feed-forward",
    "GRU": "a recurrent layer is not feed-forward",
    "Bidirectional": "a recurrent layer is not feed-forward",
    "Embedding": "it looks integers up in a table",
    "Norm": "it divides each row by a norm of that row; BatchNormalization could be folded",
    "Multiply": "it multiplies values by each other; sums could be read",
    "Dot": "it multiplies values by each other; sums could be read",
    "Lookup": "it looks values up in a table",
    "Encoding": "it encodes categories",
    "Discretization": "it cuts numbers into steps",
}
READABLE = (
    "Dense, activations, Normalization, BatchNormalization, Rescaling, Add, Subtract, Average, "
    "Concatenate, Flatten, Reshape, Permute, Dropout and noise"
)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value with the shape that Keras gives one row of it.

    Parameters
    ----------
    value
        Of width ``prod(shape)``, in row-major order.
    shape
        Without the batch axis.
    link
        A sigmoid or softmax that no later layer has met: the link if this is the output.
    origin
        Where that link stands in the model.
    """

    value: Value
    shape: tuple[int, ...]
    link: str = "identity"
    origin: str = ""

    @property
    def index(self) -> npt.NDArray[np.intp]:
        """The column numbers, in the tensor's shape."""
        return np.arange(self.value.width).reshape(self.shape)

    def take(self, index: npt.NDArray[np.intp]) -> Tensor:
        """Choose columns; the tensor gets the shape of ``index``."""
        return replace(self, value=self.value.columns(index.ravel()), shape=index.shape)


@dataclass(frozen=True)
class Step:
    """One call of an operation: its qualified name and its arguments, one by one."""

    op: Any
    where: str
    args: list[Any]

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


class Walk:
    """What a walk over a model collects: layers, and what the first Dense layer saw."""

    def __init__(self, builder: NetworkBuilder, apply: Callable[[Walk, Step], Tensor]) -> None:
        self.builder = builder
        self.first: Value | None = None
        self._apply = apply
        self._settled: list[tuple[Tensor, Tensor]] = []

    def apply(self, step: Step) -> Tensor:
        """Apply one operation by its rule."""
        return self._apply(self, step)

    def settled(self, tensor: Tensor) -> Tensor:
        """Turn a sigmoid that was not the last layer after all into an activation."""
        if tensor.link == "identity":
            return tensor
        if tensor.link == "softmax":
            raise UnsupportedModelError(
                "A softmax in the middle of a model cannot be part of a polynomial.",
                where=tensor.origin,
                expected="softmax as the last layer, where it is the link",
                remedy="convert the layers before it",
            )
        for pending, done in self._settled:
            if pending is tensor:
                return done
        done = Tensor(self.builder.activate(tensor.value, tensor.link), tensor.shape)
        self._settled.append((tensor, done))
        return done

    def activate(self, tensor: Tensor, name: str, **parameters: float) -> Tensor:
        """Apply an activation to every number of a tensor."""
        value = self.builder.activate(self.settled(tensor).value, name, **parameters)
        return Tensor(value, tensor.shape)


def unsupported(step: Step, reason: str | None = None) -> UnsupportedModelError:
    """Word the refusal of one layer."""
    return refusal(type(step.op).__module__, type(step.op).__name__, step.where, reason)


def refusal(module: str, kind: str, where: str, reason: str | None = None) -> UnsupportedModelError:
    """Word the refusal of a layer of the class ``module.kind``."""
    known = next((why for part, why in REASONS.items() if part in kind), "its kind is not known")
    custom = module.partition(".")[0] != "keras"
    why = "it is a class of its own, whose call() cannot be looked into" if custom else known
    return UnsupportedModelError(
        f"The layer {where!r} cannot be read: {reason or why}.",
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
        value = value.detach().cpu().double().numpy()
    return np.array(value, dtype=np.float64)


def spread(values: Any, tensor: Tensor, step: Step) -> FloatArray:
    """Broadcast numbers, with a batch axis of 1 or without, over a row: (width,)."""
    try:
        return np.broadcast_to(to_array(values), (1, *tensor.shape)).ravel()
    except (TypeError, ValueError) as error:
        raise unsupported(step, f"its numbers do not fit rows of shape {tensor.shape}") from error
