"""The curves that a feature may go through before the algebra sees it.

Each function is one class: what it does to numbers, its slope, how it is written in a formula and
in every language of `nn2poly.export`, and how it is stored. A new one is added here and nowhere
else: write the class, and put it into `FUNCTIONS`. Every function may have bounds: a value
outside is held at the nearer one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf, isinf, isnan
from typing import Any, ClassVar

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.plain import plain_number


@dataclass(frozen=True)
class Function(ABC):
    """An increasing function of one number, held at its bounds.

    ``spelling`` says how each language of `nn2poly.export` writes it, with ``{x}`` for the
    argument, already held at the bounds; for SymPy it is the name of a function of the library.
    ``setup`` is a line that a language needs first: ``#include <math.h>`` in C, an import in
    Python (under a name that begins with an underscore, as no feature's does). ``onnx`` is the
    operator that applies it.

    Parameters
    ----------
    low, high
        Bounds; infinite ones do not bind.
    """

    low: float = -inf
    high: float = inf

    kind: ClassVar[str]
    spelling: ClassVar[Mapping[str, str]] = {}
    setup: ClassVar[Mapping[str, str]] = {}
    onnx: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if isnan(self.low) or isnan(self.high) or not self.low < self.high:
            raise InvalidInputError(
                "The bounds of a column are empty.",
                expected="a low bound below the high one",
                found=f"{self.low} … {self.high}",
            )

    @abstractmethod
    def curve(self, x: FloatArray) -> FloatArray:
        """Apply the function to entries within the bounds."""

    @abstractmethod
    def curve_slopes(self, x: FloatArray) -> FloatArray:
        """Give its derivative at entries within the bounds."""

    @abstractmethod
    def text(self, name: str) -> str:
        """Write it as people read it: ``log(income)``."""

    @property
    def is_bounded(self) -> bool:
        """Say that a bound binds."""
        return not (isinf(self.low) and isinf(self.high))

    def values(self, x: FloatArray) -> FloatArray:
        """Apply it to every entry."""
        return self.curve(np.clip(x, self.low, self.high)) if self.is_bounded else self.curve(x)

    def slopes(self, x: FloatArray) -> FloatArray:
        """Give its derivative at every entry; 0 outside the bounds."""
        inside = (x >= self.low) & (x <= self.high)
        slopes = self.curve_slopes(np.clip(x, self.low, self.high))
        return np.where(inside, slopes, 0.0)

    def image(self, low: float, high: float) -> tuple[float, float]:
        """Give the interval that an interval is mapped to."""
        ends = self.values(np.array([low, high], dtype=np.float64))
        return float(ends[0]), float(ends[1])

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file; an infinite bound is None."""
        fields = {k: None if v in (-inf, inf) else v for k, v in asdict(self).items()}
        return {"kind": self.kind, **fields}


@dataclass(frozen=True)
class Identity(Function):
    """The feature as it is, within its bounds.

    Examples
    --------
    >>> Identity(high=3.0).values(np.array([2.0, 1e12])), Identity().text("rm")
    (array([2., 3.]), 'rm')
    """

    kind: ClassVar[str] = "identity"

    def curve(self, x: FloatArray) -> FloatArray:
        """Give every entry back."""
        return x

    def curve_slopes(self, x: FloatArray) -> FloatArray:
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
    >>> function_from({"kind": "identity", "low": 0.0, "high": None})
    Identity(low=0.0, high=inf)
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
    for bound, endless in (("low", -inf), ("high", inf)):
        given = fields.get(bound)
        fields[bound] = endless if given is None else plain_number(given)
    return FUNCTIONS[kind](**fields)
