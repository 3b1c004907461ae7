"""How sure an R² is: an interval by a bootstrap of the rows that it was judged on.

Rows are drawn again as they came: rows of one group, and rows that are equal, together. No
prediction is made again: R² is a ratio of sums over rows, so each draw only weighs sums that are
there already. It works in z = log(1 − R²), which is nearer to normal than R² is, and takes at each
end the wider of two intervals: z ± Student's quantile × its deviation, and the bootstrap-t, which
knows that rows with large errors are missing from a small sample. With errors of a cubic tail
either alone covers less (simulated: of 30 rows .56 and .63, of 500 .84 and .89; normal ones .94).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.sampling import Keys, hashed

# Draws of the bootstrap, whose standard error is then good to 3 %, and units that are drawn: more
# rows than these are put into as many bins by their hashes, which changes the error by no more.
DRAWS, MOST_UNITS = 500, 500
# The usual confidence, and the quantile of a normal distribution that goes with it.
CONFIDENCE, QUANTILE, TAILS = 0.95, 1.959964, (0.025, 0.975)
SEED = 5
# Two rows may tell nothing at all: R² is then anything above minus a googol.
FURTHEST = 230.0
# How much wider all of it is made: so many times, and so much more for each unit that is missing.
# Errors of formulas have heavy tails, which few rows do not show: without, 88 to 93 of 100
# intervals of 30 to 200 rows cover. Where the rows fitted as well as judged, in turn, their errors
# are not independent either (Bates, Hastie and Tibshirani 2023): without, 80 of 100 cover with 60
# rows, and 91 with 300 (benchmarks/honesty.py, which says how many do with it).
TAILED, FEW, FOLDED = 1.1, 6.0, 30.0
# How much wider than the normal interval the bootstrap-t may make it (taste; 1.5 in simulations).
WIDEST = 3.0


@dataclass(frozen=True)
class Judged:
    """What the rows of a card tell of one R²: sums of each unit, per output.

    Parameters
    ----------
    squared, weight, value, square
        Arrays (m, k): sums of the squared error, of the weight, of the output and of its square,
        the output being centred.
    """

    squared: FloatArray
    weight: FloatArray
    value: FloatArray
    square: FloatArray

    def left(self, counts: FloatArray) -> FloatArray:
        """Give 1 − R² (b,), its mean over the outputs, of draws (b, m) of the units."""
        squared, weight, value, square = (
            counts @ part for part in (self.squared, self.weight, self.value, self.square)
        )
        spread = square - value**2 / np.maximum(weight, 1e-300)
        return np.asarray((squared / np.maximum(spread, 1e-300)).mean(axis=1))

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """Give what each unit is of the error and of the variation, all outputs together: (m,)."""
        total = np.maximum(self.square.sum(axis=0), 1e-300)
        error = (self.squared / total).mean(axis=1)
        left = self.squared.sum(axis=0) / total
        spread = (left * self.square / total).mean(axis=1)
        return error / error.sum(), spread / spread.sum()


def r2_interval(
    truth: FloatArray,
    error: FloatArray,
    weights: FloatArray,
    keys: Keys,
    *,
    folded: bool = False,
) -> tuple[float, float] | None:
    """Bound R² on new rows of the same distribution, with a confidence of 95 %.

    Parameters
    ----------
    truth, error
        Arrays (n, k): outputs of the network, and errors; outputs that do not vary count nothing.
    weights, keys
        Arrays (n,): weights of the rows; rows with one key are drawn together.
    folded
        The errors are of several formulas, each fitted to the other rows.

    Returns
    -------
    low, high : None where there is nothing to draw

    Examples
    --------
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> low, high = r2_interval(x, 0.05 * np.sin(40 * x), np.ones(200), np.arange(200))
    >>> bool(0.97 < low < 0.985 < high < 0.99)
    True
    """
    units = _units(keys)
    count = int(units.max(initial=-1)) + 1
    varies = np.ptp(truth, axis=0) > 0.0 if len(truth) else np.zeros(0, dtype=bool)
    if count < 2 or not varies.any():
        return None
    judged = _sums(truth[:, varies], error[:, varies], weights, units, count)
    now = float(judged.left(np.ones((1, count)))[0])
    if now <= 0.0:
        return 1.0, 1.0
    draws = _draws(count)
    moved = np.log(np.maximum(judged.left(draws), 1e-300) / now)
    deviation = float(np.std(moved)) * np.sqrt(count / (count - 1.0))
    # Student's quantile (Cornish–Fisher), as the deviation is itself estimated.
    reach = (QUANTILE + (QUANTILE**3 + QUANTILE) / (4.0 * count)) * deviation
    parts = judged.shares()
    low, high = np.quantile(moved / _deviations(draws, *parts), TAILS)
    own = float(_deviations(np.ones((1, count)), *parts)[0])
    # One row that carries all error is missing from some draws, and their t is anything.
    most = WIDEST * reach
    wider = TAILED + (FOLDED if folded else FEW) / count
    worse, better = (wider * min(max(reach, side * own), most) for side in (-low, high))
    return 1.0 - float(now * np.exp(min(worse, FURTHEST))), 1.0 - float(now * np.exp(-better))


def _deviations(counts: FloatArray, error: FloatArray, spread: FloatArray) -> FloatArray:
    """Give the standard error (b,) of log(1 − R²) in draws (b, m), by its linear part."""
    first, second = counts @ error, counts @ spread
    # Shares of a draw without any error, or spread, are 0 / 0 of nothing.
    first, second = np.maximum(first, 1e-150), np.maximum(second, 1e-150)
    squares = counts @ error**2 / first**2 + counts @ spread**2 / second**2
    squares -= 2.0 * (counts @ (error * spread)) / (first * second)
    return np.asarray(np.sqrt(np.maximum(squares, 1.0 / counts.shape[1] ** 2)))


def _units(keys: Keys) -> IntArray:
    """Give what is drawn together one number (n,); many keys are binned."""
    units = np.unique(keys, return_inverse=True)[1]
    if units.max(initial=0) < MOST_UNITS:
        return units.astype(np.intp)
    return np.unique((hashed(keys, SEED) * MOST_UNITS).astype(np.intp), return_inverse=True)[1]


def _sums(
    truth: FloatArray, error: FloatArray, weights: FloatArray, units: IntArray, count: int
) -> Judged:
    # Squares of numbers near the largest ones would overflow.
    top = np.maximum(np.abs(truth).max(axis=0), np.abs(error).max(axis=0))
    top = np.where(top > 1e100, top, 1.0)
    truth, error = truth / top, error / top
    unit = np.maximum(truth.std(axis=0), 1e-300)
    centred, scaled = (truth - np.average(truth, axis=0, weights=weights)) / unit, error / unit
    parts = (scaled**2, np.ones_like(scaled), centred, centred**2)

    def summed(values: FloatArray) -> FloatArray:
        columns = [np.bincount(units, weights * column, count) for column in values.T]
        return np.stack(columns, axis=1)

    return Judged(*map(summed, parts))


def _draws(count: int) -> FloatArray:
    """Draw as many units as there are, again and again: how often each was drawn (b, m)."""
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(count, size=(DRAWS, count)) + count * np.arange(DRAWS)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=DRAWS * count).reshape(DRAWS, count)
    return counts.astype(np.float64)
