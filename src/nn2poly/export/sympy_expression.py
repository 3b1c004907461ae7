"""SymPy: an expression to differentiate, integrate, simplify or solve."""

from __future__ import annotations

from itertools import pairwise
from math import isinf
from typing import Any

from nn2poly.errors import require
from nn2poly.export.horner import Factored, Monomial, Node, expressions, used_variables
from nn2poly.export.writing import spelling_of
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Coordinate
from nn2poly.inputs.functions import Function, Identity


def sympy(poly: Polynomial) -> dict[str, Any]:
    """Give each output as a SymPy expression.

    Symbols carry the feature names. The expression is nested, in (x - center) / scale; its
    ``expand()`` is a plain sum in raw units, which can lose digits where |center| is large
    against scale.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.

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
    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["rm", "lstat"])
    >>> sympy(poly)["y"]
    rm*(3.0*lstat + 2.0) + 1.0
    >>> sympy(poly)["y"].diff("rm")
    3.0*lstat + 2.0
    """
    library = require("sympy", what="export.sympy()", extra="sympy")
    from sympy.core.parameters import distribute

    trees, coordinates = dict(expressions(poly)), poly.inputs.coordinates
    # SymPy would turn (x - center) / scale into x / scale - center / scale, which cancels.
    with distribute(False):
        own = {
            i: _spelled(library.Symbol(poly.feature_names[i]), coordinates[i], library)
            for i in used_variables(*trees.values())
        }
        return {name: _build(tree, own, library) for name, tree in trees.items()}


def _spelled(symbol: Any, coordinate: Coordinate, library: Any) -> Any:
    """Give the coordinate of one feature."""
    symbol = _curved(symbol, coordinate.function, library)
    center, scale = coordinate.center, coordinate.scale
    shifted = symbol - library.Float(center) if center else symbol
    return shifted if scale == 1 else shifted / library.Float(scale)


def _curved(symbol: Any, function: Function, library: Any) -> Any:
    """Hold a feature at its bounds and apply its function."""
    if function.points:
        return _between(symbol, function, library)
    if not isinf(function.low):
        symbol = library.Max(symbol, library.Float(function.low))
    if not isinf(function.high):
        symbol = library.Min(symbol, library.Float(function.high))
    if isinstance(function, Identity):
        return symbol
    inner = symbol + library.Float(function.added) if function.added else symbol
    return getattr(library, spelling_of(function, "sympy"))(inner)


def _between(symbol: Any, function: Function, library: Any) -> Any:
    """Join the points of a table by straight lines, held at the outer two."""
    points = [tuple(map(library.Float, point)) for point in function.points]
    (first, low), (_, high) = points[0], points[-1]
    pieces = [(low, symbol < first)]
    for (x, value), (end, other) in pairwise(points):
        pieces.append((value + (other - value) / (end - x) * (symbol - x), symbol < end))
    return library.Piecewise(*pieces, (high, True))


def _build(node: Node, own: dict[int, Any], library: Any) -> Any:
    if isinstance(node, Monomial):
        return library.Mul(library.Float(node.coefficient), *(own[i] for i in node.variables))
    if isinstance(node, Factored):
        return library.Mul(_build(node.rest, own, library), *(own[i] for i in node.variables))
    return library.Add(*(_build(part, own, library) for part in node.parts))
