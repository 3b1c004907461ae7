"""The inputs of the what-if panel: sliders, switches for two values, choosers for factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray

# Fewer rows cannot tell a column of two values from one that happens to show only two.
MIN_ROWS = 10
# Bars of the density behind a slider; how far it reaches beyond the range, in parts of it (taste).
BINS = 24
REACH = 0.15


@dataclass(frozen=True)
class Binary:
    """Range of the columns, ``low`` and ``high`` (p,), and the factors of two-valued ones."""

    low: FloatArray
    high: FloatArray
    factors: tuple[tuple[int, ...], ...]


def binary_columns(X: FloatArray, names: Sequence[str] | None = None) -> Binary:
    """Find the columns of X (n, p) with two values, and the factors that they form.

    Neighbouring columns are the levels of one factor when exactly one of them is at its high
    value in every row, as a conversion takes them; any other column is a factor of its own.
    With ``names``, a level that no row has (its column is 0 throughout, its name begins like
    its neighbour's) does not part the others; it is no level itself.

    Examples
    --------
    >>> X = np.tile([[0.0, 1.0, 5.0], [1.0, 0.0, 6.0], [1.0, 0.0, 7.0]], (4, 1))
    >>> binary_columns(X).factors
    ((0, 1),)
    """
    low, high = X.min(axis=0), X.max(axis=0)
    two = (low < high) & ((low == X) | (high == X)).all(axis=0)
    columns = np.flatnonzero(two).tolist() if len(X) >= MIN_ROWS else []
    absent = np.flatnonzero((low == 0.0) & (high == 0.0)).tolist() if names else []
    factors: list[tuple[int, ...]] = []
    while columns:
        run = _one_hot_run(columns, high == X, set(absent), names or ())
        factors.append(run)
        columns = columns[len(run) :]
    return Binary(low, high, tuple(factors))


def _one_hot_run(
    columns: list[int], is_high: npt.NDArray[np.bool_], absent: set[int], names: Sequence[str]
) -> tuple[int, ...]:
    """Extend from the first column while no two are high together and until always one is."""
    covered, run = is_high[:, columns[0]].copy(), [columns[0]]
    for j in columns[1:]:
        gap = range(run[-1] + 1, j)
        joined = all(i in absent and _head([names[run[-1]], names[i], names[j]]) for i in gap)
        if not joined or np.any(covered & is_high[:, j]):
            break
        run.append(j)
        covered |= is_high[:, j]
        if covered.all():
            return tuple(run)
    return (columns[0],)


def typical_row(X: FloatArray, binary: Binary) -> FloatArray:
    """Give the means, rounded to be read, and of every factor its most frequent level: (p,).

    Examples
    --------
    >>> X = np.tile([[0.0, 5.0], [1.0, 6.0], [1.0, 7.0]], (4, 1))
    >>> typical_row(X, binary_columns(X))
    array([1., 6.])
    """
    spread = np.maximum(X.std(axis=0), np.finfo(float).tiny)
    digits = np.clip(3 - np.floor(np.log10(spread)), -300, 300).astype(int)
    row = np.array(
        [round(m, d) for m, d in zip(X.mean(axis=0).tolist(), digits.tolist(), strict=True)]
    )
    row = np.where(np.ptp(X, axis=0) == 0, X[0], row) + 0.0  # no -0
    for factor in binary.factors:
        columns = list(factor)
        levels, counts = np.unique(X[:, columns], axis=0, return_counts=True)
        row[columns] = levels[counts.argmax()]
    return row


def controls(
    X: FloatArray,
    names: Sequence[str],
    binary: Binary,
    low: FloatArray,
    high: FloatArray,
    order: Sequence[int],
) -> list[dict[str, Any]]:
    """List the controls as plain data, the features that matter most first.

    Parameters
    ----------
    X
        Array (n, p) in raw units.
    low, high
        Arrays (p,): the range of validity.
    order
        All features, most important first.
    """
    factors = {j: factor for factor in binary.factors for j in factor}
    made: list[dict[str, Any]] = []
    done: set[int] = set()
    for j in order:
        if j in done:
            continue
        if j in factors:
            made.append(_choice(factors[j], X, names, binary))
            done.update(factors[j])
        else:
            made.append(_slider(j, X[:, j], names[j], float(low[j]), float(high[j])))
    return made


def _choice(
    factor: tuple[int, ...], X: FloatArray, names: Sequence[str], binary: Binary
) -> dict[str, Any]:
    columns = list(factor)
    title, levels = _split_names([names[j] for j in factor])
    return {
        "kind": "switch" if len(factor) == 1 else "levels",
        "name": title,
        "features": columns,
        "levels": levels,
        "low": binary.low[columns].tolist(),
        "high": binary.high[columns].tolist(),
        "shares": (binary.high == X)[:, columns].mean(axis=0).tolist(),
    }


def _split_names(names: list[str]) -> tuple[str, list[str]]:
    """Split ``column=level`` and ``column_level`` names when all are levels of one column."""
    head = _head(names) if len(names) > 1 else ""
    if head:
        return head[:-1], [name[len(head) :] for name in names]
    return (names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"), names


def _head(names: list[str]) -> str:
    """Find what all names begin with, up to the first ``=`` or else the last ``_``.

    Examples
    --------
    >>> _head(["sex=f_1", "sex=f_2"]), _head(["home_town_Rome", "home_town_Riga"])
    ('sex=', 'home_town_')
    """
    # What the first and the last in order share, all between them share.
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    common = first[: next((i for i, (a, b) in pairs if a != b), min(len(first), len(last)))]
    column, sign, _ = common.partition("=")
    head = column + sign if sign else common[: common.rfind("_") + 1]
    return head if len(head) > 1 and all(len(name) > len(head) for name in names) else ""


def _slider(j: int, column: FloatArray, name: str, low: float, high: float) -> dict[str, Any]:
    bottom, top = min(low, float(column.min())), max(high, float(column.max()))
    margin = REACH * (top - bottom) or max(1.0, abs(top))
    whole = bool(np.all(column == np.round(column)))
    first, last = bottom - margin, top + margin
    if whole:
        first, last = float(np.floor(first)), float(np.ceil(last))
    counts, _ = np.histogram(column, bins=BINS, range=(first, last))
    return {
        "kind": "number",
        "name": name,
        "features": [j],
        "min": first,
        "max": last,
        "low": low,
        "high": high,
        "whole": whole,
        "counts": counts.tolist(),
    }
