"""SQL: an expression over the columns of a table, or a whole SELECT.

Every column is written with its table, ``t."income"``. Engines that read double quotes as text
would compute with the word instead of the column, and SQLite does so with a name that no column
has; behind ``t.`` both are errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isinf

from nn2poly.errors import InvalidInputError
from nn2poly.export.branches import (
    End,
    Written,
    asked_features,
    condition,
    nodes_of,
    outputs_of,
)
from nn2poly.export.endings import Ending, check_kind, result_names
from nn2poly.export.horner import check_writable, used_variables
from nn2poly.export.names import HELD_REMARK, meaning
from nn2poly.export.raw_table import RawTable, Source, raw_table
from nn2poly.export.writing import Notation, inlined, spelled, write
from nn2poly.formula.piecewise import Explicit
from nn2poly.inputs import Hole, level_text
from nn2poly.inputs.cuts import Interval


def _number(value: float) -> str:
    """Spell a number with an exponent: without one it is a decimal in most engines."""
    text = repr(value)
    return text if "e" in text else text.removesuffix(".0") + "e0"


def _cases(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    # CASE leaves NULL as it is, which LEAST and GREATEST of many engines do not.
    parts = [f"WHEN {test} THEN {value}" for test, value in cases]
    return f"(CASE {' '.join(parts)} ELSE {otherwise} END)"


COMPACT = Notation(_number, str, gap="", language="sql", cases=_cases)


def _text(value: str) -> str:
    return _literal(value)


# The table in a query, where nobody names it.
ALIAS = "t"
# An expression that stands alone would repeat a long formula to hold it where EXP ends.
INLINE = Ending(COMPACT, "EXP({x})", _text, " AND ", "NULL", held=False)
BEHIND = Ending(COMPACT, "EXP({x})", _text, " AND ", "NULL")


def sql(poly: Explicit, table: str | None = None, *, kind: str = "predict") -> dict[str, str]:
    """Write each output as an SQL expression over the columns of the raw table.

    Put it into ``SELECT <expression> AS "price" FROM houses AS t``; with regions it is a
    ``CASE WHEN``, NULL where a column that decides is NULL. Columns are in double quotes, as in
    DuckDB, SQLite and PostgreSQL; where these hold text (MySQL, BigQuery, Spark), the expression
    is an error. Numbers may be of any numeric type, not boolean. A factor of text is compared
    with its levels, ``CASE WHEN t."job" = 'clerk'``; a hole that an imputer fills is filled
    (``COALESCE``), and what `predict` refuses is NULL.
    Levels that are numbers or truths are compared as text, whatever the type of their column.
    Numbers are double precision literals, so that nothing is computed in decimals.
    Centered columns are written out as ``(t."x"-center)`` wherever they occur, scales are part
    of the numbers; `sql_select` names each column once and is shorter. Brackets nest as deep as
    the order: SQLite 3.40 stops at order 30, DuckDB goes on to 100.

    Parameters
    ----------
    poly
        The polynomial.
    table
        Name of the table, or its alias in the query; None for the alias ``t``.
    kind
        ``"predict"``: what `predict` gives; ``"raw"``: before the link; of a classifier also
        ``"probability"`` or ``"label"``.

    Returns
    -------
    dict
        Expression by output name; of labels by the name ``"label"``.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many, when a name cannot be
        written in SQL, or when two columns differ in capitals alone.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [-3.0]], 2, ['5" pipe'], center=20.0, scale=4.0)
    >>> print(sql(poly)["y"])
    1e0 + (0.5e0 - 0.1875e0*(t."5"" pipe"-20e0))*(t."5"" pipe"-20e0)
    """
    check_writable(poly)
    chosen = check_kind(kind, poly.outputs)
    alias = ALIAS if table is None else _quoted(table)
    features = _features(poly, alias)
    shifted = inlined(poly)
    pairs = zip(features, shifted.inputs.coordinates, strict=True)
    own = [spelled(name, coordinate, COMPACT) for name, coordinate in pairs]
    columns = [z if z == x else f"({z})" for z, x in zip(own, features, strict=True)]
    notation = Notation(_number, columns.__getitem__)
    raw = {
        name: _regions(written, notation, features.__getitem__, 0)
        for name, written in outputs_of(shifted)
    }
    return _ended(poly, raw, chosen, INLINE)


def _ended(poly: Explicit, raw: dict[str, str], kind: str, ending: Ending) -> dict[str, str]:
    """Put a link or a choice behind raw outputs."""
    if kind == "raw":
        return raw
    texts = [f"({text})" if ending is INLINE else text for text in raw.values()]
    names = result_names(poly.outputs, kind)
    return dict(zip(names, ending.behind(poly.outputs, texts, kind), strict=True))


def _features(poly: Explicit, alias: str, cast: Callable[[str], str] = str) -> list[str]:
    """Spell every feature by the columns of the table; numbers are cast, texts are not."""
    table = raw_table(poly.inputs)
    _check_capitals([column.name for column in table.columns])
    coded, found = _coded(table), []
    for source in table.sources:
        column = table.columns[source.column]
        x = f"{alias}.{_quoted(column.name)}"
        x = x if column.is_text or source.marks else cast(x)
        found.append(_feature(source, x, source.column in coded))
    return found


def _check_capitals(names: Sequence[str]) -> None:
    """Refuse columns that differ in capitals alone: many engines read one for the other."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise InvalidInputError(
                "SQL cannot tell two columns apart that differ in capitals alone.",
                where=f"the columns {other!r} and {name!r}",
                expected="names that differ in more: many engines ignore capitals",
                found=f"{other!r} and {name!r}",
                remedy="rename one in the table, and in the formula: convert(…, feature_names=[…])",
            )


