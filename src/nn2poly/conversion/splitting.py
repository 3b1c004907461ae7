"""Regions: a small tree over the user's columns, and a polynomial in each of its leaves.

One low-order polynomial cannot follow what a good network learns of, say, rentals by the hour; a
few can. All of them are the polynomial of one region plus a change. The tree grows best first,
where rows left out gain most; the change of a node is a ridge regression towards that of its
parent (design: 2.2). With many terms a part of them does while the tree grows, and the others are
fitted in the leaves at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import add

import numpy as np

from nn2poly.algebra.terms import Listed, Terms
from nn2poly.arguments import check_count
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.conversion.asked_rows import mixed_rows, shuffled_rows
from nn2poly.conversion.basis import orthonormal_basis
from nn2poly.conversion.correction import Correction
from nn2poly.conversion.fit_rows import FitRows, gather_rows, stacked
from nn2poly.conversion.folds import Rows, spread
from nn2poly.conversion.gradients import Scales, best_step, steps
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.refit import STRENGTHS, shrinkage
from nn2poly.conversion.region_growth import Growth, Pool
from nn2poly.conversion.regression import Regression
from nn2poly.formula.deviations import term_deviations
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf, Tree, region_of
from nn2poly.inputs import Inputs

# Most regions of "auto" (issue), and rows that tell how far terms move the outputs of a region.
MAX_AUTO, DEVIATION_ROWS = 16, 1_000
# Rows that the tree is grown on (design: 30,000 are enough), and that the leaves are fitted on.
GROW_ROWS, LEAF_ROWS = 30_000, 500_000
# Rows that tell whether regions would help.
QUICK_ROWS = 5_000
# Terms up to which nodes have all of them, and leaves are solved from moments.
FEW_TERMS = 500
# Rows below which the network is asked for more, at most so many times the sample.
ENOUGH_ROWS, TIMES = 5_000, 3
# Bytes of the design matrix of one leaf.
LEAF_BYTES = 2**29


def check_regions(regions: object) -> int | str:
    """Give a number of regions, or "auto"."""
    if isinstance(regions, str) and regions == "auto":
        return regions
    return check_count(regions, where="regions", otherwise='"auto"')


def split_regions(
    poly: Polynomial, problem: Problem, regions: int | str, target_r2: float
) -> Polynomial | PiecewisePolynomial:
    """Split a formula of one region; give it as it is where nothing is gained by that.

    Parameters
    ----------
    regions
        Most regions; ``"auto"`` for as few as reach ``target_r2`` on rows left out.
    """
    if isinstance(regions, str):
        found = grow_regions(poly, problem, MAX_AUTO, enough=lambda left: 1.0 - left >= target_r2)
    else:
        found = grow_regions(poly, problem, regions)
    if len(found.polynomials) == 1:
        return poly
    return _piecewise(found, problem)


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
        described.append(replace(poly, deviations=term_deviations(poly, rows[:DEVIATION_ROWS])))
    return PiecewisePolynomial(found.tree, tuple(described), tuple(n_rows.tolist()), tuple(close))


def _count(rows: Rows, tree: Tree, inputs: Inputs, size: int) -> IntArray:
    """Count the rows of a part of the sample in each region."""
    total = np.zeros(size, dtype=np.intp)
    for X, _, _ in rows.numbered():
        total += np.bincount(region_of(tree, inputs, X), minlength=size)
    return total


def _r2(truth: FloatArray, found: FloatArray) -> float | None:
    """Give the mean R² of the outputs that vary; None where no row tells."""
    varies = np.ptp(truth, axis=0) > 0 if len(truth) else np.zeros(truth.shape[1], dtype=bool)
    return float(mean_r2(truth[:, varies], found[:, varies])) if varies.any() else None


@dataclass(frozen=True)
class Regions:
    """A tree, and the polynomial of each leaf by its number.

    Parameters
    ----------
    errors
        The share of the variance that is left on rows left out, with 1, 2, … regions.
    """

    tree: Tree
    polynomials: tuple[Polynomial, ...]
    errors: tuple[float, ...]


def grow_regions(
    poly: Polynomial,
    problem: Problem,
    most: int,
    *,
    enough: Callable[[float], bool] | None = None,
) -> Regions:
    """Split where rows left out gain by it.

    Parameters
    ----------
    poly
        The polynomial of one region, which all others start from.
    most
        Most regions.
    enough
        Takes the share of the variance that is left; True ends the growth.
    """
    return grow_tree(poly, problem, most, enough=enough).regions()


def grow_tree(
    poly: Polynomial,
    problem: Problem,
    most: int,
    *,
    enough: Callable[[float], bool] | None = None,
    quick: bool = False,
) -> GrownTree:
    """Grow a tree without fitting its leaves; see `grow_regions`.

    Parameters
    ----------
    quick
        On few rows, with few terms in the leaves as well.
    """
    rows = _some(problem.fit_rows, QUICK_ROWS) if quick else gather_rows(problem.sample, LEAF_ROWS)
    basis = orthonormal_basis(
        poly.inputs.to_working(rows.X[:GROW_ROWS]), rows.weights[:GROW_ROWS], poly.max_order
    )
    terms = poly.terms.at(basis.carried(poly.terms))
    whole = Regression(poly.inputs, basis, _main(terms) if quick else terms)
    part = whole if len(whole.terms) <= FEW_TERMS else Regression(poly.inputs, basis, _main(terms))
    growth = Growth(_pool(part, poly, problem, _some(rows, GROW_ROWS)))
    growth.grow(most, enough or _never)
    return GrownTree(poly, problem, whole, part, growth, rows)


@dataclass(frozen=True)
class GrownTree:
    """A tree of which the first splits are trees of fewer regions.

    Parameters
    ----------
    poly, problem
        The polynomial of one region, and what it was fitted to.
    whole, part
        The terms of the leaves, and those that did while the tree grew.
    growth, rows
        The tree, and the rows that leaves are fitted on.
    """

    poly: Polynomial
    problem: Problem
    whole: Regression
    part: Regression
    growth: Growth
    rows: FitRows

    @property
    def most(self) -> int:
        """The most regions that it has."""
        return len(self.growth.divided) + 1

    def regions(self, count: int | None = None) -> Regions:
        """Fit the leaves of the tree as it was with ``count`` regions, or with all."""
        poly, growth = self.poly, self.growth
        growth.keep(self.most if count is None else count)
        if len(growth.leaves) == 1:
            return Regions(Leaf(0), (poly,), tuple(growth.errors))
        changes = _fitted(self.whole, self.part, poly, self.problem, growth, self.rows)
        basis, terms = self.whole.basis, self.whole.terms
        polynomials = tuple(_changed(poly, *basis.powers(terms, change)) for change in changes)
        return Regions(growth.tree(), polynomials, tuple(growth.errors))


def _never(_: float) -> bool:
    return False


def _main(terms: Terms) -> Listed:
    """Choose the terms that do while a tree grows: of order 1, and squares."""
    kept = [term for term in terms if len(term) < 2 or (len(term) == 2 and term[0] == term[1])]
    return Listed.of(kept, terms.n_features)


def _some(rows: FitRows, most: int) -> FitRows:
    """Choose rows evenly."""
    if len(rows) <= most:
        return rows
    return rows.some(np.sort(np.argsort(spread(np.arange(len(rows))))[:most]))


def _pool(part: Regression, poly: Polynomial, problem: Problem, rows: FitRows) -> Pool:
    """Put the rows together that a tree grows on: of the sample, and rows asked for."""
    parts = [rows]
    count = min(ENOUGH_ROWS - len(rows), TIMES * len(rows))
    if count > 0:
        parts.append(mixed_rows(rows, count, poly.inputs))
    parts.append(shuffled_rows(rows, poly.inputs))
    every = stacked(parts)
    truth = problem.truth(every.X)
    fine = np.all(np.isfinite(truth), axis=1)
    n_real = int(np.count_nonzero(fine[: len(rows)]))
    every, truth = every.some(fine), truth[fine]
    spread_out = _spread(truth[:n_real], every.weights[:n_real])
    return Pool(part, every, n_real, truth - _values(poly, every.X), spread_out)


def _values(poly: Polynomial, X: FloatArray) -> FloatArray:
    return Correction(poly.terms, poly.coefficients).values(poly.inputs.to_working(X))


def _spread(truth: FloatArray, weights: FloatArray) -> FloatArray:
    """Give the standard deviation (k,) of each output; 1 for one that does not vary."""
    shares = weights / weights.sum()
    found = np.sqrt(shares @ (truth - shares @ truth) ** 2)
    return np.where(found > 1e-12 * np.abs(truth).max(axis=0, initial=0.0), found, 1.0)


def _fitted(
    whole: Regression,
    part: Regression,
    poly: Polynomial,
    problem: Problem,
    growth: Growth,
    rows: FitRows,
) -> list[FloatArray]:
    """Fit the leaves on all rows: the change (n_terms, k) of each."""
    pool, tree = growth.pool, growth.tree()
    asked = pool.rows.some(np.arange(pool.n_real, len(pool.rows)))
    every = stacked([rows, asked])
    residual = problem.truth(every.X) - _values(poly, every.X)
    region = region_of(tree, poly.inputs, every.X)
    places = [whole.terms.index(term) for term in part.terms]
    out = []
    for number, leaf in enumerate(growth.leaves):
        here = region == number
        start = np.zeros((len(whole.terms), residual.shape[1]))
        start[places] = leaf.fits[0]
        own = every.some(here)
        if len(whole.terms) <= FEW_TERMS:
            out.append(_by_moments(whole, own, residual[here], start, pool.unit))
        else:
            out.append(_by_steps(whole, own, residual[here], start, pool.unit))
    return out


def _by_moments(
    whole: Regression, rows: FitRows, residual: FloatArray, start: FloatArray, unit: FloatArray
) -> FloatArray:
    """Solve one leaf, with the strength that does best on rows left out."""
    kept = rows.fold == 0
    held = whole.moments(rows.some(kept), residual[kept])
    fitted = whole.moments(rows.some(~kept), residual[~kept])
    penalty = shrinkage(whole.terms.orders())
    tried = {None: start} | {s: fitted.ridge(s * penalty, start) for s in STRENGTHS}
    best = min(tried, key=lambda s: held.error(tried[s], unit**2))
    return start if best is None else (fitted + held).ridge(best * penalty, start)


def _by_steps(
    whole: Regression, rows: FitRows, residual: FloatArray, start: FloatArray, unit: FloatArray
) -> FloatArray:
    """Descend in one leaf, as long as rows left out gain by it."""
    kept = rows.fold == 0
    scales = Scales.of(unit, shrinkage(whole.terms.orders()))
    fitted, held, all_rows = (
        scales.design(whole, rows.some(some), residual[some], LEAF_BYTES)
        for some in (~kept, kept, np.ones(len(rows), dtype=bool))
    )
    begun = scales.to_design(start)
    _, count, _ = best_step(fitted, held, begun)
    walked = [begun, *islice(steps(all_rows, begun), count)]
    return scales.from_design(walked[-1])


def _changed(poly: Polynomial, terms: Listed, change: FloatArray) -> Polynomial:
    """Add a change to the polynomial of all rows."""
    both = Correction(poly.terms, poly.coefficients).plus(Correction(terms, change))
    return Polynomial(both.coefficients, terms=both.terms, inputs=poly.inputs, outputs=poly.outputs)
