"""SymPy: an expression to differentiate, integrate, simplify or solve."""

from __future__ import annotations

import builtins
from itertools import pairwise
from keyword import kwlist
from math import isinf
from typing import Any

from nn2poly.errors import require
from nn2poly.export.branches import End, Written, nodes_of, outputs_of, paths_of
from nn2poly.export.horner import Factored, Monomial, Node, used_variables
from nn2poly.export.names import identifiers
from nn2poly.export.writing import spelling_of
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.region_tree import Question
from nn2poly.inputs import Coordinate
from nn2poly.inputs.functions import Function, Identity, Power


def sympy(poly: Explicit) -> dict[str, Any]:
    """Give each output as a SymPy expression.

    Symbols carry the feature names where these are plain words that SymPy does not use itself;
    `sympy_names` tells the others. A name is thus never read as code, also when the text of the
    expression is given to ``sympify``. Numbers print in full precision. Regions make a
    ``Piecewise``. The expression is nested, in (x - center) / scale;
    its ``expand()`` is a plain sum in raw units, which can lose digits where |center| is large
    against scale.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link, regressions the target.

    Returns
    -------
    dict
        ``sympy.Expr`` by output name.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many.
    MissingDependencyError
        When SymPy is not installed.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> sympy(poly)["y"]
    rm*(3.0*lstat + 2.0) + 1.0
    >>> sympy(poly)["y"].diff("rm")
    3.0*lstat + 2.0
    """
    library = require("sympy", what="export.sympy()", extra="sympy")
    from sympy.core.parameters import distribute

    trees, coordinates = dict(outputs_of(poly)), poly.inputs.coordinates
    nodes = [node for written in trees.values() for node in nodes_of(written)]
    # SymPy would turn (x - center) / scale into x / scale - center / scale, which cancels.
    with distribute(False):
        words = list(sympy_names(poly))
        own = {
            i: _spelled(library.Symbol(words[i]), coordinates[i], library)
            for i in used_variables(*nodes)
        }
        return {
            name: _behind(_pieces(tree, own, poly, library), poly.link, library)
            for name, tree in trees.items()
        }


def _behind(raw: Any, link: str, library: Any) -> Any:
    """Undo the link of a regression."""
    undo = {
        "log": library.exp,
        "log1p": lambda z: library.exp(z) - 1,
        "sqrt": lambda z: z**2,
        "inverse": lambda z: 1 / z,
        "exp": library.log,
    }
    return undo[link](raw) if link in undo else raw


def sympy_names(poly: Explicit) -> dict[str, str]:
    """Give the feature that each symbol of `sympy` stands for, in their order.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> sympy_names(Polynomial([[1.0]] * 4, 1, ["rm", "N", "exit()"]))
    {'rm': 'rm', 'N_': 'N', 'exit_': 'exit()'}
    """
    library = require("sympy", what="export.sympy()", extra="sympy")
    # What `sympify` would look up: SymPy's own names, Python's words and functions.
    reserved = {*dir(library), *dir(builtins), *kwlist}
    words = identifiers(poly.feature_names, reserved=reserved)
    return dict(zip(words, poly.feature_names, strict=True))


def _pieces(written: Written, own: dict[int, Any], poly: Explicit, library: Any) -> Any:
    """Put the expressions of the regions behind their conditions."""
    if isinstance(written, End):
        return _build(written.node, own, library)
    pieces = []
    for end, path in paths_of(written):
        tests = [_test(asked, poly, library) for asked in path]
        together = tests[0] if len(tests) == 1 else library.And(*tests, evaluate=False)
        pieces.append((_build(end.node, own, library), together))
    # SymPy would spend minutes on simplifying what the tree has already made simple.
    return library.Piecewise(*pieces, evaluate=False)


def _test(asked: Question, poly: Explicit, library: Any) -> Any:
    relation = library.Ge if asked.reached else library.Lt
    names = list(sympy_names(poly))
    parts = [relation(library.Symbol(names[j]), _number(at, library)) for j, at in asked.parts]
    if len(parts) == 1:
        return parts[0]
    return (library.Or if asked.reached else library.And)(*parts, evaluate=False)


def _spelled(symbol: Any, coordinate: Coordinate, library: Any) -> Any:
    """Give the coordinate of one feature."""
    symbol = _curved(symbol, coordinate.function, library)
    center, scale = coordinate.center, coordinate.scale
    shifted = symbol - _number(center, library) if center else symbol
    return shifted if scale == 1 else shifted / _number(scale, library)


def _curved(symbol: Any, function: Function, library: Any) -> Any:
    """Hold a feature at its bounds and apply its function."""
    if function.points:
        return _between(symbol, function, library)
    if not isinf(function.low):
        symbol = library.Max(symbol, _number(function.low, library))
    if not isinf(function.high):
        symbol = library.Min(symbol, _number(function.high, library))
    if isinstance(function, Identity):
        return symbol
    if function.powers:
        return library.Add(*(_power(symbol, power, library) for power in function.powers))
    inner = symbol + _number(function.added, library) if function.added else symbol
    return getattr(library, spelling_of(function, "sympy"))(inner)


def _power(symbol: Any, power: Power, library: Any) -> Any:
    """Give one of the powers that a function is the sum of."""
    sign, exponent = _number(power.sign, library), _number(power.exponent, library)
    side = sign * symbol if power.alone else library.Max(sign * symbol, 0)
    base = _number(power.added, library) + side if power.added else side
    part = library.log(base) if power.exponent == 0.0 else (base**exponent - 1) / exponent
    return sign * part


def _between(symbol: Any, function: Function, library: Any) -> Any:
    """Join the points of a table by straight lines, held at the outer two."""
    points = [tuple(_number(v, library) for v in point) for point in function.points]
    (first, low), (_, high) = points[0], points[-1]
    pieces = [(low, symbol < first)]
    for (x, value), (end, other) in pairwise(points):
        pieces.append((value + (other - value) / (end - x) * (symbol - x), symbol < end))
    return library.Piecewise(*pieces, (high, True))


def _number(value: float, library: Any) -> Any:
    """Give a number that stays itself when it is printed: SymPy prints 15 digits of a Float."""
    short = float(f"{value:.15g}") == value
    return library.Float(value) if short else library.Float(value, 17)


def _build(node: Node, own: dict[int, Any], library: Any) -> Any:
    if isinstance(node, Monomial):
        return library.Mul(_number(node.coefficient, library), *(own[i] for i in node.variables))
    if isinstance(node, Factored):
        return library.Mul(_build(node.rest, own, library), *(own[i] for i in node.variables))
    return library.Add(*(_build(part, own, library) for part in node.parts))
