"""Names as a reader meets them in a figure: wrapped, shortened, never taken for mathematics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nn2poly.formula.term_names import output_index
from nn2poly.plots.shortening import broken, shorten_together

if TYPE_CHECKING:
    from nn2poly.formula.piecewise import Explicit

# Characters of a line, which leave half of one column for bars; lines of one label (taste).
WIDTH, LINES = 24, 4
# Numbers are written to the unit below the first, and without an exponent below the second (taste).
TO_THE_UNIT, LARGEST_NUMBER = 1e6, 1e9
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(text: str) -> str:
    r"""Escape what matplotlib would read as mathematics; line breaks become spaces.

    Examples
    --------
    >>> print(plain("price_$ in {k$}"))
    price_\$ in {k\$}
    """
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")


def axis_labels(names: Sequence[str], width: int = WIDTH, lines: int = LINES) -> list[str]:
    """Write all names of one axis, each in a few lines; shortened ones still differ.

    Examples
    --------
    >>> axis_labels(["sex=male", "sex=female"], 7, 1)
    ['se…male', '…female']
    >>> print(axis_labels(["average number of rooms per dwelling"], 20)[0])
    average number of
    rooms per dwelling
    """
    short = shorten_together(names, width, lines)
    return [plain_lines(broken(text, width)) for text in short]


def wrap(name: str, width: int = WIDTH, lines: int = LINES) -> str:
    """Write one name that stands by itself in a few lines; those of an axis: `axis_labels`.

    Examples
    --------
    >>> print(wrap("average number of rooms per dwelling", 20, lines=1))
    average numb…welling
    """
    return axis_labels([name], width, lines)[0]


def plain_lines(rows: Sequence[str]) -> str:
    """Join lines, each without spaces around it and escaped."""
    return "\n".join(plain(row).strip() for row in rows)


def term_label(
    term: Sequence[int], names: Sequence[str], width: int = WIDTH, lines: int = LINES
) -> str:
    """Spell one term that stands by itself; those of an axis: `term_labels`.

    Examples
    --------
    >>> names = ("rm", "lower status of the population")
    >>> term_label((), names), term_label((0, 0), names)
    ('intercept', 'rm²')
    """
    return term_labels([term], names, width, lines)[0]


def term_labels(
    terms: Sequence[Sequence[int]],
    names: Sequence[str],
    width: int = WIDTH,
    lines: int = LINES,
) -> list[str]:
    r"""Spell the terms of one axis, factors one below the other when they are long.

    Examples
    --------
    >>> names = ("rm", "lower status of the population")
    >>> print(*term_labels([(0,), (0, 1)], names), sep="\n")
    rm
    rm
    × lower status of the
    population
    """
    used = list(dict.fromkeys(i for term in terms for i in term))

    @cache
    def short(width: int, lines: int) -> dict[int, str]:
        together = shorten_together([names[i] for i in used], width, lines)
        return dict(zip(used, together, strict=True))

    labels = [_term_text(term, names, short, width, lines) for term in terms]
    # Two names of different length, each with room of its own, may by chance look alike.
    counts = Counter(labels)
    return [text if counts[text] == 1 else f"{i} {text}" for i, text in enumerate(labels, 1)]


def _term_text(
    term: Sequence[int],
    names: Sequence[str],
    short: Callable[[int, int], dict[int, str]],
    width: int,
    lines: int,
) -> str:
    """Spell a term; ``short`` gives the names of the axis in lines of some letters."""
    if not term:
        return "intercept"
    powers = {i: _power(term.count(i)) for i in dict.fromkeys(term)}
    whole = " × ".join(names[i] + power for i, power in powers.items())
    if len(powers) > 1 and len(whole) <= width:
        return plain_lines([whole])
    if lines < len(powers):
        # Too low for one line each: every factor gets its share of what there is.
        share = max(4, (width * max(lines, 1)) // len(powers) - 3)
        text = " × ".join(short(share - len(p), 1)[i] + p for i, p in powers.items())
        return plain_lines(broken(text, width + 2))
    needs = [len(broken(names[i] + power, width)) for i, power in powers.items()]
    shares = _share(needs, lines)
    return "\n× ".join(
        plain_lines(broken(short(width - len(p), m)[i], width - len(p))) + p
        for (i, p), m in zip(powers.items(), shares, strict=True)
    )


def _share(needs: list[int], lines: int) -> list[int]:
    """Give each factor a line, and the lines that are left to those that need them."""
    shares = [1] * len(needs)
    for _ in range(lines - len(needs)):
        wanting = [i for i, need in enumerate(needs) if shares[i] < need]
        if wanting:
            shares[min(wanting, key=lambda i: shares[i])] += 1
    return shares


def _power(power: int) -> str:
    return "" if power == 1 else str(power).translate(_SUPERSCRIPTS)


def output_label(poly: Explicit, output: int | str, *, length: int = 40, kind: str = "raw") -> str:
    """Name an output; that of a classifier, and of a target with a link, is raw, before the link.

    Examples
    --------
    >>> from nn2poly.formula.polynomial import Polynomial
    >>> output_label(Polynomial([[0.0], [1.0]], 1, ["t"], ["ill"], link="sigmoid"), 0)
    'ill (logit)'
    """
    names = poly.outputs.names_on(kind)
    name = axis_labels(names, length, 1)[output_index(output, poly.output_names)]
    return name + (" (logit)" if poly.outputs.is_classifier and kind == "raw" else "")


def number(value: float) -> str:
    """Write a number in three digits, a larger one to the unit, with a true minus sign.

    Examples
    --------
    >>> number(-0.01234), number(2268.4), number(-1234567.0)
    ('−0.0123', '2,268', '−1,230,000')
    """
    size = abs(value)
    if not 999.5 <= size < LARGEST_NUMBER:
        text = f"{value:.3g}"
    elif size < TO_THE_UNIT:
        text = f"{value:,.0f}"
    else:
        text = f"{float(f'{value:.3g}'):,.0f}"
    return text.replace("-", "−")
