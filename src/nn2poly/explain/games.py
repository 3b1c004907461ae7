"""One polynomial per subset of features: what all indices of cooperative games are made of.

The game of a row x is v(S) = E_b P(x_S, b_rest), the features outside S replaced by those of a
background row b. Its Möbius coefficients m(T) = Σ_{S⊆T} (-1)^{|T|-|S|} v(S) vanish unless T lies
within the variables of a term, and every index used here is I(S) = Σ_{T⊇S} w(|S|, |T|) m(T) with
weights that know only sizes. A term c z^α with variables A enters v(S) as c x^α_B M(α_{A∖B}),
B = S ∩ A, M the moments of the background. So I(S) is a polynomial in x whose terms are the faces
of the terms of P, with coefficients c · M(opposite face) · (one number per sizes of B, S∪B, A).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

from nn2poly.algebra.monomials import (
    rank,
    unrank,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.explain.moments import monomial_values, row_batches
from nn2poly.explain.subterms import FaceGroup, Faces
from nn2poly.formula.terms import Terms
from nn2poly.memory import check_terms

Subset = tuple[int, ...]
# Weight of the Möbius coefficient of a set of size t in the index of a subset of size s.
Weight = Callable[[int, int], Fraction]
INDICES = ("k-SII", "STII", "SII")
# Up to so many entries of a polynomial are added one by one.
FEW_ENTRIES = 8


def moebius_weight(s: int, t: int) -> Fraction:
    """Weigh for the Möbius coefficients themselves, the pure effect of each subset."""
    return Fraction(s == t)


def shapley_weight(s: int, t: int) -> Fraction:
    """Weigh for Shapley values (s = 1) and the Shapley interaction index of Grabisch.

    Every set shares its coefficient equally among what contains the subset.
    """
    return Fraction(1, t - s + 1)


def index_weight(index: str, order: int) -> Weight:
    """Give the weights of an interaction index up to an order.

    Parameters
    ----------
    index
        ``"SII"`` (Grabisch and Roubens), ``"STII"`` (Shapley–Taylor: Sundararajan, Dhamdhere
        and Agarwal) or ``"k-SII"`` (n-Shapley values: Bordt and von Luxburg).
    order
        Largest size of a subset.

    Examples
    --------
    A coefficient of three features, as k-SII of order 2 gives it to each feature and each pair;
    together the whole of it:

    >>> weight = index_weight("k-SII", 2)
    >>> weight(1, 3), weight(2, 3), 3 * weight(1, 3) + 3 * weight(2, 3)
    (Fraction(-1, 6), Fraction(1, 2), Fraction(1, 1))
    """
    if index == "SII":
        return shapley_weight
    if index == "STII":
        return lambda s, t: Fraction(1, comb(t, s)) if s == order else moebius_weight(s, t)
    bernoulli = bernoulli_numbers(order)

    def aggregated(s: int, t: int) -> Fraction:
        # Φ(S) = Σ_r B_r Σ_{|R|=r} SII(S ∪ R), up to |S ∪ R| = order.
        most = min(order, t) - s
        parts = (bernoulli[r] * comb(t - s, r) * shapley_weight(s + r, t) for r in range(most + 1))
        return sum(parts, Fraction(0))

    return aggregated


def bernoulli_numbers(n: int) -> list[Fraction]:
    """List B_0 … B_n, with B_1 = -1/2.

    Examples
    --------
    >>> [str(b) for b in bernoulli_numbers(4)]
    ['1', '-1/2', '1/6', '0', '-1/30']
    """
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        known = sum((comb(m + 1, j) * numbers[j] for j in range(m)), Fraction(0))
        numbers.append(-known / (m + 1))
    return numbers


@dataclass(frozen=True, eq=False)
class SubsetPolynomials:
    """One polynomial for each subset of features, all in the terms of one list.

    Parameters
    ----------
    subsets
        Tuples of feature indices, by size and then in lexicographic order.
    terms
        The terms that the polynomials share.
    ends
        Array (n_subsets + 1,): the entries of subset j are ``ends[j]:ends[j + 1]``.
    places
        Array (n_entries,): the term of each entry.
    coefficients
        Array (n_entries, n_outputs).
    """

    subsets: tuple[Subset, ...]
    terms: Terms
    ends: IntArray
    places: IntArray
    coefficients: FloatArray

    def batches(self, z: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Walk over rows z (n, p): a slice of rows, their values (rows, n_subsets, n_outputs)."""
        n_outputs = self.coefficients.shape[1]
        width = max(len(self.terms), len(self.subsets) * n_outputs)
        for here in row_batches(len(z), width):
            monomials = monomial_values(self.terms, z[here])
            yield here, self._values(monomials).transpose(2, 0, 1)

    def _values(self, monomials: FloatArray) -> FloatArray:
        """Combine monomials (n_terms, rows) to values (n_subsets, n_outputs, rows)."""
        out = np.zeros((len(self.subsets), self.coefficients.shape[1], monomials.shape[1]))
        counts = np.diff(self.ends)
        for count in np.unique(counts[counts <= FEW_ENTRIES]).tolist():
            # Hundreds of thousands of pairs with a few entries each: all at once, entry by entry.
            alike = np.flatnonzero(counts == count)
            for entry in (self.ends[alike] + step for step in range(count)):
                values = monomials[self.places[entry]][:, None, :]
                out[alike] += self.coefficients[entry][:, :, None] * values
        for j in np.flatnonzero(counts > FEW_ENTRIES).tolist():
            here = slice(self.ends[j], self.ends[j + 1])
            np.matmul(self.coefficients[here].T, monomials[self.places[here]], out=out[j])
        return out

    def evaluate(self, z: FloatArray) -> FloatArray:
        """Evaluate on rows z (n, p): array (n, n_subsets, n_outputs)."""
        shape = (len(z), len(self.subsets), self.coefficients.shape[1])
        check_terms(
            len(self.subsets),
            8 * shape[0] * shape[1] * shape[2],
            what=f"The array of values of every subset on {len(z):,} rows",
            remedy="pass fewer rows at a time, lower the order, or prune the polynomial",
        )
        out = np.empty(shape)
        for here, values in self.batches(z):
            out[here] = values
        return out


