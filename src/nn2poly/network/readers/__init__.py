"""`read_network`: find the reader of a model by the path of its class.

A reader is imported only when a model of its framework arrives, so that importing nn2poly
imports no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.network.network import Network

# "root package.class name" of a model or of one of its bases → module of its reader.
READERS = {
    "builtins.bytes": "onnx",
    "builtins.list": "pairs",
    "builtins.str": "files",
    "builtins.tuple": "pairs",
    "keras.Model": "keras",
    "onnx.ModelProto": "onnx",
    "pathlib.Path": "files",
    "sklearn.BaseEstimator": "sklearn",
    "skorch.NeuralNet": "torch",
    "torch.ExportedProgram": "torch",
    "torch.Module": "torch",
}


def read_network(model: Any, *, after: str | None = None) -> Network:
    """Read a trained model into a `Network`.

    Parameters
    ----------
    model
        A `Network`; a PyTorch module, Lightning module, exported program or skorch net; a
        Keras 3 model; a scikit-learn MLP, alone or in a Pipeline, search or
        TransformedTargetRegressor; an ONNX model, its bytes, or the path of an ``.onnx`` or
        ``.keras`` file; or a list of ``(activation, matrix)`` pairs with the bias in row 0 of
        each matrix.
    after
        Of a scikit-learn pipeline: read what comes after the step of this name, in the
        columns that the step gives out.

    Returns
    -------
    Network

    Raises
    ------
    UnsupportedModelError
        When no reader knows the model's class, or it holds a part that cannot be read.

    Examples
    --------
    >>> read_network([("tanh", [[0.0], [1.0], [1.0]]), ("linear", [[0.5], [2.0]])])
    Network(2 → 1 tanh → 1 linear)
    """
    reader = _find(model)
    if after is not None and reader != "sklearn":
        raise InvalidInputError(
            "Only a scikit-learn pipeline can be read after one of its steps.",
            where="after",
            found=f"{type(model).__module__}.{type(model).__qualname__}",
        )
    if reader == "network":
        return cast("Network", model)
    options = {} if after is None else {"after": after}
    network: Network = import_module(f"{__name__}.{reader}").read(model, **options)
    return network


def _find(model: Any) -> str:
    """Name the reader of a model by the path of its class or of one of its bases."""
    if isinstance(model, Network):
        return "network"
    for cls in type(model).__mro__:
        reader = READERS.get(f"{cls.__module__.partition('.')[0]}.{cls.__name__}")
        if reader is not None:
            return reader
    raise UnsupportedModelError(
        "This model cannot be read.",
        expected="a model of PyTorch, Keras, scikit-learn or ONNX, an nn2poly.Network, or a list "
        "of (activation, matrix) pairs",
        found=f"{type(model).__module__}.{type(model).__qualname__}",
        remedy="build it by hand: nn2poly.Network([nn2poly.Layer(weights, bias, 'tanh'), …])",
    )
