"""The card in plain language."""

from __future__ import annotations

from math import floor, isnan

from nn2poly.cards import OutputFidelity, Region

# R² from which the polynomial may speak for the network, show its main lines, or only hint.
FAITHFUL, USEFUL, ROUGH = 0.99, 0.95, 0.8


def verdict(
    r2: float,
    agreement: float | None,
    per_output: dict[str, OutputFidelity],
    regions: tuple[Region, ...],
    outside: int,
) -> str:
    """Say in two sentences how far to trust the polynomial, and where not.

    Examples
    --------
    >>> output = OutputFidelity(0.999, 0.1, 0.5, 3, 10.0, (0.05, 0.1, 0.12, 0.2))
    >>> print(verdict(0.999, None, {"y": output}, (), 0))
    Faithful (R2 0.999): follows the network to within 1.2 % of its range on 95 % of rows.
    """
    text = f"{_grade(r2)}: {_distance(per_output)} on 95 % of rows"
    if agreement is not None:
        text += f" and gives the same label on {_floor(100 * agreement, 1)}%"
    return f"{text}.{_caution(r2, regions, outside)}"


def _grade(r2: float) -> str:
    if isnan(r2):
        return "Undecided (the network's output does not vary on these rows)"
    if r2 >= FAITHFUL:
        word = "Faithful"
    elif r2 >= USEFUL:
        word = "Useful"
    else:
        word = "Rough" if r2 >= ROUGH else "Not faithful"
    return f"{word} (R2 {_digits(r2)})"


def _digits(r2: float) -> str:
    """Show enough digits that 0.9997 is not called 1."""
    if r2 < 0.0:
        return f"{r2:.3g}"
    for digits in (3, 4, 5, 6):
        if 1.0 - r2 >= 10.0**-digits:
            return _floor(r2, digits)
    return "above 0.999999"


def _floor(value: float, digits: int) -> str:
    """Round down: what is shown must not promise more than there is."""
    # The small term undoes the rounding of numbers such as 0.29 * 100.
    return f"{floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def _distance(per_output: dict[str, OutputFidelity]) -> str:
    shares = {n: o.quantiles[2] / o.spread for n, o in per_output.items() if o.spread > 0}
    if not shares:
        worst = max(o.quantiles[2] for o in per_output.values())
        return f"follows the network to within {worst:.2g}"
    name = max(shares, key=shares.__getitem__)
    where = f" (output {name!r}, the worst)" if len(shares) > 1 else ""
    return f"follows the network to within {_percent(shares[name])} % of its range{where}"


def _caution(r2: float, regions: tuple[Region, ...], outside: int) -> str:
    parts = []
    if r2 < ROUGH:
        parts.append(" Do not use it in place of the network; try a higher order or more data.")
    elif regions:
        worst = regions[0]
        parts.append(
            f" Take care where {worst.description}: errors are {worst.ratio:.1f} times larger."
        )
    if outside:
        parts.append(f" {outside:,} of these rows lie outside the range that it was made for.")
    return "".join(parts)
