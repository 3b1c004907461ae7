"""Python: a function of floats or NumPy columns."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from nn2poly.export.branches import (
    End,
    Written,
    asked_features,
    condition,
    ends_of,
    nodes_of,
    outputs_of,
    paths_of,
)
from nn2poly.export.endings import Ending, check_kind, result_names
from nn2poly.export.horner import check_writable, used_variables
from nn2poly.export.names import function_names, identifiers, remarks
from nn2poly.export.raw_table import RawTable, Source, raw_table
from nn2poly.export.writing import Notation, setup_of, spelled, write
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.region_tree import Question
from nn2poly.inputs import Hole

# What a bound is written with: no argument may take their names.
BUILTINS = ("hasattr", "max", "min")


def _bounds(x: str, low: str | None, high: str | None) -> str:
    """Hold a value at its bounds; arrays and columns of a frame have a method for it.

    Examples
    --------
    >>> _bounds("x", None, "3.0")
    '(x.clip(None, 3.0) if hasattr(x, "clip") else min(x, 3.0))'
    """
    number = x if low is None else f"max({x}, {low})"
    number = number if high is None else f"min({number}, {high})"
    ends = f"{low}" if high is None else f"{low}, {high}"
    return f'({x}.clip({ends}) if hasattr({x}, "clip") else {number})'


def _choose(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    text = otherwise
    for test, value in reversed(cases):
        text = f"_choose({test}, {value}, {text})"
    return text


ENDING = Ending(Notation(repr, str, cases=_choose), "_exp({x})", repr, " & ", absent="None")


def python(poly: Explicit, *, kind: str = "predict") -> dict[str, str]:
    """Write each output as the source of a Python function.

    ``predict_<output>`` takes one argument per column of the table, in order: numbers (texts for
    a factor of text), or NumPy arrays (or pandas columns) of one shape. It needs no import, but
    NumPy where a column goes through a logarithm or a rank, is text, or has holes (NaN or None)
    that are filled in. Arguments are the names of the columns where
    these are plain identifiers; comments say what the others stand for. Columns of float32 are
    computed in float32; a constant output is one number, whatever the arguments.

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
        Source by output name.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.5]], 2, ["rm", "low stat"])
    >>> print(python(poly)["y"])
    def predict_y(rm, low_stat):
        # 'y': a polynomial of order 2.
        # low_stat: 'low stat'
        return 1.0 + (2.0 + 3.0*low_stat)*rm + 0.5*low_stat*low_stat
    <BLANKLINE>
    """
    check_writable(poly)
    chosen, table = check_kind(kind, poly.outputs), raw_table(poly.inputs)
    is_bounded = any(coordinate.function.is_bounded for coordinate in poly.inputs.coordinates)
    own = [*(_region(region.number) for region in poly.regions), "missing"]
    kept = own if len(poly.regions) > 1 else []
    behind = [] if chosen == "raw" else [_raw(k) for k in range(poly.n_outputs)]
    reserved = [*keyword.kwlist, *(BUILTINS if is_bounded else ()), *kept, *behind]
    names = [column.name for column in table.columns]
    extra = [] if table.is_plain else list(poly.feature_names)
    called = identifiers([*names, *extra], reserved=reserved)
    arguments = called[: len(names)]
    made = (
        [
            arguments[source.column] if source.is_number else called[j]
            for j, source in enumerate(table.sources, start=len(names))
        ]
        if extra
        else arguments
    )
    source = _Source(poly, table, tuple(arguments), tuple(made), chosen)
    outputs = dict(outputs_of(poly))
    results = result_names(poly.outputs, chosen)
    functions = function_names(poly, results, chosen)
    return {
        name: _function(source, name, k, functions[name], outputs) for k, name in enumerate(results)
    }


@dataclass(frozen=True)
class _Source:
    """What the functions of all outputs share: arguments, and the variable of each feature."""

    poly: Explicit
    table: RawTable
    arguments: tuple[str, ...]
    features: tuple[str, ...]
    kind: str


def _function(
    source: _Source, result: str, number: int, function: str, outputs: dict[str, Written]
) -> str:
    poly = source.poly
    renamed = [
        f"{argument}: {column.name!r}"
        for argument, column in zip(source.arguments, source.table.columns, strict=True)
        if argument != column.name
    ]
    alone = source.kind in ("raw", "target") or poly.link == "sigmoid"
    picked = list(outputs.values())[number : number + 1] if alone else list(outputs.values())
    notation = Notation(repr, source.features.__getitem__, bounds=_bounds)
    nodes = [node for written in picked for node in nodes_of(written)]
    # An argument becomes its own standardised value: no second set of names to keep apart.
    own = {
        source.features[i]: spelled(source.features[i], poly.inputs.coordinates[i], notation)
        for i in used_variables(*nodes)
    }
    steps = [f"{name} = {value}" for name, value in own.items() if name != value]
    choices = [line for written in picked[:1] for line in _choices(written, notation)]
    setup = setup_of(poly.inputs, nodes, "python")
    steps = [
        *setup,
        *_reading(source),
        *choices,
        *steps,
        *_results(source, picked, notation, number),
    ]
    comments = [f"# {line}" for line in [*remarks(poly, result, source.kind), *renamed]]
    body = "".join(f"    {line}\n" for line in [*comments, *steps])
    return f"def {function}({', '.join(source.arguments)}):\n{body}"


def _raw(number: int) -> str:
    return f"raw_{number}"


def _results(source: _Source, picked: list[Written], notation: Notation, number: int) -> list[str]:
    """Return the raw output, or what comes behind it."""
    if source.kind == "raw":
        return [_result(picked[0], notation)]
    outputs = source.poly.outputs
    raw = [_raw(k) for k in range(len(picked))]
    lines = ["from numpy import exp as _exp, log as _log, where as _choose"]
    lines += [
        _result(written, notation).replace("return ", f"{name} = ", 1)
        for name, written in zip(raw, picked, strict=True)
    ]
    if outputs.is_classifier and len(raw) < outputs.count:  # one of several labels, by itself
        outputs = replace(outputs, names=outputs.names[:1], classes=(0, 1))
    texts = ENDING.behind(outputs, raw, source.kind)
    return [*lines, f"return {texts[number if len(texts) > 1 else 0]}"]


def _reading(source: _Source) -> list[str]:
    """Make features of columns: fill holes, compare texts with levels."""
    if source.table.is_plain:
        return []
    lines = ["from numpy import asarray as _asarray, where as _where"]
    fills: list[str] = []
    for argument, column in zip(source.arguments, source.table.columns, strict=True):
        kind = "object" if column.is_text else "float"
        lines.append(f"{argument} = _asarray({argument}, dtype={kind})")
    for name, one in zip(source.features, source.table.sources, strict=True):
        x = source.arguments[one.column]
        is_text = source.table.columns[one.column].is_text
        if one.marks:
            lines.append(f"{name} = 1.0*({_hole(x, one.hole, is_text)})")
        elif one.hole is not None and one.hole.fill is not None:
            fills.append(f"{x} = _where({_hole(x, one.hole, is_text)}, {one.hole.fill!r}, {x})")
    levels = [
        f"{name} = {_level(source.arguments[one.column], one)}"
        for name, one in zip(source.features, source.table.sources, strict=True)
        if one.texts is not None or one.interval is not None
    ]
    return [*lines, *dict.fromkeys(fills), *levels]


def _hole(x: str, hole: Hole | None, is_text: bool) -> str:
    if hole is not None and hole.code is not None:
        return f"{x} == {hole.code!r}"
    return f"({x} != {x}) | ({x} == None)" if is_text else f"{x} != {x}"


def _level(x: str, one: Source) -> str:
    if one.interval is not None:
        ends = zip((">=", "<"), one.interval, strict=True)
        inside = " & ".join(f"({x} {sign} {end!r})" for sign, end in ends if isfinite(end))
        return f"_where({x} != {x}, {x}, 1.0*({inside}))"
    if one.is_rest:
        return f"1.0 - 1.0*({_is_one_of(x, one.others or ())})"
    shown = f"1.0*({_is_one_of(x, one.texts or ())})"
    if one.others is None:
        return shown
    known = _is_one_of(x, (*(one.texts or ()), *one.others))
    return f'_where({known}, {shown}, float("nan"))'


def _is_one_of(x: str, texts: Sequence[str]) -> str:
    # A column that equals nothing is compared all the same: the answer has its length.
    return " | ".join(f"({_is(x, text)})" for text in texts) or f"({x} != {x}) & ({x} == {x})"


def _is(x: str, level: str) -> str:
    """Compare with a level, which a table may hold as a number or a truth as well.

    Examples
    --------
    >>> _is("rooms", "3"), _is("sex", "male")
    ("(rooms == '3') | (rooms == 3.0)", "sex == 'male'")
    """
    if level in ("True", "False"):
        return f"({x} == {level!r}) | ({x} == {level})"
    try:
        value = float(level)
    except ValueError:
        return f"{x} == {level!r}"
    return f"({x} == {level!r}) | ({x} == {value!r})" if isfinite(value) else f"{x} == {level!r}"


def _region(number: int) -> str:
    return f"region_{number}"


def _choices(written: Written, notation: Notation) -> list[str]:
    """Tell where each region is, before arguments become their coordinates.

    Regions are multiplied, not branched to: a column has rows of several. A missing value is in
    none of them, and stays missing by the last line.
    """
    if isinstance(written, End):
        return []
    lines = []
    for end, path in paths_of(written):
        tests = [_test(asked, notation) for asked in path]
        lines.append(f"{_region(end.region)} = {' & '.join(tests)}")
    missing = " + ".join(f"0.0*{notation.variable(j)}" for j in asked_features(written))
    return [*lines, f"missing = {missing}"]


def _test(asked: Question, notation: Notation) -> str:
    parts = [f"({condition(single, notation.variable, repr)})" for single in asked.singles]
    text = (" | " if asked.reached else " & ").join(parts)
    return f"({text})" if len(parts) > 1 and asked.reached else text


def _result(written: Written, notation: Notation) -> str:
    if isinstance(written, End):
        text = write(written.node, notation, indent=8)
        return f"return (\n        {text}\n    )" if "\n" in text else f"return {text}"
    parts = [
        f"{_region(end.region)}*({write(end.node, notation, indent=12)})"
        for end in sorted(ends_of(written), key=lambda end: end.region)
    ]
    text = "\n        + ".join(["missing", *parts])
    return f"return (\n        {text}\n    )"
