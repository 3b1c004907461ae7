"""Where it fails: the leaves of a small tree grown on the squared error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log10

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.formula.region_tree import level_names
from nn2poly.inputs import Inputs
from nn2poly.sampling import hashed
from nn2poly.verdicts import Region

# A description of two conditions can still be read.
DEPTH = 2
# Thresholds tried per feature, the smallest leaf, how many features are searched, and how
# much worse than the whole a leaf must be to be worth a line: all a matter of taste.
N_THRESHOLDS = 15
MIN_ROWS, MIN_SHARE = 20, 0.05
MAX_FEATURES = 200
WORTH_A_LINE = 1.25
# … and by how many standard errors: the usual two, so that chance seldom finds one.
CERTAIN = 2.0
# A seed of its own: other hashes tell which rows a card is made of.
SEED = 2


@dataclass(frozen=True)
class _Cut:
    feature: int
    threshold: float
    above: bool

    def words(self, inputs: Inputs, X: FloatArray) -> str:
        """Say what the cut means on rows (n, p): of indicators which value, else the threshold."""
        j = self.feature
        column = inputs.columns[inputs.column_of[j]]
        low, high = (float(ends[j]) for ends in inputs.ends())
        # Other values than the two: saying which of them would not be what the cut does.
        two_values = bool(np.all((X[:, j] == low) | (X[:, j] == high)))
        if column.kind == "number" or not two_values:
            return f"{inputs.feature_names[j]} {'>' if self.above else '<='} {self.threshold:.15g}"
        if column.kind == "binary":
            return f"{column.name} is {level_names(inputs, inputs.column_of[j])[self.above]}"
        if column.levels == column.features:
            return f"{inputs.feature_names[j]} is {high if self.above else low:.15g}"
        level = column.levels[column.features.index(inputs.feature_names[j])]
        if self.above:
            return f"{column.name} is {level}"
        places = inputs.places[int(inputs.column_of[j])]
        shown = [k for k, place in enumerate(places) if place != j and np.ptp(X[:, place]) > 0.0]
        # Of two levels that the rows show, not the one is the other.
        rest = column.levels[shown[0]] if len(shown) == 1 else f"not {level}"
        return f"{column.name} is {rest}"


def worst_regions(X: FloatArray, errors: FloatArray, inputs: Inputs) -> tuple[Region, ...]:
    """Find the parts of the data where the polynomial is furthest from the network.

    Half of the rows choose the regions, the rest measure them, so that chance finds none.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    errors
        Array (n,): error of each row, one number for all outputs.
    inputs
        What the columns are: a level is called by its column, ``sex is male``.

    Examples
    --------
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> region = worst_regions(x, np.where(x[:, 0] > 0.75, 3.0, 0.1), Inputs.of(["rm"]))[0]
    >>> region.description.startswith("rm > 0.8")
    True
    """
    largest = float(np.max(np.abs(errors)))
    if largest == 0.0 or len(X) < 4 * MIN_ROWS:
        return ()
    squared = (errors / largest) ** 2
    chooses = hashed(np.arange(len(X)), SEED) < 0.5
    leaves = _grow(X[chooses], squared[chooses], np.arange(chooses.sum()), (), DEPTH)
    measured = (_measure(X, squared, ~chooses, cuts, inputs) for cuts, _ in leaves if cuts)
    regions = [replace(region, rmse=largest * region.rmse) for region in measured if region]
    return tuple(sorted(regions, key=lambda region: -region.rmse))


def _measure(
    X: FloatArray,
    squared: FloatArray,
    measures: BoolArray,
    cuts: tuple[_Cut, ...],
    inputs: Inputs,
) -> Region | None:
    """Measure a leaf on the rows that did not choose it; None when it is nothing special."""
    inside = np.ones(len(X), dtype=bool)
    for cut in cuts:
        inside &= (X[:, cut.feature] > cut.threshold) == cut.above
    here, overall = squared[inside & measures], float(squared[measures].mean())
    if len(here) < MIN_ROWS // 2 or overall == 0.0:
        return None
    doubt = float(here.std()) / np.sqrt(len(here))
    if here.mean() < WORTH_A_LINE**2 * overall or here.mean() - overall < CERTAIN * doubt:
        return None
    words = " and ".join(cut.words(inputs, X) for cut in _simplified(cuts, inputs))
    rmse = float(np.sqrt(squared[inside].mean()))
    return Region(words, int(inside.sum()), rmse, rmse / float(np.sqrt(squared.mean())))


def _simplified(cuts: tuple[_Cut, ...], inputs: Inputs) -> list[_Cut]:
    """Leave out what another cut of the same column says already: x > 1 beside x > 2.

    Of a factor, "town is x" says that it is no other level.
    """
    tightest: dict[tuple[int, bool], _Cut] = {}
    for cut in cuts:
        known = tightest.get((cut.feature, cut.above))
        if known is None or (cut.threshold > known.threshold) == cut.above:
            tightest[cut.feature, cut.above] = cut
    kept = list(tightest.values())
    shown = {int(inputs.column_of[cut.feature]) for cut in kept if _is_level(cut, inputs)}
    return [
        c for c in kept if _is_level(c, inputs) or int(inputs.column_of[c.feature]) not in shown
    ]


def _is_level(cut: _Cut, inputs: Inputs) -> bool:
    """Tell that a cut is the rows with one level of a factor."""
    return cut.above and inputs.columns[inputs.column_of[cut.feature]].kind == "factor"


def _grow(
    X: FloatArray, squared: FloatArray, rows: IntArray, cuts: tuple[_Cut, ...], depth: int
) -> list[tuple[tuple[_Cut, ...], IntArray]]:
    smallest = max(MIN_ROWS // 2, int(MIN_SHARE * len(X)))
    best = _best_split(X[rows], squared[rows], smallest) if depth else None
    if best is None:
        return [(cuts, rows)]
    feature, threshold = best[0], _readable(best[1], X[:, best[0]])
    above = X[rows, feature] > threshold
    if min(above.sum(), (~above).sum()) < smallest:
        return [(cuts, rows)]  # rounding the threshold moved rows across
    leaves = []
    for side, here in ((True, rows[above]), (False, rows[~above])):
        leaves += _grow(X, squared, here, (*cuts, _Cut(feature, threshold, side)), depth - 1)
    return leaves


def _readable(threshold: float, column: FloatArray) -> float:
    """Round a threshold to the digits that tell it from its neighbours."""
    spread = float(np.ptp(column))
    digits = max(4, ceil(log10(max(abs(threshold) / spread, 1.0))) + 3) if spread else 15
    return float(f"{threshold:.{digits}g}")


def _best_split(X: FloatArray, squared: FloatArray, smallest: int) -> tuple[int, float] | None:
    """Choose the threshold that separates small from large squared errors best."""
    total, n = float(squared.sum()), len(squared)
    best, gain = None, 1e-12 * total * total / n
    for feature in range(min(X.shape[1], MAX_FEATURES)):
        order = np.argsort(X[:, feature], kind="stable")
        column, sums = X[order, feature], np.cumsum(squared[order])
        thresholds = np.unique(np.quantile(column, np.linspace(0, 1, N_THRESHOLDS + 2)[1:-1]))
        below = np.searchsorted(column, thresholds, side="right")
        possible = np.minimum(below, n - below) >= smallest
        if not possible.any():
            continue
        below, part = below[possible], sums[below[possible] - 1]
        found = part**2 / below + (total - part) ** 2 / (n - below) - total**2 / n
        if found.max() > gain:
            best, gain = (feature, float(thresholds[possible][found.argmax()])), float(found.max())
    return best
