"""The scoreboard: what `nn2poly.convert` gives on fifteen tables, and what a change of it moves.

Models as people train them (`scoreboard_models`: ReLU, tanh and logistic networks, gradient
boosting as a function, the published network of Covertype), five seeds, 40 to 50,000 rows; orders,
budgets, regions, curves, automatic choices. Each table meets every kind of model (Covertype only
its own) and every setting (but `TOO_LONG`), not every combination. Constants are chosen on seeds 0
and 1 and reported on the others.

    python benchmarks/scoreboard.py --compare   # all: half an hour; what moved since frozen
    python benchmarks/scoreboard.py --compare --quick   # a part of each table: four minutes
    python benchmarks/scoreboard.py --freeze    # all, written to benchmarks/scoreboard.json

It measures the nn2poly that is imported: ``PYTHONPATH=<a copy>/src:<a copy>/paper`` measures that
copy. Measurements are kept in ``build/scoreboard`` too, so an interrupted run goes on where it was;
they are made anew when the package has changed. One process, one thread.

A measurement has ``r2`` against the model's raw outputs on new rows (the mean over outputs; of
several logits without what all have in common), ``mixed`` on the same rows with shuffled columns,
``labels`` that agree, ``seconds`` of processor time, rows ``asked`` of a function, ``size``
(coefficients other than 0, cuts of regions, points of curves), ``terms`` and ``regions``; or
``failed``, the first line of an error. "ridge" is what a user would write instead: standardise,
order 2, ridge regression on these rows (as many as `RIDGE_CELLS` allows). Times are compared in
units of the ridges of the same run. "model" has the model's own score on the target.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import threadpool_limits

import nn2poly as n2p
from scoreboard_models import (
    CACHE,
    ROOT,
    SEEDS,
    TABLES,
    Array,
    Case,
    MissingError,
    Record,
    Subject,
    cases,
    prepare,
    two_dimensional,
)

FROZEN = ROOT / "benchmarks" / "scoreboard.json"
CHOSEN_ON, QUICK_SEEDS = (0, 1), (0, 2)
# Numbers of the ridge's design: 200 MB.
RIDGE_CELLS = 25_000_000
# A fall of R² or of labels from which a measurement is listed.
FALL = 0.01
# Scores of one model on two machines differ by less.
SAME = 0.001

Results = dict[str, Record]

SETTINGS: dict[str, Record] = {
    "q2": {"max_order": 2},
    "t100": {"max_terms": 100},
    "r8": {"max_order": 2, "regions": 8},
    "default": {},
    "q1": {"max_order": 1},
    "q3": {"max_order": 3},
    "t30": {"max_terms": 30},
    "t300": {"max_terms": 300},
    "r16": {"max_order": 2, "regions": 16},
    "curve": {"max_order": 2, "transforms": "curve"},
    "asked": {"max_order": 2},  # a network given as a function
    "auto": {"max_order": "auto"},
    "auto regions": {"max_order": "auto", "regions": "auto"},
}
# Settings of every case; the others take turns.
ALWAYS = ("q2", "t100", "r8", "default")
# Left out to save time: many orders and regions of 54 and 71 features.
TOO_LONG = {(table, s) for table in ("adult", "covertype") for s in ("auto", "auto regions")}


# ---- measuring -------------------------------------------------------------------------------


def r2(truth: Array, guess: Array) -> float:
    """R², the mean over the outputs that vary, without what several logits have in common."""
    if truth.shape[1] > 1:
        truth, guess = (v - v.mean(axis=1, keepdims=True) for v in (truth, guess))
    spread, lost = truth.var(axis=0), np.mean((truth - guess) ** 2, axis=0)
    varies = spread > 1e-20 * np.max(np.abs(truth)) ** 2
    return float(np.mean(1 - lost[varies] / spread[varies]))


def scores(subject: Subject, formula: Any, *, asking: bool) -> Record:
    """Compare a formula with the model on new rows, and on shuffled ones."""
    rows = {"r2": subject.new, "mixed": subject.mixed}
    return {
        name: r2(subject.raw(new, asking=asking), two_dimensional(formula.predict(new)))
        for name, new in rows.items()
    }


def size(formula: Any) -> int:
    """Count the numbers of a formula: coefficients other than 0, cuts, points of curves."""
    coefficients = sum(np.count_nonzero(r.polynomial.coefficients) for r in formula.regions)
    functions = (c.function for column in formula.inputs.columns for c in column.coordinates)
    points = sum(2 * len(function.points) for function in functions)
    return int(coefficients + points + len(formula.regions) - 1)


def measure(subject: Subject, setting: str) -> Record:
    """Convert one model in one way, and judge the formula on new rows."""
    asking, options = subject.network is None or setting == "asked", dict(SETTINGS[setting])
    if asking and subject.source.classifier:
        classes = subject.model.classes_.tolist()
        options |= {"classes": classes, "link": "sigmoid" if len(classes) == 2 else "softmax"}
    subject.asked, begin = 0, time.process_time()
    try:
        model = subject.answer if asking else subject.readable
        formula: Any = n2p.convert(model, data=subject.fit, **options)
        record: Record = {"seconds": time.process_time() - begin}
        record |= {"asked": subject.asked} if asking else {}
        record |= scores(subject, formula, asking=asking)
        if subject.source.classifier:
            agree = formula.predict_label(subject.new) == subject.model.predict(subject.new)
            record["labels"] = float(np.mean(agree))
        counts = {"size": size(formula), "terms": formula.n_terms, "regions": len(formula.regions)}
    except Exception as error:  # whatever is raised is the result
        return {"failed": f"{type(error).__name__}: {error}".split("\n")[0][:150]}
    return record | counts


def ridge(subject: Subject) -> Record:
    """Fit what a user would write in the place of a conversion."""
    begin, asking = time.process_time(), subject.network is None
    encode = prepare(subject.fit, robust=subject.source.robust)
    width = encode.fit_transform(subject.fit).shape[1]
    rows = subject.fit.head(2 * RIDGE_CELLS // ((width + 1) * (width + 2)))
    model = make_pipeline(encode, PolynomialFeatures(2, include_bias=False), Ridge())
    model.fit(rows, subject.raw(rows, asking=asking))
    record = {"seconds": time.process_time() - begin, "size": int(model[-1].coef_.size)}
    return record | scores(subject, model, asking=asking)


# ---- the run ---------------------------------------------------------------------------------


def plan(*, quick: bool = False) -> list[tuple[Case, str]]:
    """List what is measured: `ALWAYS` for every case, two thirds of the other settings in turn."""
    found = []
    for number, case in enumerate(cases()):
        for place, setting in enumerate(SETTINGS):
            turn = (number + place) % 3
            chosen = setting in ALWAYS or turn < 2
            if quick:
                chosen = case.seed in QUICK_SEEDS and turn == 0
            if chosen and (case.table, setting) not in TOO_LONG:
                found.append((case, setting))
    return found


def package_digest() -> str:
    """Shorten the source of the nn2poly that is measured to eight letters."""
    digest = hashlib.sha256()
    for path in sorted(Path(n2p.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def read_results(path: Path) -> Results:
    """Read what `write_results` wrote; nothing if it is not there."""
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write_results(path: Path, results: Results) -> None:
    """Write one line per measurement."""
    lines = [f"{json.dumps(key)}: {json.dumps(record)}" for key, record in results.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".part")
    whole.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    whole.replace(path)


def rounded(record: Record) -> Record:
    """Round to five digits."""
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in record.items()}


def run(path: Path, todo: Iterable[tuple[Case, str]]) -> Results:
    """Measure what is not measured yet, and write every measurement at once."""
    results, about = read_results(path), {"package": package_digest(), "numpy": np.__version__}
    if results.get("about") != about:
        results = {"about": about}
    # What the first conversion imports is no cost of a table.
    n2p.convert(lambda X: X[:, 0], 1, data=np.random.default_rng(0).normal(size=(60, 2)))
    subject, missing = None, set()
    for case, setting in todo:
        if f"{case} {setting}" in results or case.table in missing:
            continue
        try:
            subject = subject if subject and subject.case == case else Subject(case)
        except MissingError as error:
            missing.add(case.table)
            print(f"{case.table} is left out: {error}", file=sys.stderr)
            continue
        if f"{case} ridge" not in results:
            results[f"{case} model"] = rounded({"score": subject.score})
            results[f"{case} ridge"] = rounded(ridge(subject))
        record = results[f"{case} {setting}"] = rounded(measure(subject, setting))
        write_results(path, results)
        print(f"{case} {setting}:", json.dumps(record), file=sys.stderr, flush=True)
    return results


# ---- what moved ------------------------------------------------------------------------------


class Pair(NamedTuple):
    """One measurement then and now."""

    name: str
    setting: str
    then: Record
    now: Record

    def change(self, what: str) -> float | None:
        """Give a change of R² or labels; below 0 every R² is as bad as 0."""
        if what not in self.then or what not in self.now:
            return None
        return float(max(self.now[what], 0.0) - max(self.then[what], 0.0))

    def ratio(self, what: str) -> float | None:
        """Give what was as 1 became."""
        if not self.then.get(what) or what not in self.now:
            return None
        return float(self.now[what] / self.then[what])


def pairs(then: Results, now: Results, seeds: Iterable[int]) -> list[Pair]:
    """Match the measurements of some seeds, the ridges among them."""
    found = []
    for key in now:
        if key in then and key != "about" and not key.endswith(" model"):
            table, kind, seed, n, setting = key.split(" ", 4)
            if int(seed) in seeds:
                found.append(Pair(f"{table} {kind} {seed} {n}", setting, then[key], now[key]))
    return found


def middle(values: Iterable[float | None], form: str = "+.4f") -> str:
    """Write a median; a dash if there is none."""
    known = [value for value in values if value is not None]
    return format(median(known), form) if known else "–"


def print_settings(found: list[Pair], speed: float) -> None:
    """Print medians by setting: what they are now, and what moved."""
    titles = ("n", "R²", "change", "mixed", "change", "labels", "change", "s", "time", "asked")
    print(f"{'setting':12}" + "".join(f"{title:>9}" for title in (*titles, "size")))
    measured = [p for p in found if p.setting != "ridge"]
    for setting in [*SETTINGS, "ridge", "all"]:
        some = [p for p in found if p.setting == setting] if setting != "all" else measured
        cells = [str(len(some))]
        for what in ("r2", "mixed", "labels"):
            cells.append(middle((p.now.get(what) for p in some), ".4f"))
            cells.append(middle(p.change(what) for p in some))
        cells.append(middle((p.now.get("seconds") for p in some), ".2f"))
        for what in ("seconds", "asked", "size"):
            by = speed if what == "seconds" else 1.0
            cells.append(middle((r / by for p in some if (r := p.ratio(what))), ".2f"))
        print(f"{setting:12}" + "".join(f"{cell:>9}" for cell in cells))


def print_moved(found: list[Pair]) -> None:
    """List what became worse, and count what became better, by more than `FALL`."""
    for what, words in (("r2", "R²"), ("mixed", "R² on shuffled rows"), ("labels", "labels")):
        changes = [(p.change(what), p) for p in found if p.setting != "ridge"]
        moved = [(change, p) for change, p in changes if change is not None]
        worse = sorted([pair for pair in moved if pair[0] < -FALL], key=lambda pair: pair[0])
        better = sum(change > FALL for change, _ in moved)
        print(f"\n{words}: {better} of {len(moved)} better by more than {FALL}, {len(worse)} worse")
        for _, p in worse:
            print(f"  {p.name} {p.setting}: {p.then[what]:.3f} → {p.now[what]:.3f}")
    for p in found:
        if p.now.get("failed") != p.then.get("failed"):
            print(f"  {p.name} {p.setting}: {p.now.get('failed', 'no longer fails')}")


def same_score(then: Record, now: Record) -> bool:
    """Tell whether a model scores as it did, but for rounding."""
    return then == now or abs(float(then["score"]) - float(now["score"])) < SAME


def compare(then: Results, now: Results) -> None:
    """Print what moved, apart for the seeds that constants are chosen on and for the others."""
    ridges = [p.ratio("seconds") for p in pairs(then, now, SEEDS) if p.setting == "ridge"]
    speed = median([ratio for ratio in ridges if ratio] or [1.0])
    models = [key for key in now if key.endswith(" model") and key in then]
    if other := [key for key in models if not same_score(then[key], now[key])]:
        print(f"Not the models of then, for other versions of libraries: {', '.join(other)}")
    print(f"Times are divided by those of the ridges: {speed:.2f} of then.")
    others = [seed for seed in SEEDS if seed not in CHOSEN_ON]
    for title, seeds in (("chosen on", CHOSEN_ON), ("reported on", others)):
        found = pairs(then, now, seeds)
        print(f"\n== Seeds {title}: {len(found)} measurements, medians ==\n")
        print_settings(found, speed)
        print_moved(found)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a part of every table and setting")
    parser.add_argument("--freeze", action="store_true", help=f"write {FROZEN.name}")
    parser.add_argument("--compare", action="store_true", help="print what moved since then")
    parser.add_argument("--name", default="now", help="of the file in build/scoreboard")
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--setting", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    given = parser.parse_args()
    quick = plan(quick=True)
    todo = quick if given.quick else sorted(plan(), key=lambda pair: pair not in quick)
    todo = [(c, s) for c, s in todo if c.table in given.table and s in given.setting]
    if given.freeze and len(todo) < len(plan()):
        parser.error("--freeze takes all measurements: leave --quick, --table and --setting out")
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        results = run(CACHE / f"{given.name}.json", todo)
    wanted = {f"{case} {s}" for case, setting in todo for s in (setting, "ridge", "model")}
    wanted.add("about")
    now = {key: record for key, record in results.items() if key in wanted}
    compare(read_results(FROZEN) if given.compare else now, now)
    if given.freeze:
        write_results(FROZEN, now)


if __name__ == "__main__":
    main()
