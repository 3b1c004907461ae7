"""Choose the columns that a network takes from a table, and check that they hold numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nn2poly.arguments import listed, plural
from nn2poly.cli.command import note
from nn2poly.cli.tablefiles import closest, named
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Inputs, matching_names

if TYPE_CHECKING:
    import pandas as pd


def choose_inputs(
    frame: pd.DataFrame,
    source: str,
    inputs: Inputs,
    *others: Inputs,
    skip_missing: bool = False,
) -> pd.DataFrame:
    """Choose the columns of a network's inputs, and check that they hold numbers.

    Parameters
    ----------
    frame
        The table, target and dropped columns taken out.
    source
        Where it comes from, for messages.
    inputs, *others
        What the columns are, those of the best names first.
    skip_missing
        Leave out rows with missing values in place of refusing them. Those of a column that
        fills them in stay.

    Returns
    -------
    DataFrame with the needed columns alone; its index is that of ``frame``.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"dose": [0.5], "age": [31]})
    >>> list(choose_inputs(frame, "people.csv", Inputs.of(["age", "dose"])))
    ['age', 'dose']
    """
    known = [one.table_features if one.named else None for one in (inputs, *others)]
    names = matching_names(frame, *known)
    if names is None:
        if len(frame.columns) != len(inputs.table_features):
            raise _wrong_width(frame, source, len(inputs.table_features))
        needed = list(frame.columns)
    else:
        needed = _needed(frame, source, names)
        if extra := [name for name in frame.columns if name not in set(needed)]:
            note(f"{_columns(extra)} of {named(source)} left out: no input of the network.")
    chosen = frame[needed]
    plain = [name for name in needed if names is None or name in set(names)]
    _check_numbers(chosen, plain, source)
    if names is None and inputs.has_holes:  # by position, the columns themselves fill them in
        return chosen
    filled = {name for one in (inputs, *others) for name in _filled(one)}
    return _without_missing(chosen, source, skip_missing, filled)


def _filled(inputs: Inputs) -> list[str]:
    """List the columns whose missing values are filled in, or are no level."""
    own = [c.name for c in inputs.columns if c.rest is not None or (c.hole and not c.marks)]
    return [*own, *(name for imputer in inputs.imputers for name in imputer.columns)]


def _needed(frame: pd.DataFrame, source: str, names: Sequence[str]) -> list[str]:
    """Find the column of every input; ``colour=red`` is a level of ``colour``."""
    columns = set(frame.columns)
    found = {name: _column_of(name, columns) for name in names}
    if missing := [name for name, column in found.items() if column is None]:
        spare = [name for name in frame.columns if name not in set(names)]
        near = ((name, closest(name, spare)) for name in missing)
        hints = [f"{label!r} to {name!r}" for name, label in near if label]
        what = f"The data lack {plural(len(missing), 'column')} of the network."
        raise InvalidInputError(
            what,
            where=named(source),
            expected=f"columns {listed(names)}",
            found=f"no {listed(missing)}; there is {listed(list(frame.columns))}",
            remedy=f"rename {listed(hints, str)}" if hints else "add or rename the columns",
        )
    return list(dict.fromkeys(column for column in found.values() if column is not None))


def _column_of(name: str, columns: set[str]) -> str | None:
    end = len(name)
    while end >= 0 and name[:end] not in columns:
        end = name.rfind("=", 0, end)
    return name[:end] if end >= 0 else None


def _wrong_width(frame: pd.DataFrame, source: str, n_features: int) -> InvalidInputError:
    found = plural(len(frame.columns), "column")
    many = len(frame.columns) > n_features
    return InvalidInputError(
        "The data have another number of columns than the network has inputs.",
        where=named(source),
        expected=f"{plural(n_features, 'column')}, in the order of the network's inputs "
        "(the model does not name them)",
        found=f"{found}: {listed(list(frame.columns))}",
        remedy="leave out what is no input: --target COL, --drop COL"
        if many
        else "give one column for each input of the network",
    )


def _check_numbers(frame: pd.DataFrame, plain: list[str], source: str) -> None:
    bad = [name for name in plain if not _is_numeric(frame[name])]
    if not bad:
        return
    shown = [_strange_value(frame[name], name) for name in bad]
    commas = all(frame[name].astype(str).str.fullmatch(r"-?\d+,\d+").any() for name in bad)
    raise InvalidInputError(
        f"{plural(len(bad), 'column')} of the data cannot be used as numbers.",
        where=named(source),
        expected="numbers in every column that the network takes",
        found=listed(shown, str),
        remedy="numbers are written with commas: add --decimal ,"
        if commas
        else "correct these values, encode text as in training, or --drop a column that is no "
        "input",
    )


def _is_numeric(column: pd.Series) -> bool:
    return str(getattr(column.dtype, "kind", "O")) in "biuf"


def _strange_value(column: pd.Series, name: str) -> str:
    """Show the first value that is no number."""
    import pandas

    numbers = pandas.to_numeric(column, errors="coerce") if column.dtype.kind != "M" else None
    strange = np.flatnonzero(column.notna() & (True if numbers is None else numbers.isna()))
    if not len(strange):
        return f"{name!r} ({column.dtype})"
    return f"{name!r} (row {strange[0] + 1}: {str(column.iloc[strange[0]])[:40]!r})"


def _without_missing(
    frame: pd.DataFrame, source: str, skip: bool, filled: set[str]
) -> pd.DataFrame:
    missing = frame.isna() | frame.isin([np.inf, -np.inf])
    missing[[name for name in frame.columns if name in filled]] = False
    rows = np.flatnonzero(missing.any(axis=1))
    if not len(rows):
        return frame
    columns = [name for name in frame.columns if missing[name].any()]
    if skip and len(rows) < len(frame):
        note(f"{plural(len(rows), 'row')} of {named(source)} left out for missing values.")
        return frame[~missing.any(axis=1)]
    raise InvalidInputError(
        "The data hold missing or infinite values.",
        where=named(source),
        expected="a number in every row",
        found=f"{len(rows):,} of {plural(len(frame), 'row')} (the first is row {rows[0] + 1}), "
        f"in {listed(columns)}",
        remedy="fill them in as in training, or leave those rows out: --skip-missing",
    )


def _columns(names: list[str]) -> str:
    return f"{'Column' if len(names) == 1 else 'Columns'} {listed(names)}"
