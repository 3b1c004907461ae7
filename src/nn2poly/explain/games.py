"""Sums for every subset of players: what all indices of cooperative games are made of.

The game of a row x is v(S) = E_b P(x_S, b_rest), the players outside S replaced by those of a
background row b. Its Möbius coefficients m(T) = Σ_{S⊆T} (-1)^{|T|-|S|} v(S) vanish unless T lies
within the players of a term, and every index used here is I(S) = Σ_{T⊇S} w(|S|, |T|) m(T) with
weights that know only sizes. A term c Π_{i∈A} g_i enters v(S) as c · Π_{i∈B} g_i(x_i) · M(A∖B),
B = S ∩ A, with M(A∖B) the mean of the other factors over the background. So I(S) is a sum of
faces of the terms, with coefficients c · M(opposite face) · (a number per sizes of B, S∪B, A).
With factors centred on the background, every M of a single factor is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.explain.factor_products import Sums, collected, distinct, row_codes
from nn2poly.explain.separable import Separable
from nn2poly.memory import check_terms

Subset = tuple[int, ...]
# Weight of the Möbius coefficient of a set of size t in the index of a subset of size s.
Weight = Callable[[int, int], Fraction]
INDICES = ("k-SII", "STII", "SII")


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
class SubsetSums:
    """One sum of products for each subset of players.

    Parameters
    ----------
    subsets
        Tuples of players, by size and then in lexicographic order.
    form
        The formula whose factors the products are of.
    sums
        The sums, in the order of the subsets.
    """

    subsets: tuple[Subset, ...]
    form: Separable
    sums: Sums

    def batches(self, rows: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Walk over raw rows (n, p): a slice, and the values (rows, n_subsets, n_outputs)."""
        return self.sums.batches(self.form.on(rows), len(rows))

    def evaluate(self, rows: FloatArray) -> FloatArray:
        """Evaluate on raw rows (n, p): array (n, n_subsets, n_outputs)."""
        shape = (len(rows), *self.sums.shape)
        check_terms(
            len(self.subsets),
            8 * shape[0] * shape[1] * shape[2],
            what=f"The array of values of every subset on {len(rows):,} rows",
            remedy="pass fewer rows at a time, lower the order, or prune the polynomial",
        )
        out = np.empty(shape)
        for here, values in self.batches(rows):
            out[here] = values
        return out


def number_subsets(players: IntArray, n_players: int) -> tuple[list[Subset], IntArray]:
    """List the different rows (n, size) of players, in order, and tell which each row is.

    Examples
    --------
    >>> number_subsets(np.array([[0, 2], [0, 1], [0, 2]]), 3)
    ([(0, 1), (0, 2)], array([1, 0, 1]))
    """
    unique, which = distinct(row_codes(players, n_players), n_players ** players.shape[1])
    first = np.empty(len(unique), dtype=np.intp)
    first[which] = np.arange(len(players))
    return list(map(tuple, players[first].tolist())), which


def subset_sums(form: Separable, moments: FloatArray, weight: Weight, max_size: int) -> SubsetSums:
    """Collect I(S) for every subset S of 1 … ``max_size`` players that share a term.

    Parameters
    ----------
    form
        Closed under faces, as `separable.centred` makes it.
    moments
        Array (n_terms,): mean of each term's product over the background.
    weight
        The index, as weights of Möbius coefficients.

    Examples
    --------
    The Shapley value of a in ``a b``, against a background of one row (2, 3), is half of
    (a - 2)(b - 3) and 3 (a - 2):

    >>> from nn2poly import Polynomial
    >>> from nn2poly.explain.rewriting import centred, moments
    >>> from nn2poly.explain.separable import of_polynomial
    >>> one = np.array([[2.0, 3.0]])
    >>> form = centred(of_polynomial(Polynomial.from_terms(["a b"], [1.0], ["a", "b"])), one)
    >>> values = subset_sums(form, moments(form, one), shapley_weight, 1)
    >>> values.subsets, values.sums.coefficients[:3, 0]
    (((0,), (1,)), array([0. , 3. , 0.5]))
    """
    sizes = range(1, min(max_size, len(form.terms.by_size) - 1) + 1)
    subsets: list[Subset] = []
    entries: list[Entries] = []
    for size in sizes:
        players, places, values = _of_size(form, moments, weight, size)
        found, which = number_subsets(players, len(form.players))
        entries.append((which + len(subsets), places, values))
        subsets += found
    if not entries:
        nothing = np.empty(0, dtype=np.intp)
        entries.append((nothing, nothing, np.empty((0, form.coefficients.shape[1]))))
    which, places, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    sums = collected(form.terms, which, places, values, len(subsets))
    return SubsetSums(tuple(subsets), form, sums)


# Subsets (n, size) or their numbers (n,), places of products (n,), coefficients (n, n_outputs).
Entries = tuple[IntArray, IntArray, FloatArray]


def _of_size(form: Separable, moments: FloatArray, weight: Weight, size: int) -> Entries:
    """List the entries of all subsets of one size."""
    _check_entries(form, size)

    @cache
    def share(b: int, union: int, k: int) -> float:
        return float(face_weight(weight, size, b, union, k))

    nothing = np.empty(0, dtype=np.intp)
    found = [(nothing.reshape(0, size), nothing, np.empty((0, form.coefficients.shape[1])))]
    for here, products in form.terms:
        found += _entries(form, here, products, moments, share, size)
    players, places, values = (np.concatenate(part) for part in zip(*found, strict=True))
    return players, places, values


def _entries(
    form: Separable,
    here: slice,
    products: IntArray,
    moments: FloatArray,
    share: Callable[[int, int, int], float],
    size: int,
) -> Iterator[Entries]:
    """Walk the faces of terms of one number of players, and the subsets that each counts for."""
    k = products.shape[1]
    owners, coefficients = form.owners[products], form.coefficients[here]
    for mask in range(2**k):
        kept, left = ([j for j in range(k) if (mask >> j & 1) == bit] for bit in (1, 0))
        if len(left) == 1:
            # A centred factor averages to zero.
            continue
        places = form.terms.find(products[:, kept])
        values = coefficients * moments[form.terms.find(products[:, left])][:, None]
        for subset in combinations(range(k), size):
            part = share(len(kept), len({*kept, *subset}), k)
            if part:
                yield owners[:, subset], places, values * part


def face_weight(weight: Weight, s: int, b: int, u: int, k: int) -> Fraction:
    """Weigh one face of a term of k players in the index of a subset.

    Σ_T (-1)^{|T| - b} w(s, |T|) over the sets T between S ∪ B and the players of the term.

    Parameters
    ----------
    s, b, u
        Sizes of the subset S, of the players B that the face keeps, and of their union.

    Examples
    --------
    >>> face_weight(shapley_weight, 1, 2, 2, 3), face_weight(shapley_weight, 1, 0, 1, 3)
    (Fraction(1, 6), Fraction(-1, 3))
    """
    parts = (comb(k - u, t - u) * (-1) ** (t - b) * weight(s, t) for t in range(u, k + 1))
    return sum(parts, Fraction(0))


def _check_entries(form: Separable, size: int) -> None:
    count = sum(len(rows) * 2**k * comb(k, size) for k, rows in enumerate(form.terms.by_size))
    check_terms(
        count,
        8 * count * (2 * form.coefficients.shape[1] + 6),
        what=f"The explanation by subsets of size {size}",
        remedy="lower the order, truncate the polynomial, or prune it",
    )
