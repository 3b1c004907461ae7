"""A Lightning callback for whatever can be attached to an optimiser."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Protocol

from nn2poly.errors import require


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
    is_old = find_spec("lightning") is None and find_spec("pytorch_lightning") is not None
    name = "pytorch_lightning" if is_old else "lightning.pytorch"
    return require(name, what="A Lightning callback").Callback
