"""LaTeX: the terms written out, rounded, for a paper or a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from math import isinf

import numpy as np

from nn2poly.algebra.terms import Term
from nn2poly.arguments import check_count
from nn2poly.export.horner import check_writable
from nn2poly.export.rounding import coefficient_errors, digits_within, raw_error
from nn2poly.export.writing import spelling_of
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.protocol import Region
from nn2poly.formula.region_tree import Between, level_names
from nn2poly.inputs import Coordinate, Inputs
from nn2poly.inputs.functions import Identity, Power

ESCAPES = {
    "\\": r"{\backslash}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "^": r"{\wedge}",
    "~": r"{\sim}",
    # Prime, minus and quotes are other signs in formulas than in words.
    "'": r"\text{'}",
    "-": r"\text{-}",
    "`": r"\text{`}",
    '"': r"\text{''}",
}
# Whole numbers of more digits are written with a power of ten, as "%g" does.
WHOLE_DIGITS = 6


def latex(poly: Explicit, *, digits: int = 4, width: int = 80) -> dict[str, str]:
    r"""Write each output as a LaTeX formula, rounded, long sums broken over lines.

    Each is an ``aligned`` environment (amsmath; MathJax and KaTeX know it too) to put between
    ``\[`` and ``\]``. Terms stand in graded order; standardised features appear as z with
    the feature as its index, and are defined below the formula. With regions the formula is a
    list of cases, and the polynomial of each follows. Letters beyond Latin need
    XeLaTeX or LuaLaTeX. A formula of many terms is not a formula to read: ``poly.prune`` first.

    Parameters
    ----------
    poly
        The polynomial; classifiers give raw outputs, before the link.
    digits
        Significant digits of the coefficients. Numbers that need more have more: the formula as
        printed is off by about 10^(1 - digits) of the output's spread at most.
    width
        About how many characters a line holds.

    Returns
    -------
    dict
        Formula by output name.

    Raises
    ------
    InvalidInputError
        When ``poly`` is not a polynomial, has no terms or too many.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0], [-2.5e-7], [3.14159]], 2, ["rm"], ["price"])
    >>> print(latex(poly)["price"])
    \begin{aligned}
    \mathrm{price} ={}& 1 - 2.5 \times 10^{-7}\,\mathrm{rm} + 3.142\,\mathrm{rm}^{2}
    \end{aligned}
    """
    check_writable(poly)
    digits = check_count(digits, where="digits")
    width = check_count(width, where="width")
    page = _Page(poly.inputs, digits, width)
    result = {}
    for column, name in enumerate(poly.output_names):
        body = " \\\\\n".join(_formula_lines(poly, column, _of(poly, name), page))
        result[name] = f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
    return result


@dataclass(frozen=True)
class _Page:
    """How features are called, and how much stands on a line."""

    inputs: Inputs
    digits: int
    width: int

    @cached_property
    def raw(self) -> list[str]:
        return [symbol(name) for name in self.inputs.feature_names]

    @cached_property
    def moved(self) -> list[bool]:
        return [not coordinate.is_plain for coordinate in self.inputs.coordinates]

    @cached_property
    def own(self) -> list[str]:
        return [f"z_{{{x}}}" if m else x for x, m in zip(self.raw, self.moved, strict=True)]

    def definition(self, i: int) -> str:
        coordinate = self.inputs.coordinates[i]
        return f"{self.own[i]} ={{}}& {_definition(self.raw[i], coordinate, self.digits)}"

    def threshold_error(self, column: int) -> float:
        """Give a share of the range of a column; 0 where that is unknown."""
        ranges = self.inputs.columns[column].ranges
        return 0.0 if ranges is None else 10.0**-self.digits * (ranges[0][1] - ranges[0][0])

    def table_lines(self, i: int) -> list[str]:
        coordinate = self.inputs.coordinates[i]
        return _table_lines(self.raw[i], coordinate, self.digits, self.width)


def _formula_lines(poly: Explicit, column: int, name: str, page: _Page) -> list[str]:
    """Write one output: with regions the cases first, then the formula of each."""
    several = len(poly.regions) > 1
    lines = [f"{name} ={{}}& {_cases(poly, page)}"] if several else []
    used: set[int] = set()
    errors = coefficient_errors(poly, column, page.digits)
    for region, allowed in zip(poly.regions, errors, strict=True):
        part = region.polynomial
        values, terms = part.coefficients[:, column], list(part.terms)
        kept = np.flatnonzero(values).tolist()
        numbers = [_near(float(values[k]), allowed[k], page.digits) for k in kept]
        products = [_product(terms[k], page.own) for k in kept]
        used |= {i for k in kept for i in terms[k] if page.moved[i]}
        head = _piece(region.number) if several else name
        lines += _sum_lines(head, list(zip(numbers, products, strict=True)), page.width)
    lines += map(page.definition, sorted(used))
    return [*lines, *(line for i in sorted(used) for line in page.table_lines(i))]


def _piece(number: int) -> str:
    return f"f^{{({number})}}"


def _cases(poly: Explicit, page: _Page) -> str:
    rows = [
        rf"{_piece(region.number)} & \text{{if }} {_condition(region, page)}"
        for region in poly.regions
    ]
    return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"


def _condition(region: Region, page: _Page) -> str:
    parts = []
    for column, meets in region.conditions.items():
        name = symbol(page.inputs.columns[column].name)
        if isinstance(meets, Between):
            parts.append(_between(name, meets, page.threshold_error(column)))
            continue
        names = level_names(page.inputs, column)
        levels = r",\, ".join(symbol(names[k]) for k in meets.levels)
        parts.append(rf"{name} \in \{{{levels}\}}")
    return r",\ ".join(parts)


def _between(name: str, meets: Between, error: float) -> str:
    low, high = (_near(end, error) for end in (meets.low, meets.high))
    if isinf(meets.low):
        return f"{name} < {high}"
    return rf"{name} \ge {low}" if isinf(meets.high) else rf"{low} \le {name} < {high}"


def _of(poly: Explicit, name: str) -> str:
    """Spell what the formula is of: the output, or the function of it that is the link."""
    spelled = {"log": r"\log({})", "log1p": r"\log(1 + {})", "sqrt": r"\sqrt{{{}}}"}
    spelled |= {"inverse": r"1 / {}", "exp": r"\exp({})"}
    return spelled.get(poly.link, "{}").format(symbol(name))


def symbol(name: str) -> str:
    r"""Spell a name inside a formula: letters with a number as in x_1, others upright.

    Examples
    --------
    >>> print(symbol("x12"), symbol("a b_c"), symbol("größe"), symbol("50%"))
    x_{12} \mathrm{a\ b\_c} \mathrm{gr\text{öß}e} \mathrm{50\%}
    """
    if found := re.fullmatch(r"([A-Za-z])([0-9]*)", name):
        letter, number = found.groups()
        return f"{letter}_{{{number}}}" if number else letter
    return rf"\mathrm{{{''.join(map(_escape_run, re.split(r'([^ -~]+)', name)))}}}"


def _escape_run(run: str) -> str:
    """Escape letters that are all ASCII or all beyond; what cannot be printed becomes a space."""
    if run.isascii() and run.isprintable():
        return "".join(map(_escape, run))
    return "".join(
        rf"\text{{{''.join(letters)}}}" if printable else r"\ "
        for printable, letters in groupby(run, key=str.isprintable)
    )


def _escape(letter: str) -> str:
    if letter.isalnum():
        return letter
    # In braces a sign is an ordinary letter, without the space around operators.
    return r"\ " if letter == " " else ESCAPES.get(letter, f"{{{letter}}}")


def _product(term: Term, names: list[str]) -> str:
    powers = [(names[i], len(list(group))) for i, group in groupby(term)]
    return r"\,".join(name if n == 1 else f"{name}^{{{n}}}" for name, n in powers)


def _sum_lines(output: str, parts: list[tuple[str, str]], width: int) -> list[str]:
    """Break the sum in front of signs; the first line begins with the output."""
    lines = [f"{output} ={{}}&"]
    length = 0
    for k, (number, product) in enumerate(parts or [("0", "")]):
        sign = "-" if number.startswith("-") else "+" if k else ""
        part = _part(number.removeprefix("-"), product)
        more = _visible(part) + 3
        if length and length + more > width:
            lines.append("&")
            length = 0
        if not k:  # in braces: the sign of the number, not a difference
            lines[-1] += f" {{-}}{part}" if sign else f" {part}"
        else:  # {} at the beginning of a line: a difference, not the sign of the number
            lines[-1] += f" {sign} {part}" if length else f" {{}} {sign} {part}"
        length += more
    return lines


def _part(number: str, product: str) -> str:
    if not product:
        return number
    if number == "1":
        return product
    # A name that begins with a digit would read as more digits.
    is_numeric = re.match(r"\\mathrm\{[0-9]", product)
    return rf"{number} \cdot {product}" if is_numeric else rf"{number}\,{product}"


def _visible(text: str) -> int:
    return len(re.sub(r"\\[A-Za-z]+|[{}\\^_]", "", text))


def _definition(feature: str, coordinate: Coordinate, digits: int) -> str:
    center, scale = coordinate.center, coordinate.scale
    error = scale * 10.0**-digits
    text = _curved(feature, coordinate, digits)
    sign = "+" if center < 0 else "-"
    moved = abs(center) > error
    shifted = f"{text} {sign} {_near(abs(center), error)}" if moved else text
    if scale == 1:
        return shifted
    return f"{f'({shifted})' if moved else shifted} / {_bracketed(_near(scale, error))}"


def _curved(text: str, coordinate: Coordinate, digits: int) -> str:
    """Hold a feature at its bounds, those that bind, and apply its function."""
    function = coordinate.function
    if function.points:  # they hold it, in a line of their own
        return spelling_of(function, "latex").format(x=text)
    for end, name in ((function.low, "max"), (function.high, "min")):
        if not isinf(end):
            number = _near(end, raw_error(coordinate, end, digits))
            text = rf"\{name}({text},\, {number})"
    if function.powers:
        return "".join(_power(text, power) for power in function.powers)
    return text if isinstance(function, Identity) else spelling_of(function, "latex").format(x=text)


def _power(text: str, power: Power) -> str:
    """Write one of the powers that a function is the sum of, with its sign.

    An exponent keeps all digits: how far it may be off depends on the values that are raised.
    """
    base, exponent = text, _near(power.exponent, 0.0)
    if power.added:
        side = text if power.sign > 0 else f"-{text}"
        side = side if power.alone else rf"\max({side},\, 0)"
        base = f"({_near(power.added, 0.0)} + {side})"
    raised = f"({base}^{{{exponent}}} - 1) / {_bracketed(exponent)}"
    written = rf"\log({base})" if power.exponent == 0.0 else raised
    return written if power.sign > 0 else f" - {written}"


def _table_lines(feature: str, coordinate: Coordinate, digits: int, width: int) -> list[str]:
    """List the points that a function joins by straight lines, those outside held at the ends."""
    points = coordinate.function.points
    if not points:
        return []
    share = 10.0**-digits
    gap = share * min(b - a for (a, _), (b, _) in pairwise(points))
    curve = _curved(feature, coordinate, digits)
    lines, length = [f"{curve} ={{}}& \\text{{linear through }}"], 24
    for x, value in points:
        point = rf"({_near(x, gap)},\, {_near(value, share * coordinate.scale)})\ "
        if length + _visible(point) > width:
            lines.append("& ")
            length = 0
        lines[-1] += point
        length += _visible(point)
    return lines


def _bracketed(number: str) -> str:
    return f"({number})" if "times" in number else number


def _near(value: float, error: float, least: int = 1) -> str:
    """Write a number with as many digits as keep it within an error, but at least so many."""
    digits = digits_within(value, error, least)
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value):.{digits}g}".partition("e")
    if not exponent:
        return sign + mantissa
    # 300 is shorter than 3e2, and true where no digit of it is made up.
    whole = f"{round(abs(value))}"
    if len(whole) <= WHOLE_DIGITS and float(f"{mantissa}e{exponent}") == float(whole):
        return sign + whole
    return sign + rf"{mantissa} \times 10^{{{int(exponent)}}}"
