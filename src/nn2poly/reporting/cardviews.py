"""Fidelity cards laid out for the page: large numbers, sources in words, tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import plural
from nn2poly.cards import FidelityCard
from nn2poly.reporting.contents import CardView, Figure
from nn2poly.reporting.numerals import number, r_squared
from nn2poly.verdicts import agreement_text, verdict_text


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
            f"Measured on the {plural(here.n_rows, 'row')} of this report. Rows that the "
            "conversion saw score too well; its own card, if it has one, tells about rows kept "
            "apart."
        )
        views.append(_view("On the rows of this report", source, here))
    if own is not None:
        kept = "never fitted" if own.held_out else "the same that were fitted: there were too few"
        source = f"Measured when the polynomial was made, on {plural(own.n_rows, 'row')}, {kept}."
        views.append(_view("The polynomial's own card", source, own))
    return tuple(views)


def _view(heading: str, source: str, card: FidelityCard) -> CardView:
    guarantee = f"{card.guarantee.text(r2='R²')}."
    verdict = verdict_text(card.verdict, r2="R²")
    return CardView(heading, source, verdict, guarantee, tuple(card.tables()))


def figures(card: FidelityCard | None, n_terms: int, n_regions: int = 1) -> tuple[Figure, ...]:
    """Pick the numbers for the top of the page.

    Examples
    --------
    >>> figures(None, 29260)
    (Figure(label='terms', value='29,260'),)
    """
    regions = (Figure("regions", number(n_regions)),) if n_regions > 1 else ()
    size = (*regions, Figure("terms", number(n_terms)))
    if card is None:
        return size
    shares = {n: o.quantiles[2] / o.spread for n, o in card.per_output.items() if o.spread > 0}
    made = [Figure("R² against the network", r_squared(card.r2))]
    if shares:
        worst = max(shares, key=shares.__getitem__)
        error = card.per_output[worst].quantiles[2]
        label = f"of its range on 95 % of rows, which is ±{number(error, 3)}"
        label += f" ({worst}, the worst output)" if len(shares) > 1 else ""
        made.append(Figure(label, f"±{number(100 * shares[worst], 3)} %"))
    if card.agreement is not None:
        made.append(Figure("of labels agree", agreement_text(card.agreement)))
    rows = "held-out rows" if card.held_out else "rows compared"
    return (*made, Figure(rows, number(card.n_rows)), *size)
