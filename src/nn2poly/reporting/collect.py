"""Collect everything that a report shows, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.assess.compared import comparable
from nn2poly.assess.fidelity import fidelity
from nn2poly.cards import FidelityCard
from nn2poly.errors import TooManyTermsError
from nn2poly.formula import piecewise_display
from nn2poly.formula.display import facts
from nn2poly.formula.importance import MAX_ROWS, ranking
from nn2poly.formula.piecewise import Explicit, PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs, frame_columns, level_text
from nn2poly.inputs.indicators import detect_indicators
from nn2poly.outputs import Outputs
from nn2poly.plots.column_values import column_moves
from nn2poly.plots.units import thin, typical_row
from nn2poly.reporting.cardviews import card_views, figures, numbered_as_given
from nn2poly.reporting.contents import Contents, WorstRow
from nn2poly.reporting.controls import controls
from nn2poly.reporting.describe import Rows, describe_columns, describe_response, read_rows
from nn2poly.reporting.effectviews import effects_payload
from nn2poly.reporting.failures import Measured, worst_rows
from nn2poly.reporting.formulas import (
    export_texts,
    exported,
    exported_regions,
    formula_views,
    top_terms,
)
from nn2poly.reporting.numerals import r_squared
from nn2poly.reporting.payload import output_prefix, packed, polynomial_payload
from nn2poly.reporting.regioneffects import features_by_importance, region_effects_payload
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
    rows, card = measured.rows, measured.card or poly.card
    worst = worst_rows(poly, measured)
    if isinstance(poly, PiecewisePolynomial):
        parts = _of_regions(poly, measured, worst)
    else:
        parts = _of_polynomial(poly, measured, worst)
    return Contents(
        title=title,
        units=_units(poly),
        version=version("nn2poly"),
        n_rows=len(rows.X),
        n_dropped=rows.n_given - len(rows.X),
        n_sample=min(len(rows.X), MAX_ROWS),
        n_terms=poly.n_terms,
        has_network=measured.truth is not None,
        has_range=poly.low is not None,
        has_pairs=bool(parts["payload"]["effects"]["pairs"]),
        output_prefix=output_prefix(poly.outputs),
        link=poly.link,
        several_labels=poly.link == "sigmoid" and poly.n_outputs > 1,
        figures=figures(card, poly.n_terms, len(poly.regions)),
        cards=card_views(measured.card, poly.card),
        feature_names=poly.feature_names,
        output_names=poly.output_names,
        worst=worst,
        columns=describe_columns(rows, poly),
        response=describe_response(rows, poly, measured.outputs),
        **parts,
    )


def _of_polynomial(
    poly: Polynomial, measured: Measured, worst: tuple[WorstRow, ...]
) -> dict[str, Any]:
    """Collect what is said of the terms of one polynomial."""
    sample = thin(measured.rows.X, MAX_ROWS)
    ranked = ranking(poly, sample)
    small, note = exported(poly, ranked, sample)
    payload = _payload(poly, ranked.features(poly), measured, worst)
    effects = effects_payload(poly, sample, ranked, payload["controls"])
    return {
        "facts": facts(poly),
        "formulas": formula_views(poly, ranked),
        "exports": export_texts(small),
        "export_note": note,
        "top_terms": top_terms(poly, ranked),
        "payload": {"polynomial": polynomial_payload(poly), **payload, "effects": effects},
    }


def _of_regions(
    formula: PiecewisePolynomial, measured: Measured, worst: tuple[WorstRow, ...]
) -> dict[str, Any]:
    """Collect what is said of regions: their rules and terms; the columns for what they share."""
    X = measured.rows.X
    sample, parts = thin(X, MAX_ROWS), region_parts(formula, X)
    moves = column_moves(formula, sample, remedy="")
    small, note = exported_regions(formula, sample)
    payload = _payload(formula, features_by_importance(formula, moves), measured, worst)
    effects = region_effects_payload(formula, sample, parts, moves, payload["controls"])
    polynomial = regions_payload(formula, parts, X)
    return {
        "facts": piecewise_display.facts(formula),
        "formulas": (),
        "exports": export_texts(small),
        "export_note": note,
        "top_terms": top_region_terms(parts),
        "payload": {"polynomial": polynomial, **payload, "effects": effects},
        "tree": tree_view(formula.tree, formula.inputs),
        "regions": region_views(formula, parts, measured.guess, measured.truth),
    }


def _units(poly: Explicit) -> str:
    raw = all(coordinate.is_plain for coordinate in poly.inputs.coordinates)
    return "in raw units" if raw else "as the polynomial has them: (value − centre) / scale"


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
    card = fidelity(network, evaluated, rows.X, _known_labels(poly, rows.y))
    card = numbered_as_given(card, rows.index)
    return Measured(rows, guess, network.predict(rows.X).reshape(guess.shape), card)


def _kept(X: Any, rows: Rows) -> Any:
    """Give the rows that are looked at as the user has them; features where they are no table."""
    if frame_columns(X) is None:
        return X[rows.index] if hasattr(type(X), "detach") else rows.X
    return X.iloc[rows.index] if hasattr(type(X), "iloc") else X[rows.index]


def _known_labels(poly: Explicit, y: Any) -> Any:
    """Give true labels that are all classes of one label a row; others are judged elsewhere."""
    several = poly.link == "sigmoid" and poly.n_outputs > 1
    if y is None or not poly.outputs.is_classifier or several or y.ndim != 1:
        return None
    classes = {level_text(c) for c in poly.classes or range(max(2, poly.n_outputs))}
    return y if {level_text(value) for value in y.tolist()} <= classes else None


def _payload(
    poly: Explicit,
    order: tuple[int, ...],
    measured: Measured,
    failures: tuple[WorstRow, ...],
) -> dict[str, Any]:
    """Give the browser the controls and a sample of the rows."""
    rows, worst = measured.rows, [failure.row for failure in failures]
    inputs = detect_indicators(poly.inputs, rows.X)
    low = rows.X.min(axis=0) if poly.low is None else poly.low
    high = rows.X.max(axis=0) if poly.high is None else poly.high
    carried = _carried(rows, poly, worst)
    truth = measured.truth
    return {
        "controls": controls(rows.X, inputs, low, high, order),
        "low": packed(low),
        "high": packed(high),
        "typical": packed(typical_row(rows.X, inputs)),
        "rows": {
            "index": rows.index[carried].tolist(),
            "X": packed(rows.X[carried]),
            "polynomial": packed(measured.guess[carried]),
            "network": None if truth is None else packed(truth[carried]),
            "complete": len(rows.X),
            "total": rows.n_given,
        },
        "r2": _r2(measured.card),
        "views": [] if truth is None else scatter_views(truth, measured.guess),
        "worst": worst,
    }


def _r2(card: FidelityCard | None) -> list[str]:
    return [] if card is None else [r_squared(output.r2) for output in card.per_output.values()]


def _carried(rows: Rows, poly: Explicit, worst: list[int]) -> IntArray:
    """Choose the rows that travel with the page: evenly spread ones, and the worst."""
    width = 8 * (poly.n_features + 2 * poly.n_outputs)
    most = int(np.clip(CARRIED_BYTES // width, MIN_CARRIED, MAX_CARRIED))
    places = np.searchsorted(rows.index, np.array(worst, dtype=np.intp))
    return np.union1d(evenly(len(rows.X), most), places)
