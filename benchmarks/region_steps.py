"""Whether a formula of 2k regions falls behind that of k on new rows, on few rows and on all.

The networks of `networks.py`, converted on 150 to 800 rows of the table, or on all that a
conversion may see, and judged on new rows. The line to hold: no step from k to 2k regions costs
more than .002 of R².

    python benchmarks/region_steps.py
    python benchmarks/region_steps.py --data california bike --rows all --regions 1 2 4 8 16 32 64
    python benchmarks/region_steps.py --data california --seed 0 1
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

import nn2poly as n2p
from networks import ACTIVATIONS, REPORTING_SEEDS, Trained, load
from nn2poly.assess.fidelity import mean_r2
from nn2poly.tables import Table

DATA, ROWS, ORDERS = ("california", "bike", "adult"), ("150", "300", "500", "800"), (1, 2)
REGIONS, FALL = (1, 2, 4, 8, 16, 32), 0.002
# Formulas that the table lists.
SHOWN = 12


@dataclass(frozen=True)
class Steps:
    """R² on new rows with each number of regions, and how many there were."""

    case: str
    r2: tuple[float, ...]
    regions: tuple[int, ...]

    @property
    def worst(self) -> float:
        """The largest fall, or smallest rise, from one number to the next."""
        return min(after - before for before, after in pairwise(self.r2))


def measure(
    trained: Trained, case: str, rows: str, order: int, regions: Sequence[int], seed: int
) -> Steps:
    """Convert on some rows with every number of regions."""
    X = trained.fit
    if rows != "all":
        X = X[np.random.default_rng(seed).choice(len(X), int(rows), replace=False)]
    truth = trained.network.without_common().predict(trained.new).reshape(len(trained.new), -1)
    formulas = [n2p.convert(trained.network, order, data=X, regions=count) for count in regions]
    r2 = tuple(mean_r2(truth, formula.raw_outputs(trained.new)) for formula in formulas)
    counts = tuple(len(formula.regions) for formula in formulas)
    return Steps(f"{case}, {rows} rows, order {order}", r2, counts)


def measured(asked: argparse.Namespace) -> Iterator[Steps]:
    """Measure every network."""
    for name, activation, seed in product(asked.data, ACTIVATIONS, asked.seed):
        trained = load(name, activation, seed)
        for rows, order in product(asked.rows, asked.order):
            case = f"{name}, {activation}, seed {seed}"
            found = measure(trained, case, rows, order, asked.regions, seed)
            print(found, file=sys.stderr, flush=True)
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=(*DATA, "covertype"), default=DATA)
    parser.add_argument("--seed", nargs="+", type=int, default=REPORTING_SEEDS)
    parser.add_argument("--rows", nargs="+", default=ROWS, help='numbers, or "all"')
    parser.add_argument("--order", nargs="+", type=int, default=ORDERS)
    parser.add_argument("--regions", nargs="+", type=int, default=REGIONS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = sorted(measured(asked), key=lambda steps: steps.worst)
    falls = sum(b - a < -FALL for s in found for a, b in pairwise(s.r2))
    count = (len(asked.regions) - 1) * len(found)
    heads = ("worst first", "fall", *(f"R² at most {k}" for k in asked.regions), "regions")
    rows = tuple((s.case, s.worst, *s.r2, s.regions[-1]) for s in found[:SHOWN])
    note = f"{falls} of {count} steps fall by more than {FALL}"
    print(Table("From k to 2k regions", heads, rows, note=note))


if __name__ == "__main__":
    main()
