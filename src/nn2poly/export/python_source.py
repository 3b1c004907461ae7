"""Python: a function of floats or NumPy columns that imports nothing."""

from __future__ import annotations

import keyword

from nn2poly.export.horner import Node, check_writable, expressions, used_variables
from nn2poly.export.names import function_names, identifiers, remarks
from nn2poly.export.writing import Notation, spelled, write
from nn2poly.formula.polynomial import Polynomial

# Arrays and columns of a frame have a method for it, numbers do not.
BOUNDS = '({x}.clip({low}, {high}) if hasattr({x}, "clip") else min(max({x}, {low}), {high}))'


def python(poly: Polynomial) -> dict[str, str]:
    """Write each output as the source of a Python function.

    ``predict_<output>`` takes one argument per feature, in order: numbers, or NumPy arrays (or
    pandas columns) of one shape. It needs no import. Arguments are the feature names where
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
    arguments = identifiers(poly.feature_names, reserved=keyword.kwlist)
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
    notation = Notation(repr, arguments.__getitem__, bounds=BOUNDS)
    # An argument becomes its own standardised value: no second set of names to keep apart.
    own = {
        arguments[i]: spelled(arguments[i], poly.inputs.coordinates[i], notation)
        for i in used_variables(tree)
    }
    steps = [f"{name} = {value}" for name, value in own.items() if name != value]
    text = write(tree, notation, indent=8)
    result = f"return (\n        {text}\n    )" if "\n" in text else f"return {text}"
    comments = [f"# {line}" for line in [*remarks(poly, output), *renamed]]
    body = "".join(f"    {line}\n" for line in [*comments, *steps, result])
    return f"def {function}({', '.join(arguments)}):\n{body}"
