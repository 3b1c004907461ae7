"""Several tables of the same rows, side by side: what a model with several inputs takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.errors import InvalidInputError, require
from nn2poly.inputs.matrices import frame_columns

# Keys of a batch that are no inputs.
TARGETS = (
    *("y", "label", "labels", "target", "targets"),
    *("sample_weight", "sample_weights", "weights"),
)


@dataclass(frozen=True)
class Parts:
    """How the columns of one table are cut into the inputs of a model.

    Parameters
    ----------
    names
        Of the inputs.
    widths
        Columns of each.
    flat
        Whether an input is one column without a dimension of its own, (n,) and not (n, 1).
    whole
        Whether an input holds whole numbers.
    keyed
        The names are keys of a dictionary.
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]
    flat: tuple[bool, ...]
    whole: tuple[bool, ...]
    keyed: bool = False

    @classmethod
    def of_widths(cls, names: Sequence[str], widths: Sequence[int]) -> Parts:
        """Make parts of which only the widths are known."""
        no = (False,) * len(widths)
        return cls(tuple(names), tuple(widths), no, no)

    @property
    def n_columns(self) -> int:
        """Columns of all inputs."""
        return sum(self.widths)

    def slices(self) -> list[slice]:
        """Give the columns of each input."""
        stops = np.cumsum(self.widths).tolist()
        pairs = zip(stops, self.widths, strict=True)
        return [slice(stop - width, stop) for stop, width in pairs]


def join_tables(tables: Mapping[str, Any], *, keyed: bool = False) -> tuple[Any, Parts]:
    """Put tables side by side, by name: a frame, and how it was put together.

    A column of an array is called after its table, with a number if there are several; a column
    of a frame keeps its label.

    Examples
    --------
    >>> frame, parts = join_tables({"size": np.ones((2, 2)), "kind": np.array([0, 1])})
    >>> frame.columns.tolist(), parts.widths, parts.whole
    (['size_0', 'size_1', 'kind'], (2, 1), (False, True))
    """
    pandas = require("pandas", what="Several tables of inputs")
    found = {name: _columns(name, table) for name, table in tables.items()}
    columns: dict[str, Any] = {}
    for name, part in found.items():
        for label, values in part.items():
            columns[label if label not in columns else f"{name}_{label}"] = values
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        raise InvalidInputError(
            "The tables of inputs do not have the same rows.",
            where="data",
            expected="as many rows in each",
            found=", ".join(f"{name}: {_n_rows(part)}" for name, part in found.items()),
        )
    flat = tuple(frame_columns(t) is None and getattr(t, "ndim", 2) == 1 for t in tables.values())
    whole = tuple(all(v.dtype.kind in "iu" for v in part.values()) for part in found.values())
    widths = tuple(len(part) for part in found.values())
    return pandas.DataFrame(columns), Parts(tuple(found), widths, flat, whole, keyed)


def given_tables(X: Any) -> Mapping[str, Any] | None:
    """Give the tables of a tuple or of a dictionary, by name; None of anything else.

    Examples
    --------
    >>> list(given_tables((np.ones((3, 2)), np.ones(3))))
    ['0', '1']
    """
    if isinstance(X, Mapping):
        parts = {str(k): v for k, v in X.items() if k not in TARGETS}
    elif type(X) is tuple and len(X) > 1:
        parts = {str(k): v for k, v in enumerate(X)}
    else:
        return None
    return parts if parts and all(map(_is_table, parts.values())) else None


def one_table(X: Any) -> Any:
    """Put a tuple or a dictionary of tables side by side; give anything else back.

    A tuple of arrays is one array, and goes by position.
    """
    tables = given_tables(X)
    if tables is None:
        return X
    frame, _ = join_tables(tables)
    named = isinstance(X, Mapping) or any(frame_columns(t) is not None for t in tables.values())
    return frame if named else frame.to_numpy()


def _is_table(part: Any) -> bool:
    return frame_columns(part) is not None or getattr(part, "ndim", 0) in (1, 2)


def _columns(name: str, table: Any) -> dict[str, Any]:
    """Give the columns of a table, arrays (n,), by name."""
    labels = frame_columns(table)
    if labels is not None:
        series = (
            table.iloc[:, j] if hasattr(table, "iloc") else table[:, j] for j in range(len(labels))
        )
        return {label: np.asarray(s.to_numpy()) for label, s in zip(labels, series, strict=True)}
    array = np.asarray(table.detach().cpu() if hasattr(type(table), "detach") else table)
    columns = array[:, None] if array.ndim == 1 else array
    if columns.shape[1] == 1:
        return {name: columns[:, 0]}
    return {f"{name}_{i}": columns[:, i] for i in range(columns.shape[1])}


def _n_rows(part: Mapping[str, Any]) -> int:
    return len(next(iter(part.values())))
