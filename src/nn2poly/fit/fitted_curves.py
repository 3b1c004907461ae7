"""Curves that numbers enter a formula through, fitted together with it.

An income may matter up to a point, a distance near the city only: no power of a number says that
well, and a logarithm or a rank only by chance. So a number may enter through an increasing curve
of its own, linear between the points of a small table: the one with which quadratics, one in each
region, follow the network best. A tree that grows in better coordinates splits where it matters, so
curves and regions take turns: curves for one region, then for a few, then for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.fit.asked_rows import shuffled_rows
from nn2poly.fit.curve_fit import CurveFit, Rises, products, whole
from nn2poly.fit.near_rows import near_rows
from nn2poly.fit.problem import Problem
from nn2poly.fit.refit import can_refit, fit_terms
from nn2poly.fit.splitting import NEAR_WEIGHT, grow_tree
from nn2poly.fit.transforms import no_number, rounded_knots
from nn2poly.formula.region_tree import Leaf, Tree, paths, region_of
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Curve
from nn2poly.rows.fit_rows import FitRows, stacked
from nn2poly.sampling import evenly

# Quantiles at which a curve may bend: closer in the tails, where numbers are far apart. Half as
# many of them cost one and 16 quadratics on California .001 to .005 of R² (ReLU and tanh, seeds 0
# and 1), and curves up to the last row of a tail up to .004 (tanh, seed 3).
# Of many columns each has fewer, so that there are about so many rises.
SHARES = np.r_[0.001, 0.004, 0.01, np.linspace(0.03, 0.97, 25), 0.99, 0.996, 0.999]
MAX_RISES = 500
# Columns with a curve, at most: 200 take a minute and 3 GB.
MAX_CURVES = 100
# Rows that curves are fitted on: of the sample, near rows for each of them, and the weight of rows
# with shuffled columns. Twice the rows gain nothing there, with one near row for each 16 regions
# lose up to .003. Without shuffled ones, quadratics have an R² down to −1.9 on such rows
# (California, tanh, seed 0), with .1 they lose .005 on rows as they are. Turns before the last
# take a quarter of the rows: that costs 16 regions on California .0006 and saves a quarter of
# the time.
ROWS, NEAR_TIMES, SHUFFLED_WEIGHT = 10_000, 3, 0.04
# Folds are left out in turn until so many rows have judged; the curves of all are averaged. With
# one fold of 300 rows, 8 regions on bike (ReLU and tanh, seeds 0 and 1) lose up to .08 of R²; all
# folds of 3,000 gain at most .0015 (California and bike) in four times the time.
ENOUGH_JUDGED = 400
# A knot whose neighbours say its share so closely is left out (taste); digits of the shares.
FLAT, DIGITS = 0.002, 5


def check_curves(problem: Problem) -> None:
    """Refuse curves of columns that cannot have one, and where there is nothing to fit them to."""
    asked = problem.transforms
    if asked is None or not asked.has_curves:
        return
    if not can_refit(problem):
        raise InvalidInputError(
            "Curves cannot be fitted to this sample.",
            where="transforms",
            expected="rows, hundreds if possible, on which finite outputs vary",
            found=f"{len(problem.fit_rows):,} rows to fit",
            remedy="pass more rows, or leave transforms out",
        )
    bent = {_name(problem, j) for j in _knots_of(problem)}
    named = [name for name, kind in (asked.kinds or {}).items() if kind == Curve.kind]
    if missing := [name for name in named if name not in bent]:
        raise no_number(missing[0], "fewer than three values in nearly all rows")
    if not bent:
        raise InvalidInputError(
            "No column can enter through a curve.",
            where="transforms",
            expected="a number of three values or more, without a function of its own",
            found=f"none among {problem.inputs.n_features:,} features",
            remedy="leave transforms out",
        )
    if len(bent) > MAX_CURVES:
        raise InvalidInputError(
            "So many curves cannot be fitted together.",
            where="transforms",
            expected=f"at most {MAX_CURVES} columns",
            found=f"{len(bent):,}",
            remedy='name the columns that matter: transforms={"income": "curve"}',
        )


def _name(problem: Problem, place: int) -> str:
    """Give the name of the column of a feature."""
    return problem.inputs.columns[int(problem.inputs.column_of[place])].name


def with_curves(
    problem: Problem, order: int, regions: int, report: Callable[[str], None]
) -> Problem:
    """Let the columns that were asked for enter through curves.

    Parameters
    ----------
    order, regions
        Those of the formula that the curves are for.
    report
        Is told what is being done.
    """
    if not can_refit(problem) or not (knots := _knots_of(problem)):
        return problem
    order = min(order, 2)
    for count in _turns(regions):
        report("fitting the curves" + (f" of {count} regions" if count > 1 else ""))
        tree = _tree(problem, order, count)
        last = count == regions or len(paths(tree)) < count
        rows = _rows(problem, ROWS if last else ROWS // 4)
        problem = problem.with_curves(_fitted(problem, order, tree, knots, rows))
        if last:
            break
    return problem


def _knots_of(problem: Problem) -> dict[int, FloatArray]:
    """Give the knots of the curve of each feature that is to have one, by its place."""
    asked = problem.transforms
    if asked is None or not problem.bounded:
        return {}
    X, inputs = _rows(problem, ROWS).X, problem.inputs
    pairs = zip(inputs.columns, inputs.places, strict=True)
    numbers = [(c, p[0]) for c, p in pairs if c.kind == "number"]
    bent = [j for c, j in numbers if asked.bends(c.name, c.coordinates[0].function)]
    found = {j: _knots(X[:, j], _bounds(problem, j), len(bent)) for j in bent}
    return {j: knots for j, knots in found.items() if len(knots) > 2}


def _rows(problem: Problem, most: int) -> FitRows:
    rows = problem.fit_rows
    return rows.some(evenly(len(rows), most))


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
        # By 4 instead, 16 regions on California lose up to .003 of R² on three of four networks
        # (ReLU and tanh, seeds 0 and 1).
        count *= 2
    yield regions


def _tree(problem: Problem, order: int, count: int) -> Tree:
    if count == 1:
        return Leaf(0)
    return grow_tree(fit_terms(problem, order), problem, count).growth.tree()


def _fitted(
    problem: Problem, order: int, tree: Tree, knots: Mapping[int, FloatArray], rows: FitRows
) -> dict[int, Curve]:
    """Fit the curves of features with these knots, for the regions of a tree."""
    inputs, places = problem.inputs, list(knots)
    near = near_rows(rows, NEAR_TIMES * len(rows), inputs, weight=NEAR_WEIGHT)
    every = stacked([rows, near, shuffled_rows(rows, inputs, share=1.0, weight=SHUFFLED_WEIGHT)])
    truth = problem.truth(every.X)
    is_real = np.arange(len(every)) < len(rows)
    region = np.where(np.all(np.isfinite(truth), axis=1), region_of(tree, inputs, every.X), -1)
    turn = np.argsort(region, kind="stable")[np.count_nonzero(region < 0) :]
    every, truth, is_real, region = every.some(turn), truth[turn], is_real[turn], region[turn]
    ends = np.searchsorted(region, np.unique(region), side="right").tolist()
    middle, spread = truth.mean(axis=0), truth.std(axis=0)
    varies = spread > 1e-12 * np.abs(truth).max(axis=0)
    starts = [_rises(inputs, j, k) for j, k in knots.items()]
    found: list[Rises] = []
    for fold in _judging_folds(rows.fold):
        apart = every.fold == fold
        fit = CurveFit(
            x=[every.X[:, j] for j in places],
            knots=[*knots.values()],
            z=inputs.to_working(every.X),
            places=places,
            target=np.where(varies, truth - middle, 0.0) / np.where(varies, spread, 1.0),
            regions=[slice(a, b) for a, b in zip([0, *ends], ends, strict=False)],
            fitted=every.weights * ~apart,
            judged=every.weights * (apart & is_real),
            products=products(inputs, order),
        )
        found.append(fit.best(starts))
    means = [np.mean(rises, axis=0) for rises in zip(*found, strict=True)]
    return {j: _curve(k, rises) for (j, k), rises in zip(knots.items(), means, strict=True)}


def _judging_folds(fold: IntArray) -> list[int]:
    """List the first folds that hold enough rows together, of the fold (n,) of each row.

    Examples
    --------
    >>> [len(_judging_folds(np.arange(n) % 5)) for n in (300, 600, 1_000, 2_000, 9_000)]
    [5, 4, 2, 1, 1]
    """
    folds, counts = np.unique(fold, return_counts=True)
    before = np.cumsum(counts) - counts
    found: list[int] = folds[before < ENOUGH_JUDGED].tolist()
    return found


def _bounds(problem: Problem, place: int) -> tuple[float, float] | None:
    """Give the bounds that the user gave of a feature."""
    return problem.bounds.get(problem.inputs.feature_names[place])


def _knots(x: FloatArray, ends: tuple[float, float] | None, n_curves: int) -> FloatArray:
    """Give the numbers that a curve may bend at."""
    count = min(len(SHARES), MAX_RISES // n_curves)
    chosen = np.linspace(0.0, len(SHARES) - 1.0, count).round().astype(np.intp)
    # Values of rows: between two of them rounding gives others for equal ones.
    knots = np.unique(np.quantile(x, SHARES[chosen], method="nearest"))
    if ends is not None:
        low, high = ends
        knots = np.array([low, *knots[(knots > low) & (knots < high)], high])
    return rounded_knots(knots) if len(knots) > 2 else knots


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
