"""The part of the plane that the chart of network against polynomial shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray

# Share of values cut at each end to find the bulk, what is added around it in parts of its
# width, how much wider all values must be to be left out, and the margin beside the points:
# chosen by eye on the reports of the tests.
TAIL, REACH, WIDER, MARGIN = 0.02, 0.5, 1.5, 0.04
# With fewer values there is no bulk: 2 % of them are not one.
MIN_VALUES = 20


def scatter_views(
    truth: FloatArray, guess: FloatArray, *, whole: bool = False
) -> list[dict[str, Any]]:
    """Give for every output the ends of both axes, and how many rows they leave out.

    One row far off would press all others into a dot. The view is that of the bulk, unless all
    rows need little more space.

    Parameters
    ----------
    truth, guess
        Arrays (n, k): what network and polynomial give, on the scale that is shown.
    whole
        True to show every row: probabilities have ends, and of a rare class the few high ones are
        what matters.

    Examples
    --------
    >>> y = np.linspace(0.0, 1.0, 100)[:, None]
    >>> scatter_views(y, np.where(y == 1.0, -28_000.0, y))[0]["outside"]
    1
    >>> scatter_views(y, y)
    [{'all': [-0.04, 1.04], 'bulk': [-0.04, 1.04], 'outside': 0}]
    """
    return [_view(np.stack(pair), whole) for pair in zip(truth.T, guess.T, strict=True)]


def _view(pair: FloatArray, whole: bool) -> dict[str, Any]:
    # A target behind a link may be infinite; such rows cannot be drawn.
    pair = pair[:, np.isfinite(pair).all(axis=0)]
    if not pair.size:
        return {"all": [-1.0, 1.0], "bulk": [-1.0, 1.0], "outside": 0}
    least, most = float(pair.min()), float(pair.max())
    low, high = _bulk(np.sort(pair, axis=None))
    if whole or high <= low or most - least <= WIDER * (high - low):
        low, high = least, most
    outside = ((pair < low) | (pair > high)).any(axis=0)
    return {
        "all": _padded(least, most),
        "bulk": _padded(low, high),
        "outside": int(outside.sum()),
    }


def _bulk(values: FloatArray) -> tuple[float, float]:
    """Find the ends of the bulk of sorted values, never beyond the values."""
    least, most = float(values[0]), float(values[-1])
    if len(values) < MIN_VALUES:
        return least, most
    cut = int(np.ceil(TAIL * len(values)))
    low, high = float(values[cut]), float(values[-1 - cut])
    reach = REACH * (high - low)
    return max(least, low - reach), min(most, high + reach)


def _padded(low: float, high: float) -> list[float]:
    margin = MARGIN * (high - low) or 1.0
    return [low - margin, high + margin]
