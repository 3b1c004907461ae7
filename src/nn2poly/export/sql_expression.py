"""SQL: an expression over quoted columns, or a whole SELECT."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nn2poly.errors import InvalidInputError
from nn2poly.export.branches import (
    End,
    Written,
    asked_features,
    condition,
    nodes_of,
    outputs_of,
)
from nn2poly.export.horner import check_writable, used_variables
from nn2poly.export.names import HELD_REMARK
from nn2poly.export.writing import Notation, inlined, spelled, write
from nn2poly.formula.piecewise import Explicit


def _number(value: float) -> str:
    """Spell a number with an exponent: without one it is a decimal in most engines."""
    text = repr(value)
    return text if "e" in text else text.removesuffix(".0") + "e0"


def _cases(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    # CASE leaves NULL as it is, which LEAST and GREATEST of many engines do not.
    parts = [f"WHEN {test} THEN {value}" for test, value in cases]
    return f"(CASE {' '.join(parts)} ELSE {otherwise} END)"


COMPACT = Notation(_number, str, gap="", language="sql", cases=_cases)


def sql(poly: Explicit) -> dict[str, str]:
    """Write each output as an SQL expression over its columns.

    Put it into ``SELECT <expression> AS "price" FROM t``; with regions it is a ``CASE WHEN``,
    NULL where a column that decides is NULL. Columns are the feature names in double quotes
    (ANSI: DuckDB, PostgreSQL, SQLite, Snowflake, Oracle …); they may be of any numeric type, not
    boolean. Numbers are double precision literals, so that nothing is computed in decimals.
    Centered columns are written out as ``("x"-center)`` wherever they occur, scales are part of
    the numbers; `sql_select` names each column once and is shorter. Brackets nest as deep as the
    order: SQLite 3.40 stops at order 30, DuckDB goes on to 100. SQLite reads a quoted name that
    no column has as text: check the names there.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.

    Returns
    -------
    dict
        Expression by output name.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many, or when a name cannot be
        written in SQL.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [-3.0]], 2, ['5" pipe'], center=20.0, scale=4.0)
    >>> print(sql(poly)["y"])
    1e0 + (0.5e0 - 0.1875e0*("5"" pipe"-20e0))*("5"" pipe"-20e0)
    """
    check_writable(poly)
    quoted = [_quoted(name) for name in poly.feature_names]
    shifted = inlined(poly)
    pairs = zip(quoted, shifted.inputs.coordinates, strict=True)
    own = [spelled(name, coordinate, COMPACT) for name, coordinate in pairs]
    columns = [z if z == x else f"({z})" for z, x in zip(own, quoted, strict=True)]
    notation = Notation(_number, columns.__getitem__)
    return {
        name: _regions(written, notation, quoted.__getitem__, 0)
        for name, written in outputs_of(shifted)
    }


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


def sql_select(poly: Explicit, table: str) -> str:
    """Write a whole SELECT that computes all outputs for every row of a table.

    Columns are cast to double precision and standardised once, in a subquery; they may be of
    any type that can be cast.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.
    table
        Name of the table or view.

    Returns
    -------
    str
        The statement, without a semicolon; its columns are the output names. A comment in front
        tells where inputs are held at bounds.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many, or when a name cannot be
        written in SQL.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [-3.0]], 2, ["t"], ["price"], center=20.0, scale=5.0)
    >>> print(sql_select(poly, "houses"))
    SELECT
      1e0 + (2e0 - 3e0*z0)*z0 AS "price"
    FROM (SELECT
      (CAST("t" AS DOUBLE PRECISION)-20e0)/5e0 AS z0
    FROM "houses") AS z
    """
    check_writable(poly)
    source = _quoted(table)
    notation = Notation(_number, "z{}".format)
    outputs, used, asked = [], set(), set()
    for name, written in outputs_of(poly):
        outputs.append(f"{_regions(written, notation, 'x{}'.format, 2)} AS {_quoted(name)}")
        used.update(used_variables(*nodes_of(written)))
        asked.update(asked_features(written))
    columns = [f"{_cast(poly, i)} AS x{i}" for i in sorted(asked)]
    columns += [f"{_cast_column(poly, i)} AS z{i}" for i in sorted(used)]
    if columns:
        inner = ",\n  ".join(columns)
        source = f"(SELECT\n  {inner}\nFROM {source}) AS z"
    joined = ",\n  ".join(outputs)
    comment = f"/* {HELD_REMARK} */\n" if poly.inputs.are_bounded else ""
    return f"{comment}SELECT\n  {joined}\nFROM {source}"


def _cast(poly: Explicit, i: int) -> str:
    return f"CAST({_quoted(poly.feature_names[i])} AS DOUBLE PRECISION)"


def _cast_column(poly: Explicit, i: int) -> str:
    return spelled(_cast(poly, i), poly.inputs.coordinates[i], COMPACT)


def _quoted(name: str) -> str:
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
    return '"' + name.replace('"', '""') + '"'
