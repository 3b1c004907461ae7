"""C and JavaScript: functions of an array; the two share expressions, braces and comments."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isinf

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
from nn2poly.export.names import function_names, remarks
from nn2poly.export.raw_table import RawTable, Source, raw_table
from nn2poly.export.writing import Notation, setup_of, spelled, write
from nn2poly.formula.piecewise import Explicit
from nn2poly.inputs import Hole
from nn2poly.inputs.cuts import Interval


@dataclass(frozen=True)
class _Language:
    """What C and JavaScript spell differently."""

    notation: Notation
    constant: str
    variable: str
    ending: Ending

    @property
    def is_c(self) -> bool:
        return self.notation.language == "c"

    def place(self, table: RawTable, column: int) -> str:
        """Spell where a column of the table comes from."""
        if not self.is_c:
            return f"x[{column}]"
        return f"{'s' if table.columns[column].is_text else 'x'}[{table.text_place(column)}]"

    def head(self, function: str, poly: Explicit, table: RawTable, kind: str) -> str:
        """Open the function."""
        if not self.is_c:
            return f"function {function}(x) {{"
        result = "const char *" if kind == "label" and _has_text_classes(poly) else "double "
        texts = ", const char *const *s" if any(one.is_text for one in table.columns) else ""
        return f"{result}{function}(const double *x{texts})\n{{"

    def includes(self, table: RawTable, kind: str) -> list[str]:
        """List the headers that are needed in front."""
        if not self.is_c:
            return []
        texts = any(one.is_text for one in table.columns)
        lines = ["#include <string.h>"] if texts else []
        lines += ["#include <stddef.h>"] if texts or kind == "label" else []
        return lines + (["#include <math.h>"] if kind != "raw" else [])

    def unused(self, table: RawTable, body: str) -> list[str]:
        """Mention arguments that a body does not need."""
        texts = any(one.is_text for one in table.columns)
        given = ("x", "s") if texts else ("x",)
        return [f"(void){name};" for name in given if f"{name}[" not in body] if self.is_c else []

    def last(self, poly: Explicit) -> Ending:
        """Give what comes behind raw outputs; labels that are numbers have no NULL in C."""
        if not self.is_c or _has_text_classes(poly):
            return self.ending
        return replace(self.ending, absent="(0.0/0.0)")

    def text(self, table: RawTable, column: int, hole: Hole | None) -> str:
        """Read a column of text, its holes filled in; an empty text where nothing fills them."""
        x, name = self.place(table, column), f"t{column}"
        fill = "" if hole is None or not isinstance(hole.fill, str) else hole.fill
        code = None if hole is None else hole.code
        if self.is_c:
            test = f"{x} != NULL" if code is None else f"{x} != NULL && {_same(x, str(code))} != 0"
            return f"const char *{name} = {test} ? {x} : {c_text(fill)};"
        empty = f"{x} == null || {x} !== {x}"
        test = empty if code is None else f"{empty} || String({x}) === {js_text(str(code))}"
        return f"const {name} = {test} ? {js_text(fill)} : String({x});"

    def feature(self, table: RawTable, source: Source) -> str:
        """Spell a feature: a level, what marks a hole, a number whose hole is filled in."""
        x = self.place(table, source.column)
        is_text = table.columns[source.column].is_text
        if source.texts is not None:
            return self._level(f"t{source.column}", source)
        hole = source.hole
        if source.marks:
            return f"{self._is_hole(x, hole, is_text)} ? 1.0 : 0.0"
        value = x if self.is_c else f"({x} == null ? NaN : {x})"
        if hole is not None and isinstance(hole.fill, float):
            fill = self.notation.signed(hole.fill)
            value = f"{self._is_hole(x, hole, is_text)} ? {fill} : {value}"
        return value if source.interval is None else self._within(f"({value})", source.interval)

    def _within(self, value: str, interval: Interval) -> str:
        low, high = (None if isinf(end) else self.notation.signed(end) for end in interval)
        ends = [(sign, end) for sign, end in (("<", low), (">=", high)) if end]
        tests = [f"{value} {sign} {end} ? 0.0 : " for sign, end in ends]
        return f"{''.join(tests)}{value} == {value} ? 1.0 : {'0.0/0.0' if self.is_c else 'NaN'}"

    def _is_hole(self, x: str, hole: Hole | None, is_text: bool) -> str:
        code = None if hole is None else hole.code
        if isinstance(code, float):
            return f"{x} == {self.notation.signed(code)}"
        if self.is_c and is_text:
            return f"{x} == NULL" if code is None else f"({x} && {_same(x, code)} == 0)"
        if isinstance(code, str):
            return f"{x} === {js_text(code)}"
        return f"{x} != {x}" if self.is_c else f"({x} == null || {x} !== {x})"

    def _level(self, text: str, source: Source) -> str:
        if source.is_rest:
            return f"({self._is_one_of(text, source.others or ())}) ? 0.0 : 1.0"
        shown = f"({self._is_one_of(text, source.texts or ())}) ? 1.0 : "
        if source.others is None:
            return f"{shown}0.0"
        known = self._is_one_of(text, source.others)
        return f"{shown}({known}) ? 0.0 : {'0.0/0.0' if self.is_c else 'NaN'}"

    def _is_one_of(self, text: str, texts: Sequence[str]) -> str:
        return " || ".join(self._equal(text, one) for one in texts) or "0"

    def _equal(self, text: str, level: str) -> str:
        return f"{_same(text, level)} == 0" if self.is_c else f"{text} === {js_text(level)}"


def _same(x: str, text: str) -> str:
    return f"strcmp({x}, {c_text(text)})"


def c_text(text: str) -> str:
    r"""Spell a text in C; whatever is not a plain letter or sign as its bytes.

    Examples
    --------
    >>> print(c_text('5" ??/'))
    "5\042 \077\077/"
    """
    plain = set(range(32, 127)) - set(b'"\\?%')
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


def js_text(text: str) -> str:
    r"""Spell a text in JavaScript, safe inside a script element.

    Examples
    --------
    >>> print(js_text("</script>"))
    "\u003c/script>"
    """
    return json.dumps(text).replace("<", "\\u003c")


def _has_text_classes(poly: Explicit) -> bool:
    return poly.classes is not None and all(isinstance(label, str) for label in poly.classes)


# Without fmin and fmax, C needs no library for bounds.
C = Notation(repr, "x[{}]".format, language="c")
JAVASCRIPT = Notation(repr, "x[{}]".format, language="javascript")
_C = _Language(C, "const double", "double", Ending(C, "exp({x})", c_text, absent="NULL"))
_JAVASCRIPT = _Language(
    JAVASCRIPT, "const", "let", Ending(JAVASCRIPT, "Math.exp({x})", js_text, absent="null")
)


def c(poly: Explicit, *, kind: str = "predict") -> dict[str, str]:
    """Write each output as a C99 function.

    ``double predict_<output>(const double *x)`` is pure, needs no header or library (but where
    a column goes through a function, such as a logarithm), and reads the columns from x in
    their order; a comment lists them. NaN is a hole. Where the table has factors of text, these
    come as a second argument, ``const char *const *s``; NULL is a hole there. A label is a text
    where the classes are, else a double.

    Parameters
    ----------
    poly
        The polynomial.
    kind
        ``"predict"``: what `predict` gives; ``"raw"``: before the link; of a classifier also
        ``"probability"`` (functions ``probability_<output>``) or ``"label"``.

    Returns
    -------
    dict
        Source by output name; all of them together make one file.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [3.0]], 2, ["t"], center=20.0, scale=5.0)
    >>> print(c(poly)["y"])
    /* 'y': a polynomial of order 2.
       x[0]: 't' */
    double predict_y(const double *x)
    {
        const double z0 = (x[0] - 20.0)/5.0;
        return 1.0 + (2.0 + 3.0*z0)*z0;
    }
    <BLANKLINE>
    """
    return _functions(poly, kind, _C)


def javascript(poly: Explicit, *, kind: str = "predict") -> dict[str, str]:
    """Write each output as a JavaScript function.

    ``predict_<output>(x)`` takes one array (plain or typed) with the columns in their order;
    a comment lists them. A factor of text is a string; null, undefined and NaN are holes.
    Safe in strict mode, in modules, and inside a ``<script>`` element.

    Parameters
    ----------
    poly
        The polynomial.
    kind
        ``"predict"``: what `predict` gives; ``"raw"``: before the link; of a classifier also
        ``"probability"`` (functions ``probability_<output>``) or ``"label"``.

    Returns
    -------
    dict
        Source by output name; all of them together make one file.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [3.0]], 1, ["rm", "lstat"])
    >>> print(javascript(poly)["y"])
    /* 'y': a polynomial of order 1.
       x[0]: 'rm'
       x[1]: 'lstat' */
    function predict_y(x) {
        return 1.0 + 2.0*x[0] + 3.0*x[1];
    }
    <BLANKLINE>
    """
    return _functions(poly, kind, _JAVASCRIPT)


def _functions(poly: Explicit, kind: str, language: _Language) -> dict[str, str]:
    check_writable(poly)
    chosen, table = check_kind(kind, poly.outputs), raw_table(poly.inputs)
    results, outputs = result_names(poly.outputs, chosen), dict(outputs_of(poly))
    functions = function_names(poly, results, chosen)
    alone = chosen in ("raw", "target") or poly.link == "sigmoid"
    written = list(outputs.values())
    return {
        name: _function(
            poly, table, name, functions[name], written[k : k + 1] if alone else written, chosen,
            language, k,
        )
        for k, name in enumerate(results)
    }  # fmt: skip


def _function(
    poly: Explicit,
    table: RawTable,
    name: str,
    function: str,
    picked: list[Written],
    kind: str,
    language: _Language,
    number: int,
) -> str:
    nodes = [node for written in picked for node in nodes_of(written)]
    lines = _body(poly, table, picked, kind, language, number)
    body = "".join(f"    {line}\n" for line in lines)
    notes = setup_of(poly.inputs, nodes, language.notation.language)
    notes += language.includes(table, kind)
    first = "".join(f"{line}\n" for line in dict.fromkeys(notes))
    head = language.head(function, poly, table, kind)
    return f"{first}{_comment(poly, table, name, kind, language)}\n{head}\n{body}}}\n"


def _body(
    poly: Explicit,
    table: RawTable,
    picked: list[Written],
    kind: str,
    language: _Language,
    number: int,
) -> list[str]:
    notation, constant = language.notation, language.constant
    used = used_variables(*[node for written in picked for node in nodes_of(written)])
    asked = asked_features(picked[0])
    read, raw = _read(table, sorted({*used, *asked}), language)
    own = {i: spelled(raw[i], poly.inputs.coordinates[i], notation) for i in used}
    names = {i: raw[i] if own[i] == raw[i] else f"z{i}" for i in used}
    steps = [f"{constant} {names[i]} = {own[i]};" for i in used if names[i] != own[i]]
    # A missing value answers no question.
    nothing = language.last(poly).absent if kind == "label" else None
    missing = [f"if ({raw[i]} != {raw[i]}) return {nothing or raw[i]};" for i in asked]
    if kind == "raw":
        last = _branches(picked[0], notation, names.__getitem__, raw.__getitem__, 0)
    else:
        last = _behind(poly, picked, kind, language, names, raw, number)
    lines = [*read, *missing, *steps, *last]
    return [*language.unused(table, "".join(lines)), *lines]


def _behind(
    poly: Explicit,
    picked: list[Written],
    kind: str,
    language: _Language,
    names: dict[int, str],
    raw: dict[int, str],
    number: int,
) -> list[str]:
    """Compute the raw outputs first, then what comes behind them."""
    lines, outputs = [], poly.outputs
    for k, written in enumerate(picked):
        lines += [] if isinstance(written, End) else [f"{language.variable} y{k};"]
        one = _branches(written, language.notation, names.__getitem__, raw.__getitem__, 0)
        start = f"{language.constant} y{k} =" if isinstance(written, End) else f"y{k} ="
        lines += [line.replace("return ", f"{start} ", 1) for line in one]
    if outputs.is_classifier and len(picked) < outputs.count:  # one of several labels, by itself
        outputs = replace(outputs, names=outputs.names[:1], classes=(0, 1))
    ending = language.last(poly)
    texts = ending.behind(outputs, [f"y{k}" for k in range(len(picked))], kind)
    return [*lines, f"return {texts[number if len(texts) > 1 else 0]};"]


def _read(
    table: RawTable, features: list[int], language: _Language
) -> tuple[list[str], dict[int, str]]:
    """Make features of columns: the lines that do, and the text of each feature."""
    if table.is_plain:
        return [], {i: f"x[{table.sources[i].column}]" for i in features}
    texts = [k for k, column in enumerate(table.columns) if column.is_text]
    holes = {one.column: one.hole for one in table.sources if one.texts is not None}
    wanted = {table.sources[i].column for i in features if table.sources[i].texts is not None}
    lines = [language.text(table, k, holes.get(k)) for k in texts if k in wanted]
    lines += [
        f"{language.constant} f{i} = {language.feature(table, table.sources[i])};" for i in features
    ]
    return lines, {i: f"f{i}" for i in features}


def _branches(
    written: Written,
    notation: Notation,
    variable: Callable[[int], str],
    raw: Callable[[int], str],
    depth: int,
) -> list[str]:
    """Write nested branches as lines; every path ends in a return."""
    if isinstance(written, End):
        text = write(written.node, Notation(repr, variable), indent=8 + 4 * depth)
        return [f"return {text};"]
    test = condition(written.question, raw, notation.signed)
    left, right = (
        [f"    {line}" for line in _branches(side, notation, variable, raw, depth + 1)]
        for side in (written.left, written.right)
    )
    return [f"if ({test}) {{", *left, "} else {", *right, "}"]


def _comment(poly: Explicit, table: RawTable, output: str, kind: str, language: _Language) -> str:
    columns = [
        f"{language.place(table, k)}: {column.name!r}" for k, column in enumerate(table.columns)
    ]
    text = "\n   ".join([*remarks(poly, output, kind), *columns])
    # Neither the comment nor a script element around it may end early.
    text = text.replace("*/", "* /").replace("/*", "/ *").replace("<", "\\u003c")
    return f"/* {text} */"
