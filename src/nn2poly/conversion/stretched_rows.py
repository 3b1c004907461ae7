"""How many regions of a small table hold where its rows end.

Rows that are left out seldom lie further out than those that a region is fitted to, and new rows
do. So the network is asked for rows beyond near rows, two and three times as far apart as these are
within the range of the sample: a region that runs away shows there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.conversion.near_rows import near_rows
from nn2poly.conversion.problem import Problem

# How many times the distance of near rows, and rows of each for every row of the sample.
DISTANCES, TIMES = (2.0, 3.0), 6
# One more region may lose so much of R² on these rows. Without a limit, 8 regions of order 2 on 800
# rows of bike (ReLU, seed 0) have .78 on new rows for .82 with 4; most steps gain far more.
LOSS = 0.005


def most_that_hold(
    problem: Problem, values: Callable[[int, FloatArray], FloatArray], most: int
) -> int:
    """Give the most regions up to which none is much less close on stretched rows than fewer.

    Parameters
    ----------
    problem
        With the rows to fit, of which there are few.
    values
        Gives the outputs (n, k) of the formula of so many regions on rows (n, p).
    most
        Most regions.
    """
    parts = [(X, problem.truth(X)) for X in _stretched(problem)]
    finite = [np.all(np.isfinite(truth), axis=1) for _, truth in parts]
    pairs = zip(parts, finite, strict=True)
    kept = [(X[fine], truth[fine]) for (X, truth), fine in pairs if fine.any()]
    if not kept:
        # A model that answers nowhere out there says nothing against any of them.
        return most
    best = -np.inf
    for number in range(1, most + 1):
        close = float(np.mean([mean_r2(truth, values(number, X)) for X, truth in kept]))
        if close < best - LOSS:
            return number - 1
        best = max(best, close)
    return most


def _stretched(problem: Problem) -> Iterator[FloatArray]:
    """Make rows beyond near ones, held within the range of the sample."""
    rows = problem.fit_rows
    near = near_rows(rows, TIMES * len(rows), problem.inputs, weight=1.0).X
    base = rows.X[np.arange(len(near)) % len(rows)]
    low, high = rows.X.min(axis=0), rows.X.max(axis=0)
    for distance in DISTANCES:
        # What is 0 or 1 stays so: beyond the range it is held.
        yield np.clip(base + distance * (near - base), low, high)
