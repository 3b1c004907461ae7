"""Grow a set of terms where the residual is, closed under divisors.

Terms are products of orthonormal polynomials (`basis`). They come in batches: those that explain
most of what is left, among the neighbours of the set whose divisors are all there. Two kinds of
terms say little themselves and much by what they open: low powers of a column that needs a high
one (the hour of a day), and a column that works through another alone (working days, of the hour).
So a candidate also counts what comes behind it, two columns that work through each other alone
included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from nn2poly.algebra.terms import Term
from nn2poly.arrays import FloatArray, IntArray

# Most columns in one term (design: interactions of up to four).
MAX_COLUMNS = 4
# The set grows by this share at a time, out of so many times more candidates that are looked at
# closely. One seed, 100 terms: a share of 0.05 gives California .940 for .946 and bike .871 for
# .869 at twice the time; a shortlist of 3 California .945 for .949, but .956 for .953 with 300.
SHARE, SHORTLIST = 0.15, 6
# Degrees that a candidate looks ahead: bike with 30 terms .803, with 3 degrees .793.
AHEAD = 8
# The search ends when the set has grown to so many times the best one, and a few terms more.
PATIENCE, FEW = 1.5, 10
# Ridge while searching, relative to orthonormal terms (1e-6 and 1e-4 do the same), and what each
# further degree is shrunk more.
STRENGTH, PER_DEGREE = 1e-5, 2.0
# A column whose new part is below this share of it says nothing new.
NOTHING_NEW = 1e-6


@dataclass
class Grid:
    """The terms that may come, and those that came: a set closed under divisors.

    Parameters
    ----------
    degrees
        Array (p,): the highest degree of each feature.
    max_order
        Highest total degree of a term.
    allows
        Tells which terms may come at all.
    terms
        Those that came, with their places.

    Examples
    --------
    >>> grid = Grid(np.array([2, 1]), 2, lambda term: True)
    >>> list(grid.add(())), list(grid.add((0,))), list(grid.add((1,)))
    ([(0,), (1,)], [(0, 0)], [(0, 1)])
    """

    degrees: IntArray
    max_order: int
    allows: Callable[[Term], bool]
    terms: dict[Term, int] = field(default_factory=dict)

    def add(self, term: Term) -> Iterator[Term]:
        """Add a term; give the neighbours that it makes possible."""
        self.terms[term] = len(self.terms)
        if len(term) == self.max_order:
            return
        for j in range(len(self.degrees)):
            new = tuple(sorted((*term, j)))
            if self._may_come(new, j):
                yield new

    def _may_come(self, term: Term, j: int) -> bool:
        if term.count(j) > self.degrees[j] or (len(term) > 1 and (j,) not in self.terms):
            return False
        columns = set(term)
        if len(columns) > MAX_COLUMNS or not self.allows(term):
            return False
        return all(without(term, i) in self.terms for i in columns)

    def most(self, j: int, others: Term) -> int:
        """Give the highest power that a feature may have beside others."""
        return min(int(self.degrees[j]), self.max_order - len(others))

    def chains(self) -> list[list[int]]:
        """List the places of the powers of each feature that are there."""
        out: dict[int, list[int]] = {}
        for term, place in self.terms.items():
            if len(set(term)) == 1:
                out.setdefault(term[0], []).append(place)
        return list(out.values())


def without(term: Term, j: int) -> Term:
    """Divide a term by one of its features."""
    place = term.index(j)
    return (*term[:place], *term[place + 1 :])


@dataclass(frozen=True)
class Part:
    """Rows to search on.

    Parameters
    ----------
    values
        Array (p, D + 1, n): the polynomials of the features.
    root
        Array (n,): roots of the weights, which sum to 1.
    truth
        Array (n, k): outputs in their units, times ``root``.
    """

    values: FloatArray
    root: FloatArray
    truth: FloatArray

    def columns(self, terms: Iterable[Term]) -> FloatArray:
        """Multiply terms out: an array (n_terms, n), times ``root``."""
        out = []
        for term in terms:
            column = self.root.copy()
            for j in sorted(set(term)):
                column *= self.values[j, term.count(j)]
            out.append(column)
        return np.array(out).reshape(-1, len(self.root))


def penalty(degrees: IntArray) -> FloatArray:
    """Give what terms of these degrees are shrunk, (n,); the constant is free."""
    return np.where(degrees == 0, 0.0, PER_DEGREE ** (degrees - 1.0))


def ridge(gram: FloatArray, cross: FloatArray, strengths: FloatArray) -> FloatArray:
    """Solve a ridge regression from its moments."""
    # A trace of ridge keeps the system regular where terms are the same on all rows.
    system = gram + np.diag(strengths + 1e-12)
    return np.asarray(np.linalg.solve(system, cross), dtype=np.float64)


def grow(
    rows: Part, kept: Part, grid: Grid, max_terms: int, patience: float = PATIENCE
) -> tuple[list[Term], int]:
    """Grow a set of terms on rows.

    Parameters
    ----------
    patience
        How many times the best set it may grow to.

    Returns
    -------
    terms, number
        In the order in which they joined, so that the first so many are closed under divisors as
        well; and how many of them do best on the rows kept for choices.
    """
    growth = _Growth(rows, kept, grid)
    growth.add([()])
    best = growth.kept_error(), 1
    while len(grid.terms) < min(max_terms, patience * best[1] + FEW):
        batch = max(1, int(SHARE * len(grid.terms)))
        chosen = growth.choose(min(batch, max_terms - len(grid.terms)))
        if not chosen:
            break
        growth.add(chosen)
        best = min(best, (growth.kept_error(), len(grid.terms)))
    return list(grid.terms), best[1]


class _Growth:
    """The terms so far, their columns (m, n) on the rows, and the fit."""

    def __init__(self, rows: Part, kept: Part, grid: Grid) -> None:
        self.rows, self.kept, self.grid = rows, kept, grid
        self.columns, self.kept_columns = rows.columns([]), kept.columns([])
        self.gram, self.cross = np.zeros((0, 0)), np.zeros((0, rows.truth.shape[1]))
        self.strengths, self.fit = np.zeros(0), self.cross
        self.candidates: list[Term] = []

    def add(self, terms: list[Term]) -> None:
        """Add terms, which are candidates, and fit again."""
        taken = set(terms)
        self.candidates = [c for c in self.candidates if c not in taken]
        for term in terms:
            self.candidates.extend(self.grid.add(term))
        new, kept = self.rows.columns(terms), self.kept.columns(terms)
        across = self.columns @ new.T
        self.gram = np.block([[self.gram, across], [across.T, new @ new.T]])
        self.cross = np.vstack([self.cross, new @ self.rows.truth])
        self.columns = np.vstack([self.columns, new])
        self.kept_columns = np.vstack([self.kept_columns, kept])
        self.strengths = STRENGTH * penalty(np.array([len(term) for term in self.grid.terms]))
        self.fit = ridge(self.gram, self.cross, self.strengths)

    def kept_error(self) -> float:
        """Sum the squared errors on the rows kept for choices."""
        return float(((self.kept.truth - self.kept_columns.T @ self.fit) ** 2).sum())

    def choose(self, count: int) -> list[Term]:
        """Choose the candidates that explain most of what is left."""
        if not self.candidates:
            return []
        rest = self.rows.truth - self.columns.T @ self.fit
        scores = self._scores(rest)
        order = np.argsort(-scores, kind="stable")[: SHORTLIST * count]
        short = [self.candidates[i] for i in order]
        new = self.rows.columns(short)
        across = self.columns @ new.T
        # What of a candidate the set cannot say, and what that says of the residual.
        gram = new @ new.T - across.T @ ridge(self.gram, across, self.strengths)
        return [short[i] for i in _forward(gram, new @ rest, scores[order], count)]

    def _scores(self, rest: FloatArray) -> FloatArray:
        """Give what each candidate, or the mean of it and what it opens, explains: (n,)."""
        owner, left, feature, power, most = self._ways()
        reach = np.arange(AHEAD + 1)
        powers = power[:, None] + reach
        names = np.stack(np.broadcast_arrays(feature[:, None], np.minimum(powers, most[:, None])))
        functions, number = np.unique(names.reshape(2, -1), axis=1, return_inverse=True)
        number = number.reshape(powers.shape)
        table = _explained(rest, self.columns, self.rows.values[functions[0], functions[1]])
        along = np.where(powers <= most[:, None], table[left[:, None], number], 0.0)
        scores = np.zeros(len(self.candidates))
        np.maximum.at(scores, owner, (np.cumsum(along, axis=1) / (reach + 1)).max(axis=1))
        # A new column: what it explains together with the powers of another.
        alone = (left == 0) & (power == 1)
        for chain in self.grid.chains():
            sums = np.cumsum(table[np.ix_([0, *chain], number[alone, 0])], axis=0)
            means = sums / np.arange(1, len(sums) + 1)[:, None]
            np.maximum.at(scores, owner[alone], means.max(axis=0))
        if self.grid.max_order > 1:
            gains = table[0, number[alone, 0]]
            np.maximum.at(scores, owner[alone], self._pairs(rest, feature[alone], gains))
        return scores

    def _pairs(self, rest: FloatArray, features: IntArray, gains: FloatArray) -> FloatArray:
        """Give the mean of what each new column, another one and their product explain: (n,)."""
        columns = self.rows.columns((j,) for j in features.tolist())
        pairs = _explained(rest, columns, self.rows.values[features, 1])
        may = [[i != j and self.grid.allows((i, j)) for j in features] for i in features]
        means = (gains[:, None] + gains + pairs) / 3.0
        return np.asarray(np.where(may, means, 0.0).max(axis=1, initial=0.0))

    def _ways(self) -> IntArray:
        """List the ways that candidates go on, array (5, n).

        They are: its place, that of the term without one feature, the feature, its power, and
        the highest power that it may have there.
        """
        ways = []
        for place, term in enumerate(self.candidates):
            for j in sorted(set(term)):
                left = tuple(i for i in term if i != j)
                most = self.grid.most(j, left)
                ways.append((place, self.grid.terms[left], j, term.count(j), most))
        return np.array(ways, dtype=np.intp).T


def _explained(rest: FloatArray, columns: FloatArray, values: FloatArray) -> FloatArray:
    """Give what products of columns (m, n) with values (f, n) explain of the residual: (m, f).

    Only what two halves of the rows agree on counts: a product that is large on a few rows alone
    is no find.
    """
    explained = np.zeros((len(columns), len(values)))
    for residual in rest.T:
        weighted = values * residual
        one, two = (columns[:, k::2] @ weighted[:, k::2].T for k in (0, 1))
        explained += 4.0 * np.maximum(one * two, 0.0)
    norm = columns**2 @ (values**2).T
    return np.asarray(explained / np.maximum(norm, 1e-12))


def _forward(gram: FloatArray, cross: FloatArray, least: FloatArray, count: int) -> list[int]:
    """Choose columns one after the other, by what each adds to those before, or its least."""
    gram, cross = gram.copy(), cross.copy()
    small = np.maximum(NOTHING_NEW * np.diag(gram), 1e-12)
    chosen: list[int] = []
    free = np.ones(len(gram), dtype=bool)
    for _ in range(min(count, len(gram))):
        size = np.diag(gram)
        free &= size > small
        if not free.any():
            break
        gain = np.maximum((cross**2).sum(axis=1) / np.maximum(size, small), least)
        i = int(np.argmax(np.where(free, gain, -1.0)))
        chosen.append(i)
        free[i] = False
        column = gram[:, i] / gram[i, i]
        cross = cross - column[:, None] * cross[i]
        gram = gram - np.outer(column, gram[i])
    return chosen
