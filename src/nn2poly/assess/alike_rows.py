"""Rows that are not independent: near copies, clusters, and neighbours in a series.

The interval of R² draws rows one by one. Where a row has near copies, or resembles the one before
it, the rows kept for the card say less than so many independent ones: in simulations 0 to 50 of
100 intervals cover then. Nothing in the table says which rows belong together, so the card says
what it sees, and asks for ``groups=``.
"""

from __future__ import annotations

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.inputs import Inputs
from nn2poly.sampling import evenly
from nn2poly.verdicts import Alike

# Nearest rows of a row that are looked at, rows that are looked from, those that they are looked
# for among, and rows below which nothing is said (taste: a tenth of a second).
NEAREST, LOOKED_FROM, MOST_ROWS, FEWEST = 30, 200, 20_000, 40
# How much one gap between a row's neighbours exceeds the others. Simulated independent rows, of
# light and heavy tails, and 9 real tables have 2.9 to 4.3; clusters of 15 have 6 to 12 from 150
# rows on, rows in five copies 12 to 17.
GAP = 6.0
# How far neighbours in the table are apart, 1 for rows in any order. Simulated series with a
# correlation of .98 have .02 to .17, hourly rentals .10, the towns of Boston .19; rows sorted by
# one column 1, by classes (iris, wine) .36 and .46. A correlation of .7 has .3.
NEXT = 0.3


def find_alike(X: FloatArray, inputs: Inputs) -> Alike | None:
    """Tell whether rows (n, p), in the order of their table, come in clusters or as a series.

    Examples
    --------
    >>> inputs, rows = Inputs.of(["a", "b"]), np.random.default_rng(0).normal(size=(200, 2))
    >>> find_alike(rows, inputs)
    >>> find_alike(np.repeat(rows, 3, axis=0) + 1e-6 * np.arange(600)[:, None], inputs)
    Alike(clusters=True, series=False)
    >>> find_alike(rows.cumsum(axis=0), inputs)
    Alike(clusters=False, series=True)
    """
    places = [
        place
        for column, (place, *_) in zip(inputs.columns, inputs.places, strict=True)
        if column.kind == "number"
    ]
    if len(X) < FEWEST or not places:
        return None
    numbers = X[:, places]
    found = Alike(_largest_gap(numbers) > GAP, _distance_of_next(numbers) < NEXT)
    return found if found.clusters or found.series else None


def _largest_gap(X: FloatArray) -> float:
    """Compare the largest gap between the neighbours of a row with the mean one: half have more.

    Of independent rows, the logarithms of the distances of the nearest ones have gaps that are
    exponential with a mean of 1 / k (Rényi), in as many dimensions as there may be.
    """
    X = np.unique(X[evenly(len(X), MOST_ROWS)], axis=0)
    # In few values, all rows are alike.
    many = [j for j in range(X.shape[1]) if 2 * len(np.unique(X[:, j])) > len(X)]
    if len(X) < FEWEST or not many:
        return 0.0
    ranks, some = _ranks(X[:, many]), evenly(len(X), LOOKED_FROM)
    squares = (ranks**2).sum(axis=1)
    apart = squares[some, None] + squares - 2.0 * ranks[some] @ ranks.T
    apart[np.arange(len(some)), some] = np.inf
    count = min(NEAREST, len(X) // 4)
    nearest = np.sort(np.partition(apart, count, axis=1)[:, :count], axis=1)
    # The rank of a row is known to half a step.
    logs = 0.5 * np.log(np.maximum(nearest, 0.25 / len(X) ** 2))
    gaps = np.diff(logs, axis=1) * np.arange(1, count)
    return float(np.median(gaps.max(axis=1) / np.maximum(gaps.mean(axis=1), 1e-300)))


def _distance_of_next(X: FloatArray) -> float:
    """Give the mean squared distance of neighbours in the table relative to that of any two rows.

    The column in which they are nearest does not count: a table may be sorted by it.
    """
    varies: IntArray = np.flatnonzero(np.ptp(X, axis=0) > 0.0)
    if len(varies) < 2:
        return 1.0
    ranks = _ranks(X[:, varies])
    ratio = (np.diff(ranks, axis=0) ** 2).mean(axis=0) / (2.0 * ranks.var(axis=0))
    return float(np.sort(ratio)[1:].mean())


def _ranks(X: FloatArray) -> FloatArray:
    """Give the ranks of values (n, p) in their columns, between 0 and 1, the middle one of ties."""
    found = np.empty_like(X)
    for j, column in enumerate(X.T):
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        found[:, j] = (np.cumsum(count) - count / 2.0)[place] / len(X)
    return found
