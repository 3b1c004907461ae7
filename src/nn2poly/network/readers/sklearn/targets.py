"""Targets that were transformed before the training: what brings a prediction back.

An affine way back is folded into the last layer; one of `nn2poly.target_links` becomes the link.
A function is recognised by its values: ``lambda y: y / 1000`` is as good as a scaler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.builder import Value
from nn2poly.network.readers.sklearn.folding import Step, flatten
from nn2poly.network.readers.sklearn.transformers import diagonal, is_passthrough, sklearn_kind
from nn2poly.target_links import TARGET_LINKS

# Where a function is looked at: both signs and several sizes, so that one that is cut somewhere
# is not taken for another; exp(300) is still a double.
POINTS = np.array([-300.0, -30.0, -3.0, -0.7, -0.02, 0.015, 0.4, 1.0, 2.5, 7.0, 40.0, 300.0])
# Values may differ by so much of their size: some roundings.
ROUNDING = 1e-10


def inverses(transformer: Any) -> tuple[Any, ...]:
    """List the transformers of a target in the order in which they are undone."""
    return tuple(step.model for step in flatten(Step("target", transformer, "")))[::-1]


def undone(value: Value, targets: Sequence[Any]) -> tuple[Value, str]:
    """Fold what brings a transformed target back into a value, and give the link that is left."""
    link = "identity"
    for target in targets:
        pair = _affine(target, value.width)
        if link != "identity" and (pair is None or not _is_nothing(*pair)):
            raise _refusal(target, f"undone after {link!r}, whose inverse is not affine")
        if pair is None:
            link = _link(target, value.width)
        else:
            value = value.scaled(pair[1], pair[0])
    return value, link


def _is_nothing(shift: Any, factor: Any) -> bool:
    return bool(np.all(np.asarray(shift) == 0.0) and np.all(np.asarray(factor) == 1.0))


def _affine(model: Any, width: int) -> tuple[Any, Any] | None:
    """Give shift and factor that bring a target back; None where that is not affine."""
    if is_passthrough(model):
        return 0.0, 1.0
    pair = diagonal(model)
    if pair is not None or not sklearn_kind(model, ["FunctionTransformer"]):
        return pair
    if model.inverse_func is None:
        return 0.0, 1.0
    found = _values(model, width)
    if not np.isfinite(found).all():
        return None
    (first, last), step = found[[0, -1]], POINTS[-1] - POINTS[0]
    factor = (last - first) / step
    shift = first - factor * POINTS[0]
    line = shift + factor * POINTS[:, None]
    size = ROUNDING * np.abs(found).max(axis=0)
    return (shift, factor) if np.all(np.abs(line - found) <= size) and factor.all() else None


def _link(model: Any, width: int) -> str:
    """Recognise the link whose way back a function is."""
    if not sklearn_kind(model, ["FunctionTransformer"]):
        raise _refusal(model, "not affine, and no function that is known")
    found = _values(model, width)
    for name, link in TARGET_LINKS.items():
        expected = np.broadcast_to(link.target(POINTS)[:, None], found.shape)
        if np.allclose(found, expected, rtol=ROUNDING, atol=0.0, equal_nan=True):
            return name
    raise _refusal(model, "not affine, and no function that is known")


def _values(model: Any, width: int) -> FloatArray:
    """Ask the way back for its values at `POINTS`: (n, width)."""
    points = np.repeat(POINTS[:, None], width, axis=1)
    try:
        with np.errstate(all="ignore"):
            found = model.inverse_func(points, **(model.inv_kw_args or {}))
            values = np.asarray(found, dtype=np.float64).reshape(points.shape)
    except Exception as error:  # a function of the user may raise anything
        raise _refusal(model, "not to be asked for single values") from error
    return values


def _refusal(model: Any, why: str) -> UnsupportedModelError:
    function = getattr(model, "func", None)
    name = getattr(function, "__name__", None) or type(model).__name__
    return UnsupportedModelError(
        f"The target is transformed by {name}, which is {why}.",
        where="TransformedTargetRegressor",
        expected="scalers, affine functions, and as the last to be undone one of log, log1p, "
        "sqrt, reciprocal, exp",
        found=type(model).__name__ if function is None else f"func={name}",
        remedy="pass the regressor inside, model.regressor_: its polynomial gives the "
        f"target as {name} transforms it",
    )
