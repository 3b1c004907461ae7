"""One renderer for everything that prints as a table."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, overload

import numpy as np

from nn2poly.errors import InvalidInputError, require

__all__ = ["Table", "format_cell", "numeric_columns"]

# Characters of a cell, so that a name does not fill the line (taste).
_LONGEST = 60
_GAP = "  "
# Letters, digits and signs that join no numbers, such as the = between a factor and its level.
_PLAIN_NAME = re.compile(r"[^\W\d][\w.=:#$%&@?']*")
# Of the largest number of a column: what rounding leaves of a zero, some units of the last place.
ROUNDING = 1e-15


@dataclass(frozen=True, repr=False)
class Table:
    """Rows under named columns, printed as aligned text or shown as HTML.

    Numbers are written with four significant digits, an R² below 1 rounded down and never as 1;
    the rows keep them as they are.

    Parameters
    ----------
    title
        One line above the table; may be empty.
    columns
        The m headings.
    rows
        Tuples of m cells.
    note
        One line below the table; may be empty.

    Examples
    --------
    >>> Table("Fidelity", ("output", "rows", "R²"), (("price", 1200, 0.99213),), "On new rows.")
    Fidelity
    output   rows      R²
    ------  -----  ------
    price   1,200  0.9921
    On new rows.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidInputError(
                    "A row of the table has the wrong number of cells.",
                    where=f"row {i} of {self.title!r}",
                    expected=f"{len(self.columns)} cells",
                    found=f"{len(row)} cells",
                    remedy="give one cell for each column",
                )

    def __str__(self) -> str:
        lines = [one_line(self.title), *_text_lines(self), printable(self.note)]
        return "\n".join(line for line in lines if line)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sides = ["right" if flag else "left" for flag in numeric_columns(self)]
        head = "".join(_html_cell("th", c, s) for c, s in zip(self.columns, sides, strict=True))
        body = "".join(_html_row(row, sides) for row in shown_rows(self))
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        foot = f'<tfoot><tr><td colspan="{len(sides)}">{html.escape(self.note)}</td></tr></tfoot>'
        return (
            f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"{foot if self.note else ''}</table>"
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> tuple[object, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> Table: ...
    def __getitem__(self, index: int | slice) -> tuple[object, ...] | Table:
        if isinstance(index, slice):
            return replace(self, rows=self.rows[index])
        return self.rows[index]

    def to_frame(self) -> Any:
        """Return the rows, not rounded, as a pandas DataFrame.

        Raises
        ------
        MissingDependencyError
            When pandas is not installed.

        Examples
        --------
        >>> Table("Terms", ("term", "value"), (("rm", 0.5),)).to_frame()
          term  value
        0   rm    0.5
        """
        pandas = require("pandas", what="Table.to_frame()")
        return pandas.DataFrame(list(self.rows), columns=list(self.columns))


def _text_lines(table: Table) -> list[str]:
    grid = [tuple(map(_format_text, table.columns))]
    grid += shown_rows(table)
    widths = [max(map(_width, column)) for column in zip(*grid, strict=True)]
    grid.insert(1, tuple("-" * width for width in widths))
    numeric = numeric_columns(table)
    lines = [_join(row, widths, numeric) for row in grid]
    return lines if table.rows else [*lines, "(no rows)"]


def _join(cells: tuple[str, ...], widths: list[int], numeric: list[bool]) -> str:
    padded = (
        " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return _GAP.join(padded).rstrip()


def shown_rows(table: Table) -> list[tuple[str, ...]]:
    """Give the text of every cell; columns of R² promise no more than there is.

    Examples
    --------
    >>> shown_rows(Table("", ("R2", "share"), ((0.99998, 0.99998), (0.98996, 0.5), (1.0, 1.0))))
    [('0.99998', '1.000'), ('0.9899', '0.5000'), ('1.000', '1.000')]
    """
    return [
        tuple(
            _format_r2(cell) if _is_r2(name) and isinstance(cell, float) else format_cell(cell)
            for cell, name in zip(row, table.columns, strict=True)
        )
        for row in settled_rows(table)
    ]


def settled_rows(table: Table) -> list[tuple[object, ...]]:
    """Give the rows as they are shown: what rounding leaves of a zero is zero, but for R².

    Examples
    --------
    >>> settled_rows(Table("", ("term", "value"), (("a", 2.0), ("b", -1.5e-17))))
    [('a', 2.0), ('b', 0.0)]
    """
    columns = [
        column if _is_r2(name) else _settled(column)
        for name, column in zip(table.columns, zip(*table.rows, strict=True), strict=False)
    ]
    return list(zip(*columns, strict=True))


def _is_r2(name: str) -> bool:
    return name.endswith(("R2", "R²"))


def _settled(column: tuple[object, ...]) -> tuple[object, ...]:
    sizes = [abs(cell) for cell in column if isinstance(cell, float) and math.isfinite(cell)]
    least = ROUNDING * max(sizes, default=0.0)
    return tuple(0.0 if isinstance(cell, float) and abs(cell) < least else cell for cell in column)


def numeric_columns(table: Table) -> list[bool]:
    """Say which columns hold numbers, or nothing, in every row."""
    if not table.rows:
        return [False] * len(table.columns)
    return [all(map(_is_number, column)) for column in zip(*table.rows, strict=True)]


def _is_number(cell: object) -> bool:
    return cell is None or (isinstance(cell, Real) and not isinstance(cell, bool))


def format_cell(cell: object) -> str:
    """Write one cell: numbers with four significant digits, nothing as n/a."""
    if cell is None:
        return "n/a"
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, Integral):
        return f"{int(cell):,}"
    if isinstance(cell, Real):
        return _format_float(float(cell))
    return _format_text(str(cell))


def _format_float(value: float) -> str:
    if not math.isfinite(value):
        return "n/a" if math.isnan(value) else f"{value}"
    if value == 0:
        return "0"
    scientific = f"{value:.3e}"
    # The exponent after rounding: 9.99996 is 10.00, not 10.000.
    exponent = int(scientific.split("e")[1])
    return f"{value:,.{max(0, 3 - exponent)}f}" if -5 < exponent < 6 else scientific


def _format_r2(value: float) -> str:
    """Write R² with four digits rounded down, with more of them near 1."""
    if not 0.1 <= value < 1.0:
        return _format_float(value)
    digits = next((d for d in (4, 5) if 1.0 - value >= 10.0**-d), 6)
    # The small term undoes the rounding of numbers such as 0.29 * 100.
    down = math.floor(value * 10**digits + 1e-9 * (digits < 6))
    return f"{down / 10**digits:.{digits}f}"


def printable(text: str) -> str:
    """Blank the characters that would steer a terminal or turn the text round; keep line breaks.

    Examples
    --------
    >>> printable("a" + chr(27) + "[31m")
    'a [31m'
    """
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def one_line(text: str) -> str:
    """Make text printable, line breaks too.

    Examples
    --------
    >>> one_line("a" + chr(10) + "b")
    'a b'
    """
    return printable(text).replace("\n", " ")


def quoted(name: str) -> str:
    """Put a name that could be read as an expression in quotes.

    Examples
    --------
    >>> [quoted(name) for name in ("bmi", "part=noon", "a^2", "a b", "1")]
    ['bmi', 'part=noon', '"a^2"', '"a b"', '"1"']
    """
    return name if _PLAIN_NAME.fullmatch(name) else in_quotes(name)


def in_quotes(name: str) -> str:
    """Put a name in quotes, those that it holds doubled."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def short_number(value: float, error: float) -> str:
    """Write a number with as few digits as keep it within an error; 0 for a millionth of it.

    Examples
    --------
    >>> short_number(6.5, 0.0), short_number(2.0132345678, 0.01), short_number(1350000000.5, 0.0)
    ('6.5', '2.01', '1350000000')
    """
    if not math.isfinite(value):
        return str(value)
    allowed = error if error > 0.0 else 1e-6 * abs(value)
    rounded = (float(f"{value:.{digits}g}") for digits in range(1, 18))
    found = next((number for number in rounded if abs(number - value) <= allowed), value)
    if found == 0.0 or 1e-4 <= abs(found) < 1e15:
        return np.format_float_positional(found + 0.0, trim="-")
    return f"{found:g}"


def _format_text(text: str) -> str:
    # A line break would break the row; an escape sequence would reach the terminal.
    clean = one_line(text)
    return clean if len(clean) <= _LONGEST else clean[: _LONGEST - 1] + "…"


def _width(text: str) -> int:
    """Return the terminal cells of the text: Asian wide characters fill two, accents none."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _html_row(row: tuple[str, ...], sides: list[str]) -> str:
    cells = (_html_cell("td", cell, s) for cell, s in zip(row, sides, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _html_cell(tag: str, text: str, side: str) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    return f'<{tag}{scope} style="text-align:{side}">{html.escape(_format_text(text))}</{tag}>'
