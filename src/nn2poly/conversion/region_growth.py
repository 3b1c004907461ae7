"""Grow a tree of regions best first, each node judged on rows that it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.conversion.fit_rows import FitRows
from nn2poly.conversion.refit import STRENGTHS, shrinkage
from nn2poly.conversion.region_search import Cut, SearchRows, find_cuts
from nn2poly.conversion.regression import Moments, Regression
from nn2poly.formula.region_tree import Leaf, Split, Tree, region_of

# Cuts of which the fits are compared, each the best of its column (taste).
TRIES = 3
# Rows of the sample that a region has at least, in all and for each feature (taste).
LEAST, LEAST_PER_FEATURE = 25, 1.0
# A split must lower the error of its node on rows left out by so much of it, and of the variance.
GAIN, ROUNDING = 0.02, 1e-7
# Up to so many rows every fold is left out in turn, else the first alone.
ALL_FOLDS_ROWS = 2_000


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

    @property
    def judged(self) -> list[int]:
        """The folds that are left out in turn."""
        folds: list[int] = np.unique(self.rows.fold).tolist()
        return folds if self.n_real <= ALL_FOLDS_ROWS else folds[:1]

    def moments(self, places: IntArray) -> list[Moments]:
        """Sum over the rows of each fold that is left out, and last over all others."""
        fold = self.rows.fold[places]
        groups = [places[fold == k] for k in self.judged]
        groups.append(places[~np.isin(fold, self.judged)])
        return [self.regression.moments(self.rows.some(g), self.residual[g]) for g in groups]


@dataclass
class Node:
    """A node of the tree.

    Parameters
    ----------
    places
        Places of its rows in the pool.
    fits
        The change (n_terms, k) without each fold that is left out.
    error
        Squared error on the rows left out, in units.
    split
        The best split, once it was looked for; None if there is none.
    """

    places: IntArray
    fits: list[FloatArray]
    error: float
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
        groups = pool.moments(everything)[:-1]
        self.penalty = shrinkage(pool.regression.terms.orders())
        self.total = sum(g.weight for g in groups) * len(pool.unit)
        error = sum(g.error(zero, pool.unit**2) for g in groups)
        self.root = Node(everything, [zero] * len(groups), error)
        self.least = int(LEAST + LEAST_PER_FEATURE * pool.regression.inputs.n_features)

    @property
    def leaves(self) -> list[Node]:
        """The leaves, from left to right."""
        return _leaves(self.root)

    def grow(self, most: int, enough: Callable[[float], bool]) -> None:
        """Split the leaf that gains most, until there are enough."""
        self.errors.append(self.root.error / self.total)
        self._look(self.root)
        while len(leaves := self.leaves) < most and not enough(self.errors[-1]):
            best = max(leaves, key=lambda node: node.gain)
            if best.split is None:
                return
            best.is_split = True
            self.divided.append(best)
            self.errors.append(self.errors[-1] - best.gain / self.total)
            for child in best.split[1:]:
                self._look(child)

    def keep(self, count: int) -> None:
        """Go back, or forward again, to the tree as it was with ``count`` regions."""
        for place, node in enumerate(self.divided, start=2):
            node.is_split = place <= count

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
        """Search on the rows of the sample that are not left out."""
        pool = self.pool
        real = node.places[node.places < pool.n_real]
        if len(real) < 2 * self.least:
            return []
        search = real[pool.rows.fold[real] != pool.judged[0]] if len(pool.judged) == 1 else real
        X = pool.rows.X[search]
        left = pool.residual[search] - pool.regression.predict(X, node.fits[0])
        inputs = pool.regression.inputs
        rows = SearchRows(
            X, _unit_size(inputs.to_working(X)), pool.rows.weights[search], left / pool.unit
        )
        return find_cuts(rows, inputs, self.least)

    def _divided(self, node: Node, cut: Cut) -> tuple[Cut, Node, Node]:
        split = Split(cut.column, cut.threshold, cut.levels, left=Leaf(0), right=Leaf(1))
        pool = self.pool
        left = region_of(split, pool.regression.inputs, pool.rows.X[node.places]) == 0
        return cut, self._child(node, node.places[left]), self._child(node, node.places[~left])

    def _child(self, parent: Node, places: IntArray) -> Node:
        """Fit a node towards its parent, as strongly as does best on the rows left out."""
        *held, rest = self.pool.moments(places)
        whole = sum(held, start=rest)
        best = Node(places, parent.fits, self._error(held, parent.fits))
        for strength in STRENGTHS:
            fits = [
                (whole - part).ridge(strength * self.penalty, start)
                if (whole - part).weight > 0
                else start
                for part, start in zip(held, parent.fits, strict=True)
            ]
            error = self._error(held, fits)
            if error < best.error:
                best = Node(places, fits, error)
        return best

    def _error(self, held: list[Moments], fits: list[FloatArray]) -> float:
        pairs = zip(held, fits, strict=True)
        return sum(part.error(fit, self.pool.unit**2) for part, fit in pairs)


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
