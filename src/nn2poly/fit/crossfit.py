"""Cross-fitting: the card of a small table, every row judged by a formula that did not see it.

A fifth of 60 rows are 12, too few to judge on, and the other four fifths miss them. So of few rows
all are fitted and all judge: the conversion, with every choice that it makes, is repeated without
each fold in turn, and what the formulas of the folds say of the rows that they did not see makes
the card. It is about the procedure on four fifths of the rows; the formula has seen all of them,
and is as a rule a little closer.

An order that is to be chosen is chosen by these folds as well: the one of the formula by all of
them, that of a fold by the others, so that no row judges what it chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.fit.order_search import Judged, Path, enough
from nn2poly.fit.problem import Problem
from nn2poly.network.network import Network
from nn2poly.network.oracle import Model
from nn2poly.rows.fit_rows import FitRows
from nn2poly.rows.folds import local_sample
from nn2poly.rows.summary import summarise
from nn2poly.sampling import row_keys

# Different rows (or groups) below which a table is cross-fitted: a fifth of them are the 30 that
# a grade needs.
FEW_ROWS = 150
# Weights of a network, and terms, up to which a conversion is repeated: it takes seconds there.
MOST_WEIGHTS, MOST_TERMS = 300_000, 3_000


@dataclass(frozen=True)
class OutOfFold:
    """Rows, and what formulas say of them that did not see them.

    Parameters
    ----------
    rows
        All rows of the sample.
    by_order
        Arrays (n, k): the outputs with the terms up to order 0, 1, ….
    outside
        Rows outside the range of those that their formula has seen.
    n_folds
        How many formulas there were.
    """

    rows: FitRows
    by_order: list[FloatArray]
    outside: int
    n_folds: int


def is_affordable(network: Model, n_terms: int) -> bool:
    """Tell whether a conversion may be repeated."""
    layers = network.layers if isinstance(network, Network) else ()
    weights = sum(layer.weights.size for layer in layers)
    return weights <= MOST_WEIGHTS and n_terms <= MOST_TERMS


def cross_fit(problem: Problem, fit: Callable[[Problem], Judged]) -> OutOfFold:
    """Fit without each fold in turn.

    Parameters
    ----------
    fit
        Does all that a conversion does, with its choices, and gives the formula.
    """
    folds = _Folds(problem)
    fits = [fit(part).outputs_by_order(folds.of(k)) for k, part in enumerate(folds.parts)]
    return folds.joined(fits)


def cross_fit_orders(
    problem: Problem,
    fit: Callable[[Problem, int], Judged],
    orders: Sequence[int],
    target: float,
) -> tuple[int, Path, OutOfFold]:
    """Fit orders without each fold in turn, until the target is reached.

    Returns
    -------
    The order to take, the orders tried (order, terms, R²), and the rows with what the formulas of
    the folds say, each of the order that the other folds would take.
    """
    folds, truth = _Folds(problem), problem.fit_truth
    tried: list[list[list[FloatArray]]] = []
    sizes: list[int] = []
    path: list[tuple[int, int, float]] = []
    for order in orders:
        found = [fit(part, order) for part in folds.parts]
        tried.append([f.outputs_by_order(folds.of(k)) for k, f in enumerate(found)])
        sizes.append(max(f.n_terms for f in found))
        r2 = mean_r2(truth, folds.joined(tried[-1]).by_order[-1])
        path.append((order, sizes[-1], r2))
        if not r2 < target:
            break
    guesses = [folds.joined(fits).by_order[-1] for fits in tried]

    def chosen(rows: BoolArray) -> int:
        return enough([mean_r2(truth[rows], guess[rows]) for guess in guesses], target)

    picked = [tried[chosen(~folds.inside[k])][k] for k in range(len(folds.parts))]
    everything = np.ones(len(truth), dtype=bool)
    return path[chosen(everything)][0], tuple(path), folds.joined(picked)


class _Folds:
    """The problems without each fold, and the rows of the folds."""

    def __init__(self, problem: Problem) -> None:
        self.rows = problem.fit_rows
        numbers = np.unique(self.rows.fold).tolist()
        self.inside: list[BoolArray] = [self.rows.fold == k for k in numbers]
        self.parts = [_without(problem, inside) for inside in self.inside]

    def of(self, k: int) -> FloatArray:
        """Give the rows of a fold (n, p)."""
        return self.rows.X[self.inside[k]]

    def joined(self, fits: Sequence[list[FloatArray]]) -> OutOfFold:
        """Put the outputs of all folds together; those of a lower order end earlier."""
        length = max(map(len, fits))
        shape = (len(self.rows), fits[0][-1].shape[1])
        by_order = [np.zeros(shape) for _ in range(length)]
        for inside, found in zip(self.inside, fits, strict=True):
            for order, out in enumerate(by_order):
                out[inside] = found[min(order, len(found) - 1)]
        return OutOfFold(self.rows, by_order, self._outside(), len(fits))

    def _outside(self) -> int:
        count = 0
        for inside in self.inside:
            seen, new = self.rows.X[~inside], self.rows.X[inside]
            low, high = seen.min(axis=0), seen.max(axis=0)
            count += int(np.any((new < low) | (new > high), axis=1).sum())
        return count


def _without(problem: Problem, inside: BoolArray) -> Problem:
    """Give the problem of the rows outside a fold, all of them to fit."""
    rows = problem.fit_rows.some(~inside)
    keys = row_keys(rows.number[:, None])
    # Nothing is held out again: more than all of them would have to be there.
    sample = local_sample(rows.X, rows.weights, keys, hold_out_from=len(rows) + 1)
    return replace(problem, sample=sample, summary=summarise(sample))
