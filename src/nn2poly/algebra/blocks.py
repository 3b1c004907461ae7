"""Products and powers of monomial blocks: the part of degree d is an array (N_d, h)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nn2poly.algebra.graded import Blocks
from nn2poly.algebra.monomials import count_degree, product_ranks, product_slices, starts
from nn2poly.arrays import FloatArray

# Rows of the product table that are looked up at a time when it is too large to keep: enough for
# the cost of a call not to count (taste).
SLICE_ROWS = 64
# Bytes of a block that is multiplied by one row after the other: stays in the cache.
TILE_BYTES = 2**20
# Blocks with fewer rows are multiplied whole: many small products would cost more than they save.
MARKED_FROM = 5_000


@dataclass(frozen=True)
class BlockProduct:
    """Multiply degree blocks in ``n_variables`` variables, neuron by neuron.

    Examples
    --------
    (x0 + 2 x1)·(3 x0 + 4 x1) = 3 x0² + 10 x0 x1 + 8 x1²:

    >>> product = BlockProduct(2)
    >>> out = product.empty(2, 1)
    >>> product.add(out, 1, np.array([[1.0], [2.0]]), 1, np.array([[3.0], [4.0]]))
    >>> out.ravel()
    array([ 3., 10.,  8.])
    """

    n_variables: int

    def empty(self, degree: int, width: int) -> FloatArray:
        """Allocate a zero block (N_degree, width)."""
        return np.zeros((count_degree(self.n_variables, degree), width))

    def add(self, out: FloatArray, x: int, a: FloatArray, y: int, b: FloatArray) -> None:
        """Add the product of blocks ``a`` (N_x, h) and ``b`` (N_y, h) to ``out`` (N_{x+y}, h)."""
        if len(a) > len(b):
            x, a, y, b = y, b, x, a
        for begin, end, table in product_slices(self.n_variables, x, y, SLICE_ROWS):
            for row, targets in zip(a[begin:end], table, strict=True):
                # Along one row all targets differ, so += on a fancy index loses nothing.
                out[targets] += row * b

    def plain_powers(self, v: Blocks, highest: int, max_order: int) -> list[Blocks]:
        """Compute v, v², …, v^highest, truncated, each by multiplying the last by v.

        Returns
        -------
        list of lists of arrays (N_d, h)
            Entry m - 1 holds the parts of v^m of degrees m, m + 1, … (those below are zero).
        """
        first = v[1 : max_order + 1]
        result = [first]
        for m in range(2, min(highest, max_order) + 1):
            below, parts = result[-1], []
            reach = len(first) + len(below) - 1 if first and below else 0
            for k in range(min(reach, max_order - m + 1)):
                part = self.empty(m + k, first[0].shape[1])
                for j in range(max(0, k - len(below) + 1), min(k + 1, len(first))):
                    self.add(part, j + 1, first[j], m - 1 + k - j, below[k - j])
                parts.append(part)
            result.append(parts)
        return result

    def powers(self, v: Blocks, highest: int, max_order: int) -> list[Blocks]:
        """Compute v, v², …, v^highest as `plain_powers` does, with half of the products.

        The derivative of v^m along x_f is m v^(m-1) times that of v. With f the first variable
        of a monomial T, the coefficient of T in v^m is therefore a sum over those of its
        divisors S that hold f: Σ_S m (S_f / T_f) v_S [v^(m-1)]_{T/S}, S_f the power of f in S.

        Examples
        --------
        >>> v = [np.zeros((1, 1)), np.array([[1.0], [2.0]])]
        >>> [part.ravel().tolist() for part in BlockProduct(2).powers(v, 2, 2)[1]]
        [[1.0, 4.0, 4.0]]
        """
        if count_degree(self.n_variables, max_order) < MARKED_FROM:
            return self.plain_powers(v, highest, max_order)
        first = v[1 : max_order + 1]
        result = [first]
        for m in range(2, min(highest, max_order) + 1):
            below, parts = result[-1], []
            reach = len(first) + len(below) - 1 if first and below else 0
            for degree in range(m, min(m + reach, max_order + 1)):
                out = self.empty(degree, first[0].shape[1])
                for x in range(1, min(len(first), degree - m + 1) + 1):
                    place = degree - x - (m - 1)
                    if place < len(below):
                        self._add_marked(out, x, m * first[x - 1], degree - x, below[place])
                parts.append(out)
            result.append(parts)
        return result

    def _add_marked(self, out: FloatArray, x: int, a: FloatArray, y: int, b: FloatArray) -> None:
        """Add Σ (S_f / T_f) a_S b_{T/S} over the S that hold the first variable f of T."""
        p = self.n_variables
        of_x, of_y, of_out = starts(p, x), starts(p, y), starts(p, x + y)
        for f in range(p):
            left, right = a[of_x[f] : of_x[f + 1]], b[of_y[f] :]
            own, others = _powers_of_first(p - f, x), np.zeros(len(right))
            others[: of_y[f + 1] - of_y[f]] = _powers_of_first(p - f, y)
            if x == 1:
                out[of_out[f] : of_out[f + 1]] += left / (1.0 + others)[:, None] * right
                continue
            target = out[of_out[f] - starts(p, x + y - 1)[f] :]
            marked = _Factor(x - 1, int(starts(p, x - 1)[f]), left, own)
            _scatter(p, target, marked, _Factor(y, int(of_y[f]), right, others))


@dataclass(frozen=True)
class _Factor:
    """A run of monomials: its degree and first rank, its block, and the powers of one variable."""

    degree: int
    rank: int
    values: FloatArray
    powers: FloatArray


def _powers_of_first(n: int, degree: int) -> FloatArray:
    """Give the power of the first of n variables in the monomials that begin with it."""
    times = range(degree, 0, -1)
    return np.repeat([float(k) for k in times], [count_degree(n - 1, degree - k) for k in times])


def _scatter(p: int, out: FloatArray, marked: _Factor, other: _Factor) -> None:
    """Add the weighted products of two factors to ``out`` at the ranks of their products."""
    rows, block = marked, other
    if len(marked.values) > len(other.values):
        rows, block = other, marked
    table = product_ranks(p, rows.degree, block.degree, rows.rank, rows.rank + len(rows.values))
    step = max(1, TILE_BYTES // (8 * block.values.shape[1]))
    edges = np.flatnonzero(np.diff(rows.powers, prepend=-1.0, append=-1.0)).tolist()
    for begin in range(0, len(block.values), step):
        tile, powers = block.values[begin : begin + step], block.powers[begin : begin + step]
        targets = table[:, block.rank + begin : block.rank + begin + len(tile)]
        for low, high in pairwise(edges):
            power = rows.powers[low]
            share = power if rows is marked else powers
            weighted = tile * (share / (power + powers))[:, None]
            for row, target in zip(rows.values[low:high], targets[low:high], strict=True):
                out[target] += row * weighted
