"""The faces of a polynomial: every term with some of its variables left out.

A term z^α with k distinct variables has 2^k faces, one per subset B of its variables: z^α_B
keeps the powers of the variables in B whole. Replacing the other variables by data needs the
mean of the opposite face, so terms and moments come from one and the same list of faces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.monomials import (
    rank,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.explain.moments import patterns
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import Terms, offsets
from nn2poly.memory import check_terms


@dataclass(frozen=True, eq=False)
class FaceGroup:
    """Terms that share their exponents.

    Parameters
    ----------
    coefficients
        Array (n, n_outputs).
    variables
        Array (n, k): the distinct variables of each term.
    places
        Array (2^k, n): where each face stands in the list of all; bit j of the row number
        says whether variable j is kept.
    """

    coefficients: FloatArray
    variables: IntArray
    places: IntArray


@dataclass(frozen=True, eq=False)
class Faces:
    """All faces of all terms, and the terms in groups of one pattern of exponents.

    Parameters
    ----------
    terms
        The distinct faces; the first is the constant.
    groups
        The terms that are not zero.
    n_outputs
        Number of outputs.
    """

    terms: Terms
    groups: tuple[FaceGroup, ...]
    n_outputs: int

    def mean(self, moments: FloatArray) -> FloatArray:
        """Average the polynomial, given the mean of each face (n_faces,): array (n_outputs,)."""
        total = np.zeros(self.n_outputs)
        for group in self.groups:
            total += moments[group.places[-1]] @ group.coefficients
        return total


def make_faces(poly: Polynomial) -> Faces:
    """List the faces of every term with a coefficient other than zero.

    Examples
    --------
    >>> poly = Polynomial.from_terms(["a^2 b"], [1.0], ["a", "b"])
    >>> list(make_faces(poly).terms)
    [(), (1,), (0, 0), (0, 0, 1)]
    """
    _check_room(poly)
    begin = offsets(poly.n_features, poly.max_order)
    found: list[tuple[FloatArray, IntArray, IntArray]] = []
    for here, rows in poly.terms.by_degree():
        values = poly.coefficients[here]
        kept = np.flatnonzero(values.any(axis=1))
        for places, variables, exponents in patterns(rows[kept]):
            chosen = kept[places]
            positions = _positions(rows[chosen], exponents, begin, poly.n_features)
            found.append((values[chosen], variables, positions))
    every = [positions.ravel() for _, _, positions in found]
    unique = np.unique(np.concatenate([np.zeros(1, dtype=np.intp), *every]))
    groups = (FaceGroup(c, v, np.searchsorted(unique, where)) for c, v, where in found)
    return Faces(Terms(poly.n_features, poly.max_order, unique), tuple(groups), poly.n_outputs)


def _positions(
    rows: IntArray, exponents: tuple[int, ...], begin: list[int], n_features: int
) -> IntArray:
    """Find the faces of monomials (n, degree) in the full basis: array (2^k, n)."""
    owner = np.repeat(np.arange(len(exponents)), exponents)
    positions = np.empty((2 ** len(exponents), len(rows)), dtype=np.intp)
    for mask in range(len(positions)):
        face = rows[:, np.flatnonzero(mask >> owner & 1)]
        positions[mask] = begin[face.shape[1]] + rank(face, n_features)
    return positions


def _check_room(poly: Polynomial) -> None:
    n_faces = 0
    for _, rows in poly.terms.by_degree():
        distinct = np.count_nonzero(np.diff(rows, axis=1, prepend=-1), axis=1)
        n_faces += sum(n << k for k, n in enumerate(np.bincount(distinct).tolist()))
    check_terms(
        n_faces,
        8 * (3 * n_faces + poly.coefficients.size),
        what="This polynomial, each term split by subsets of its variables,",
        remedy="truncate it to a lower order, or prune it, before explaining it",
    )
