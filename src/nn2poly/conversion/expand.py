"""From a network and a sample to a calibrated polynomial network with its fidelity card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.rays import ray_powers
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import make_card, mean_r2
from nn2poly.conversion.calibrated import calibrate
from nn2poly.conversion.engine import walk
from nn2poly.conversion.folds import Sample
from nn2poly.conversion.polynomial_network import PolynomialNetwork
from nn2poly.conversion.progress import Report
from nn2poly.conversion.remainder import fit_remainder
from nn2poly.conversion.summary import Summary, summarise
from nn2poly.errors import InvalidInputError
from nn2poly.network.network import Network

Path = tuple[tuple[int, int, float], ...]

# "auto" tries orders up to this one, and polynomials up to so many terms.
MAX_AUTO_ORDER, MAX_AUTO_TERMS = 6, 2_000_000
# Rows on which the share of each layer in the error is measured.
LAYER_ROWS = 250


def calibrated_network(
    network: Network,
    order: int | None,
    sample: Sample,
    *,
    refit: bool,
    target_r2: float,
    report: Report,
) -> PolynomialNetwork:
    """Calibrate at one order, or (None) at the smallest that reaches ``target_r2``."""
    target = _check_target(target_r2)
    report("reading the sample")
    summary = summarise(sample)
    _check_rows(summary, order)
    # A column that does not vary keeps the scale that the network itself gives it.
    scale = np.where(summary.low == summary.high, network.scale, summary.scale)
    working = network.recentered(summary.center, scale)
    seen = working.inputs.seen(summary.seen_low, summary.seen_high)
    working = replace(working, inputs=seen)

    def fit(q: int) -> PolynomialNetwork:
        report(f"calibrating order {q}")
        fitted, expansions = calibrate(working, sample, summary, q, refit=refit)
        pnet = PolynomialNetwork(fitted, expansions, q, "calibrated")
        left = fit_remainder(pnet, working, sample, summary) if refit else None
        return replace(pnet, remainder=left)

    pnet, path = (fit(order), ()) if order else _search(fit, working, summary, target)
    report("measuring the fidelity")
    card = make_card(
        working,
        pnet,
        summary.held_out,
        held_out=sample.hold_out,
        per_layer=_layer_shares(working, pnet, summary.held_out),
        path=path,
        target_r2=None if order else target,
        row_numbers=summary.held_out_numbers,
    )
    return replace(pnet, card=card)


def _search(
    fit: Callable[[int], PolynomialNetwork], network: Network, summary: Summary, target: float
) -> tuple[PolynomialNetwork, Path]:
    """Raise the order until the held-out R² reaches the target; else keep the best."""
    truth = network.outputs_by_layer(network.to_working(summary.held_out))[-1]
    tried: list[PolynomialNetwork] = []
    path: list[tuple[int, int, float]] = []
    for order in range(1, MAX_AUTO_ORDER + 1):
        terms = count_terms(network.n_features, order)
        if tried and terms > MAX_AUTO_TERMS:
            break
        tried.append(fit(order))
        r2 = mean_r2(truth, tried[-1].outputs_by_order(summary.held_out)[-1])
        path.append((order, terms, r2))
        # An output that does not vary (NaN) is as good at order 1 as at any.
        if not r2 < target:
            break
    best = max(range(len(path)), key=lambda i: (path[i][2] >= target, path[i][2]))
    return tried[best], tuple(path)


def _layer_shares(network: Network, pnet: PolynomialNetwork, X: FloatArray) -> tuple[float, ...]:
    """Tell with which layer's activations the error of the outputs enters.

    The polynomial is followed up to each layer and the true network from there on; what
    one more polynomial layer adds to the squared error is its share.
    """
    z = network.to_working(X[:LAYER_ROWS])
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
