"""Grow a tree of regions best first, each node judged on rows that it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.fit.region_search import Cut, SearchRows, find_cuts
from nn2poly.fit.regression import Moments, Regression
from nn2poly.fit.strengths import STRENGTHS, shrinkage
from nn2poly.formula.region_tree import Leaf, Split, Tree, region_of
from nn2poly.rows.fit_rows import FitRows

# Terms up to which cuts are searched with all of them. By their linear parts alone, 16 regions of
# order 2 on California lose .003 to .014 (seeds 0 and 1, ReLU and tanh).
SEARCH_TERMS = 200
# Cuts of which the fits are compared, each the best of its column (taste).
TRIES = 3
# Rows of the sample that a region has at least, in all and for each feature (taste).
LEAST, LEAST_PER_FEATURE = 25, 1.0
# A split must lower the error of its node on rows left out by so much of it, and of the variance.
GAIN, ROUNDING = 0.01, 1e-7
# A stronger ridge is taken that costs at most so much more on the rows left out, which are few:
# bike and California of order 2 and 3 in 64 regions (seed 0) gain .001 to .03 by it.
SLACK = 0.02


@dataclass(frozen=True)
class Pool:
    """Rows that a tree grows on.

    Parameters
    ----------
    regression
        The terms of the changes.
    rows, n_real
        Rows of the sample first, so many; then rows that the network was asked for.
    residual
        Array (n, k): what the polynomial of one region leaves of the outputs.
    unit
        Array (k,): the standard deviation of the outputs.
    """

    regression: Regression
    rows: FitRows
    n_real: int
    residual: FloatArray
    unit: FloatArray

    @cached_property
    def folds(self) -> list[int]:
        """The folds, of which each is left out in turn."""
        found: list[int] = np.unique(self.rows.fold).tolist()
        return found

    @cached_property
    def design(self) -> FloatArray:
        """The terms (n, m) on all rows."""
        return np.concatenate([part for _, part in self.regression.matrices(self.rows.X)])

    @cached_property
    def _is_real(self) -> BoolArray:
        return np.arange(len(self.rows)) < self.n_real

    def sums(self, places: IntArray) -> Sums:
        """Sum over the rows of a node."""
        fold, is_real = self.rows.fold[places], self._is_real[places]
        held = [self._moments(places[(fold == k) & is_real]) for k in self.folds]
        asked = [self._moments(places[(fold == k) & ~is_real]) for k in self.folds]
        return Sums(held, asked)

    def _moments(self, places: IntArray) -> Moments:
        weights = self.rows.weights[places]
        root = np.sqrt(weights)[:, None]
        matrix, target = self.design[places] * root, self.residual[places] * root
        square = (target**2).sum(axis=0)
        return Moments(matrix.T @ matrix, matrix.T @ target, square, float(weights.sum()))


@dataclass(frozen=True)
class Sums:
    """Moments of the rows of a node.

    Parameters
    ----------
    held, asked
        For each fold: rows of the sample, and rows that the network was asked for.
    """

    held: list[Moments]
    asked: list[Moments]

    def __sub__(self, other: Sums) -> Sums:
        held = [a - b for a, b in zip(self.held, other.held, strict=True)]
        asked = [a - b for a, b in zip(self.asked, other.asked, strict=True)]
        return Sums(held, asked)

    def without(self, number: int | None = None) -> Moments:
        """Leave one fold out, or nothing."""
        total = self.held[0].scaled(0.0)
        for place, (held, asked) in enumerate(zip(self.held, self.asked, strict=True)):
            if place != number:
                total = total + held + asked
        return total

    def error(self, fits: Sequence[FloatArray], unit: FloatArray, *, asked: bool = True) -> float:
        """Sum the squared errors of fits on the folds that they leave out."""
        real = sum(m.error(fit, unit**2) for m, fit in zip(self.held, fits, strict=True))
        if not asked:
            return real
        return real + sum(m.error(fit, unit**2) for m, fit in zip(self.asked, fits, strict=True))


@dataclass
class Node:
    """A node of the tree.

    Parameters
    ----------
    places, sums
        Places of its rows in the pool, and sums over them.
    fits
        The change (n_terms, k) without each fold that is left out.
    error
        Squared error on the rows left out, in units.
    strength, is_inherited
        Of its ridge; or that of its parent, whose fit it has.
    split
        The best split, once it was looked for; None if there is none.
    """

    places: IntArray
    sums: Sums
    fits: list[FloatArray]
    error: float
    strength: float | None = None
    is_inherited: bool = False
    split: tuple[Cut, Node, Node] | None = None
    is_split: bool = False

    @property
    def gain(self) -> float:
        """What the split takes away of the error."""
        if self.split is None:
            return 0.0
        return self.error - self.split[1].error - self.split[2].error


@dataclass
class Growth:
    """A tree that grows; its leaves from left to right."""

    pool: Pool
    errors: list[float] = field(default_factory=list)
    divided: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        pool = self.pool
        everything = np.arange(len(pool.rows))
        zero = np.zeros((len(pool.regression.terms), len(pool.unit)))
        sums = pool.sums(everything)
        fits = [zero] * len(sums.held)
        self.penalty = shrinkage(pool.regression.terms.orders())
        self.total = sum(part.weight for part in sums.held) * len(pool.unit)
        self.root = Node(everything, sums, fits, sums.error(fits, pool.unit))
        self.least = int(LEAST + LEAST_PER_FEATURE * pool.regression.inputs.n_features)

    @property
    def leaves(self) -> list[Node]:
        """The leaves, from left to right."""
        return _leaves(self.root)

    def grow(self, most: int, enough: Callable[[float], bool]) -> None:
        """Split the leaf that gains most, until there are enough."""
        self._note()
        self._look(self.root)
        while len(leaves := self.leaves) < most and not enough(self.errors[-1]):
            best = max(leaves, key=lambda node: node.gain)
            if best.split is None:
                return
            best.is_split = True
            self.divided.append(best)
            self._note()
            for child in best.split[1:]:
                self._look(child)

    def keep(self, count: int) -> None:
        """Go back, or forward again, to the tree as it was with ``count`` regions."""
        for place, node in enumerate(self.divided, start=2):
            node.is_split = place <= count

    def _note(self) -> None:
        """Remember what is left on rows of the sample that are left out."""
        unit = self.pool.unit
        left = sum(leaf.sums.error(leaf.fits, unit, asked=False) for leaf in self.leaves)
        self.errors.append(left / self.total)

    def tree(self) -> Tree:
        """Give the splits; leaves are numbered from left to right."""
        numbers = iter(range(len(self.leaves)))

        def built(node: Node) -> Tree:
            if not node.is_split or node.split is None:
                return Leaf(next(numbers))
            cut, left, right = node.split
            return Split(
                cut.column, cut.threshold, cut.levels, left=built(left), right=built(right)
            )

        return built(self.root)

    def changes(self) -> list[FloatArray]:
        """Fit all rows, from the root down, with the strengths found: (n_terms, k) of each leaf."""

        def fitted(node: Node, start: FloatArray) -> list[FloatArray]:
            if node.strength is not None and not node.is_inherited:
                start = node.sums.without().ridge(node.strength * self.penalty, start)
            if not node.is_split or node.split is None:
                return [start]
            return [change for child in node.split[1:] for change in fitted(child, start)]

        return fitted(self.root, np.zeros_like(self.root.fits[0]))

    def _look(self, node: Node) -> None:
        """Find the best split of a node, if one helps."""
        tried = [self._divided(node, cut) for cut in self._cuts(node)[:TRIES]]
        if not tried:
            return
        best = min(tried, key=lambda split: split[1].error + split[2].error)
        error = best[1].error + best[2].error
        if error < (1.0 - GAIN) * node.error - ROUNDING * self.total:
            node.split = best

    def _cuts(self, node: Node) -> list[Cut]:
        """Search on the rows of the sample."""
        pool = self.pool
        real = node.places[node.places < pool.n_real]
        if len(real) < 2 * self.least:
            return []
        X = pool.rows.X[real]
        left = pool.residual[real] - pool.design[real] @ node.fits[0]
        inputs = pool.regression.inputs
        z, weights = _unit_size(inputs.to_working(X)), pool.rows.weights[real]
        rows = SearchRows(X, z, weights, left / pool.unit)
        if len(self.penalty) <= SEARCH_TERMS:
            rows = replace(rows, terms=pool.design[real], shrinkage=self.penalty)
        return find_cuts(rows, inputs, self.least)

    def _divided(self, node: Node, cut: Cut) -> tuple[Cut, Node, Node]:
        split = Split(cut.column, cut.threshold, cut.levels, left=Leaf(0), right=Leaf(1))
        pool = self.pool
        goes_left = region_of(split, pool.regression.inputs, pool.rows.X[node.places]) == 0
        sides = node.places[goes_left], node.places[~goes_left]
        small = int(len(sides[1]) < len(sides[0]))
        # The sums of the larger side are those of both less those of the smaller.
        one = pool.sums(sides[small])
        sums = (node.sums - one, one) if small else (one, node.sums - one)
        left, right = (self._child(node, p, s) for p, s in zip(sides, sums, strict=True))
        return cut, left, right

    def _child(self, parent: Node, places: IntArray, sums: Sums) -> Node:
        """Fit a node towards its parent, as strongly as does best on the rows left out."""
        unit = self.pool.unit
        error = sums.error(parent.fits, unit)
        best = Node(places, sums, parent.fits, error, parent.strength, is_inherited=True)
        fitted = [sums.without(number) for number in range(len(sums.held))]
        if not all(part.weight > 0 for part in fitted):
            return best
        for strength in _near(parent.strength):
            fits = [
                part.ridge(strength * self.penalty, start)
                for part, start in zip(fitted, parent.fits, strict=True)
            ]
            error = sums.error(fits, unit)
            if error < (1.0 + SLACK) * best.error:
                best = Node(places, sums, fits, error, strength)
        return best


def _near(strength: float | None) -> Sequence[float]:
    """List the strengths to try: those beside that of the parent, which has more rows."""
    if strength not in STRENGTHS:
        return STRENGTHS
    place = STRENGTHS.index(strength)
    return STRENGTHS[max(0, place - 1) : place + 3]


def _leaves(node: Node) -> list[Node]:
    if not node.is_split or node.split is None:
        return [node]
    return [leaf for child in node.split[1:] for leaf in _leaves(child)]


def _unit_size(z: FloatArray) -> FloatArray:
    """Centre coordinates and scale them to unit size; one that does not vary stays 0."""
    centred = z - z.mean(axis=0)
    size = centred.std(axis=0)
    scaled: FloatArray = centred / np.where(size > 1e-12, size, 1.0)
    return scaled
