"""The graded monomial basis: count, rank, unrank, multiply, without a tuple in sight.

A monomial of degree d is a row of d non-decreasing variable indices; its *rank* is its
place among the monomials of its degree in lexicographic order. Ranks are computed, never
searched: with ``C_m(a)`` the number of multisets of size m from a variables,
``rank = N_d - 1 - Σ_k C_{d-k}(p - 1 - i_k)``, the combinatorial number system.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from math import comb
from threading import Lock

import numpy as np

from nn2poly.arrays import IntArray

# Product tables are kept between calls (the layers, the powers and a second conversion of the
# same shape reuse them) up to so many entries in all, the latest first. A table larger than
# that is computed slice by slice where it is needed.
CACHED_TABLE_ENTRIES = 32_000_000
_tables: OrderedDict[tuple[int, int, int], IntArray] = OrderedDict()
_tables_lock = Lock()


def count_degree(n_variables: int, degree: int) -> int:
    """Count the monomials of degree exactly ``degree``.

    Examples
    --------
    >>> count_degree(54, 3)
    27720
    """
    return comb(n_variables + degree - 1, degree) if n_variables else int(degree == 0)


def count_terms(n_variables: int, max_order: int) -> int:
    """Count the monomials of degree 0 to ``max_order``.

    Examples
    --------
    >>> [count_terms(54, order) for order in (1, 2, 3)]
    [55, 1540, 29260]
    """
    return comb(n_variables + max_order, max_order)


def multisets(n_variables: int, size: int) -> IntArray:
    """Tabulate the number of multisets of one size from 0, 1, …, ``n_variables`` variables.

    Returns
    -------
    array (n_variables + 1,)

    Examples
    --------
    >>> multisets(4, 2)
    array([ 0,  1,  3,  6, 10])
    """
    return np.array([count_degree(a, size) for a in range(n_variables + 1)], dtype=np.intp)


@lru_cache(maxsize=256)
def starts(n_variables: int, degree: int) -> IntArray:
    """Give the rank of the first monomial whose variables are all ``>= i``, for every i.

    The monomials of a degree that begin with variable i are the contiguous slice
    ``starts[i]:starts[i+1]``; those in variables ``>= i`` the suffix ``starts[i]:``.

    Returns
    -------
    array (n_variables + 1,)

    Examples
    --------
    >>> starts(3, 2)  # 00 01 02 | 11 12 | 22
    array([0, 3, 5, 6])
    """
    table = multisets(n_variables, degree)
    result: IntArray = table[-1] - table[::-1]
    result.setflags(write=False)
    return result


def rank(indices: IntArray, n_variables: int) -> IntArray:
    """Rank monomials within their degree.

    Parameters
    ----------
    indices
        Array (..., degree) of non-decreasing variable indices.
    n_variables
        Number of variables p.

    Returns
    -------
    array (...)

    Examples
    --------
    >>> rank(np.array([[0, 0], [0, 2], [1, 1]]), 3)
    array([0, 2, 3])
    """
    degree = indices.shape[-1]
    below = np.zeros(indices.shape[:-1], dtype=np.intp)
    for k in range(degree):
        below += multisets(n_variables, degree - k)[n_variables - 1 - indices[..., k]]
    result: IntArray = count_degree(n_variables, degree) - 1 - below
    return result


def unrank(ranks: IntArray, n_variables: int, degree: int) -> IntArray:
    """Give the variable indices of monomials from their ranks.

    Returns
    -------
    array (..., degree)

    Examples
    --------
    >>> unrank(np.array([0, 2, 3]), 3, 2)
    array([[0, 0],
           [0, 2],
           [1, 1]])
    """
    rest = count_degree(n_variables, degree) - 1 - np.asarray(ranks, dtype=np.intp)
    indices = np.empty((*rest.shape, degree), dtype=np.intp)
    for k in range(degree):
        table = multisets(n_variables, degree - k)
        a = np.searchsorted(table[:n_variables], rest, side="right") - 1
        indices[..., k] = n_variables - 1 - a
        rest = rest - table[a]
    return indices


@lru_cache(maxsize=64)
def first_and_rest(n_variables: int, degree: int) -> tuple[IntArray, IntArray]:
    """Split every monomial into its first variable and the rank of the rest, degree - 1.

    Returns
    -------
    arrays (N_degree,) and (N_degree,)

    Examples
    --------
    >>> first_and_rest(2, 2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    begin = starts(n_variables, degree)
    first = np.repeat(np.arange(n_variables, dtype=np.intp), np.diff(begin))
    shift = starts(n_variables, degree - 1)[:-1] - begin[:-1]
    rest: IntArray = np.arange(begin[-1], dtype=np.intp) + shift[first]
    for array in (first, rest):
        array.setflags(write=False)
    return first, rest


def monomials(n_variables: int, degree: int) -> IntArray:
    """List all monomials of one degree as rows of variable indices.

    Returns
    -------
    array (N_degree, degree)

    Examples
    --------
    >>> monomials(2, 2).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    if degree == 0:
        return np.empty((1, 0), dtype=np.intp)
    first, rest = first_and_rest(n_variables, degree)
    return np.column_stack([first, monomials(n_variables, degree - 1)[rest]])


def times_variables(
    n_variables: int, degree: int, begin: int = 0, end: int | None = None
) -> IntArray:
    """Rank the products of variables ``begin:end`` with all monomials of one degree.

    Returns
    -------
    array (end - begin, N_degree)
        Ranks within degree + 1; for one variable they are all different.

    Examples
    --------
    >>> times_variables(2, 1)  # x0·x0 x0·x1 / x1·x0 x1·x1
    array([[0, 1],
           [1, 2]])
    """
    variables = np.arange(n_variables, dtype=np.intp)[begin:end]
    if degree == 0:
        return variables[:, None].copy()
    first, rest = first_and_rest(n_variables, degree)
    here, above = starts(n_variables, degree), starts(n_variables, degree + 1)
    # x_i·m keeps m's first variable f unless i comes before it.
    behind = times_variables(n_variables, degree - 1, begin, end)[:, rest]
    behind += (above - here)[first]
    front = np.arange(first.size, dtype=np.intp) + (above - here)[variables][:, None]
    result: IntArray = np.where(first >= variables[:, None], front, behind)
    return result


def product_ranks(
    n_variables: int, x: int, y: int, begin: int = 0, end: int | None = None
) -> IntArray:
    """Rank the products of monomials ``begin:end`` of degree x with all of degree y.

    Returns
    -------
    array (end - begin, N_y), of 32-bit integers where they are enough
        Ranks within degree x + y; all different along each row. May be read-only.

    Examples
    --------
    >>> product_ranks(2, 1, 2).tolist()
    [[0, 1, 2], [1, 2, 3]]
    """
    n_rows = count_degree(n_variables, x)
    stop = n_rows if end is None else end
    if n_rows * count_degree(n_variables, y) > CACHED_TABLE_ENTRIES:
        return _product_ranks(n_variables, x, y, begin, stop)
    key = (n_variables, x, y)
    with _tables_lock:
        table = _tables.get(key)
    if table is None:
        table = _product_ranks(n_variables, x, y, 0, n_rows)
        table.setflags(write=False)
    _keep(key, table)
    return table[begin:stop]


def _keep(key: tuple[int, int, int], table: IntArray) -> None:
    """Put a table last in the cache and drop the oldest while there are too many entries."""
    with _tables_lock:
        _tables[key] = table
        _tables.move_to_end(key)
        while sum(kept.size for kept in _tables.values()) > CACHED_TABLE_ENTRIES:
            _tables.popitem(last=False)


def _product_ranks(n_variables: int, x: int, y: int, begin: int, end: int) -> IntArray:
    """Fill a slice of the table from those of one degree less.

    The product of s and t begins with the smaller of their first variables f, and the rest of
    it is the product of what is left: rank(s·t) = shift_f + rank(s'·t or s·t').
    """
    total = count_degree(n_variables, x + y)
    dtype = np.int32 if total < 2**31 else np.intp
    out = np.empty((end - begin, count_degree(n_variables, y)), dtype=dtype)
    if x == 0 or y == 0:
        out[:] = np.arange(begin, end)[:, None] if y == 0 else np.arange(out.shape[1])
        return out
    shift = (starts(n_variables, x + y) - starts(n_variables, x + y - 1)).astype(dtype)
    here, other = starts(n_variables, x), starts(n_variables, y)
    below = starts(n_variables, x - 1)
    first, rest = first_and_rest(n_variables, y)
    behind = product_ranks(n_variables, x, y - 1, begin, end)
    low = int(np.searchsorted(here, begin, side="right")) - 1
    for i in range(low, n_variables):
        a, b = max(begin, int(here[i])), min(end, int(here[i + 1]))
        if a >= b:
            break
        split, offset = int(other[i]), int(below[i] - here[i])
        rows = out[a - begin : b - begin]
        np.take(behind[a - begin : b - begin], rest[:split], axis=1, out=rows[:, :split])
        rows[:, :split] += shift[first[:split]]
        front = product_ranks(n_variables, x - 1, y, a + offset, b + offset)
        np.add(front[:, split:], shift[i], out=rows[:, split:])
    return out


def product_slices(
    n_variables: int, x: int, y: int, step: int
) -> Iterator[tuple[int, int, IntArray]]:
    """Walk the product table of degrees x and y in slices of ``step`` rows.

    Yields
    ------
    begin, end, array (end - begin, N_y)

    Examples
    --------
    >>> [(begin, end) for begin, end, _ in product_slices(3, 1, 1, 2)]
    [(0, 2), (2, 3)]
    """
    n_rows = count_degree(n_variables, x)
    for begin in range(0, n_rows, step):
        end = min(begin + step, n_rows)
        yield begin, end, product_ranks(n_variables, x, y, begin, end)
