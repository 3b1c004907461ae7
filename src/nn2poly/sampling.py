"""Which rows are taken: one deterministic, well-spread choice for everything that thins or splits.

Every k-th row is no random sample: the seventh row of a calendar is always a Sunday. The golden
ratio fails as well, at periods that are Fibonacci numbers or close to them (144 rows a day). So a
row gets a hashed number in [0, 1): the hash of its place where rows are thinned, and the hash of
what it holds, or of its group, where rows are split. Then the order of the rows changes nothing,
and rows that are equal, or belong together, are on one side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError

Keys = npt.NDArray[np.uint64]

# Multipliers and shifts of splitmix64 (Steele, Lea & Flood 2014), and its odd step for seeds.
_MULTIPLY = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFT = (np.uint64(30), np.uint64(27), np.uint64(31))
_STEP = 0x9E3779B97F4A7C15
# Rows that are hashed at once: their bits stay in the cache.
_BATCH = 2048
# Places that are hashed at once while the smallest numbers are looked for: 8 MB.
_COUNTED = 2**20


def hashed(keys: npt.NDArray[Any], seed: int = 0) -> FloatArray:
    """Give whole numbers (n,) hashed numbers in [0, 1), the same ones always.

    Examples
    --------
    >>> numbers = hashed(np.arange(1000))
    >>> bool(abs(numbers[::7].mean() - 0.5) < 0.05), bool(hashed(np.array([3]))[0] == numbers[3])
    (True, True)
    """
    start = np.uint64((_STEP * (seed + 1)) % 2**64)
    bits = _mixed(keys.astype(np.uint64) + start)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def evenly(n_rows: int, most: int) -> IntArray:
    """Choose at most ``most`` of so many rows, in their order, whatever period they have.

    Examples
    --------
    >>> evenly(10, 4), evenly(2, 4)
    (array([3, 4, 5, 7]), array([0, 1]))
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.flatnonzero(hashed(np.arange(n_rows)) <= highest_number(n_rows, most))


def highest_number(n_rows: int, most: int) -> float:
    """Give the number up to which `hashed` chooses ``most`` of the places 0, 1, …, n_rows - 1.

    Only ``most`` numbers are kept meanwhile: there may be billions of rows.

    Examples
    --------
    >>> int((hashed(np.arange(50)) <= highest_number(50, 20)).sum())
    20
    """
    kept = np.zeros(0)
    for begin in range(0, n_rows, max(_COUNTED, most)):
        end = min(begin + max(_COUNTED, most), n_rows)
        kept = np.concatenate([kept, hashed(np.arange(begin, end))])
        if len(kept) > most:
            kept = np.partition(kept, most - 1)[:most]
    return float(kept.max(initial=0.0))


def row_keys(X: FloatArray) -> Keys:
    """Give rows (n, p) keys (n,) by what they hold: equal rows have equal keys.

    Examples
    --------
    >>> keys = row_keys(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    keys = np.zeros(len(X), dtype=np.uint64)
    for begin in range(0, len(X), _BATCH):
        here = slice(begin, begin + _BATCH)
        # Adding 0 turns -0 into 0, which is equal to it.
        bits = np.ascontiguousarray(X[here] + 0.0).view(np.uint64)
        steps = np.arange(1, X.shape[1] + 1, dtype=np.uint64) * np.uint64(_STEP)
        keys[here] = _mixed(bits + steps).sum(axis=1, dtype=np.uint64)
    return keys


def own_order(X: FloatArray) -> IntArray:
    """Give the places (n,) of rows (n, p) in an order that what they hold decides.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> bool(np.all(X[own_order(X)] == X[::-1][own_order(X[::-1])]))
    True
    """
    return np.argsort(row_keys(X), kind="stable")


def group_keys(groups: npt.ArrayLike, n_rows: int) -> Keys:
    """Check the groups of rows (n,), numbers or names, and give them keys (n,).

    Examples
    --------
    >>> group_keys(["ann", "bob", "ann"], 3)
    array([0, 1, 0], dtype=uint64)
    """
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InvalidInputError(
            "The groups do not fit the rows.",
            where="groups",
            expected=f"{n_rows:,} numbers or names, one for each row",
            found=f"shape {labels.shape}",
        )
    plain = labels.astype(str) if labels.dtype == object else labels
    return np.unique(plain, return_inverse=True)[1].astype(np.uint64)


def distinct(keys: Keys) -> int:
    """Count different keys."""
    return len(np.unique(keys))


def ranked(keys: Keys) -> FloatArray:
    """Give keys (n,) numbers in (0, 1) that are evenly spaced over the different ones.

    Where there are few, hashed numbers alone would leave one side empty now and then.

    Examples
    --------
    >>> ranked(np.array([7, 9, 7], dtype=np.uint64))
    array([0.25, 0.75, 0.25])
    """
    values, places = np.unique(keys, return_inverse=True)
    order = np.argsort(np.argsort(hashed(values), kind="stable"))
    return np.asarray((order[places] + 0.5) / len(values), dtype=np.float64)


def _mixed(bits: Keys) -> Keys:
    """Spread every bit over all others (splitmix64)."""
    bits = (bits ^ (bits >> _SHIFT[0])) * _MULTIPLY[0]
    bits = (bits ^ (bits >> _SHIFT[1])) * _MULTIPLY[1]
    return bits ^ (bits >> _SHIFT[2])
