"""Train the way the paper does, and watch the polynomial while the network learns.

Importing this imports no framework; each name brings its own when it is first used.

>>> import torch
>>> from nn2poly.training import TorchConstraint
>>> model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
>>> optimizer = torch.optim.Adam(model.parameters())
>>> constraint = TorchConstraint(model).attach(optimizer)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nn2poly.training.torch_constraint import TorchConstraint
from nn2poly.training.tracker import PolynomialTracker

if TYPE_CHECKING:
    KerasConstraint: Any

__all__ = ["KerasConstraint", "PolynomialTracker", "TorchConstraint"]


def __getattr__(name: str) -> Any:
    # A Keras callback must inherit from Keras' class, which only importing Keras brings.
    if name == "KerasConstraint":
        from nn2poly.training.keras_constraint import keras_constraint_class

        return keras_constraint_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
