"""What would be closer, and what would be smaller: a quick look that the verdict tells of."""

from __future__ import annotations

from dataclasses import replace

from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.splitting import grow_tree
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.sampling import evenly
from nn2poly.verdicts import USEFUL, Closer, Smaller

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
    """Add to the verdict of a polynomial what could be had instead.

    Parameters
    ----------
    poly
        With its card, and knowing how far each term moves the outputs.
    """
    card = poly.card
    if card is None or not card.held_out:
        return poly
    judge = _Judge(problem)
    found = _closer(poly, problem, judge) if card.r2 < USEFUL else _smaller(poly, judge)
    if found is None:
        return poly
    reasons = (*card.verdict.reasons, found)
    return replace(poly, card=replace(card, verdict=replace(card.verdict, reasons=reasons)))


class _Judge:
    """Measures formulas on rows of the card: what it finds is told, and chooses nothing."""

    def __init__(self, problem: Problem) -> None:
        X = problem.summary.held_out
        self.X: FloatArray = X[evenly(len(X), JUDGED_ROWS)]
        self.truth = problem.truth(self.X)

    def r2(self, formula: Explicit) -> float:
        return mean_r2(self.truth, formula.raw_outputs(self.X))


def _closer(poly: Polynomial, problem: Problem, judge: _Judge) -> Closer | None:
    """Grow a small tree on few rows with few terms; more of both can only be closer."""
    # A fifth of the sample is kept for the card.
    if problem.summary.n_rows < 0.8 * LEAST_ROWS or poly.n_features > MOST_FEATURES:
        return None
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
    if poly.n_terms < MANY_TERMS or poly.deviations is None:
        return None
    least = judge.r2(poly) - LOST
    for count in BUDGETS:
        if 2 * count > poly.n_terms:
            return None
        r2 = judge.r2(poly.prune(count))
        if r2 >= least:
            return Smaller(count, r2)
    return None
