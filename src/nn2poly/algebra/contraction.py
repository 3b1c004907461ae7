"""The top degree without its inner blocks, slice by slice.

The block of degree Q of a composition is a_1∘v_Q + R with R built from lower degrees, so
the degree-Q block of a network's outputs is the sum over layers of R contracted with the
linear maps downstream: Σ_j M_j v_x[i, j] r_y[k, j] over all neurons j of all layers, a
matrix product per pair of degrees x + y = Q, scattered to the merged monomials. The
(N_Q, h) block of a hidden layer is never formed.

Nor is the (N_Q, n_outputs) block of the outputs, unless somebody collects it: it comes in
slices, one for each first variable f. The products that begin with f are f·(s'·t) and
f·(s·t'), so the tables that place them are those of degree Q - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nn2poly.algebra.graded import Blocks
from nn2poly.algebra.monomials import product_ranks, starts
from nn2poly.arrays import FloatArray, IntArray

# Bytes of one slice of a matrix product before it is scattered: stays near the cache.
SLICE_BYTES = 16 * 2**20
# Bytes of the products of several variables with the whole block of degree Q - 1: enough for one
# large matrix product, little beside the result (taste).
GROUP_BYTES = 64 * 2**20


class Block(Protocol):
    """The coefficients of one degree, given in slices."""

    @property
    def n_outputs(self) -> int:
        """Number of columns of every slice."""

    def slices(self, begin: int = 0, end: int | None = None) -> Iterator[FloatArray]:
        """Yield the rows whose first variable is in ``begin:end``, in order, piece by piece."""


@dataclass(frozen=True)
class Whole:
    """A block that is there already.

    Parameters
    ----------
    values
        Array (N_degree, n_outputs).
    n_variables, degree
        What its rows are.

    Examples
    --------
    >>> block = Whole(np.arange(6.0)[:, None], 3, 2)
    >>> [part.ravel().tolist() for part in block.slices(1, 2)]
    [[3.0, 4.0]]
    """

    values: FloatArray
    n_variables: int
    degree: int

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def slices(self, begin: int = 0, end: int | None = None) -> Iterator[FloatArray]:
        """Yield one slice; the constant has no first variable and belongs to none."""
        if self.degree == 0:
            yield self.values if begin == 0 and end is None else self.values[:0]
            return
        here = starts(self.n_variables, self.degree)
        yield self.values[here[begin] : here[self.n_variables if end is None else end]]


@dataclass(frozen=True)
class Share:
    """What one layer adds to the top degree: R = Σ v_x ⊛ r_{Q-x}, seen through ``downstream``.

    Parameters
    ----------
    v, tail
        Blocks blocks to degree Q - 1 of a layer's potential and of its tail Σ a_m v^(m-1).
    curvature
        Array (h,): a_2, the factor of v_1 in the tail's degree 1.
    downstream
        Array (h, n_outputs): the linear map from the layer's top block to the outputs'.
    """

    v: Blocks
    tail: Blocks
    curvature: FloatArray
    downstream: FloatArray


@dataclass(frozen=True)
class Products:
    """The sum of the top-degree shares of all layers, order 2 or more.

    Examples
    --------
    One neuron with v = x0 + 2 x1 and r = 3 v: the part of degree 2 is 3 v².

    >>> v = [np.zeros((1, 1)), np.array([[1.0], [2.0]])]
    >>> share = Share(v, [np.zeros((1, 1)), 3 * v[1]], np.array([3.0]), np.ones((1, 1)))
    >>> [part.ravel().tolist() for part in Products([share], 2, 2, 1).slices()]
    [[3.0, 12.0], [12.0]]
    """

    shares: list[Share]
    n_variables: int
    order: int
    n_outputs: int

    def slices(self, begin: int = 0, end: int | None = None) -> Iterator[FloatArray]:
        """Yield one slice (N_{Q-1} in the variables >= f, n_outputs) for each f."""
        stop = self.n_variables if end is None else end
        below = starts(self.n_variables, self.order - 1)
        pairs = [p for x in range(1, self.order // 2 + 1) for p in self._pair(x)]
        linear = next((p for p in pairs if p.x == 1), None)
        buffer = np.zeros((self.n_outputs, int(below[-1])))
        step = max(4, GROUP_BYTES // (8 * buffer.size))
        for first in range(begin, stop, step):
            last = min(first + step, stop)
            direct = None if linear is None else linear.direct(first, last)
            for f in range(first, last):
                here = buffer[:, below[f] :]
                here[:] = 0.0 if direct is None else direct[:, f - first, below[f] - below[first] :]
                for pair in pairs:
                    pair.add(buffer, f)
                yield here.T.copy()

    def _pair(self, x: int) -> list[_Pair]:
        columns = [c for share in self.shares for c in _columns(share, x, self.order - x)]
        if not columns:
            return []
        a, b = (_joined([c[side] for c in columns]) for side in (0, 1))
        weights = np.concatenate([c[2] for c in columns])
        return [_Pair(self.n_variables, x, self.order - x, a, b, weights)]


def _joined(parts: list[FloatArray]) -> FloatArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _columns(share: Share, x: int, y: int) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Pair v_x with r_y and, when the degrees differ, r_x with v_y: one product serves both."""
    v, tail = share.v, share.tail
    if x == 1 < y < min(len(v), len(tail)):
        # r_1 = a_2 v_1, so both pairs share the factor v_1 and half the product is enough.
        return [(v[1], tail[y] + share.curvature * v[y], share.downstream)]
    pairs = [(v, tail)] if x == y else [(v, tail), (tail, v)]
    return [(a[x], b[y], share.downstream) for a, b in pairs if x < len(a) and y < len(b)]


