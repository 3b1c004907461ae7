"""A few rows that carry the error, and the columns in which they lie far out."""

from __future__ import annotations

from math import isnan

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.verdicts import FarColumn, Tail

# The share of rows that are left out, and the rows from which that means anything (taste).
WORST_SHARE, MIN_ROWS = 0.01, 20
# How much better, and how good at least, R² must be without them: chosen on California
# housing, where the 51 worst rows turn 0.94 into -135 (docs/fidelity.md).
RISE, GOOD = 0.1, 0.5
# A column counts when a row is so many spreads from its median; so many are named (taste).
FAR, MAX_COLUMNS = 4.0, 2
# Quartiles of a normal distribution are this many standard deviations apart.
NORMAL_IQR = 1.349


def worst_rows(errors: FloatArray) -> IntArray:
    """Pick the hundredth of the rows, at least one, with the largest errors (n,) ≥ 0.

    Examples
    --------
    >>> worst_rows(np.array([0.1, 7.0, 0.2]))
    array([1])
    """
    count = max(1, int(WORST_SHARE * len(errors)))
    return np.sort(np.argsort(errors, kind="stable")[-count:])


def find_tail(
    X: FloatArray, errors: FloatArray, r2: float, r2_without: float, names: tuple[str, ...]
) -> Tail | None:
    """Tell whether the worst rows carry the error, and in which columns they lie far out.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    errors
        Array (n,) ≥ 0: error of each row, one number for all outputs.
    r2, r2_without
        R² of all rows, and without `worst_rows`.

    Examples
    --------
    >>> x = np.append(np.linspace(0, 1, 99), 50.0)[:, None]
    >>> find_tail(x, x[:, 0] ** 3, -9.0, 0.9, ("age",)).columns
    (FarColumn(name='age', value=50.0, median=0.505...),)
    """
    unknown = isnan(r2) or isnan(r2_without)
    if unknown or len(X) < MIN_ROWS or r2_without < GOOD or r2_without - r2 < RISE:
        return None
    worst = worst_rows(errors)
    return Tail(len(worst), r2_without, _far_columns(X, worst, errors[worst], names))


def _far_columns(
    X: FloatArray, rows: IntArray, errors: FloatArray, names: tuple[str, ...]
) -> tuple[FarColumn, ...]:
    """Name the columns of the largest distances, each row weighing as its squared error."""
    median = np.median(X, axis=0)
    distance = np.abs(X[rows] - median) / _spread(X)
    weight = (errors / errors.max()) ** 2
    mean = weight @ distance / weight.sum()
    far = [j for j in np.argsort(-mean) if mean[j] >= max(FAR, mean.max() / 2)][:MAX_COLUMNS]
    at = rows[np.argmax(weight[:, None] * distance, axis=0)]
    return tuple(FarColumn(names[j], float(X[at[j], j]), float(median[j])) for j in far)


def _spread(X: FloatArray) -> FloatArray:
    low, high = np.quantile(X, (0.25, 0.75), axis=0)
    # A column that is mostly one value has no quartiles to speak of.
    spread = np.where(high > low, (high - low) / NORMAL_IQR, X.std(axis=0))
    # Nothing is far out in a column of one or two values.
    few = np.all((X.min(axis=0) == X) | (X.max(axis=0) == X), axis=0)
    return np.asarray(np.where(few | (spread == 0), np.inf, spread), dtype=np.float64)
