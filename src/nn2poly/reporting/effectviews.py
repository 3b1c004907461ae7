"""Main effects and interactions for the browser; `nn2poly.explain` computes them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import MixedRowsWarning, OutsideRangeWarning
from nn2poly.explain.anova import anova
from nn2poly.explain.dependence import partial_dependence
from nn2poly.explain.levels import level_averages
from nn2poly.formula.importance import Ranking
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.reporting.payload import packed

# Points of a curve; inputs whose effects and interactions the page holds (a longer list is not
# read, and at the largest size of a page each takes half a second).
POINTS, MAX_INPUTS = 81, 60


def effects_payload(
    poly: Polynomial, X: FloatArray, ranking: Ranking, controls: list[dict[str, Any]]
) -> dict[str, Any]:
    """Give the browser deviations of the terms, average outputs by control, and pairs.

    Parameters
    ----------
    X
        Array (n, p) in raw units: the rows to average over.
    ranking
        How much the terms matter on these rows.
    controls
        As `controls` lists them, the inputs that matter most first.
    """
    with warnings.catch_warnings():
        # The page marks the range of validity; the card counts the rows outside.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        warnings.simplefilter("ignore", MixedRowsWarning)  # its cards say so
        pairs, strengths = pair_strengths(poly, X, ranking.features(poly)[:MAX_INPUTS])
        averages = [average_view(poly, X, control) for control in controls[:MAX_INPUTS]]
    return {
        "deviations": packed(value_deviations(poly, ranking)),
        "averages": averages,
        "mean": packed(poly.outputs_by_order(X)[-1].mean(axis=0)),
        "pairs": packed(pairs, "<u4"),
        "strengths": packed(strengths, "<f4"),
    }


def value_deviations(poly: Polynomial, ranking: Ranking) -> FloatArray:
    """Deviation of each term's value (n_terms,): that of its contribution per coefficient."""
    size = np.abs(poly.coefficients).max(axis=1)
    moves: FloatArray = ranking.sizes.max(axis=1)
    return np.where(size > 0.0, moves / np.where(size > 0.0, size, 1.0), 0.0)


def average_view(poly: Explicit, X: FloatArray, control: dict[str, Any]) -> dict[str, Any]:
    """Average the outputs over the rows at each value ``x``, or with each level of a factor on."""
    if control["kind"] == "levels":
        levels = (control[name] for name in ("features", "low", "high"))
        return {"y": packed(level_averages(poly, X, *levels))}
    ends = np.ravel([control["low"], control["high"]])
    wide = control["kind"] == "number"
    grid = np.linspace(control["min"], control["max"], POINTS) if wide else ends[:0]
    # The ends of the range of validity come last: the caption tells the change between them.
    x = np.append(grid, ends)
    curve = partial_dependence(poly, X, control["features"], grid=x)
    return {"x": packed(x), "y": packed(curve.values)}


def pair_strengths(
    poly: Polynomial, X: FloatArray, features: tuple[int, ...]
) -> tuple[IntArray, FloatArray]:
    """Measure what pairs among the features do beyond what each of the two does alone.

    Returns
    -------
    pairs
        Array (m, 2) of features, the first smaller.
    strengths
        Array (m, n_outputs): standard deviations of the pure effects of `explain.anova`.

    Examples
    --------
    >>> poly = Polynomial.from_terms(["a b", "b"], [3.0, 1.0], ["a", "b"])
    >>> X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> pair_strengths(poly, X, (0, 1))
    (array([[0, 1]]), array([[3.]]))
    """
    found, known = anova(poly, X), set(features)
    places = [i for i, s in enumerate(found.subsets) if len(s) == 2 and known.issuperset(s)]
    pairs = np.array([found.subsets[i] for i in places], dtype=np.intp).reshape(-1, 2)
    return pairs, np.sqrt(found.variances[places])
