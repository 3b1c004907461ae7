"""C and JavaScript: functions of an array; the two share expressions, braces and comments."""

from __future__ import annotations

from collections.abc import Callable

from nn2poly.export.branches import (
    End,
    Written,
    asked_features,
    condition,
    nodes_of,
    outputs_of,
)
from nn2poly.export.horner import check_writable, used_variables
from nn2poly.export.names import function_names, remarks
from nn2poly.export.writing import Notation, setup_of, spelled, write
from nn2poly.formula.piecewise import Explicit

# Without fmin and fmax, C needs no library for bounds.
C = Notation(repr, "x[{}]".format, language="c")
JAVASCRIPT = Notation(repr, "x[{}]".format, language="javascript")


def c(poly: Explicit) -> dict[str, str]:
    """Write each output as a C99 function.

    ``double predict_<output>(const double *x)`` is pure, needs no header or library (but where
    a column goes through a function, such as a square root), and reads the features from x in
    their order; a comment lists them.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.

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
    return _functions(poly, C, "double {}(const double *x)\n{{", "const double", "(void)x;")


def javascript(poly: Explicit) -> dict[str, str]:
    """Write each output as a JavaScript function.

    ``predict_<output>(x)`` takes one array (plain or typed) with the features in their order;
    a comment lists them. Safe in strict mode, in modules, and inside a ``<script>`` element.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.

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
    return _functions(poly, JAVASCRIPT, "function {}(x) {{", "const", "")


def _functions(
    poly: Explicit, notation: Notation, head: str, constant: str, unused: str
) -> dict[str, str]:
    check_writable(poly)
    functions = function_names(poly)
    result = {}
    for name, written in outputs_of(poly):
        nodes = nodes_of(written)
        lines = _body(poly, written, notation, constant, unused)
        body = "".join(f"    {line}\n" for line in lines)
        first = "".join(f"{line}\n" for line in setup_of(poly.inputs, nodes, notation.language))
        text = f"{_comment(poly, name)}\n{head.format(functions[name])}\n{body}}}\n"
        result[name] = first + text
    return result


def _body(
    poly: Explicit, written: Written, notation: Notation, constant: str, unused: str
) -> list[str]:
    used, asked = used_variables(*nodes_of(written)), asked_features(written)
    own = {i: spelled(f"x[{i}]", poly.inputs.coordinates[i], notation) for i in used}
    names = {i: f"x[{i}]" if own[i] == f"x[{i}]" else f"z{i}" for i in used}
    steps = [f"{constant} {names[i]} = {own[i]};" for i in used if names[i] != own[i]]
    lines = _branches(written, notation, names.__getitem__, 0)
    # A missing value answers no question.
    missing = [f"if (x[{i}] != x[{i}]) return x[{i}];" for i in asked]
    return [*missing, *(steps if used or asked or not unused else [unused]), *lines]


def _branches(
    written: Written, notation: Notation, variable: Callable[[int], str], depth: int
) -> list[str]:
    """Write nested branches as lines; every path ends in a return."""
    if isinstance(written, End):
        text = write(written.node, Notation(repr, variable), indent=8 + 4 * depth)
        return [f"return {text};"]
    test = condition(written.question, "x[{}]".format, notation.signed)
    left, right = (
        [f"    {line}" for line in _branches(side, notation, variable, depth + 1)]
        for side in (written.left, written.right)
    )
    return [f"if ({test}) {{", *left, "} else {", *right, "}"]


def _comment(poly: Explicit, output: str) -> str:
    features = [f"x[{i}]: {name!r}" for i, name in enumerate(poly.feature_names)]
    text = "\n   ".join([*remarks(poly, output), *features])
    # Neither the comment nor a script element around it may end early.
    text = text.replace("*/", "* /").replace("/*", "/ *").replace("<", "\\u003c")
    return f"/* {text} */"