def _coded(table: RawTable) -> set[int]:
    """Find the columns with levels that a table may hold as numbers or truths, not as text."""
    return {
        source.column
        for source in table.sources
        if any(len(_spellings(text)) > 1 for text in source.texts or ())
    }


def _spellings(level: str) -> tuple[str, ...]:
    """List the texts that engines make of a level: of a whole number, of a truth.

    Examples
    --------
    >>> _spellings("3"), _spellings("True"), _spellings("clerk")
    (('3', '3.0'), ('True', 'true', '1'), ('clerk',))
    """
    if level in ("True", "False"):
        return level, level.lower(), str(int(level == "True"))
    return (level, f"{level}.0") if re.fullmatch(r"-?\d+", level) else (level,)


def _feature(source: Source, x: str, coded: bool) -> str:
    if source.is_plain:
        return x
    if source.texts is not None:
        return _coded_level(source, x) if coded else _level(source, x)
    code = None if source.hole is None else source.hole.code
    if source.marks:
        if code is None:
            return f"(CASE WHEN {x} IS NULL THEN 1e0 ELSE 0e0 END)"
        same = f"{x}={_literal(code)}"
        return f"(CASE WHEN {same} THEN 1e0 WHEN {x} IS NOT NULL THEN 0e0 END)"
    value = _filled(source.hole, x)
    return value if source.interval is None else _within(value, source.interval)


def _within(x: str, interval: Interval) -> str:
    """Spell 1 where a number is in an interval, else 0; NULL stays, as it answers no question.

    Examples
    --------
    >>> _within('"age"', (30.0, 45.0))
    '(CASE WHEN "age"<30e0 THEN 0e0 WHEN "age"<45e0 THEN 1e0 WHEN "age">=45e0 THEN 0e0 END)'
    """
    low, high = (None if isinf(end) else COMPACT.signed(end) for end in interval)
    parts = [f"WHEN {x}<{low} THEN 0e0"] if low else []
    parts += [f"WHEN {x}<{high} THEN 1e0 WHEN {x}>={high} THEN 0e0"] if high else []
    parts += [] if high else [f"WHEN {x}>={low} THEN 1e0"]
    return f"(CASE {' '.join(parts)} END)"


def _filled(hole: Hole | None, x: str) -> str:
    if hole is None or hole.fill is None:
        return x
    if hole.code is None:
        return f"COALESCE({x},{_literal(hole.fill)})"
    return f"(CASE WHEN {x}={_literal(hole.code)} THEN {_literal(hole.fill)} ELSE {x} END)"


def _coded_level(source: Source, x: str) -> str:
    """Spell a level of a column that may hold numbers or truths: by the texts of these."""
    known = {*(source.texts or ()), *(source.others or ())}

    def spelled_out(texts: Sequence[str] | None) -> tuple[str, ...] | None:
        if texts is None:
            return None
        pairs = [(text, other) for text in texts for other in _spellings(text)]
        return tuple(other for text, other in pairs if other == text or other not in known)

    hole = source.hole
    if hole is not None and isinstance(hole.code, float):
        hole = replace(hole, code=level_text(hole.code))
    texts, others = spelled_out(source.texts), spelled_out(source.others)
    return _level(replace(source, texts=texts, others=others, hole=hole), f"CAST({x} AS VARCHAR)")


def _level(source: Source, x: str) -> str:
    """Spell 1 where a text is the level, else 0; NULL where it is none that is known."""
    text = _filled(source.hole, x)
    if source.is_rest:
        return f"(CASE WHEN {_is_one_of(text, source.others or ())} THEN 0e0 ELSE 1e0 END)"
    shown = f"CASE WHEN {_is_one_of(text, source.texts or ())} THEN 1e0"
    if source.others is None:
        return f"({shown} ELSE 0e0 END)"
    if not source.others:
        return f"({shown} END)"
    return f"({shown} WHEN {_is_one_of(text, source.others)} THEN 0e0 END)"


