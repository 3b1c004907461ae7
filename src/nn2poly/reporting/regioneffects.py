"""Importance, main effects and interactions of a formula with regions, by column."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import MixedRowsWarning, OutsideRangeWarning
from nn2poly.explain.anova import anova
from nn2poly.explain.dependence import partial_dependence
from nn2poly.formula.borders import both_sides, thresholds
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.reporting.effectviews import MAX_INPUTS, POINTS, average_view, value_deviations
from nn2poly.reporting.payload import packed
from nn2poly.reporting.regionviews import Part


def features_by_importance(
    formula: PiecewisePolynomial, moves: dict[str, FloatArray]
) -> tuple[int, ...]:
    """Order all features as their columns matter, those of one column together.

    Parameters
    ----------
    moves
        How far each output moves with a column, array (n_outputs,), what moves most first.
    """
    places: dict[str, tuple[int, ...]] = {
        name: (j,) for j, name in enumerate(formula.feature_names)
    }
    pairs = zip(formula.inputs.columns, formula.inputs.places, strict=True)
    places |= {column.name: where for column, where in pairs if column.width > 1}
    return tuple(j for name in moves for j in places[name])


def region_effects_payload(
    formula: PiecewisePolynomial,
    X: FloatArray,
    parts: list[Part],
    moves: dict[str, FloatArray],
    controls: list[dict[str, Any]],
) -> dict[str, Any]:
    """Give the browser what `effects_payload` gives of a polynomial, by column.

    Parameters
    ----------
    X
        Array (n, p) in raw units: the rows to average over.
    parts
        The regions with their rows.
    moves
        As in `features_by_importance`.
    controls
        As `controls` lists them, the inputs that matter most first.
    """
    with warnings.catch_warnings():
        # The page marks the range of validity; the card counts the rows outside.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        warnings.simplefilter("ignore", MixedRowsWarning)  # its cards say so
        averages = [_average(formula, X, control) for control in controls[:MAX_INPUTS]]
        pairs = _pairs(formula, X, set(list(moves)[:MAX_INPUTS]))
    return {
        "deviations": [
            packed(value_deviations(part.region.polynomial, part.ranked)) for part in parts
        ],
        "columns": {"names": list(moves), "moves": packed(np.array(list(moves.values())))},
        "averages": averages,
        "mean": packed(formula.raw_outputs(X).mean(axis=0)),
        **pairs,
    }


def _average(
    formula: PiecewisePolynomial, X: FloatArray, control: dict[str, Any]
) -> dict[str, Any]:
    """Average the outputs over the rows along a control; ``jumps`` are the points after a jump."""
    if control["kind"] != "number":
        return average_view(formula, X, control)
    (feature,) = control["features"]
    cuts = thresholds(formula.tree, int(formula.inputs.column_of[feature]))
    grid = both_sides(np.linspace(control["min"], control["max"], POINTS), cuts)
    # The ends of the range of validity come last: the caption tells the change between them.
    x = np.append(grid, [control["low"], control["high"]])
    curve = partial_dependence(formula, X, feature, grid=x)
    return {
        "x": packed(x),
        "y": packed(curve.values),
        "jumps": [int(i) for i in np.searchsorted(grid, cuts) if 0 < i < len(grid)],
    }


def _pairs(formula: PiecewisePolynomial, X: FloatArray, known: set[str]) -> dict[str, Any]:
    """Measure what pairs of columns do beyond what each of the two does alone."""
    found = anova(formula, X)
    names, features = found.feature_names, found.effects.form.columns
    places = [
        i
        for i, subset in enumerate(found.subsets)
        if len(subset) == 2 and known.issuperset(names[player] for player in subset)
    ]
    subsets = np.array([found.subsets[i] for i in places], dtype=np.intp).reshape(-1, 2)
    players = zip(names, features, strict=True)
    return {
        "players": [{"name": name, "features": list(columns)} for name, columns in players],
        "pairs": packed(subsets, "<u4"),
        "strengths": packed(np.sqrt(found.variances[places]), "<f4"),
    }
