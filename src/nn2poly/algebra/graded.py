"""Blocks composition: powers once, then any polynomial of them; for blocks and for rays.

A layer of h polynomials is *graded*: a list ``[V_0, V_1, …]`` whose entry d holds the
part of degree d, an array (rows_d, h). Entry 0 has one row. Missing entries are zero. What
the rows mean is the business of what computes powers: monomials (`blocks`) or sample rows (`rays`).

Without its constant a polynomial v starts at degree 1 and v^m at degree m, so a
composition truncated at degree Q needs the powers m ≤ Q and no other. Its two readers, the
composition Σ a_m v^m and its tail Σ a_m v^(m-1), are linear in the same powers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nn2poly.arrays import FloatArray

Blocks = list[FloatArray]


# Computes v, v², …, v^highest to a highest degree; entry m - 1 holds the parts of v^m of degrees
# m, m + 1, …; the constant of v is ignored (taken as zero).
Powers = Callable[[Blocks, int, int], list[Blocks]]


def combine(expansion: FloatArray, powers: list[Blocks], max_order: int) -> Blocks:
    """Sum ``a_0 + a_1 v + a_2 v² + …`` to degree ``max_order``.

    Parameters
    ----------
    expansion
        Array (m + 1, h): a_0, a_1, … for each of the h polynomials; or (m + 1, degrees, h)
        when the factor of v^m depends on the degree of the part that it multiplies.
    powers
        The powers v, v², …; rows of the expansion without a power are not used.

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
            (factors[m], power[degree - m])
            for m, power in enumerate(used, start=1)
            if 0 <= degree - m < len(power)
        ]
        result.append(sum_of_products(parts))
    return result


def sum_of_products(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Add up elementwise products, with one array beside the sum."""
    total: FloatArray = pairs[0][0] * pairs[0][1]
    if len(pairs) > 1:
        product = np.empty_like(total)
        for a, b in pairs[1:]:
            total += np.multiply(a, b, out=product)
    return total


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


def compose(v: Blocks, expansion: FloatArray, max_order: int, powers: Powers) -> Blocks:
    """Compose: ``Σ_m a_m v^m`` truncated at total degree ``max_order``.

    Examples
    --------
    The series (t)² + 2t of one polynomial v = t + t², to degree 3, on one ray:

    >>> from nn2poly.algebra.rays import ray_powers
    >>> v = [np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1))]
    >>> a = np.array([[0.0], [2.0], [1.0]])
    >>> [float(part[0, 0]) for part in compose(v, a, 3, ray_powers)]
    [0.0, 2.0, 3.0, 2.0]
    """
    return combine(expansion, powers(v, len(expansion) - 1, max_order), max_order)
