"""Everything that a conversion with data does but its card: the order, the terms, the regions.

Three kinds of rows, which never mix: rows that fit, rows that choose (among those that may be
fitted: folds of them, or a part held out again), and rows that judge the card and nothing else. Of
a small table all rows take turns: see `crossfit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import isnan

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.assess.fidelity import mean_r2
from nn2poly.factored.calibrated import calibrate
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.crossfit import MOST_TERMS, OutOfFold, cross_fit, cross_fit_orders
from nn2poly.fit.extrapolation import bounds_beyond, clamped_at
from nn2poly.fit.fitted_curves import with_curves
from nn2poly.fit.identify import identify
from nn2poly.fit.option_search import (
    BUDGETS,
    REGIONS,
    can_choose,
    choice_problem,
    orders_within,
    search_options,
    smallest_close,
)
from nn2poly.fit.order_search import (
    Candidate,
    Judged,
    Path,
    best_order,
    orders_to_try,
)
from nn2poly.fit.problem import Problem
from nn2poly.fit.refine import (
    MAX_WRITTEN,
    highest_written,
    refine,
    refine_unwritten,
)
from nn2poly.fit.refit import can_refit, fit_terms, fold_indicators
from nn2poly.fit.sparse_terms import MAX_ORDER, sparse_polynomial
from nn2poly.fit.splitting import split_regions
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.progress import progress_reporter
from nn2poly.rows.folds import MIN_ROWS_TO_HOLD_OUT
from nn2poly.rows.reading import MIN_GROUPS

# Terms for each row of a small table up to which an order is tried: each is fitted five times.
TERMS_PER_ROW = 4
# What an option may lose when it is fitted to all rows, and options that are then tried (taste).
FALL, TRIES = 0.05, 3


@dataclass(frozen=True)
class Task:
    """What is wanted, checked: the order (0 for one to be looked for), the method, the options.

    Parameters
    ----------
    regions, max_terms
        As in `nn2poly.convert`; a polynomial network has neither.
    grouped
        The user said which rows belong together.
    layered
        The layers are wanted, not the terms alone.
    """

    order: int
    method: str
    refit: bool
    target_r2: float
    progress: bool | Callable[[str], None]
    regions: int | str = 1
    max_terms: int | None = None
    grouped: bool = False
    layered: bool = False

    @property
    def trial_order(self) -> int:
        """The order that bounds are tried with; of a budget of terms, numbers have powers."""
        return 4 if self.max_terms is not None else self.order or 2

    def report(self, text: str) -> None:
        """Say what a long conversion is doing."""
        progress_reporter(self.progress)(text)


@dataclass(frozen=True)
class Fitted:
    """What was fitted: a formula, or the polynomial network of one that is not written yet."""

    formula: Explicit | None
    calibration: Candidate | None = None

    @property
    def judged(self) -> Judged:
        """What is judged: the formula, or else the polynomial network."""
        if self.formula is not None:
            return self.formula
        if self.calibration is None:
            raise AssertionError("nothing was fitted")
        return self.calibration.fitted


@dataclass(frozen=True)
class Chosen:
    """The order of the formula, the orders tried, and a small table's rows if they were judged."""

    order: int
    path: Path = ()
    out_of_fold: OutOfFold | None = None


def fit_formula(task: Task, problem: Problem) -> Fitted:
    """Fit, with every choice but that of the order alone."""
    found = _fit(task, problem.of_order(task.trial_order))
    formula, calibration = found.formula, found.calibration
    if isinstance(formula, Polynomial):
        ends = bounds_beyond(formula, problem)
        formula = clamped_at(formula, ends)
    elif formula is None and calibration is not None:
        ends = bounds_beyond(calibration.refined, problem)
    else:  # borders of regions are not where rows end
        return found
    if calibration is not None:
        calibrated = clamped_at(calibration.calibrated, ends)
        calibration = Candidate(calibrated, clamped_at(calibration.refined, ends), formula)
    return Fitted(formula, calibration)


def _fit(task: Task, problem: Problem) -> Fitted:
    if _is_open(task) and task.refit and can_choose(problem):
        return _of_best_option(task, problem)
    given = problem
    if problem.transforms is not None:
        regions = task.regions if isinstance(task.regions, int) else 1
        problem = with_curves(given, task.order or MAX_ORDER, regions, task.report)
    found = _of_one_region(task, problem)
    unique = partial(identify, problem=problem, grow=task.max_terms is None)
    if task.regions == 1:
        poly = found.formula
        return replace(found, formula=unique(poly)) if isinstance(poly, Polynomial) else found
    poly = found.formula
    if poly is None and found.calibration is not None:
        poly = fold_indicators(found.calibration.refined.expand(), problem)
    if not isinstance(poly, Polynomial):
        raise AssertionError("regions start from one polynomial")
    task.report("looking for regions")
    pieces = split_regions(poly, problem, task.regions, task.target_r2, unique)
    if not isinstance(pieces, Polynomial):
        return replace(found, formula=pieces)
    if problem is given:
        return replace(found, formula=unique(pieces))
    # Nothing was split: the same as if nothing had been asked for, curves included.
    return _fit(replace(task, regions=1), given)


