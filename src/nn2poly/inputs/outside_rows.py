"""Rows unlike those that a conversion saw: outside its range, or of no level of a factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nn2poly.arguments import listed, plural
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.errors import OutsideRangeWarning, warn_user
from nn2poly.inputs.column import Column

# Shares of levels sum to 1 but for rounding.
WHOLE = 1e-6


def outside_range(X: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Mark the entries of X (n, p) outside ``low … high`` (p,), rounding aside.

    Examples
    --------
    >>> outside_range(np.array([[0.5], [2.0]]), np.zeros(1), np.ones(1)).ravel()
    array([False,  True])
    """
    slack = 1e-9 * (high - low) + 1e-12 * np.maximum(np.abs(low), np.abs(high))
    result: BoolArray = (low - slack > X) | (high + slack < X)
    return result


def warn_outside(
    X: FloatArray,
    low: FloatArray,
    high: FloatArray,
    names: Sequence[str],
    *,
    held: BoolArray | None = None,
) -> None:
    """Warn about rows of X (n, p) outside the range that a conversion saw.

    ``held`` (p,) marks the features that the formula holds at an edge.
    """
    bad = outside_range(X, low, high)
    rows, columns = int(bad.any(axis=1).sum()), np.flatnonzero(bad.any(axis=0)).tolist()
    if not rows:
        return
    places = [f"{names[j]!r} (seen {low[j]:.4g} to {high[j]:.4g})" for j in columns]
    lie = "lies" if rows == 1 else "lie"
    warn_user(
        f"{rows:,} of {plural(len(X), 'row')} {lie} outside the range that the polynomial was "
        f"calibrated on, in {listed(places, str)}. "
        + _there([held is not None and bool(held[j]) for j in columns])
        + "; calibrate on data that cover them, or trust the network instead.",
        OutsideRangeWarning,
    )


def _there(held: Sequence[bool]) -> str:
    """Say what happens outside, in columns that are held or not."""
    if all(held):
        return "They are held at its edge, where the network may go on"
    if any(held):
        return "Some columns are held at its edge; in the others it can be far from its network"
    return "A polynomial can be far from its network there"


def warn_levels(
    features: FloatArray,
    columns: Sequence[Column],
    places: Sequence[tuple[int, ...]],
    ends: tuple[FloatArray, FloatArray],
) -> None:
    """Warn about rows of features (n, p) that do not show one level of a factor.

    Text always is one level; 0/1 columns of an array may say none, or two. Shares of levels
    that sum to 1 are a mean of rows.

    Parameters
    ----------
    columns, places
        Those of the inputs.
    ends
        Arrays (p,), (p,): the two values that an indicator of each feature takes.
    """
    off, on = ends
    pairs = zip(columns, places, strict=True)
    for column, at in ((c, list(p)) for c, p in pairs if c.kind == "factor"):
        shares = (features[:, at] - off[at]) / (on[at] - off[at])
        shown = (shares != 0.0).sum(axis=1)
        whole = np.abs(shares.sum(axis=1) - 1.0) <= WHOLE
        wrong = np.flatnonzero((shown != 1) & ~whole & ~np.isnan(shares).any(axis=1))
        if len(wrong):
            _warn_level(column.name, wrong, len(features), int(shown[wrong[0]]))


def _warn_level(name: str, rows: IntArray, n_rows: int, shown: int) -> None:
    """Warn about rows (by number) that show no level of a factor, or several."""
    found = "no level" if shown == 0 else f"{shown} levels"
    count, do = f"{len(rows):,} of {plural(n_rows, 'row')}", "does" if len(rows) == 1 else "do"
    warn_user(
        f"{count} (the first is row {rows[0]}) {do} not show one level of {name!r}: {found} there. "
        "No such row was seen in the conversion, and what the formula gives for it means little.",
        OutsideRangeWarning,
    )
