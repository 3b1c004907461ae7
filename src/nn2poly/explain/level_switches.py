"""What showing one level of a factor instead of another changes, everywhere in a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.enclosures import enclose, in_box, rounding_slack, witnesses
from nn2poly.explain.region_bounds import RegionBox, level_boxes
from nn2poly.explain.written import plain, union_of_terms
from nn2poly.formula.polynomial import Polynomial

# Pairs of levels times combinations of other levels that are looked at, about (taste: a second).
MOST_PAIRS = 1_000

# Bounds (n_outputs,) of a change, and the lowest and highest that were seen.
Change = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Written = tuple[Polynomial, FloatArray]
Switch = tuple[list[str], FloatArray, FloatArray]


def level_switches(part: RegionBox, places: Sequence[int]) -> dict[int, Switch]:
    """Judge the levels of a factor by what each changes instead of any other.

    Parameters
    ----------
    part
        The box.
    places
        The features of the factor.

    Returns
    -------
    dict
        By the feature of each level in the box: a word per output, and bounds (n_outputs,) of
        the change. Empty where there is but one level to show.
    """
    levels = part.levels(places)
    if len(levels) < 2:
        return {}
    most = max(1, MOST_PAIRS // len(levels) ** 2)
    boxes = level_boxes(part, but=places, most=most)
    found: dict[int, list[Change]] = {level: [] for level in levels}
    for box in boxes:
        written = [_with_level(box, places, level) for level in levels]
        for i, one in enumerate(levels):
            for k in range(i):
                low, high, seen_low, seen_high = _apart(box, written[i], written[k])
                found[one].append((low, high, seen_low, seen_high))
                found[levels[k]].append((-high, -low, -seen_high, -seen_low))
    return {level: _judged(changes) for level, changes in found.items()}


def _with_level(box: RegionBox, places: Sequence[int], level: int) -> Written:
    """Write the polynomial in coordinates of the box with one level on, and its rounding."""
    here = box.at_level(places, level)
    low, high = (here.polynomial.inputs.curved(end) for end in (here.low, here.high))
    silent = plain(here.polynomial)
    boxed = in_box(silent, low, high)
    # Their coordinates are 0 at the level: terms that hold the factor's features add nothing.
    mine = [any(j in places for j in term) for term in boxed.terms]
    kept = np.where(np.array(mine)[:, None], 0.0, boxed.coefficients)
    return replace(boxed, coefficients=kept), rounding_slack(silent, low, high)


def _apart(box: RegionBox, first: Written, second: Written) -> Change:
    """Bound the difference of two polynomials in coordinates of the same box."""
    (one, slack), (other, more) = first, second
    if one.terms is other.terms or one.terms == other.terms:
        values = one.coefficients - other.coefficients
        step = replace(one, coefficients=values)
    else:
        aligned = replace(other, inputs=one.inputs)
        terms, pair = union_of_terms([one, aligned])
        step = replace(one, terms=terms, coefficients=pair[0] - pair[1], deviations=None)
    low, high = enclose(step)
    rounding = slack + more
    # What is within rounding of zero is zero.
    low = np.where(np.abs(low) <= rounding, 0.0, low - rounding)
    high = np.where(np.abs(high) <= rounding, 0.0, high + rounding)
    ends = (box.polynomial.inputs.curved(end) for end in (box.low, box.high))
    seen_low, seen_high = witnesses(step, *ends)
    return low, high, seen_low + rounding, seen_high - rounding


def _judged(changes: list[Change]) -> Switch:
    lows, highs, falls, rises = (np.array(side) for side in zip(*changes, strict=True))
    low, high = lows.min(axis=0), highs.max(axis=0)
    words = np.full(len(low), "unknown", dtype=object)
    words[(rises > 0).any(axis=0) & (falls < 0).any(axis=0)] = "neither"
    words[high <= 0] = "decreasing"
    words[low >= 0] = "increasing"
    words[(low >= 0) & (high <= 0)] = "constant"
    return words.tolist(), low, high
