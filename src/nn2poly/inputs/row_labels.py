"""Values that go with rows one by one, and have labels of their own that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nn2poly.batches import is_shuffled
from nn2poly.errors import InvalidInputError


def check_row_labels(X: Any, **given: Any) -> None:
    """Refuse pandas objects whose index is not that of the rows.

    Of a frame and a Series pandas goes by the index, NumPy by the place; where both differ nobody
    can tell what was meant.

    Parameters
    ----------
    X
        The rows: a frame of pandas, a tuple or dictionary of tables, or anything else, which has
        no labels.
    **given
        By the name of the argument: what goes with the rows, or None.

    Raises
    ------
    InvalidInputError
        When an index has other labels than X, or the same in another order; or when X is a
        loader that gives its rows in another order each time.

    Examples
    --------
    >>> import pandas as pd
    >>> check_row_labels(pd.DataFrame({"a": [1, 2]}), y=pd.Series([1, 0], index=[1, 0]))
    Traceback (most recent call last):
    ...
    nn2poly.errors.InvalidInputError: y has the labels of the rows in another order.
    ...
    """
    named = [name for name, values in given.items() if values is not None]
    if named and is_shuffled(X):
        raise InvalidInputError(
            f"{named[0]} cannot go with a loader that shuffles its rows.",
            where=named[0],
            expected="the same order of rows on each walk",
            found=f"a {type(X).__name__} with shuffle=True",
            remedy="make the loader with shuffle=False, or pass the table itself",
        )
    index = _index(X)
    if index is None:
        return
    for name, values in given.items():
        other = _index(values)
        if other is None or len(other) != len(index) or other.equals(index):
            continue  # another length is refused where the values are read
        alike = set(other.tolist()) == set(index.tolist())
        raise InvalidInputError(
            f"{name} has the labels of the rows in another order."
            if alike
            else f"{name} has other labels than the rows.",
            where=name,
            expected=f"the index of the data: {_shown(index)}",
            found=_shown(other),
            remedy=f"pass {name}.loc[X.index] to go by label, {name}.to_numpy() to go by place",
        )


def _index(table: Any) -> Any:
    """Give the index of something of pandas; of several tables, of the first that has one."""
    if isinstance(table, Mapping | tuple):
        parts = table.values() if isinstance(table, Mapping) else table
        return next((found for part in parts if (found := _index(part)) is not None), None)
    kind = type(table)
    is_pandas = kind.__module__.partition(".")[0] == "pandas" and hasattr(kind, "iloc")
    return table.index if is_pandas else None


def _shown(index: Any) -> str:
    first = ", ".join(map(repr, index[:5].tolist()))
    return f"{first}, …" if len(index) > 5 else first
