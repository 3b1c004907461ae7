"""`max_order="auto"`: the smallest order that is faithful enough, judged after refining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Protocol

from nn2poly.algebra.monomials import count_terms
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.problem import Problem
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


class Judged(Protocol):
    """What is judged: a formula, or a polynomial network."""

    @property
    def n_terms(self) -> int:
        """How many terms there are."""

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        """Give the raw outputs (n, n_outputs) with the terms up to order 0, 1, …, Q."""


def orders_to_try(n_features: int, most_terms: int | None = None) -> list[int]:
    """List the orders of at most so many terms, and the first two whatever they have.

    Examples
    --------
    >>> orders_to_try(8), orders_to_try(8, 500), orders_to_try(100)
    ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4], [1, 2])
    """
    most = MAX_AUTO_TERMS if most_terms is None else min(most_terms, MAX_AUTO_TERMS)
    orders = range(1, MAX_AUTO_ORDER + 1)
    return [q for q in orders if q <= 2 or count_terms(n_features, q) <= most]


def best_order(
    fit: Callable[[int], Judged], inner: Problem, orders: Sequence[int], target: float
) -> tuple[int, Path]:
    """Raise the order until R² reaches the target on rows kept for choices; else take the best.

    Parameters
    ----------
    fit
        Fits an order to the inner problem.
    inner
        The problem of the rows that may be fitted, some of them held out to choose on: none of
        them judges the card.

    Returns
    -------
    The order, and the orders tried: order, number of terms, R²
    """
    kept = inner.summary.held_out
    truth = inner.truth(kept)
    path: list[tuple[int, int, float]] = []
    for order in orders:
        found = fit(order)
        path.append((order, found.n_terms, mean_r2(truth, found.outputs_by_order(kept)[-1])))
        # An output that does not vary (NaN) is as good at order 1 as at any.
        if not path[-1][-1] < target:
            break
    return path[enough([r2 for *_, r2 in path], target)][0], tuple(path)


def enough(values: Sequence[float], target: float) -> int:
    """Give the place of the first R² that reaches the target, or about the best of all.

    Examples
    --------
    >>> enough([0.5, 0.995, 0.999], 0.99), enough([0.5, 0.899, 0.9], 0.99)
    (1, 1)
    """
    # An output that does not vary on these rows is as close at any order.
    known = [1.0 if isnan(r2) else r2 for r2 in values]
    least = target if max(known) >= target else max(known) - TIE
    return next(place for place, r2 in enumerate(known) if r2 >= least)
