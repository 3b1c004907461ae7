"""`partitions`: time and memory of multiset partitions, and of an engine without them (Fig. 2).

The paper's route needs the partitions of every term of the polynomial, or of one term of each
class M0 of equivalent ones (Section IV-C). The engine of this package needs neither; what it
takes is measured on the whole conversion of a network.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.partitions import Partition, multiset_partitions
from nn2poly.fit.convert import convert
from nn2poly.network.network import Layer, Network
from nn2poly.plots.layout import panels
from nn2poly.plots.style import styled
from nn2poly_paper.experiment import Claim, Experiment, Findings
from nn2poly_paper.figures import figure_of, lines_by_order
from nn2poly_paper.store import Tables
from nn2poly_paper.work import Unit, Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The authors' stored log, in seconds, at p = 6 and Q = 10.
STORED = {"all terms": 112.0, "classes M0": 2.4}
SOURCES = ("all terms", "classes M0", "our engine")
# The engine is quick: the best of a few runs is its time.
ENGINE_RUNS = 3


@dataclass(frozen=True)
class Settings:
    """Inputs and orders, and the tanh network that the engine converts."""

    inputs: tuple[int, ...] = (4, 5, 6)
    orders: tuple[int, ...] = (4, 6, 8, 10)
    hidden: tuple[int, ...] = (100, 100, 100)
    seed: int = 1


QUICK = Settings(inputs=(3, 4), orders=(4, 6), hidden=(20, 20))


def run(settings: Settings, work: Work) -> Findings:
    """Count, time and weigh the partitions for every pair of p and Q, and convert a network."""
    units = [
        Unit(
            f"p{p}_Q{order}",
            {"p": p, "order": order, "hidden": settings.hidden, "seed": settings.seed},
        )
        # The longest first, so that no process is left alone with it at the end.
        for order in reversed(settings.orders)
        for p in reversed(settings.inputs)
    ]
    results = work.each("partitions", measure, units)[::-1]
    counts = [result["counts"] for result in results]
    timings = [row for result in results for row in result["timings"]]
    return Findings({"partitions": counts, "partitions_timings": timings})


def measure(*, p: int, order: int, hidden: Sequence[int], seed: int) -> dict[str, Any]:
    """Enumerate the partitions of all terms and of the classes, then convert a network.

    Examples
    --------
    >>> measure(p=2, order=2, hidden=[3], seed=1)["counts"]["partitions_all"]
    8
    """
    groups = [group for degree in range(1, order + 1) for group in classes(degree, p)]
    classes_seconds = _seconds(groups)
    every = [group for group in groups for _ in range(class_size(group, p))]
    all_seconds = _seconds(every)
    sizes = {group: _weigh(group) for group in groups}
    in_all = [class_size(group, p) for group in groups]
    engine_seconds, engine_bytes = _convert(p, order, hidden, seed)
    counts = {
        "p": p,
        "Q": order,
        "terms": count_terms(p, order),
        "classes": len(groups),
        "partitions_all": sum(n * sizes[g][0] for g, n in zip(groups, in_all, strict=True)),
        "partitions_classes": sum(sizes[g][0] for g in groups),
        "bytes_all": sum(n * sizes[g][1] for g, n in zip(groups, in_all, strict=True)),
        "bytes_classes": sum(sizes[g][1] for g in groups),
    }
    measured = (
        ("all terms", all_seconds, counts["bytes_all"]),
        ("classes M0", classes_seconds, counts["bytes_classes"]),
        ("our engine", engine_seconds, engine_bytes),
    )
    timings = [
        {"p": p, "Q": order, "what": what, "seconds": seconds, "bytes": n_bytes}
        for what, seconds, n_bytes in measured
    ]
    return {"counts": counts, "timings": timings}


def classes(degree: int, most: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield the classes M0 of a degree in at most ``most`` variables: falling multiplicities.

    Examples
    --------
    >>> list(classes(4, 2))
    [(4,), (3, 1), (2, 2)]
    """
    if degree == 0:
        yield ()
    elif most:
        for first in range(min(degree, largest or degree), 0, -1):
            for rest in classes(degree - first, most - 1, first):
                yield (first, *rest)


