"""Where it fails: the leaves of a small tree grown on the squared error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nn2poly.cards import Region

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

DEPTH = 2
# Thresholds tried per feature, the smallest leaf, how many features are searched, and how
# much worse than the whole a leaf must be to be worth a line.
N_THRESHOLDS = 15
MIN_ROWS, MIN_SHARE = 20, 0.05
MAX_FEATURES = 200
WORTH_A_LINE = 1.25


@dataclass(frozen=True)
class _Cut:
    feature: int
    threshold: float
    above: bool

    def words(self, names: tuple[str, ...]) -> str:
        return f"{names[self.feature]} {'>' if self.above else '<='} {self.threshold:.4g}"


def worst_regions(X: FloatArray, errors: FloatArray, names: tuple[str, ...]) -> tuple[Region, ...]:
    """Find the parts of the data where the polynomial is furthest from the network.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    errors
        Array (n,): error of each row, one number for all outputs.

    Examples
    --------
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> region = worst_regions(x, np.where(x[:, 0] > 0.75, 3.0, 0.1), ("rm",))[0]
    >>> region.description.startswith("rm > 0.7")
    True
    """
    squared = errors**2
    overall = float(np.sqrt(squared.mean()))
    if overall == 0.0 or len(X) < 2 * MIN_ROWS:
        return ()
    leaves = _grow(X, squared, np.arange(len(X)), (), DEPTH)
    regions = []
    for cuts, rows in leaves:
        rmse = float(np.sqrt(squared[rows].mean()))
        if cuts and rmse >= WORTH_A_LINE * overall:
            words = " and ".join(cut.words(names) for cut in cuts)
            regions.append(Region(words, len(rows), rmse, rmse / overall))
    return tuple(sorted(regions, key=lambda region: -region.rmse))


def _grow(
    X: FloatArray, squared: FloatArray, rows: IntArray, cuts: tuple[_Cut, ...], depth: int
) -> list[tuple[tuple[_Cut, ...], IntArray]]:
    smallest = max(MIN_ROWS, int(MIN_SHARE * len(X)))
    best = _best_split(X[rows], squared[rows], smallest) if depth else None
    if best is None:
        return [(cuts, rows)]
    feature, threshold = best
    above = X[rows, feature] > threshold
    leaves = []
    for side, here in ((True, rows[above]), (False, rows[~above])):
        leaves += _grow(X, squared, here, (*cuts, _Cut(feature, threshold, side)), depth - 1)
    return leaves


def _best_split(X: FloatArray, squared: FloatArray, smallest: int) -> tuple[int, float] | None:
    """Choose the threshold that separates small from large squared errors best."""
    total, n = float(squared.sum()), len(squared)
    best, gain = None, 1e-12 * total * total / n
    for feature in range(min(X.shape[1], MAX_FEATURES)):
        column = X[:, feature]
        for threshold in np.unique(np.quantile(column, np.linspace(0, 1, N_THRESHOLDS + 2)[1:-1])):
            above = column > threshold
            count, part = int(above.sum()), float(squared[above].sum())
            if min(count, n - count) < smallest:
                continue
            found = part**2 / count + (total - part) ** 2 / (n - count) - total**2 / n
            if found > gain:
                best, gain = (feature, float(threshold)), found
    return best
