"""The fidelity card: plain data about how far a polynomial may be trusted, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import zip_longest
from math import isfinite, isnan
from typing import Any

from nn2poly.arguments import plural
from nn2poly.plain import plain_mapping, plain_record
from nn2poly.score_texts import agreement_text, r2_text
from nn2poly.tables import Table, printable
from nn2poly.verdict_texts import judged_text, observed_text, of_source
from nn2poly.verdicts import JudgedAs, Observed, Region, Verdict

# Quantiles of the absolute error that a card gives (taste).
QUANTILES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class OutputFidelity:
    """How the polynomial follows one output of the network.

    Parameters
    ----------
    r2
        1 - (squared error) / (variation of the network's output); NaN when it does not vary.
    rmse, max_error
        Root mean squared and largest absolute error, in the unit of the output.
    worst_row
        Row of the largest error, counted from 0 in the data that were given: to the
        conversion, or to `fidelity` (of a stream: in the even choice that was compared).
    spread
        Range of the network's output over the rows, the yardstick of relative errors.
    quantiles
        Absolute errors at 50, 90, 95 and 99 % of the rows.
    deviation, middle
        Standard deviation of the network's output over the rows, and the distance between its
        quartiles: yardsticks that a single row does not stretch; 0 when unknown.
    """

    r2: float
    rmse: float
    max_error: float
    worst_row: int
    spread: float
    quantiles: tuple[float, ...]
    deviation: float = 0.0
    middle: float = 0.0


@dataclass(frozen=True)
class Guarantee:
    """A distribution-free bound on the error at new rows of the same distribution.

    With ``confidence``, at least ``coverage`` of new rows are within ``bounds`` (one per
    output, each by itself) of the network; ``bounds`` is empty when ``n_rows`` is below
    ``rows_needed``. It holds only if the conversion did not see the rows, which
    ``held_out`` tells (None: unknown). ``any_use`` is False when R² is negative, and so
    the mean of the network's output would be closer than the polynomial.
    """

    confidence: float
    coverage: float
    bounds: tuple[float, ...]
    rows_needed: int
    n_rows: int
    held_out: bool | None = None
    any_use: bool = True

    def __str__(self) -> str:
        return self.text()

    def text(self, *, r2: str = "R2", names: Sequence[str] = ()) -> str:
        """Word the guarantee; ``r2`` spells R², ``names`` are those of several outputs."""
        sure, share = (f"{100 * value:.0f} %" for value in (self.confidence, self.coverage))
        if not self.bounds:
            return (
                f"too few rows for a guarantee: {self.rows_needed} needed to promise {share} of "
                f"new rows with {sure} confidence, {self.n_rows} compared"
            )
        named = [f" for {name}" for name in names] if len(self.bounds) > 1 else []
        pairs = zip_longest(self.bounds[:8], named[:8], fillvalue="")
        shown = ", ".join(f"±{bound:.3g}{name}" for bound, name in pairs)
        more = ", …" if len(self.bounds) > 8 else ""
        if len(self.bounds) > 1:
            more += " (each output by itself)"
        worse = "" if self.any_use else f"worse than a constant ({r2} is negative): "
        promise = (
            f"{worse}with {sure} confidence at least {share} of new rows from the same "
            f"distribution are within {shown}{more} of the network"
        )
        return promise if self.held_out else f"{promise}, if the conversion did not see these rows"


@dataclass(frozen=True)
class LabelScores:
    """Labels against the true ones.

    Parameters
    ----------
    accuracy
        Share of rows with the true label.
    confusion
        Rows by true label (down) and given label (across).
    brier
        Mean squared distance of the probabilities from the truth; 0.25 of a coin.
    auc, sensitivity, specificity
        For two classes: how often a row of the second class is above one of the first; shares of
        the second and of the first class that get their label. None of more classes.
    """

    accuracy: float
    confusion: tuple[tuple[int, ...], ...]
    brier: float
    auc: float | None = None
    sensitivity: float | None = None
    specificity: float | None = None


@dataclass(frozen=True)
class LabelFidelity:
    """Labels of the polynomial and of the network, and both against true ones.

    Parameters
    ----------
    classes
        The text of each label.
    threshold
        The probability of the second class from which on it is chosen; None for the most
        probable class.
    majority
        Share of the network's most frequent label: what a constant agrees on.
    kappa
        Cohen's κ of the two labels; 0 is chance, 1 is agreement; NaN when all are alike.
    network, polynomial
        Scores against true labels; None where nobody gave them.
    counts
        Rows by the network's label (down) and the polynomial's (across).
    """

    classes: tuple[str, ...]
    threshold: float | None
    majority: float
    kappa: float
    network: LabelScores | None = None
    polynomial: LabelScores | None = None
    counts: tuple[tuple[int, ...], ...] = ()

    @property
    def per_class(self) -> dict[str, float]:
        """Of the rows that the network gives each label, the share with the same; NaN of none."""
        pairs = enumerate(zip(self.classes, self.counts, strict=False))
        return {name: row[k] / sum(row) if sum(row) else float("nan") for k, (name, row) in pairs}

    @property
    def text(self) -> str:
        """What agreement is worth, in words."""
        kappa = "" if isnan(self.kappa) else f"Cohen's kappa {self.kappa:.3f}; "
        return f"{kappa}a constant label would agree on {agreement_text(self.majority)}"

    @property
    def rule(self) -> str:
        """When the second class is chosen, in words; nothing for the most probable one."""
        if self.threshold is None:
            return ""
        return f"P({self.classes[1]}) >= {self.threshold:.4g}"


@dataclass(frozen=True)
class FidelityCard:
    """The polynomial against the network: overall, per output, order, layer and region.

    Parameters
    ----------
    n_rows
        Rows compared; ``held_out`` tells whether the conversion never saw them.
    r2, rmse, max_error
        Overall: mean R² of the outputs that vary, errors over all outputs. A classifier is
        compared before its link (logits).
    agreement, probability_error
        For a classifier: share of rows with the same label, mean absolute difference of
        probabilities; None for a regression.
    per_output
        `OutputFidelity` by output name.
    per_order
        R² of this polynomial cut at each order 0, 1, …, its mean adjusted; converting at
        that order gives another polynomial, as a rule a closer one.
    per_layer
        Share of the error that enters with each layer's activations; empty when unknown.
    regions
        The parts of the data where the error is largest, worst first.
    guarantee
        What the rows promise for new ones.
    verdict
        All of it in a sentence or two: a `Verdict`, whose text is made when it is shown.
    outside
        Rows outside the range that the conversion saw.
    path
        (order, terms, R²) of the orders tried by ``max_order="auto"``.
    r2_without_worst
        R² without the hundredth of the rows (at least one) where the error is largest: far
        above ``r2`` when a few rows carry the error; NaN when unknown.
    probability_within
        For a classifier: on 95 % of the rows no probability is further from the network's.
    target_r2
        The R² that ``max_order="auto"`` looked for; None without a search.
    r2_interval
        The 95 % interval of ``r2`` on new rows, by a bootstrap of these; None when unknown.
    n_units
        How many of the rows are different, or how many groups they are.
    n_folds
        For a small table: how many formulas were fitted, each without a part of the rows, which
        it was then judged on; 0 when the formula itself was judged.
    observed
        How well the network does against what was observed, and the formula in its place; None
        when nothing was.
    labels
        For a classifier: its `LabelFidelity`; None for a regression.
    r2_mixed
        R² of the formula on rows with shuffled columns, each taken from another of the rows (at
        most 1,000): where Shapley values, partial dependence, H and Sobol' indices look. It grades
        effects (`Verdict.effects`). None on fewer than 30 rows, and when unknown. Where folds were
        judged it is of the formula given all the same.
    """

    n_rows: int
    held_out: bool
    r2: float
    rmse: float
    max_error: float
    agreement: float | None
    probability_error: float | None
    per_output: dict[str, OutputFidelity]
    per_order: tuple[float, ...]
    per_layer: tuple[float, ...]
    regions: tuple[Region, ...]
    guarantee: Guarantee
    verdict: Verdict
    outside: int = 0
    path: tuple[tuple[int, int, float], ...] = ()
    r2_without_worst: float = float("nan")
    probability_within: float | None = None
    target_r2: float | None = None
    r2_interval: tuple[float, float] | None = None
    n_units: int = 0
    n_folds: int = 0
    observed: Observed | None = None
    labels: LabelFidelity | None = None
    r2_mixed: float | None = None

    def tables(self) -> list[Table]:
        """Lay the card out as tables: outputs, orders and layers, regions, path."""
        first, *others = (f(self) for f in (_outputs, _orders, _layers, _regions, _path))
        source = self.verdict.source
        sections = [first, *_by_class(self.labels), *_truth(self.labels, source), *others]
        return [table for table in sections if len(table)]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file; NaN and infinite numbers become None."""
        return dict(_plain({**asdict(self), "verdict": self.verdict.to_dict()}))

    @classmethod
    def from_dict(cls, data: Any) -> FidelityCard:
        """Rebuild a card from `to_dict`, also from one that lacks the newer fields."""
        found = plain_record(
            cls,
            data,
            per_output=_per_output,
            guarantee=lambda part: _guarantee(data, part),
            verdict=Verdict.from_dict,
        )
        _check_shares(found)
        str(found)  # numbers that cannot be worded raise here, not when somebody looks
        return found

    def __str__(self) -> str:
        promise = of_source(str(self.guarantee), self.verdict.source)
        parts = [str(self.verdict), *map(str, self.tables()), promise]
        return printable("\n\n".join(parts))

    def _repr_html_(self) -> str:
        tables = "".join(table._repr_html_() for table in self.tables())
        verdict = f"<p><strong>{escape(str(self.verdict))}</strong></p>"
        promise = escape(of_source(str(self.guarantee), self.verdict.source))
        return f"<div>{verdict}{tables}<p>{promise}</p></div>"


def _per_output(data: Any) -> dict[str, OutputFidelity]:
    found = {k: plain_record(OutputFidelity, v) for k, v in plain_mapping(data).items()}
    if any(len(output.quantiles) != len(QUANTILES) for output in found.values()):
        raise ValueError(f"an output of a card has not {len(QUANTILES)} quantiles")
    return found


def _guarantee(card: dict[str, Any], data: Any) -> Guarantee:
    """Read a guarantee; the first files did not say there whether rows were held out."""
    held_out = card.get("held_out") or None
    return plain_record(Guarantee, {"held_out": held_out, **plain_mapping(data)})


def _check_shares(card: FidelityCard) -> None:
    """Refuse shares and probabilities outside 0 … 1."""
    shares = (card.agreement, card.probability_error, card.probability_within)
    promised = (card.guarantee.confidence, card.guarantee.coverage)
    if any(share is not None and not 0.0 <= share <= 1.0 for share in (*shares, *promised)):
        raise ValueError("a share of a card is not between 0 and 1")


def _outputs(card: FidelityCard) -> Table:
    kind = "held-out " if card.held_out else ""
    rows: list[tuple[object, ...]] = [
        (name, o.r2, o.rmse, _share(o.rmse, o.deviation), *_errors(o))
        for name, o in card.per_output.items()
    ]
    if len(rows) > 1:
        rows.append(("overall", card.r2, card.rmse, None, None, None, card.max_error, None))
    notes = [] if card.observed is None else [f"{observed_text(card.observed)}."]
    scale = card.verdict.reason(JudgedAs)
    notes += [] if scale is None else [f"{judged_text(scale)}."]
    if card.agreement is not None:
        given = "" if card.labels is None or not card.labels.rule else f" ({card.labels.rule})"
        worth = "" if card.labels is None else f" ({card.labels.text})"
        notes.append(
            f"Labels{given} agree on {agreement_text(card.agreement)} of rows{worth}; "
            f"probabilities differ by {card.probability_error:.3g} on average."
        )
    if card.outside:
        lie = "lies" if card.outside == 1 else "lie"
        notes.append(f"{plural(card.outside, 'row')} {lie} outside the calibrated range.")
    if card.r2_interval is not None:
        low, high = card.r2_interval
        notes.append(f"R2 on new rows, 95 % interval: {r2_text(low)} to {r2_text(high)}.")
    if card.r2_mixed is not None:
        notes.append(f"On rows with shuffled columns: R2 {r2_text(card.r2_mixed)}.")
    if card.n_folds:
        notes.append(
            f"{card.n_folds} formulas were fitted, each without a part of the rows, and judged on "
            "it; the one given was fitted to all of them."
        )
    return Table(
        f"Fidelity to the {card.verdict.source}, {card.n_rows:,} {kind}rows",
        ("output", "R2", "RMSE", "/ sd", "95 % within", "/ IQR", "max error", "at row"),
        tuple(rows),
        note="\n".join(notes),
    )


def _errors(o: OutputFidelity) -> tuple[object, ...]:
    return o.quantiles[2], _share(o.quantiles[2], o.middle), o.max_error, o.worst_row


def _share(value: float, unit: float) -> float | None:
    """Give an error in units of a yardstick; None without one."""
    return value / unit if unit > 0 else None


def _by_class(labels: LabelFidelity | None) -> list[Table]:
    """Lay out on how many rows of each label of the network the labels agree."""
    if labels is None or not labels.counts:
        return []
    shares = labels.per_class.items()
    rows = [
        (name, sum(row), share) for (name, share), row in zip(shares, labels.counts, strict=True)
    ]
    columns = ("label of the network", "rows", "agree")
    return [Table("Labels that agree, by class", columns, tuple(rows))]


def _truth(labels: LabelFidelity | None, source: str) -> list[Table]:
    """Lay out scores against true labels: one table for all, and where each label goes."""
    if labels is None or labels.network is None or labels.polynomial is None:
        return []
    both = ((source, labels.network), ("polynomial", labels.polynomial))
    measures = ("accuracy", "auc", "sensitivity", "specificity", "brier")
    rows = tuple((name, *(getattr(scores, key) for key in measures)) for name, scores in both)
    largest = max(map(sum, labels.network.confusion)) / sum(map(sum, labels.network.confusion))
    note = f"The most frequent label alone is right on {agreement_text(largest)} of rows."
    if labels.rule:
        note = f"Labels: {labels.classes[1]} where {labels.rule}. {note}"
    head = ("model", "accuracy", "AUC", "sensitivity", "specificity", "Brier")
    tables = [Table("Against the true labels", head, rows, note=note)]
    for name, scores in both:
        counted = zip(labels.classes, scores.confusion, strict=True)
        columns = ("true label", *(f"given {c}" for c in labels.classes))
        lines = tuple((c, *counts) for c, counts in counted)
        tables.append(Table(f"Labels of the {name}", columns, lines))
    return tables


def _orders(card: FidelityCard) -> Table:
    before = (float("nan"), *card.per_order)
    rows = [
        (order, r2, r2 - previous)
        for order, (r2, previous) in enumerate(zip(card.per_order, before, strict=False))
    ]
    return Table(
        "This polynomial cut at each order",
        ("cut at order", "R2", "gain"),
        tuple(rows[1:]),
        note="Converting at a lower order gives another polynomial, as a rule a closer one."
        if len(rows) > 2
        else "",
    )


def _layers(card: FidelityCard) -> Table:
    rows = tuple((index, share) for index, share in enumerate(card.per_layer, start=1))
    return Table("Where the error enters", ("layer", "share of error"), rows)


def _regions(card: FidelityCard) -> Table:
    rows = tuple((r.description, r.n_rows, r.rmse, r.ratio) for r in card.regions)
    return Table("Where it is worst", ("region", "rows", "RMSE / range", "times overall"), rows)


def _path(card: FidelityCard) -> Table:
    return Table("Orders tried", ("order", "terms", "R2"), card.path)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    # An error that overflowed is no more known than one that is not a number.
    return None if isinstance(value, float) and not isfinite(value) else value
