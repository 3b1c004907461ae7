"""Excel: one formula per output, over one row of cells."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import isinf

from nn2poly.arguments import listed
from nn2poly.errors import InvalidInputError
from nn2poly.export.branches import End, Written, condition, outputs_of
from nn2poly.export.endings import Ending, check_kind, result_names
from nn2poly.export.horner import check_writable
from nn2poly.export.raw_table import Source, raw_table
from nn2poly.export.writing import Notation, inlined, spelled, write
from nn2poly.formula.piecewise import Explicit
from nn2poly.inputs.cuts import Interval

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


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


ENDING = Ending(COMPACT, "EXP({x})", _quoted, "*", held=False)


def excel(
    poly: Explicit,
    *,
    cells: Sequence[str] | Mapping[str, str] | None = None,
    kind: str = "predict",
) -> dict[str, str]:
    """Write each output as an Excel formula.

    The formula is in the notation of files and of English Excel (decimal point); it uses no
    defined names, and no function but IF for regions, bounds and tables, EXACT for the levels of
    a factor of text, and what columns go through, so that LibreOffice and others read it too. An
    empty cell is a hole: filled in where an imputer does, else #N/A where the table has text or
    holes. Excel itself keeps 15 digits of a number in a formula.

    Parameters
    ----------
    poly
        The polynomial.
    cells
        The cell of each column of the table, in order or by name; default A2, B2, C2 …: a sheet
        with the names in row 1. Fill the formula down for more rows.
    kind
        ``"predict"``: what `predict` gives; ``"raw"``: before the link; of a classifier also
        ``"probability"`` or ``"label"``.

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
    chosen = check_kind(kind, poly.outputs)
    references = _references(poly, cells)
    formulas = _formulas(poly, references, chosen)
    for name, formula in formulas.items():
        if not _fits(formula):
            raise _too_long(poly, references, name, formula, chosen)
    return formulas


def _formulas(poly: Explicit, references: list[str], kind: str) -> dict[str, str]:
    shifted, table = inlined(poly), raw_table(poly.inputs)
    features = [
        references[one.column] if table.is_plain else _feature(one, references[one.column])
        for one in table.sources
    ]
    pairs = zip(features, shifted.inputs.coordinates, strict=True)
    own = [(cell, spelled(cell, coordinate, COMPACT)) for cell, coordinate in pairs]
    values = [z if z == cell else f"({z})" for cell, z in own]
    notation = Notation(_number, values.__getitem__, gap="")
    raw = {
        name: _regions(written, notation, features.__getitem__)
        for name, written in outputs_of(shifted)
    }
    if kind != "raw":
        texts = ENDING.behind(poly.outputs, [f"({text})" for text in raw.values()], kind)
        raw = dict(zip(result_names(poly.outputs, kind), texts, strict=True))
    return {name: f"={text}" for name, text in raw.items()}


def _feature(source: Source, cell: str) -> str:
    """Spell a feature: a level, what marks a hole, a number whose hole is filled in.

    Examples
    --------
    >>> from nn2poly.inputs import Hole
    >>> _feature(Source(0, Hole(3.5)), "A2"), _feature(Source(0, texts=("a",)), "B2")
    ('IF(A2="",3.5,A2)', 'IF(EXACT(B2,"a"),1,0)')
    """
    hole = source.hole
    code = None if hole is None else hole.code
    if code is None:
        empty = f'{cell}=""'
    else:
        empty = f"EXACT({cell},{_quoted(code)})" if isinstance(code, str) else f"{cell}={code!r}"
    if source.marks:
        return f"IF({empty},1,0)"
    if source.texts is not None:
        return _level(source, cell, empty)
    value = f'IF({cell}="",NA(),{cell})'
    if hole is not None and isinstance(hole.fill, float):
        value = f"IF({empty},{_signed(hole.fill)},{cell})"
    return value if source.interval is None else _within(value, source.interval)


def _within(x: str, interval: Interval) -> str:
    low, high = (None if isinf(end) else _signed(end) for end in interval)
    inside = "1" if high is None else f"IF({x}<{high},1,0)"
    return inside if low is None else f"IF({x}<{low},0,{inside})"


def _level(source: Source, cell: str, empty: str) -> str:
    # EXACT, not =, which takes no notice of capitals; a sum, as OR would join a range.
    known = [f"EXACT({cell},{_quoted(text)})" for text in source.others or ()]
    known += [f"({empty})"] if source.hole is not None and not source.fills_level else []
    if source.is_rest:
        return f"IF({_some(known)},0,1)"
    tests = [f"EXACT({cell},{_quoted(text)})" for text in source.texts or ()]
    tests += [f"({empty})"] if source.fills_level else []
    if source.others is None:
        return f"IF({_some(tests)},1,0)"
    return f"IF({_some(tests)},1,IF({_some(known)},0,NA()))"


def _some(tests: list[str]) -> str:
    return tests[0] if len(tests) == 1 else f"{'+'.join(tests) or '0'}>0"


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
    names = [column.name for column in raw_table(poly.inputs).columns]
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
    # The name of a sheet and a text may hold brackets.
    unquoted = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", formula)
    steps = (1 if bracket == "(" else -1 for bracket in re.findall(r"[()]", unquoted))
    return max(accumulate(steps), default=0)


def _too_long(
    poly: Explicit, references: list[str], name: str, formula: str, kind: str
) -> InvalidInputError:
    remedy = "lower the order: poly.truncate(max_order=20)"
    if len(formula) > MAX_CHARACTERS:
        # No term takes less than five characters.
        counts = range(1, min(poly.n_terms, MAX_CHARACTERS // 5))
        fitting = bisect(
            counts,
            0,
            key=lambda n: not all(map(_fits, _formulas(poly.prune(n), references, kind).values())),
        )
        remedy = f"keep fewer terms: poly.prune(n_terms={fitting}) fits"
    return InvalidInputError(
        "The formula is longer than Excel reads.",
        where=f"output {name!r}",
        expected=f"at most {MAX_CHARACTERS:,} characters and {MAX_NESTING} levels of brackets",
        found=f"{len(formula):,} characters and {_nesting(formula)} levels",
        remedy=remedy,
    )
