"""Expand the activations on data: calibrate at one order, or look for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.rays import ray_powers
from nn2poly.assess.fidelity import mean_r2
from nn2poly.conversion.calibrated import calibrate
from nn2poly.conversion.engine import walk
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.problem import Problem
from nn2poly.conversion.progress import Report
from nn2poly.conversion.quadratic import add_quadratic
from nn2poly.conversion.refit import MAX_TERMS, fit_terms
from nn2poly.conversion.summary import Summary
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial

Path = tuple[tuple[int, int, float], ...]

# "auto" tries orders up to this one, and polynomials up to so many terms: beyond, nobody reads
# them, and an expansion takes more than seconds (taste).
MAX_AUTO_ORDER, MAX_AUTO_TERMS = 6, 2_000_000
# Rows on which the share of each layer in the error is measured: good to some percent.
LAYER_ROWS = 250


def calibrate_network(
    problem: Problem, order: int | None, *, refit: bool, target_r2: float, report: Report
) -> tuple[PolynomialNetwork, Path]:
    """Calibrate at one order, or (None) at the smallest that reaches ``target_r2``.

    Returns
    -------
    PolynomialNetwork, and the orders tried
    """
    target = _check_target(target_r2)
    _check_rows(problem.summary, order)

    def fit(q: int) -> PolynomialNetwork:
        report(f"calibrating order {q}")
        fitted, expansions = calibrate(
            problem.working, problem.sample, problem.summary, q, refit=refit
        )
        pnet = PolynomialNetwork(fitted, expansions, q, "calibrated")
        return add_quadratic(pnet, problem) if refit else pnet

    return (fit(order), ()) if order else _search(fit, problem, target, MAX_AUTO_TERMS)


def fit_network(
    problem: Problem, order: int | None, target_r2: float, report: Report
) -> tuple[Polynomial, Path]:
    """Fit the terms of one order to the outputs, or (None) of the smallest that is good enough.

    Returns
    -------
    Polynomial, and the orders tried
    """
    target = _check_target(target_r2)
    _check_rows(problem.summary, order)

    def fit(q: int) -> Polynomial:
        report(f"fitting order {q}")
        return fit_terms(problem, q)

    return (fit(order), ()) if order else _search(fit, problem, target, MAX_TERMS)


_Fitted = TypeVar("_Fitted", Polynomial, PolynomialNetwork)


def _search(
    fit: Callable[[int], _Fitted], problem: Problem, target: float, most: int
) -> tuple[_Fitted, Path]:
    """Raise the order until the held-out R² reaches the target; else keep the best."""
    held_out = problem.summary.held_out
    truth = problem.truth(held_out)
    tried: list[_Fitted] = []
    path: list[tuple[int, int, float]] = []
    for order in range(1, MAX_AUTO_ORDER + 1):
        terms = count_terms(problem.network.n_features, order)
        if tried and terms > most:
            break
        tried.append(fit(order))
        r2 = mean_r2(truth, tried[-1].outputs_by_order(held_out)[-1])
        path.append((order, terms, r2))
        # An output that does not vary (NaN) is as good at order 1 as at any.
        if not r2 < target:
            break
    best = max(range(len(path)), key=lambda i: (path[i][2] >= target, path[i][2]))
    return tried[best], tuple(path)


def layer_shares(problem: Problem, pnet: PolynomialNetwork) -> tuple[float, ...]:
    """Tell with which layer's activations the error of the outputs enters.

    The polynomial is followed up to each layer and the true network from there on; what
    one more polynomial layer adds to the squared error is its share.
    """
    network = problem.working
    z = network.to_working(problem.summary.held_out[:LAYER_ROWS])
    truth = network.outputs_by_layer(z)
    inputs = [np.zeros((1, z.shape[1])), z]
    layers = walk(pnet.network, pnet.expansions, inputs, pnet.max_order, ray_powers)
    outputs, errors = [z], [0.0]
    for index, (_, series) in enumerate(layers, start=1):
        outputs.append(np.zeros((len(z), 1)) + sum(series[1:], start=series[0]))
        rest = list(outputs)
        for later in range(index + 1, len(network.layers) + 1):
            rest.append(network.layers[later - 1].activation(network.potential(later, rest)))
        errors.append(float(np.mean((rest[-1] - truth[-1]) ** 2)))
    gains = np.maximum(np.diff(errors), 0.0)
    total = gains.sum()
    return tuple((gains / total).tolist()) if total > 0 else (0.0,) * len(gains)


def _check_rows(summary: Summary, order: int | None) -> None:
    needed = (order or 1) + 2
    if summary.n_rows < needed:
        raise InvalidInputError(
            "The sample is too small to calibrate on.",
            where="data",
            expected=f"at least {needed} rows for order {order or 1}; hundreds are better",
            found=f"{summary.n_rows} rows",
            remedy='pass more rows; or around=x for a local polynomial; or method="taylor"',
        )


def _check_target(target_r2: float) -> float:
    if isinstance(target_r2, int | float | np.integer | np.floating) and 0 < target_r2 <= 1:
        return float(target_r2)
    raise InvalidInputError(
        "target_r2 must be a number between 0 and 1.", where="target_r2", found=repr(target_r2)
    )
