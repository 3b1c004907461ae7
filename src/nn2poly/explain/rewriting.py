"""Formulas in separable form rewritten: players joined, boxes, centred factors, cofactors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.explain.factor_products import Products, add_rows, distinct, merged, row_batches
from nn2poly.explain.separable import Condition, Factor, Separable
from nn2poly.explain.written import written
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula
from nn2poly.memory import check_terms


def joined(form: Separable, groups: Mapping[str, Iterable[int]]) -> Separable:
    """Make one player of several: what they do together is no interaction any more.

    Centre the factors after, not before.

    Parameters
    ----------
    groups
        The players of each group, under its name.

    Examples
    --------
    >>> from nn2poly.explain.separable import of_polynomial
    >>> poly = Polynomial.from_terms(["a b", "b", "b c"], [2.0, 3.0, 1.0], ["a", "b", "c"])
    >>> both = joined(of_polynomial(poly), {"a and b": (0, 1)})
    >>> both.players, [(f.player, f.features) for f in both.factors]
    (('a and b', 'c'), [(0, (1,)), (0, (0, 1)), (1, (2,))])
    """
    group_of = {player: name for name, group in groups.items() for player in group}
    keys = [group_of.get(i, i) for i in range(len(form.players))]
    seats = {key: seat for seat, key in enumerate(dict.fromkeys(keys))}
    new = np.array([seats[key] for key in keys], dtype=np.intp)
    columns: list[tuple[int, ...]] = [()] * len(seats)
    for i, seat in enumerate(new.tolist()):
        columns[seat] += form.columns[i]
    names = tuple(key if isinstance(key, str) else form.players[key] for key in seats)
    factors = [replace(f, player=int(new[f.player])) for f in form.factors]
    renamed = replace(form, players=names, columns=tuple(columns))
    return _rebuilt(renamed, factors, list(form.terms.by_size), form.coefficients)


def within(part: Separable, conditions: Mapping[int, Collection[Condition]]) -> Separable:
    """Hold a formula to a box: 0 where a condition of one of the players does not hold.

    Parameters
    ----------
    conditions
        By player; intervals of a column, sets of levels.

    Examples
    --------
    >>> from nn2poly.explain.separable import Interval, of_polynomial
    >>> line = of_polynomial(Polynomial.from_terms(["1", "a"], [5.0, 2.0], ["a", "b"]))
    >>> held = within(line, {0: [Interval(0, 0.0, 9.0)], 1: [Interval(1, high=1.0)]})
    >>> held.predict([[1.0, 0.0], [1.0, 2.0], [-1.0, 0.0]]).ravel()
    array([7., 0., 0.])
    """
    held = [Factor(player, (), frozenset(some)) for player, some in conditions.items()]
    added = np.arange(len(held)) + len(part.factors)
    rows = [
        np.concatenate([products, np.tile(added, (len(products), 1))], axis=1)
        for products in part.terms.by_size
    ]
    return _rebuilt(part, [*part.factors, *held], rows, part.coefficients)


def total(parts: Sequence[Separable]) -> Separable:
    """Add formulas of the same players, features and coordinates: the leaves of a tree."""
    begins = np.cumsum([0, *(len(part.factors) for part in parts)]).tolist()
    pairs = zip(parts, begins, strict=False)
    rows = [products + begin for part, begin in pairs for products in part.terms.by_size]
    factors = [f for part in parts for f in part.factors]
    values = np.concatenate([part.coefficients for part in parts])
    return _rebuilt(parts[0], factors, rows, values)


def _rebuilt(
    model: Separable, factors: list[Factor], rows: Sequence[IntArray], coefficients: FloatArray
) -> Separable:
    """Bring products of any factors into form: one of each player, listed once, in order.

    Parameters
    ----------
    model
        What all but factors and terms is taken from; its factors are not centred.
    rows
        Arrays (n, k) of numbers of ``factors``.
    coefficients
        Array (n_terms, n_outputs), for all rows.
    """
    parts, values = [], []
    ends = np.cumsum([len(part) for part in rows])[:-1]
    for products, given in zip(rows, np.split(coefficients, ends), strict=True):
        kept = np.flatnonzero(given.any(axis=1))
        for part, places in _fused(products[kept], factors):
            parts.append(part)
            values.append(given[kept[places]])
    used = np.unique(np.concatenate([part.ravel() for part in parts])).tolist()
    different = dict.fromkeys(factors[i] for i in used)
    listed = sorted(different, key=lambda f: (f.player, len(f.features), f.features))
    place = {factor: i for i, factor in enumerate(listed)}
    number = np.zeros(len(factors), dtype=np.intp)
    number[used] = [place[factors[i]] for i in used]
    terms, sums = merged([np.sort(number[part], axis=1) for part in parts], values, len(listed))
    return replace(
        model,
        factors=tuple(listed),
        terms=terms,
        coefficients=sums,
        means=np.zeros(len(listed)),
    )


def _fused(products: IntArray, factors: list[Factor]) -> Iterator[tuple[IntArray, IntArray]]:
    """Multiply factors of the same player within products (n, k).

    New factors are appended to ``factors``.

    Yields
    ------
    products (m, fewer or equal), and their places (m,) among those given
    """
    seats = np.array([factor.player for factor in factors], dtype=np.intp)[products]
    order = np.argsort(seats, axis=1, kind="stable")
    products, seats = (np.take_along_axis(part, order, axis=1) for part in (products, seats))
    waiting = [(products, seats, np.arange(len(products)))]
    while waiting:
        products, seats, places = waiting.pop()
        same = seats[:, 1:] == seats[:, :-1]
        clash = same.any(axis=1)
        yield products[~clash], places[~clash]
        first = same.argmax(axis=1) if same.size else np.zeros(len(same), dtype=np.intp)
        for c in np.unique(first[clash]).tolist():
            chosen = np.flatnonzero(clash & (first == c))
            known = len(factors)
            pairs = products[chosen, c] * known + products[chosen, c + 1]
            unique, which = distinct(pairs)
            factors += [_times(*(factors[i] for i in divmod(p, known))) for p in unique.tolist()]
            left = np.delete(products[chosen], c, axis=1)
            left[:, c] = known + which
            waiting.append((left, np.delete(seats[chosen], c, axis=1), places[chosen]))


def _times(a: Factor, b: Factor) -> Factor:
    """Multiply two factors of one player."""
    return Factor(a.player, tuple(sorted(a.features + b.features)), a.conditions | b.conditions)


def centred(form: Separable, rows: FloatArray) -> Separable:
    """Rewrite a formula in factors less their means over raw rows (n, p).

    What explanations subtract from each other is small then from the start, where raw powers of
    a year would cancel to nothing.

    Examples
    --------
    With means 1 and 2, a b = (a - 1)(b - 2) + 2 (a - 1) + (b - 2) + 2:

    >>> from nn2poly.explain.separable import of_polynomial
    >>> form = of_polynomial(Polynomial.from_terms(["a b"], [1.0], ["a", "b"]))
    >>> centred(form, np.array([[1.0, 2.0]])).coefficients.ravel()
    array([2., 2., 1., 1.])
    """
    sums = np.zeros(len(form.factors))
    for here in row_batches(len(rows), len(sums)):
        sums += form.values(rows[here]).sum(axis=1)
    return shifted(form, sums / len(rows))


def shifted(form: Separable, steps: FloatArray) -> Separable:
    """Rewrite a formula in factors less one number each (n_factors,).

    Π g = Π ((g - μ) + μ): each term becomes all its faces, so that the list of terms is closed
    under faces.
    """
    _check_faces(form)
    faces, values = [], []
    for here, products in form.terms:
        k = products.shape[1]
        for mask in range(2**k):
            kept, left = ([j for j in range(k) if (mask >> j & 1) == bit] for bit in (1, 0))
            faces.append(products[:, kept])
            weight = steps[products[:, left]].prod(axis=1)
            values.append(form.coefficients[here] * weight[:, None])
    terms, coefficients = merged(faces, values, len(steps))
    return replace(form, terms=terms, coefficients=coefficients, means=form.means + steps)


def moments(form: Separable, rows: FloatArray) -> FloatArray:
    """Average every term of a formula centred on these raw rows (n, p): array (n_terms,)."""
    result = form.terms.mean(form.on(rows), len(rows))
    for here, products in form.terms:
        if products.shape[1] == 1:
            # A centred factor averages to zero: what is left is rounding.
            result[here] = 0.0
    return result


def _check_faces(form: Separable) -> None:
    count = sum(len(rows) << rows.shape[1] for rows in form.terms.by_size)
    check_terms(
        count,
        8 * (3 * count + form.coefficients.size),
        what="This polynomial, each term split by subsets of its variables,",
        remedy="truncate it to a lower order, or prune it, before explaining it",
    )


@dataclass(frozen=True, eq=False)
class Cofactors:
    """A formula as Σ_g g(x_S) C_g(x_rest), g the products of factors of some players S.

    Parameters
    ----------
    form
        The formula.
    products
        The g, the empty product first.
    rests
        The terms without their factors of these players, some of them twice.
    which
        Array (n_terms,): the place of what was taken out of each, among ``products``.
    coefficients
        Array (n_terms, n_outputs).
    """

    form: Separable
    products: Products
    rests: Products
    which: IntArray
    coefficients: FloatArray

    def at(self, points: FloatArray) -> FloatArray:
        """Evaluate the products on raw rows (n, p): array (n_products, n)."""
        return self.products.values(self.form.values(points))

    def cofactor(self, place: int) -> Separable:
        """Give C_g of the product at a place: a formula in the other players."""
        kept = np.flatnonzero(self.which == place)
        return some(replace(self.form, terms=self.rests), kept, self.coefficients[kept])

    def average(self, rows: FloatArray) -> Separable:
        """Average over raw rows (n, p) in all other players: a formula in these alone."""
        means = self.rests.mean(self.form.on(rows), len(rows))
        sums = add_rows(self.which, self.coefficients * means[:, None], len(self.products))
        return replace(self.form, terms=self.products, coefficients=sums)


def cofactors(form: Separable, players: Sequence[int]) -> Cofactors:
    """Take the factors of some players out of the terms.

    Examples
    --------
    >>> from nn2poly.explain.separable import of_polynomial
    >>> poly = Polynomial.from_terms(["a^2", "a b", "b"], [1.0, 2.0, 3.0], ["a", "b"])
    >>> found = cofactors(of_polynomial(poly), [0])
    >>> [found.cofactor(place).predict([[9.0, 5.0]])[0, 0] for place in range(3)]
    [np.float64(15.0), np.float64(10.0), np.float64(1.0)]
    """
    chosen = np.isin(form.owners, list(players))
    parts: list[list[tuple[IntArray, IntArray, FloatArray]]] = [[] for _ in form.terms.by_size]
    for size, (here, terms) in enumerate(form.terms):
        holds = chosen[terms]
        counts = holds.sum(axis=1)
        for count in range(min(size, len(players)) + 1):
            alike = np.flatnonzero(counts == count)
            rows, inside = terms[alike], holds[alike]
            taken = rows[inside].reshape(len(alike), count)
            rest = rows[~inside].reshape(len(alike), size - count)
            parts[size - count].append((rest, taken, form.coefficients[here][alike]))
    flat = [part for size in parts for part in size]
    nothing = [np.empty((len(taken), 0)) for _, taken, _ in flat]
    products, _ = merged([taken for _, taken, _ in flat], nothing, len(form.factors))
    rests = tuple(np.concatenate([rest for rest, *_ in size]) for size in parts)
    return Cofactors(
        form,
        products,
        Products(rests, len(form.factors)),
        np.concatenate([products.find(taken) for _, taken, _ in flat]),
        np.concatenate([values for *_, values in flat]),
    )


def some(form: Separable, places: IntArray, coefficients: FloatArray) -> Separable:
    """Keep the terms at some places, increasing, with other coefficients (n, n_outputs)."""
    cuts = np.searchsorted(places, form.terms.starts[1:-1])
    parts = zip(form.terms, np.split(places, cuts), strict=True)
    by_size = [rows[chosen - here.start] for (here, rows), chosen in parts]
    terms = Products(tuple(by_size), form.terms.n_factors)
    return replace(form, terms=terms, coefficients=coefficients)


def as_polynomial(
    form: Separable, poly: Formula, features: Sequence[int] | None = None
) -> Polynomial | Separable:
    """Write a small formula as a polynomial; one with conditions stays what it is.

    Parameters
    ----------
    form
        Factors not centred; terms without any coefficient are left out.
    poly
        Where it came from.
    features
        The only features that occur, in the order wanted; None for all.
    """
    if not isinstance(poly, Polynomial):
        return form
    number = {j: place for place, j in enumerate(features or range(len(poly.feature_names)))}
    by_degree: dict[int, list[tuple[list[int], FloatArray]]] = defaultdict(list)
    for here, products in form.terms:
        for row, values in zip(products.tolist(), form.coefficients[here], strict=True):
            term = sorted(number[j] for i in row for j in form.factors[i].features)
            if values.any():
                by_degree[len(term)].append((term, values))
    found = [by_degree[degree] for degree in sorted(by_degree)]
    rows = [np.array([term for term, _ in part], dtype=np.intp) for part in found]
    rows = [row.reshape(len(row), -1) for row in rows]
    values = [np.array([value for _, value in part]) for part in found]
    nothing = np.empty((0, len(poly.output_names)))
    return written(poly, rows, np.concatenate([nothing, *values]), features)
