"""Products of factors of different players: listed once, evaluated, averaged, summed.

Everything here is index arithmetic: a product is a row of factor numbers, increasing, and what a
factor means is no matter. Rows are compared by integer codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nn2poly.arrays import FloatArray, IntArray

# Bytes of the products of one batch of rows: a few times the cache, so that the fixed cost of
# numpy's calls does not count.
BATCH_BYTES = 2**24
# Sums with at most so many entries are added entry by entry, all sums at once.
FEW_ENTRIES = 8
# All pairs (beginning, last factor) are multiplied as matrices when at least one in so many is
# wanted: a matrix product is about that much faster than products picked one by one.
DENSE_SHARE = 8
# Tiles of these matrices: half of a triangle is empty, and 8 tiles leave out most of it.
TILES = 8

Values = Callable[[slice], FloatArray]


def row_batches(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows so that ``width`` numbers for each of a batch take about 16 MB."""
    step = int(np.clip(BATCH_BYTES // (8 * max(width, 1)), 16, 4096))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


def row_codes(rows: IntArray, base: int) -> IntArray:
    """Give rows (n, k) of integers below ``base`` numbers that compare as the rows do.

    Examples
    --------
    >>> row_codes(np.array([[0, 2], [1, 0]]), 3)
    array([2, 3])
    """
    code, largest = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        if largest > 2**62 // max(base, 1):
            # Too large for 64 bits: number what there is.
            known, code = np.unique(code, return_inverse=True)
            largest = len(known)
        code = code * base + column
        largest *= base
    return code


def distinct(codes: IntArray, below: int | None = None) -> tuple[IntArray, IntArray]:
    """Give the different codes (m,), increasing, and the place of each code (n,) among them.

    Codes that increase, as those of a dense formula do, and codes with a bound that is not much
    larger than their number need no sorting.
    """
    if np.all(codes[1:] > codes[:-1]):
        return codes, np.arange(len(codes))
    if below is None or below > 8 * len(codes):
        return np.unique(codes, return_inverse=True)
    seen = np.zeros(below, dtype=bool)
    seen[codes] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[codes]


def add_rows(places: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Add up rows of ``values`` (n, n_outputs) by their places: array (count, n_outputs)."""
    out = np.empty((count, values.shape[1]))
    for k, column in enumerate(values.T):
        out[:, k] = np.bincount(places, column, minlength=count)
    return out


@dataclass(frozen=True, eq=False)
class Products:
    """Different products of factors, by their number of factors.

    Parameters
    ----------
    by_size
        Arrays (n_k, k) for k = 0, 1, …: the factors of each product, rows increasing.
    n_factors
        Number of factors there are.
    """

    by_size: tuple[IntArray, ...]
    n_factors: int

    @cached_property
    def starts(self) -> IntArray:
        """Place of the first product of each size, then the number of all."""
        return np.cumsum([0, *map(len, self.by_size)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __iter__(self) -> Iterator[tuple[slice, IntArray]]:
        for size, rows in enumerate(self.by_size):
            yield slice(int(self.starts[size]), int(self.starts[size + 1])), rows

    def find(self, rows: IntArray) -> IntArray:
        """Give the places of products (n, k), all of them listed: array (n,)."""
        size = rows.shape[1]
        known = self.by_size[size]
        codes = row_codes(np.concatenate([known, rows]), self.n_factors)
        here: IntArray = np.searchsorted(codes[: len(known)], codes[len(known) :])
        return here + self.starts[size]

    def values(self, factors: FloatArray) -> FloatArray:
        """Multiply values of the factors (n_factors, n): array (n_products, n)."""
        out = np.empty((len(self), factors.shape[1]))
        for here, rows in self:
            out[here] = _multiplied(rows, factors)
        return out

    def mean(self, factors: Values, n_rows: int) -> FloatArray:
        """Average each product over the rows: array (n_products,).

        Parameters
        ----------
        factors
            Values (n_factors, rows) of the factors on a slice of the rows.
        n_rows
            How many rows there are.
        """
        parts = [_Prefixes.of(rows) for rows in self.by_size]
        total = np.zeros(len(self))
        for batch in row_batches(n_rows, max(part.width for part in parts)):
            values = factors(batch)
            for (here, _), part in zip(self, parts, strict=True):
                total[here] += part.sums(values)
        return total / n_rows

    def weigh(self, coefficients: FloatArray, factors: Values, n_rows: int) -> FloatArray:
        """Sum coefficients (n_products, n_outputs) × products on each row: (n, n_outputs)."""
        parts = [_Prefixes.of(rows) for rows in self.by_size]
        pairs = zip(self, parts, strict=True)
        laid = [part.lay_out(coefficients[here]) for (here, _), part in pairs]
        out = np.zeros((n_rows, coefficients.shape[1]))
        for batch in row_batches(n_rows, max(part.width for part in parts)):
            values = factors(batch)
            for part, matrices in zip(parts, laid, strict=True):
                out[batch] += part.weighted(matrices, values).T
        return out


def merged(
    rows: Sequence[IntArray], values: Sequence[FloatArray], n_factors: int
) -> tuple[Products, FloatArray]:
    """List products that come in several arrays (n, k), and add up what belongs to each.

    Parameters
    ----------
    rows, values
        Arrays (n, k) of factors, of any sizes, and (n, n_outputs).

    Returns
    -------
    Products and array (n_products, n_outputs)
        The product of no factors is always listed.

    Examples
    --------
    >>> rows = [np.array([[0], [1]]), np.array([[1]]), np.array([[0, 1]])]
    >>> products, sums = merged(rows, [np.ones((2, 1)), np.ones((1, 1)), np.ones((1, 1))], 2)
    >>> [part.tolist() for part in products.by_size], sums.ravel()
    ([[[]], [[0], [1]], [[0, 1]]], array([0., 1., 2., 1.]))
    """
    by_size = [np.empty((1, 0), dtype=np.intp)]
    constants = [v.sum(axis=0) for part, v in zip(rows, values, strict=True) if not part.shape[1]]
    sums = [sum(constants, np.zeros(values[0].shape[1]))[None]]
    for size in range(1, max(part.shape[1] for part in rows) + 1):
        chosen = [i for i, part in enumerate(rows) if part.shape[1] == size]
        listed = _together([rows[i] for i in chosen] or [np.empty((0, size), dtype=np.intp)])
        added = _together([values[i] for i in chosen] or [sums[0][:0]])
        unique, places = distinct(row_codes(listed, n_factors), n_factors**size)
        if len(unique) == len(listed):
            increasing = np.all(places[1:] > places[:-1])
            order = slice(None) if increasing else np.argsort(places)
            by_size.append(listed[order])
            sums.append(added[order])
            continue
        first = np.empty(len(unique), dtype=np.intp)
        first[places] = np.arange(len(listed))
        by_size.append(listed[first])
        sums.append(add_rows(places, added, len(unique)))
    return Products(tuple(by_size), n_factors), np.concatenate(sums)


def _together(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join arrays; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _multiplied(rows: IntArray, factors: FloatArray) -> FloatArray:
    """Multiply factors (n_factors, n) to products (m, k): array (m, n)."""
    if not rows.shape[1]:
        return np.ones((len(rows), factors.shape[1]))
    out = factors[rows[:, 0]]
    for column in rows[:, 1:].T:
        out *= factors[column]
    return out


@dataclass(frozen=True, eq=False)
class _Prefixes:
    """Products of one size, cut into all factors but the last and the last one.

    In dense formulas the products are most of (beginnings × later factors): what is summed over
    rows or over products is then a matrix product, tile by tile.

    Parameters
    ----------
    rows
        Array (n, k).
    beginnings, begin
        Array (m, k - 1) of different beginnings, and (n,): that of each product.
    lasts, last
        Array (l,) of different last factors, and (n,): that of each product.
    tiles
        Some beginnings and the first of the last factors that follow any of them; none where
        products are few among all that there could be.
    """

    rows: IntArray
    beginnings: IntArray
    begin: IntArray
    lasts: IntArray
    last: IntArray
    tiles: tuple[tuple[slice, int], ...]

    @classmethod
    def of(cls, rows: IntArray) -> _Prefixes:
        n, k = rows.shape
        if k < 2 or not n:
            nothing = np.empty(0, dtype=np.intp)
            return cls(rows, rows, nothing, nothing, nothing, ())
        new = np.ones(n, dtype=bool)
        new[1:] = (rows[1:, :-1] != rows[:-1, :-1]).any(axis=1)
        lasts, last = distinct(rows[:, -1], int(rows[:, -1].max()) + 1)
        # By what follows them: later tiles need fewer of the last factors.
        first = np.minimum.reduceat(last, np.flatnonzero(new))
        order = np.argsort(first, kind="stable")
        begin, first = np.argsort(order)[np.cumsum(new) - 1], first[order]
        cuts = np.unique(np.linspace(0, len(first), TILES + 1).astype(int)).tolist()
        tiles = [(slice(a, b), int(first[a])) for a, b in pairwise(cuts)]
        size = sum((here.stop - here.start) * (len(lasts) - low) for here, low in tiles)
        kept = tuple(tiles) if size <= DENSE_SHARE * n else ()
        return cls(rows, rows[new, :-1][order], begin, lasts, last, kept)

    @property
    def width(self) -> int:
        """How many products of a row are made at a time."""
        return len(self.beginnings if self.tiles else self.rows)

    def sums(self, factors: FloatArray) -> FloatArray:
        """Sum each product over the rows of factors (n_factors, rows): array (n,)."""
        if not self.tiles:
            result: FloatArray = _multiplied(self.rows, factors).sum(axis=1)
            return result
        values, lasts = _multiplied(self.beginnings, factors), factors[self.lasts].T
        table = np.empty((len(values), lasts.shape[1]))
        for here, low in self.tiles:
            table[here, low:] = values[here] @ lasts[:, low:]
        return table[self.begin, self.last]

    def lay_out(self, coefficients: FloatArray) -> list[FloatArray]:
        """Arrange coefficients (n, n_outputs) for `weighted`."""
        if not self.tiles:
            return [np.ascontiguousarray(coefficients.T)]
        table = np.zeros((coefficients.shape[1], len(self.beginnings), len(self.lasts)))
        table[:, self.begin, self.last] = coefficients.T
        return [table[:, here, low:].reshape(-1, len(self.lasts) - low) for here, low in self.tiles]

    def weighted(self, matrices: list[FloatArray], factors: FloatArray) -> FloatArray:
        """Sum coefficients × products: array (n_outputs, rows)."""
        if not self.tiles:
            return matrices[0] @ _multiplied(self.rows, factors)
        values, lasts = _multiplied(self.beginnings, factors), factors[self.lasts]
        parts = []
        for (here, low), matrix in zip(self.tiles, matrices, strict=True):
            inner = (matrix @ lasts[low:]).reshape(-1, here.stop - here.start, factors.shape[1])
            parts.append(np.einsum("obr,br->or", inner, values[here]))
        total: FloatArray = np.sum(parts, axis=0)
        return total


@dataclass(frozen=True, eq=False)
class Sums:
    """Several sums over the products of one list.

    Parameters
    ----------
    products
        The products that the sums share.
    ends
        Array (n_sums + 1,): the entries of sum j are ``ends[j]:ends[j + 1]``.
    places
        Array (n_entries,): the product of each entry.
    coefficients
        Array (n_entries, n_outputs).
    """

    products: Products
    ends: IntArray
    places: IntArray
    coefficients: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of sums and of outputs."""
        return len(self.ends) - 1, self.coefficients.shape[1]

    def batches(self, factors: Values, n_rows: int) -> Iterator[tuple[slice, FloatArray]]:
        """Walk over rows: a slice of them, and their values (rows, n_sums, n_outputs).

        Parameters
        ----------
        factors
            Values (n_factors, rows) of the factors on a slice of the rows.
        """
        width = max(len(self.products), self.shape[0] * self.shape[1])
        for here in row_batches(n_rows, width):
            yield here, self._values(self.products.values(factors(here))).transpose(2, 0, 1)

    def _values(self, products: FloatArray) -> FloatArray:
        """Combine products (n_products, rows) to values (n_sums, n_outputs, rows)."""
        out = np.zeros((*self.shape, products.shape[1]))
        counts = np.diff(self.ends)
        for count in np.unique(counts[counts <= FEW_ENTRIES]).tolist():
            # Hundreds of thousands of pairs with a few entries each: all at once, entry by entry.
            alike = np.flatnonzero(counts == count)
            for entry in (self.ends[alike] + step for step in range(count)):
                values = products[self.places[entry]][:, None, :]
                out[alike] += self.coefficients[entry][:, :, None] * values
        for j in np.flatnonzero(counts > FEW_ENTRIES).tolist():
            here = slice(self.ends[j], self.ends[j + 1])
            np.matmul(self.coefficients[here].T, products[self.places[here]], out=out[j])
        return out


def collected(
    products: Products, sums: IntArray, places: IntArray, coefficients: FloatArray, count: int
) -> Sums:
    """Sort entries by sum and product, adding up those that fall together.

    Parameters
    ----------
    sums, places, coefficients
        Arrays (n,), (n,) and (n, n_outputs): the sum and the product of each entry.
    count
        How many sums there are.
    """
    keys, where = distinct(sums * len(products) + places, count * len(products))
    ends = np.searchsorted(keys, np.arange(count + 1) * len(products))
    added = add_rows(where, coefficients, len(keys))
    return Sums(products, ends, keys % len(products), added)
