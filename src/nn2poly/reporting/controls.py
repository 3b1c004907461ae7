"""The inputs of the what-if panel: sliders, switches for two values, choosers for factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.assess.neighbours import distance_scale
from nn2poly.inputs import Inputs
from nn2poly.reporting.columntexts import told_levels
from nn2poly.reporting.missing_cells import other_level

# Bars of the density behind a slider; how far it reaches beyond the range, in parts of it (taste).
BINS = 24
REACH = 0.15
Interval = tuple[float, float]


def controls(
    X: FloatArray, inputs: Inputs, low: FloatArray, high: FloatArray, order: Sequence[int]
) -> list[dict[str, Any]]:
    """List the controls as plain data, the features that matter most first.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    inputs
        What the columns are.
    low, high
        Arrays (p,): the range of validity.
    order
        All features, most important first.
    """
    made: list[dict[str, Any]] = []
    done: set[int] = set()
    for j in order:
        number = int(inputs.column_of[j])
        column = inputs.columns[number]
        if j not in done and column.kind == "number":
            function = inputs.coordinates[j].function
            ends = (float(low[j]), float(high[j]))
            made.append(_slider(j, X[:, j], column.name, ends, (function.low, function.high)))
        elif j not in done:
            made.append(_choice(inputs, number, X))
            done.update(inputs.places[number])
    return made


def starting_place(inputs: Inputs, X: FloatArray, errors: FloatArray | None) -> int:
    """Choose the row that the panel starts on: in the middle, with a typical error at most.

    It is nearest to the medians, and to the most frequent levels, of the half of the rows (n, p)
    with the smallest errors (n,); of all rows where these are not known.

    Examples
    --------
    >>> X = np.array([[2000.0], [2006.0], [2007.0], [2018.0]])
    >>> years = Inputs.of(["year"])
    >>> starting_place(years, X, None), starting_place(years, X, np.array([0.1, 3.0, 4.0, 0.2]))
    (1, 0)
    """
    middle = np.median(X, axis=0)
    for places in inputs.indicators():
        mine = list(places)
        levels, counts = np.unique(X[:, mine], axis=0, return_counts=True)
        middle[mine] = levels[counts.argmax()]
    distance = (((X - middle) / distance_scale(inputs, X)) ** 2).sum(axis=1)
    if errors is not None:
        distance = np.where(errors <= np.median(errors), distance, np.inf)
    return int(distance.argmin())


def _choice(inputs: Inputs, number: int, X: FloatArray) -> dict[str, Any]:
    """Describe a switch, with the names of its two values, or a chooser of levels."""
    column, places = inputs.columns[number], list(inputs.places[number])
    low, high = inputs.ends()
    return {
        "kind": "switch" if column.kind == "binary" else "levels",
        "name": column.name,
        "features": places,
        "levels": told_levels(inputs, number),
        "other": other_level(column),
        "low": low[places].tolist(),
        "high": high[places].tolist(),
        "shares": (high == X)[:, places].mean(axis=0).tolist(),
    }


def _slider(
    j: int, column: FloatArray, name: str, ends: Interval, held: Interval
) -> dict[str, Any]:
    """Describe a track over the range of validity and all rows, as far as the formula changes.

    One row far out would leave the others a hundredth of the track, and the rest of it no effect.
    """
    low, high = ends
    bottom, top = min(low, float(column.min())), max(high, float(column.max()))
    if max(bottom, held[0]) < min(top, held[1]):
        bottom, top = max(bottom, held[0]), min(top, held[1])
    margin = REACH * (top - bottom) or max(1.0, abs(top))
    whole = bool(np.all(column == np.round(column)))
    first, last = bottom - margin, top + margin
    if whole:
        first, last = float(np.floor(first)), float(np.ceil(last))
    seen = column[(first <= column) & (column <= last)]
    seen = seen if len(seen) else column
    edges = _edges(first, last, seen, 1.0 if whole else _unit(seen))
    return {
        "kind": "number",
        "name": name,
        "features": [j],
        "min": first,
        "max": last,
        "low": low,
        "high": high,
        "whole": whole,
        "start": float(edges[0]),
        "step": float(edges[1] - edges[0]),
        "counts": np.histogram(seen, bins=edges)[0].tolist(),
    }


def _unit(column: FloatArray) -> float:
    """Give the step between values that lie evenly, as scaled hours do; 0 for others.

    Examples
    --------
    >>> _unit(np.array([0.5, 0.0, 2.0])), _unit(np.array([0.5, 0.0, 2.2]))
    (0.5, 0.0)
    """
    gaps = np.diff(np.unique(column))
    steps = gaps / gaps.min() if len(gaps) else gaps
    few = 0 < steps.sum() <= 4 * BINS
    return float(gaps.min()) if few and np.allclose(steps, np.round(steps)) else 0.0


def _edges(first: float, last: float, column: FloatArray, unit: float) -> FloatArray:
    """Cut a track into even bins, each with equally many values where these are a unit apart.

    Other values are cut from the lowest to the highest: a bar beyond them would show rows there.

    Examples
    --------
    >>> _edges(-4.0, 27.0, np.array([0.0, 23.0]), 1.0)[:3]
    array([-4.5, -2.5, -0.5])
    >>> _edges(-12.0, 12.0, np.array([0.5, 0.7, 2.5]), 0.0)
    array([0.5, 1.5, 2.5])
    """
    lowest, highest = float(column.min()), float(column.max())
    if not unit and lowest == highest:
        return np.linspace(first, last, BINS + 1)
    if not unit:
        n_bins = max(1, round(BINS * (highest - lowest) / (last - first)))
        return np.linspace(lowest, highest, n_bins + 1)
    step = unit * max(1.0, np.ceil((last - first + unit) / (BINS * unit)))
    start = lowest - unit / 2 - step * np.ceil((lowest - first) / step)
    return np.arange(start, last + step, step)
