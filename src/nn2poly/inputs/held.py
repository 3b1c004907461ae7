"""Which columns are held at bounds that cut what the conversion saw, and how people read it."""

from __future__ import annotations

import numpy as np

from nn2poly.arguments import interval_text, plural
from nn2poly.arrays import FloatArray
from nn2poly.inputs.columns import Inputs
from nn2poly.inputs.functions import Function

# Columns that a text names before it counts the others (taste).
NAMED = 3
# A sample goes beyond a bound when it does so by this share of the distance between the bounds:
# bounds are made on the rows to fit, and rows left out of 200 normal ones go further by 0.03.
CUTS = 0.04


def held_features(inputs: Inputs) -> list[int]:
    """List the features whose bounds cut the sample, the one that is cut most first.

    Bounds count as cutting where the range of the sample is unknown.

    Examples
    --------
    >>> from nn2poly.inputs import Column, Coordinate
    >>> from nn2poly.inputs.functions import Identity
    >>> z = Coordinate(function=Identity(0.0, 50.0))
    >>> age = Column("age", coordinates=(z,), ranges=((0.0, 50.0),))
    >>> income = Column("income", coordinates=(z,), ranges=((0.0, 500.0),))
    >>> held_features(Inputs((age, income)))
    [1]
    """
    cut = [_cut(inputs, j) for j in range(inputs.n_features)]
    order = sorted(range(len(cut)), key=lambda j: -cut[j])
    return [j for j in order if cut[j] > CUTS]


def _cut(inputs: Inputs, j: int) -> float:
    """Tell how far the sample goes beyond the bounds, in units of the distance between them."""
    function = inputs.coordinates[j].function
    if not function.is_bounded:
        return 0.0
    if inputs.low is None or inputs.high is None:
        return np.inf
    low, high = float(inputs.low[j]), float(inputs.high[j])
    first, last = max(function.low, min(low, high)), min(function.high, max(low, high))
    beyond = max(first - low, high - last, 0.0)
    return beyond / (last - first) if last > first else float(np.sign(beyond)) * np.inf


def share_beyond(inputs: Inputs, features: FloatArray) -> FloatArray:
    """Give the share (p,) of the rows of features (n, p) that lie beyond the bounds."""
    functions = [coordinate.function for coordinate in inputs.coordinates]
    low, high = (np.array([getattr(f, end) for f in functions]) for end in ("low", "high"))
    share: FloatArray = ((features < low) | (features > high)).mean(axis=0)
    return share


def held_text(inputs: Inputs) -> str:
    """Say in one line where numbers are held: the columns that are cut most, or all in general.

    Examples
    --------
    >>> from nn2poly.inputs import Column, Coordinate
    >>> from nn2poly.inputs.functions import Identity
    >>> z = Coordinate(function=Identity(0.0, 50.0))
    >>> age = Column("age", coordinates=(z,), ranges=((0.0, 50.0),))
    >>> income = Column("income", coordinates=(z,), ranges=((0.0, 500.0),))
    >>> held_text(Inputs((age, income)))
    "income held within 0 … 50, other numbers within the sample's range"
    >>> held_text(Inputs((age,))), held_text(Inputs((Column("age"),)))
    ("numbers are held within the sample's range", '')
    >>> wide = Column("age", coordinates=(z,), ranges=((10.0, 40.0),))
    >>> held_text(Inputs((wide,)))
    "numbers are held at bounds, some beyond the sample's range: see .inputs.bounds()"
    """
    if not inputs.are_bounded:
        return ""
    cut, wider = held_features(inputs), bool((inputs.with_bounds & ~inputs.held_outside).any())
    if not cut and wider:
        return "numbers are held at bounds, some beyond the sample's range: see .inputs.bounds()"
    if not cut:
        return "numbers are held within the sample's range"
    functions = {j: inputs.coordinates[j].function for j in cut[:NAMED]}
    parts = [f"{inputs.feature_names[j]} held within {_interval(f)}" for j, f in functions.items()]
    if (more := len(cut) - NAMED) > 0:
        parts.append(f"{plural(more, 'more column')} at their bounds")
    if inputs.with_bounds.sum() > len(cut):
        parts.append(
            "other numbers " + ("at wider bounds" if wider else "within the sample's range")
        )
    return ", ".join(parts)


def _interval(function: Function) -> str:
    return interval_text(function.low, function.high)
