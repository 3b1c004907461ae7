"""A function of one column that is not affine, known to the package while a test runs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from nn2poly.inputs.functions import FUNCTIONS, Function


@dataclass(frozen=True)
class Root(Function):
    """The square root of x + offset."""

    offset: float = 0.0
    kind: ClassVar[str] = "root"

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.offset, int | float) or self.offset < 0:
            raise ValueError("the offset is not a positive number")

    def curve(self, x):
        return np.sqrt(x + self.offset)

    def curve_slopes(self, x):
        return 0.5 / np.sqrt(x + self.offset)

    def text(self, name):
        return f"sqrt({name})"


@pytest.fixture
def root(monkeypatch):
    """Register the function and give its class."""
    monkeypatch.setitem(FUNCTIONS, "root", Root)
    return Root
