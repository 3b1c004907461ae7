"""The columns of the user's table that an export takes, and what each feature is of them.

A number is a column; a factor is one column of text where the table holds it as text, and one of
numbers where it is cut; what marks holes is no column of its own. Languages spell the questions
that are left: a number, its filled value, whether it lies in an interval, whether a text is a
level, whether a cell is a hole.
"""

from __future__ import annotations

from dataclasses import dataclass

from nn2poly.inputs import Column, Hole, Inputs
from nn2poly.inputs.cuts import Interval, intervals


@dataclass(frozen=True)
class TableColumn:
    """One column of the table: its name, and whether it holds text."""

    name: str
    is_text: bool = False


@dataclass(frozen=True)
class Source:
    """Where a feature comes from.

    Parameters
    ----------
    column
        Position among the columns of the table.
    hole
        What a hole of the column is and becomes; None where nothing fills it.
    texts
        For a factor that the table holds as text: the texts that the feature is 1 for.
    others
        The texts of the other levels of that factor; None where it does not matter which they are.
    is_rest
        The feature is 1 for all texts but the others.
    marks
        The feature is 1 where the column has a hole.
    interval
        Of a number that is cut: the feature is 1 for the numbers from the first on, below the
        second.
    """

    column: int
    hole: Hole | None = None
    texts: tuple[str, ...] | None = None
    others: tuple[str, ...] | None = None
    is_rest: bool = False
    marks: bool = False
    interval: Interval | None = None

    @property
    def is_number(self) -> bool:
        """Say that the feature is the number of the column, its holes filled in."""
        return self.texts is None and not self.marks and self.interval is None

    @property
    def is_plain(self) -> bool:
        """Say that the feature is the column as it is."""
        return self.hole is None and self.is_number

    @property
    def fills_level(self) -> bool:
        """Say that a hole shows this very level."""
        if self.hole is None or self.texts is None:
            return False
        if self.is_rest:
            return self.hole.fill not in (self.others or ())
        return self.hole.fill in self.texts


@dataclass(frozen=True)
class RawTable:
    """The columns of a table, and the source of every feature."""

    columns: tuple[TableColumn, ...]
    sources: tuple[Source, ...]

    @property
    def is_plain(self) -> bool:
        """Say that every feature is a column as it is."""
        return all(source.is_plain for source in self.sources)

    def text_place(self, column: int) -> int:
        """Give the position of a column among those of its kind, text or number."""
        kind = self.columns[column].is_text
        return sum(one.is_text == kind for one in self.columns[:column])


def raw_table(inputs: Inputs) -> RawTable:
    """Find the columns of the table that inputs read.

    Examples
    --------
    >>> from dataclasses import replace
    >>> job = replace(Column.factor("job", ["clerk", "farmer"]), is_text=True)
    >>> found = raw_table(Inputs((Column("age"), job, Column.marking("age", Hole()))))
    >>> [column.name for column in found.columns]
    ['age', 'job']
    >>> [(source.column, source.texts, source.marks) for source in found.sources]
    [(0, None, False), (1, ('clerk',), False), (1, ('farmer',), False), (0, None, True)]
    """
    columns: list[TableColumn] = []
    sources: dict[int, Source] = {}
    pairs = list(zip(inputs.columns, inputs.places, strict=True))
    for column, places in [pair for pair in pairs if not pair[0].marks]:
        names = [column.name] if column.in_one_column else list(column.features)
        begin = len(columns)
        columns += [TableColumn(name, column.is_text) for name in names]
        sources.update(zip(places, _sources(column, begin), strict=True))
    for column, (place,) in [pair for pair in pairs if pair[0].marks]:
        position = next((k for k, one in enumerate(columns) if one.name == column.marks), None)
        if position is None:  # nothing but its holes is used
            position = len(columns)
            columns.append(TableColumn(column.marks))
        sources[place] = Source(position, column.hole, marks=True)
    return RawTable(tuple(columns), tuple(sources[j] for j in range(len(sources))))


def _sources(column: Column, begin: int) -> list[Source]:
    if column.cuts:
        return [Source(begin, column.hole, interval=ends) for ends in intervals(column.cuts)]
    if not column.is_text:
        return [Source(begin + k, column.hole) for k in range(column.width)]
    sources = []
    for k, texts in enumerate(column.values):
        groups = (*column.values[:k], *column.values[k + 1 :])
        others = tuple(text for group in groups for text in group)
        needed = column.rest in (None, k)
        sources.append(
            Source(begin, column.hole, texts, others if needed else None, k == column.rest)
        )
    return sources
