"""Powers of truncated series, row by row, in the precision of what comes in."""

from __future__ import annotations

import numpy as np

from nn2poly.algebra.graded import FloatArray, Graded


def ray_powers(v: Graded, highest: int, max_order: int) -> list[Graded]:
    """Compute v, v², …, v^highest as `graded.powers` does, on rays, without zeros to add to.

    Parameters
    ----------
    v
        Parts (n_rows, h) by degree, in float64 or float32; ``v[0]`` is ignored.
    highest, max_order
        Highest power, highest degree.

    Returns
    -------
    list of lists of arrays (n_rows, h)
        Entry m - 1 holds the parts of v^m of degrees m, m + 1, …

    Examples
    --------
    (t + t²)² = t² + 2 t³ + …

    >>> one = np.ones((1, 1))
    >>> [part.item() for part in ray_powers([one, one, one], 2, 3)[1]]
    [1.0, 2.0]
    """
    first = v[1 : max_order + 1]
    result = [first]
    for m in range(2, min(highest, max_order) + 1):
        below = result[-1]
        reach = len(first) + len(below) - 1 if first and below else 0
        result.append([_part(first, below, k) for k in range(min(reach, max_order - m + 1))])
    return result


def _part(first: Graded, below: Graded, k: int) -> FloatArray:
    """Sum the products whose places add up to k."""
    low, high = max(0, k - len(below) + 1), min(k + 1, len(first))
    total = first[low] * below[k - low]
    product = np.empty_like(total)
    for j in range(low + 1, high):
        np.multiply(first[j], below[k - j], out=product)
        total += product
    return total
