"""Read a table for a formula beside its network, by the names of either."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nn2poly.arrays import FloatArray
from nn2poly.inputs.columns import Inputs
from nn2poly.inputs.matrices import matching_names


def read_either(
    X: Any, formula: Inputs, network: Inputs, *, where: str = "X", allow_nan: bool = False
) -> FloatArray:
    """Turn a table into features (n, p), by the names of the formula or else of its network.

    What fills in holes is the network's too: a formula from a file has no imputers.

    Examples
    --------
    >>> formula, network = Inputs.of(["age (years)"]), Inputs.of(["age"])
    >>> read_either([[40]], formula, network)
    array([[40.]])
    """
    own, other = formula.table_features, network.table_features
    levels = {**network.levels_of, **formula.levels_of}
    chosen = network if matching_names(X, own, other, levels=levels) == other != own else formula
    if network.imputers and not chosen.imputers:
        called = dict(zip(network.feature_names, chosen.feature_names, strict=True))
        imputers = (
            replace(one, columns=tuple(called[name] for name in one.columns))
            for one in network.imputers
        )
        chosen = replace(chosen, imputers=tuple(imputers))
    return chosen.read(X, where=where, allow_nan=allow_nan)
