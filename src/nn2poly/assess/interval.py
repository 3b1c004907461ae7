"""How sure an R² is: an interval by a bootstrap of the rows that it was judged on.

Rows are drawn again as they came: rows of one group, and rows that are equal, together. No
prediction is made again: R² is a ratio of sums over rows, so each draw only weighs sums that are
there already. It works in z = log(1 − R²), which is nearer to normal than R² is, and takes at each
end the wider of two intervals: z ± Student's quantile × its deviation, and the bootstrap-t, which
knows that rows with large errors are missing from a small sample. With errors of a cubic tail
either alone covers less (simulated: of 30 rows .56 and .63, of 500 .84 and .89; normal ones .94).

Where outputs have heavy tails, single rows decide R², and the rows that decide it on new rows are
rarely among those at hand. So the interval is wider the heavier these tails are (Hill's estimator).
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
# How much wider than the normal interval the bootstrap-t may make it (taste; 1.5 in simulations),
# and how many times the error that the rows show it may reach where tails are light (taste).
WIDEST, MOST_WORSE = 3.0, 10.0
# Tail index below which single outputs count, and how much wider that may make the interval: the
# square of 4 / index. The mean of fourth powers is finite from an index of 4 on. Of inputs with
# tails of t(2), Cauchy and lognormal columns, ReLU networks, 300 and 1,000 rows, 43 to 63 of 100
# intervals cover without, 83 to 93 with (60 seeds from 0 on; benchmarks/honesty.py).
LIGHT_TAIL, MOST_HEAVY = 4.0, 4.0
# Rows that tell of a tail: the square root of all, and no fewer than these (the usual choice).
FEWEST_FAR = 5


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
    outputs: FloatArray | None = None,
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
    outputs
        Array (m, k): outputs of the network on more rows, which tell more of their tails.

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
    draws, parts = _draws(count), judged.shares()
    moved = np.log(np.maximum(judged.left(draws), 1e-300) / now)
    own = float(_deviations(np.ones((1, count)), *parts)[0])
    # One row that carries all error is missing from some draws: log(1 − R²) is anything there.
    deviation = min(float(np.std(moved)), own) * np.sqrt(count / (count - 1.0))
    # Student's quantile (Cornish–Fisher), as the deviation is itself estimated.
    reach = (QUANTILE + (QUANTILE**3 + QUANTILE) / (4.0 * count)) * deviation
    low, high = np.quantile(moved / _deviations(draws, *parts), TAILS)
    wider = TAILED + (FOLDED if folded else FEW) / count
    worse, better = (wider * min(max(reach, side * own), WIDEST * reach) for side in (-low, high))
    heavy = _heaviness(truth[:, varies] if outputs is None else outputs[:, varies])
    worse, better = heavy * min(worse, np.log(MOST_WORSE)), heavy * better
    return 1.0 - float(now * np.exp(min(worse, FURTHEST))), 1.0 - float(now * np.exp(-better))


def _heaviness(outputs: FloatArray) -> float:
    """Give how much wider the heaviest tail of outputs (m, k) makes an interval: 1 if light."""
    apart = np.sort(np.abs(outputs - np.median(outputs, axis=0)), axis=0)[::-1]
    count = min(max(FEWEST_FAR, int(np.sqrt(len(apart)))), len(apart) - 1)
    if count < 1:
        return 1.0
    far = np.log(np.maximum(apart[: count + 1], 1e-300))
    # The mean of the logarithms beyond the last one is the inverse of the index (Hill 1975).
    inverse = float((far[:-1] - far[-1]).mean(axis=0).max())
    return min(max(1.0, (LIGHT_TAIL * inverse) ** 2), MOST_HEAVY)


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
