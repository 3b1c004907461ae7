"""Hold some features fixed, or average them out: what is left is a polynomial in the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nn2poly.algebra.monomials import (
    count_degree,
    count_terms,
    rank,
    starts,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.explain.derivatives import plain
from nn2poly.explain.moments import joint_moments, row_batches
from nn2poly.formula.evaluate import next_features
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.sparse import sum_duplicates
from nn2poly.formula.terms import Terms, offsets

# Moments of the full basis are worked out at once when it has at most so many times the terms.
DENSE_BELOW = 8


@dataclass(frozen=True)
class Part:
    """Terms of one degree that hold as many factors of the chosen features.

    Parameters
    ----------
    places
        Array (m,): their rows among the coefficients.
    inside, outside
        Arrays (m, c) and (m, d - c): the chosen features of each term, and the others.
    """

    places: IntArray
    inside: IntArray
    outside: IntArray


def split_terms(terms: Terms, features: Sequence[int]) -> Iterator[Part]:
    """Split every term into chosen features and others."""
    is_chosen = np.zeros(terms.n_features, dtype=bool)
    is_chosen[list(features)] = True
    for here, variables in terms.by_degree():
        inside = is_chosen[variables]
        counts = inside.sum(axis=1)
        for count in np.unique(counts).tolist():
            rows = np.flatnonzero(counts == count)
            mask, chosen = inside[rows], variables[rows]
            yield Part(
                rows + here.start,
                chosen[mask].reshape(len(rows), count),
                chosen[~mask].reshape(len(rows), variables.shape[1] - count),
            )


def contrast(
    poly: Polynomial, features: Sequence[int], to: FloatArray, start: FloatArray
) -> Polynomial:
    """Change some features from one set of values to another: the change of the outputs.

    Parameters
    ----------
    features
        The m features that move.
    to, start
        Arrays (m,) in raw units.

    Returns
    -------
    Polynomial
        In all features; those that move no longer occur in it.
    """
    z_to, z_start = np.ones(poly.n_features), np.ones(poly.n_features)
    columns = list(features)
    z_to[columns] = (to - poly.center[columns]) / poly.scale[columns]
    z_start[columns] = (start - poly.center[columns]) / poly.scale[columns]
    begin = offsets(poly.n_features, poly.max_order)
    positions, values = [np.empty(0, dtype=np.intp)], [np.empty((0, poly.n_outputs))]
    for part in split_terms(poly.terms, features):
        if not part.inside.shape[1]:
            continue
        weight = np.prod(z_to[part.inside], axis=1) - np.prod(z_start[part.inside], axis=1)
        positions.append(begin[part.outside.shape[1]] + rank(part.outside, poly.n_features))
        values.append(poly.coefficients[part.places] * weight[:, None])
    order = max(poly.max_order - 1, 0)
    return plain(poly, order, *sum_duplicates(np.concatenate(positions), np.concatenate(values)))


def powers_of(poly: Polynomial, feature: int) -> list[Polynomial]:
    """Write P = Σ_m z_j^m A_m, with A_m free of the feature: the list of A_0 … A_Q."""
    parts = list(split_terms(poly.terms, (feature,)))
    begin = offsets(poly.n_features, poly.max_order)
    result = []
    for power in range(poly.max_order + 1):
        positions, values = [np.empty(0, dtype=np.intp)], [np.empty((0, poly.n_outputs))]
        for part in parts:
            if part.inside.shape[1] == power:
                place = begin[part.outside.shape[1]] + rank(part.outside, poly.n_features)
                positions.append(place)
                values.append(poly.coefficients[part.places])
        order = poly.max_order - power
        result.append(plain(poly, order, np.concatenate(positions), np.concatenate(values)))
    return result


def average_out(poly: Polynomial, rows: FloatArray, features: Sequence[int]) -> Polynomial:
    """Average a polynomial over the rows in all features but the chosen ones, which stay free.

    Each term factors into its chosen part and the rest, whose average is one moment:
    E[P](z_S) = Σ_α c_α z_S^α_S E[z^α_rest].

    Parameters
    ----------
    rows
        Array (n, p) in raw units.
    features
        The m features that stay, in the order wanted.

    Returns
    -------
    Polynomial
        In the chosen features only.
    """
    z = (rows - poly.center) / poly.scale
    parts = list(split_terms(poly.terms, features))
    begin = offsets(poly.n_features, poly.max_order)
    places = [begin[p.outside.shape[1]] + rank(p.outside, poly.n_features) for p in parts]
    averages = _moments(z, poly.max_order, places)
    small = offsets(len(features), poly.max_order)
    new_index = np.zeros(poly.n_features, dtype=np.intp)
    new_index[list(features)] = np.arange(len(features))
    positions, values = [np.empty(0, dtype=np.intp)], [np.empty((0, poly.n_outputs))]
    for part, average in zip(parts, averages, strict=True):
        variables = np.sort(new_index[part.inside], axis=1)
        positions.append(small[variables.shape[1]] + rank(variables, len(features)))
        values.append(poly.coefficients[part.places] * average[:, None])
    kept, summed = sum_duplicates(np.concatenate(positions), np.concatenate(values))
    columns = list(features)
    return Polynomial(
        summed,
        poly.max_order,
        [poly.feature_names[j] for j in columns],
        poly.output_names,
        center=poly.center[columns],
        scale=poly.scale[columns],
        positions=None if len(kept) == small[-1] else kept,
    )


def _moments(z: FloatArray, max_order: int, places: list[IntArray]) -> list[FloatArray]:
    """Average the monomials at the given positions of the basis over the rows of z (n, p)."""
    if not places:
        return []
    needed = np.unique(np.concatenate(places))
    basis = count_terms(z.shape[1], max_order)
    if basis <= DENSE_BELOW * len(needed):
        every = np.concatenate(all_moments(z, max_order))
        return [every[place] for place in places]
    found = joint_moments(Terms(z.shape[1], max_order, needed), z)
    return [found[np.searchsorted(needed, place)] for place in places]


def all_moments(z: FloatArray, max_order: int) -> list[FloatArray]:
    """Average every monomial of degree 0 … Q over the rows of z (n, p), one array per degree.

    The monomials of degree d that begin with variable i are z_i times a suffix of those of
    degree d - 1, so that all their sums are one matrix product.

    Examples
    --------
    >>> [m.tolist() for m in all_moments(np.array([[1.0, 2.0], [3.0, 4.0]]), 2)]
    [[1.0], [2.0, 3.0], [5.0, 7.0, 10.0]]
    """
    p = z.shape[1]
    totals = [np.zeros(count_degree(p, degree)) for degree in range(max_order + 1)]
    for batch in row_batches(len(z), count_degree(p, max(max_order - 1, 1))):
        x = np.ascontiguousarray(z[batch].T)
        features = np.ones((1, x.shape[1]))
        totals[0] += x.shape[1]
        for degree in range(1, max_order + 1):
            here, below = starts(p, degree), starts(p, degree - 1)
            products = x @ features.T
            for i in range(p):
                totals[degree][here[i] : here[i + 1]] += products[i, below[i] :]
            if degree < max_order:
                features = next_features(features, x, degree)
    return [total / len(z) for total in totals]
