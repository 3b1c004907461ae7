"""Graded composition: powers once, then any polynomial of them; for blocks and for rays.

A layer of h polynomials is *graded*: a list ``[V_0, V_1, …]`` whose entry d holds the
part of degree d, an array (rows_d, h). Entry 0 has one row. Missing entries are zero. What
the rows mean is the business of the `Product`: monomials (`blocks`) or sample rows (`rays`).

Without its constant a polynomial v starts at degree 1 and v^m at degree m, so a
composition truncated at degree Q needs the powers m ≤ Q and no other. Its two readers, the
composition Σ a_m v^m and its tail Σ a_m v^(m-1), are linear in the same powers.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Graded = list[FloatArray]


class Product(Protocol):
    """Multiplies a part of degree x by a part of degree y."""

    def empty(self, degree: int, width: int) -> FloatArray:
        """Allocate a zero part of one degree for ``width`` polynomials."""

    def add(self, out: FloatArray, x: int, a: FloatArray, y: int, b: FloatArray) -> None:
        """Add the product of ``a`` (degree x >= 1) and ``b`` (degree y >= 1) to ``out``."""


def powers(v: Graded, highest: int, max_order: int, product: Product) -> list[Graded]:
    """Compute v, v², …, v^highest, truncated; ``v[0]`` is ignored (taken as zero).

    Parameters
    ----------
    v
        Graded polynomials of width h.
    highest
        Highest power.
    max_order
        Highest degree that is kept.
    product
        How parts multiply.

    Returns
    -------
    list of lists of arrays
        Entry m - 1 holds the parts of v^m of degrees m, m + 1, … (those below are zero).
    """
    first = v[1 : max_order + 1]
    result = [first]
    for m in range(2, min(highest, max_order) + 1):
        result.append(_times(first, result[-1], m, max_order, product))
    return result


def _times(first: Graded, power: Graded, m: int, max_order: int, product: Product) -> Graded:
    """Multiply v by v^(m-1), both as lists that begin at their lowest degree."""
    length = min(len(first) + len(power) - 1, max_order - m + 1) if first and power else 0
    parts = []
    for k in range(length):
        part = product.empty(m + k, first[0].shape[1])
        for j in range(max(0, k - len(power) + 1), min(k + 1, len(first))):
            product.add(part, j + 1, first[j], m - 1 + k - j, power[k - j])
        parts.append(part)
    return parts


def combine(expansion: FloatArray, powers: list[Graded], max_order: int) -> Graded:
    """Sum ``a_0 + a_1 v + a_2 v² + …`` to degree ``max_order``.

    Parameters
    ----------
    expansion
        Array (m + 1, h): a_0, a_1, … for each of the h polynomials; or (m + 1, degrees, h)
        when the factor of v^m depends on the degree of the part that it multiplies.
    powers
        What `powers` gave; rows of the expansion without a power are not used.

    Returns
    -------
    list of arrays
        Degrees 0 to at most ``max_order``.
    """
    result = [at_degree(expansion, 0)[:1]]
    used = powers[: len(expansion) - 1]
    reach = max((m + len(parts) for m, parts in enumerate(used) if parts), default=0)
    for degree in range(1, min(max_order, reach) + 1):
        factors = at_degree(expansion, degree)
        parts = [
            factors[m] * power[degree - m]
            for m, power in enumerate(used, start=1)
            if 0 <= degree - m < len(power)
        ]
        result.append(sum(parts[1:], start=parts[0]))
    return result


def at_degree(expansion: FloatArray, degree: int) -> FloatArray:
    """Give the factors (m + 1, h) of the powers in the part of one degree.

    Examples
    --------
    >>> at_degree(np.arange(8.0).reshape(2, 2, 2), 1)
    array([[2., 3.],
           [6., 7.]])
    """
    factors: FloatArray = expansion[:, degree] if expansion.ndim == 3 else expansion
    return factors


def compose(v: Graded, expansion: FloatArray, max_order: int, product: Product) -> Graded:
    """Compose: ``Σ_m a_m v^m`` truncated at total degree ``max_order``.

    Examples
    --------
    The series (t)² + 2t of one polynomial v = t + t², to degree 3, on one ray:

    >>> from nn2poly.algebra.rays import RayProduct
    >>> v = [np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1))]
    >>> a = np.array([[0.0], [2.0], [1.0]])
    >>> [float(part[0, 0]) for part in compose(v, a, 3, RayProduct(1))]
    [0.0, 2.0, 3.0, 2.0]
    """
    return combine(expansion, powers(v, len(expansion) - 1, max_order, product), max_order)
