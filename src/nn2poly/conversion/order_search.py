"""`max_order="auto"`: the smallest order that is faithful enough, judged after refining."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from nn2poly.algebra.monomials import count_terms
from nn2poly.assess.fidelity import mean_r2
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.problem import Problem
from nn2poly.formula.polynomial import Polynomial

Path = tuple[tuple[int, int, float], ...]

# Orders up to this one are tried, and beyond order 2 polynomials up to so many terms, as many as
# are refitted at once: beyond, nobody reads them (taste).
MAX_AUTO_ORDER, MAX_AUTO_TERMS = 6, 5_000
# A smaller order within this of the best R² is preferred (the issue's own margin of a fall).
TIE = 0.002


@dataclass(frozen=True)
class Candidate:
    """A calibration at one order: as it is, refined, and its terms where they were written."""

    calibrated: PolynomialNetwork
    refined: PolynomialNetwork
    formula: Polynomial | None

    @property
    def fitted(self) -> Polynomial | PolynomialNetwork:
        """What is judged."""
        return self.refined if self.formula is None else self.formula


# A calibration, or a formula that was fitted without one.
_Found = TypeVar("_Found", Candidate, Polynomial)


def best_order(
    fit: Callable[[int], _Found], problem: Problem, target: float
) -> tuple[_Found, Path]:
    """Raise the order until the held-out R² reaches the target; else keep the best.

    Returns
    -------
    What ``fit`` gives, and the orders tried: order, number of terms, R²
    """
    held_out = problem.summary.held_out
    truth = problem.truth(held_out)
    tried: list[_Found] = []
    path: list[tuple[int, int, float]] = []
    for order in range(1, MAX_AUTO_ORDER + 1):
        if order > 2 and count_terms(problem.network.n_features, order) > MAX_AUTO_TERMS:
            break
        found = fit(order)
        fitted = found.fitted if isinstance(found, Candidate) else found
        r2 = mean_r2(truth, fitted.predict(held_out).reshape(truth.shape))
        tried.append(found)
        path.append((order, fitted.n_terms, r2))
        # An output that does not vary (NaN) is as good at order 1 as at any.
        if not r2 < target:
            return found, tuple(path)
    best = max(r2 for *_, r2 in path)
    enough = next(place for place, (*_, r2) in enumerate(path) if r2 >= best - TIE)
    return tried[enough], tuple(path)
