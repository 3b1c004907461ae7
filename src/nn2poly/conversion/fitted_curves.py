"""Curves that numbers enter a formula through, fitted together with it.

An income may matter up to a point, a distance near the city only: no power of a number says that
well, and a logarithm or a rank only by chance. So a number may enter through an increasing curve
of its own, linear between the points of a small table: the one with which quadratics, one in each
region, follow the network best. A tree that grows in better coordinates splits where it matters, so
curves and regions take turns: curves for one region, then for a few, then for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.conversion.asked_rows import shuffled_rows
from nn2poly.conversion.curve_fit import CurveFit, Rises, products, whole
from nn2poly.conversion.fit_rows import stacked
from nn2poly.conversion.near_rows import near_rows
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.refit import can_refit, fit_terms
from nn2poly.conversion.splitting import grow_tree
from nn2poly.conversion.transforms import rounded_knots
from nn2poly.formula.region_tree import Leaf, Tree, region_of
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Curve
from nn2poly.sampling import evenly

# Quantiles at which a curve may bend: closer in the tails, where numbers are far apart. Half as
# many of them cost one and 16 quadratics on California .001 to .005 of R² (ReLU and tanh, seeds 0
# and 1), and curves up to the last row of a tail up to .004 (tanh, seed 3).
# Of many columns each has fewer, so that there are about so many rises.
TAIL = np.array([0.001, 0.004, 0.01])
SHARES = np.concatenate([TAIL, np.linspace(0.03, 0.97, 25), 1.0 - TAIL[::-1]])
MAX_RISES, FEWEST = 500, 7
# Rows that curves are fitted on: of the sample, near rows for each of them and what these weigh,
# and the weight of rows with shuffled columns. Twice the rows gain nothing there, with one near row
# for each 16 regions lose up to .003. Without shuffled ones, quadratics have an R² down to
# −1.9 on such rows (California, tanh, seed 0), with .1 they lose .005 on rows as they are.
ROWS, NEAR_TIMES, NEAR_WEIGHT, SHUFFLED_WEIGHT = 10_000, 3, 0.5, 0.04
# Up to so many rows every fold is left out in turn, and the curves of all are averaged.
ALL_FOLDS_ROWS = 2_000
# Regions of each turn are so many times those of the turn before. By 4 instead, 16 regions on
# California lose up to .003 of R² on three of four networks (ReLU and tanh, seeds 0 and 1).
TURN = 2
# A knot whose neighbours say its share so closely is left out (taste); digits of the shares.
FLAT, DIGITS = 0.002, 5


def with_curves(problem: Problem, regions: int, report: Callable[[str], None]) -> Problem:
    """Let the columns that were asked for enter through curves.

    Parameters
    ----------
    regions
        Those of the formula that the curves are for.
    report
        Is told what is being done.
    """
    places = _places(problem)
    if not places or not can_refit(problem):
        return problem
    for count in _turns(regions):
        report("fitting the curves" + (f" of {count} regions" if count > 1 else ""))
        problem = problem.with_curves(_fitted(problem, _tree(problem, count), places))
    return problem


def _places(problem: Problem) -> list[int]:
    """List the features that are to enter through a curve: numbers of three values and more."""
    asked = problem.transforms
    if asked is None or not problem.bounded:
        return []
    X, inputs = problem.fit_rows.X, problem.inputs
    pairs = zip(inputs.columns, inputs.places, strict=True)
    numbers = [(c, p[0]) for c, p in pairs if c.kind == "number" and len(np.unique(X[:, p[0]])) > 2]
    return [j for c, j in numbers if asked.bends(c.name, c.coordinates[0].function)]


def _turns(regions: int) -> Iterator[int]:
    """List how many regions there are in each turn.

    Examples
    --------
    >>> list(_turns(1)), list(_turns(8)), list(_turns(16))
    ([1], [1, 2, 4, 8], [1, 2, 4, 8, 16])
    """
    count = 1
    while count < regions:
        yield count
        count *= TURN
    yield regions


def _tree(problem: Problem, count: int) -> Tree:
    if count == 1:
        return Leaf(0)
    return grow_tree(fit_terms(problem, 2), problem, count).growth.tree()


def _fitted(problem: Problem, tree: Tree, places: Sequence[int]) -> dict[int, Curve]:
    """Fit the curves of features, for the regions of a tree."""
    rows, inputs = problem.fit_rows, problem.inputs
    rows = rows if len(rows) <= ROWS else rows.some(evenly(len(rows), ROWS))
    near = near_rows(rows, NEAR_TIMES * len(rows), inputs, weight=NEAR_WEIGHT)
    every = stacked([rows, near, shuffled_rows(rows, inputs, share=1.0, weight=SHUFFLED_WEIGHT)])
    truth = problem.truth(every.X)
    is_real = np.arange(len(every)) < len(rows)
    region = np.where(np.all(np.isfinite(truth), axis=1), region_of(tree, inputs, every.X), -1)
    order = np.argsort(region, kind="stable")[np.count_nonzero(region < 0) :]
    every, truth, is_real = every.some(order), truth[order], is_real[order]
    ends = np.searchsorted(region[order], np.unique(region[order]), side="right").tolist()
    spread = truth.std(axis=0)
    knots = [_knots(rows.X[:, j], _bounds(problem, j), len(places)) for j in places]
    starts = [_rises(inputs, j, k) for j, k in zip(places, knots, strict=True)]
    found: list[Rises] = []
    for fold in np.unique(rows.fold).tolist()[: None if len(rows) <= ALL_FOLDS_ROWS else 1]:
        apart = every.fold == fold
        fit = CurveFit(
            x=[every.X[:, j] for j in places],
            knots=knots,
            z=inputs.to_working(every.X),
            places=places,
            target=(truth - truth.mean(axis=0)) / np.where(spread > 0, spread, 1.0),
            regions=[slice(a, b) for a, b in zip([0, *ends], ends, strict=False)],
            fitted=every.weights * ~apart,
            judged=every.weights * (apart & is_real),
            products=products(inputs),
        )
        found.append(fit.best(starts))
    means = [np.mean(rises, axis=0) for rises in zip(*found, strict=True)]
    return {j: _curve(k, rises) for j, k, rises in zip(places, knots, means, strict=True)}


def _bounds(problem: Problem, place: int) -> tuple[float, float] | None:
    """Give the bounds that the user gave of a feature."""
    return problem.bounds.get(problem.inputs.feature_names[place])


def _knots(x: FloatArray, ends: tuple[float, float] | None, n_curves: int) -> FloatArray:
    """Give the numbers that a curve may bend at."""
    count = min(len(SHARES), max(FEWEST, MAX_RISES // n_curves))
    chosen = np.linspace(0.0, len(SHARES) - 1.0, count).round().astype(np.intp)
    knots = np.unique(np.quantile(x, SHARES[chosen]))
    if ends is not None:
        low, high = ends
        knots = np.array([low, *knots[(knots > low) & (knots < high)], high])
    return rounded_knots(knots)


def _rises(inputs: Inputs, place: int, knots: FloatArray) -> FloatArray:
    """Give what a feature rises between knots as it enters now."""
    values = inputs.coordinates[place].function.values(knots)
    return whole(np.diff(values))


def _curve(knots: FloatArray, rises: FloatArray) -> Curve:
    """Make the table of a curve, without the knots that it does not bend at."""
    shares = np.concatenate([[0.0], np.cumsum(rises)]) / np.sum(rises)
    while len(knots) > 2:
        part = (knots[1:-1] - knots[:-2]) / (knots[2:] - knots[:-2])
        bends = np.abs(shares[1:-1] - (1.0 - part) * shares[:-2] - part * shares[2:])
        least = int(np.argmin(bends))
        if bends[least] > FLAT:
            break
        knots, shares = np.delete(knots, least + 1), np.delete(shares, least + 1)
    return Curve(knots=tuple(knots.tolist()), shares=tuple(np.round(shares, DIGITS).tolist()))
