"""Calibrated polynomials of unconstrained networks: how close, against what, at what cost.

Run ``python benchmarks/calibration.py`` (or ``--quick``: two seeds instead of six, the rivals at
order 3 alone; ``--fidelity``: without times, memory and Covertype). Seconds depend on the machine;
fidelities and ratios are the result. The last table holds them against the lines that the package
promises to reach, whether it does or not, beside what version 0.1 reached with six seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import nn2poly as n2p
from harness import medians, peak_megabytes
from nn2poly.algebra.monomials import count_terms
from nn2poly.arrays import FloatArray
from nn2poly.factored.calibrated import calibrate
from nn2poly.rows.fit_rows import gather_rows
from nn2poly.rows.folds import MAX_FIT_ROWS
from nn2poly.rows.reading import read_sample
from nn2poly.rows.summary import summarise
from nn2poly.tables import Table
from studies import (
    ACTIVATIONS,
    COVERTYPE_ROWS,
    DATA_SETS,
    FALL,
    ORDERS,
    SCALERS,
    Case,
    Plan,
    Result,
    compare_covertype,
    find_covertype,
    measure_all,
    one_thread,
    random_network,
    raw_outputs,
    read_covertype,
    split,
    squared_errors,
    steps,
)

# The seeds of the research behind the defaults were 0 to 5.
SEEDS, QUICK_SEEDS = range(10, 16), range(10, 12)
# Within this of the rival's R² counts as no worse.
MARGIN = 0.003
# inputs, outputs, activation of the 3×100 networks whose calibration is timed.
SHAPES = [(10, 1, "tanh"), (10, 1, "relu"), (54, 7, "tanh"), (54, 7, "relu"), (200, 1, "tanh")]
MANY_INPUTS = (784, 10, "relu")
COST_ROWS, COST_ORDER = 5000, 3
# Wide networks p-h-h-1: with 8 inputs order 3 has fewer terms than neurons, with 40 more.
WIDE_NEURONS = (1024, 2048)
WIDE = [*product((8, 40), WIDE_NEURONS, (100, 500, 1000, 2400, 5000, 20_000))]
QUICK_WIDE = [*product((8,), WIDE_NEURONS, (100, 1000))]
MAX_PASSES = 60

# What version 0.1 reached on the same 216 networks (its documentation and closing table).
VERSION_0_1 = {
    "median R², Q=3, [-1, 1], tanh": "0.9916",
    "median R², Q=3, [-1, 1], logistic": "0.9999",
    "median R², Q=3, [-1, 1], relu": "0.9880",
    "median agreement, Q=3, [-1, 1], digits": "0.9911",
    "median agreement, Q=3, [-1, 1], cancer": "0.9930",
    "no worse than the plain ridge, Q=3, all": "93.5% (202 of 216)",
    "no worse than the plain ridge, Q=3, [-1, 1]": "87.0% (94 of 108)",
    "falls > 0.002, Q to Q+1, all networks": "5 of 648 steps",
}
# Its median R² at order 3 over the 36 networks of each data set.
R2_0_1 = {
    "diabetes": 0.819,
    "cancer": 0.960,
    "wine": 0.992,
    "digits": 0.983,
    "friedman": 0.989,
    "simulated": 0.997,
}

RIVAL_COLUMNS = (
    *("data", "rows", "terms", "R² ours", "plain", "best"),
    *("s ours", "s plain", "MB ours", "MB plain"),
)
Line = tuple[str, str, str, str]


@dataclass(frozen=True)
class WideCost:
    """Seconds of a forward pass through p-h-h-1, of a calibration, and of one with its card."""

    inputs: int
    neurons: int
    rows: int
    forward: float
    calibrate: float
    with_card: float

    @property
    def passes(self) -> float:
        """The calibration in forward passes."""
        return self.calibrate / self.forward


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a forward pass, of a calibration, and of one with its card."""

    inputs: int
    outputs: int
    activation: str
    forward: float
    calibrate: float
    with_card: float

    @property
    def passes(self) -> float:
        """The calibration in forward passes."""
        return self.calibrate / self.forward


