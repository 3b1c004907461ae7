"""The engine against nested autodiff, the partition reference and scikit-learn, in one run.

Run with ``make bench``. Seconds depend on the machine; the ratios are the result.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import threadpool_limits

import nn2poly as n2p
from harness import constrained_network, medians, peak_megabytes
from nn2poly.algebra.reference import convert_by_partitions
from nn2poly.tables import Table

# inputs, neurons, hidden layers, order, outputs
SHAPES = [
    (54, 100, 3, 3, 7),
    (100, 100, 3, 3, 1),
    (784, 100, 2, 2, 10),
    (10, 50, 3, 7, 1),
    (5, 100, 3, 8, 1),
]
COVERTYPE = SHAPES[0]
PREDICT_ROWS = 100_000
# Rows on which the slow rivals of prediction are timed before scaling up to PREDICT_ROWS.
RIVAL_ROWS = 2_000


def main() -> None:
    print(conversion_table(), end="\n\n")
    print(reference_table(), end="\n\n")
    print(prediction_table(), end="\n\n")
    print(listed_table())


def conversion_table() -> Table:
    rows = []
    for shape in SHAPES:
        p, width, depth, order, n_outputs = shape
        network = constrained_network(p, width, depth, n_outputs)
        tasks: dict[str, Callable[[], Any]] = {"ours": partial(n2p.convert, network, order)}
        if order <= 3:
            tasks["autodiff"] = partial(nested_autodiff(network, order), torch.zeros(p).double())
        times = medians(tasks)
        autodiff = times.get("autodiff", float("nan"))
        memory = peak_megabytes(convert_shape, *shape)
        rows.append((str(shape), times["ours"], autodiff, autodiff / times["ours"], memory))
    return Table(
        "convert(Network) against warm nested torch.func autodiff of the top degree alone",
        ("inputs, neurons, layers, Q, outputs", "ours s", "autodiff s", "ratio", "peak MB"),
        tuple(rows),
        note="medians of 7 interleaved runs; ratio = autodiff / ours; peak MB of ours, own process",
    )


def convert_shape(p: int, width: int, depth: int, order: int, n_outputs: int) -> None:
    n2p.convert(constrained_network(p, width, depth, n_outputs), order)


def nested_autodiff(network: n2p.Network, order: int) -> Callable[[torch.Tensor], torch.Tensor]:
    layers = [(torch.tensor(layer.weights), torch.tensor(layer.bias)) for layer in network.layers]

    def forward(x: torch.Tensor) -> torch.Tensor:
        for weights, bias in layers[:-1]:
            x = torch.tanh(x @ weights + bias)
        return x @ layers[-1][0] + layers[-1][1]

    derivative: Any = torch.func.jacrev(forward)
    for _ in range(order - 1):
        derivative = torch.func.jacfwd(derivative)
    return derivative  # type: ignore[no-any-return]


def reference_table() -> Table:
    p, width, depth, order, n_outputs = COVERTYPE
    network = constrained_network(p, width, depth, n_outputs)
    weights = [np.vstack([layer.bias, layer.weights]) for layer in network.layers]
    series = network.layers[0].activation.taylor(0.0, 8)[:, 0]
    taylor = [series] * depth + [None]
    # Not in turns: after seconds of the reference, a run of milliseconds would start cold. And on
    # one thread, because the reference has no use for a second.
    with threadpool_limits(1):
        times = medians({"ours": lambda: n2p.convert(network, order)})
        times |= medians({"partitions": lambda: convert_by_partitions(weights, taylor, order)}, 3)
    ratio = times["partitions"] / times["ours"]
    return Table(
        "convert(Network) against the paper's route by multiset partitions (classes M0)",
        ("inputs, neurons, layers, Q, outputs", "ours s", "partitions s", "ratio"),
        ((str(COVERTYPE), times["ours"], times["partitions"], ratio),),
        note="medians of 7 and of 3 runs, one thread; the reference works on whole layers at once",
    )


def prediction_table() -> Table:
    p, width, depth, order, n_outputs = COVERTYPE
    poly = n2p.convert(constrained_network(p, width, depth, n_outputs), order)
    X = np.random.default_rng(1).uniform(-1, 1, (PREDICT_ROWS, p))
    few = X[:RIVAL_ROWS]
    basis = PolynomialFeatures(order).fit(few)
    features = basis.transform(few)
    scale = PREDICT_ROWS / RIVAL_ROWS
    times = medians(
        {
            "poly.predict": lambda: poly.predict(X),
            "GEMM alone (features ready)": lambda: features @ poly.coefficients,
            "PolynomialFeatures + dot": lambda: basis.transform(few) @ poly.coefficients,
        },
        repeats=3,
    )
    seconds = {k: t if k == "poly.predict" else t * scale for k, t in times.items()}
    ours = seconds["poly.predict"]
    return Table(
        f"Prediction: {PREDICT_ROWS:,} rows, {poly.n_terms:,} terms, {n_outputs} outputs",
        ("way", "seconds", "rows per s", "time / ours"),
        tuple((k, s, int(PREDICT_ROWS / s), s / ours) for k, s in seconds.items()),
        note=f"the last two timed on {RIVAL_ROWS:,} rows and scaled up; their feature matrix for "
        f"all rows would take {8e-9 * PREDICT_ROWS * poly.n_terms:.0f} GB",
    )


def listed_table() -> Table:
    """Time what is done with polynomials of few terms, whatever their order and features."""
    rows = []
    for title, poly in listed_polynomials():
        X = np.random.default_rng(1).uniform(-1, 1, (1_000, poly.n_features))
        with tempfile.TemporaryDirectory() as folder:
            tasks: dict[str, Callable[[], Any]] = {
                "rebase": poly.rebase,
                "predict": partial(poly.predict, X),
                "prune": partial(poly.prune, 10),
                "fold": partial(poly.fold, [[0], [1]]),
                "save and load": partial(save_and_load, poly, Path(folder) / "poly.npz"),
            }
            times = medians(tasks, repeats=3)
        rows.append((title, poly.n_terms, *(1e3 * seconds for seconds in times.values())))
    return Table(
        "Listed terms: milliseconds",
        ("polynomial", "terms", "rebase", "predict 1,000 rows", "prune", "fold", "save and load"),
        tuple(rows),
        note="medians of 3 runs",
    )


def save_and_load(poly: n2p.Polynomial, path: Path) -> None:
    """Write a file and read it again."""
    n2p.load(poly.save(path))


def listed_polynomials() -> list[tuple[str, n2p.Polynomial]]:
    """Make additive polynomials of order 8, and one of long terms in 500 features."""
    rng = np.random.default_rng(0)
    made = []
    for p in (20, 40):
        terms = [(j,) * power for j in range(p) for power in range(1, 9)]
        made.append((f"additive, order 8, {p} features", p, terms))
    long = [tuple(sorted(rng.choice(500, 10).tolist())) for _ in range(20)]
    made.append(("order 10, 500 features", 500, long))
    return [
        (
            title,
            n2p.Polynomial.from_terms(
                terms, rng.normal(size=len(terms)), [f"v{j}" for j in range(p)], center=1.0
            ),
        )
        for title, p, terms in made
    ]


if __name__ == "__main__":
    main()
