"""The top of the page: how good the network is, and how faithful the formula, each said once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nn2poly.arguments import plural
from nn2poly.cards import FidelityCard, LabelFidelity
from nn2poly.reporting.contents import Badge, Figure
from nn2poly.reporting.failures import Measured
from nn2poly.reporting.numerals import interval
from nn2poly.score_texts import agreement_text
from nn2poly.tables import Table
from nn2poly.verdicts import MIN_JUDGED, Observed

# From the best to the worst. Others are no grades, and do not contradict one.
_BEST_FIRST = ("faithful", "useful", "rough", "not faithful")
_WORDS = {"ungraded": "No grade"}
_MEAN = "the mean alone"
# Rows that are named where they make half of the error (taste).
MAX_NAMED = 3


def leading(here: FidelityCard | None, own: FidelityCard | None) -> FidelityCard | None:
    """Choose the card that the page speaks of: that of the worse grade.

    Parameters
    ----------
    here, own
        The card on the rows of the report, which leads where both are alike, and the formula's.
    """
    cards = [card for card in (here, own) if card is not None]
    return max(cards, key=_badness, default=None)


def _badness(card: FidelityCard) -> int:
    grade = card.verdict.grade
    return _BEST_FIRST.index(grade) if grade in _BEST_FIRST else -1


def faith_badge(
    here: FidelityCard | None, own: FidelityCard | None, figures: tuple[Figure, ...]
) -> Badge:
    """Give the grade of the formula, and R² against the network beside the rows that it is of.

    Parameters
    ----------
    here, own
        As in `leading`.
    figures
        Other numbers of the card that leads.
    """
    question = "How faithful is the formula to the network?"
    card = leading(here, own)
    if card is None:
        note = "No network was given, and the formula carries no card of its own."
        return Badge(question, "Not known", note=note, figures=figures)
    rows = [] if here is None else [_compared(f"the {_rows(here)} of this report", here)]
    rows += [] if own is None else [_compared(_own_rows(own), own)]
    table = Table("", ("compared on", "R2", "95 % interval"), tuple(rows))
    grade = card.verdict.grade
    answer = _WORDS.get(grade, grade.capitalize())
    return Badge(question, answer, grade in _BEST_FIRST[2:], table=table, figures=figures)


def quality_badge(
    here: FidelityCard | None, errors: tuple[float, float, float] | None, *, has_response: bool
) -> Badge:
    """Say in plain words how good the network is against what was observed.

    Parameters
    ----------
    here
        The card on the rows of the report; None without a network.
    errors
        Of a single number: root mean squared errors of the network, of the formula, and of the
        mean alone; None when unknown.
    has_response
        Whether a response was given.
    """
    question = "How good is the network?"
    if here is None:
        return Badge(question, "Not known", note="No network was given.")
    if here.observed is None:
        none = "No response was given, so the report cannot tell."
        note = "It is compared with the response under Data." if has_response else none
        return Badge(question, "Not known", note=note)
    note = f"Against the response on the {_rows(here)} of this report."
    if here.observed.measure == "R2":
        share = here.observed.network
        explains = f"Explains {agreement_text(share)} of the variation"
        answer = explains if share > 0.0 else "No better than the mean"
        return Badge(question, answer, share <= 0.0, note, _errors(here.observed, errors))
    return _label_badge(Badge(question, "", note=note), here.observed, here.labels)


def _errors(seen: Observed, errors: tuple[float, float, float] | None) -> Table:
    """Lay out R² of both models and of the mean, and what they miss by."""
    models = (("network", seen.network), ("formula in its place", seen.formula), (_MEAN, 0.0))
    if errors is None:
        return Table("", ("model", "R2"), models)
    rows = tuple((*model, error) for model, error in zip(models, errors, strict=True))
    return Table("", ("model", "R2", "typical error"), rows)


def _label_badge(badge: Badge, seen: Observed, labels: LabelFidelity | None) -> Badge:
    """Word the share of labels right, beside that of the most frequent label alone."""
    right = f"{agreement_text(seen.network)} of labels right"
    rows: list[tuple[object, ...]] = [
        ("network", seen.network),
        ("formula in its place", seen.formula),
    ]
    if labels is None or labels.network is None or labels.polynomial is None:
        return replace(badge, answer=right, table=Table("", ("model", "accuracy"), tuple(rows)))
    counts = [sum(row) for row in labels.network.confusion]
    usual, share = labels.classes[int(np.argmax(counts))], max(counts) / sum(counts)
    poor = seen.network <= share
    rows.append((f"always {usual}", share))
    head: tuple[str, ...] = ("model", "accuracy")
    if labels.network.auc is not None:
        # What is said of every row alike orders none of them.
        areas = (labels.network.auc, labels.polynomial.auc, 0.5)
        rows = [(*row, area) for row, area in zip(rows, areas, strict=True)]
        head = (*head, "AUC")
    answer = f"No better than always saying {usual}" if poor else right
    return replace(badge, answer=answer, poor=poor, table=Table("", head, tuple(rows)))


def _compared(rows: str, card: FidelityCard) -> tuple[object, ...]:
    return rows, card.r2, interval(card.r2_interval)


def _rows(card: FidelityCard) -> str:
    return plural(card.n_rows, "row")


def _own_rows(card: FidelityCard) -> str:
    if card.n_folds:
        return f"{_rows(card)}, each by a formula that was not fitted to it"
    if card.held_out:
        return f"{_rows(card)} kept apart by the conversion"
    return f"the {_rows(card)} that were fitted"


def responsible_text(measured: Measured) -> str:
    """Name the rows of the report that make half of the squared error, where few do."""
    if measured.truth is None or len(measured.guess) < MIN_JUDGED:
        return ""
    spread = measured.truth.var(axis=0)
    squares = (measured.truth - measured.guess) ** 2 / np.where(spread > 0.0, spread, 1.0)
    errors = squares.sum(axis=1)
    total = errors.sum()
    if not 0.0 < total < np.inf:
        return ""
    worst = np.argsort(-errors, kind="stable")[:MAX_NAMED]
    shares = np.cumsum(errors[worst]) / total
    if shares[-1] < 0.5:
        return ""
    count = int(np.argmax(shares >= 0.5)) + 1
    names = [f"{number:,}" for number in measured.rows.index[worst[:count]].tolist()]
    who = f"Row {names[0]} alone makes"
    if count > 1:
        who = f"Rows {', '.join(names[:-1])} and {names[-1]} make"
    share = agreement_text(float(shares[count - 1]))
    return f"{who} {share} of the squared error on the rows of this report."
