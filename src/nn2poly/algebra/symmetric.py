"""Degrees 2 and 3 of a network's outputs from linear forms alone.

With v_c the linear part of neuron c's potential, the quadratic part of any output is
Σ_c w_c v_c² and the cubic part Σ_c ℓ_c v_c², summed over all hidden neurons: whatever else
multiplies a neuron's square on its way to the output is linear in x, a form ℓ_c. So both
are matrix products of arrays (p, neurons), symmetrised; no block (N_2, neurons) is formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.monomials import starts
from nn2poly.arrays import FloatArray

# Bytes of one slice of a matrix product: stays near the cache.
SLICE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Squares:
    """Σ_c w_c v_c², the block of degree 2.

    Parameters
    ----------
    v
        Array (p, n_neurons): linear forms.
    weights
        Array (n_neurons, n_outputs).

    Examples
    --------
    3 (x0 + 2 x1)²:

    >>> block = Squares(np.array([[1.0], [2.0]]), np.array([[3.0]]))
    >>> np.concatenate(list(block.slices())).ravel()
    array([ 3., 12., 12.])
    """

    v: FloatArray
    weights: FloatArray

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return int(self.weights.shape[1])

    def slices(self, begin: int = 0, end: int | None = None) -> Iterator[FloatArray]:
        """Yield the rows for several first variables at a time."""
        p, n_outputs = len(self.v), self.n_outputs
        stop, place = p if end is None else end, starts(p, 2)
        used = np.any(self.weights != 0.0, axis=1)
        v, weights = self.v[:, used], self.weights[used]
        step = max(1, SLICE_BYTES // (8 * p * n_outputs))
        for first in range(begin, stop, step):
            last = min(first + step, stop)
            products = (v[first:last] * weights.T[:, None, :]) @ v[first:].T
            out = np.empty((int(place[last] - place[first]), n_outputs))
            for f in range(first, last):
                # x_f x_k for k > f comes twice, x_f² once.
                row = products[:, f - first, f - first :]
                here = out[place[f] - place[first] : place[f + 1] - place[first]]
                np.multiply(row.T, 2.0, out=here)
                here[0] = row[:, 0]
            yield out


@dataclass(frozen=True)
class Cubes:
    """Σ_c ℓ_c v_c², the block of degree 3.

    For a first variable f the coefficients of x_f x_j x_k are, but for equal indices, those of
    U Vᵀ + V Uᵀ with U_j = ℓ_f v_j + 2 v_f ℓ_j: one matrix product.

    Parameters
    ----------
    v
        Array (p, n_neurons): linear forms.
    forms
        Array (n_outputs, p, n_neurons): the forms ℓ.

    Examples
    --------
    (x0 + x1)·(x0 - x1)² = x0³ - x0² x1 - x0 x1² + x1³:

    >>> block = Cubes(np.array([[1.0], [-1.0]]), np.ones((1, 2, 1)))
    >>> np.concatenate(list(block.slices())).ravel()
    array([ 1., -1., -1.,  1.])
    """

    v: FloatArray
    forms: FloatArray

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return len(self.forms)

    def slices(self, begin: int = 0, end: int | None = None) -> Iterator[FloatArray]:
        """Yield one slice for each first variable."""
        p = len(self.v)
        used = np.any(self.forms != 0.0, axis=(0, 1))
        v, forms = self.v[:, used], np.ascontiguousarray(self.forms[:, :, used])
        upper = np.triu(np.ones((p, p), dtype=bool))
        diagonal = starts(p, 2)[:-1]
        for f in range(begin, p if end is None else end):
            u = v[f:] * forms[:, f, None, :]
            u += (2.0 * v[f]) * forms[:, f:]
            products = u @ v[f:].T
            out = (products + products.swapaxes(1, 2))[:, upper[f:, f:]].T.copy()
            # Of 6 orders of three indices, 3 differ when two are equal, and 1 when all are.
            out[: p - f] *= 0.5
            out[diagonal[f:] - diagonal[f]] *= 0.5
            out[0] *= 2.0 / 3.0
            yield out
