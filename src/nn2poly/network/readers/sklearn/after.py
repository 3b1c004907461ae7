"""What is known of the columns after a step of a pipeline: their names, and where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.inputs.functions import Log, Log1p
from nn2poly.network.readers.sklearn.curves import recognised
from nn2poly.network.readers.sklearn.folding import Step, flatten
from nn2poly.network.readers.sklearn.transformers import (
    column_positions,
    is_passthrough,
    sklearn_kind,
)

# Transformers of single columns that keep the name of what they change, and what they make of it.
CURVES = {"KBinsDiscretizer": "bin", "PowerTransformer": "power", "QuantileTransformer": "rank"}
# Where a logarithm lies: ten times as far is e^70, more than anything that is counted.
USUAL_LOGARITHM = 7.0
Place = tuple[FloatArray, FloatArray]


def names_after(steps: Sequence[Step], count: int) -> tuple[str, ...] | None:
    """Name what the steps give, functions of columns as such: ``log1p(income)``.

    None when they cannot tell, or give names that are not all different.
    """
    names: list[str] | None = None
    for step in steps:
        if not is_passthrough(step.model):
            names = _names(step.model, names)
            if names is None:
                return None
    given = None if names is None else tuple(names)
    invented = given == tuple(f"x{k}" for k in range(count))
    distinct = given is not None and len(set(given)) == len(given) == count
    return given if distinct and not invented else None


def _names(model: Any, names: list[str] | None) -> list[str] | None:
    before = _before(model, names)
    kind = sklearn_kind(model, ("FunctionTransformer", "ColumnTransformer", *CURVES))
    if before is not None and kind == "FunctionTransformer" and model.func is not None:
        word = getattr(model.func, "__name__", "<lambda>")
        if word.startswith("<"):  # a function without a name may give anything
            return None if model.feature_names_out is None else [f"f({name})" for name in before]
        return [f"{word}({name})" for name in before]
    if before is not None and kind in CURVES and getattr(model, "encode", "ordinal") == "ordinal":
        return [f"{CURVES[kind]}({name})" for name in before]
    if before is not None and kind == "ColumnTransformer" and _has_curves(model):
        return _side_by_side(model, before)
    try:
        return [str(name) for name in model.get_feature_names_out(names)]
    except (AttributeError, TypeError, ValueError):
        return None


def _before(model: Any, names: list[str] | None) -> list[str] | None:
    own = getattr(model, "feature_names_in_", None)
    return names if names is not None or own is None else [str(name) for name in own]


def _has_curves(model: Any) -> bool:
    """Say whether a part of a ColumnTransformer keeps the name of what it changes."""
    parts = (p.model for _, m, _ in model.transformers_ for p in flatten(Step("", m, "")))
    return any(sklearn_kind(part, ("FunctionTransformer", *CURVES)) for part in parts)


def _side_by_side(model: Any, before: list[str]) -> list[str] | None:
    """Name the parts of a ColumnTransformer one after the other; its prefixes where it has them."""
    found: list[str] = []
    for name, part, columns in model.transformers_:
        chosen = [before[k] for k in column_positions(columns, before, len(before))]
        if not chosen or (isinstance(part, str) and part == "drop"):
            continue
        made = chosen
        for step in flatten(Step(name, part, name)):
            named = made if is_passthrough(step.model) else _names(step.model, made)
            if named is None:
                return None
            made = named
        unchanged = model.verbose_feature_names_out and all("(" not in text for text in made)
        found += [f"{name}__{text}" for text in made] if unchanged else made
    return found


def usual_place(before: Sequence[Step], behind: Sequence[Step]) -> Place | None:
    """Give where the columns between steps lie: centres and spreads (p,); None if unknown.

    The step behind knows what it was fitted to, the one before what it gives.
    """
    for step, table in ((behind[:1], SEEN), (before[-1:], GIVEN)):
        for one in step:
            kind = sklearn_kind(one.model, table)
            pair = None if kind is None else table[kind](one.model)
            if pair is not None:
                width = getattr(one.model, "n_features_in_", 1)
                center, spread = (np.broadcast_to(np.asarray(v, float), (width,)) for v in pair)
                return np.array(center), np.array(spread)
    return None


def _known(center: Any, spread: Any) -> tuple[Any, Any] | None:
    return None if center is None or spread is None else (center, spread)


def _min_max_seen(model: Any) -> tuple[Any, Any]:
    return (model.data_min_ + model.data_max_) / 2, (model.data_max_ - model.data_min_) / 2


def _ranked(model: Any) -> tuple[Any, Any]:
    return (0.5, 0.5) if model.output_distribution == "uniform" else (0.0, 1.5)


def _logarithms(model: Any) -> tuple[Any, Any] | None:
    found = None if model.func is None else recognised(model, getattr(model, "n_features_in_", 1))
    if found is None or not isinstance(found[0], Log | Log1p):
        return None
    _, shift, factor = found
    return shift, USUAL_LOGARITHM * np.abs(factor)


def _bin_numbers(model: Any) -> tuple[Any, Any] | None:
    middle = (model.n_bins_ - 1) / 2
    return (middle, np.maximum(middle, 0.5)) if model.encode == "ordinal" else None


def _min_max_given(model: Any) -> tuple[Any, Any]:
    low, high = model.feature_range
    return (low + high) / 2, (high - low) / 2


Known = dict[str, Callable[[Any], tuple[Any, Any] | None]]
SEEN: Known = {
    "StandardScaler": lambda m: _known(m.mean_, m.scale_),
    "MinMaxScaler": _min_max_seen,
    "MaxAbsScaler": lambda m: (0.0, m.max_abs_),
    "RobustScaler": lambda m: _known(m.center_, m.scale_),
}
GIVEN: Known = {
    "StandardScaler": lambda m: (0.0, 1.0) if m.with_mean and m.with_std else None,
    "MinMaxScaler": _min_max_given,
    "MaxAbsScaler": lambda _: (0.0, 1.0),
    "RobustScaler": lambda m: (0.0, 1.0) if m.with_centering and m.with_scaling else None,
    "PowerTransformer": lambda m: (0.0, 1.0) if m.standardize else None,
    "QuantileTransformer": _ranked,
    "KBinsDiscretizer": _bin_numbers,
    "FunctionTransformer": _logarithms,
}
