"""The card in plain language."""

from __future__ import annotations

from math import ceil, floor, isnan, log10

from nn2poly.assess.tails import Tail
from nn2poly.cards import FidelityCard

# R² from which the polynomial may speak for the network, show its main lines, or only hint.
FAITHFUL, USEFUL, ROUGH = 0.99, 0.95, 0.8
# Fewer rows than these are counted in the verdict.
FEW_ROWS = 100


def verdict(card: FidelityCard, *, tail: Tail | None = None, fitted: bool = False) -> str:
    """Say in a sentence or two how far to trust the polynomial, and where not.

    Parameters
    ----------
    card
        The numbers; its own verdict is not read.
    tail
        The few rows that carry the error, if they do.
    fitted
        The rows compared are those that the conversion fitted.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.4]], None, "tanh"), n2p.Layer([[1.0]])])
    >>> card = n2p.fidelity(net, n2p.convert(net, 1), [[i / 40] for i in range(40)])
    >>> print(verdict(card))
    Faithful (R2 0.995): follows the network to within 4.3 % of its range on 95 % of 40 rows.
    """
    if fitted:
        return _fitted(card)
    text = f"{_grade(card.r2)}: {_closeness(card)}"
    if tail is not None:
        text += f"; without the {_worst(tail)} R2 is {_digits(tail.r2)}"
    return f"{text}.{_missed(card)}{_caution(card, tail)}{_outside(card)}"


def _fitted(card: FidelityCard) -> str:
    # A good score on rows that were fitted is no merit; a bad one still is a fault.
    grade = _grade(card.r2, "Unproven" if card.r2 >= ROUGH else "")
    return (
        f"{grade}: measured on the {_counted(card.n_rows)} that it was fitted to, which promises "
        f"nothing for new ones.{_missed(card) or ' Pass more rows.'}"
    )


def _grade(r2: float, word: str = "") -> str:
    if isnan(r2):
        return "Undecided (the network's output does not vary on these rows)"
    if not word:
        limits = ((FAITHFUL, "Faithful"), (USEFUL, "Useful"), (ROUGH, "Rough"))
        word = next((name for limit, name in limits if r2 >= limit), "Not faithful")
    return f"{word} (R2 {_digits(r2)})"


def _digits(r2: float) -> str:
    """Show enough digits that 0.9997 is not called 1."""
    if r2 < 0.0:
        return f"{r2:,.0f}" if -1e6 < r2 <= -1e3 else f"{r2:.3g}"
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


def _counted(n_rows: int) -> str:
    return "1 row" if n_rows == 1 else f"{n_rows:,} rows"


def _rows(card: FidelityCard) -> str:
    return _counted(card.n_rows) if card.n_rows < FEW_ROWS else "rows"


def _closeness(card: FidelityCard) -> str:
    if card.agreement is not None and card.probability_within is not None:
        return (
            f"labels agree on {_floor(100 * card.agreement, 1)} % of rows; probabilities are "
            f"within {_ceil(card.probability_within)} of the network's on 95 % of {_rows(card)}"
        )
    if card.r2 < 0.0:
        few = f", on {_rows(card)}" if card.n_rows < FEW_ROWS else ""
        return f"further from the network, overall, than a constant would be{few}"
    return f"{_distance(card)} on 95 % of {_rows(card)}"


def _ceil(value: float) -> str:
    """Round up to two digits, and to 0.001 at least."""
    if value <= 0.001:
        return "0.001"
    unit = 10.0 ** (floor(log10(value)) - 1)
    return f"{ceil(value / unit - 1e-9) * unit:.2g}"


def _distance(card: FidelityCard) -> str:
    shares = {n: o.quantiles[2] / o.spread for n, o in card.per_output.items() if o.spread > 0}
    if not shares:
        worst = max(o.quantiles[2] for o in card.per_output.values())
        return f"follows the network to within {worst:.2g}"
    name = max(shares, key=shares.__getitem__)
    where = f" (output {name!r}, the worst)" if len(shares) > 1 else ""
    return f"follows the network to within {_percent(shares[name])} % of its range{where}"


def _worst(tail: Tail) -> str:
    return "worst row" if tail.n_rows == 1 else f"{tail.n_rows:,} worst rows"


def _missed(card: FidelityCard) -> str:
    if card.target_r2 is None or not card.path or not card.r2 < card.target_r2:
        return ""
    highest = card.path[-1][0]
    return f" No order up to {highest} reached R2 {card.target_r2:g}; this one came closest."


def _caution(card: FidelityCard, tail: Tail | None) -> str:
    """Give the one remedy that matters most."""
    if tail is not None:
        return _remedy(tail, lower=len(card.per_order) > 2)
    if _missed(card):
        return " Do not use it in place of the network." if card.r2 < ROUGH else ""
    if card.r2 < ROUGH:
        order = "another order" if card.r2 < 0.0 else "a higher order"
        return f" Do not use it in place of the network; try {order} or more data."
    if card.regions:
        worst = card.regions[0]
        return f" Take care where {worst.description}: errors are {worst.ratio:.1f} times larger."
    return ""


def _remedy(tail: Tail, *, lower: bool) -> str:
    they = "It lies" if tail.n_rows == 1 else "The worst of them lie"
    rest = f"{'lower the order, ' if lower else ''}or trust the network there."
    if not tail.columns:
        return f" Look at the {_worst(tail)}, {rest}"
    found = (f"{c.name!r} ({c.value:,.4g}; median {c.median:,.4g})" for c in tail.columns)
    such = "that column" if len(tail.columns) == 1 else "such columns"
    return f" {they} far out in {' and '.join(found)}: clip or transform {such}, {rest}"


def _outside(card: FidelityCard) -> str:
    if not card.outside:
        return ""
    lie = "lies" if card.outside == 1 else "lie"
    return f" {card.outside:,} of these rows {lie} outside the range that it was made for."
