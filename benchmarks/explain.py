"""Exact Shapley values of a polynomial against SHAP's sampling of the network, in one run.

Run with ``make bench``. Seconds depend on the machine; the ratios are the result.
"""

from __future__ import annotations

import logging
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import nn2poly as n2p
from harness import constrained_network, medians
from nn2poly import explain
from nn2poly.tables import Table

# The shape of Covertype: inputs, neurons, hidden layers, outputs.
P, WIDTH, DEPTH, N_OUTPUTS = 54, 100, 3, 7
ROWS, BACKGROUND = 1_000, 1_000
# Rows that the sampling explainer is timed on, before scaling up to all rows; the small
# background is what SHAP recommends when it warns about a large one.
RIVAL_ROWS, SMALL_BACKGROUND = 2, 100


def main() -> None:
    print(shapley_table())


def shapley_table() -> Table:
    network = constrained_network(P, WIDTH, DEPTH, N_OUTPUTS)
    rng = np.random.default_rng(1)
    X, background = rng.uniform(-1, 1, (ROWS, P)), rng.uniform(-1, 1, (BACKGROUND, P))
    second, third = n2p.convert(network, 2), n2p.convert(network, 3)
    polynomials = {
        f"explain.shapley, Q={poly.max_order}, {poly.n_terms:,} terms": poly
        for poly in (second, third)
    }
    small = background[:SMALL_BACKGROUND]
    with threadpool_limits(1):
        times = medians(
            {
                name: partial(explain.shapley, poly, X, background)
                for name, poly in polynomials.items()
            },
            repeats=5,
        )
        rivals = [(len(b), kernel_seconds(network, X, b)) for b in (background, small)]
    ours = times[next(iter(polynomials))]
    rows = [(name, BACKGROUND, ROWS, s, s / ours) for name, s in times.items()]
    rows += [
        ("shap.KernelExplainer on the network", size, RIVAL_ROWS, s * ROWS, s * ROWS / ours)
        for size, s in rivals
    ]
    return Table(
        f"Shapley values of {ROWS:,} rows: {P} features, {N_OUTPUTS} outputs",
        ("way", "background", "rows timed", "seconds", "time / ours"),
        tuple(rows),
        note=f"one thread; KernelExplainer at its default budget of {2 * P + 2048:,} coalitions, "
        f"timed on {RIVAL_ROWS} rows and extrapolated to {ROWS:,};\n"
        "ours are exact for the polynomial, which follows this network with "
        f"R² {n2p.fidelity(network, second, X).r2:.4f} (Q=2)",
    )


def kernel_seconds(
    network: n2p.Network, X: npt.NDArray[np.float64], background: npt.NDArray[np.float64]
) -> float:
    """Time ``shap.KernelExplainer`` at its default budget on a few rows: seconds per row."""
    shap = silent_shap()
    explainer = shap.KernelExplainer(network.predict, background)
    begin = time.perf_counter()
    explainer.shap_values(X[:RIVAL_ROWS], silent=True)
    return (time.perf_counter() - begin) / RIVAL_ROWS


def silent_shap() -> Any:
    """Import shap without the remarks that it and its own imports make."""
    logging.getLogger("shap").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap
    return shap


if __name__ == "__main__":
    main()
