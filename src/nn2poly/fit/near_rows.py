"""Rows between near rows of the sample, which only the network has seen.

They are where new rows will be. A region with few rows for each term learns from them what the
network does between its own, as if the sample were several times larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.region_cuts import FEW_VALUES
from nn2poly.inputs import Inputs
from nn2poly.rows.fit_rows import FitRows

# Rows of a cell, in which each has its partner: between one and two times so many (taste; 6 were
# no better). Cells are cut anew for every partner, along other columns.
CELL = 12
# A number of few values, or one of which such a share of the rows have one value (taste), is taken
# from one of both rows: no row has an hour of 8.3, or a part of the usual capital gain of 0.
SPIKE = 0.05


def near_rows(rows: FitRows, count: int, inputs: Inputs, *, weight: float) -> FitRows:
    """Make rows between rows of the sample and near ones; the draw is the same for the same rows.

    Numbers lie on the line between both rows. Levels, and numbers of few values, come from either,
    each by itself: all from the same row was worse by .004 on bike (16 regions of order 3). Only
    flags are taken together, as they may exclude each other: no forest has two types of soil.

    Parameters
    ----------
    count
        As many are made, each row of the sample in turn.
    weight
        Of each, relative to its row of the sample.
    """
    rng = np.random.default_rng(len(rows))
    kinds = [_kind(rows.X[:, list(places)]) for places in inputs.places]
    # Cells along flags, of which there may be many, would be wide in the numbers.
    flags = [places[0] for places, kind in zip(inputs.places, kinds, strict=True) if kind == "flag"]
    z = unit_size(np.delete(inputs.to_working(rows.X), flags, axis=1))
    parts, base = [], np.arange(count) % len(rows)
    for begin in range(0, count, len(rows)):
        here = base[begin : begin + len(rows)]
        partner = _partners(z, rng)[here]
        parts.append(_between(rows.X[here], rows.X[partner], inputs.places, kinds, rng))
    X = np.concatenate([rows.X[:0], *parts])
    return replace(rows.some(base), X=X, weights=weight * rows.weights[base])


def _kind(x: FloatArray) -> str:
    """Tell a number of many values, none of which stands out, flags, and others."""
    if x.shape[1] > 1:
        return "other"
    counts = np.unique(x, return_counts=True)[1]
    if len(counts) <= 2:
        return "flag"
    smooth = len(counts) > FEW_VALUES and counts.max() <= SPIKE * len(x)
    return "smooth" if smooth else "other"


def _between(
    one: FloatArray,
    other: FloatArray,
    places: Sequence[Sequence[int]],
    kinds: Sequence[str],
    rng: np.random.Generator,
) -> FloatArray:
    X, share, side = one.copy(), *rng.random((2, len(one), 1))
    for columns, kind in zip(map(list, places), kinds, strict=True):
        apart = side if kind == "flag" else rng.random((len(one), 1))
        X[:, columns] += (share if kind == "smooth" else apart < 0.5) * (
            other[:, columns] - X[:, columns]
        )
    return X


def _partners(z: FloatArray, rng: np.random.Generator) -> IntArray:
    """Give each row (n, p) another of its cell: its place.

    Cells are halved at their median, all at a time, along a column in which they are wide. Without
    columns there is one.
    """
    n = len(z)
    n_cells = 2 ** int(np.log2(max(n / CELL, 1.0))) if z.shape[1] else 1
    # So that all have the same size, a few rows are in two.
    order = np.resize(rng.permutation(n), (1, -(-n // n_cells) * n_cells))
    while len(order) < n_cells:
        inside = z[order]
        wide = np.ptp(inside, axis=1)
        axis = np.argmax(wide * rng.random(wide.shape), axis=1)
        along = np.take_along_axis(inside, axis[:, None, None], axis=2)[:, :, 0]
        half = order.shape[1] // 2
        turn = np.argpartition(along, half, axis=1)
        order = np.take_along_axis(order, turn, axis=1).reshape(-1, half)
    # Within a cell, in a new order, each goes with the next, and the last with the first.
    order = rng.permuted(order, axis=1)
    partner = np.empty(n, dtype=np.intp)
    partner[order] = np.roll(order, 1, axis=1)
    return partner


def unit_size(z: FloatArray) -> FloatArray:
    """Centre coordinates and scale them to unit size; one that does not vary stays 0."""
    size = z.std(axis=0)
    scaled: FloatArray = (z - z.mean(axis=0)) / np.where(size > 1e-12, size, 1.0)
    return scaled
