"""What a reader came for, in words and small tables: findings, flips, groups, labels."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.assess.subgroups import Subgroup, subgroups
from nn2poly.cards import FidelityCard
from nn2poly.errors import OutsideRangeWarning
from nn2poly.explain.counterfactuals import Flip, smallest_flips, smallest_pairs
from nn2poly.explain.findings import Findings
from nn2poly.formula.piecewise import Explicit
from nn2poly.reporting.contents import FlipView
from nn2poly.reporting.effectviews import Pairs
from nn2poly.reporting.failures import Measured
from nn2poly.reporting.numerals import prose
from nn2poly.reporting.payload import shown_scale
from nn2poly.tables import Table

# Columns and pairs that are spoken of, rows and changes of a decision that are listed, and columns
# that make groups (taste).
N_COLUMNS, N_PAIRS, N_FLIPPED, N_CHANGES, MAX_GROUPED = 4, 3, 6, 3, 60


def findings_views(
    poly: Explicit, X: FloatArray, moves: dict[str, FloatArray], pairs: Pairs
) -> tuple[tuple[str, ...], ...]:
    """Say for every output what its most important columns and pairs do.

    Parameters
    ----------
    X
        Array (n, p) in raw units: the rows to average over.
    moves
        How far each output moves with a column, array (n_outputs,).
    pairs
        What pairs of columns do.
    """
    said = Findings(poly, X, shown_scale(poly.outputs))
    own = {column.name for column in poly.inputs.columns}
    return tuple(_findings(said, k, moves, pairs.strongest(k), own) for k in range(poly.n_outputs))


def _findings(
    said: Findings,
    k: int,
    moves: dict[str, FloatArray],
    pairs: list[tuple[str, str]],
    own: set[str],
) -> tuple[str, ...]:
    moved = {name: float(sizes[k]) for name, sizes in moves.items() if name in own and sizes[k] > 0}
    names = sorted(moved, key=lambda name: -moved[name])[:N_COLUMNS]
    strong = [pair for pair in pairs if own.issuperset(pair)][:N_PAIRS]
    texts = [said.of_column(name, k) for name in names]
    return tuple(filter(None, [*texts, *(said.of_pair(a, b, k) for a, b in strong)]))


def importance_table(poly: Explicit, moves: dict[str, FloatArray]) -> Table:
    """List how far the outputs move with each column, for paper and without scripts."""
    values = ("moves the output by",) if poly.n_outputs == 1 else poly.output_names
    rows = tuple((name, *sizes.tolist()) for name, sizes in list(moves.items())[:MAX_GROUPED])
    return Table("Importance of the inputs", ("input", *values), rows)


def confusion_table(card: FidelityCard | None) -> Table | None:
    """Count rows by the label of the network and that of the formula."""
    labels = None if card is None else card.labels
    if labels is None or not labels.counts:
        return None
    head = ("network\u00a0↓ formula\u00a0→", *labels.classes)
    rows = tuple((name, *row) for name, row in zip(labels.classes, labels.counts, strict=True))
    return Table("Labels of network and formula", head, rows)


def subgroup_tables(
    poly: Explicit, measured: Measured, order: tuple[int, ...]
) -> tuple[tuple[str, Table], ...]:
    """Compare formula and network by the groups of every column, important columns first."""
    truth, X = measured.truth, measured.rows.X
    if truth is None:
        return ()
    tables = []
    for number in dict.fromkeys(poly.inputs.column_of[list(order)].tolist()):
        found = subgroups(poly.inputs, poly.outputs, number, X, truth, measured.guess)
        if len(found) > 1:
            name = poly.inputs.columns[number].name
            tables.append((name, _subgroup_table(name, found)))
    return tuple(tables[:MAX_GROUPED])


def _subgroup_table(name: str, groups: tuple[Subgroup, ...]) -> Table:
    labels = groups[0].agreement is not None
    head = (name, "rows", "R2", *(("labels that agree",) if labels else ()))
    head = (*head, "95 % of rows within", "formula too high by, on average")
    rows = tuple(
        (
            prose(group.name),
            group.n_rows,
            None if np.isnan(group.r2) else group.r2,
            *((group.agreement,) if labels else ()),
            _points(group.within) if labels else group.within,
            _points(group.bias) if labels else group.bias,
        )
        for group in groups
    )
    return Table("", head, rows)


def _points(probability: float) -> float:
    """Give a difference of probabilities in percentage points, to a hundredth."""
    return round(100.0 * probability, 2)


def flip_views(poly: Explicit, measured: Measured) -> tuple[FlipView, ...]:
    """Show for some rows of every label the smallest changes that would flip it.

    Where the network is known it is asked about every changed row.
    """
    several = poly.link == "sigmoid" and poly.n_outputs > 1
    if not poly.outputs.is_classifier or several:
        return ()
    places = _shown_rows(poly, measured.guess)
    X = measured.rows.X[places]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideRangeWarning)
        found = _smallest(poly, X, measured.rows.X)
    labels = poly.outputs.labels(measured.guess[places])
    share = _label_shares(poly, measured.guess[places])
    own = labels if measured.truth is None else poly.outputs.labels(measured.truth[places])
    return tuple(
        FlipView(
            row=int(measured.rows.index[place]),
            label=str(labels[i]),
            share=float(share[i]),
            network="" if measured.truth is None else str(own[i]),
            changes=tuple(_change(flips, poly, measured) for flips in found[i]),
        )
        for i, place in enumerate(places.tolist())
    )


def _smallest(poly: Explicit, X: FloatArray, usual: FloatArray) -> list[list[tuple[Flip, ...]]]:
    """Give for every row its smallest changes of one column, or where none flips it of two."""
    alone = smallest_flips(poly, X, usual)
    stuck = [i for i, flips in enumerate(alone) if not flips]
    pairs = dict(zip(stuck, smallest_pairs(poly, X[stuck], usual), strict=True)) if stuck else {}
    return [
        [(flip,) for flip in flips[:N_CHANGES]] or [two for two in (pairs[i],) if two]
        for i, flips in enumerate(alone)
    ]


def _change(
    flips: tuple[Flip, ...], poly: Explicit, measured: Measured
) -> tuple[str, str, float, str]:
    """Tell of one change, or of two that follow each other."""
    text = ", and ".join(f"{flip.column}: {flip.before} → {flip.after}" for flip in flips)
    last, said = flips[-1], ""
    if measured.network is not None:
        raw = measured.network.predict(np.array([last.row])).reshape(1, -1)
        said = str(poly.outputs.labels(raw)[0])
    return text, str(last.label), sum(flip.distance for flip in flips), said


def _label_shares(poly: Explicit, guess: FloatArray) -> FloatArray:
    """Give the probability (n,) of the label that the formula chooses, also below one half."""
    chances = poly.outputs.probabilities(guess)
    chosen = replace(poly.outputs, classes=None).labels(guess).astype(np.intp)
    result: FloatArray = chances[np.arange(len(guess)), chosen]
    return result


def _shown_rows(poly: Explicit, guess: FloatArray) -> IntArray:
    """Choose rows of every label, from nearly undecided to sure: places (m,)."""
    labels = poly.outputs.labels(guess)
    certainty = _label_shares(poly, guess)
    different = np.unique(labels)[:N_FLIPPED]
    each = max(1, N_FLIPPED // len(different))
    chosen: list[int] = []
    for label in different:
        places = np.flatnonzero(labels == label)
        ranked = places[np.argsort(certainty[places], kind="stable")]
        at = (np.arange(1, each + 1) / (each + 1) * len(ranked)).astype(int)
        chosen += ranked[at].tolist()
    return np.unique(np.array(chosen, dtype=np.intp))
