"""What would be closer, and what would be smaller: the verdict looks for it when it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.errors import NN2PolyError, NN2PolyWarning, warn_user
from nn2poly.fit.problem import Problem
from nn2poly.fit.splitting import QUICK_ROWS, grow_tree
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.sampling import evenly
from nn2poly.verdicts import USEFUL, Closer, Look, Smaller

# Regions are looked for where R² is below `USEFUL`, on as many rows of the sample at least, with as
# many features at most: more take longer than a look may.
LEAST_ROWS, MOST_FEATURES = 1_000, 128
REGIONS = (2, 4, 8)
# More regions must bring so much, and all of it so much of what is missing, to be worth a word.
WORTH, WORTH_SHARE = 0.005, 0.25
# Fewer terms are looked for in formulas of at least so many, at most half of them; they may lose so
# much of R² (taste).
MANY_TERMS, LOST = 100, 0.005
BUDGETS = (10, 20, 50, 100, 200)
# Rows of the card that these are measured on.
JUDGED_ROWS = 2_000


def with_advice(poly: Polynomial, problem: Problem) -> Polynomial:
    """Let the verdict of a polynomial look for what could be had instead, when it is read.

    Until then it keeps the network and at most `QUICK_ROWS` + `JUDGED_ROWS` rows in memory.

    Parameters
    ----------
    poly
        With its card, and knowing how far each term moves the outputs.
    """
    card = poly.card
    if card is None or not card.held_out:
        return poly
    bare = replace(poly, card=None, layers=())
    if card.r2 < USEFUL:
        # A fifth of the sample is kept for the card.
        if problem.summary.n_rows < 0.8 * LEAST_ROWS or poly.n_features > MOST_FEATURES:
            return poly
        look = Look(partial(_closer, bare, problem.of_few(QUICK_ROWS), _Judge.of(problem)))
    elif poly.n_terms >= MANY_TERMS and poly.deviations is not None:
        look = Look(partial(_smaller, bare, _Judge.of(problem)))
    else:
        return poly
    return replace(poly, card=replace(card, verdict=replace(card.verdict, look=look)))


@dataclass(frozen=True, eq=False)
class _Judge:
    """Measures formulas on rows of the card: what it finds is told, and chooses nothing.

    The answers are those of the model as it was converted, whatever becomes of it later.
    """

    X: FloatArray
    truth: FloatArray

    @classmethod
    def of(cls, problem: Problem) -> _Judge:
        X = problem.summary.held_out
        X = X[evenly(len(X), JUDGED_ROWS)]
        return cls(X, problem.truth(X))

    def r2(self, formula: Explicit) -> float:
        return mean_r2(self.truth, formula.raw_outputs(self.X))


def _closer(poly: Polynomial, problem: Problem, judge: _Judge) -> Closer | None:
    """Look for regions; a function that can no longer be asked gives none."""
    try:
        return _fewest_regions(poly, problem, judge)
    except NN2PolyError as error:
        warn_user(
            "The verdict does not say whether regions would be closer, for which the function is "
            f"asked again: {error}",
            NN2PolyWarning,
        )
        return None


def _fewest_regions(poly: Polynomial, problem: Problem, judge: _Judge) -> Closer | None:
    """Grow a small tree on few rows with few terms; more of both can only be closer."""
    now, best = judge.r2(poly), (1, judge.r2(poly))
    tree = grow_tree(poly, problem, REGIONS[-1], quick=True)
    for count in sorted({min(count, tree.most) for count in REGIONS} - {1}):
        found = tree.regions(count)
        r2 = judge.r2(PiecewisePolynomial(found.tree, found.polynomials))
        if r2 > best[1] + WORTH:
            best = count, r2
        if r2 >= USEFUL:
            break
    count, r2 = best
    if count == 1 or r2 - now < WORTH_SHARE * (1.0 - now):
        return None
    return Closer(count, r2, count * poly.coefficients.size)


def _smaller(poly: Polynomial, judge: _Judge) -> Smaller | None:
    """Find how few of the terms do nearly the same."""
    least = judge.r2(poly) - LOST
    for count in BUDGETS:
        if 2 * count > poly.n_terms:
            return None
        r2 = judge.r2(poly.prune(count))
        if r2 >= least:
            return Smaller(count, r2)
    return None
