"""Functions of one value that are known by their values: custom activations, any operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.network.elementwise import by_values
from nn2poly.network.readers.keras.calls import Call, to_array, unsupported
from nn2poly.network.readers.symbolic import Tensor

# Rows and columns of numbers on which a function is tried (taste).
TRIED = (5, 7)


@dataclass(frozen=True)
class ByValues:
    """A function of Keras' tensors as one of arrays."""

    function: Callable[[Any], Any]

    def __call__(self, x: FloatArray) -> FloatArray:
        """Give the values at x, of any shape."""
        from keras import ops

        table = np.asarray(x, dtype=np.float32).reshape(-1, 1)
        found = ops.stop_gradient(self.function(ops.convert_to_tensor(table)))
        return to_array(found).reshape(np.shape(x))


def activate_by_values(call: Call, x: Tensor, function: Callable[[Any], Any], name: str) -> Tensor:
    """Apply a function as an activation, if it is one of each entry by itself."""
    if not is_elementwise(function):
        raise unsupported(call, f"{name!r} is not a function of each entry by itself")
    return call.builder.activate(x, by_values(ByValues(function), name))


def is_elementwise(function: Callable[[Any], Any]) -> bool:
    """Try a function on a table, and on the same numbers in another order, and again."""
    from keras import ops

    rng = np.random.default_rng(0)
    X = rng.normal(size=TRIED, scale=2.0).astype("float32")
    order = rng.permutation(X.size)

    def run(table: Any) -> FloatArray:
        return to_array(ops.stop_gradient(function(ops.convert_to_tensor(table))))

    try:
        first, again = run(X), run(X)
        moved = run(X.ravel()[order].reshape(X.shape))
    except Exception:  # a function of the user's may raise anything
        return False
    same = first.shape == X.shape and np.array_equal(first, again, equal_nan=True)
    return same and np.allclose(first.ravel()[order], moved.ravel(), rtol=1e-5, equal_nan=True)
