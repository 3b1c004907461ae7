"""A sample whose parts lie elsewhere: the work goes to them, as tasks of Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import offering_skip
from nn2poly.network.oracle import Model
from nn2poly.rows.folds import (
    FEW_UNITS,
    LocalSample,
    Numbering,
    Rows,
    chunks,
    held_out_share,
    local_sample,
    numbering,
)
from nn2poly.sampling import row_keys
from nn2poly.streams import dask_parts

T = TypeVar("T")

# Results that one task merges: a tree of 16 is three levels deep at 4,000 parts (taste).
MERGED = 16


@dataclass(frozen=True)
class DaskSample:
    """The parts of a Dask collection; every pass is one map and a tree of merges.

    Whatever scheduler is in force does the work; a lost worker costs its tasks only.

    Parameters
    ----------
    parts, begins
        Delayed tables, and the number of the first row of each.
    network
        Tells how a table is checked.
    held_out
        The share of the rows that is kept for the card.
    numbers
        How rows are numbered.
    skip_missing
        Rows with holes that nothing fills in are left out.
    """

    parts: tuple[Any, ...]
    begins: tuple[int, ...]
    network: Model
    held_out: float
    numbers: Numbering
    skip_missing: bool = False

    def over(self, work: Callable[[Rows], T], merge: Callable[[T, T], T]) -> T:
        """Do the work on every part where it is, and merge the results in order."""
        import dask

        given = (self.network, self.held_out, self.numbers, self.skip_missing, work)
        plan = dask.delayed(given, traverse=False)
        on_part, merged = dask.delayed(_on_part), dask.delayed(_merged)
        tasks = [on_part(p, b, plan) for p, b in zip(self.parts, self.begins, strict=True)]
        while len(tasks) > 1:
            groups = [tasks[i : i + MERGED] for i in range(0, len(tasks), MERGED)]
            tasks = [merged(merge, group) for group in groups]
        result: T = tasks[0].compute()
        return result


def dask_sample(
    data: Any, network: Model, hold_out_from: int, *, skip_missing: bool = False
) -> DaskSample | LocalSample:
    """Count the rows of every part; parts without rows are left out, few rows come here."""
    import dask

    parts = dask_parts(data)
    sizes = dask.compute(*[dask.delayed(len)(part) for part in parts])
    filled = [(part, size) for part, size in zip(parts, sizes, strict=True) if size]
    if not filled:
        raise InvalidInputError("The data are empty.", where="data", found="no rows")
    begins = np.cumsum([0, *(size for _, size in filled)]).tolist()
    if begins[-1] < FEW_UNITS:
        tables = dask.compute(*(part for part, _ in filled))
        where = ((t, f"data, from row {b}") for t, b in zip(tables, begins, strict=False))
        X = np.concatenate([_read(network, table, place, skip_missing) for table, place in where])
        return local_sample(X, np.ones(len(X)), row_keys(X), hold_out_from=hold_out_from)
    first = _read(network, dask.compute(filled[0][0])[0], "data, from row 0", skip_missing)
    whole = tuple(part for part, _ in filled)
    numbers, share = numbering(first), held_out_share(begins[-1])
    return DaskSample(whole, tuple(begins[:-1]), network, share, numbers, skip_missing)


def _read(network: Model, table: Any, where: str, skip_missing: bool) -> FloatArray:
    """Read a table to features (n, p); rows with holes are refused, or left out."""
    with offering_skip():
        X = network.check_data(table, where=where, allow_nan=skip_missing)
    return X[~np.isnan(X).any(axis=1)] if skip_missing else X


def _on_part(
    part: Any, begin: int, plan: tuple[Model, float, Numbering, bool, Callable[[Rows], T]]
) -> T:
    network, held_out, numbers, skip_missing, work = plan
    X = _read(network, part, f"data, from row {begin}", skip_missing)

    def batches() -> Iterator[tuple[FloatArray, FloatArray]]:
        return chunks(X, np.ones(len(X)))

    return work(Rows(batches, held_out, begin, numbers))


def _merged(merge: Callable[[T, T], T], results: list[T]) -> T:
    total = results[0]
    for result in results[1:]:
        total = merge(total, result)
    return total
