"""What a report says, as plain data: collected first, rendered last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nn2poly.tables import Table

Formula = tuple["FormulaTerm", ...]


@dataclass(frozen=True)
class Figure:
    """One of the large numbers at the top."""

    label: str
    value: str


@dataclass(frozen=True)
class Badge:
    """One of the two answers at the top: a question, a few words, and the numbers behind them.

    ``poor`` marks an answer that warns; ``figures`` are large numbers below the table.
    """

    question: str
    answer: str
    poor: bool = False
    note: str = ""
    table: Table | None = None
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class FlipView:
    """A row, what the formula says of it, and the smallest changes that would flip that.

    ``changes`` are (what changes, new label, how large, what the network says then or "").
    """

    row: int
    label: str
    share: float
    network: str
    changes: tuple[tuple[str, str, float, str], ...]


@dataclass(frozen=True)
class CardView:
    """A fidelity card laid out: where it was measured, its verdict, tables and guarantee.

    ``meaning`` is what its grade allows, and ``care`` what to take care of; "" where nothing is
    to be said.
    """

    heading: str
    source: str
    verdict: str
    meaning: str
    care: str
    guarantee: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class FormulaTerm:
    """A term to read: sign, size, and (name, power) of its factors."""

    sign: str
    size: str
    factors: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class FormulaView:
    """The largest terms of one output, and how many are left out."""

    output: str
    terms: Formula
    n_more: int


@dataclass(frozen=True)
class ExportText:
    """One output as text in one language; without text, ``problem`` says why."""

    language: str
    output: int
    text: str
    problem: str = ""


@dataclass(frozen=True)
class Chosen:
    """The class that the network chooses on a row, and its probability in both models."""

    name: str
    network: float
    polynomial: float


@dataclass(frozen=True)
class WorstRow:
    """A row on which outputs differ most, by column; ``outside`` marks its values."""

    row: int
    output: str
    network: float
    polynomial: float
    share: float
    chosen: Chosen | None
    response: str
    values: tuple[object, ...]
    outside: tuple[bool, ...]
    region: int | None = None


@dataclass(frozen=True)
class TreeView:
    """A node of the tree of regions: what leads to it; a region's number, or what follows."""

    text: str
    number: int | None
    children: tuple[TreeView, ...] = ()


@dataclass(frozen=True)
class RegionView:
    """A region: its rule, its share of the rows of the report, and its formulas.

    ``r2`` is that of these rows, of the conversion without a network, or None if unknown;
    ``average`` the mean prediction of a single number.
    """

    number: int
    rule: str
    n_rows: int
    share: float
    r2: float | None
    average: float | None
    formulas: tuple[FormulaView, ...]


@dataclass(frozen=True)
class Contents:
    """All that the page shows; ``payload`` is what the browser computes with."""

    title: str
    facts: str
    units: str
    entering: str
    version: str
    n_rows: int
    n_dropped: int
    n_filled: int
    n_sample: int
    n_terms: int
    has_network: bool
    has_range: bool
    has_pairs: bool
    output_prefix: str
    link: str
    several_labels: bool
    quality: Badge
    faith: Badge
    responsible: str
    lead: CardView | None
    promise: str
    findings: tuple[tuple[str, ...], ...]
    importance: Table
    confusion: Table | None
    subgroups: tuple[tuple[str, Table], ...]
    flips: tuple[FlipView, ...]
    limits: tuple[str, ...]
    provenance: tuple[tuple[str, str], ...]
    column_names: tuple[str, ...]
    shown_names: tuple[str, ...]
    cards: tuple[CardView, ...]
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    formulas: tuple[FormulaView, ...]
    exports: tuple[ExportText, ...]
    export_note: str
    worst: tuple[WorstRow, ...]
    top_terms: Table
    columns: Table
    response: tuple[Table, ...]
    payload: dict[str, Any]
    tree: TreeView | None = None
    regions: tuple[RegionView, ...] = ()
