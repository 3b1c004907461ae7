"""`Coordinate`: the number in which the algebra sees one feature, z = (f(x) - center) / scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nn2poly.arrays import FloatArray
from nn2poly.inputs.functions import IDENTITY, Function, Identity, function_from
from nn2poly.plain import plain_number, plain_object
from nn2poly.tables import short_number

# Of a scale: a printed formula may be off by as little, as one of coefficients with four digits.
WRITTEN_ERROR = 1e-3


@dataclass(frozen=True)
class Coordinate:
    """A function of one feature, centred and scaled.

    Examples
    --------
    >>> import numpy as np
    >>> z = Coordinate(center=20.0, scale=5.0)
    >>> z.values(np.array([25.0])), z.slopes(np.array([25.0])), z.image(10.0, 30.0)
    (array([1.]), array([0.2]), (-2.0, 2.0))
    >>> z.text("t"), Coordinate().text("t")
    ('(t - 20) / 5', 't')
    """

    center: float = 0.0
    scale: float = 1.0
    function: Function = IDENTITY

    @property
    def is_plain(self) -> bool:
        """Say that the algebra sees the feature as it is."""
        return self.is_affine and self.center == 0.0 and self.scale == 1.0

    @property
    def is_affine(self) -> bool:
        """Say that there is no function but a shift and a scale, and no bound."""
        return isinstance(self.function, Identity) and not self.function.is_bounded

    def values(self, x: FloatArray) -> FloatArray:
        """Change raw values to the coordinate."""
        return (self.function.values(x) - self.center) / self.scale

    def slopes(self, x: FloatArray) -> FloatArray:
        """Give dz/dx at raw values."""
        return self.function.slopes(x) / self.scale

    def image(self, low: float, high: float) -> tuple[float, float]:
        """Give the interval of z that an interval of raw values is mapped to."""
        ends = self.function.image(low, high)
        return (ends[0] - self.center) / self.scale, (ends[1] - self.center) / self.scale

    def moved(self, center: float, scale: float) -> Coordinate:
        """Give the same function around another centre, in another scale."""
        return replace(self, center=float(center), scale=float(scale))

    def text(self, name: str) -> str:
        """Write it as people read it, its numbers to a thousandth of its scale."""
        return self.of(self.function.text(name))

    def of(self, inner: str) -> str:
        """Write it of what the function gives."""
        error = WRITTEN_ERROR * self.scale
        if self.center:
            center = short_number(abs(self.center), error)
            inner = f"{inner} {'+' if self.center < 0 else '-'} {center}"
        if self.scale == 1.0:
            return inner
        scale = short_number(self.scale, error)
        return f"{f'({inner})' if self.center else inner} / {scale}"

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file."""
        return {"center": self.center, "scale": self.scale, "function": self.function.to_dict()}

    @classmethod
    def from_dict(cls, data: Any) -> Coordinate:
        """Rebuild a coordinate from `to_dict`."""
        fields = plain_object(data, ("center", "scale", "function"))
        center, scale = plain_number(fields["center"]), plain_number(fields["scale"])
        if scale <= 0:
            raise ValueError("the scale of a coordinate is not positive")
        return cls(center, scale, function_from(fields["function"]))
