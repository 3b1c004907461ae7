"""`anova`: the functional ANOVA of a polynomial, pure effects of features, pairs, ….

For independent features, E z^α factors into moments of single features μ(i, a) = E z_i^a, and the
effects of Hoeffding's decomposition are sums of products of centred powers,

    f_T(z) = Σ_β g_β Π_{i∈T} (z_i^β_i - μ(i, β_i)),   g_β = Σ_α c_α Π_{i∉T} μ(i, α_i),

over the exponents β with variables T, and over the terms α that agree with β on T. A triangular
factor of each feature's powers (QR) turns them into orthonormal polynomials, in which a
variance is a sum of squares: nothing cancels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from nn2poly.algebra.monomials import (
    rank,
    unrank,
)
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import UnknownTermError
from nn2poly.explain.games import Subset
from nn2poly.explain.moments import (
    feature_moments,
    patterns,
    read_population,
    read_rows,
    recentred,
    row_batches,
    warn_once,
)
from nn2poly.explain.subterms import Faces, make_faces
from nn2poly.explain.summaries import ranked_table, subset_name
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import Terms, parse_term
from nn2poly.memory import check_terms
from nn2poly.tables import Table


@dataclass(frozen=True, eq=False)
class Piece:
    """Products of centred powers that share their exponents.

    Parameters
    ----------
    owners
        Array (n,): the subset that each belongs to, none of them twice.
    variables
        Array (n, k).
    exponents
        The k powers.
    coefficients
        Array (n, n_outputs).
    """

    owners: IntArray
    variables: IntArray
    exponents: tuple[int, ...]
    coefficients: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Anova:
    """A polynomial as its mean plus one pure effect for each subset of features.

    Each effect averages to zero over any one of its features, whatever the others, when the
    features are independent with the marginals of the data. Only subsets of features that share
    a term are listed; the effects of all others are zero.

    Parameters
    ----------
    subsets
        Tuples of feature indices, by size and then in lexicographic order.
    mean
        Array (n_outputs,).
    variances
        Array (n_subsets, n_outputs): of each effect, for independent features; their sum is
        the variance of the polynomial.
    poly
        The polynomial, in coordinates around the mean of the data.
    moments
        Array (p, Q + 1): mean powers of each feature in these coordinates.
    pieces
        The effects.
    """

    subsets: tuple[Subset, ...]
    mean: FloatArray
    variances: FloatArray
    poly: Polynomial
    moments: FloatArray
    pieces: tuple[Piece, ...]

    def component(self, subset: Any) -> Polynomial:
        """Give the effect of one subset (indices or names) as a polynomial of its own."""
        wanted = tuple(sorted(set(parse_term(subset, self.poly.feature_names))))
        if wanted not in self.subsets:
            raise UnknownTermError(
                f"No term holds {subset_name(wanted, self.poly.feature_names) or 'nothing'!r}.",
                expected=f"one of the {len(self.subsets):,} subsets of features that share a term",
                remedy="see .subsets; effects that are not listed are zero, .mean is the constant",
            )
        owner = self.subsets.index(wanted)
        every = [part for piece in self.pieces for part in self._expanded(piece, owner)]
        parts = [part for part in every if part[1].any()] or every[:1]
        return Polynomial.from_terms(
            [term for term, _ in parts],
            np.array([values for _, values in parts]),
            self.poly.feature_names,
            output_names=self.poly.output_names,
            center=self.poly.center,
            scale=self.poly.scale,
            low=self.poly.low,
            high=self.poly.high,
        )

    def _expanded(self, piece: Piece, owner: int) -> Iterator[tuple[Subset, FloatArray]]:
        """Multiply the product of one subset out: its terms and their coefficients."""
        for place in np.flatnonzero(piece.owners == owner).tolist():
            factors = list(zip(piece.variables[place].tolist(), piece.exponents, strict=True))
            for kept in product((True, False), repeat=len(factors)):
                values, term = piece.coefficients[place], []
                for (i, a), keep in zip(factors, kept, strict=True):
                    term += [i] * a if keep else []
                    values = values if keep else -values * self.moments[i, a]
                yield tuple(term), values

    def evaluate(self, X: Any) -> FloatArray:
        """Evaluate every effect; with the mean they add up to the prediction.

        Parameters
        ----------
        X
            Array, data frame or stream (n, p) in raw units.

        Returns
        -------
        array (n, n_subsets, n_outputs)
        """
        rows = read_rows(self.poly, X, "X")
        warn_once(self.poly, rows)
        shape = (len(rows), *self.variances.shape)
        check_terms(
            len(self.subsets),
            8 * shape[0] * shape[1] * shape[2],
            what=f"The array of the effect of every subset on {len(rows):,} rows",
            remedy="pass fewer rows at a time, truncate the polynomial, or prune it",
        )
        out = np.empty(shape)
        for here, values in self.batches(rows):
            out[here] = values
        return out

    def batches(self, rows: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Walk over raw rows (n, p): a slice, and the effects (rows, n_subsets, n_outputs)."""
        z = (rows - self.poly.center) / self.poly.scale
        powers = np.arange(self.moments.shape[1])[:, None, None]
        width = max(self.variances.size, self.moments.size)
        for here in row_batches(len(z), width):
            centred = z[here].T ** powers - self.moments.T[:, :, None]
            out = np.zeros((*self.variances.shape, centred.shape[2]))
            for piece in self.pieces:
                values = np.ones((len(piece.owners), centred.shape[2]))
                for variable, a in zip(piece.variables.T, piece.exponents, strict=True):
                    values *= centred[a, variable]
                out[piece.owners] += piece.coefficients[:, :, None] * values[:, None, :]
            yield here, out.transpose(2, 0, 1)

    def table(self, n: int | None = None, *, output: int | str | None = None) -> Table:
        """Rank the effects by standard deviation, the n first or all, of one output or all."""
        names = [subset_name(subset, self.poly.feature_names) for subset in self.subsets]
        deviations = np.sqrt(self.variances)
        title = "Functional ANOVA: standard deviation of each pure effect"
        return ranked_table(
            title,
            "features",
            names,
            deviations,
            self.poly.output_names,
            n=n,
            output=output,
            heading="deviation",
        )

    def __repr__(self) -> str:
        return str(self.table(20))

    def _repr_html_(self) -> str:
        return self.table(20)._repr_html_()


