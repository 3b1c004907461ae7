"""The polynomial in comparable units, and what its terms and features do on a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import term_name
from nn2poly.reporting.controls import Binary
from nn2poly.reporting.effect_curves import (
    average_curves,
    factor_averages,
    pair_deviations,
    term_deviations,
)
from nn2poly.reporting.payload import packed
from nn2poly.tables import Table

# Rows on which terms are judged, terms listed without a browser's help, features in the heatmap.
JUDGED_ROWS, N_TOP, MAX_PAIR_FEATURES = 1_000, 25, 60


@dataclass(frozen=True)
class Judged:
    """What was found.

    Parameters
    ----------
    shown
        The polynomial in comparable units, which ``units`` names.
    deviations
        Array (n_terms,): standard deviation of every term's value.
    moves
        Array (n_terms, n_outputs): the same of what it adds to the output.
    order
        All features, the one that moves the outputs most first.
    """

    shown: Polynomial
    units: str
    X: FloatArray
    z: FloatArray
    deviations: FloatArray
    moves: FloatArray
    order: tuple[int, ...]


def judge(poly: Polynomial, X: FloatArray, binary: Binary) -> Judged:
    """Judge terms and features on a sample of the rows X (n, p).

    Examples
    --------
    >>> X = np.array([[-1.0, 2.0], [1.0, 5.0]])
    >>> poly = Polynomial([[0.0], [1.0], [3.0]], 1, ["a", "b"])
    >>> judge(poly, X, Binary(X[0], X[1], ())).order
    (1, 0)
    """
    shown, units = comparable(poly, X, binary)
    sample = X[spread_rows(len(X), JUDGED_ROWS)]
    z = (sample - shown.center) / shown.scale
    deviations = term_deviations(shown.terms, z)
    moves = deviations[:, None] * np.abs(shown.coefficients)
    order = np.argsort(-_feature_moves(shown, moves), kind="stable")
    return Judged(shown, units, sample, z, deviations, moves, tuple(order.tolist()))


def comparable(poly: Polynomial, X: FloatArray, binary: Binary) -> tuple[Polynomial, str]:
    """Standardise a polynomial in raw units; leave one that has coordinates of its own.

    The rewriting is exact; columns with two values stay as they are.

    Examples
    --------
    >>> poly = Polynomial([[0.0], [2.0]], 1, ["t"])
    >>> X = np.array([[10.0], [30.0]])
    >>> comparable(poly, X, Binary(X[0], X[1], ()))[0].coefficients.ravel()
    array([40., 20.])
    """
    if np.any(poly.center) or np.any(poly.scale != 1.0):
        return poly, "as the polynomial has them: (value − centre) / scale"
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1.0
    two = [j for factor in binary.factors for j in factor]
    center[two], scale[two] = 0.0, 1.0
    text = "(value − mean) / standard deviation; the polynomial itself is in raw units"
    return poly.rebase(center, scale), text


def spread_rows(n_rows: int, most: int) -> IntArray:
    """Choose at most ``most`` rows, evenly spread.

    Examples
    --------
    >>> spread_rows(5, 3)
    array([0, 2, 4])
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, most).round().astype(np.intp)


def on_one_scale(moves: FloatArray) -> FloatArray:
    """Divide the moves (n_terms, n_outputs) of every output by their largest.

    Examples
    --------
    >>> on_one_scale(np.array([[1.0, 0.0], [4.0, 0.0]])).tolist()
    [[0.25, 0.0], [1.0, 0.0]]
    """
    scaled: FloatArray = moves / np.maximum(moves.max(axis=0, initial=0.0), np.finfo(float).tiny)
    return scaled


def _feature_moves(poly: Polynomial, moves: FloatArray) -> FloatArray:
    """Add up the squared moves of the terms of every feature, outputs on one scale: (p,)."""
    squared = (on_one_scale(moves) ** 2).sum(axis=1)
    total = np.zeros(poly.n_features)
    for here, variables in poly.terms.by_degree():
        for c in range(variables.shape[1]):
            fresh = (variables[:, :c] != variables[:, c : c + 1]).all(axis=1)
            np.add.at(total, variables[fresh, c], squared[here][fresh])
    return total


def top_terms(judged: Judged) -> Table:
    """List the terms that move the outputs most."""
    poly, moves = judged.shown, judged.moves
    orders = poly.terms.orders()
    size = np.where(orders == 0, -1.0, np.linalg.norm(on_one_scale(moves), axis=1))
    places = [i for i in np.argsort(-size, kind="stable")[:N_TOP].tolist() if orders[i]]
    values = ("coefficient",) if poly.n_outputs == 1 else poly.output_names
    rows = tuple(
        (term_name(poly.terms[i], poly.feature_names), int(orders[i]), *poly.coefficients[i])
        for i in places
    )
    title = f"The {len(rows)} terms that move the outputs most, of {poly.n_terms:,}"
    return Table(title, ("term", "order", *values), rows)


def factors_payload(judged: Judged, binary: Binary) -> dict[str, str]:
    """Give the average outputs (levels, n_outputs) of every factor, by its first column."""
    poly, averages = judged.shown, {}
    for factor in binary.factors:
        if len(factor) == 1:
            continue
        columns = list(factor)
        values = np.full((len(columns), poly.n_features), np.nan)
        values[:, columns] = np.where(
            np.eye(len(columns), dtype=bool), binary.high[columns], binary.low[columns]
        )
        levels = (values - poly.center) / poly.scale
        averages[str(factor[0])] = packed(factor_averages(poly, judged.z, levels))
    return averages


def effects_payload(judged: Judged, binary: Binary, mean: FloatArray) -> dict[str, Any]:
    """Give the browser deviations, average curves, factors around the mean (k,), and pairs."""
    pairs, strength = pair_deviations(judged.shown, judged.z)
    kept = np.sort(np.array(judged.order[:MAX_PAIR_FEATURES], dtype=np.intp))
    inside = np.isin(pairs, kept).all(axis=1)
    return {
        "deviations": packed(judged.deviations),
        "curves": packed(average_curves(judged.shown, judged.z)),
        "mean": packed(mean),
        "factors": factors_payload(judged, binary),
        "pairs": packed(pairs[inside], "<u4"),
        "strengths": packed(strength[inside], "<f4"),
    }
