"""The curves that a column may go through before the algebra sees it.

Each function is one class: what it does to numbers, its slope, the image of an interval, how it
is written in a formula and in every language of `nn2poly.export`, and how it is stored. A new one
is added here and nowhere else: write the class, and put it into `FUNCTIONS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError


@dataclass(frozen=True)
class Function(ABC):
    """An increasing function of one number.

    ``spelling`` says how each language of `nn2poly.export` writes it, with ``{x}`` for the
    argument; the parameters of the function may stand there too. A language that is not named
    cannot write it. ``onnx`` is the operator that applies it.
    """

    kind: ClassVar[str]
    spelling: ClassVar[Mapping[str, str]] = {}
    onnx: ClassVar[str] = ""

    @abstractmethod
    def values(self, x: FloatArray) -> FloatArray:
        """Apply it to every entry."""

    @abstractmethod
    def slopes(self, x: FloatArray) -> FloatArray:
        """Give its derivative at every entry."""

    @abstractmethod
    def text(self, name: str) -> str:
        """Write it as people read it: ``log(income)``."""

    def image(self, low: float, high: float) -> tuple[float, float]:
        """Give the interval that an interval is mapped to."""
        ends = self.values(np.array([low, high], dtype=np.float64))
        return float(ends[0]), float(ends[1])

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Identity(Function):
    """The column as it is.

    Examples
    --------
    >>> Identity().values(np.array([2.0])), Identity().text("rm")
    (array([2.]), 'rm')
    """

    kind: ClassVar[str] = "identity"

    def values(self, x: FloatArray) -> FloatArray:
        """Give every entry back."""
        return x

    def slopes(self, x: FloatArray) -> FloatArray:
        """Give 1 everywhere."""
        return np.ones_like(x)

    def text(self, name: str) -> str:
        """Write the name alone."""
        return name


IDENTITY = Identity()
FUNCTIONS: dict[str, type[Function]] = {cls.kind: cls for cls in (Identity,)}


def function_from(data: Any) -> Function:
    """Rebuild a function from `Function.to_dict`, refusing kinds that are not known.

    Examples
    --------
    >>> function_from({"kind": "identity"})
    Identity()
    """
    if not isinstance(data, dict):
        raise ValueError("a function is not an object")
    fields = dict(data)
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in FUNCTIONS:
        raise InvalidInputError(
            "A column goes through a function that this nn2poly does not know.",
            expected=f"one of {', '.join(FUNCTIONS)}",
            found=repr(kind),
            remedy="upgrade nn2poly: pip install --upgrade nn2poly",
        )
    return FUNCTIONS[kind](**fields)
