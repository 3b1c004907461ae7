"""Numbers as the page prints them."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real


def number(value: object, digits: int = 4) -> str:
    """Write a number with a few significant digits and a true minus; n/a for what is none.

    Examples
    --------
    >>> number(-0.0123456), number(1234567), number(2.0), number(float("nan")), number(3.2e-9)
    ('−0.01235', '1,234,567', '2', 'n/a', '3.2e−9')
    >>> number(2011.0), number(20110.0)
    ('2011', '20,110')
    """
    if value is None or (isinstance(value, Real) and math.isnan(float(value))):
        return "n/a"
    if isinstance(value, Integral):
        return f"{int(value):,}".replace("-", "−")
    if not isinstance(value, Real):
        return str(value)
    return _real(float(value), digits).replace("-", "−")


def bound(value: float, digits: int) -> str:
    """Write how far errors go, rounded up: what is shown must not promise more than there is.

    Examples
    --------
    >>> bound(0.1312, 2), bound(0.7255, 3), bound(75.0, 3), bound(0.0, 2)
    ('0.14', '0.726', '75', '0')
    """
    if not 1e-300 < value < math.inf:
        return number(value, digits)
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return number(math.ceil(value / unit - 1e-9) * unit, digits)


def beside(value: object, spread: object, fewest: int = 4) -> str:
    """Write a number with the digits that tell it from others, two of their spread or more.

    Of what lies near 0, as a mean may, ``fewest`` can be less: no digit behind four of the spread.

    Examples
    --------
    >>> beside(2011.504, 0.5), beside(2011.504, 0.0), beside(0.123456, 0.5), beside(None, None)
    ('2011.5', '2012', '0.1235', 'n/a')
    >>> beside(-0.0012346, 0.5), beside(-0.0012346, 0.5, fewest=1), beside(3.87, 1.9, fewest=1)
    ('−0.001235', '−0.0012', '3.87')
    """
    sizes = [float(v) if isinstance(v, Real) else 0.0 for v in (value, spread)]
    if not all(math.isfinite(size) and size for size in sizes):
        return number(value)
    size, step = (math.floor(math.log10(abs(size))) for size in sizes)
    # A double holds no more than fifteen.
    return number(value, min(15, max(fewest, min(4, size - step + 4), size - step + 2)))


def _real(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -5 < power < 7:
        group = "," if abs(value) >= 10_000 else ""  # 2011 is a year, or could be
        text = f"{value:{group}.{max(0, digits - 1 - power)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{mantissa.rstrip('0').rstrip('.')}e{power}"


def rule_text(rule: str) -> str:
    r"""Write a rule for a page: true minus signs, and a sign never parted from its number.

    Examples
    --------
    >>> rule_text("-0.5 ≤ hour < 2").replace("\u00a0", "~")
    '−0.5~≤ hour <~2'
    """
    text = re.sub(r"(?<![^ ])-(?=[\d.])", "−", rule)
    text = re.sub(r" ([<≥]) (?=[−\d.])", " \\1\u00a0", text)
    return re.sub(r"(?<=[\d.]) ≤ ", "\u00a0≤ ", text)


def prose(text: str) -> str:
    r"""Write a sentence for a page: true signs, and no number parted from its %, R², … or sign.

    Examples
    --------
    >>> prose("R² 0.99 on 95 % of rows; 'a-1' outside -3 … -1").replace("\u00a0", "~")
    "R²~0.99 on 95~% of rows; 'a-1' outside −3~…~−1"
    >>> prose("Take care where age <= 20").replace("\u00a0", "~")
    'Take care where age ≤~20'
    """
    kept = text.replace(" %", "\u00a0%").replace("R² ", "R²\u00a0").replace(" … ", "\u00a0…\u00a0")
    kept = re.sub(r"(?<![^ \u00a0(])-(?=[\d.])", "−", kept)
    kept = kept.replace(" <= ", " ≤ ").replace(" >= ", " ≥ ")
    return re.sub(r" ([<>≤≥]) (?=[−\d.])", " \\1\u00a0", kept)


def r_squared(value: float | None) -> str:
    """Write R² rounded down, with enough digits that 0.9997 is not called 1.

    Examples
    --------
    >>> r_squared(0.9876), r_squared(0.99968), r_squared(1.0), r_squared(None), r_squared(-3.2)
    ('0.987', '0.9996', '1', 'n/a', '−3.2')
    >>> r_squared(0.99)
    '0.990'
    """
    if value is None or math.isnan(value):
        return "n/a"
    if value < 0:
        return number(value, 3)
    digits = next((d for d in (3, 4, 5, 6) if not 0 < 1 - value < 10.0**-d), 6)
    # The small term undoes the rounding of numbers such as 0.29 * 100.
    down = math.floor(value * 10**digits + 1e-9) / 10**digits
    return "1" if down == 1 else f"{down:.{digits}f}"


def interval(ends: tuple[float, float] | None) -> str:
    """Write the ends of an interval of R², the lower rounded down as every R² is.

    Examples
    --------
    >>> interval((0.889, 0.99946)), interval(None)
    ('0.889 to 0.9994', 'n/a')
    """
    return "n/a" if ends is None else f"{r_squared(ends[0])} to {r_squared(ends[1])}"


def percent(share: float) -> str:
    r"""Write a share as a percentage; what is not 0 or 1 is not said to be.

    Examples
    --------
    >>> shares = 0.99996, 0.5, 0.0123, 6.69e-8, 0.0
    >>> [percent(share).replace("\u00a0", " ") for share in shares]
    ['99.99 %', '50 %', '1.23 %', '< 0.01 %', '0 %']
    """
    if 0 < share < 1e-4:
        return "<\u00a00.01\u00a0%"
    shown = math.floor(share * 10_000 + 1e-9) / 100 if share > 0.99 else round(100 * share, 2)
    return f"{shown:.2f}".rstrip("0").rstrip(".") + "\u00a0%"


def share(value: object, *, down: bool = True) -> str:
    r"""Write a share of a table, one digit behind the point; n/a for what is none.

    What is a promise is rounded down; parts of a whole are not.

    Examples
    --------
    >>> [share(value).replace("\u00a0", " ") for value in (0.95984, 1.0, 0.8, None)]
    ['95.9 %', '100 %', '80.0 %', 'n/a']
    >>> share(0.7546, down=False).replace("\u00a0", " ")
    '75.5 %'
    """
    if not isinstance(value, Real) or math.isnan(float(value)):
        return "n/a"
    # The small term undoes the rounding of numbers such as 0.29 * 100.
    shown = math.floor(1000 * float(value) + (1e-9 if down else 0.5)) / 10
    return ("100" if shown == 100 else f"{shown:.1f}") + "\u00a0%"
