"""Collect everything that a report shows, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.assess.compared import comparable
from nn2poly.assess.fidelity import fidelity
from nn2poly.assess.neighbours import nearness
from nn2poly.assess.subgroups import MIN_ROWS, scaled_errors
from nn2poly.cards import FidelityCard
from nn2poly.errors import TooManyTermsError
from nn2poly.formula import piecewise_display
from nn2poly.formula.display import facts
from nn2poly.formula.importance import MAX_ROWS, ranking
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import region_of
from nn2poly.inputs import Inputs, frame_columns, level_text
from nn2poly.inputs.indicators import detect_indicators
from nn2poly.outputs import Outputs
from nn2poly.plots.units import thin, typical_row
from nn2poly.reporting.background import limits, provenance
from nn2poly.reporting.cardviews import (
    card_views,
    figures,
    numbered_as_given,
    promise,
)
from nn2poly.reporting.columntexts import by_column, entering_text
from nn2poly.reporting.contents import Contents, FlipView, WorstRow
from nn2poly.reporting.controls import controls, starting_place
from nn2poly.reporting.describe import (
    Rows,
    describe_columns,
    describe_response,
    read_rows,
    typical_errors,
)
from nn2poly.reporting.effectviews import (
    column_moves,
    column_pairs,
    effects_payload,
    features_by_importance,
    value_deviations,
)
from nn2poly.reporting.failures import Measured, worst_rows
from nn2poly.reporting.formulas import (
    export_texts,
    exported,
    exported_regions,
    formula_views,
    top_terms,
)
from nn2poly.reporting.headline import faith_badge, leading, quality_badge, responsible_text
from nn2poly.reporting.insights import (
    confusion_table,
    findings_views,
    flip_views,
    importance_table,
    subgroup_tables,
)
from nn2poly.reporting.numerals import r_squared
from nn2poly.reporting.payload import output_prefix, packed, polynomial_payload, shown_scale
from nn2poly.reporting.regionviews import (
    region_parts,
    region_views,
    regions_payload,
    top_region_terms,
    tree_view,
)
from nn2poly.reporting.scatter import scatter_views
from nn2poly.sampling import evenly

# Bytes of rows that travel with the page, and how many rows: a quarter of what the chart library
# takes (taste).
CARRIED_BYTES, MIN_CARRIED, MAX_CARRIED = 400_000, 50, 1_000
# Coefficients that a page holds: 8 bytes each, 11 in base64, so 11 MB of text at most.
MAX_COEFFICIENTS = 1_000_000
# Terms × rows that effects are averaged over, and the fewest rows: half a minute at the largest
# size of a page (time).
MOST_VALUES, MIN_ROWS_TOLD = 5_000_000, 200


def collect(
    poly: Explicit, model: Any, X: Any, y: Any, title: str, *, after: str | None = None
) -> Contents:
    """Measure everything; nothing is rendered yet.

    Raises
    ------
    TooManyTermsError
        When the coefficients do not fit a page.
    """
    _check_size(poly)
    measured = _measure(poly, model, read_rows(X, y, poly), X, after)
    rows, card = measured.rows, leading(measured.card, poly.card)
    cards = card_views(measured.card, poly.card, poly.link)
    told = by_column(poly, rows.X)
    sample = thin(rows.X, int(np.clip(MOST_VALUES // poly.n_terms, MIN_ROWS_TOLD, MAX_ROWS)))
    moves = column_moves(told, sample)
    order, pairs = features_by_importance(told, moves), column_pairs(told, sample, moves)
    worst, flips = worst_rows(told, measured), flip_views(told, measured)
    payload = _payload(poly, told, order, measured, worst, flips)
    effects = effects_payload(told, sample, moves, payload["controls"]) | pairs.payload()
    if isinstance(poly, PiecewisePolynomial):
        parts = _of_regions(poly, measured)
    else:
        parts = _of_polynomial(poly, sample, measured)
    effects["deviations"] = parts.pop("deviations")
    payload = {"polynomial": parts.pop("polynomial"), **payload, "effects": effects}
    response = describe_response(rows, poly, measured.outputs)
    return Contents(
        title=title,
        units=_units(poly),
        entering=entering_text(poly.inputs),
        version=version("nn2poly"),
        n_rows=len(rows.X),
        n_dropped=rows.n_given - len(rows.X),
        n_filled=int(rows.filled.any(axis=1).sum()),
        n_sample=len(sample),
        n_terms=poly.n_terms,
        has_network=measured.truth is not None,
        has_range=poly.low is not None,
        has_pairs=len(pairs.members) > 0,
        output_prefix=output_prefix(poly.outputs),
        link=poly.link,
        several_labels=poly.link == "sigmoid" and poly.n_outputs > 1,
        quality=quality_badge(
            measured.card,
            typical_errors(rows.y, poly, measured.outputs),
            has_response=rows.y is not None,
        ),
        faith=faith_badge(measured.card, poly.card, figures(card, poly.n_terms, len(poly.regions))),
        responsible=responsible_text(measured),
        # Both cards are there where the second can lead.
        lead=None if card is None else cards[0 if card is not poly.card else -1],
        promise=promise(card, poly.link),
        findings=findings_views(told, sample, moves, pairs),
        importance=importance_table(told, moves),
        confusion=confusion_table(measured.card),
        subgroups=subgroup_tables(told, measured, order),
        flips=flips,
        limits=limits(poly, card, measured.truth is not None),
        provenance=provenance(poly, model, measured, parts["facts"]),
        column_names=tuple(column.name for column in told.inputs.columns),
        shown_names=poly.outputs.names_on(shown_scale(poly.outputs)),
        cards=cards,
        feature_names=poly.feature_names,
        output_names=poly.output_names,
        worst=worst,
        columns=describe_columns(rows, told),
        response=response,
        payload=payload,
        **parts,
    )


def _of_polynomial(poly: Polynomial, sample: FloatArray, measured: Measured) -> dict[str, Any]:
    """Collect what is said of the terms of one polynomial."""
    ranked = ranking(poly, sample)
    small, note = exported(poly, ranked, measured.rows.X, measured.guess)
    return {
        "facts": facts(poly),
        "formulas": formula_views(poly, ranked),
        "exports": export_texts(small),
        "export_note": note,
        "top_terms": top_terms(poly, ranked),
        "polynomial": polynomial_payload(poly),
        "deviations": packed(value_deviations(poly, ranked)),
    }


def _of_regions(formula: PiecewisePolynomial, measured: Measured) -> dict[str, Any]:
    """Collect what is said of regions: their rules and terms."""
    parts = region_parts(formula, measured.rows.X)
    small, note = exported_regions(formula, measured.rows.X, measured.guess)
    return {
        "facts": piecewise_display.facts(formula),
        "formulas": (),
        "exports": export_texts(small),
        "export_note": note,
        "top_terms": top_region_terms(parts),
        "polynomial": regions_payload(formula, parts, measured.rows.X, measured.truth),
        "deviations": [packed(value_deviations(p.region.polynomial, p.ranked)) for p in parts],
        "tree": tree_view(formula.tree, formula.inputs),
        "regions": region_views(formula, parts, measured.guess, measured.truth),
    }


def _units(poly: Explicit) -> str:
    raw = all(coordinate.is_plain for coordinate in poly.inputs.coordinates)
    return "in raw units" if raw else "as the formula has them: (value − centre) / scale"


def _check_size(poly: Explicit) -> None:
    n_values = poly.n_terms * poly.n_outputs
    most = MAX_COEFFICIENTS // (poly.n_outputs * len(poly.regions))
    if n_values > MAX_COEFFICIENTS:
        raise TooManyTermsError(
            f"A page cannot hold {n_values:,} coefficients; it takes {MAX_COEFFICIENTS:,}.",
            n_terms=poly.n_terms,
            n_bytes=8 * n_values,
            remedy=f"pass poly.prune(n_terms={most}), or a lower max_order",
        )


@dataclass(frozen=True)
class _Evaluated:
    """A polynomial with its outputs on rows X (n, p), so that they are computed once."""

    poly: Explicit
    X: FloatArray
    by_order: list[FloatArray]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.poly.feature_names

    @property
    def inputs(self) -> Inputs:
        return self.poly.inputs

    @property
    def outputs(self) -> Outputs:
        return self.poly.outputs

    @property
    def output_names(self) -> tuple[str, ...]:
        return self.poly.output_names

    def outputs_by_order(self, X: FloatArray) -> list[FloatArray]:
        return self.by_order if np.array_equal(X, self.X) else self.poly.outputs_by_order(X)

    def count_outside(self, X: FloatArray) -> int:
        return self.poly.count_outside(X)


def _measure(poly: Explicit, model: Any, rows: Rows, X: Any, after: str | None = None) -> Measured:
    evaluated = _Evaluated(poly, rows.X, poly.outputs_by_order(rows.X))
    guess = evaluated.by_order[-1]
    if model is None:
        return Measured(rows, guess, None, None)
    network = comparable(model, poly.inputs, poly.outputs, _kept(X, rows), after=after)
    card = fidelity(network, evaluated, rows.X, _known_response(poly, rows.y))
    card = numbered_as_given(card, rows.index)
    truth = network.predict(rows.X).reshape(guess.shape)
    return Measured(rows, guess, truth, card, network)


def _kept(X: Any, rows: Rows) -> Any:
    """Give the rows that are looked at as the user has them; features where they are no table."""
    if frame_columns(X) is None:
        return X[rows.index] if hasattr(type(X), "detach") else rows.X
    return X.iloc[rows.index] if hasattr(type(X), "iloc") else X[rows.index]


def _known_response(poly: Explicit, y: Any) -> Any:
    """Give a response that a card can be measured on; others are judged, or refused, elsewhere.

    Numbers for each output, none of them missing; or labels that are all classes, one a row.
    """
    if y is None:
        return None
    if not poly.outputs.is_classifier:
        numbers = y.dtype.kind in "iuf" and y.reshape(len(y), -1).shape[1] == poly.n_outputs
        return y if numbers and np.isfinite(y).all() else None
    if (poly.link == "sigmoid" and poly.n_outputs > 1) or y.ndim != 1:
        return None
    classes = {level_text(c) for c in poly.classes or range(max(2, poly.n_outputs))}
    return y if {level_text(value) for value in y.tolist()} <= classes else None


def _payload(
    poly: Explicit,
    told: Explicit,
    order: tuple[int, ...],
    measured: Measured,
    failures: tuple[WorstRow, ...],
    flips: tuple[FlipView, ...],
) -> dict[str, Any]:
    """Give the browser the controls and a sample of the rows."""
    rows, worst = measured.rows, [failure.row for failure in failures]
    inputs = detect_indicators(told.inputs, rows.X)
    low = rows.X.min(axis=0) if poly.low is None else poly.low
    high = rows.X.max(axis=0) if poly.high is None else poly.high
    within = _within(poly, measured)
    start = int(rows.index[starting_place(inputs, rows.X, _closeness(poly, measured, within))])
    carried = _carried(rows, poly, [*worst, *(flip.row for flip in flips), start])
    truth = measured.truth
    scale = shown_scale(poly.outputs)
    pair = (
        [] if truth is None else [poly.outputs.on_scale(y, scale) for y in (truth, measured.guess)]
    )
    return {
        "controls": controls(rows.X, inputs, low, high, order),
        "low": packed(low),
        "high": packed(high),
        "typical": packed(typical_row(rows.X, inputs)),
        "start": start,
        "near": _near(inputs, rows.X, carried),
        "within": within,
        "rows": {
            "index": rows.index[carried].tolist(),
            "X": packed(rows.X[carried]),
            "polynomial": packed(measured.guess[carried]),
            "network": None if truth is None else packed(truth[carried]),
            "complete": len(rows.X),
            "total": rows.n_given,
        },
        "r2": _r2(measured.card),
        "views": scatter_views(*pair, whole=poly.outputs.is_classifier) if pair else [],
        "worst": worst,
    }


def _near(inputs: Inputs, X: FloatArray, carried: IntArray) -> dict[str, Any] | None:
    found = nearness(inputs, X, carried)
    if found is None:
        return None
    return {"scale": packed(found.scale), "usual": found.usual, "far": found.far}


def _within(poly: Explicit, measured: Measured) -> list[list[float]] | None:
    """Give how close 95 % of the rows are, by region and output; few rows are no region."""
    if measured.truth is None:
        return None
    size = np.abs(scaled_errors(poly.outputs, measured.truth, measured.guess))
    where = region_of(poly.tree, poly.inputs, measured.rows.X)
    parts = [size[where == k] for k in range(len(poly.regions))]
    rows = [part if len(part) >= MIN_ROWS else size for part in parts]
    # JSON has no infinite number: a target behind a link may be one.
    return [np.nan_to_num(np.quantile(part, 0.95, axis=0)).tolist() for part in rows]


def _closeness(
    poly: Explicit, measured: Measured, within: list[list[float]] | None
) -> FloatArray | None:
    """Give the largest error of each row (n,), in parts of what 95 % of its region stay within."""
    if measured.truth is None or within is None:
        return None
    size = np.abs(scaled_errors(poly.outputs, measured.truth, measured.guess))
    bound = np.array(within)[region_of(poly.tree, poly.inputs, measured.rows.X)]
    parts = np.divide(size, bound, out=np.zeros_like(size), where=bound > 0.0)
    worst: FloatArray = np.nan_to_num(parts.max(axis=1), nan=np.inf)
    return worst


def _r2(card: FidelityCard | None) -> list[str]:
    return [] if card is None else [r_squared(output.r2) for output in card.per_output.values()]


def _carried(rows: Rows, poly: Explicit, worst: list[int]) -> IntArray:
    """Choose the rows that travel with the page: evenly spread ones, and the worst."""
    width = 8 * (poly.n_features + 2 * poly.n_outputs)
    most = int(np.clip(CARRIED_BYTES // width, MIN_CARRIED, MAX_CARRIED))
    places = np.searchsorted(rows.index, np.array(worst, dtype=np.intp))
    return np.union1d(evenly(len(rows.X), most), places)
