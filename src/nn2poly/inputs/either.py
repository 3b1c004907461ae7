"""Read a table for a formula beside its network, by the names of either."""

from __future__ import annotations

from typing import Any

from nn2poly.arrays import FloatArray
from nn2poly.inputs.columns import Inputs
from nn2poly.inputs.matrices import matching_names


def read_either(X: Any, formula: Inputs, network: Inputs, *, where: str = "X") -> FloatArray:
    """Turn a table into features (n, p), by the names of the formula or else of its network.

    Examples
    --------
    >>> formula, network = Inputs.of(["age (years)"]), Inputs.of(["age"])
    >>> read_either([[40]], formula, network)
    array([[40.]])
    """
    own, other = formula.feature_names, network.feature_names
    levels = {**network.levels_of, **formula.levels_of}
    chosen = network if matching_names(X, own, other, levels=levels) == other != own else formula
    return chosen.read(X, where=where)
