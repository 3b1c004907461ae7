"""`read_network`: find the reader of a model by the path of its class.

A reader is imported only when a model of its framework arrives, so that importing nn2poly
imports no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nn2poly.errors import UnsupportedModelError
from nn2poly.network.network import Network

# "root package.class name" of a model or of one of its bases → module of its reader.
READERS = {
    "builtins.list": "pairs",
    "builtins.tuple": "pairs",
    "sklearn.MLPRegressor": "sklearn",
    "sklearn.MLPClassifier": "sklearn",
}


def read_network(model: Any) -> Network:
    """Read a trained model into a `Network`.

    Parameters
    ----------
    model
        A `Network`, a list of ``(activation, matrix)`` pairs with the bias in row 0 of each
        matrix, or a fitted scikit-learn ``MLPRegressor`` or ``MLPClassifier``.

    Returns
    -------
    Network

    Raises
    ------
    UnsupportedModelError
        When no reader knows the model's class.

    Examples
    --------
    >>> read_network([("tanh", [[0.0], [1.0], [1.0]]), ("linear", [[0.5], [2.0]])])
    Network(2 → 1 tanh → 1 linear)
    """
    if isinstance(model, Network):
        return model
    for cls in type(model).__mro__:
        reader = READERS.get(f"{cls.__module__.partition('.')[0]}.{cls.__name__}")
        if reader is not None:
            network: Network = import_module(f"{__name__}.{reader}").read(model)
            return network
    raise UnsupportedModelError(
        "This model cannot be read.",
        expected="an nn2poly.Network, a list of (activation, matrix) pairs, or a fitted "
        "scikit-learn MLPRegressor or MLPClassifier",
        found=f"{type(model).__module__}.{type(model).__qualname__}",
        remedy="build it by hand: nn2poly.Network([nn2poly.Layer(weights, bias, 'tanh'), …])",
    )
