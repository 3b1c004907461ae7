"""Where a column may be cut: between its values, at round numbers."""

from __future__ import annotations

from math import ceil, floor, log10

import numpy as np

from nn2poly.arrays import FloatArray

# Up to so many values every gap between two is a cut (bike's hour has 24), else half as many
# quantiles are.
FEW_VALUES = 32
# A cut is rounded within so much of the way to the next one.
ROUNDING = 0.25


def cuts(x: FloatArray) -> FloatArray:
    """Give the thresholds that are tried of a column: left is below.

    Parameters
    ----------
    x
        Array (n,): the values of the rows that are split.

    Examples
    --------
    >>> cuts(np.array([7.0, 8.0, 6.0, 8.0]))
    array([6.5, 7.5])
    >>> cuts(np.linspace(0.0, 1.6037, 900))[:3]
    array([0.1, 0.2, 0.3])
    """
    x = np.sort(x)
    values: FloatArray = x[np.append(True, x[1:] > x[:-1])]
    if len(values) <= FEW_VALUES:
        return (values[:-1] + values[1:]) / 2.0
    # The middles of quantile bins' neighbourhoods, each rounded as far as it goes.
    count = FEW_VALUES // 2
    shares, reach = np.arange(1, count) / count, ROUNDING / count
    places = np.linspace(0.0, 1.0, len(x))
    lower, upper = np.interp(shares - reach, places, x), np.interp(shares + reach, places, x)
    whole = bool(np.all(values == np.round(values)))
    pairs = zip(lower.tolist(), upper.tolist(), strict=True)
    found = [_between_whole(a) if whole else round_within(a, b) for a, b in pairs]
    inside = [t for t in dict.fromkeys(found) if values[0] < t <= values[-1]]
    return np.array(inside, dtype=np.float64)


def _between_whole(a: float) -> float:
    """Give the number half-way between two whole ones."""
    return floor(a) + 0.5


def round_within(a: float, b: float) -> float:
    """Give the roundest number from a to b.

    Examples
    --------
    >>> round_within(1.93, 2.0132), round_within(0.0213, 0.0262), round_within(3.0, 3.0)
    (2.0, 0.025, 3.0)
    """
    if not a < b:
        return float(a)
    if a <= 0.0 <= b:
        return 0.0
    power = ceil(log10(max(abs(a), abs(b))))
    for digits in range(power, power - 17, -1):
        for step in (1.0, 0.5):
            unit = step * 10.0**digits
            first = ceil(a / unit)
            if first * unit <= b:
                # Written again from its digits, so that 0.3 is 0.3 and not 0.30000000000000004.
                return float(f"{first * unit:.15g}")
    return float(b)