def main() -> None:
    options = _options()
    seeds = QUICK_SEEDS if options.quick else SEEDS
    cases = [Case(s, d, seed) for s in SCALERS for d in DATA_SETS for seed in seeds]
    plan = Plan(plain=(3,), best=(3,)) if options.quick else Plan()
    results = measure_all(cases, plan, options.processes)
    print(medians_table(results), end="\n\n")
    print(falls_table(results), end="\n\n")
    print(against_0_1_table(results), end="\n\n")
    lines = fidelity_lines(results) + rival_lines(results) + fall_lines(results)
    if options.fidelity:
        print(summary_table(lines))
        return
    with one_thread():
        print(rival_table(results), end="\n\n")
        costs = measure_costs()
        print(cost_table(costs), end="\n\n")
        wide = measure_wide(QUICK_WIDE if options.quick else WIDE)
        print(wide_table(wide), end="\n\n")
        print(many_inputs_table(), end="\n\n")
        covertype, ratios = covertype_table(seeds)
    print(covertype, end="\n\n")
    print(summary_table(lines + cost_lines(costs) + wide_lines(wide) + covertype_lines(ratios)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds instead of six")
    parser.add_argument("--fidelity", action="store_true", help="without times and memory")
    parser.add_argument("--processes", type=int, default=2, help="networks measured side by side")
    return parser.parse_args()


# Fidelity ---------------------------------------------------------------------------------


def medians_table(results: Sequence[Result]) -> Table:
    rows = []
    for scaling in SCALERS:
        for data in DATA_SETS:
            cells = [_cell(_chosen(results, scaling, data, name)) for name in ACTIVATIONS]
            rows.append((scaling, data, *cells))
    n_seeds = len({result.case.seed for result in results})
    return Table(
        f"Held-out R² at Q = 1 2 3 4 (best ridge, Q = 3) label agreement, Q = 3; n = {n_seeds}",
        ("inputs", "data", *ACTIVATIONS),
        tuple(rows),
        note="medians over seeds; scikit-learn MLPs 3×100, 25 % of the rows held out",
    )


def _chosen(
    results: Iterable[Result],
    scaling: str | None = None,
    data: str | None = None,
    activation: str | None = None,
) -> list[Result]:
    return [
        r
        for r in results
        if scaling in (None, r.case.scaling)
        and data in (None, r.case.data)
        and activation in (None, r.activation)
    ]


def _cell(results: Sequence[Result]) -> str:
    ours = " ".join(f"{median(r.r2[order] for r in results):.3f}" for order in ORDERS)
    agreement = f" {median(_agreements(results)):.3f}" if _agreements(results) else ""
    return f"{ours} ({median(r.best[3] for r in results):.3f}){agreement}"


def _agreements(results: Iterable[Result]) -> list[float]:
    return [r.agreement[3] for r in results if r.agreement]


def fidelity_lines(results: Sequence[Result]) -> list[Line]:
    lines = []
    for activation, wanted in (("tanh", 0.99), ("logistic", 0.99), ("relu", 0.95)):
        values = [r.r2[3] for r in _chosen(results, "[-1, 1]", None, activation)]
        lines.append(_line(f"median R², Q=3, [-1, 1], {activation}", wanted, values))
    for scaling in SCALERS:
        for data in ("digits", "cancer"):
            values = _agreements(_chosen(results, scaling, data))
            lines.append(_line(f"median agreement, Q=3, {scaling}, {data}", 0.99, values))
    gaps = [r.card[3] - r.r2[3] for r in results]
    found = f"median {median(gaps):+.3f}, {_count(g > 0.02 for g in gaps)} over by > 0.02"
    return [*lines, ("R² on the card less R² on new rows, Q=3", "(no line)", found, "")]


def _line(what: str, wanted: float, values: Sequence[float]) -> Line:
    found = median(values)
    return (
        what,
        f"≥ {wanted}",
        f"{found:.4f} (lowest {min(values):.4f}, {len(values)} networks)",
        _holds(found >= wanted),
    )


def _holds(condition: bool) -> str:
    return "yes" if condition else "NO"


def _count(conditions: Iterable[bool]) -> str:
    values = list(conditions)
    return f"{sum(values)} of {len(values)}"


def against_0_1_table(results: Sequence[Result]) -> Table:
    rows = []
    for data in DATA_SETS:
        found = [r.r2[3] for r in _chosen(results, None, data)]
        rows.append((data, R2_0_1[data], median(found), min(found), len(found)))
    return Table(
        "Median R² on new rows, Q = 3: version 0.1 (six seeds) and now",
        ("data", "version 0.1", "now", "lowest now", "networks now"),
        tuple(rows),
    )


def falls_table(results: Sequence[Result]) -> Table:
    rows = []
    for step in (step for step in steps(results) if step.is_fall):
        result = step.result
        case = (result.case.scaling, result.case.data, result.case.seed, result.activation)
        orders = f"{step.order} to {step.order + 1}"
        rows.append((*case, orders, result.r2[step.order], step.change, step.inside))
    return Table(
        f"Every step to the next order that lost more than {FALL} of R² on held-out rows",
        ("inputs", "data", "seed", "activation", "Q", "R² before", "change", "change inside"),
        tuple(rows),
        note="inside: only rows within the calibrated range of every input",
    )


def fall_lines(results: Sequence[Result]) -> list[Line]:
    groups = {
        "all networks": list(results),
        "standard digits": _chosen(results, "standard", "digits"),
        "without diabetes": [r for r in results if r.case.data != "diabetes"],
    }
    lines = []
    for name, group in groups.items():
        found = steps(group)
        falls = sum(s.is_fall for s in found)
        worst = f"{falls} of {len(found)} steps, largest {max(-found[0].change, 0.0):.4f}"
        lines.append((f"falls > {FALL}, Q to Q+1, {name}", "none", worst, _holds(falls == 0)))
    found = steps(results)
    inside = sum(step.inside < -FALL for step in found)
    worst = f"{inside} of {len(found)} steps, median change {median(s.change for s in found):+.4f}"
    lines.append(("the same on rows inside the range, all", "(no line)", worst, ""))
    return lines


# Rival ------------------------------------------------------------------------------------


def rival_lines(results: Sequence[Result]) -> list[Line]:
    lines = []
    for name in ("plain", "best"):
        orders = sorted(getattr(results[0], name))
        lines += [_rival_line(results, name, order, "all") for order in orders]
        lines += [_rival_line(_chosen(results, s), name, 3, s) for s in SCALERS]
    return lines


def _rival_line(results: Sequence[Result], name: str, order: int, group: str) -> Line:
    good = [r.r2[order] >= getattr(r, name)[order] - MARGIN for r in results]
    what = f"no worse than the {name} ridge, Q={order}, {group}"
    return (what, "≥ 90 %", _share(good), _holds(bool(np.mean(good) >= 0.9)))


def _share(conditions: Sequence[bool]) -> str:
    return f"{np.mean(conditions):.1%} ({_count(conditions)})"


def rival_table(results: Sequence[Result]) -> Table:
    rows = []
    for data in DATA_SETS:
        chosen = _chosen(results, None, data)
        X = _rows(data)
        outputs = raw_outputs(_network(data), X)
        times = medians(
            {
                "ours": partial(n2p.polynomial_network, _network(data), COST_ORDER, data=X),
                "ridge": partial(_ridge, X, outputs),
            },
            repeats=3,
        )
        quality = [median(values) for values in zip(*map(_qualities, chosen), strict=True)]
        memory = [peak_megabytes(task, data) for task in (calibrate_data, ridge_data)]
        terms = count_terms(X.shape[1], COST_ORDER)
        rows.append((data, len(X), terms, *quality, times["ours"], times["ridge"], *memory))
    return Table(
        f"Against a ridge polynomial of the network's outputs on the same rows, Q = {COST_ORDER}",
        RIVAL_COLUMNS,
        tuple(rows),
        note="plain: PolynomialFeatures + RidgeCV on the network's own inputs; best: the best,\n"
        "left one out, of it, standardised terms and polynomial kernels; R²: medians over all\n"
        "networks on the data; MB: growth of the peak memory, own process; one thread",
    )


def _qualities(result: Result) -> tuple[float, float, float]:
    return result.r2[COST_ORDER], result.plain[COST_ORDER], result.best[COST_ORDER]


def _rows(data: str) -> FloatArray:
    return split(Case("[-1, 1]", data, SEEDS[0])).train


def _network(data: str) -> n2p.Network:
    n_outputs = {"digits": 10, "wine": 3}.get(data, 1)
    return random_network(_rows(data).shape[1], n_outputs, "tanh")


def calibrate_data(data: str) -> None:
    with one_thread():
        n2p.polynomial_network(_network(data), COST_ORDER, data=_rows(data))


def ridge_data(data: str) -> None:
    with one_thread():
        _ridge(_rows(data), raw_outputs(_network(data), _rows(data)))


def _ridge(X: FloatArray, outputs: FloatArray) -> None:
    features = PolynomialFeatures(COST_ORDER, include_bias=False)
    make_pipeline(features, RidgeCV(np.logspace(-6, 6, 13))).fit(X, outputs)


# Cost -------------------------------------------------------------------------------------


def measure_costs() -> list[Cost]:
    costs = []
    for shape in SHAPES:
        network, X = random_network(*shape), _uniform(shape[0])
        times = medians(
            {
                "forward": partial(network.predict, X),
                "calibrate": partial(calibrate_only, network, X),
                "with card": partial(n2p.polynomial_network, network, COST_ORDER, data=X),
            },
            repeats=15,
        )
        costs.append(Cost(*shape, *(1e3 * times[k] for k in ("forward", "calibrate", "with card"))))
    return costs


def calibrate_only(network: n2p.Network, X: FloatArray) -> None:
    """Fit the expansions, without the fidelity card."""
    sample = read_sample(X, network, None)
    summary = summarise(sample)
    working = network.recentered(summary.center, summary.scale)
    calibrate(working, gather_rows(sample, MAX_FIT_ROWS), COST_ORDER, refit=True)


def cost_table(costs: Iterable[Cost]) -> Table:
    rows = []
    for c in costs:
        terms = count_terms(c.inputs, COST_ORDER)
        times = c.forward, c.calibrate, c.passes, c.with_card / c.forward
        rows.append((c.inputs, c.outputs, c.activation, terms, *times))
    return Table(
        f"Calibration, 3×100, {COST_ROWS:,} rows, Q = {COST_ORDER}, one thread",
        (
            "inputs",
            "outputs",
            "activation",
            "terms",
            "forward ms",
            "calibrate ms",
            "passes",
            "with card",
        ),
        tuple(rows),
        note="medians of 15 interleaved runs; passes = calibrate / forward on the same rows; "
        "with card: passes when the fidelity card is measured too",
    )


def cost_lines(costs: Iterable[Cost]) -> list[Line]:
    lines = []
    for c in costs:
        what = f"forward passes, {c.inputs} inputs, {c.activation}"
        lines.append((what, "< 15", f"{c.passes:.1f}", _holds(c.passes < 15)))
    return lines


def _uniform(p: int, n_rows: int = COST_ROWS) -> FloatArray:
    return np.random.default_rng(1).uniform(-1, 1, (n_rows, p))


def measure_wide(cases: Iterable[tuple[int, int, int]]) -> list[WideCost]:
    costs = []
    for p, neurons, n_rows in cases:
        network = random_network(p, 1, "relu", hidden=(neurons, neurons))
        X = _uniform(p, n_rows)
        tasks: dict[str, Callable[[], Any]] = {
            "forward": partial(network.outputs_by_layer, network.to_working(X)),
            "calibrate": partial(calibrate_only, network, X),
            "with card": partial(n2p.polynomial_network, network, COST_ORDER, data=X),
        }
        times = medians(tasks, repeats=3 if n_rows < 1000 else 1)
        costs.append(WideCost(p, neurons, n_rows, *times.values()))
    return costs


def wide_table(costs: Iterable[WideCost]) -> Table:
    rows = []
    for c in costs:
        shape = f"{c.inputs}-{c.neurons}-{c.neurons}-1"
        times = c.forward, c.calibrate, c.passes, c.with_card / c.forward
        rows.append((shape, c.rows, *times))
    return Table(
        f"Wide networks, ReLU, Q = {COST_ORDER}, one thread",
        ("network", "rows", "forward s", "calibrate s", "passes", "with card"),
        tuple(rows),
        note="passes = calibrate / forward on the same rows; with card: passes when what is left\n"
        "is fitted and the fidelity card is measured too",
    )


def wide_lines(costs: Sequence[WideCost]) -> list[Line]:
    lines = []
    for p in sorted({c.inputs for c in costs}):
        passes = [c.passes for c in costs if c.inputs == p]
        what = f"forward passes, {p} inputs, 1,024 and 2,048 neurons"
        found = f"at most {max(passes):.1f}"
        lines.append((what, f"< {MAX_PASSES}", found, _holds(max(passes) < MAX_PASSES)))
    return lines


def many_inputs_table() -> Table:
    p, n_outputs, activation = MANY_INPUTS
    network, X = random_network(p, n_outputs, activation), _uniform(p)
    pnet = n2p.polynomial_network(network, COST_ORDER, data=X)
    times = medians(
        {
            "forward": partial(network.predict, X),
            "calibrate": partial(n2p.polynomial_network, network, COST_ORDER, data=X),
            "predict": partial(pnet.predict, X),
        },
        repeats=3,
    )
    memory = {
        "forward": peak_megabytes(use_many_inputs, "forward"),
        "calibrate": peak_megabytes(use_many_inputs, "calibrate"),
        "predict": peak_megabytes(use_many_inputs, "predict"),
    }
    terms = count_terms(p, COST_ORDER)
    return Table(
        f"{p} inputs, 3×100 {activation}, {n_outputs} outputs; {COST_ROWS:,} rows, Q={COST_ORDER}",
        ("step", "seconds", "peak MB"),
        tuple((name, seconds, memory[name]) for name, seconds in times.items()),
        note=f"no term is written out; all {terms:,} would take "
        f"{8e-9 * terms * n_outputs:.1f} GB; MB include the rows,\n"
        "those of predict also the calibration",
    )


def use_many_inputs(step: str) -> None:
    p, n_outputs, activation = MANY_INPUTS
    network, X = random_network(p, n_outputs, activation), _uniform(p)
    with one_thread():
        if step == "forward":
            network.predict(X)
            return
        pnet = n2p.polynomial_network(network, COST_ORDER, data=X)
        if step == "predict":
            pnet.predict(X)


# Covertype --------------------------------------------------------------------------------


def covertype_table(seeds: Iterable[int]) -> tuple[Table | str, list[FloatArray]]:
    folder = find_covertype()
    if folder is None:
        return "Covertype skipped: files not found, set NN2POLY_COVERTYPE_DIR to their folder.", []
    covertype = read_covertype(folder)
    rows, ratios = [], []
    for seed in seeds:
        for order, calibrated, taylor in compare_covertype(covertype, seed=seed):
            ratio = squared_errors(calibrated) / squared_errors(taylor)
            ratios.append(ratio)
            errors = [float(squared_errors(card)[-1]) for card in (calibrated, taylor)]
            classes = " ".join(f"{value:.2f}" for value in ratio[:-1])
            agreements = (calibrated.agreement, taylor.agreement)
            rows.append((seed, order, *errors, float(ratio[-1]), classes, *agreements))
    n_fit, n_new = COVERTYPE_ROWS
    return Table(
        f"Covertype, the paper's network: {n_fit:,} rows to calibrate, {n_new:,} others to judge",
        ("draw", "Q", "MSE", "Taylor 8", "ratio", "ratio of class 1 … 7", "agreement", "Taylor's"),
        tuple(rows),
        note="MSE over all classes against the network; ratio = calibrated / Taylor",
    ), ratios


def covertype_lines(ratios: Sequence[FloatArray]) -> list[Line]:
    if not ratios:
        return [("Covertype MSE / Taylor's", "≤ 0.25", "skipped, no files", "")]
    good = [bool(np.all(ratio <= 0.25)) for ratio in ratios]
    worst = max(float(ratio.max()) for ratio in ratios)
    found = f"{_count(good)} draws and orders; worst class {worst:.3g}"
    return [("Covertype MSE / Taylor's, every class", "≤ 0.25", found, _holds(all(good)))]


def summary_table(lines: Iterable[Line]) -> Table:
    rows = tuple((*line, VERSION_0_1.get(line[0], "")) for line in lines)
    columns = ("line", "wanted", "found", "holds", "version 0.1")
    return Table("Against the acceptance lines", columns, rows)


if __name__ == "__main__":
    main()
