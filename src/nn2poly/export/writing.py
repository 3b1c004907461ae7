"""Print an expression: what infix languages share is all but their numbers and variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isinf

import numpy as np

from nn2poly.errors import InvalidInputError
from nn2poly.export.horner import Factored, Monomial, Node, Sum, used_variables
from nn2poly.formula.piecewise import Explicit
from nn2poly.inputs import Coordinate, Inputs
from nn2poly.inputs.functions import Function, Identity

# Characters of a line: what a page of code shows (taste).
WIDTH = 96
# Numbers of more decades than this, up or down, are not multiplied: doubles end at 308.
MAX_DECADES = 300
# Texts of a value and of its two bounds, None for one that does not bind → text of the value
# held there.
Bounds = Callable[[str, str | None, str | None], str]
# Pairs of a condition and a value, the first that is true counts, and the value else → text.
Cases = Callable[[Sequence[tuple[str, str]], str], str]


def conditional(cases: Sequence[tuple[str, str]], otherwise: str) -> str:
    """Choose by the conditional operator of C and its relatives.

    Examples
    --------
    >>> conditional([("x < 1.0", "1.0"), ("x > 3.0", "3.0")], "x")
    '(x < 1.0 ? 1.0 : x > 3.0 ? 3.0 : x)'
    """
    return f"({''.join(f'{condition} ? {value} : ' for condition, value in cases)}{otherwise})"


def binding(low: str | None, high: str | None) -> list[tuple[str, str]]:
    """List the bounds that bind, each with the sign of what lies beyond it.

    Examples
    --------
    >>> binding("1.0", None)
    [('<', '1.0')]
    """
    return [(sign, end) for sign, end in (("<", low), (">", high)) if end is not None]


@dataclass(frozen=True)
class Notation:
    """How a language spells a number (not negative) and a variable.

    Parameters
    ----------
    number, variable
        Give the text of a number, and of the variable of a number.
    gap
        Goes around signs.
    language
        Key of the spellings of `nn2poly.inputs.functions`.
    cases
        Gives the text of a choice between values.
    bounds
        Gives the text of a value held at its bounds; None to write it as a choice.

    Examples
    --------
    >>> tree = Factored(Sum((Monomial(-1.5, ()), Monomial(-2.0, (1,)))), (0,))
    >>> write(tree, Notation(repr, "ab".__getitem__))
    '(-1.5 - 2.0*b)*a'
    """

    number: Callable[[float], str]
    variable: Callable[[int], str]
    gap: str = " "
    language: str = "python"
    cases: Cases = conditional
    bounds: Bounds | None = None

    def held(self, x: str, low: float, high: float) -> str:
        """Spell a value held at its bounds, those that are finite.

        Examples
        --------
        >>> Notation(repr, str).held("x", -1.0, float("inf"))
        '(x < (-1.0) ? (-1.0) : x)'
        """
        ends = [None if isinf(end) else self.signed(end) for end in (low, high)]
        if self.bounds is not None:
            return self.bounds(x, *ends)
        return self.cases([(self._is(x, *pair), pair[1]) for pair in binding(*ends)], x)

    def between(self, x: str, points: Sequence[tuple[float, float]]) -> str:
        """Spell a function that is linear between points, held at the outer two.

        The last piece comes last: whatever is not a number stays so.

        Examples
        --------
        >>> Notation(repr, str).between("x", [(1.0, 0.0), (3.0, 0.5), (4.0, 2.0)])
        '(x < 1.0 ? 0.0 : x > 4.0 ? 2.0 : x < 3.0 ? 0.0 + 0.25*(x - 1.0) : 0.5 + 1.5*(x - 3.0))'
        """
        (first, low), (last, high) = points[0], points[-1]
        cases = [(self._is(x, "<", self.signed(first)), self.signed(low))]
        cases += [(self._is(x, ">", self.signed(last)), self.signed(high))]
        pieces = [self._piece(x, *pair) for pair in pairwise(points)]
        inner = [self._is(x, "<", self.signed(knot)) for knot, _ in points[1:-1]]
        return self.cases([*cases, *zip(inner, pieces[:-1], strict=True)], pieces[-1])

    def _is(self, x: str, sign: str, end: str) -> str:
        return f"{x}{self.gap}{sign}{self.gap}{end}"

    def _piece(self, x: str, begin: tuple[float, float], end: tuple[float, float]) -> str:
        slope = self.number((end[1] - begin[1]) / (end[0] - begin[0]))
        sign = "+" if begin[0] < 0 else "-"
        inner = f"{x}{self.gap}{sign}{self.gap}{self.number(abs(begin[0]))}"
        return f"{self.signed(begin[1])}{self.gap}+{self.gap}{slope}*({inner})"

    def signed(self, value: float) -> str:
        """Spell a number of either sign."""
        text = self.number(abs(value))
        return f"(-{text})" if value < 0 else text


def spelled(text: str, coordinate: Coordinate, notation: Notation) -> str:
    """Spell the coordinate of one feature, ``text`` itself where that is the same.

    Examples
    --------
    >>> parts = Coordinate(-2.0, 5.0), Coordinate(2.0), Coordinate()
    >>> [spelled("x", part, Notation(repr, str)) for part in parts]
    ['(x + 2.0)/5.0', 'x - 2.0', 'x']
    """
    center, scale = coordinate.center, coordinate.scale
    text = _curved(text, coordinate.function, notation)
    sign = "+" if center < 0 else "-"
    shifted = f"{text}{notation.gap}{sign}{notation.gap}{notation.number(abs(center))}"
    if scale == 1:
        return shifted if center else text
    return f"{f'({shifted})' if center else text}/{notation.number(scale)}"


def _curved(text: str, function: Function, notation: Notation) -> str:
    """Hold a value at its bounds and apply the function."""
    if function.points:  # they hold it themselves
        template = function.template(notation.language)
        return template.format(x=text) if template else notation.between(text, function.points)
    if function.is_bounded:
        text = notation.held(text, function.low, function.high)
    if isinstance(function, Identity):
        return text
    return spelling_of(function, notation.language).format(x=text)


def spelling_of(function: Function, language: str) -> str:
    """Look up how a language writes a function."""
    template = function.template(language)
    if template is None:
        raise unspelled(function, language)
    return template


def unspelled(function: Function, language: str) -> InvalidInputError:
    """Say that a language does not know a function, and which ones do."""
    known = [*function.spelling, *(["onnx"] if function.onnx else [])]
    return InvalidInputError(
        f"The function {function.kind!r} of a column cannot be written in {language}.",
        where="poly.inputs",
        expected=f"one of {', '.join(known)}" if known else "a function with a spelling",
        remedy="export to another language, or convert without that transform",
    )


def setup_of(inputs: Inputs, nodes: Sequence[Node], language: str) -> list[str]:
    """List the lines that a language needs in front, for the functions of columns that occur.

    Examples
    --------
    >>> setup_of(Inputs.of(["t"]), [Monomial(2.0, (0,))], "c")
    []
    """
    functions = [inputs.coordinates[i].function for i in used_variables(*nodes)]
    lines = [f.setup[language] for f in functions if language in f.setup]
    return list(dict.fromkeys(lines))


def inlined(poly: Explicit) -> Explicit:
    """Move the scales into the coefficients, for languages that repeat (x - center) / scale.

    Unlike moving the centers, this only multiplies each coefficient: nothing can cancel. Where
    one could leave the range of numbers, the polynomial stays as it is.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = inlined(Polynomial([[1.0], [2.0], [3.0]], 2, ["t"], center=20.0, scale=2.0))
    >>> poly.coefficients.ravel(), poly.center, poly.scale
    (array([1.  , 1.  , 0.75]), array([20.]), array([1.]))
    """
    values = np.concatenate([region.polynomial.coefficients.ravel() for region in poly.regions])
    sizes = np.log10(np.abs(values[values != 0]))
    scales = poly.inputs.scale
    reach = poly.max_order * np.abs(np.log10(scales)).max()
    if sizes.size and np.abs(sizes).max() + reach > MAX_DECADES:
        return poly
    return poly.rebase(center=poly.inputs.center)


def write(node: Node, notation: Notation, *, indent: int | None = None) -> str:
    """Print an expression, on one line or on lines of about `WIDTH` characters.

    The number of a product comes first and a sum comes before its factor: then one operand of
    every operation is a floating-point number, and integer columns cannot overflow.

    Parameters
    ----------
    node
        The expression.
    notation
        Numbers and variables of the language.
    indent
        Spaces in front of each further line; None for one line. Lines are broken between the
        parts of a sum, never inside a name.
    """
    pieces = _pieces(node, notation)
    if indent is None:
        return notation.gap.join(pieces)
    return ("\n" + " " * indent).join(_lines(pieces, WIDTH - indent))


def _pieces(node: Node, notation: Notation) -> list[str]:
    """Cut an expression where a line may be broken: in front of a sign."""
    if isinstance(node, Monomial):
        number = notation.number(abs(node.coefficient))
        sign = "-" if node.coefficient < 0 else ""
        return [sign + number + _factors(node.variables, notation)]
    if isinstance(node, Factored):
        return _bracketed(_pieces(node.rest, notation), _factors(node.variables, notation))
    pieces: list[str] = []
    for part in node.parts:
        more = _pieces(part, notation)
        if isinstance(part, Sum):
            more = _bracketed(more)
        if pieces:
            more[0] = _continued(more[0], notation.gap)
        pieces += more
    return pieces


def _continued(piece: str, gap: str) -> str:
    """Put a sign in front: never two in a row, which begin a comment in SQL."""
    return f"-{gap}{piece[1:]}" if piece.startswith("-") else f"+{gap}{piece}"


def _bracketed(pieces: list[str], behind: str = "") -> list[str]:
    pieces[0] = "(" + pieces[0]
    pieces[-1] += ")" + behind
    return pieces


def _factors(variables: tuple[int, ...], notation: Notation) -> str:
    return "".join("*" + notation.variable(i) for i in variables)


def _lines(pieces: list[str], width: int) -> list[str]:
    lines, length = [pieces[:1]], len(pieces[0])
    for piece in pieces[1:]:
        if length + 1 + len(piece) > width:
            lines.append([])
            length = -1
        lines[-1].append(piece)
        length += 1 + len(piece)
    return [" ".join(line) for line in lines]
