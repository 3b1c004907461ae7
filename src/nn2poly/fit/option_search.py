"""Orders, regions and budgets of terms, tried on rows that are kept for choices.

All of it is fitted to a part of the rows that may be fitted, and judged on the others of them; the
rows of the card are not looked at. What can be shared is: the sample is read once, a tree is grown
once for each polynomial, and its first splits are the trees of fewer regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import isnan
from time import perf_counter

from nn2poly.algebra.monomials import count_terms
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.fit.fitted_curves import with_curves
from nn2poly.fit.order_search import MAX_AUTO_TERMS, TIE
from nn2poly.fit.problem import Problem
from nn2poly.fit.refit import fit_terms
from nn2poly.fit.sparse_terms import sparse_polynomial
from nn2poly.fit.splitting import GrownTree, grow_tree
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.rows.folds import HELD_OUT, MIN_ROWS_TO_HOLD_OUT, local_sample
from nn2poly.rows.summary import summarise
from nn2poly.sampling import evenly, row_keys

# What is tried: orders (of up to `MAX_AUTO_TERMS` terms), numbers of regions, and budgets of terms
# for each region. More than 16 rules, or 100 terms of each, nobody reads (taste).
ORDERS, REGIONS, BUDGETS = (1, 2, 3), (1, 2, 4, 8, 16), (10, 30, 100)
# Rows that are enough to choose on: R² comes within .01 of that of all rows (California, bike).
MAX_ROWS = 10_000

Report = Callable[[str], None]


@dataclass(frozen=True)
class Point:
    """One way to convert, its size and how close it comes.

    Parameters
    ----------
    order, max_terms, regions
        The order of the terms; the budget of terms for each region, or None for all terms of
        the order; the number of regions.
    n_terms, n_coefficients
        Terms of all regions, and these times the outputs.
    r2
        Against the network, on rows kept for choices.
    seconds
        What it took, with what it shares with others.
    """

    order: int
    max_terms: int | None
    regions: int
    n_terms: int
    n_coefficients: int
    r2: float
    seconds: float

    @property
    def label(self) -> str:
        """What to ask for, in words."""
        size = f"order {self.order}" if self.max_terms is None else f"{self.max_terms} terms"
        return size if self.regions == 1 else f"{size}, {self.regions} regions"

    @property
    def closeness(self) -> float:
        """R², or 1 where the output does not vary: there every formula is as close."""
        return 1.0 if isnan(self.r2) else self.r2


def orders_within(n_features: int) -> tuple[int, ...]:
    """Give the orders to try: those of not too many terms, and order 1."""
    return tuple(q for q in ORDERS if q == 1 or count_terms(n_features, q) <= MAX_AUTO_TERMS)


def can_choose(problem: Problem) -> bool:
    """Say that there are rows enough to keep some of those to fit for choices."""
    return problem.summary.n_rows >= MIN_ROWS_TO_HOLD_OUT


def search_options(
    problem: Problem,
    orders: Sequence[int],
    regions: Sequence[int],
    budgets: Sequence[int],
    report: Report,
) -> tuple[Point, ...]:
    """Try orders and budgets of terms, each with numbers of regions.

    Parameters
    ----------
    problem
        With rows enough; see `can_choose`.
    orders, regions, budgets
        What to try, ascending. A number of regions that the tree does not reach is tried as the
        most that it has; a budget that is not used up is the last.

    Returns
    -------
    tuple of Point, as they were tried
    """
    inner = choice_problem(problem)

    @cache
    def bent(order: int) -> _Judge:
        # Curves of one region: those of what is picked are fitted for its own.
        return _Judge(with_curves(inner, order, 1, report), tuple(regions))

    points: list[Point] = []
    for order in orders:
        report(f"trying order {order}")
        judge = bent(min(order, 2))
        points += judge.tried(partial(fit_terms, judge.problem, order), None)
    for budget in budgets:
        report(f"trying {budget} terms")
        judge = bent(2)
        found = [*judge.tried(partial(sparse_polynomial, judge.problem, budget), budget)]
        points += found
        if found and found[0].n_terms < budget:
            break
    return tuple(points)


def choice_problem(problem: Problem) -> Problem:
    """Give the same problem of the rows that may be fitted, some of them held out again."""
    rows = problem.fit_rows
    some = rows.some(evenly(len(rows), MAX_ROWS))
    # Rows that belong together have one number, and stay together.
    sample = local_sample(some.X, some.weights, row_keys(some.number[:, None]), share=HELD_OUT)
    inner = replace(problem, sample=sample, summary=summarise(sample))
    # Bounds and coordinates stay those of all rows, as in what is picked: on fewer rows a column
    # with heavy tails is held elsewhere (adult: .958 in place of .992). Cached properties.
    vars(inner).update(inputs=problem.inputs, held_inputs=problem.held_inputs)
    return inner


class _Judge:
    """Measures formulas on the rows held out of a problem."""

    def __init__(self, problem: Problem, regions: tuple[int, ...]) -> None:
        self.problem, self.regions = problem, regions
        self.X: FloatArray = problem.summary.held_out
        self.truth = problem.truth(self.X)

    def tried(self, fit: Callable[[], Polynomial], max_terms: int | None) -> Iterator[Point]:
        """Fit one polynomial, and measure it with each number of regions."""
        begin = perf_counter()
        poly = fit()
        tree: GrownTree | None = None
        shared = perf_counter() - begin
        for count in self.regions:
            begin = perf_counter()
            formula: Explicit = poly
            if count > 1:
                if tree is None:
                    tree = grow_tree(poly, self.problem, self.regions[-1])
                    shared += perf_counter() - begin
                    begin = perf_counter()
                if tree.most == 1:
                    return
                found = tree.regions(min(count, tree.most))
                formula = PiecewisePolynomial(found.tree, found.polynomials)
            yield self._point(formula, max_terms, shared + perf_counter() - begin)
            if tree is not None and count >= tree.most:
                return

    def _point(self, formula: Explicit, max_terms: int | None, seconds: float) -> Point:
        size, n_outputs = formula.n_terms, formula.outputs.count
        r2 = mean_r2(self.truth, formula.raw_outputs(self.X))
        regions = len(formula.regions)
        return Point(formula.max_order, max_terms, regions, size, size * n_outputs, r2, seconds)


def unbeaten(points: Sequence[Point]) -> tuple[Point, ...]:
    """Give the points that nothing beats: no other is both as small and closer; ascending.

    Examples
    --------
    >>> points = [Point(q, None, 1, n, n, r2, 0.1) for q, n, r2 in ((1, 4, .6), (2, 9, .5))]
    >>> [point.order for point in unbeaten(points)]
    [1]
    """
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.n_coefficients, -p.closeness, p.regions)):
        if not best or point.closeness > best[-1].closeness:
            best.append(point)
    return tuple(best)


def smallest_close(points: Sequence[Point], target: float) -> Point:
    """Choose the smallest that reaches the target, else the best, a smaller one where they tie."""
    best = unbeaten(points)
    least = min(target, best[-1].closeness - TIE)
    if any(point.closeness >= target for point in best):
        least = target
    return next(point for point in best if point.closeness >= least)
