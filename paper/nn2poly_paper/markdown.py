"""Numbers and tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isfinite
from statistics import median

NO_SERIES = "no series"
# What may stand in a column of numbers besides digits.
_UNITS = re.compile(r"overflow|(?<=\d)e-?\d+| MB| min| s\b")


def markdown(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Write a table; numbers stand to the right.

    Examples
    --------
    >>> print(markdown(("term", "value"), [("x1", "0.5")]))
    | term | value |
    |---|--:|
    | x1 | 0.5 |
    """
    rows = [tuple(str(cell).replace("|", "\\|") for cell in row) for row in body]
    sides = ["--:" if rows and all(_numeric(row[k]) for row in rows) else "---"
             for k in range(len(head))]  # fmt: skip
    lines = [" | ".join(head), "|".join(sides), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" if k != 1 else f"|{line}|" for k, line in enumerate(lines))


def scientific(value: float | str) -> str:
    """Write a number with three digits and a short exponent.

    Examples
    --------
    >>> scientific(2.31e-4), scientific(0.0)
    ('2.31e-4', '0')
    >>> scientific(float("inf"))
    'overflow'
    """
    number = float(value)
    if number == 0 or not isfinite(number):
        return "0" if number == 0 else "overflow"
    digits, exponent = f"{number:.2e}".split("e")
    return f"{digits}e{int(exponent)}" if int(exponent) else digits


def spread(values: Iterable[str]) -> str:
    """Write the median and, in brackets, the ends of what is known.

    Examples
    --------
    >>> spread(["0.1", "", "0.3", "0.2"])
    '0.2 (0.1 – 0.3)'
    """
    known = [float(value) for value in values if value]
    if not known:
        return NO_SERIES
    return f"{short(median(known))} ({short(min(known))} – {short(max(known))})"


def between(values: Iterable[str]) -> str:
    """Write the ends of what is known.

    Examples
    --------
    >>> between(["0.1", "0.3"]), between([""])
    ('0.1 – 0.3', 'no series')
    """
    known = [float(value) for value in values if value]
    return f"{short(min(known))} – {short(max(known))}" if known else NO_SERIES


def short(value: float | str) -> str:
    """Write a number with three digits, with an exponent only where it saves zeros.

    Examples
    --------
    >>> short("0.0025"), short(9549.1)
    ('0.0025', '9.55e3')
    """
    number = float(value)
    if number and not 1e-3 <= abs(number) < 999.5:
        return scientific(number)
    return f"{number:.3g}"


def decimal(value: str) -> str:
    """Write a number with the six decimals of the paper's Table IV, if they show any of it.

    Examples
    --------
    >>> decimal("4.5e-3"), decimal("4.58e-7")
    ('0.004500', '4.58e-7')
    """
    return f"{float(value):.6f}" if float(value) >= 1e-6 else scientific(value)


def megabytes(n_bytes: str) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> megabytes("5267381032"), megabytes("79256")
    ('5,267 MB', '0.0793 MB')
    """
    size = float(n_bytes) / 1e6
    return f"{size:,.0f} MB" if size >= 100 else f"{short(size)} MB"


def _numeric(cell: str) -> bool:
    return cell == NO_SERIES or not any(c.isalpha() for c in _UNITS.sub("", cell))
