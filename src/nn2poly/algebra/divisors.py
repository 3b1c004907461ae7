"""The divisors of one monomial: all that its coefficient can depend on.

The coefficient of x^T in a polynomial of polynomials needs, of each of them, the
coefficients of the divisors S of T, (T_1 + 1)…(T_k + 1) in all: 2^12 for twelve different
variables, where the full basis would have 2.7 million terms.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from nn2poly.algebra.graded import Blocks
from nn2poly.arrays import FloatArray, IntArray

# Numbers of a product before it is summed: 16 MB, near the cache.
CHUNK = 2**21


@lru_cache(maxsize=32)
def divisors(exponents: tuple[int, ...]) -> tuple[IntArray, ...]:
    """List the divisors of a monomial by degree.

    Parameters
    ----------
    exponents
        The powers (k,) of its variables, each at least 1.

    Returns
    -------
    tuple of arrays (n_d, k), d = 0 … total degree
        Exponents; those of degree 1 are the variables in order.

    Examples
    --------
    >>> [part.tolist() for part in divisors((2, 1))]
    [[[0, 0]], [[1, 0], [0, 1]], [[2, 0], [1, 1]], [[2, 1]]]
    """
    box = np.array(list(product(*(range(n, -1, -1) for n in exponents))), dtype=np.intp)
    degrees = box.sum(axis=1)
    return tuple(box[degrees == degree] for degree in range(sum(exponents) + 1))


@lru_cache(maxsize=512)
def _pairs(
    exponents: tuple[int, ...], degree: int, x: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Split every divisor T of a degree into S of degree x, with T's first variable f, and T/S.

    Returns
    -------
    arrays (n_pairs,), (n_pairs,), (n_d,), (n_pairs,)
        Rows of S and of T/S, sorted by T; where each T begins; the weights S_f / T_f.
    """
    whole, part, rest = (divisors(exponents)[d] for d in (degree, x, degree - x))
    first = np.argmax(whole > 0, axis=1)
    fits = (part.T[first] > 0) & np.all(part <= whole[:, None, :], axis=2)
    t, s = np.nonzero(fits)
    radix = np.cumprod([1, *(n + 1 for n in exponents[:-1])])
    codes = rest @ radix
    order = np.argsort(codes)
    left = (whole[t] - part[s]) @ radix
    r = order[np.searchsorted(codes[order], left)]
    weights = part[s, first[t]] / whole[t, first[t]]
    return s, r, np.searchsorted(t, np.arange(len(whole))), weights


def divisor_powers(v: Blocks, highest: int, exponents: tuple[int, ...]) -> list[Blocks]:
    """Compute v, v², …, v^highest modulo all monomials that do not divide one.

    As in `BlockProduct.powers`, [v^m]_T = Σ_S m (S_f / T_f) v_S [v^(m-1)]_{T/S} over the S that
    hold the first variable f of T.

    Parameters
    ----------
    v
        Blocks polynomials: arrays (n_d, h), rows as `divisors` lists them; ``v[0]`` is ignored.
    highest
        Highest power.
    exponents
        The monomial.

    Returns
    -------
    list of lists of arrays
        Entry m - 1 holds the parts of v^m of degrees m, m + 1, …

    Examples
    --------
    (x0 + 3 x1)² holds 6 x0 x1:

    >>> v = [np.zeros((1, 1)), np.array([[1.0], [3.0]])]
    >>> divisor_powers(v, 2, (1, 1))[1][0].ravel()
    array([6.])
    """
    order = sum(exponents)
    first = v[1 : order + 1]
    result = [first]
    for m in range(2, min(highest, order) + 1):
        below, parts = result[-1], []
        reach = len(first) + len(below) - 1 if first and below else 0
        for degree in range(m, min(m + reach, order + 1)):
            terms = [
                m * _product(first[x - 1], below[degree - x - m + 1], _pairs(exponents, degree, x))
                for x in range(1, min(len(first), degree - m + 1) + 1)
                if degree - x - m + 1 < len(below)
            ]
            parts.append(sum(terms[1:], start=terms[0]))
        result.append(parts)
    return result


def _product(
    a: FloatArray, b: FloatArray, pairs: tuple[IntArray, IntArray, IntArray, FloatArray]
) -> FloatArray:
    s, r, begin, weights = pairs
    step = max(1, CHUNK // len(s))
    columns = range(0, a.shape[1], step)
    return np.concatenate(
        [
            np.add.reduceat(
                a[s, c : c + step] * b[r, c : c + step] * weights[:, None], begin, axis=0
            )
            for c in columns
        ],
        axis=1,
    )
