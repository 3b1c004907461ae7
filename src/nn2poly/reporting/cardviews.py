"""Fidelity cards laid out for the page: large numbers, sources in words, tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import plural
from nn2poly.cards import FidelityCard
from nn2poly.reporting.contents import CardView, Figure
from nn2poly.reporting.numerals import bound, number, prose
from nn2poly.reporting.payload import are_numbers, scale_meaning, term_scale
from nn2poly.score_texts import agreement_text
from nn2poly.tables import Table
from nn2poly.verdict_texts import verdict_sentences
from nn2poly.verdicts import Observed

# Shares of the error below this are rounding (digits of a double, and some).
NO_SHARE = 1e-9
# What the tables of a card are called on the page, and what they mean; by their title.
_EXPLAINED = {
    "This polynomial cut at each order": (
        "How far terms of each order matter",
        ("terms up to order", "R2", "gain"),
        "R² of this formula when terms above an order (products of more than so many inputs, or "
        "higher powers) are left out.",
    ),
    "Where the error enters": (
        "Which layer the error comes from",
        ("layer of the network", "share of error"),
        "The conversion first replaces the activations of each layer by polynomials; this is how "
        "much of the error each layer brought then, before any fit to the network's outputs.",
    ),
}
# What a grade allows, as docs/fidelity.md has it; the verdict says itself what to do with others.
_ALLOWS = {
    "faithful": "Faithful means that the formula may speak for the network.",
    "useful": "Useful means that most predictions are close; check single ones with the network.",
    "rough": "Rough means a first impression: regions, more terms or a higher order may come "
    "closer to the network.",
}
# The same of effects.
_SHOWS = {
    "faithful": "Importance, effects and directions may be read as the network's.",
    "useful": "Main effects and directions may be read as the network's; small ones may differ.",
}
# Heads in the words of the page: units beside what they divide, and no second kind of region.
_HEADS = {"/ sd": "RMSE / sd", "/ IQR": "95 % / IQR", "region": "where"}
# And what the page calls the formula everywhere else.
_TITLES = {"Labels of the polynomial": "Labels of the formula"}


def numbered_as_given(card: FidelityCard, index: npt.NDArray[np.intp]) -> FidelityCard:
    """Give the worst rows their numbers in the data that were given, incomplete rows included."""
    outputs = {
        name: replace(o, worst_row=int(index[o.worst_row])) for name, o in card.per_output.items()
    }
    return replace(card, per_output=outputs)


def card_views(
    here: FidelityCard | None, own: FidelityCard | None, link: str = "sigmoid"
) -> tuple[CardView, ...]:
    """Lay out the card measured on the rows of the report, then the polynomial's own.

    ``link`` is that of a classifier; others have no need of it.
    """
    views = []
    if here is not None:
        source = (
            f"Measured on the {plural(here.n_rows, 'row')} of this report. Rows that the "
            "conversion saw score too well; its own card, if it has one, tells about rows kept "
            "apart."
        )
        views.append(_view("On the rows of this report", source, here, link))
    if own is not None:
        kept = "never fitted" if own.held_out else "the same that were fitted: there were too few"
        source = f"Measured when the formula was made, on {plural(own.n_rows, 'row')}, {kept}."
        views.append(_view("The formula's own card", source, own, link))
    return tuple(views)


def _view(heading: str, source: str, card: FidelityCard, link: str) -> CardView:
    """Lay out one card; what was observed is told of the network, not in its verdict."""
    reasons = tuple(r for r in card.verdict.reasons if not isinstance(r, Observed))
    verdict, *care = verdict_sentences(replace(card.verdict, reasons=reasons), r2="R²")
    tables = [_explained(table) for table in card.tables()]
    if card.agreement is not None:
        first, scale = tables[0], f"{term_scale(link)}, the scale on which terms add up"
        meaning = f"Errors are in {scale}: {scale_meaning(link)}."
        tables[0] = replace(first, note="\n".join(filter(None, [meaning, first.note])))
    told = (_ALLOWS.get(card.verdict.grade, ""), _SHOWS.get(card.verdict.effects or "", ""))
    meaning = " ".join(filter(None, told))
    return CardView(
        heading, source, verdict, meaning, " ".join(care), promise(card, link), tuple(tables)
    )


def promise(card: FidelityCard | None, link: str = "sigmoid") -> str:
    """Word the guarantee of a card, every output by its name."""
    if card is None:
        return ""
    names = tuple(card.per_output)
    if card.agreement is not None and are_numbers(names):
        names = tuple(f"class {name}" for name in names)
    text = f"{card.guarantee.text(r2='R²', names=names)}."
    text = text[:1].upper() + text[1:]
    if card.agreement is None or not card.guarantee.bounds:
        return text
    text = text.replace(" (each output by itself)", "")
    each = " (each class by itself)" if len(card.guarantee.bounds) > 1 else ""
    return text.replace(" of the network", f" of the network in {term_scale(link)}{each}", 1)


def _explained(table: Table) -> Table:
    """Give a table of a card the words of the page, what is rounding as 0, and no empty column."""
    note = table.note.replace("R2 ", "R² ")
    if table.title not in _EXPLAINED:
        return replace(_filled(table), note=note)
    title, head, meaning = _EXPLAINED[table.title]
    rows = tuple(tuple(_settled(value) for value in row) for row in table.rows)
    note = "\n".join(filter(None, [meaning, note]))
    return Table(title, head, rows, note=note)


def _filled(table: Table) -> Table:
    """Leave out columns that no row fills, and say once what all heads of labels begin with."""
    kept = [
        k
        for k in range(len(table.columns))
        if not table.rows or any(row[k] is not None for row in table.rows)
    ]
    head = [_HEADS.get(table.columns[k], table.columns[k]) for k in kept]
    if head[0] == "true label":
        head = ["true\u00a0↓ given\u00a0→", *(name.removeprefix("given ") for name in head[1:])]
    rows = (tuple(prose(v) if isinstance(v, str) else v for v in row) for row in table.rows)
    if head[0] == "model":
        rows = (("formula" if r[0] == "polynomial" else r[0], *r[1:]) for r in rows)
    cells = tuple(tuple(r[k] for k in kept) for r in rows)
    return replace(
        table, title=_TITLES.get(table.title, table.title), columns=tuple(head), rows=cells
    )


def _settled(value: object) -> object:
    return 0.0 if isinstance(value, float) and abs(value) < NO_SHARE else value


def figures(card: FidelityCard | None, n_terms: int, n_regions: int = 1) -> tuple[Figure, ...]:
    """Pick the numbers that tell how faithful the formula is, beside R².

    Examples
    --------
    >>> figures(None, 29260)
    (Figure(label='terms', value='29,260'),)
    """
    where = f" in {n_regions} regions" if n_regions > 1 else ""
    size = Figure(f"terms{where}", number(n_terms))
    if card is None:
        return (size,)
    made: list[Figure] = []
    if card.agreement is not None:
        made.append(Figure("of labels agree", agreement_text(card.agreement)))
        within = card.probability_within
        made += [] if within is None else [_within_figure(within)]
    elif error := _largest_error(card):
        made.append(error)
    return (*made, size)


def _within_figure(within: float) -> Figure:
    return Figure("in probability on 95 % of rows", f"±{bound(within, 2)}")


def _largest_error(card: FidelityCard) -> Figure | None:
    shares = {n: o.quantiles[2] / o.spread for n, o in card.per_output.items() if o.spread > 0}
    if not shares:
        return None
    worst = max(shares, key=shares.__getitem__)
    error = card.per_output[worst].quantiles[2]
    label = f"on 95 % of rows, {number(100 * shares[worst], 2)} % of its range"
    label += f" ({worst}, the worst output)" if len(shares) > 1 else ""
    return Figure(label, f"±{bound(error, 3)}")