@dataclass(frozen=True)
class _Pair:
    """Σ_c weights[c] a[s, c] b[t, c] for monomials s of degree x and t of degree y."""

    n_variables: int
    x: int
    y: int
    a: FloatArray
    b: FloatArray
    weights: FloatArray

    def direct(self, first: int, last: int) -> FloatArray:
        """Multiply variables ``first:last`` (x = 1) by all t in variables >= first.

        Returns
        -------
        array (n_outputs, last - first, n_t)
        """
        rows = _weighted(self.a[first:last], self.weights)
        products = rows @ self.b[starts(self.n_variables, self.y)[first] :].T
        return products.reshape(self.weights.shape[1], last - first, -1)

    def add(self, buffer: FloatArray, f: int) -> None:
        """Add what begins with f, less `direct`, to ``buffer`` (n_outputs, N_{x+y-1})."""
        p, x, y = self.n_variables, self.x, self.y
        of_x, of_y = starts(p, x), starts(p, y)
        if x > 1:
            places = (x - 1, y, int(starts(p, x - 1)[f]), int(of_y[f]))
            self._scatter(buffer, places, self.a[of_x[f] : of_x[f + 1]], self.b[of_y[f] :])
        if f + 1 < p:
            places = (x, y - 1, int(of_x[f + 1]), int(starts(p, y - 1)[f]))
            self._scatter(buffer, places, self.a[of_x[f + 1] :], self.b[of_y[f] : of_y[f + 1]])

    def _scatter(
        self, buffer: FloatArray, places: tuple[int, int, int, int], a: FloatArray, b: FloatArray
    ) -> None:
        """Add a ⊛ b, blocks of degrees x', y' that begin at given ranks, to their products."""
        x, y, row, column = places
        if len(a) > len(b):
            x, y, row, column, a, b = y, x, column, row, b, a
        step = max(1, SLICE_BYTES // (8 * len(b) * len(buffer)))
        for begin in range(0, len(a), step):
            end = min(begin + step, len(a))
            table = product_ranks(self.n_variables, x, y, row + begin, row + end)[:, column:]
            products = _weighted(a[begin:end], self.weights) @ b.T
            for total, product in zip(buffer, products.reshape(-1, *table.shape), strict=True):
                _scatter_add(total, table, product)


def _weighted(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Weight the columns of ``rows`` (n, c) for every output: (n_outputs · n, c)."""
    return (rows * weights.T[:, None, :]).reshape(-1, rows.shape[1])


def _scatter_add(total: FloatArray, targets: IntArray, values: FloatArray) -> None:
    """Add ``values`` to ``total`` at ``targets``, both (rows, n); along a row they differ."""
    if 4 * targets.size >= total.size:
        total += np.bincount(targets.ravel(), values.ravel(), total.size)
        return
    for target, value in zip(targets, values, strict=True):
        total[target] += value


def count_rows(n_variables: int, degree: int, begin: int = 0, end: int | None = None) -> int:
    """Count the monomials of a degree whose first variable is in ``begin:end``.

    Examples
    --------
    >>> count_rows(3, 2), count_rows(3, 2, 1, 2)
    (6, 2)
    """
    if degree == 0:
        return int(begin == 0 and end is None)
    here = starts(n_variables, degree)
    return int(here[n_variables if end is None else end] - here[begin])