def anova(poly: Polynomial, X: Any) -> Anova:
    """Answer "what does each feature do by itself, and what only with others?".

    Hoeffding's decomposition for independent features with the marginals of X: every effect is
    purified, that is, averages to zero over each of its features (Lengerich et al. 2020).

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array or data frame (n, p) in raw units: the data whose marginals count; of a stream an
        even choice of at most 200,000 rows.

    Returns
    -------
    Anova

    Examples
    --------
    With a and b both of mean 1, a b is 1 + (a - 1) + (b - 1) + (a - 1)(b - 1):

    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    >>> effects = n2p.explain.anova(poly, [[0.0, 0.0], [2.0, 2.0]])
    >>> effects.mean, effects.component("a").predict([[5.0, 0.0]])
    (array([1.]), array([4.]))
    >>> effects.subsets, effects.variances.ravel()
    (((0,), (1,), (0, 1)), array([1., 1., 1.]))
    """
    rows = read_population(poly, X, "X")
    warn_once(poly, rows)
    near = recentred(poly, rows)
    faces = make_faces(near)
    z = (rows - near.center) / near.scale
    moments = _clean(feature_moments(z, near.max_order), z)
    values = _contracted(faces, _product_moments(faces.terms, moments))
    subsets, pieces = _pieces(faces.terms, values)
    variances = _variances(pieces, _triangles(z, near.max_order), len(subsets), near.n_outputs)
    return Anova(subsets, values[0], variances, near, moments, pieces)


