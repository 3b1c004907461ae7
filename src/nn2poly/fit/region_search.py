"""Where to split a region: what a correction of its residual would gain in both halves.

The rows are put into bins of a column, the moments of terms with themselves and with the residual
are summed in each, and both sides of every cut are solved from running sums: the exact greedy
search for the price of one Gram matrix. Columns are compared by few terms, and the best of them
searched again with those of the formula where these are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.region_cuts import cuts
from nn2poly.inputs import Column, Inputs

# Corrections are shrunk by so much, relative to terms of unit size (taste).
RIDGE = 1e-3


@dataclass(frozen=True)
class Cut:
    """A way to split: one column, at a threshold or by levels, and what it gains.

    Parameters
    ----------
    gain
        Squared error that corrections on both sides take away beyond one for all.
    column
        Position in ``Inputs.columns``.
    threshold, levels
        As in `nn2poly.formula.region_tree.Split`.
    """

    gain: float
    column: int
    threshold: float | None = None
    levels: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SearchRows:
    """Rows of one region to search on.

    Parameters
    ----------
    X, z
        Arrays (n, p): raw features, and coordinates of about unit size.
    weights
        Array (n,).
    residual
        Array (n, k): what is left of the outputs, in their units.
    terms, shrinkage
        Arrays (n, m) and (m,): terms to correct by, the constant first, and what each is shrunk;
        of no terms, each column and its square.
    """

    X: FloatArray
    z: FloatArray
    weights: FloatArray
    residual: FloatArray
    terms: FloatArray
    shrinkage: FloatArray


def find_cuts(rows: SearchRows, inputs: Inputs, least: int, most: int) -> list[Cut]:
    """Give the best cuts, each of another column, the most gainful first.

    The columns are those that gain most by one number of each column, and its square.

    Parameters
    ----------
    least
        Rows that both sides must have.
    most
        Cuts.
    """
    pairs = list(zip(inputs.columns, inputs.places, strict=True))
    scores = np.column_stack([_score(rows, *pair) for pair in pairs])
    # Without the squares, 16 regions of order 2 on bike (16 models of 2,000 and 3,000 rows, seeds
    # 0 and 1) lose .003, with all terms for every column .001.
    design = np.column_stack([np.ones(len(scores)), scores, scores**2])
    simple = replace(rows, terms=design, shrinkage=np.append(0.0, np.ones(design.shape[1] - 1)))
    tried = {k: _bins(simple, *pair) for k, pair in enumerate(pairs)}
    bins = {k: found for k, found in tried.items() if found is not None}
    found = _best_cuts(simple, bins, least)[:most]
    if not rows.terms.size:
        return found
    return _best_cuts(rows, {cut.column: bins[cut.column] for cut in found}, least)


def _best_cuts(rows: SearchRows, bins: Mapping[int, _Bins], least: int) -> list[Cut]:
    """Find the best cut of each column, by its number; the most gainful first."""
    tried = [_best(rows, number, found, least) for number, found in bins.items()]
    return sorted((cut for cut in tried if cut and cut.gain > 0), key=lambda cut: -cut.gain)


def _score(rows: SearchRows, column: Column, places: tuple[int, ...]) -> FloatArray:
    """Give one number (n,) of a column to correct by: of a factor the mean residual of its level.

    A hundred indicators instead would make the search ten times as long.
    """
    if len(places) == 1:
        return np.asarray(rows.z[:, places[0]])
    level = _levels(rows, column, places)
    shown, means = _along_main(level, rows.weights, rows.residual, len(places))
    score = np.zeros(len(places) + 1)
    score[shown] = means - means.mean()
    size = score.std()
    return np.asarray(score[level] / (size if size > 0 else 1.0))


@dataclass(frozen=True)
class _Bins:
    """The bin (n,) of each row; a cut stands after each but the last.

    Parameters
    ----------
    thresholds
        For a number: the cuts.
    order
        For a factor: the levels in the order of the bins.
    """

    of_row: IntArray
    count: int
    thresholds: FloatArray | None = None
    order: IntArray | None = None


def _bins(rows: SearchRows, column: Column, places: tuple[int, ...]) -> _Bins | None:
    if column.kind == "number":
        x = rows.X[:, places[0]]
        thresholds = cuts(x)
        if not len(thresholds):
            return None
        return _Bins(np.searchsorted(thresholds, x, side="right"), len(thresholds) + 1, thresholds)
    level = _levels(rows, column, places)
    count = max(2, len(places))
    order = _ordered(level, rows, count)
    if len(order) < 2:
        return None
    rank = np.full(count + 1, len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return _Bins(rank[level], len(order) + 1, order=order)


def _levels(rows: SearchRows, column: Column, places: tuple[int, ...]) -> IntArray:
    """Give the level (n,) that each row shows; one more than there are for none."""
    ends = column.ranges or ((0.0, 1.0),) * len(places)
    shown = rows.X[:, list(places)] == np.array([high for _, high in ends])
    if column.kind == "binary":
        return np.asarray(shown[:, 0], dtype=np.intp)
    none = np.full(len(shown), len(places), dtype=np.intp)
    return np.where(shown.any(axis=1), shown.argmax(axis=1), none)


def _ordered(level: IntArray, rows: SearchRows, count: int) -> IntArray:
    """Order the levels that rows show by what their residuals do along the columns.

    By their means alone, levels in which a slope differs would not be told apart.
    """
    moments = (rows.terms[:, :, None] * rows.residual[:, None, :]).reshape(len(level), -1)
    shown, along = _along_main(level, rows.weights, moments, count)
    return shown[np.argsort(along, kind="stable")]


def _along_main(
    level: IntArray, weights: FloatArray, values: FloatArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Give the levels that rows show, and the means of values (n, m) along their main direction."""
    by_level = (level[:, None] == np.arange(count)) * weights[:, None]
    weight = by_level.sum(axis=0)
    shown = np.flatnonzero(weight > 0)
    if not len(shown):
        return shown, np.zeros(0)
    means = (by_level.T @ values)[shown] / weight[shown, None]
    centred = means - np.average(means, axis=0, weights=weight[shown])
    direction = np.linalg.svd(centred * np.sqrt(weight[shown, None]), full_matrices=False)[2][0]
    # The sign of a direction is arbitrary: the largest entry is positive.
    direction *= np.sign(direction[np.abs(direction).argmax()]) or 1.0
    return shown, np.asarray(means @ direction)


