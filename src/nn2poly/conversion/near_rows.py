"""Rows between near rows of the sample, which only the network has seen.

They are where new rows will be. A region with few rows for each term learns from them what the
network does between its own, as if the sample were several times larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.conversion.fit_rows import FitRows
from nn2poly.inputs import Inputs

# Rows of a cell, in which each has its partner: between one and two times so many (taste; 6 were
# no better). Cells are cut anew for every partner, along other columns.
CELL = 12
# A number that takes at most so many values, or one of them in such a share of the rows, is taken
# from one of both rows: no row has an hour of 8.3, or a part of the usual capital gain of 0.
FEW_VALUES, SPIKE = 30, 0.05


def near_rows(rows: FitRows, count: int, inputs: Inputs, *, weight: float) -> FitRows:
    """Make rows between rows of the sample and near ones; the draw is the same for the same rows.

    Numbers lie on the line between both rows. Levels, and numbers of few values, come from either,
    each by itself: on bike sharing, all from the same row is worse by .004 (16 regions of order 3).

    Parameters
    ----------
    count
        As many are made, each row of the sample in turn.
    weight
        Of each, relative to its row of the sample.
    """
    rng = np.random.default_rng(len(rows))
    z = _unit_size(inputs.to_working(rows.X))
    is_smooth = [
        column.kind == "number" and _is_smooth(rows.X[:, places[0]])
        for column, places in zip(inputs.columns, inputs.places, strict=True)
    ]
    parts, base = [], np.arange(count) % len(rows)
    for begin in range(0, count, len(rows)):
        here = base[begin : begin + len(rows)]
        partner = _partners(z, rng)[here]
        parts.append(_between(rows.X[here], rows.X[partner], inputs.places, is_smooth, rng))
    X = np.concatenate([rows.X[:0], *parts])
    return replace(rows.some(base), X=X, weights=weight * rows.weights[base])


def _is_smooth(x: FloatArray) -> bool:
    """Tell a number of many values, none of which stands out."""
    counts = np.unique(x, return_counts=True)[1]
    return len(counts) > FEW_VALUES and counts.max() <= SPIKE * len(x)


def _between(
    one: FloatArray,
    other: FloatArray,
    places: Sequence[Sequence[int]],
    is_smooth: Sequence[bool],
    rng: np.random.Generator,
) -> FloatArray:
    X, share = one.copy(), rng.random((len(one), 1))
    for columns, smooth in zip(map(list, places), is_smooth, strict=True):
        moved = share if smooth else rng.random((len(one), 1)) < 0.5
        X[:, columns] += moved * (other[:, columns] - X[:, columns])
    return X


def _partners(z: FloatArray, rng: np.random.Generator) -> IntArray:
    """Give each row (n, p) another of its cell: its place.

    Cells are halved at their median, all at a time, along a column in which they are wide.
    """
    n = len(z)
    order, ends = rng.permutation(n), np.array([0, n])
    while ends[1] - ends[0] >= 2 * CELL:
        starts, sizes = ends[:-1], np.diff(ends)
        inside = z[order]
        wide = np.maximum.reduceat(inside, starts) - np.minimum.reduceat(inside, starts)
        axis = np.argmax(wide * rng.random(wide.shape), axis=1)
        cell = np.repeat(np.arange(len(sizes)), sizes)
        order = order[np.lexsort((inside[np.arange(n), axis[cell]], cell))]
        ends = np.sort(np.concatenate([ends, starts + sizes // 2]))
    # Within a cell, in a new order, each goes with the next, and the last with the first.
    cell = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = order[np.lexsort((rng.random(n), cell))]
    after = np.arange(1, n + 1)
    after[ends[1:] - 1] = ends[:-1]
    partner = np.empty(n, dtype=np.intp)
    partner[order] = order[after]
    return partner


def _unit_size(z: FloatArray) -> FloatArray:
    """Scale coordinates to unit size; one that does not vary stays 0."""
    size = z.std(axis=0)
    scaled: FloatArray = (z - z.mean(axis=0)) / np.where(size > 1e-12, size, 1.0)
    return scaled