def class_size(multiplicities: Sequence[int], p: int) -> int:
    """Count the monomials in p variables that are equivalent to a class.

    Examples
    --------
    Three squares times another variable in two variables each way:

    >>> class_size((2, 1), 3)
    6
    """
    times = Counter([*multiplicities, *[0] * (p - len(multiplicities))])
    return factorial(p) // prod(map(factorial, times.values()))


def _seconds(groups: Sequence[tuple[int, ...]]) -> float:
    # Of the processor: others on the machine do not slow it.
    begin = time.process_time()
    for group in groups:
        for _ in multiset_partitions(group):
            pass
    return time.process_time() - begin


def _weigh(group: tuple[int, ...]) -> tuple[int, int]:
    """Give the number of partitions of a class, and the bytes of the tuples that hold them."""
    sizes = [_bytes(partition) for partition in multiset_partitions(group)]
    return len(sizes), sum(sizes)


def _bytes(partition: Partition) -> int:
    return sys.getsizeof(partition) + sum(sys.getsizeof(part) for part in partition)


def _convert(p: int, order: int, hidden: Sequence[int], seed: int) -> tuple[float, int]:
    """Give the seconds and the peak memory of a whole conversion."""
    network = _network(p, hidden, seed)
    seconds = []
    for _ in range(ENGINE_RUNS):
        begin = time.process_time()
        convert(network, order)
        seconds.append(time.process_time() - begin)
    tracemalloc.start()
    try:
        convert(network, order)
        return min(seconds), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _network(p: int, hidden: Sequence[int], seed: int) -> Network:
    """Draw a random network that meets the paper's constraint."""
    rng = np.random.default_rng([seed, 3])
    layers, width = [], p
    for neurons in hidden:
        both = rng.normal(size=(width + 1, neurons))
        both /= np.abs(both).sum(axis=0)
        layers.append(Layer(both[1:], both[0], "tanh"))
        width = neurons
    return Network([*layers, Layer(rng.normal(size=(width, 1)))])


def claims(tables: Tables) -> list[Claim]:
    """Check that classes need fewer partitions, the more so the larger p and Q are."""
    rows = tables["partitions"]
    ratios = {(r["p"], r["Q"]): r["partitions_all"] / r["partitions_classes"] for r in rows}
    grows = all(
        ratios[p, q] > ratio
        for (p, q_before), ratio in ratios.items()
        for q in sorted({q for _, q in ratios if q > q_before})[:1]
    )
    last = max(ratios)
    lightest = min(rows, key=lambda row: (row["p"], row["Q"]))
    return [
        Claim(
            "Classes of equivalent terms need fewer partitions than all terms, at every p and Q.",
            all(ratio > 1 for ratio in ratios.values()),
            f"{min(ratios.values()):.3g} to {max(ratios.values()):.3g} times fewer",
        ),
        Claim(
            "The gain grows with the order.",
            grows,
            f"{ratios[last]:.3g} times at p = {last[0]}, Q = {last[1]}",
        ),
        Claim(
            "Partitions outgrow the terms that they are for.",
            all(row["partitions_all"] > row["terms"] for row in rows),
            f"{lightest['partitions_all']:,} for {lightest['terms']:,} terms at the smallest p, Q",
        ),
    ]


@styled
def draw(findings: Findings) -> dict[str, Figure]:
    """Draw seconds and bytes against p, a column for each way, a line for each order."""
    rows = findings.tables["partitions_timings"]
    axes = panels(None, 6, columns=3, height=2.2)
    for place, quantity in enumerate(("seconds", "bytes")):
        values = [row[quantity] for row in rows]
        for column, what in enumerate(SOURCES):
            panel = axes[3 * place + column]
            lines_by_order(panel, [row for row in rows if row["what"] == what], quantity, 3)
            panel.set_xticks(sorted({row["p"] for row in rows}))
            panel.set_ylim(min(values) / 2, max(values) * 2)
            if not place:
                panel.set_title(what if what != "our engine" else f"{what}, whole conversion")
            else:
                panel.set_xlabel("inputs p")
            if not column:
                panel.set_ylabel(quantity)
    axes[2].legend(title="order Q", loc="upper right", ncols=2)
    return {"fig02_partitions": figure_of(axes)}


EXPERIMENT = Experiment("partitions", Settings(), QUICK, run, draw, claims)
