"""Python: a function of floats or NumPy columns."""

from __future__ import annotations

import keyword

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
from nn2poly.export.horner import check_writable, used_variables
from nn2poly.export.names import function_names, identifiers, remarks
from nn2poly.export.writing import Notation, setup_of, spelled, write
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.region_tree import Question

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


def python(poly: Explicit) -> dict[str, str]:
    """Write each output as the source of a Python function.

    ``predict_<output>`` takes one argument per feature, in order: numbers, or NumPy arrays (or
    pandas columns) of one shape. It needs no import, but NumPy where a column goes through a
    logarithm or a rank. Arguments are the feature names where
    these are plain identifiers; comments say what the others stand for. Columns of float32 are
    computed in float32; a constant output is one number, whatever the arguments.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.

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
    is_bounded = any(coordinate.function.is_bounded for coordinate in poly.inputs.coordinates)
    own = [*(_region(region.number) for region in poly.regions), "missing"]
    kept = own if len(poly.regions) > 1 else []
    reserved = [*keyword.kwlist, *(BUILTINS if is_bounded else ()), *kept]
    arguments = identifiers(poly.feature_names, reserved=reserved)
    functions = function_names(poly)
    return {
        name: _function(poly, name, written, functions[name], arguments)
        for name, written in outputs_of(poly)
    }


def _function(
    poly: Explicit, output: str, written: Written, function: str, arguments: list[str]
) -> str:
    renamed = [
        f"{argument}: {name!r}"
        for argument, name in zip(arguments, poly.feature_names, strict=True)
        if argument != name
    ]
    notation, nodes = Notation(repr, arguments.__getitem__, bounds=_bounds), nodes_of(written)
    # An argument becomes its own standardised value: no second set of names to keep apart.
    own = {
        arguments[i]: spelled(arguments[i], poly.inputs.coordinates[i], notation)
        for i in used_variables(*nodes)
    }
    steps = [f"{name} = {value}" for name, value in own.items() if name != value]
    steps = [*setup_of(poly.inputs, nodes, "python"), *_choices(written, notation), *steps]
    comments = [f"# {line}" for line in [*remarks(poly, output), *renamed]]
    body = "".join(f"    {line}\n" for line in [*comments, *steps, _result(written, notation)])
    return f"def {function}({', '.join(arguments)}):\n{body}"


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
