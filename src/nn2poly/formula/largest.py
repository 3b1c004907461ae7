"""The largest entries of an array."""

from __future__ import annotations

import numpy as np

from nn2poly.arrays import FloatArray, IntArray


def largest(size: FloatArray, n: int) -> IntArray:
    """Give the places of the n largest entries, largest first, ties in order.

    Examples
    --------
    >>> largest(np.array([1.0, 5.0, 3.0]), 2)
    array([1, 2])
    """
    n = min(n, len(size))
    if n < len(size) // 4:
        candidates = np.sort(np.argpartition(-size, n)[: n + 1])
        # Ties with the last one kept must still come in order.
        candidates = np.flatnonzero(size >= size[candidates].min())
        return candidates[np.argsort(-size[candidates], kind="stable")][:n]
    return np.argsort(-size, kind="stable")[:n]
