"""Excel: one formula per output, over one row of cells."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from nn2poly.arguments import listed
from nn2poly.errors import InvalidInputError
from nn2poly.export.branches import End, Written, condition, outputs_of
from nn2poly.export.horner import check_writable
from nn2poly.export.writing import Notation, inlined, spelled, write
from nn2poly.formula.piecewise import Explicit

# Excel's own limits for a formula.
MAX_CHARACTERS = 8192
MAX_NESTING = 64
MAX_COLUMNS = 16_384
MAX_ROWS = 1_048_576
# A2 or $A$2; behind Sheet1! or 'My sheet'!: nothing that could hold an operator.
CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9][0-9]{0,6})")
SHEET = re.compile(r"[^\W\d][\w.]*|'(?:[^'\[\]*?:/\\]|'')+'")


def _number(value: float) -> str:
    return repr(value).removesuffix(".0").replace("e", "E")


def _cases(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    """Choose by IF; MIN and MAX would pass over an empty cell, and join a range.

    Examples
    --------
    >>> _cases([("A2<1", "1"), ("A2>3", "3")], "A2")
    'IF(A2<1,1,IF(A2>3,3,A2))'
    """
    text = otherwise
    for test, value in reversed(cases):
        text = f"IF({test},{value},{text})"
    return text


COMPACT = Notation(_number, str, gap="", language="excel", cases=_cases)


def excel(
    poly: Explicit, *, cells: Sequence[str] | Mapping[str, str] | None = None
) -> dict[str, str]:
    """Write each output as an Excel formula.

    The formula is in the notation of files and of English Excel (decimal point); it uses no
    defined names, and no function but IF for regions, bounds and tables, and what columns go
    through, so that LibreOffice and others read it too. Excel itself keeps 15 digits of a number
    in a formula.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.
    cells
        The cell of each feature, in order or by feature name; default A2, B2, C2 …: a sheet
        with the feature names in row 1. Fill the formula down for more rows.

    Returns
    -------
    dict
        Formula by output name, each beginning with ``=``.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many, when a cell is not a
        reference, or when a formula exceeds what Excel reads (8,192 characters).

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [-3.0], [0.0], [0.5], [0.0]], 2, ["rm", "low stat"])
    >>> excel(poly)["y"]
    '=1+(2+0.5*B2)*A2-3*B2'
    >>> excel(poly, cells=["Data!$D4", "Data!$E4"])["y"]
    '=1+(2+0.5*Data!$E4)*Data!$D4-3*Data!$E4'
    """
    check_writable(poly)
    references = _references(poly, cells)
    formulas = _formulas(poly, references)
    for name, formula in formulas.items():
        if not _fits(formula):
            raise _too_long(poly, references, name, formula)
    return formulas


def _formulas(poly: Explicit, references: list[str]) -> dict[str, str]:
    shifted = inlined(poly)
    pairs = zip(references, shifted.inputs.coordinates, strict=True)
    own = [(cell, spelled(cell, coordinate, COMPACT)) for cell, coordinate in pairs]
    values = [z if z == cell else f"({z})" for cell, z in own]
    notation = Notation(_number, values.__getitem__, gap="")
    return {
        name: "=" + _regions(written, notation, references.__getitem__)
        for name, written in outputs_of(shifted)
    }


def _regions(written: Written, notation: Notation, cell: Callable[[int], str]) -> str:
    """Write the expression of each region behind its question."""
    if isinstance(written, End):
        return write(written.node, notation)
    asked = written.question
    tests = [condition(single, cell, _signed, gap="") for single in asked.singles]
    # OR would join the rows of a range that the formula is filled with: a sum keeps them apart.
    sign = "+" if asked.reached else "*"
    test = tests[0] if len(tests) == 1 else f"{sign.join(f'({t})' for t in tests)}>0"
    left, right = (_regions(side, notation, cell) for side in (written.left, written.right))
    return f"IF({test},{left},{right})"


def _signed(value: float) -> str:
    return f"-{_number(-value)}" if value < 0 else _number(value)


def _references(poly: Explicit, cells: Sequence[str] | Mapping[str, str] | None) -> list[str]:
    names = poly.feature_names
    if cells is None:
        if len(names) > MAX_COLUMNS:
            raise _bad_cells(f"{MAX_COLUMNS:,} columns at most", f"{len(names):,} features")
        return [f"{_column(i)}2" for i in range(len(names))]
    if isinstance(cells, Mapping):
        if missing := [name for name in names if name not in cells]:
            raise _bad_cells("one cell for each feature", f"none for {listed(missing)}")
        cells = [cells[name] for name in names]
    if isinstance(cells, str) or len(cells) != len(names):
        raise _bad_cells(
            f"{len(names)} cells", f"{cells!r}" if isinstance(cells, str) else f"{len(cells)}"
        )
    if bad := [c for c in cells if not (isinstance(c, str) and _is_reference(c))]:
        raise _bad_cells("references such as A2, $B$4 or Sheet1!C2", listed(bad))
    return list(cells)


def _is_reference(text: str) -> bool:
    """Tell whether a text is the reference of one cell, with or without its sheet.

    Examples
    --------
    >>> [_is_reference(text) for text in ("A2", "'Q1'!$B$4", "Q1!B4", "2", "rate", "XFE1")]
    [True, True, False, False, False, False]
    """
    sheet, mark, cell = text.rpartition("!")
    # Excel wants quotes around a sheet that is called like a cell.
    named = SHEET.fullmatch(sheet) is not None and not _is_cell(sheet)
    return _is_cell(cell) and (named or not mark)


def _is_cell(text: str) -> bool:
    if (match := CELL.fullmatch(text)) is None:
        return False
    column, row = match[1].upper(), int(match[2])
    last = _column(MAX_COLUMNS - 1)
    return (len(column), column) <= (len(last), last) and row <= MAX_ROWS


def _bad_cells(expected: str, found: str) -> InvalidInputError:
    return InvalidInputError(
        "The cells cannot be used.",
        where="cells",
        expected=expected,
        found=found,
        remedy='pass cells=["A2", "B2", …] or cells={"feature name": "A2", …}',
    )


def _column(index: int) -> str:
    """Spell the letters of a column.

    Examples
    --------
    >>> [_column(i) for i in (0, 25, 26, 16_383)]
    ['A', 'Z', 'AA', 'XFD']
    """
    letters = ""
    while index >= 0:
        index, place = divmod(index, 26)
        letters, index = chr(ord("A") + place) + letters, index - 1
    return letters


def _fits(formula: str) -> bool:
    return len(formula) <= MAX_CHARACTERS and _nesting(formula) <= MAX_NESTING


def _nesting(formula: str) -> int:
    unquoted = re.sub(r"'(?:[^']|'')*'", "", formula)  # the name of a sheet may hold brackets
    steps = (1 if bracket == "(" else -1 for bracket in re.findall(r"[()]", unquoted))
    return max(accumulate(steps), default=0)


def _too_long(poly: Explicit, references: list[str], name: str, formula: str) -> InvalidInputError:
    remedy = "lower the order: poly.truncate(max_order=20)"
    if len(formula) > MAX_CHARACTERS:
        # No term takes less than five characters.
        counts = range(1, min(poly.n_terms, MAX_CHARACTERS // 5))
        fitting = bisect(
            counts,
            0,
            key=lambda n: not all(map(_fits, _formulas(poly.prune(n), references).values())),
        )
        remedy = f"keep fewer terms: poly.prune(n_terms={fitting}) fits"
    return InvalidInputError(
        "The formula is longer than Excel reads.",
        where=f"output {name!r}",
        expected=f"at most {MAX_CHARACTERS:,} characters and {MAX_NESTING} levels of brackets",
        found=f"{len(formula):,} characters and {_nesting(formula)} levels",
        remedy=remedy,
    )
