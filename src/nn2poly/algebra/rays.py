"""Rays: a polynomial along t·x is a univariate series in t, one coefficient per degree.

The part of degree d on n sample rows is an array (n, h): the value of the homogeneous part
of degree d at each row. Products are elementwise, so a composition costs a few forward
passes and never sees a monomial.
"""

from __future__ import annotations

from nn2poly.algebra.graded import Blocks, sum_of_products
from nn2poly.arrays import FloatArray


def ray_powers(v: Blocks, highest: int, max_order: int) -> list[Blocks]:
    """Compute v, v², …, v^highest on rays, in the precision of what comes in.

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

    >>> import numpy as np
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


def _part(first: Blocks, below: Blocks, k: int) -> FloatArray:
    """Sum the products whose places add up to k."""
    places = range(max(0, k - len(below) + 1), min(k + 1, len(first)))
    return sum_of_products([(first[j], below[k - j]) for j in places])
