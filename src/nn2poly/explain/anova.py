"""`anova`: the functional ANOVA of a formula, pure effects of features, pairs, ….

With factors centred by their means, a formula is already its ANOVA for independent players:
every product of centred factors averages to zero over any one of its players, so the effect f_T
of Hoeffding's decomposition is the sum of the terms with exactly the players T. A triangular
factor of each player's centred factors (QR) turns them into orthonormal functions, in which a
variance is a sum of squares: nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import UnknownTermError
from nn2poly.explain.effort import check_effort
from nn2poly.explain.factor_products import BATCH_BYTES, add_rows, collected, merged
from nn2poly.explain.games import Subset, SubsetSums, number_subsets
from nn2poly.explain.rewriting import as_polynomial, centred, shifted, some
from nn2poly.explain.rows import checked_population, checked_rows, warn_mixed
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import separable
from nn2poly.explain.summaries import ranked_table, shown, subset_name
from nn2poly.explain.written import known_range, recentred
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import parse_term
from nn2poly.memory import check_terms
from nn2poly.tables import Table

# Terms of one number of players are written in orthonormal functions when that gives at most so
# many (some seconds); regions cut in many columns give more, and little that could cancel.
MAX_EXPANDED = 2**22


@shown(20)
@dataclass(frozen=True, eq=False, repr=False)
class Anova:
    """A formula as its mean plus one pure effect for each subset of features.

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
        the variance of the formula.
    poly
        The formula, around the mean of the data if that is far.
    effects
        The effects, sums of products of centred factors.
    """

    subsets: tuple[Subset, ...]
    mean: FloatArray
    variances: FloatArray
    poly: Formula
    effects: SubsetSums

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features, or columns, that the subsets count."""
        return self.effects.form.players

    def component(self, subset: Any) -> Polynomial | Separable:
        """Give the effect of one subset (indices or names) as a polynomial of its own."""
        wanted = tuple(sorted(set(parse_term(subset, self.feature_names))))
        if wanted not in self.subsets:
            raise UnknownTermError(
                f"No term holds {subset_name(wanted, self.feature_names) or 'nothing'!r}.",
                expected=f"one of the {len(self.subsets):,} subsets of features that share a term",
                remedy="see .subsets; effects that are not listed are zero, .mean is the constant",
            )
        sums, form = self.effects.sums, self.effects.form
        here = slice(*sums.ends[self.subsets.index(wanted) :][:2])
        alone = some(form, sums.places[here], sums.coefficients[here])
        plain = as_polynomial(shifted(alone, -form.means), self.poly)
        if isinstance(plain, Polynomial) and (seen := known_range(self.poly)) is not None:
            return replace(plain, inputs=plain.inputs.seen(*seen))
        return plain

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
        return self.effects.evaluate(checked_rows(self.poly, X))

    def table(self, n: int | None = None, *, output: int | str | None = None) -> Table:
        """Rank the effects by standard deviation, the n first or all, of one output or all."""
        names = [subset_name(subset, self.feature_names) for subset in self.subsets]
        deviations = np.sqrt(self.variances)
        title = "Functional ANOVA: standard deviation of each pure effect"
        return ranked_table(
            title,
            "features",
            names,
            deviations,
            self.poly.outputs.scale_names,
            n=n,
            output=output,
            heading="deviation",
        )


def anova(poly: Formula, X: Any) -> Anova:
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
    rows = checked_population(poly, X)
    warn_mixed(poly)
    return decomposed(poly, rows)


def decomposed(poly: Formula, rows: FloatArray) -> Anova:
    """Decompose a formula over checked rows (n, p) in raw units."""
    near = recentred(poly, rows)
    form = centred(separable(near), rows)
    effects = _effects(form)
    variances = _variances(effects, _triangles(form, rows))
    return Anova(effects.subsets, form.coefficients[0], variances, near, effects)


def _effects(form: Separable) -> SubsetSums:
    """Sort the terms of a centred formula by their players."""
    subsets: list[Subset] = []
    owners = []
    for _, products in list(form.terms)[1:]:
        found, which = number_subsets(form.owners[products], len(form.players))
        owners.append(which + len(subsets))
        subsets += found
    which = np.concatenate([np.empty(0, dtype=np.intp), *owners])
    places = np.arange(1, len(form.terms))
    sums = collected(form.terms, which, places, form.coefficients[1:], len(subsets))
    return SubsetSums(tuple(subsets), form, sums)


@dataclass(frozen=True, eq=False)
class _Triangles:
    """Centred factors in orthonormal functions: g_f = Σ_{i ≤ rank_f} weights[f, i] e_{begin_f + i}.

    Parameters
    ----------
    begin, count
        Arrays (n_factors,).
    weights
        Array (n_factors, largest count).
    """

    begin: IntArray
    count: IntArray
    weights: FloatArray


