"""Grow a tree of regions best first, each node judged on rows that it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.fit.near_rows import unit_size
from nn2poly.fit.region_search import Cut, SearchRows, find_cuts
from nn2poly.fit.regression import Regression
from nn2poly.fit.ridge import shrinkage
from nn2poly.formula.region_tree import Leaf, Split, Tree, question
from nn2poly.rows.fit_rows import FitRows
from nn2poly.rows.folds import FOLDS

# Strengths of the ridges of nodes.
STRENGTHS = tuple(10.0**k for k in range(-7, 1))
# Terms up to which cuts are searched with all of them; the moments of each bin of more take longer
# than all else. By their linear parts alone, 16 regions of order 2 on California lose .003 to .014
# (seeds 0 and 1, ReLU and tanh).
SEARCH_TERMS = 200
# Columns searched with all terms, of which the fits are compared, each with its best cut: 16
# regions of order 2 on 43 tables (seeds 0 and 1) are as close with 3.
TRIES = 2
# Rows of the sample that a region has at least, beyond one for each feature (taste).
LEAST = 25
# What is less of the variance is rounding.
ROUNDING = 1e-7
# The strongest ridge that costs at most so much more on the rows left out, which are few, is taken:
# without, California of order 3 in 64 regions (ReLU, seed 0) has an R² of .944 for .965.
SLACK = 0.02
# Rows of which the terms are evaluated at a time: they stay in the cache.
BATCH = 2_048


@dataclass(frozen=True)
class Pool:
    """Rows that a tree grows on, those of one fold after those of the other.

    Parameters
    ----------
    regression
        The terms of the changes.
    rows
        Rows of the sample, and rows that the network was asked for.
    is_real
        Array (n,): which of them are of the sample.
    residual, unit
        Array (n, k): what the polynomial of one region leaves of the outputs, in units (k,).
    """

    regression: Regression
    rows: FitRows
    is_real: BoolArray
    residual: FloatArray
    unit: FloatArray

    @cached_property
    def folds(self) -> IntArray:
        """The folds, of which each is left out in turn."""
        return np.arange(FOLDS)

    @cached_property
    def matrix(self) -> FloatArray:
        """The terms beside the residual (n, m + k), times the roots of the weights."""
        m, k = len(self.regression.terms), self.residual.shape[1]
        matrix = np.empty((len(self.rows), m + k))
        for begin in range(0, len(self.rows), BATCH):
            here = slice(begin, begin + BATCH)
            for _, part in self.regression.matrices(self.rows.X[here]):
                matrix[here, :m] = part
        matrix[:, m:] = self.residual
        matrix *= np.sqrt(self.rows.weights)[:, None]
        return matrix

    def slices(self, places: IntArray) -> list[slice]:
        """Give the part of ascending places that each fold has."""
        ends = np.searchsorted(self.rows.fold[places], self.folds, side="right").tolist()
        return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]

    def sums(self, places: IntArray) -> FloatArray:
        """Sum products of terms and residuals over the rows of each fold: (f, m + k, m + k)."""
        parts = [self.matrix[places[here]] for here in self.slices(places)]
        return np.stack([part.T @ part for part in parts])

    def left(self, places: IntArray, fits: FloatArray) -> FloatArray:
        """Give what fits leave of the rows of the folds that they leave out, weighted: (n, k)."""
        m = fits.shape[1]
        matrix = self.matrix[places]
        left = matrix[:, m:].copy()
        for here, fit in zip(self.slices(places), fits, strict=True):
            left[here] -= matrix[here, :m] @ fit
        return left


def _ridge(sums: FloatArray, penalty: FloatArray, towards: FloatArray) -> FloatArray:
    """Fit coefficients (f, m, k) to sums (f, m + k, m + k), shrunk towards others.

    The first term is the constant: its sum is the weight of the rows.
    """
    m = len(penalty)
    gram, cross = sums[:, :m, :m], sums[:, :m, m:]
    weight = gram[:, :1, :1]
    # A trace of ridge keeps the system regular where terms are the same on all rows.
    system = gram / weight + np.diag(penalty + 1e-12)
    return np.asarray(towards + np.linalg.solve(system, (cross - gram @ towards) / weight))


def _error(sums: FloatArray, fits: FloatArray) -> float:
    """Sum the squared errors of fits (f, m, k) on sums (f, m + k, m + k)."""
    m = fits.shape[1]
    gained = (fits * (sums[:, :m, :m] @ fits - 2.0 * sums[:, :m, m:])).sum(axis=1)
    square = np.diagonal(sums, axis1=1, axis2=2)[:, m:]
    return float(np.maximum(square + gained, 0.0).sum())


@dataclass
class Node:
    """A node of the tree.

    Parameters
    ----------
    places, sums
        Places of its rows in the pool, and sums over those of each fold.
    fits
        Array (f, m, k): the change without each fold that is left out.
    error
        Squared error on the rows left out.
    strength, is_inherited
        Of its ridge; or that of its parent, whose fit it has.
    split
        The best split, once it was looked for; None if there is none.
    """

    places: IntArray
    sums: FloatArray
    fits: FloatArray
    error: float
    strength: float | None = None
    is_inherited: bool = False
    split: tuple[Cut, Node, Node] | None = None
    is_split: bool = False

    @property
    def children(self) -> tuple[Node, ...]:
        """Both sides, where it is split."""
        return () if self.split is None or not self.is_split else self.split[1:]

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
        everything, real = np.arange(len(pool.rows)), np.flatnonzero(pool.is_real)
        m, k = len(pool.regression.terms), pool.residual.shape[1]
        fits = np.zeros((len(pool.folds), m, k))
        sums = pool.sums(everything)
        self.penalty = shrinkage(pool.regression.terms.orders())
        self.total = float(pool.rows.weights[real].sum()) * k
        self.root = Node(everything, sums, fits, _error(sums, fits))
        self.least = LEAST + pool.regression.inputs.n_features

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
            # The sides of the last split need none of their own.
            for child in best.split[1:] if len(leaves) + 1 < most else ():
                self._look(child)

    def keep(self, count: int) -> None:
        """Go back, or forward again, to the tree as it was with ``count`` regions."""
        for place, node in enumerate(self.divided, start=2):
            node.is_split = place <= count

    def _note(self) -> None:
        """Remember what is left on rows of the sample that are left out."""
        left = [self.pool.left(self._real(leaf), leaf.fits) for leaf in self.leaves]
        self.errors.append(sum(float((part**2).sum()) for part in left) / self.total)

    def _real(self, node: Node) -> IntArray:
        """Give the places of the rows of the sample."""
        return node.places[self.pool.is_real[node.places]]

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

    def changes(self, more: Sequence[FloatArray] | None = None) -> list[FloatArray]:
        """Fit all rows, from the root down, with the strengths found: (m, k) of each leaf.

        Parameters
        ----------
        more
            Sums (m + k, m + k) over further rows of each leaf, from left to right.
        """
        leaves = self.leaves
        added = [0.0] * len(leaves) if more is None else more
        pairs = zip(leaves, added, strict=True)
        totals = {id(leaf): leaf.sums.sum(axis=0) + extra for leaf, extra in pairs}

        def fitted(node: Node, start: FloatArray) -> list[FloatArray]:
            if node.strength is not None and not node.is_inherited:
                every = np.sum([totals[id(leaf)] for leaf in _leaves(node)], axis=0, keepdims=True)
                start = _ridge(every, node.strength * self.penalty, start)[0]
            below = [change for child in node.children for change in fitted(child, start)]
            return below or [start]

        return fitted(self.root, np.zeros_like(self.root.fits[0]))

    def _look(self, node: Node) -> None:
        """Find the best split of a node, if one helps."""
        cuts = self._cuts(node)
        if not cuts:
            return
        tried = [self._divided(node, cut) for cut in cuts]
        best = min(tried, key=lambda split: split[1].error + split[2].error)
        error = best[1].error + best[2].error
        if error < node.error - ROUNDING * self.total:
            node.split = best

    def _cuts(self, node: Node) -> list[Cut]:
        """Search on the rows of the sample."""
        pool, real = self.pool, self._real(node)
        if len(real) < 2 * self.least:
            return []
        inputs, X = pool.regression.inputs, pool.rows.X[real]
        weights, left = pool.rows.weights[real], pool.left(real, node.fits)
        # What is known of rows is times the roots of their weights.
        root, m = np.sqrt(weights)[:, None], len(self.penalty)
        terms = pool.matrix[real, : m if m <= SEARCH_TERMS else 0] / root
        z = unit_size(inputs.to_working(X))
        rows = SearchRows(X, z, weights, left / root, terms, self.penalty)
        return find_cuts(rows, inputs, self.least, TRIES)

    def _divided(self, node: Node, cut: Cut) -> tuple[Cut, Node, Node]:
        split = Split(cut.column, cut.threshold, cut.levels, left=Leaf(0), right=Leaf(1))
        pool = self.pool
        asked = question(split, pool.regression.inputs)
        reached = pool.rows.X[node.places[:, None], asked.features] >= asked.numbers
        goes_left = reached.any(axis=1) == asked.reached
        sides = node.places[goes_left], node.places[~goes_left]
        small = int(len(sides[1]) < len(sides[0]))
        # The sums of the larger side are those of both less those of the smaller.
        one = pool.sums(sides[small])
        sums = (node.sums - one, one) if small else (one, node.sums - one)
        left, right = (self._child(node, p, s) for p, s in zip(sides, sums, strict=True))
        return cut, left, right

    def _child(self, parent: Node, places: IntArray, sums: FloatArray) -> Node:
        """Fit a node towards its parent, as strongly as does best on the rows left out."""
        error = _error(sums, parent.fits)
        tried = [Node(places, sums, parent.fits, error, parent.strength, is_inherited=True)]
        fitted = sums.sum(axis=0) - sums
        strengths = _weaker(parent.strength) if np.all(fitted[:, 0, 0] > 0) else ()
        for strength in strengths:
            fits = _ridge(fitted, strength * self.penalty, parent.fits)
            error = _error(sums, fits)
            if error >= tried[-1].error:
                break
            tried.append(Node(places, sums, fits, error, strength))
        return next(node for node in tried if node.error <= (1.0 + SLACK) * tried[-1].error)


def _weaker(strength: float | None) -> Sequence[float]:
    """List the strengths to try, the strongest first: those near that of the parent."""
    place = 0 if strength is None else max(0, STRENGTHS.index(strength) - 1)
    last = len(STRENGTHS) if strength is None else place + 4
    return STRENGTHS[place:last][::-1]


def _leaves(node: Node) -> list[Node]:
    return [leaf for child in node.children for leaf in _leaves(child)] or [node]
