"""Cuts of a number: a factor whose levels are the intervals between them.

Level k holds the numbers from cut k - 1 up to cut k, which belongs to the next; the outer levels
have no end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, nextafter

import numpy as np

from nn2poly.arrays import FloatArray

Interval = tuple[float, float]


def intervals(cuts: Sequence[float]) -> list[Interval]:
    """Give the lowest number of each level, and the one that it ends before.

    Examples
    --------
    >>> intervals([30.0, 45.0])
    [(-inf, 30.0), (30.0, 45.0), (45.0, inf)]
    """
    return list(pairwise([-inf, *cuts, inf]))


def interval_names(cuts: Sequence[float]) -> tuple[str, ...]:
    """Name the levels.

    Examples
    --------
    >>> interval_names([30.0, 45.0])
    ('below 30', '[30, 45)', '45 or more')
    """
    # As few digits as tell them apart, but all of those before the point.
    whole = len(f"{max(map(abs, cuts)):.0f}")
    rounded = ([f"{cut:.{digits}g}" for cut in cuts] for digits in range(max(4, min(whole, 9)), 17))
    texts = next((t for t in rounded if len(set(t)) == len(t)), [repr(cut) for cut in cuts])
    middle = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return (f"below {texts[0]}", *middle, f"{texts[-1]} or more")


def within(values: FloatArray, interval: Interval) -> FloatArray:
    """Mark the numbers (n,) of an interval by 1, others by 0; what is not finite stays.

    Examples
    --------
    >>> within(np.array([29.0, 30.0, 45.0, np.nan]), (30.0, 45.0))
    array([ 0.,  1.,  0., nan])
    """
    low, high = interval
    inside = ((values >= low) & (values < high)).astype(np.float64)
    return np.where(np.isfinite(values), inside, values)


def examples(cuts: Sequence[float]) -> tuple[float, ...]:
    """Give a number of each level.

    Examples
    --------
    >>> examples([30.0, 45.0])
    (29.0, 30.0, 45.0)
    """
    return (min(cuts[0] - 1.0, nextafter(cuts[0], -inf)), *cuts)
