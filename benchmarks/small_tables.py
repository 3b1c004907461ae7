"""More regions on few rows: whether a formula of 2k regions falls behind that of k on new rows.

The networks of `networks.py` on California housing, bike sharing and adult census, converted on
150 to 800 rows of the table instead of thousands, and judged on new rows. The line to hold: no step
from k to 2k regions costs more than .002 of R².

    python benchmarks/small_tables.py
    python benchmarks/small_tables.py --data california --seed 0 1
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

import nn2poly as n2p
from networks import ACTIVATIONS, REPORTING_SEEDS, Trained, load
from nn2poly.assess.fidelity import mean_r2
from nn2poly.tables import Table

DATA, ROWS, ORDERS = ("california", "bike", "adult"), (150, 300, 500, 800), (1, 2)
REGIONS, FALL = (1, 2, 4, 8, 16, 32), 0.002


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


def measure(trained: Trained, case: str, rows: int, order: int, seed: int) -> Steps:
    """Convert on some rows with every number of regions."""
    chosen = np.random.default_rng(seed).choice(len(trained.fit), rows, replace=False)
    truth = trained.network.predict(trained.new).reshape(len(trained.new), -1)
    r2, regions = [], []
    for count in REGIONS:
        formula = n2p.convert(trained.network, order, data=trained.fit[chosen], regions=count)
        r2.append(mean_r2(truth, formula.raw_outputs(trained.new)))
        regions.append(len(formula.regions))
    return Steps(f"{case}, {rows} rows, order {order}", tuple(r2), tuple(regions))


def measured(data: Sequence[str], seeds: Sequence[int]) -> Iterator[Steps]:
    """Measure every network."""
    for name, activation, seed in product(data, ACTIVATIONS, seeds):
        trained = load(name, activation, seed)
        for rows, order in product(ROWS, ORDERS):
            yield measure(trained, f"{name}, {activation}, seed {seed}", rows, order, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--seed", nargs="+", type=int, default=REPORTING_SEEDS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = sorted(measured(asked.data, asked.seed), key=lambda steps: steps.worst)
    count = len(REGIONS) - 1
    falls = sum(b - a < -FALL for s in found for a, b in pairwise(s.r2))
    heads = ("worst first", "fall", *(f"R² at most {k}" for k in REGIONS), "regions")
    rows = tuple((s.case, s.worst, *s.r2, s.regions[-1]) for s in found[:12])
    note = f"{falls} of {count * len(found)} steps fall by more than {FALL}; {len(found)} formulas"
    print(Table("From k to 2k regions on few rows", heads, rows, note=note))


if __name__ == "__main__":
    main()
