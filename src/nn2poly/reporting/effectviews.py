"""Importance, main effects and interactions by column; `nn2poly.explain` computes them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import MixedRowsWarning, OutsideRangeWarning
from nn2poly.explain.anova import anova
from nn2poly.explain.dependence import average_answers, partial_dependence
from nn2poly.explain.feature_importance import feature_moves
from nn2poly.explain.levels import level_averages
from nn2poly.formula.borders import both_sides, thresholds
from nn2poly.formula.importance import Ranking
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.plots.units import thin
from nn2poly.reporting.payload import packed, shown_scale

# Points of a curve; inputs whose effects and interactions the page holds (a longer list is not
# read, and at the largest size of a page each takes half a second).
POINTS, MAX_INPUTS = 81, 60
# Terms × rows × levels that are evaluated for one factor behind a link: about two seconds.
MOST_PRODUCTS = 400_000_000


def column_moves(poly: Explicit, X: FloatArray) -> dict[str, FloatArray]:
    """Give how far the outputs move with each column, array (n_outputs,), what moves most first."""
    names, moves = feature_moves(poly, X)
    order = np.argsort(-moves.mean(axis=1), kind="stable").tolist()
    return {names[i]: moves[i] for i in order}


def features_by_importance(poly: Explicit, moves: dict[str, FloatArray]) -> tuple[int, ...]:
    """Order all features as their columns matter, those of one column together.

    Parameters
    ----------
    moves
        How far each output moves with a column, array (n_outputs,), what moves most first.
    """
    places: dict[str, tuple[int, ...]] = {name: (j,) for j, name in enumerate(poly.feature_names)}
    pairs = zip(poly.inputs.columns, poly.inputs.places, strict=True)
    places |= {column.name: where for column, where in pairs if column.width > 1}
    return tuple(j for name in moves for j in places[name])


def effects_payload(
    poly: Explicit, X: FloatArray, moves: dict[str, FloatArray], controls: list[dict[str, Any]]
) -> dict[str, Any]:
    """Give the browser importance and average outputs by control.

    Averages are on the scale that is shown: probabilities, or the target. What columns move is on
    the scale on which they add up.

    Parameters
    ----------
    X
        Array (n, p) in raw units: the rows to average over.
    moves
        As in `features_by_importance`.
    controls
        As `controls` lists them, the inputs that matter most first.
    """
    scale = shown_scale(poly.outputs)
    with warnings.catch_warnings():
        # The page marks the range of validity; the card counts the rows outside.
        warnings.simplefilter("ignore", OutsideRangeWarning)
        warnings.simplefilter("ignore", MixedRowsWarning)  # its cards say so
        averages = [_average(poly, X, control, scale) for control in controls[:MAX_INPUTS]]
    return {
        "columns": {"names": list(moves), "moves": packed(np.array(list(moves.values())))},
        "averages": averages,
        "mean": packed(poly.outputs.on_scale(poly.raw_outputs(X), scale).mean(axis=0)),
    }


def value_deviations(poly: Polynomial, ranking: Ranking) -> FloatArray:
    """Deviation of each term's value (n_terms,): that of its contribution per coefficient."""
    size = np.abs(poly.coefficients).max(axis=1)
    moves: FloatArray = ranking.sizes.max(axis=1)
    return np.where(size > 0.0, moves / np.where(size > 0.0, size, 1.0), 0.0)


def _average(poly: Explicit, X: FloatArray, control: dict[str, Any], scale: str) -> dict[str, Any]:
    """Average the outputs over the rows at each value ``x``, or with each level of a factor on.

    ``jumps`` are the points after which the curve goes on in another region.
    """
    if control["kind"] == "levels":
        return {"y": packed(_at_levels(poly, X, control, scale))}
    ends, (feature,) = np.ravel([control["low"], control["high"]]), control["features"]
    grid, jumps = ends[:0], []
    if control["kind"] == "number":
        cuts = thresholds(poly.tree, int(poly.inputs.column_of[feature]))
        grid = both_sides(np.linspace(control["min"], control["max"], POINTS), cuts)
        jumps = [int(i) for i in np.searchsorted(grid, cuts) if 0 < i < len(grid)]
    # The ends of the range of validity come last: the caption tells the change between them.
    x = np.append(grid, ends)
    curve = partial_dependence(poly, X, feature, grid=x, kind=scale)
    return {"x": packed(x), "y": packed(curve.values), "jumps": jumps}


def _at_levels(poly: Explicit, X: FloatArray, control: dict[str, Any], scale: str) -> FloatArray:
    places, low, high = (control[name] for name in ("features", "low", "high"))
    if scale == "raw":
        return level_averages(poly, X, places, low, high)
    settings = np.where(np.eye(len(places), dtype=bool), high, low)
    most = max(50, MOST_PRODUCTS // (poly.n_terms * len(places)))
    return average_answers(poly, thin(X, most), places, settings, scale)


@dataclass(frozen=True, eq=False)
class Pairs:
    """What pairs of columns do beyond what each of the two does alone.

    Parameters
    ----------
    names, features
        Of the columns: their names, and the features of each.
    members
        Array (m, 2): the columns of each pair, the first smaller.
    strengths
        Array (m, n_outputs): standard deviations of the pure effects of `explain.anova`.
    """

    names: tuple[str, ...]
    features: tuple[tuple[int, ...], ...]
    members: IntArray
    strengths: FloatArray

    def strongest(self, output: int) -> list[tuple[str, str]]:
        """Name the pairs, strongest first for an output."""
        order = np.argsort(-self.strengths[:, output], kind="stable")
        return [(self.names[a], self.names[b]) for a, b in self.members[order].tolist()]

    def payload(self) -> dict[str, Any]:
        """Give the browser the columns and their pairs."""
        players = zip(self.names, self.features, strict=True)
        return {
            "players": [{"name": name, "features": list(where)} for name, where in players],
            "pairs": packed(self.members, "<u4"),
            "strengths": packed(self.strengths, "<f4"),
        }


def column_pairs(poly: Explicit, X: FloatArray, moves: dict[str, FloatArray]) -> Pairs:
    """Measure the pairs among the columns that matter most on raw rows (n, p).

    Examples
    --------
    >>> poly = Polynomial.from_terms(["a b", "b"], [3.0, 1.0], ["a", "b"])
    >>> X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> found = column_pairs(poly, X, {"a": np.ones(1), "b": np.ones(1)})
    >>> found.strongest(0), found.strengths
    ([('a', 'b')], array([[3.]]))
    """
    known = set(list(moves)[:MAX_INPUTS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideRangeWarning)
        warnings.simplefilter("ignore", MixedRowsWarning)  # its cards say so
        found = anova(poly, X)
    names = found.feature_names
    places = [
        i
        for i, subset in enumerate(found.subsets)
        if len(subset) == 2 and known.issuperset(names[player] for player in subset)
    ]
    members = np.array([found.subsets[i] for i in places], dtype=np.intp).reshape(-1, 2)
    return Pairs(names, found.effects.form.columns, members, np.sqrt(found.variances[places]))
