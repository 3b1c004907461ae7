"""A large table in regions: Covertype, 435,000 rows × 54 columns × 7 outputs, order 2, 16 regions.

The network of `networks.py` (128-128-64 neurons, ReLU, no constraint). Three quarters of all rows
are converted in a process of its own, on as many threads as the machine gives, then the rest
judges. Lines to hold: 120 s and 4 GB on two cores. With ``--dask`` the same rows once more as parts
of a Dask array on two workers, one of which is killed on the way: the regions must be the same.

    OMP_NUM_THREADS=2 python benchmarks/large_table.py --dask
    python benchmarks/large_table.py --rows 40000
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nn2poly as n2p
from harness import status_kilobytes
from networks import REPORTING_SEEDS, load
from nn2poly.arrays import FloatArray
from nn2poly.tables import Table
from nn2poly_paper.covertype_data import read_forest
from studies import find_covertype

SHARE, ORDER, REGIONS = 0.75, 2, 16
MAX_SECONDS, MAX_GIGABYTES = 120.0, 4.0
# Rows of a part of the Dask array, and seconds after which a worker is killed.
PART, KILLED_AFTER = 20_000, 5.0


Formula = n2p.Polynomial | n2p.PiecewisePolynomial


@dataclass(frozen=True)
class Measured:
    """What a conversion gave and took.

    Parameters
    ----------
    seconds, processor
        By the clock, and of all processors.
    gigabytes
        Peak memory of the whole process, the table included.
    """

    formula: Formula
    seconds: float
    processor: float
    gigabytes: float


def read_rows(rows: int | None, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Give rows to convert on, and others."""
    folder = find_covertype()
    assert folder is not None, "Covertype needs its file; set NN2POLY_COVERTYPE_DIR"
    X = read_forest(str(folder / "covtype.csv.gz")).X
    order = np.random.default_rng(seed).permutation(len(X))
    count = int(SHARE * len(X)) if rows is None else rows
    return X[order[:count]], X[order[count:]]


def convert_rows(network: n2p.Network, X: FloatArray) -> Measured:
    """Convert, with the clock and the peak of memory."""
    Path("/proc/self/clear_refs").write_text("5")
    clocks = time.perf_counter, time.process_time
    begin = [clock() for clock in clocks]
    formula = n2p.convert(network, ORDER, data=X, regions=REGIONS)
    seconds, processor = (clock() - at for clock, at in zip(clocks, begin, strict=True))
    return Measured(formula, seconds, processor, status_kilobytes("VmHWM") / 2**20)


def convert_alone(network: n2p.Network, X: FloatArray) -> Measured:
    """Do it in a process that has nothing else in memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(convert_rows, (network, X))


def convert_with_a_kill(network: n2p.Network, X: FloatArray) -> Formula:
    """Convert parts of the rows on two workers, one of which is killed on the way."""
    import dask.array
    import distributed

    made: Any = distributed
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with made.LocalCluster(processes=True, **options) as cluster, made.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(KILLED_AFTER, os.kill, (victim, signal.SIGKILL))
        timer.start()
        parts = dask.array.from_array(X, chunks=(PART, X.shape[1]))
        formula = n2p.convert(network, ORDER, data=parts, regions=REGIONS)
        timer.join()
        assert victim not in client.run(os.getpid).values(), "the worker was not killed"
    return formula


def same_regions(one: Formula, other: Formula) -> bool:
    """Tell whether rules are the same, and coefficients to six digits."""
    return one.tree == other.tree and all(
        np.allclose(a.polynomial.coefficients, b.polynomial.coefficients, rtol=1e-6, atol=1e-6)
        for a, b in zip(one.regions, other.regions, strict=True)
    )


def tabulate(found: Measured, network: n2p.Network, X: FloatArray, new: FloatArray) -> Table:
    """Tell what it took, and how close it is on the other rows."""
    formula = found.formula
    card = n2p.fidelity(network, formula, new)
    holds = found.seconds <= MAX_SECONDS and found.gigabytes <= MAX_GIGABYTES
    size = len(formula.regions), formula.n_terms
    cost = found.seconds, found.processor, found.gigabytes
    return Table(
        f"Covertype, {len(X):,} rows × {X.shape[1]} × {network.n_outputs}, order {ORDER}",
        (
            "regions",
            "terms",
            "seconds",
            "of processors",
            "peak GB",
            "R2, other rows",
            "labels alike",
        ),
        ((*size, *cost, card.r2, card.agreement),),
        note=f"at most {MAX_SECONDS:.0f} s and {MAX_GIGABYTES:.0f} GB: "
        + ("holds" if holds else "does not hold"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows to convert on; three quarters by default")
    parser.add_argument("--seed", type=int, default=REPORTING_SEEDS[0], help="of the network")
    parser.add_argument("--dask", action="store_true", help="once more, with a worker killed")
    asked = parser.parse_args()
    network = load("covertype", "relu", asked.seed).network
    X, new = read_rows(asked.rows)
    found = convert_alone(network, X)
    print(tabulate(found, network, X, new), flush=True)
    if asked.dask:
        begin = time.perf_counter()
        same = same_regions(convert_with_a_kill(network, X), found.formula)
        seconds = time.perf_counter() - begin
        print(
            f"\nOver Dask, one of two workers killed: {'the same' if same else 'OTHER'} regions, "
            f"{seconds:.0f} s."
        )


if __name__ == "__main__":
    main()
