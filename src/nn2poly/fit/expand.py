"""Expand the activations on data: calibrate, and tell with which layer the error enters."""

from __future__ import annotations

import numpy as np

from nn2poly.algebra.rays import ray_powers
from nn2poly.errors import InvalidInputError
from nn2poly.factored.calibrated import calibrate
from nn2poly.factored.engine import walk
from nn2poly.factored.polynomial_network import PolynomialNetwork
from nn2poly.fit.problem import Problem
from nn2poly.fit.quadratic import add_quadratic
from nn2poly.progress import Report
from nn2poly.rows.summary import Summary
from nn2poly.sampling import evenly

# Rows on which the share of each layer in the error is measured: good to some percent.
LAYER_ROWS = 250


def calibrate_network(
    problem: Problem, order: int, *, refit: bool, report: Report
) -> PolynomialNetwork:
    """Calibrate at one order."""
    _check_rows(problem.summary, order)
    report(f"calibrating order {order}")
    fitted, expansions = calibrate(
        problem.working, problem.sample, problem.summary, order, refit=refit
    )
    pnet = PolynomialNetwork(fitted, expansions, order, "calibrated")
    return add_quadratic(pnet, problem) if refit else pnet


def layer_shares(problem: Problem, pnet: PolynomialNetwork) -> tuple[float, ...]:
    """Tell with which layer's activations the error of the outputs enters.

    The polynomial is followed up to each layer and the true network from there on; what
    one more polynomial layer adds to the squared error is its share.
    """
    network = problem.working
    X = problem.summary.held_out
    z = network.to_working(X[evenly(len(X), LAYER_ROWS)])
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


def _check_rows(summary: Summary, order: int) -> None:
    needed = order + 2
    if summary.n_rows < needed:
        raise InvalidInputError(
            "The sample is too small to calibrate on.",
            where="data",
            expected=f"at least {needed} rows for order {order}; hundreds are better",
            found=f"{summary.n_rows} rows",
            remedy='pass more rows; or around=x for a local polynomial; or method="taylor"',
        )
