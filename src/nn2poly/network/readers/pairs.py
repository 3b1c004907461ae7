"""Read a list of ``(activation, matrix)`` pairs, the R package's own form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nn2poly.errors import InvalidNetworkError
from nn2poly.network.network import Layer, Network


def read(pairs: Sequence[Any]) -> Network:
    """Read pairs of an activation and a matrix (1 + n_inputs, n_outputs), bias in row 0.

    A last activation ``"softmax"`` becomes the link: the polynomial gives the logits.

    Examples
    --------
    >>> read([("softmax", np.zeros((3, 2)))])
    Network(2 → 2 linear, link=softmax)
    """
    link, layers = "identity", []
    for index, pair in enumerate(pairs, start=1):
        activation, matrix = _split(pair, index)
        if activation == "softmax" and index == len(pairs):
            activation, link = "linear", "softmax"
        layers.append(Layer(matrix[1:], matrix[0], activation))
    return Network(layers, link=link)


def _split(pair: Any, index: int) -> tuple[Any, np.ndarray[Any, Any]]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidNetworkError(
            "A list of layers must hold (activation, matrix) pairs.",
            where=f"entry {index}",
            expected='a pair such as ("tanh", matrix)',
            found=type(pair).__name__,
        )
    activation, matrix = pair[0], _matrix(pair[1], index)
    if matrix.ndim != 2 or matrix.shape[0] < 2:
        raise InvalidNetworkError(
            f"The matrix of layer {index} cannot be used.",
            where=f"layer {index}",
            expected="shape (1 + n_inputs, n_outputs), the bias in row 0",
            found=f"shape {matrix.shape}",
        )
    return activation, matrix


def _matrix(values: Any, index: int) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidNetworkError(
            f"The matrix of layer {index} is not rectangular.",
            where=f"layer {index}",
            found=str(error),
        ) from error