def _clean(moments: FloatArray, z: FloatArray) -> FloatArray:
    """Take the means of centred data, which are dust, for the zeros that they stand for."""
    dust = np.abs(moments) <= 64 * np.finfo(float).eps * np.abs(z).max(axis=0)[:, None]
    dust[:, :1] = dust[:, 2:] = False
    return np.where(dust, 0.0, moments)


def _product_moments(terms: Terms, moments: FloatArray) -> FloatArray:
    """Average every term over independent features: array (n_terms,)."""
    out = np.ones(len(terms))
    for here, rows in terms.by_degree():
        for places, variables, exponents in patterns(rows):
            for variable, a in zip(variables.T, exponents, strict=True):
                out[here.start + places] *= moments[variable, a]
    return out


def _contracted(faces: Faces, moments: FloatArray) -> FloatArray:
    """Average the variables outside each face away: g (n_faces, n_outputs)."""
    out = np.zeros((len(faces.terms), faces.n_outputs))
    for group in faces.groups:
        for mask, places in enumerate(group.places):
            values = group.coefficients * moments[group.places[-1 - mask]][:, None]
            for k in range(faces.n_outputs):
                out[:, k] += np.bincount(places, values[:, k], minlength=len(out))
    return out


def _pieces(terms: Terms, values: FloatArray) -> tuple[tuple[Subset, ...], tuple[Piece, ...]]:
    """Sort the faces by their variables: the subsets, and the products that belong to them."""
    found: dict[int, list[tuple[IntArray, IntArray, tuple[int, ...], FloatArray]]]
    found = defaultdict(list)
    for here, rows in terms.by_degree():
        for places, variables, exponents in patterns(rows):
            ranks = rank(variables, terms.n_features)
            found[len(exponents)].append((ranks, variables, exponents, values[here][places]))
    subsets: list[Subset] = []
    pieces = []
    for size in sorted(set(found) - {0}):
        known = np.unique(np.concatenate([ranks for ranks, *_ in found[size]]))
        for ranks, variables, exponents, part in found[size]:
            owners = len(subsets) + np.searchsorted(known, ranks)
            pieces.append(Piece(owners, variables, exponents, part))
        subsets += map(tuple, unrank(known, terms.n_features, size).tolist())
    return tuple(subsets), tuple(pieces)


def _triangles(z: FloatArray, max_order: int) -> FloatArray:
    """Write the powers of each feature in its orthonormal polynomials.

    Returns
    -------
    array (p, Q + 1, Q + 1)
        Entry [i, j, a]: the part of z_i^a along the polynomial of degree j. A feature with few
        distinct values needs no special case: its higher rows are zero up to rounding.
    """
    n, p = z.shape
    out = np.zeros((p, max_order + 1, max_order + 1))
    for i in range(p):
        powers = z[:, [i]] ** np.arange(max_order + 1)
        triangle = np.linalg.qr(powers, mode="r") / np.sqrt(n)
        out[i, : len(triangle)] = triangle
    return out


def _variances(
    pieces: tuple[Piece, ...], triangles: FloatArray, n_subsets: int, n_outputs: int
) -> FloatArray:
    """Sum the squares of the orthonormal coefficients of each subset: (n_subsets, n_outputs)."""
    shape = (n_subsets, n_outputs)
    sums: dict[tuple[int, ...], FloatArray] = defaultdict(lambda: np.zeros(shape))
    for piece in pieces:
        for degrees in product(*(range(1, a + 1) for a in piece.exponents)):
            factor = np.ones(len(piece.owners))
            for variable, j, a in zip(piece.variables.T, degrees, piece.exponents, strict=True):
                factor *= triangles[variable, j, a]
            sums[degrees][piece.owners] += piece.coefficients * factor[:, None]
    return sum((part**2 for part in sums.values()), np.zeros(shape))
