"""The verdict of a card: its grade, and the reasons that matter, from the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan

from nn2poly.cards import FidelityCard
from nn2poly.verdicts import (
    GRADES,
    MIN_JUDGED,
    MIN_UNITS,
    ROUGH,
    Alike,
    ClassDistance,
    Distance,
    Effects,
    Entering,
    Held,
    JudgedAs,
    Labels,
    MissedTarget,
    Outside,
    Reason,
    Tail,
    Verdict,
    grade,
    label_grade,
)


def verdict(
    card: FidelityCard,
    *,
    tail: Tail | None = None,
    held: Held | None = None,
    fitted: bool = False,
    entering: Mapping[str, str] | None = None,
    judged: JudgedAs | None = None,
    labels: Labels | None = None,
    alike: Alike | None = None,
) -> Verdict:
    """Say how far to trust the polynomial, and where not.

    Parameters
    ----------
    card
        The numbers; its own verdict is not read.
    tail
        The few rows that carry the error, if they do.
    held
        The columns whose bounds cut rows, if some do.
    fitted
        The rows compared are those that the conversion fitted.
    entering
        The columns that do not enter as they are, each with what it enters as.
    judged
        The scale of the errors, where it is not the target's.
    labels
        How far labels agree, of a classifier.
    alike
        Why the rows are not independent, if they are not.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> net = n2p.Network([n2p.Layer([[0.4]], None, "tanh"), n2p.Layer([[1.0]])])
    >>> card = n2p.fidelity(net, n2p.convert(net, 1), [[i / 40] for i in range(40)])
    >>> print(verdict(card))
    Faithful (R2 0.995, 95 % interval 0.992 to 0.998): follows the network to within 4.3 % of its \
range (15 % of its standard deviation) on 95 % of 40 rows.
    """
    few = card.n_rows < MIN_JUDGED or (card.n_units or card.n_rows) < MIN_UNITS
    # Cards that were made by hand, or read from older files, have no interval.
    low = card.r2 if card.r2_interval is None else min(card.r2, card.r2_interval[0])
    found = "undecided" if isnan(card.r2) else grade(low, fitted=fitted, few=few)
    reasons: list[Reason] = [*(_missed(card) if fitted else _reasons(card, tail))]
    if labels is not None and _is_worse(label_grade(labels.kappa), found):
        found = label_grade(labels.kappa)
        reasons.append(labels)
    if card.r2_mixed is not None and not few:
        reasons.append(Effects(card.r2_mixed))
    reasons += [reason for reason in (alike, held, judged) if reason is not None]
    if entering:
        reasons.append(Entering(tuple(entering.items())))
    return Verdict(
        found,
        card.r2,
        card.n_rows,
        fitted,
        len(card.per_order) - 1,
        tuple(reasons),
        interval=card.r2_interval,
        n_folds=card.n_folds,
    )


def _is_worse(one: str, other: str) -> bool:
    """Tell whether a grade is worse than another; neither is, where no rows were graded."""
    graded = GRADES[: GRADES.index("not faithful") + 1]
    return other in graded and graded.index(one) > graded.index(other)


def _reasons(card: FidelityCard, tail: Tail | None) -> Iterator[Reason]:
    if card.agreement is not None and card.probability_within is not None:
        threshold = None if card.labels is None else card.labels.threshold
        yield ClassDistance(card.agreement, card.probability_within, threshold)
    elif not card.r2 < 0.0:
        yield _distance(card)
    missed = [*_missed(card)]
    yield from missed
    # One remedy is enough: where the tail lies, or else the worst region of a usable polynomial.
    if tail is not None:
        yield tail
    elif card.regions and not missed and not card.r2 < ROUGH:
        yield card.regions[0]
    if card.outside:
        yield Outside(card.outside)


def _distance(card: FidelityCard) -> Distance:
    """Find the output that is furthest off, in units of its range if any output varies."""
    outputs = {name: o for name, o in card.per_output.items() if o.spread > 0}
    if not outputs:
        return Distance(max(o.quantiles[2] for o in card.per_output.values()), 0.0)
    name = max(outputs, key=lambda name: outputs[name].quantiles[2] / outputs[name].spread)
    worst = outputs[name]
    named = name if len(outputs) > 1 else None
    return Distance(worst.quantiles[2], worst.spread, named, worst.deviation)


def _missed(card: FidelityCard) -> Iterator[MissedTarget]:
    if card.target_r2 is not None and card.path and card.r2 < card.target_r2:
        yield MissedTarget(card.path[-1][0], card.target_r2)
