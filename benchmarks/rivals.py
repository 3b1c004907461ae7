"""Ours against the rivals: who follows a network that nobody constrained best.

California housing, bike sharing, adult census, Covertype; ReLU, tanh and logistic networks of
128-128-64 neurons (`networks`), two seeds each; ways as in `surrogates`. Everything is judged on
new rows against the network's raw outputs. Each result is kept in the cache of `networks` under a
name that tells the network, the way, its options and its code, so that a run that was ended goes on
where it was. Every way has one thread and the same limits of time and memory. Libraries:
``pip install 'nn2poly[rivals]'``; what is missing is left out with a word.

Run ``python benchmarks/rivals.py --data california --activation relu --seed 0 1`` while tuning,
without options for the table of ``docs/performance.md`` (seeds 30 and 31), with ``--quick`` for
``make bench``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from networks import ACTIVATIONS, RECIPES, REPORTING_SEEDS, available, cache_folder, digest, load
from networks import key as network_key
from nn2poly.arrays import FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.files import write_whole
from nn2poly.tables import Table, format_cell
from surrogates import ORDERS, SAME_BOUNDS, TooManyTermsError, Way, list_ways, sources

# For one way on one network, by the clock. An EBM takes three to nine minutes of one thread on
# California housing; seven of them on Covertype do not fit in.
MAX_SECONDS, MAX_BYTES = 1_800, 12 * 2**30
TOO_LONG = f"> {MAX_SECONDS} s"
NAMES = {"relu": "ReLU", "tanh": "tanh", "logistic": "logistic"}
QUICK_DATA, QUICK_ACTIVATIONS, QUICK_SEEDS = ("california", "bike"), ("relu",), (30,)


@dataclass(frozen=True)
class Case:
    """One network."""

    data: str
    activation: str
    seed: int

    def __str__(self) -> str:
        return f"{self.data}, {self.activation}, seed {self.seed}"


@dataclass(frozen=True)
class Result:
    """What one way gives on one network; ``failed`` says why it gives nothing.

    ``mixed`` is the R² on new rows whose columns are shuffled one by one, ``labels`` the share
    of labels that agree.
    """

    r2: float | None = None
    mixed: float | None = None
    labels: float | None = None
    seconds: float | None = None
    terms: int | None = None
    failed: str = ""


Results = dict[tuple[Case, str], Result]


# Measuring, in a process of its own -----------------------------------------------------------


def measure(case: Case, way: Way) -> Result:
    """Fit one way to one network and judge it on new rows."""
    trained = _load(case)
    # Processor time of all threads: what else the machine does hardly changes it.
    begin = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            surrogate = way.fit(trained, _raw(trained.network, trained.fit), **way.options)
            seconds = time.process_time() - begin
            mixed = _mixed(trained.new_frame, case.seed)
            rows = {"r2": trained.new_frame, "mixed": mixed}
            truth, guess = {}, {}
            for name, frame in rows.items():
                features = trained.network.check_data(frame)
                truth[name] = _raw(trained.network, features)
                guess[name] = surrogate.predict(features, frame)
        except Exception as error:  # whatever a library raises is its result
            return Result(failed=f"{type(error).__name__}: {error}".split("\n")[0][:200])
    scores = {name: mean_r2(truth[name], guess[name]) for name in rows}
    labels = None
    if trained.classifier:
        label = trained.network.outputs.labels
        labels = float(np.mean(label(truth["r2"]) == label(guess["r2"])))
    return Result(scores["r2"], scores["mixed"], labels, seconds, surrogate.terms)


@lru_cache(maxsize=1)
def _load(case: Case) -> Any:
    return load(case.data, case.activation, case.seed)


def _raw(network: Any, features: FloatArray) -> FloatArray:
    raw: FloatArray = network.without_common().predict(features).reshape(len(features), -1)
    return raw


def _mixed(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.permutation(frame[name]) for name in frame})


class Worker:
    """A process that measures one thing after the other, and is replaced when it takes too long."""

    def __init__(self) -> None:
        self._pool = _new_pool()

    def measure(self, case: Case, way: Way) -> Result:
        """Give the result, or that there is none within the limit."""
        try:
            result: Result = self._pool.apply_async(measure, (case, way)).get(MAX_SECONDS)
        except multiprocessing.TimeoutError:
            self.close()
            self._pool = _new_pool()
            return Result(failed=TOO_LONG)
        return result

    def close(self) -> None:
        """End the process."""
        self._pool.terminate()


def _new_pool() -> Any:
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return multiprocessing.get_context("spawn").Pool(1, initializer=_limit_memory)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))


def measure_all(cases: Iterable[Case], ways: Sequence[Way]) -> Results:
    """Measure what the cache does not hold."""
    found: Results = {}
    worker = Worker()
    for case, way in product(cases, ways):
        path = _path(case, way)
        if not _is_known(path):
            load(case.data, case.activation, case.seed)  # a training has no limit of time
            result = worker.measure(case, way)
            write_whole(path, json.dumps(asdict(result)).encode())
        found[case, way.name] = Result(**json.loads(path.read_text()))
        print(f"{case}: {way.name}: {found[case, way.name]}", file=sys.stderr, flush=True)
    worker.close()
    return found


def _path(case: Case, way: Way) -> Path:
    slug = "".join(letter if letter.isalnum() else "_" for letter in way.name)
    keys = network_key(case.data, case.activation), way.key(), digest(sources(measure))
    parts = "result", case.data, case.activation, str(case.seed), slug, *keys
    return cache_folder() / f"{'-'.join(parts)}.json"


def _is_known(path: Path) -> bool:
    """Tell whether a result is here; one that ran into another limit of time is none."""
    if not path.exists():
        return False
    failed = Result(**json.loads(path.read_text())).failed
    return not failed.startswith(">") or failed == TOO_LONG


def installed(ways: Iterable[Way]) -> list[Way]:
    """Leave out, with a word, the ways whose library is not here."""
    kept = []
    for way in ways:
        try:
            way.key()
            kept.append(way)
        except PackageNotFoundError:
            print(f"{way.name} is left out: pip install 'nn2poly[rivals]'", file=sys.stderr)
    return kept


# Tables -------------------------------------------------------------------------------------


def data_table(data: str, cases: Sequence[Case], ways: Sequence[Way], found: Results) -> Table:
    """Put all ways on one data set under each other, a column for each network."""
    mine = [case for case in cases if case.data == data]
    names = [f"{NAMES[case.activation]}, {case.seed}" for case in mine]
    labels = [f"labels, {name}" for name in names] if RECIPES[data].classifier else []
    rows = []
    for way in ways:
        results = [found[case, way.name] for case in mine]
        if all(result.failed.startswith(TooManyTermsError.__name__) for result in results):
            continue
        cells = [_cell(result, "r2") for result in results]
        cells += [_cell(result, "labels") for result in results] if labels else []
        terms = max((r.terms for r in results if r.terms is not None), default="–")
        first = [_cell(results[0], "mixed"), _cell(results[0], "seconds")]
        rows.append((way.name, terms, *cells, *first))
    trained = [load(c.data, c.activation, c.seed) for c in mine]
    scores, word = [t.score for t in trained], "accuracy" if labels else "R²"
    size = f"{len(trained[0].fit):,} rows × {len(trained[0].fit_frame.columns)}"
    return Table(
        f"{data}, {size}, networks with {word} {min(scores):.3f} to {max(scores):.3f}",
        ("way", "terms", *names, *labels, f"mixed, {names[0]}", "s"),
        tuple(rows),
    )


def _cell(result: Result, field: str) -> float | str:
    value = getattr(result, field)
    if value is not None:
        return float(value)
    return result.failed.partition(":")[0].removesuffix("Error") or "–"


def lines_table(cases: Sequence[Case], found: Results) -> Table:
    """Compare with the acceptance lines: the worst network of each."""
    gaps: dict[tuple[str, float], list[tuple[float, str]]] = {}
    for case in cases:
        mine = {q: found.get((case, f"nn2poly, order {q}"), Result()) for q in ORDERS}
        mixed = {q: result.mixed for q, result in mine.items()}
        known = {q: result.r2 for q, result in mine.items() if result.r2 is not None}
        steps = [(known[b] - known[a], f"{case}, order {b}") for a, b in pairwise(known)]
        first = [(v - known[1], f"{case}, order {q}") for q, v in known.items() if 1 in known]
        rival = [(v - _ridge(found, case, q), f"{case}, order {q}") for q, v in known.items()]
        rival = [(gap, where) for gap, where in rival if np.isfinite(gap)]
        shuffled = [
            (float(mixed[q] or -np.inf), f"{case}, order {q}") for q, v in known.items() if v >= 0.9
        ]
        gaps.setdefault(("order Q + 1 against order Q", -0.002), []).extend(steps)
        gaps.setdefault(("order Q against order 1", -0.002), []).extend(first)
        gaps.setdefault(("order Q against ridge of order Q on the same inputs", -0.003), []).extend(
            rival
        )
        gaps.setdefault(("R² on mixed rows where R² ≥ .9", 0.5), []).extend(shuffled)
    rows = [
        (what, f"≥ {limit}", *min(values), f"{sum(v >= limit for v, _ in values)}/{len(values)}")
        for (what, limit), values in gaps.items()
        if values
    ]
    return Table("Against the lines", ("line", "wanted", "worst", "where", "hold"), tuple(rows))


def _ridge(found: Results, case: Case, order: int) -> float:
    """Give the ridge polynomial of one order on the same inputs; none was asked for: no line."""
    value = found.get((case, f"ridge, order {order}, {SAME_BOUNDS}"), Result()).r2
    return -np.inf if value is None else value


def markdown(table: Table) -> str:
    """Write a table as Markdown: scores to three digits, seconds to two."""
    rows = [
        [_written(cell, head) for cell, head in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    lines = [list(table.columns), ["---"] * len(table.columns), *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{table.title}**\n\n{text}\n\n{table.note}\n".rstrip() + "\n"


def _written(cell: Any, head: str) -> str:
    if isinstance(cell, float):
        if head == "s":
            return f"{cell:.2g}" if cell < 10 else f"{cell:,.0f}"
        return f"{cell:.3f}".replace("-", "−")
    return format_cell(cell)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", choices=list(RECIPES))
    parser.add_argument("--activation", nargs="+", choices=ACTIVATIONS)
    parser.add_argument("--seed", nargs="+", type=int)
    parser.add_argument("--only", nargs="+", default=[""], help="words in the names of ways")
    parser.add_argument("--quick", action="store_true", help="two networks, no slow rivals")
    parser.add_argument("--markdown", action="store_true", help="for docs/performance.md")
    chosen = parser.parse_args()
    data = chosen.data or (QUICK_DATA if chosen.quick else list(RECIPES))
    for name in set(data) - set(available()):
        print(f"{name} skipped: no file, set NN2POLY_COVERTYPE_DIR to its folder", file=sys.stderr)
    data = [name for name in data if name in available()]
    activations = chosen.activation or (QUICK_ACTIVATIONS if chosen.quick else ACTIVATIONS)
    seeds = chosen.seed or (QUICK_SEEDS if chosen.quick else REPORTING_SEEDS)
    cases = [Case(*parts) for parts in product(data, activations, seeds)]
    ways = [w for w in list_ways(chosen.quick) if any(word in w.name for word in chosen.only)]
    ways = installed(ways)
    found = measure_all(cases, ways)
    tables = [data_table(name, cases, ways, found) for name in data]
    for table in (*tables, lines_table(cases, found)):
        print(markdown(table) if chosen.markdown else f"{table}\n")


if __name__ == "__main__":
    main()
