"""What users do with one network, against what they would do instead, in one run.

The network is that of bike sharing (128-128-64 ReLU neurons, nobody constrained it): convert it
with data, convert it into eight regions, explain 1,000 predictions, write the report. Instead: a
ridge regression of ``PolynomialFeatures``, an EBM with pairs (interpret), SHAP's explainers. All
get the same rows and one thread.

Run with ``make bench``; ``--quick`` leaves the EBM out, which takes minutes. Seconds depend on the
machine; the ratios are the result. ``--markdown`` writes the table of ``README.md`` and
``docs/performance.md``.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import nn2poly as n2p
from explain import silent_shap
from networks import REPORTING_SEEDS, Trained, load
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.tables import Table
from rivals import installed, markdown
from surrogates import Way, boosted_pairs, ridge

REGIONS, ORDER, TAIL = 8, 2, 0.01
ROWS, BACKGROUND = 1_000, 100
# Rows that the sampling explainers are timed on, before scaling up to all rows; and rows whose
# exact values of the network (4,096 coalitions × the background) all are compared with.
RIVAL_ROWS, EXACT_ROWS = 20, 20
REPEATS = 3


@dataclass(frozen=True)
class Done:
    """What was done: its task, the way, processor seconds and how close it is to the network."""

    task: str
    way: str
    seconds: float
    r2: float | None


def timed(task: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Give the median processor time of a few runs, and what the last one gave."""
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        given = task()
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds), given


# Conversions ------------------------------------------------------------------------------


def conversions(trained: Trained, rivals: list[Way]) -> tuple[list[Done], n2p.PiecewisePolynomial]:
    """Convert once as one polynomial and once into regions, each beside its rivals."""
    one, _ = _converted(trained, f"convert with data, order {ORDER}", "`convert(model, 2, data=X)`")
    many, poly = _converted(
        trained, f"{REGIONS} rules, a formula each", "`convert(…, regions=8)`", REGIONS
    )
    rival = [_fitted(trained, way, one.task if way.fit is ridge else many.task) for way in rivals]
    return sorted([one, many, *rival], key=lambda done: done.task != one.task), poly


def _converted(trained: Trained, task: str, way: str, regions: int = 1) -> tuple[Done, Any]:
    data = trained.fit_frame
    seconds, poly = timed(partial(n2p.convert, trained.network, ORDER, data=data, regions=regions))
    guess = poly.predict(trained.new_frame).reshape(len(trained.new), -1)
    return Done(task, way, seconds, _against(trained, guess)), poly


def _fitted(trained: Trained, way: Way, task: str) -> Done:
    outputs = _raw(trained.network, trained.fit)
    repeats = 1 if way.fit is boosted_pairs else REPEATS
    seconds, surrogate = timed(partial(way.fit, trained, outputs, **way.options), repeats)
    guess = surrogate.predict(trained.new, trained.new_frame)
    return Done(task, way.name, seconds, _against(trained, guess))


def _against(trained: Trained, guess: FloatArray) -> float:
    return mean_r2(_raw(trained.network, trained.new), guess)


def _raw(network: n2p.Network, features: FloatArray) -> FloatArray:
    raw: FloatArray = network.without_common().predict(features).reshape(len(features), -1)
    return raw


# Explanations -----------------------------------------------------------------------------


def explanations(trained: Trained, poly: n2p.PiecewisePolynomial) -> list[Done]:
    """Explain predictions by the formula, and the network itself by sampling."""
    shap = silent_shap()
    task = f"Shapley values of {ROWS:,} rows"
    rows, background = trained.new[:ROWS], trained.fit[:BACKGROUND]
    masker = shap.maskers.Independent(background, max_samples=BACKGROUND)
    predict = partial(_column, trained.network)
    exact = shap.explainers.Exact(predict, masker)(rows[:EXACT_ROWS], silent=True).values
    frames = trained.new_frame[:ROWS], trained.fit_frame[:BACKGROUND]
    seconds, ours = timed(lambda: n2p.explain.shapley(poly, *frames).values[:, :, 0])
    found = [Done(task, "`explain.shapley(formula, X)`", seconds, _close(exact, ours))]
    permutation = shap.explainers.Permutation(predict, masker, seed=0)
    kernel = shap.KernelExplainer(predict, background, seed=0)
    rivals: dict[str, Callable[[], Any]] = {
        "shap.PermutationExplainer": lambda: permutation(rows[:RIVAL_ROWS], silent=True).values,
        "shap.KernelExplainer": lambda: kernel.shap_values(rows[:RIVAL_ROWS], silent=True),
    }
    for name, run in rivals.items():
        seconds, values = timed(run, repeats=1)
        r2 = _close(exact, values)
        found.append(Done(task, f"`{name}` of the network", seconds * ROWS / RIVAL_ROWS, r2))
    return found


def _column(network: n2p.Network, features: FloatArray) -> FloatArray:
    return _raw(network, features)[:, 0]


def _close(exact: FloatArray, values: FloatArray) -> float:
    return mean_r2(exact.reshape(-1, 1), values[:EXACT_ROWS].reshape(-1, 1))


# ------------------------------------------------------------------------------------------


def report(trained: Trained, poly: n2p.PiecewisePolynomial) -> Done:
    """Write the whole report."""
    rows = trained.new_frame, trained.new_target
    with tempfile.TemporaryDirectory() as folder:
        write = partial(n2p.report, poly, trained.network, *rows, path=Path(folder) / "report.html")
        seconds, _ = timed(write)
    return Done("a report to hand on", "`report(formula, model, X, y)`", seconds, None)


def users_table(trained: Trained, quick: bool) -> Table:
    """Put everything under each other, times relative to ours of the same task."""
    options = {"order": ORDER, "tail": TAIL}
    ways = [Way("`PolynomialFeatures` and ridge", ridge, "scikit-learn", options)]
    ways += [] if quick else [Way("an EBM with pairs (interpret)", boosted_pairs, "interpret-core")]
    done, poly = conversions(trained, installed(ways))
    done += [*explanations(trained, poly), report(trained, poly)]
    ours = {entry.task: entry.seconds for entry in reversed(done)}
    rows = [
        (
            "" if entry.seconds != ours[entry.task] else entry.task,
            entry.way,
            _rounded(entry.seconds),
            _rounded(entry.seconds / ours[entry.task]),
            "–" if entry.r2 is None else f"{entry.r2:.3f}",
        )
        for entry in done
    ]
    return Table(
        f"Bike sharing, {len(trained.fit):,} rows × {trained.fit.shape[1]}, a network of R² "
        f"{trained.score:.2f}",
        ("you want", "way", "s", "time / ours", "R²"),
        tuple(rows),
        note=f"Processor time of one thread. R² is against the network on {len(trained.new):,} new "
        f"rows; for Shapley values, against the network's exact ones on {EXACT_ROWS} rows, with a "
        f"background of {BACKGROUND} rows. They and the report are of the {REGIONS} rules, whose "
        "conversion is not counted again. SHAP's explainers, at their default budgets, were timed "
        f"on {RIVAL_ROWS} rows and scaled up.",
    )


def _rounded(value: float) -> str:
    """Write two digits, which is what another run repeats."""
    return f"{float(f'{value:.2g}'):,g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="without the EBM")
    parser.add_argument("--markdown", action="store_true", help="for the documentation")
    chosen = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = users_table(load("bike", "relu", REPORTING_SEEDS[0]), chosen.quick)
    print(markdown(table) if chosen.markdown else table)


if __name__ == "__main__":
    main()