def subset_polynomials(
    faces: Faces, moments: FloatArray, weight: Weight, max_size: int
) -> SubsetPolynomials:
    """Collect I(S) for every subset S of 1 … ``max_size`` features that share a term.

    Parameters
    ----------
    faces
        Of the polynomial.
    moments
        Array (n_faces,): mean of each face over the background.
    weight
        The index, as weights of Möbius coefficients.

    Examples
    --------
    The Shapley value of a in ``a b``, against a background of one row (2, 3):
    (a b + 3 a - 2 b - 6) / 2.

    >>> from nn2poly import Polynomial
    >>> from nn2poly.explain.subterms import make_faces
    >>> faces = make_faces(Polynomial.from_terms(["a b"], [1.0], ["a", "b"]))
    >>> values = subset_polynomials(faces, np.array([1.0, 2.0, 3.0, 6.0]), shapley_weight, 1)
    >>> values.subsets, values.coefficients[:4, 0]
    (((0,), (1,)), array([-3. ,  1.5, -1. ,  0.5]))
    """
    p, most = faces.terms.n_features, max((g.variables.shape[1] for g in faces.groups), default=0)
    sizes = range(1, min(max_size, most) + 1)
    parts = [_of_size(faces, moments, weight, size) for size in sizes]
    subsets: list[Subset] = []
    begins, count = [np.zeros(0, dtype=np.intp)], 0
    for size, (ranks, _, _) in zip(sizes, parts, strict=True):
        first = np.flatnonzero(np.diff(ranks, prepend=-1))
        subsets += map(tuple, unrank(ranks[first], p, size).tolist())
        begins.append(first + count)
        count += len(ranks)
    return SubsetPolynomials(
        tuple(subsets),
        faces.terms,
        np.append(np.concatenate(begins), count),
        np.concatenate([np.zeros(0, dtype=np.intp), *(places for _, places, _ in parts)]),
        np.concatenate([np.zeros((0, faces.n_outputs)), *(values for _, _, values in parts)]),
    )


Entries = tuple[IntArray, IntArray, FloatArray]


def _of_size(faces: Faces, moments: FloatArray, weight: Weight, size: int) -> Entries:
    """Collect the entries of all subsets of one size: ranks, places, coefficients."""
    _check_entries(faces, size)

    @cache
    def factor(b: int, union: int, k: int) -> float:
        return float(face_weight(weight, size, b, union, k))

    found = [
        entry
        for group in faces.groups
        for entry in _group_entries(group, moments, factor, size, faces.terms.n_features)
    ]
    nothing = np.zeros(0, dtype=np.intp)
    found.append((nothing, nothing, np.zeros((0, faces.n_outputs))))
    ranks, places, values = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((places, ranks))
    ranks, places = ranks[order], places[order]
    new = (np.diff(ranks, prepend=-1) != 0) | (np.diff(places, prepend=-1) != 0)
    first = np.flatnonzero(new)
    sums = np.add.reduceat(values[order], first, axis=0) if len(first) else values
    return ranks[first], places[first], sums


def _group_entries(
    group: FaceGroup,
    moments: FloatArray,
    factor: Callable[[int, int, int], float],
    size: int,
    n_features: int,
) -> Iterator[Entries]:
    k = group.variables.shape[1]
    chosen = [
        (sum(1 << j for j in kept), rank(group.variables[:, kept], n_features))
        for kept in combinations(range(k), size)
    ]
    for mask, places in enumerate(group.places):
        # The opposite face is averaged over the background.
        values = group.coefficients * moments[group.places[-1 - mask]][:, None]
        for subset, ranks in chosen:
            share = factor(mask.bit_count(), (mask | subset).bit_count(), k)
            if share:
                yield ranks, places, values * share


def face_weight(weight: Weight, s: int, b: int, u: int, k: int) -> Fraction:
    """Weigh one face of a term of k variables in the index of a subset.

    Σ_T (-1)^{|T| - b} w(s, |T|) over the sets T between S ∪ B and the variables of the term.

    Parameters
    ----------
    s, b, u
        Sizes of the subset S, of the variables B that the face keeps, and of their union.

    Examples
    --------
    >>> face_weight(shapley_weight, 1, 2, 2, 3), face_weight(shapley_weight, 1, 0, 1, 3)
    (Fraction(1, 6), Fraction(-1, 3))
    """
    parts = (comb(k - u, t - u) * (-1) ** (t - b) * weight(s, t) for t in range(u, k + 1))
    return sum(parts, Fraction(0))


def _check_entries(faces: Faces, size: int) -> None:
    count = 0
    for group in faces.groups:
        n, k = group.variables.shape
        count += n * 2**k * comb(k, size)
    check_terms(
        count,
        8 * count * (2 * faces.n_outputs + 6),
        what=f"The explanation by subsets of size {size}",
        remedy="lower the order, truncate the polynomial, or prune it",
    )
