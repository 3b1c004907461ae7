"""Names as a reader meets them in a figure: wrapped, shortened, never taken for mathematics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nn2poly.formula.term_names import output_index

if TYPE_CHECKING:
    from nn2poly.formula.piecewise import Explicit

# Characters of a line, which leave half of one column for bars; lines of one label (taste).
WIDTH, LINES = 24, 4
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(text: str) -> str:
    r"""Escape what matplotlib would read as mathematics; line breaks become spaces.

    Examples
    --------
    >>> print(plain("price_$ in {k$}"))
    price_\$ in {k\$}
    """
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")


def shorten(text: str, length: int) -> str:
    """Leave out the middle of a long name: both ends tell names apart.

    Examples
    --------
    >>> shorten("distance_to_the_nearest_station", 16)
    'distance_…tation'
    """
    if len(text) <= length:
        return text
    tail = max((length - 1) * 2 // 5, 0)
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def wrap(name: str, width: int = WIDTH, lines: int = LINES) -> str:
    """Break a name into lines after spaces, underscores and the like, and shorten the rest.

    Examples
    --------
    >>> print(wrap("average number of rooms per dwelling", 20))
    average number of
    rooms per dwelling
    >>> print(wrap("average number of rooms per dwelling", 20, lines=1))
    average numb…welling
    """
    length, rows = width * lines, _broken(name, width)
    while len(rows) > lines:
        rows, length = _broken(shorten(name, length), width), length - 1
    return plain_lines(rows)


def plain_lines(rows: Sequence[str]) -> str:
    """Join lines, each without spaces around it and escaped."""
    return "\n".join(plain(row).strip() for row in rows)


def _broken(name: str, width: int) -> list[str]:
    pieces = re.findall(r"[^\s_\-./=:,…]*[\s_\-./=:,…]*", name)
    chunks = [p[i : i + width] for p in pieces if p for i in range(0, len(p), width)]
    rows = [""]
    for chunk in chunks:
        if len((rows[-1] + chunk).rstrip()) <= width:
            rows[-1] += chunk
        else:
            rows.append(chunk)
    return [row for row in rows if row.strip()]


def distinct(names: Sequence[str], length: int) -> list[str]:
    """Shorten names to one line each; those that then look alike are numbered.

    Examples
    --------
    >>> distinct(["mean_of_a_x", "mean_of_b_x", "rm"], 8)
    ['1 mea…_x', '2 mea…_x', 'rm']
    """
    short = [shorten(name, length) for name in names]
    return [
        plain(s if short.count(s) == 1 else f"{i} {shorten(name, length - 1 - len(str(i)))}")
        for i, (name, s) in enumerate(zip(names, short, strict=True), start=1)
    ]


def term_label(
    term: Sequence[int], names: Sequence[str], width: int = WIDTH, lines: int = LINES
) -> str:
    """Spell a term for a figure, its factors one below the other when they are long.

    Examples
    --------
    >>> names = ("rm", "lower status of the population")
    >>> term_label((), names), term_label((0, 0), names)
    ('intercept', 'rm²')
    >>> print(term_label((0, 1), names))
    rm
    × lower status of the
    population
    """
    if not term:
        return "intercept"
    factors = [_power(names[i], term.count(i)) for i in dict.fromkeys(term)]
    whole = " × ".join(factors)
    if len(factors) == 1 or len(whole) <= width:
        return wrap(whole, width, lines)
    if lines < len(factors):
        # Too low for one line each: every factor gets its share of what there is.
        share = max(4, (width * max(lines, 1)) // len(factors) - 3)
        return wrap(" × ".join(shorten(f, share) for f in factors), width + 2, lines)
    shares = _share([len(_broken(factor, width)) for factor in factors], lines)
    return "\n× ".join(wrap(f, width, share) for f, share in zip(factors, shares, strict=True))


def _share(needs: list[int], lines: int) -> list[int]:
    """Give each factor a line, and the lines that are left to those that need them."""
    shares = [1] * len(needs)
    for _ in range(lines - len(needs)):
        wanting = [i for i, need in enumerate(needs) if shares[i] < need]
        if wanting:
            shares[min(wanting, key=lambda i: shares[i])] += 1
    return shares


def _power(name: str, power: int) -> str:
    return name if power == 1 else name + str(power).translate(_SUPERSCRIPTS)


def output_label(poly: Explicit, output: int | str, *, length: int = 40) -> str:
    """Name an output; that of a classifier is raw, before the link.

    Examples
    --------
    >>> from nn2poly.formula.polynomial import Polynomial
    >>> output_label(Polynomial([[0.0], [1.0]], 1, ["t"], ["ill"], link="sigmoid"), 0)
    'ill (logit)'
    """
    name = poly.output_names[output_index(output, poly.output_names)]
    raw = "" if poly.link == "identity" else " (logit)"
    return plain(shorten(name, length)) + raw


def number(value: float) -> str:
    """Write a number in three digits, with a true minus sign.

    Examples
    --------
    >>> number(-0.01234), number(12345.6)
    ('−0.0123', '1.23e+04')
    """
    return f"{value:.3g}".replace("-", "−", 1) if value < 0 else f"{value:.3g}"
