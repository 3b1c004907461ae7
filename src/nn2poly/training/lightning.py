"""A Lightning callback for whatever can be attached to an optimiser."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from nn2poly.errors import MissingDependencyError

PACKAGES = ("lightning.pytorch", "pytorch_lightning")


class Attachable(Protocol):
    """What follows the steps of an optimiser."""

    def attach(self, optimizer: Any) -> Any:
        """Follow the optimiser's steps."""

    def detach(self) -> None:
        """Stop following."""


def attaching_callback(follower: Attachable) -> Any:
    """Make a callback that attaches ``follower`` to all optimisers while a trainer fits."""
    base: Any = _callback_class()

    class Attaching(base):  # type: ignore[misc]
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
            for optimizer in trainer.optimizers:
                follower.attach(optimizer)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
            follower.detach()

        def on_exception(self, trainer: Any, pl_module: Any, exception: Any) -> None:  # noqa: ARG002
            follower.detach()

    return Attaching()


def _callback_class() -> Any:
    for name in PACKAGES:
        try:
            return import_module(name).Callback
        except ImportError:
            continue
    raise MissingDependencyError(
        "A Lightning callback needs Lightning, which is not installed.",
        remedy="pip install lightning",
    )
