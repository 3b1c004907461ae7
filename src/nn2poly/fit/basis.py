"""Orthonormal polynomials of each feature, under the sample's own distribution.

Ridge regressions are done in products of these: the terms are nearly uncorrelated, a strength
means the same for all of them, and a feature of few values gets no more degrees than it carries.
What is written for people are plain powers; going over is exact, a triangle per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre

from nn2poly.algebra.substitution import change_basis, patterns
from nn2poly.algebra.terms import Listed, Terms
from nn2poly.arrays import FloatArray, IntArray

# A feature that varies by less, in coordinates of unit size, varies by rounding.
FLAT = 1e-9
# A degree whose new part is below this share of the largest is rounding (a matter of digits).
NOTHING_NEW = 1e-7


@dataclass(frozen=True)
class Basis:
    """Orthonormal polynomials 0 … D of p features.

    Parameters
    ----------
    to_powers
        Array (p, D + 1, D + 1): entry [j, a, b] is the coefficient of z_j^b in polynomial a.
    from_powers
        The same the other way; a power above what a feature carries is the polynomial that it
        equals on the sample.
    degrees
        Array (p,): the highest degree that each feature carries.
    """

    to_powers: FloatArray
    from_powers: FloatArray
    degrees: IntArray

    @property
    def max_degree(self) -> int:
        """Highest degree D of the tables."""
        return int(self.to_powers.shape[1]) - 1

    def values(self, z: FloatArray) -> FloatArray:
        """Evaluate all polynomials on rows (n, p): an array (p, D + 1, n).

        By Horner's scheme in z, which lies within a few units of 0.
        """
        columns = np.ascontiguousarray(z.T)[:, None, :]
        out = np.repeat(self.to_powers[:, :, -1:], len(z), axis=2)
        for b in range(self.max_degree - 1, -1, -1):
            out *= columns
            out += self.to_powers[:, :, b : b + 1]
        return out

    def powers(self, terms: Terms, coefficients: FloatArray) -> tuple[Listed, FloatArray]:
        """Write products of these polynomials in plain powers."""
        return change_basis(terms, coefficients, self.to_powers)

    def products(self, terms: Terms, coefficients: FloatArray) -> tuple[Listed, FloatArray]:
        """Write plain powers in products of these polynomials."""
        return change_basis(terms, coefficients, self.from_powers)

    def carried(self, terms: Terms) -> IntArray:
        """Give the places of the terms in which no feature has more than it carries."""
        kept = []
        for here, rows in terms.by_degree():
            for places, variables, exponents in patterns(rows):
                fine = np.all(self.degrees[variables] >= np.array(exponents, dtype=np.intp), axis=1)
                kept.append(here.start + places[fine])
        return np.sort(np.concatenate(kept))


def orthonormal_basis(z: FloatArray, weights: FloatArray, max_degree: int) -> Basis:
    """Orthonormalise the powers of every feature over weighted rows.

    Parameters
    ----------
    z
        Array (n, p).
    weights
        Array (n,).
    """
    p, size = z.shape[1], max_degree + 1
    forth, back = np.zeros((2, p, size, size))
    degrees = np.zeros(p, dtype=np.intp)
    root = np.sqrt(weights / weights.sum())
    for j in range(p):
        own = _own_basis(z[:, j], root, max_degree)
        width = len(own)
        degrees[j] = width - 1
        forth[j, :width, :width] = own
        back[j, :width, :width] = np.linalg.inv(own)
        if width < size:
            powers = np.vander(z[:, j], size, increasing=True) * root[:, None]
            back[j, width:, :width] = powers[:, width:].T @ (powers[:, :width] @ own.T)
    return Basis(forth, back, degrees)


def _own_basis(z: FloatArray, root: FloatArray, max_degree: int) -> FloatArray:
    """Give the polynomials of one feature as coefficients (d + 1, d + 1) of powers.

    The QR factorisation works on Legendre polynomials of the feature's range, which are nearly
    orthogonal themselves.
    """
    low, high = float(z.min()), float(z.max())
    if not high - low > FLAT:
        return np.ones((1, 1))
    most = min(max_degree, len(np.unique(z)) - 1)
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    vander = legendre.legvander((z - middle) / half, most) * root[:, None]
    triangle: FloatArray = np.asarray(np.linalg.qr(vander, mode="r"))
    size = np.abs(np.diag(triangle))
    short = np.flatnonzero(size < NOTHING_NEW * size.max())
    most = int(short[0]) - 1 if len(short) else most
    own = np.linalg.inv(triangle[: most + 1, : most + 1]).T
    own *= np.sign(np.diag(triangle))[: most + 1, None]
    # From Legendre polynomials of t to powers of t, then t = (z - middle) / half.
    in_t = own @ _legendre_powers(most)
    return np.asarray(in_t @ _shifted_powers(most, 1.0 / half, -middle / half))


@cache
def _legendre_powers(degree: int) -> FloatArray:
    """Give Legendre polynomials 0 … d as rows of coefficients of powers: (d + 1, d + 1)."""
    out = np.zeros((degree + 1, degree + 1))
    for a in range(degree + 1):
        out[a, : a + 1] = legendre.leg2poly(np.eye(a + 1)[a])
    return out


def _shifted_powers(degree: int, factor: float, shift: float) -> FloatArray:
    """Give (factor z + shift)^a, a = 0 … d, as rows of coefficients of powers of z."""
    out = np.zeros((degree + 1, degree + 1))
    out[0, 0] = 1.0
    for a in range(1, degree + 1):
        out[a, : a + 1] = np.convolve(out[a - 1, :a], [shift, factor])
    return out


# Terms with the same exponents: their places, their variables, and the exponents.
Group = tuple[IntArray, IntArray, tuple[int, ...]]


def term_groups(terms: Terms) -> list[Group]:
    """Group terms by their exponents, for `design`."""
    return [
        (here.start + places, variables, exponents)
        for here, rows in terms.by_degree()
        for places, variables, exponents in patterns(rows)
    ]


def design(terms: Terms, values: FloatArray, groups: Sequence[Group] | None = None) -> FloatArray:
    """Multiply the polynomials of features as terms say: the matrix (n, n_terms).

    Parameters
    ----------
    values
        Array (p, D + 1, n), from `Basis.values`.
    groups
        The terms once more, from `term_groups`, where there are many such matrices.
    """
    out = np.empty((len(terms), values.shape[2]))
    for places, variables, exponents in term_groups(terms) if groups is None else groups:
        part = np.ones((len(places), values.shape[2]))
        for variable, a in zip(variables.T, exponents, strict=True):
            part *= values[variable, a]
        out[places] = part
    return out.T
