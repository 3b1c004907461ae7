"""Fidelity cards laid out for the page: large numbers, sources in words, tables."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from nn2poly.cards import FidelityCard
from nn2poly.reporting.contents import CardView, Figure
from nn2poly.reporting.numerals import agreement, number, r_squared


def numbered_as_given(card: FidelityCard, index: npt.NDArray[np.intp]) -> FidelityCard:
    """Give the worst rows their numbers in the data that were given, incomplete rows included."""
    outputs = {
        name: replace(o, worst_row=int(index[o.worst_row])) for name, o in card.per_output.items()
    }
    return replace(card, per_output=outputs)


def card_views(here: FidelityCard | None, own: FidelityCard | None) -> tuple[CardView, ...]:
    """Lay out the card measured on the rows of the report, then the polynomial's own."""
    views = []
    if here is not None:
        source = (
            f"Measured on the {_rows(here.n_rows)} of this report. Rows that the conversion saw "
            "flatter the polynomial; its own card, if it has one, tells about rows kept apart."
        )
        views.append(_view("On the rows of this report", source, here))
    if own is not None:
        kept = "never fitted" if own.held_out else "the same that were fitted: there were too few"
        source = f"Measured when the polynomial was made, on {_rows(own.n_rows)}, {kept}."
        views.append(_view("The polynomial's own card", source, own))
    return tuple(views)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _view(heading: str, source: str, card: FidelityCard) -> CardView:
    first, *others = card.tables()
    columns = tuple(_spaced(column) for column in first.columns)
    tables = (replace(first, columns=columns, note=_notes(card)), *others)
    return CardView(heading, source, _verdict(card), _spaced(f"{card.guarantee}."), tables)


def _verdict(card: FidelityCard) -> str:
    """Spell the verdict as the page does, without touching names in it."""
    # The grade comes first, the label before any region, the rows outside last.
    text = card.verdict.replace("(R2 ", "(R² ", 1)
    text = re.sub(r"(; without the [\d,]* ?worst rows? )R2 is ", r"\1R² is ", text, count=1)
    text = re.sub(r"( No order up to \d+ reached )R2 ", r"\1R² ", text, count=1)
    if card.agreement is not None:
        same = r"((?:labels agree|gives the same label) on )[\d.]+ ?%"
        text = re.sub(same, rf"\g<1>{agreement(card.agreement)}", text, count=1)
    if card.outside == 1:
        head, lie, tail = text.rpartition(" 1 of these rows lie outside ")
        text = f"{head} 1 of these rows lies outside {tail}" if lie else text
    return text


def _spaced(text: str) -> str:
    """Set a percent sign apart from its number, and square R; for text without names.

    Examples
    --------
    >>> _spaced("95% within"), _spaced("R2")
    ('95 % within', 'R2')
    """
    return re.sub(r"(?<=\d)%", " %", text).replace("(R2 is", "(R² is")


def _notes(card: FidelityCard) -> str:
    """Say below the outputs how labels agree and how many rows are outside: a line each."""
    lines = []
    if card.agreement is not None:
        difference = number(card.probability_error, 3)
        lines.append(
            f"Labels agree on {agreement(card.agreement)} of rows; probabilities differ by "
            f"{difference} on average."
        )
    if card.outside:
        verb = "lies" if card.outside == 1 else "lie"
        lines.append(f"{_rows(card.outside)} {verb} outside the calibrated range.")
    return "\n".join(lines)


def figures(card: FidelityCard | None, n_terms: int) -> tuple[Figure, ...]:
    """Pick the numbers for the top of the page.

    Examples
    --------
    >>> figures(None, 29260)
    (Figure(label='terms', value='29,260'),)
    """
    if card is None:
        return (Figure("terms", number(n_terms)),)
    shares = {n: o.quantiles[2] / o.spread for n, o in card.per_output.items() if o.spread > 0}
    made = [Figure("R² against the network", r_squared(card.r2))]
    if shares:
        worst = max(shares, key=shares.__getitem__)
        error = card.per_output[worst].quantiles[2]
        label = f"of its range on 95 % of rows, which is ±{number(error, 3)}"
        label += f" ({worst}, the worst output)" if len(shares) > 1 else ""
        made.append(Figure(label, f"±{number(100 * shares[worst], 3)} %"))
    if card.agreement is not None:
        made.append(Figure("of labels agree", agreement(card.agreement)))
    rows = "held-out rows" if card.held_out else "rows compared"
    return (*made, Figure(rows, number(card.n_rows)), Figure("terms", number(n_terms)))
