"""Bounds of numeric columns: where a formula holds a value at the edge.

A polynomial of an unbounded input is a bomb: one row with 1,243 occupants moved the R² of a cubic
to −971,354. So every number enters as clip(x, low, high). The bounds are the range of the rows to
fit, or quantiles of them where tails are heavy; how far to cut is chosen column by column, by what
a small regression of the network's outputs does on rows that are kept for choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from nn2poly.algebra.terms import Graded, Listed, Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.conversion.basis import design, orthonormal_basis
from nn2poly.conversion.fit_rows import FitRows
from nn2poly.conversion.folds import spread
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity

# Shares of the rows beyond each bound that are tried. The first is where the search starts.
BEYOND = (0.005, 0.02, 0.05)
# A tail is light while it ends within so many times the distance between the quantiles (taste).
LIGHT = 0.5
# A column of fewer values keeps its range: its quantiles are values that mean something (taste).
FEW_VALUES = 20
# Rows of the trial regressions, terms up to which they have products, and their strength.
TRIAL_ROWS, TRIAL_TERMS, TRIAL_RIDGE = 5_000, 150, 1e-4
# A tighter cut must lower the error on the rows kept for choices so much (taste).
GAIN = 0.005

Ends = tuple[float, float]


def bounded(inputs: Inputs, rows: FitRows, truth: FloatArray) -> Inputs:
    """Give every number its bounds.

    Parameters
    ----------
    inputs
        Indicators stay as they are, and so do columns that do not vary.
    rows, truth
        Rows to fit, and the network's outputs (n, k) on them.
    """
    held = _with_bounds(inputs, dict(_starts(inputs, rows)))
    places = trial_rows(rows)
    return held if places is None else _tightened(held, rows.some(places), truth[places])


def trial_rows(rows: FitRows) -> IntArray | None:
    """Choose rows of trial regressions, evenly; None where they are too few for one.

    The first rows of a table in calendar order would be one season.
    """
    if len(rows) < 10 * TRIAL_TERMS:
        return None
    return np.argsort(spread(np.arange(len(rows))))[:TRIAL_ROWS]


def _starts(inputs: Inputs, rows: FitRows) -> Iterator[tuple[int, Ends]]:
    """Give the first bounds of every number that varies: (number of the column, ends)."""
    for number, (column, places) in enumerate(zip(inputs.columns, inputs.places, strict=True)):
        if column.kind == "number" and column.coordinates[0].is_affine:
            x = rows.X[:, places[0]]
            ends = column_bounds(x, BEYOND[0], rows.weights)
            if ends is not None:
                yield number, ends


def _with_bounds(inputs: Inputs, ends: dict[int, Ends]) -> Inputs:
    columns = list(inputs.columns)
    for number, pair in ends.items():
        coordinate = columns[number].coordinates[0]
        new = replace(coordinate, function=Identity(*pair))
        columns[number] = replace(columns[number], coordinates=(new,))
    return replace(inputs, columns=tuple(columns))


def _tightened(inputs: Inputs, rows: FitRows, truth: FloatArray) -> Inputs:
    """Cut further, column by column, where that helps on the rows kept for choices."""
    error = trial(inputs, rows, truth)
    best = error(inputs)
    for number, (column, places) in enumerate(zip(inputs.columns, inputs.places, strict=True)):
        x = rows.X[:, places[0]]
        if column.kind != "number" or len(np.unique(x)) <= FEW_VALUES:
            continue
        for beyond in BEYOND[1:]:
            ends = _cut(x, beyond, rows.weights)
            if ends is None:
                break
            tried = _with_bounds(inputs, {number: ends})
            found = error(tried)
            if not found < (1.0 - GAIN) * best:
                break
            inputs, best = tried, found
    return inputs


def trial(inputs: Inputs, rows: FitRows, truth: FloatArray) -> Callable[[Inputs], float]:
    """Make a function that tells how well outputs are regressed on bounded inputs."""
    terms = _trial_terms(inputs)
    fit = rows.fold != 0
    mean, spread = truth.mean(axis=0), np.maximum(truth.std(axis=0), 1e-300)
    target = (truth - mean) / spread

    def error(tried: Inputs) -> float:
        z = tried.curved(rows.X)
        center, scale = z.mean(axis=0), z.std(axis=0)
        z = (z - center) / np.where(scale > 0, scale, 1.0)
        basis = orthonormal_basis(z, rows.weights, terms.max_order)
        matrix = design(terms.at(basis.carried(terms)), basis.values(z))
        gram = matrix[fit].T @ matrix[fit] / fit.sum()
        gram[np.diag_indices_from(gram)] += TRIAL_RIDGE
        found = np.linalg.solve(gram, matrix[fit].T @ target[fit] / fit.sum())
        return float(np.mean((target[~fit] - matrix[~fit] @ found) ** 2))

    return error


def _trial_terms(inputs: Inputs) -> Terms:
    """Choose the terms of the trial: all of order 2, or of numbers alone up to order 3."""
    full = Graded(inputs.n_features, 2)
    if len(full) <= TRIAL_TERMS:
        return full
    numbers: IntArray = np.array(
        [p[0] for c, p in zip(inputs.columns, inputs.places, strict=True) if c.kind == "number"],
        dtype=np.intp,
    )
    every = [(j,) for j in range(inputs.n_features)]
    powers = [(j,) * degree for degree in (2, 3) for j in numbers.tolist()]
    return Listed.of([(), *every, *powers], inputs.n_features)


def column_bounds(x: FloatArray, beyond: float, weights: FloatArray | None = None) -> Ends | None:
    """Choose bounds of one column: its range where tails are light, else quantiles.

    Examples
    --------
    >>> column_bounds(np.arange(100.0), 0.005)
    (0.0, 99.0)
    >>> column_bounds(np.array([2.0, 2.0]), 0.005)
    """
    low, high = float(x.min()), float(x.max())
    if not low < high:
        return None
    inner = _quantiles(x, beyond, np.ones(len(x)) if weights is None else weights)
    reach = LIGHT * (inner[1] - inner[0])
    first = low if low >= inner[0] - reach else inner[0]
    last = high if high <= inner[1] + reach else inner[1]
    return (first, last) if first < last else (low, high)


def _cut(x: FloatArray, beyond: float, weights: FloatArray) -> Ends | None:
    """Give quantiles of one column as bounds; None when they leave nothing."""
    first, last = _quantiles(x, beyond, weights)
    return (first, last) if first < last else None


def _quantiles(x: FloatArray, beyond: float, weights: FloatArray) -> Ends:
    """Give two quantiles; of the other values where one value holds nearly all rows."""
    first, last = _weighted(x, beyond, weights)
    if first < last:
        return first, last
    others = x != first
    low, high = _weighted(x[others], beyond, weights[others])
    return min(low, first), max(high, first)


def _weighted(x: FloatArray, beyond: float, weights: FloatArray) -> Ends:
    """Give the values below and above which a share of the weight lies."""
    order = np.argsort(x, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    # Sums of weights end at 1 but for rounding.
    places = np.minimum(np.searchsorted(share, [beyond, 1.0 - beyond]), len(x) - 1)
    low, high = x[order[places]].tolist()
    return low, high
