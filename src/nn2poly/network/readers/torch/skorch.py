"""Read ``skorch`` nets: the module inside, with the classes and the link of a classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.network import Network
from nn2poly.outputs import Outputs, output_names

# Criterion → the link that skorch applies to a module that gives logits.
LINKS = {torch.nn.CrossEntropyLoss: "softmax", torch.nn.BCEWithLogitsLoss: "sigmoid"}


def read_net(net: Any, read_module: Callable[[torch.nn.Module], Network]) -> Network:
    """Read the module of a fitted net."""
    if not hasattr(net, "module_"):
        raise UnsupportedModelError(
            f"This {type(net).__name__} is not fitted yet.",
            remedy="call net.fit(X, y) first, or net.initialize() and net.load_params(…)",
        )
    network = read_module(net.module_)
    link = network.link if network.link != "identity" else _link(net)
    classes = _classes(net, link, network.n_outputs)
    outputs = Outputs.of(output_names(classes, network.n_outputs), network.n_outputs, classes, link)
    return replace(network, outputs=outputs)


def _link(net: Any) -> str:
    """Give the link that the net itself applies when it predicts."""
    chosen = net.predict_nonlinearity
    if chosen is not None and chosen != "auto":
        raise UnsupportedModelError(
            f"This {type(net).__name__} has a predict_nonlinearity of its own.",
            expected="predict_nonlinearity='auto' or None",
            found=repr(chosen),
            remedy="convert net.module_, which gives the outputs before it",
        )
    criterion = getattr(net.criterion_, "_orig_mod", net.criterion_)
    links = [link for kind, link in LINKS.items() if isinstance(criterion, kind)]
    return links[0] if links and chosen == "auto" else "identity"


def _classes(net: Any, link: str, n_outputs: int) -> tuple[Any, ...] | None:
    found = getattr(net, "classes_", None)
    if found is None or link == "identity":
        return None
    classes = tuple(found.tolist())
    # skorch predicts the number of the output; other numbers of classes say nothing about it.
    return classes if len(classes) == (2 if link == "sigmoid" else n_outputs) else None
