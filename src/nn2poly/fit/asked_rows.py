"""Rows that only the model has seen: it can be asked anywhere, for the price of a forward pass.

Rows with a few columns from other rows fill the sample where it is thin. Rows with every column
shuffled are where explanations look, and keep a formula from running away there. Crossed rows are
all between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.inputs import Inputs
from nn2poly.rows.fit_rows import FitRows
from nn2poly.sampling import evenly

# How many of the columns of a mixed row come from elsewhere (design: 0.1), and what it weighs.
MIXED, MIXED_WEIGHT = 0.1, 0.3
# What rows with all columns shuffled weigh together, relative to the sample. On California (ReLU
# and tanh, seeds 0 and 1) orders 2 to 4 have an R² of .35 to .84 on such rows with .01, where order
# 4 has −6 without, and lose at most .002 on rows as they are but once .005; with .02 it was .46 to
# .89 and .004. A quarter of the rows is enough for that.
SHUFFLED_WEIGHT, SHUFFLED_SHARE, SHUFFLED_LEAST = 0.01, 0.25, 1_000
# What rows with one number at a bound weigh together: chosen among .02 to .4 on California, seeds 0
# and 1, in 16 and 64 regions of orders 2 and 3.
EDGE_WEIGHT = 0.1


@dataclass(frozen=True)
class Answered:
    """Rows, and the outputs (n, k) of the model on them."""

    rows: FitRows
    truth: FloatArray

    def some(self, chosen: BoolArray | IntArray) -> Answered:
        """Choose rows."""
        return Answered(self.rows.some(chosen), self.truth[chosen])


def shuffled_rows(
    rows: FitRows,
    inputs: Inputs,
    *,
    share: float = SHUFFLED_SHARE,
    weight: float = SHUFFLED_WEIGHT,
) -> FitRows:
    """Take every column of each row from another row, held within the bounds.

    Parameters
    ----------
    share
        Of the rows, as many as are made.
    weight
        Of the rows, what they weigh together.
    """
    rng = np.random.default_rng(len(rows))
    count = min(len(rows), max(SHUFFLED_LEAST, int(share * len(rows))))
    some = rows.some(evenly(len(rows), count))
    X = some.X.copy()
    for places in inputs.places:
        order = rng.permutation(len(rows))[:count]
        for place in places:
            X[:, place] = rows.X[order, place]
    factor = weight * rows.weights.sum() / max(some.weights.sum(), 1e-300)
    return replace(some, X=inputs.clipped(X), weights=factor * some.weights)


def crossed_rows(rows: FitRows, count: int, inputs: Inputs) -> FitRows:
    """Make rows with a share of their columns from other rows: of some one or two, of some all.

    The indicators of a factor move together. The draw is the same for the same rows.
    """
    # In an order of their own: that of the table changes nothing.
    rows = rows.some(np.argsort(rows.number, kind="stable"))
    rng = np.random.default_rng(len(rows))
    base = np.resize(rng.permutation(len(rows)), count)
    X, share = rows.X[base], rng.random(count)
    for places in inputs.places:
        some: IntArray = np.flatnonzero(rng.random(count) < share)
        donors = rng.integers(len(rows), size=len(some))
        for place in places:
            X[some, place] = rows.X[donors, place]
    return replace(rows.some(base), X=X)


def mixed_rows(rows: FitRows, count: int, inputs: Inputs) -> FitRows:
    """Make rows of which each column comes from another row with a small chance.

    The indicators of a factor move together. The draw is the same for the same rows. Each weighs
    `MIXED_WEIGHT` of a row.
    """
    rng = np.random.default_rng(len(rows))
    base, other = (rng.integers(len(rows), size=count) for _ in range(2))
    X = rows.X[base]
    moved: BoolArray = rng.random((count, len(inputs.columns))) < MIXED
    for number, places in enumerate(inputs.places):
        some: IntArray = np.flatnonzero(moved[:, number])
        donors = rng.permutation(other)[: len(some)]
        for place in places:
            X[some, place] = rows.X[donors, place]
    return replace(rows.some(base), X=X, weights=MIXED_WEIGHT * rows.weights[base])


def edge_rows(
    rows: FitRows, inputs: Inputs, *, share: float, weight: float = EDGE_WEIGHT
) -> FitRows:
    """Put one number of each row at one of its bounds, each in turn.

    Parameters
    ----------
    share, weight
        As in `shuffled_rows`.
    """
    ends = [
        (places[0], end)
        for column, places in zip(inputs.columns, inputs.places, strict=True)
        if column.kind == "number" and column.coordinates[0].function.is_bounded
        for end in (column.coordinates[0].function.low, column.coordinates[0].function.high)
    ]
    some = rows.some(evenly(len(rows), int(share * len(rows)) if ends else 0))
    X = some.X.copy()
    for number, (place, end) in enumerate(ends):
        X[number :: len(ends), place] = end
    factor = weight * rows.weights.sum() / max(some.weights.sum(), 1e-300)
    return replace(some, X=inputs.clipped(X), weights=factor * some.weights)


def weighed_down(rows: FitRows, truth: FloatArray, real: FloatArray) -> FitRows:
    """Let rows weigh less where the outputs on them spread further than on rows of the sample.

    Where columns go together, mixed ones lead the network far from all that it was trained on; a
    few such rows would decide what is fitted to all others.

    Parameters
    ----------
    truth, real
        Arrays (n, k) and (m, k): outputs on these rows, and on those of the sample.
    """
    if not len(rows):
        return rows
    spread = np.mean((truth - real.mean(axis=0)) ** 2, axis=0)
    ratio = float(np.mean(spread / np.maximum(real.var(axis=0), 1e-300)))
    return replace(rows, weights=rows.weights / max(1.0, ratio))
