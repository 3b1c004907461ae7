"""Regions: a small tree over the user's columns, and a polynomial in each of its leaves.

One low-order polynomial cannot follow what a good network learns of, say, rentals by the hour; a
few can. All of them are the polynomial of one region plus a change. The tree grows best first,
where rows left out gain most; the change of a node is a ridge regression towards that of its
parent (design: 2.2). With many terms a part of them does while the tree grows, and the others are
fitted in the leaves at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import add

import numpy as np

from nn2poly.algebra.terms import Listed, Terms
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.factored.correction import Correction
from nn2poly.fit.asked_rows import edge_rows, mixed_rows, shuffled_rows, weighed_down
from nn2poly.fit.basis import orthonormal_basis
from nn2poly.fit.gradients import DESIGN_BYTES, Scales, best_of
from nn2poly.fit.near_rows import near_rows
from nn2poly.fit.problem import Problem
from nn2poly.fit.region_growth import Growth, Pool
from nn2poly.fit.regression import Regression
from nn2poly.fit.ridge import shrinkage
from nn2poly.formula.deviations import term_deviations
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf, Tree, paths, region_of
from nn2poly.formula.substituted import fixed_features, with_fixed
from nn2poly.inputs import Inputs
from nn2poly.rows.fit_rows import FitRows, gather_rows, stacked
from nn2poly.rows.folds import Rows
from nn2poly.sampling import evenly

# "auto" splits only where that leaves at most so much of the error (taste: what needs no splitting,
# the paper's simulation, Friedman's function of order 3 and noise keep about half), and takes fewer
# regions that come so close to more.
WORTH, TIE = 0.4, 0.002
# Most regions of "auto" (issue), and rows that tell how far terms move the outputs of a region.
MAX_AUTO, DEVIATION_ROWS = 16, 1_000
# Rows of the sample, and rows that the network is asked for, that the tree grows on at most: of
# half as many of the latter, 33 trees of 16 regions (California and bike, seeds 0 and 1) lose
# .0002. Rows of the sample that leaves of many terms are fitted on.
GROW_ROWS, ASKED_ROWS, LEAF_ROWS = 10_000, 60_000, 500_000
# Rows that tell whether regions would help.
QUICK_ROWS = 5_000
# Terms up to which nodes have all of them, and leaves are solved from moments.
FEW_TERMS = 500
# Mixed rows, for each row of the sample, and what rows with shuffled columns, one for each, weigh
# together. Without them leaves run away: California of order 3 in 64 regions (seed 0) has an R² of
# .95 on new rows for .98. With half as many, labels of Covertype in 64 regions agree on 89.8 % for
# 90.2 % (ReLU, seed 0).
MIXED_TIMES, SHUFFLED_WEIGHT = 3, 0.1
# Rows between near ones, for each row of the sample, and what each weighs. By them 16 regions of
# order 3 on bike (seeds 0 and 1, ReLU and tanh) gain .003 to .010, 64 of order 2 on California
# .002 to .006; three times the sample, each of weight 1, gain about half of that.
NEAR_TIMES, NEAR_WEIGHT = 7, 0.5


def split_regions(
    poly: Polynomial,
    problem: Problem,
    regions: int | str,
    target_r2: float,
    finish: Callable[..., Polynomial],
) -> Polynomial | PiecewisePolynomial:
    """Split a formula of one region; give it as it is where nothing is gained by that.

    Parameters
    ----------
    regions
        Most regions; ``"auto"`` for as few as reach ``target_r2`` on rows left out.
    finish
        Rewrites the polynomial of each region, at the end, by the features that are fixed there.
    """
    if isinstance(regions, str):
        grown = grow_tree(poly, problem, MAX_AUTO, target_r2=target_r2)
        found = grown.regions(_enough(grown.growth.errors))
    else:
        found = grow_tree(poly, problem, regions).regions()
    if len(found.polynomials) == 1:
        return poly
    ways, inputs = paths(found.tree), poly.inputs
    finished = [
        finish(part, fixed=fixed_features(ways[number], inputs))
        for number, part in enumerate(found.polynomials)
    ]
    return _piecewise(replace(found, polynomials=tuple(finished)), problem)


def _piecewise(found: Regions, problem: Problem) -> PiecewisePolynomial:
    """Tell of each region its rows, and how close it is on the rows kept for the card."""
    inputs, X = found.polynomials[0].inputs, problem.summary.held_out
    count = partial(_count, tree=found.tree, inputs=inputs, size=len(found.polynomials))
    n_rows: IntArray = problem.sample.over(count, add)
    region, truth = region_of(found.tree, inputs, X), problem.truth(X)
    close, described = [], []
    for number, poly in enumerate(found.polynomials):
        here = region == number
        close.append(_r2(truth[here], _values(poly, X[here])))
        rows = X[here] if here.any() else X
        rows = rows[evenly(len(rows), DEVIATION_ROWS)]
        described.append(replace(poly, deviations=term_deviations(poly, rows)))
    return PiecewisePolynomial(found.tree, tuple(described), tuple(n_rows.tolist()), tuple(close))


def _count(rows: Rows, tree: Tree, inputs: Inputs, size: int) -> IntArray:
    """Count the rows of a part of the sample in each region."""
    total = np.zeros(size, dtype=np.intp)
    for batch in rows.walk():
        total += np.bincount(region_of(tree, inputs, batch.X), minlength=size)
    return total


def _r2(truth: FloatArray, found: FloatArray) -> float | None:
    """Give the mean R² of the outputs that vary; None where no row tells."""
    varies = np.ptp(truth, axis=0) > 0 if len(truth) else np.zeros(truth.shape[1], dtype=bool)
    return float(mean_r2(truth[:, varies], found[:, varies])) if varies.any() else None


@dataclass(frozen=True)
class Regions:
    """A tree, and the polynomial of each leaf by its number."""

    tree: Tree
    polynomials: tuple[Polynomial, ...]


def grow_tree(
    poly: Polynomial,
    problem: Problem,
    most: int,
    *,
    target_r2: float | None = None,
    quick: bool = False,
) -> GrownTree:
    """Split where rows left out gain by it, without fitting the leaves.

    Parameters
    ----------
    poly
        The polynomial of one region, which all others start from.
    most
        Most regions.
    target_r2
        Where to stop: an R² on rows left out. None for as many regions as help.
    quick
        On few rows, with few terms in the leaves as well.
    """
    real = Answered.finite(problem.fit_rows, problem.fit_truth, poly)
    chosen = evenly(len(real.rows), QUICK_ROWS if quick else GROW_ROWS)
    rows = real.rows.some(chosen)
    basis = orthonormal_basis(poly.inputs.to_working(rows.X), rows.weights, poly.max_order)
    terms = poly.terms.at(basis.carried(poly.terms))
    main = _main(terms, poly.inputs)
    whole = Regression(poly.inputs, basis, main if quick else terms)
    part = whole if len(whole.terms) <= FEW_TERMS else Regression(poly.inputs, basis, main)
    first, later = _asked(rows, poly.inputs)
    asked = _answered(first, poly, problem, real)
    growth = Growth(_pool(part, [real.some(chosen), *asked], problem))
    growth.grow(most, lambda left: target_r2 is not None and 1.0 - left >= target_r2)
    return GrownTree(poly, problem, whole, growth, real, later)


@dataclass(frozen=True)
class Answered:
    """Rows, and what the polynomial of one region leaves of the outputs on them: (n, k)."""

    rows: FitRows
    left: FloatArray

    @classmethod
    def finite(cls, rows: FitRows, truth: FloatArray, poly: Polynomial) -> Answered:
        """Keep the rows on which there is an answer."""
        fine = np.all(np.isfinite(truth), axis=1)
        rows = rows.some(fine)
        return cls(rows, truth[fine] - _values(poly, rows.X))

    def some(self, chosen: BoolArray | IntArray) -> Answered:
        """Choose rows."""
        return Answered(self.rows.some(chosen), self.left[chosen])


@dataclass(frozen=True)
class GrownTree:
    """A tree of which the first splits are trees of fewer regions.

    Parameters
    ----------
    poly, problem
        The polynomial of one region, and what it was fitted to.
    whole
        The terms of the leaves, of which some did while the tree grew.
    growth
        The tree.
    real, later
        Rows of the sample, and more rows to ask the network for.
    """

    poly: Polynomial
    problem: Problem
    whole: Regression
    growth: Growth
    real: Answered
    later: Sequence[FitRows]

    @property
    def most(self) -> int:
        """The most regions that it has."""
        return len(self.growth.divided) + 1

    def regions(self, count: int | None = None) -> Regions:
        """Fit the leaves of the tree as it was with ``count`` regions, or with all."""
        poly, growth = self.poly, self.growth
        growth.keep(self.most if count is None else count)
        if len(growth.leaves) == 1:
            return Regions(Leaf(0), (poly,))
        changes = self._few_terms() if len(self.whole.terms) <= FEW_TERMS else self._many_terms()
        basis, terms = self.whole.basis, self.whole.terms
        tree = growth.tree()
        ways = paths(tree)
        polynomials = tuple(
            with_fixed(
                _changed(poly, *basis.powers(terms, change * growth.pool.unit)),
                fixed_features(ways[number], poly.inputs),
            )
            for number, change in enumerate(changes)
        )
        return Regions(tree, polynomials)

    def _few_terms(self) -> list[FloatArray]:
        """Fit the leaves to the moments of all rows."""
        growth, more = self.growth, self._more
        region = region_of(growth.tree(), self.poly.inputs, more.rows.X)
        leaves = range(len(growth.leaves))
        return growth.changes([more.sums(np.flatnonzero(region == k)).sum(axis=0) for k in leaves])

    @cached_property
    def _more(self) -> Pool:
        """The rows that the tree did not grow on."""
        asked = _answered(self.later, self.poly, self.problem, self.real)
        rest = ~np.isin(self.real.rows.index, self.growth.pool.rows.index)
        return _pool(self.whole, [self.real.some(rest), *asked], self.problem)

    def _many_terms(self) -> list[FloatArray]:
        """Fit the terms that did while the tree grew, and go on from there with all of them."""
        growth, whole, pool = self.growth, self.whole, self.growth.pool
        rows = gather_rows(self.problem.sample, LEAF_ROWS)
        real = Answered.finite(rows, self.problem.truth(rows.X), self.poly)
        asked = np.flatnonzero(~pool.is_real)
        asked = asked[evenly(len(asked), MIXED_TIMES * len(rows))]
        every = stacked([real.rows, pool.rows.some(asked)])
        residual = np.concatenate([real.left / pool.unit, pool.residual[asked]])
        region = region_of(growth.tree(), self.poly.inputs, every.X)
        places = [whole.terms.index(term) for term in pool.regression.terms]
        out = []
        for number, change in enumerate(growth.changes()):
            start = np.zeros((len(whole.terms), residual.shape[1]))
            start[places] = change
            here = region == number
            out.append(_by_steps(whole, every.some(here), residual[here], start))
        return out


def _enough(errors: Sequence[float]) -> int:
    """Give how many regions are enough, by what is left with 1, 2, …."""
    if errors[-1] > WORTH * errors[0]:
        return 1
    return 1 + next(k for k, left in enumerate(errors) if left <= errors[-1] + TIE)


def _main(terms: Terms, inputs: Inputs) -> Listed:
    """Choose the terms that do while a tree grows: of numbers alone, as many as may be.

    Indicators enter by themselves. Where products of numbers are too many, squares are left.
    """
    flags = {j for group in inputs.indicators() for j in group}
    kept = [term for term in terms if len(term) < 2 or flags.isdisjoint(term)]
    if len(kept) > FEW_TERMS:
        kept = [term for term in kept if len(term) < 2 or term in {(j, j) for j in set(term)}]
    return Listed.of(kept, terms.n_features)


def _asked(rows: FitRows, inputs: Inputs) -> tuple[list[FitRows], list[FitRows]]:
    """List rows that the network is asked for: those that the tree grows on, and more of them."""
    every = [
        near_rows(rows, NEAR_TIMES * len(rows), inputs, weight=NEAR_WEIGHT),
        mixed_rows(rows, MIXED_TIMES * len(rows), inputs),
        # A leaf of 86 rows of order 3 on California (seed 10) was off by 48 without these, at rooms
        # that none of its rows had.
        edge_rows(rows, inputs, share=1.0),
        shuffled_rows(rows, inputs, share=1.0, weight=SHUFFLED_WEIGHT),
    ]
    share = min(1.0, ASKED_ROWS / max(1, sum(map(len, every))))
    first = [evenly(len(more), int(share * len(more))) for more in every]
    pairs = list(zip(every, first, strict=True))
    later = [more.some(np.setdiff1d(np.arange(len(more)), chosen)) for more, chosen in pairs]
    return [more.some(chosen) for more, chosen in pairs], later


def _answered(
    asked: Sequence[FitRows], poly: Polynomial, problem: Problem, real: Answered
) -> Iterator[Answered]:
    """Ask the network."""
    for rows in asked:
        if not len(rows):
            continue
        found = Answered.finite(rows, problem.truth(rows.X), poly)
        # Where columns exclude each other, as types of soil do, these rows are nothing like the
        # sample, and would decide on the splits: Covertype (tanh, seed 1) was not split at all.
        yield replace(found, rows=weighed_down(found.rows, found.left, real.left))


def _pool(part: Regression, parts: Sequence[Answered], problem: Problem) -> Pool:
    """Put rows together: first of the sample, then others."""
    every = stacked([each.rows for each in parts])
    unit = _spread(problem.fit_truth, problem.fit_rows.weights)
    turn = np.argsort(every.fold, kind="stable")
    residual = np.concatenate([each.left for each in parts])[turn] / unit
    return Pool(part, every.some(turn), turn < len(parts[0].rows), residual, unit)


def _values(poly: Polynomial, X: FloatArray) -> FloatArray:
    return Correction(poly.terms, poly.coefficients).values(poly.inputs.to_working(X))


def _spread(truth: FloatArray, weights: FloatArray) -> FloatArray:
    """Give the standard deviation (k,) of each output; 1 for one that does not vary."""
    fine = np.all(np.isfinite(truth), axis=1)
    truth, shares = truth[fine], weights[fine] / weights[fine].sum()
    found = np.sqrt(shares @ (truth - shares @ truth) ** 2)
    return np.where(found > 1e-12 * np.abs(truth).max(axis=0, initial=0.0), found, 1.0)


def _by_steps(
    whole: Regression, rows: FitRows, residual: FloatArray, start: FloatArray
) -> FloatArray:
    """Descend in one leaf, as long as rows left out gain by it."""
    scales = Scales.of(np.ones(residual.shape[1]), shrinkage(whole.terms.orders()))
    every, chosen = scales.design(whole, rows, residual, DESIGN_BYTES[0])
    kept, begun = rows.fold[chosen] == 0, scales.to_design(start)
    best = best_of(every.some(~kept), every.some(kept), [begun])
    return scales.from_design(best.coefficients)


def _changed(poly: Polynomial, terms: Listed, change: FloatArray) -> Polynomial:
    """Add a change to the polynomial of all rows."""
    both = Correction(poly.terms, poly.coefficients).plus(Correction(terms, change))
    return Polynomial(both.coefficients, terms=both.terms, inputs=poly.inputs, outputs=poly.outputs)
