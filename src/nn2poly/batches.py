"""Batches of rows: PyTorch's loaders and datasets, and what one batch holds.

A batch is a table; or a table and whatever else a loader gives (targets as a rule), which is left
alone; or a dictionary. Weights are never guessed: they are a key of a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from nn2poly.errors import InvalidInputError

# Keys of a dictionary that hold the table, and the weights of its rows.
TABLE_KEYS = ("X", "x", "inputs", "input", "features", "data")
WEIGHT_KEYS = ("sample_weight", "sample_weights", "weights")
# Rows of a dataset that are put together at a time (taste).
BATCH_ROWS = 1024


def torch_batches(X: object) -> Callable[[], Iterator[Any]] | None:
    """Give a function that walks a PyTorch ``DataLoader`` or ``Dataset``; None for anything else.

    Examples
    --------
    >>> torch_batches([[1.0]]) is None
    True
    """
    kinds = {c.__name__ for c in type(X).__mro__ if c.__module__.partition(".")[0] == "torch"}
    data: Any = X
    if "DataLoader" in kinds:
        return lambda: iter(data)
    if "Dataset" not in kinds:
        return None
    return lambda: _dataset_batches(data)


@dataclass(frozen=True)
class Batches:
    """A function that walks batches made of those of something else, such as a loader.

    Parameters
    ----------
    walk
        Gives a new iterator.
    source
        What they are made of.
    """

    walk: Callable[[], Iterator[Any]]
    source: Any

    def __call__(self) -> Iterator[Any]:
        """Walk the batches."""
        return self.walk()


def is_shuffled(X: object) -> bool:
    """Say whether a loader gives its rows in another order on each walk."""
    source = _source(X)
    if torch_batches(source) is None:
        return False
    own = getattr(source, "batch_sampler", None)
    samplers = (getattr(source, "sampler", None), own, getattr(own, "sampler", None))
    return any("Random" in type(sampler).__name__ for sampler in samplers)


def draws_rows(X: object) -> bool:
    """Say whether a loader that shuffles also gives other rows on each walk.

    It draws them with replacement, or leaves a last batch out.
    """
    loader = _source(X)
    if not is_shuffled(loader):
        return False
    cut = getattr(loader, "drop_last", False) and len(loader.sampler) % (loader.batch_size or 1)
    return bool(cut or getattr(loader.sampler, "replacement", False))


def _source(X: Any) -> Any:
    return X.source if isinstance(X, Batches) else X


def split_batch(part: Any, where: str) -> tuple[Any, Any]:
    """Give the table of a batch, and the weights of its rows if it names any.

    Parameters
    ----------
    part
        A table; a tuple or list of a table and others; a dictionary with a table.

    Examples
    --------
    >>> table, weights = split_batch((np.zeros((2, 3)), np.ones(2)), "data")
    >>> table.shape, weights is None
    ((2, 3), True)
    >>> split_batch({"X": np.zeros((2, 3)), "sample_weight": np.ones(2)}, "data")[1]
    array([1., 1.])
    """
    if isinstance(part, Mapping):
        return _of_mapping(part, where)
    holds_tables = isinstance(part, tuple | list) and part and hasattr(part[0], "ndim")
    if isinstance(part, tuple) or holds_tables:
        if not len(part):
            raise InvalidInputError("A batch is empty.", where=where, expected="a table")
        return part[0], None
    return part, None


def gathered(X: Any, where: str) -> Any:
    """Give a loader or a dataset as one table; anything else as it is."""
    walk = torch_batches(X)
    if walk is None:
        return X
    parts = [split_batch(part, where)[0] for part in walk()]
    if not parts:
        raise InvalidInputError("The data are empty.", where=where, expected="at least 1 row")
    return import_module("torch").cat([_tensor(part) for part in parts])


def _of_mapping(part: Mapping[Any, Any], where: str) -> tuple[Any, Any]:
    weights = next((part[key] for key in WEIGHT_KEYS if key in part), None)
    found = [key for key in TABLE_KEYS if key in part]
    if not found:
        found = [k for k, v in part.items() if getattr(v, "ndim", 0) == 2 and k not in WEIGHT_KEYS]
    if len(found) == 1:
        return part[found[0]], weights
    raise InvalidInputError(
        "The batch does not say which of its entries is the table of inputs.",
        where=where,
        expected=f"one of the keys {', '.join(TABLE_KEYS)}, or a single entry of two dimensions",
        found=f"keys {', '.join(map(str, part))}",
        remedy="give batches of the inputs alone: data=lambda: (batch['…'] for batch in loader)",
    )


def _dataset_batches(dataset: Any) -> Iterator[Any]:
    """Put the rows of a dataset together, in order."""
    tensors = getattr(dataset, "tensors", None)
    if isinstance(tensors, tuple) and tensors:
        yield from tensors[0].split(65_536)
        return
    sized = hasattr(type(dataset), "__getitem__") and hasattr(type(dataset), "__len__")
    rows = (dataset[i] for i in range(len(dataset))) if sized else iter(dataset)
    while items := list(islice(rows, BATCH_ROWS)):
        tables, weights = zip(*(_row(item) for item in items), strict=True)
        table = import_module("torch").stack([_tensor(row).reshape(-1) for row in tables])
        named = any(w is not None for w in weights)
        yield {"X": table, "sample_weight": np.array(weights, float)} if named else table


def _row(item: Any) -> tuple[Any, Any]:
    """Give the inputs of one item of a dataset, and its weight."""
    if isinstance(item, Mapping):
        found = [key for key in TABLE_KEYS if key in item]
        weight = next((float(item[key]) for key in WEIGHT_KEYS if key in item), None)
        if len(found) == 1:
            return item[found[0]], weight
        return _of_mapping(item, "data")
    return (item[0] if isinstance(item, tuple | list) else item), None


def _tensor(values: Any) -> Any:
    return values if hasattr(type(values), "detach") else import_module("torch").as_tensor(values)
