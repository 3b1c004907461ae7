"""Other names for inputs: a factor follows its levels, and marks of holes their columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from nn2poly.arguments import check_names
from nn2poly.inputs.column import Column
from nn2poly.inputs.holes import missing_name

if TYPE_CHECKING:
    from nn2poly.inputs.columns import Inputs


def renamed(inputs: Inputs, feature_names: Iterable[str]) -> Inputs:
    """Give the same inputs with other names of the features.

    A factor stays one while its features are called ``column=level``. Names of the table's
    features alone will do: those that mark holes follow. So do names of the columns: the
    levels of a factor follow.

    Examples
    --------
    >>> from nn2poly.inputs import Inputs
    >>> inputs = Inputs((Column("age"), Column.factor("sex", ["m", "f"])))
    >>> renamed(inputs, ["years", "gender"]).feature_names
    ('years', 'gender=m', 'gender=f')
    """
    feature_names = _with_levels(inputs, feature_names)
    if len(inputs.table_features) < inputs.n_features:
        feature_names = _with_marks(inputs, feature_names)
    names = check_names(feature_names, inputs.n_features, kind="feature", default_prefix="x")
    columns = []
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        mine = tuple(names[place] for place in places)
        if column.kind == "factor":
            columns.append(_renamed_factor(column, mine))
        else:
            columns.append(replace(column, name=mine[0], features=mine))
    pairs = zip(inputs.columns, columns, strict=True)
    called = {old.name: new.name for old, new in pairs if not old.marks}
    columns = [replace(c, marks=called.get(c.marks, c.marks)) for c in columns]
    imputers = (
        replace(one, columns=tuple(called.get(name, name) for name in one.columns))
        for one in inputs.imputers
    )
    return replace(inputs, columns=tuple(columns), named=True, imputers=tuple(imputers))


def _with_levels(inputs: Inputs, names: Iterable[str]) -> Iterable[str]:
    """Add the levels of factors, where the names of all columns are given."""
    columns = [column for column in inputs.columns if not column.marks]
    given = names if isinstance(names, str) else list(names)
    if len(given) != len(columns) or len(columns) >= len(inputs.table_features):
        return given
    found: dict[int, str] = {}
    places = {column.name: p for column, p in zip(inputs.columns, inputs.places, strict=True)}
    for column, name in zip(columns, given, strict=True):
        ends = [f"={level}" for level in column.levels] or [""]
        found |= {p: name + end for p, end in zip(places[column.name], ends, strict=True)}
    return [found[place] for place in sorted(found)]


def _with_marks(inputs: Inputs, names: Iterable[str]) -> Iterable[str]:
    """Add the names of the features that mark holes, where those of all others are given."""
    if not isinstance(names, list | tuple) or len(names) != len(inputs.table_features):
        return names
    called = dict(zip(inputs.table_features, names, strict=True))
    for column in (column for column in inputs.columns if column.kind == "factor"):
        mine = tuple(called[name] for name in column.features)
        called[column.name] = _renamed_factor(column, mine).name
    marked = {column.name: column.marks for column in inputs.columns if column.marks}
    return tuple(
        called[name] if name in called else missing_name(called.get(marked[name], marked[name]))
        for name in inputs.feature_names
    )


def _renamed_factor(column: Column, names: tuple[str, ...]) -> Column:
    """Rename the features of a factor; the factor's own name follows where it can."""
    if names == column.features:
        return column
    ends = [f"={level}" for level in column.levels]
    pairs = list(zip(names, ends, strict=True))
    starts = {name.removesuffix(end) for name, end in pairs if name.endswith(end)}
    if len(starts) == 1 and all(name.endswith(end) for name, end in pairs):
        return replace(column, name=starts.pop(), features=names)
    split = [name.partition("=") for name in names]
    heads = {head for head, equals, _ in split if equals}
    if len(heads) == 1 and all(equals for _, equals, _ in split):
        levels = tuple(level for *_, level in split)
        return replace(column, name=heads.pop(), levels=levels, features=names)
    return replace(column, features=names)