def _best(rows: SearchRows, number: int, bins: _Bins, least: int) -> Cut | None:
    """Find the best cut of one column."""
    counts = np.cumsum(np.bincount(bins.of_row, minlength=bins.count))
    fine = np.flatnonzero((counts[:-1] >= least) & (counts[-1] - counts[:-1] >= least))
    if bins.order is not None:
        # After the last level stand only rows that show none.
        fine = fine[fine < len(bins.order) - 1]
    if not len(fine):
        return None
    grams, crosses = _running_moments(rows, bins)
    left = _explained(grams[fine], crosses[fine], rows.shrinkage)
    right = _explained(grams[-1] - grams[fine], crosses[-1] - crosses[fine], rows.shrinkage)
    gains = left + right - _explained(grams[-1:], crosses[-1:], rows.shrinkage)
    best = int(np.argmax(gains))
    place = int(fine[best])
    if bins.thresholds is not None:
        return Cut(float(gains[best]), number, threshold=float(bins.thresholds[place]))
    if bins.order is None:
        return None
    chosen = tuple(sorted(bins.order[: place + 1].tolist()))
    return Cut(float(gains[best]), number, levels=chosen)


def _running_moments(rows: SearchRows, bins: _Bins) -> tuple[FloatArray, FloatArray]:
    """Sum products of terms with terms (b, m, m), and with the residual (b, m, k), up to bins."""
    order = np.argsort(bins.of_row, kind="stable")
    ends = np.cumsum(np.bincount(bins.of_row, minlength=bins.count))
    root = np.sqrt(rows.weights[order, None])
    matrix, target = rows.terms[order] * root, rows.residual[order] * root
    m, k = matrix.shape[1], target.shape[1]
    grams, crosses = np.empty((bins.count, m, m)), np.empty((bins.count, m, k))
    for place, here in enumerate(_slices(ends)):
        grams[place] = matrix[here].T @ matrix[here]
        crosses[place] = matrix[here].T @ target[here]
    return np.cumsum(grams, axis=0), np.cumsum(crosses, axis=0)


def _slices(ends: IntArray) -> Iterator[slice]:
    begin = 0
    for end in ends.tolist():
        yield slice(begin, end)
        begin = end


def _explained(grams: FloatArray, crosses: FloatArray, shrinkage: FloatArray) -> FloatArray:
    """Give the squared error (b,) that fits take away."""
    # A trace of ridge keeps a system regular where terms are the same on all rows.
    ridge = grams[:, 0, 0, None, None] * np.diag(RIDGE * shrinkage + 1e-9)
    solved = np.linalg.solve(grams + ridge, crosses)
    return np.asarray((crosses * solved).sum(axis=(1, 2)))
