"""Python: a function of floats or NumPy columns."""

from __future__ import annotations

import keyword

from nn2poly.export.horner import Node, check_writable, expressions, used_variables
from nn2poly.export.names import function_names, identifiers, remarks
from nn2poly.export.writing import Notation, setup_of, spelled, write
from nn2poly.formula.polynomial import Polynomial

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


def python(poly: Polynomial) -> dict[str, str]:
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
    reserved = [*keyword.kwlist, *(BUILTINS if is_bounded else ())]
    arguments = identifiers(poly.feature_names, reserved=reserved)
    functions = function_names(poly)
    return {
        name: _function(poly, name, tree, functions[name], arguments)
        for name, tree in expressions(poly)
    }


def _function(
    poly: Polynomial, output: str, tree: Node, function: str, arguments: list[str]
) -> str:
    renamed = [
        f"{argument}: {name!r}"
        for argument, name in zip(arguments, poly.feature_names, strict=True)
        if argument != name
    ]
    notation = Notation(repr, arguments.__getitem__, bounds=_bounds)
    # An argument becomes its own standardised value: no second set of names to keep apart.
    own = {
        arguments[i]: spelled(arguments[i], poly.inputs.coordinates[i], notation)
        for i in used_variables(tree)
    }
    steps = [f"{name} = {value}" for name, value in own.items() if name != value]
    text = write(tree, notation, indent=8)
    result = f"return (\n        {text}\n    )" if "\n" in text else f"return {text}"
    steps = [*setup_of(poly, tree, "python"), *steps]
    comments = [f"# {line}" for line in [*remarks(poly, output), *renamed]]
    body = "".join(f"    {line}\n" for line in [*comments, *steps, result])
    return f"def {function}({', '.join(arguments)}):\n{body}"