def _of_best_option(task: Task, problem: Problem) -> Fitted:
    """Choose order, regions and terms together, and fit them to all rows.

    On other rows the same budget may find other terms: what then falls far behind what it
    reached on the rows kept for choices gives way to the next.
    """
    orders = orders_within(problem.network.n_features)
    left = list(search_options(problem, orders, REGIONS, BUDGETS, task.report))
    tried: list[tuple[float, Fitted]] = []
    while left and len(tried) < TRIES:
        point = smallest_close(left, task.target_r2)
        left.remove(point)
        asked = replace(task, order=point.order, max_terms=point.max_terms, regions=point.regions)
        found = _fit(asked, problem.of_order(asked.trial_order))
        outputs = found.judged.outputs_by_order(problem.fit_rows.X)[-1]
        r2 = mean_r2(problem.fit_truth, outputs)
        tried.append((1.0 if isnan(r2) else r2, found))
        if tried[-1][0] >= point.closeness - FALL:
            return found
    return max(tried, key=lambda pair: pair[0])[1]


def choose_order(task: Task, problem: Problem) -> Chosen:
    """Choose the order on rows that do not judge the card; of a small table, on all in turn."""
    if task.order or task.max_terms is not None or (_is_open(task) and can_choose(problem)):
        return Chosen(task.order)
    n_features, n_rows = problem.network.n_features, problem.summary.n_rows

    told: set[int] = set()

    def fit(part: Problem, order: int, regions: int | str = task.regions) -> Judged:
        if order not in told:
            told.add(order)
            task.report(f"trying order {order}")
        quiet = replace(task, order=order, regions=regions, progress=False)
        return fit_formula(quiet, part).judged

    if is_cross_fitted(problem):
        orders = orders_to_try(n_features, min(MOST_TERMS, TERMS_PER_ROW * n_rows))
        return Chosen(*cross_fit_orders(problem, fit, orders, task.target_r2))
    inner = choice_problem(problem)
    orders = orders_to_try(n_features)
    found = best_order(lambda order: fit(inner, order, 1), inner, orders, task.target_r2)
    return Chosen(*found)


def judged_rows(task: Task, problem: Problem, chosen: Chosen) -> OutOfFold | None:
    """Judge the rows of a small table by formulas that did not see them; None of a larger one."""
    if chosen.out_of_fold is not None or not is_cross_fitted(problem):
        return chosen.out_of_fold
    task.report("fitting without each fold")
    quiet = replace(task, order=chosen.order, progress=False)
    return cross_fit(problem, lambda part: fit_formula(quiet, part).judged)


def is_cross_fitted(problem: Problem) -> bool:
    """Tell a table of which none are held out, and that is large enough to be cut into folds."""
    if problem.sample.held_out or problem.summary.n_rows < MIN_ROWS_TO_HOLD_OUT:
        return False
    return len(np.unique(problem.fit_rows.number)) >= MIN_GROUPS


def most_terms(task: Task, n_features: int) -> int:
    """Count the terms that a conversion fits, about."""
    if task.max_terms is not None:
        return task.max_terms
    return count_terms(n_features, task.order) if task.order else 1


def _is_open(task: Task) -> bool:
    """Tell that order, regions and terms are to be chosen together."""
    return not task.order and task.regions == "auto" and task.max_terms is None


def _of_one_region(task: Task, problem: Problem) -> Fitted:
    if task.max_terms is not None:
        task.report("choosing the terms")
        return Fitted(sparse_polynomial(problem, task.max_terms, task.order or MAX_ORDER))
    is_long = count_terms(problem.network.n_features, task.order) > MAX_WRITTEN
    if problem.of_outputs or not (task.layered or is_long):
        task.report(f"fitting order {task.order}")
        return Fitted(fit_terms(problem, task.order))
    task.report(f"calibrating order {task.order}")
    pnet = calibrate(problem.working, problem.fit_rows, task.order, refit=task.refit)
    if not task.refit or (is_long and not can_refit(problem)):
        return Fitted(None, Candidate(pnet, pnet, None))
    if is_long:
        return Fitted(None, Candidate(pnet, _refined_below(pnet, task, problem), None))
    task.report("refitting the terms")
    refined, formula = refine(pnet, problem)
    return Fitted(formula, Candidate(pnet, refined, formula))


def _refined_below(pnet: PolynomialNetwork, task: Task, problem: Problem) -> PolynomialNetwork:
    """Refine the lower orders of a polynomial network that is not written out."""
    order = highest_written(problem.network.n_features, task.order)
    lower = _of_one_region(replace(task, order=order), problem).formula if order else None
    if not isinstance(lower, Polynomial):
        return pnet
    task.report(f"refitting the terms up to order {order}")
    return refine_unwritten(pnet, lower, problem)