def _triangles(form: Separable, rows: FloatArray) -> _Triangles:
    """Orthonormalise the factors of each player over raw rows (n, p).

    A player with few different values needs no special case: the weights of what it cannot tell
    apart are zero up to rounding.
    """
    counts = np.bincount(form.owners, minlength=len(form.players))
    begins = np.cumsum(counts) - counts
    weights = np.zeros((len(form.factors), max([1, *counts.tolist()])))
    # As many players at a time as make a batch: their factors are evaluated together.
    chunks = np.cumsum(counts) * len(rows) * 8 // BATCH_BYTES
    for chunk in np.unique(chunks).tolist():
        players = np.flatnonzero(chunks == chunk)
        start = int(begins[players[0]])
        values = form.values(rows, range(start, start + int(counts[players].sum())))
        for i in players[counts[players] > 0].tolist():
            here = slice(int(begins[i]), int(begins[i] + counts[i]))
            own = values[here.start - start : here.stop - start].T
            triangle = np.asarray(np.linalg.qr(own, mode="r"))
            weights[here, : len(triangle)] = triangle.T / np.sqrt(len(rows))
    numbers = np.arange(len(form.factors))
    return _Triangles(begins[form.owners], numbers - begins[form.owners] + 1, weights)


def _variances(effects: SubsetSums, triangles: _Triangles) -> FloatArray:
    """Compute the variance of every effect for independent players: (n_subsets, n_outputs)."""
    form, out = effects.form, np.zeros(effects.sums.shape)
    owner = np.empty(len(form.terms), dtype=np.intp)
    owner[effects.sums.places] = np.repeat(np.arange(len(out)), np.diff(effects.sums.ends))
    for here, products in list(form.terms)[1:]:
        which, values = owner[here], form.coefficients[here]
        if triangles.count[products].prod(axis=1).sum() <= MAX_EXPANDED:
            out += _squares(products, which, values, triangles, len(out))
        else:
            out += _by_subset(products, which, values, triangles, len(out))
    return out


def _squares(
    products: IntArray, which: IntArray, values: FloatArray, triangles: _Triangles, n: int
) -> FloatArray:
    """Write products (m, k) in orthonormal functions and add up squares by subset."""
    for column in range(products.shape[1]):
        factor = products[:, column]
        count = triangles.count[factor]
        again = np.repeat(np.arange(len(products)), count)
        step = np.arange(len(again)) - np.repeat(np.cumsum(count) - count, count)
        factor = factor[again]
        products, which = products[again], which[again]
        products[:, column] = triangles.begin[factor] + step
        values = values[again] * triangles.weights[factor, step][:, None]
    # The players of a product say its subset, so the products of different subsets differ.
    terms, sums = merged([products], [values], len(triangles.begin))
    subset = np.empty(len(terms), dtype=np.intp)
    subset[terms.find(products)] = which
    return add_rows(subset[1:], sums[1:] ** 2, n)


def _by_subset(
    products: IntArray, which: IntArray, values: FloatArray, triangles: _Triangles, n: int
) -> FloatArray:
    """Add up the variance of products (m, k) subset by subset, by the cheaper of two ways."""
    out = np.zeros((n, values.shape[1]))
    order = np.argsort(which, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
    shapes = [triangles.count[products[part]].max(axis=0).tolist() for part in parts]
    _check_effort(parts, shapes, values.shape[1])
    for part, shape in zip(parts, shapes, strict=True):
        way = _by_tensor if prod(shape) <= len(part) ** 2 else _by_pairs
        out[which[part[0]]] = way(products[part], values[part], triangles)
    return out


def _check_effort(parts: list[IntArray], shapes: list[list[int]], n_outputs: int) -> None:
    """Refuse effects of so many products that memory or a minute would not be enough."""
    sizes = [
        min(prod(shape) * n_outputs, len(part) ** 2)
        for part, shape in zip(parts, shapes, strict=True)
    ]
    what = f"The variance of effects of {len(shapes[0])} features"
    remedy = "truncate the polynomial to a lower order, or prune it, before"
    check_terms(max(map(len, parts)), 24 * max(sizes), what=f"{what}, which", remedy=remedy)
    # A tensor is gone through once for each of its axes, pairs once for each factor.
    check_effort(len(shapes[0]) * sum(sizes), what=what, remedy=remedy)


def _by_tensor(products: IntArray, values: FloatArray, triangles: _Triangles) -> FloatArray:
    """Write products (m, k) of one subset in orthonormal functions, axis after axis.

    Of a full polynomial the m products are at least one in k! of the entries.
    """
    counts = triangles.count[products]
    shape = counts.max(axis=0)
    tensor = np.zeros((*shape.tolist(), values.shape[1]))
    tensor[tuple((counts - 1).T)] = values
    for axis, (size, begin) in enumerate(zip(shape, triangles.begin[products[0]], strict=True)):
        own = triangles.weights[begin : begin + size, :size]
        tensor = np.moveaxis(np.tensordot(own, tensor, axes=(0, axis)), 0, axis)
    result: FloatArray = (tensor**2).reshape(-1, values.shape[1]).sum(axis=0)
    return result


def _by_pairs(products: IntArray, values: FloatArray, triangles: _Triangles) -> FloatArray:
    """Add up covariances of all pairs of products (m, k) of one subset."""
    gram = triangles.weights @ triangles.weights.T
    covariance = np.ones((len(products), len(products)))
    for column in products.T:
        covariance *= gram[np.ix_(column, column)]
    result: FloatArray = np.maximum((values * (covariance @ values)).sum(axis=0), 0.0)
    return result