def _is_one_of(x: str, texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return f"{x}={_literal(texts[0])}"
    return f"{x} IN ({','.join(map(_literal, texts))})" if texts else "1=0"


def _literal(value: float | str) -> str:
    if isinstance(value, str):
        return "'" + _whole(value).replace("'", "''") + "'"
    return COMPACT.signed(value)


def _regions(
    written: Written, notation: Notation, column: Callable[[int], str], indent: int
) -> str:
    """Write the expression of each region behind its question; NULL answers none and stays."""
    if isinstance(written, End):
        return write(written.node, notation, indent=indent)
    sides = ((written.question, written.left), (written.question.opposite, written.right))
    space = "\n" + " " * (indent + 2)
    cases = []
    for asked, side in sides:
        test = condition(asked, column, notation.signed, words=(" OR ", " AND "))
        cases.append(f"{space}WHEN {test} THEN {_regions(side, notation, column, indent + 4)}")
    return f"CASE{''.join(cases)}\n{' ' * indent}END"


def sql_select(poly: Explicit, table: str, *, kind: str = "predict") -> str:
    """Write a whole SELECT that computes all outputs for every row of a table.

    Numbers are cast to double precision and standardised once, in a subquery; they may be of
    any type that can be cast. Factors of text are compared with their levels, holes are filled
    in, see `sql`.

    Parameters
    ----------
    poly
        The polynomial.
    table
        Name of the table or view.
    kind
        ``"predict"``: what `predict` gives; ``"raw"``: before the link; of a classifier also
        ``"probability"`` or ``"label"``.

    Returns
    -------
    str
        The statement, without a semicolon; its columns are the output names, or ``"label"``. A
        comment in front tells what the numbers are, and where inputs are held at bounds.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many, when a name cannot be
        written in SQL, or when two columns differ in capitals alone.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [-3.0]], 2, ["rooms"], ["price"], center=20.0, scale=5.0)
    >>> print(sql_select(poly, "houses"))
    SELECT
      1e0 + (2e0 - 3e0*z0)*z0 AS "price"
    FROM (SELECT
      (CAST(t."rooms" AS DOUBLE PRECISION)-20e0)/5e0 AS z0
    FROM "houses" AS t) AS z
    """
    check_writable(poly)
    chosen = check_kind(kind, poly.outputs)
    source = _quoted(table)
    notation = Notation(_number, "z{}".format)
    outputs, used, asked = {}, set(), set()
    for name, written in outputs_of(poly):
        outputs[name] = _regions(written, notation, "x{}".format, 2)
        used.update(used_variables(*nodes_of(written)))
        asked.update(asked_features(written))
    features = _features(poly, ALIAS, _cast)
    columns = [f"{features[i]} AS x{i}" for i in sorted(asked)]
    columns += [
        f"{spelled(features[i], poly.inputs.coordinates[i], COMPACT)} AS z{i}" for i in sorted(used)
    ]
    if columns:
        inner = ",\n  ".join(columns)
        source = f"(SELECT\n  {inner}\nFROM {source} AS {ALIAS}) AS z"
    if chosen != "raw":
        raw = {name: f"y{k}" for k, name in enumerate(outputs)}
        inner = ",\n  ".join(f"{text} AS y{k}" for k, text in enumerate(outputs.values()))
        source = f"(SELECT\n  {inner}\nFROM {source}) AS y"
        outputs = _ended(poly, raw, chosen, BEHIND)
    joined = ",\n  ".join(f"{text} AS {_quoted(name)}" for name, text in outputs.items())
    return f"{_header(poly, chosen)}SELECT\n  {joined}\nFROM {source}"


def _header(poly: Explicit, kind: str) -> str:
    names = result_names(poly.outputs, kind)
    said = list(dict.fromkeys(meaning(poly, name, kind) for name in names))
    said += [HELD_REMARK] if poly.inputs.are_bounded else []
    # A name in it must not end the comment.
    text = " ".join(line for line in said if line).replace("*/", "* /").replace("/*", "/ *")
    return f"/* {text} */\n" if text else ""


def _cast(x: str) -> str:
    return f"CAST({x} AS DOUBLE PRECISION)"


def _quoted(name: str) -> str:
    return '"' + _whole(name).replace('"', '""') + '"'


def _whole(name: str) -> str:
    """Refuse a text that no statement can hold."""
    problem = "a NUL character" if "\0" in name else ""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        problem = "half a surrogate pair"
    if problem:
        raise InvalidInputError(
            "This name cannot be written in SQL.",
            where=f"the name {name!r}",
            expected="text of whole characters without NUL",
            found=problem,
            remedy="rename it",
        )
    return name
