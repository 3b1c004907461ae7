"""R² and shares as text, rounded so that they promise no more than there is."""

from __future__ import annotations

from math import ceil, floor, log10


def r2_text(r2: float) -> str:
    """Show enough digits of R² that 0.9997 is not called 1, rounded down.

    Examples
    --------
    >>> r2_text(0.99968), r2_text(-2804.2)
    ('0.9996', '-2,804')
    """
    if r2 < 0.0:
        return f"{r2:,.0f}" if -1e6 < r2 <= -1e3 else f"{r2:.3g}"
    for digits in (3, 4, 5, 6):
        if 1.0 - r2 >= 10.0**-digits:
            return rounded_down(r2, digits)
    return "above 0.999999"


def agreement_text(share: float) -> str:
    """Write the share of equal labels, rounded down to one digit.

    Examples
    --------
    >>> agreement_text(0.95984), agreement_text(1.0), agreement_text(0.9999)
    ('95.9 %', '100 %', '99.9 %')
    """
    return rounded_down(100 * share, 1).removesuffix(".0") + " %"


def rounded_down(value: float, digits: int) -> str:
    """Round down: what is shown must not promise more than there is."""
    # The small term undoes the rounding of numbers such as 0.29 * 100.
    return f"{floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def rounded_up(value: float) -> str:
    """Round up to two digits, and to 0.001 at least."""
    if value <= 0.001:
        return "0.001"
    unit = 10.0 ** (floor(log10(value)) - 1)
    return f"{ceil(value / unit - 1e-9) * unit:.2g}"
