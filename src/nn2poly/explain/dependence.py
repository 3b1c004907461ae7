"""Partial dependence and individual curves, from moments instead of repeated predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.grids import choose_players, grid_points, placed, read_axes
from nn2poly.explain.rewriting import as_polynomial, cofactors
from nn2poly.explain.rows import checked_population, checked_rows, warn_mixed
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import separable
from nn2poly.explain.summaries import shown
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula
from nn2poly.memory import check_terms
from nn2poly.tables import Table

# A curve runs between these quantiles of its column, as scikit-learn's partial dependence does.
PERCENTILES = (0.05, 0.95)


@shown()
@dataclass(frozen=True, eq=False)
class PartialDependence:
    """The average prediction as a function of one or a few features.

    Parameters
    ----------
    polynomial
        The partial dependence itself, a formula in these features alone; None behind a link.
    grid
        One array (g_i,) per feature, in raw units.
    values
        Array (g_1, …, g_m, n_outputs), raw outputs or what was asked for.
    feature_names, output_names
        These features, and the outputs.
    """

    polynomial: Polynomial | Separable | None
    grid: tuple[FloatArray, ...]
    values: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def table(self) -> Table:
        """List the points of the grid with the average prediction at each."""
        points = grid_points(self.grid).tolist()
        outputs = self.values.reshape(len(points), -1).tolist()
        return Table(
            f"Partial dependence on {', '.join(self.feature_names)}",
            (*self.feature_names, *self.output_names),
            tuple((*x, *y) for x, y in zip(points, outputs, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class IndividualCurves:
    """The prediction of every row as one of its features moves (ICE).

    Parameters
    ----------
    feature_name
        The feature that moves.
    output_names
        The outputs.
    grid
        Array (g,) in raw units.
    values
        Array (n, g, n_outputs), raw outputs.
    data
        Array (n, p): the rows, in raw units.
    """

    feature_name: str
    output_names: tuple[str, ...]
    grid: FloatArray
    values: FloatArray
    data: FloatArray | None = None

    @property
    def mean(self) -> FloatArray:
        """Average curve, array (g, n_outputs): the partial dependence."""
        result: FloatArray = self.values.mean(axis=0)
        return result

    def centered(self) -> FloatArray:
        """Let every curve start at zero, which shows where their shapes differ: (n, g, k)."""
        result: FloatArray = self.values - self.values[:, :1]
        return result


def partial_dependence(
    poly: Formula,
    X: Any,
    features: int | str | Sequence[int | str],
    *,
    grid: int | Any = 100,
    percentiles: tuple[float, float] = PERCENTILES,
    kind: str = "raw",
) -> PartialDependence:
    """Average the prediction over the data as a function of one or a few features.

    Exact, by moments of the other features in one pass over X, and equal to averaging
    predictions at every point of the grid (Friedman 2001).

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array or data frame (n, p) in raw units; of a stream an even choice of at most 200,000
        rows.
    features
        Index or name of a feature, or a list of them for a joint dependence. With regions a
        column with levels moves as a whole, by its name; its points are the numbers of its
        levels.
    grid
        Number of points (evenly spaced between the percentiles; a feature with no more values
        than that takes these), or the points themselves: an array, or one per feature.
    percentiles
        Ends of the grid as quantiles of each feature.
    kind
        The scale: ``"raw"`` outputs, before the link; of a classifier ``"probability"``, of a
        target with a link ``"target"``, averaged row by row: the average of a curve is not the
        curve of an average.

    Returns
    -------
    PartialDependence

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t^2", "t u"], [1.0, 3.0], ["t", "u"])
    >>> curve = partial_dependence(poly, [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]], "t", grid=[0.0, 2.0])
    >>> curve.values[:, 0]
    array([ 0., 10.])
    >>> curve.polynomial.coefficient("t"), curve.polynomial.coefficient("t^2")
    (3.0, 1.0)
    """
    rows = checked_population(poly, X)
    warn_mixed(poly)
    form = separable(poly)
    players = choose_players(form, features)
    axes = read_axes(form, rows, players, grid, percentiles)
    columns = [j for axis in axes for j in axis.columns]
    formula, points = None, placed(rows, axes)
    if poly.outputs.check_scale(kind) == "raw":
        average = cofactors(form, players).average(rows)
        values, formula = average.predict(points), as_polynomial(average, poly, columns)
    else:
        values = average_answers(poly, rows, columns, points[:, columns], kind)
    return PartialDependence(
        formula,
        tuple(axis.points for axis in axes),
        values.reshape(*(len(axis.points) for axis in axes), -1),
        tuple(axis.name for axis in axes),
        poly.outputs.names_on(kind),
    )


def average_answers(
    poly: Formula, rows: FloatArray, columns: Sequence[int], settings: FloatArray, kind: str
) -> FloatArray:
    """Average outputs on a scale over rows (n, p) with columns set to each setting (g, m): (g, k).

    Examples
    --------
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"], link="log")
    >>> average_answers(poly, np.zeros((3, 1)), [0], np.array([[0.0], [1.0]]), "target").round(3)
    array([[1.   ],
           [2.718]])
    """
    form, places = separable(poly), list(columns)
    players = sorted(set(form.seats[places].tolist()))
    parts = cofactors(form, players)
    whole = sum(len(form.columns[player]) for player in players) == len(places)
    # Moments do not go through a link; but the rows' own polynomials in these columns, one number
    # for each product of their factors, cost less than a prediction for each point.
    if not whole or len(parts.products) > len(settings):
        return _average_predictions(poly, rows, places, settings, kind)
    points = np.repeat(rows[:1], len(settings), axis=0)
    points[:, places] = settings
    own = np.stack([parts.cofactor(i).predict(rows) for i in range(len(parts.products))])
    answers = (np.tensordot(values, own, 1) for values in parts.at(points).T)
    return np.array([poly.outputs.on_scale(raw, kind).mean(axis=0) for raw in answers])


def _average_predictions(
    poly: Formula, rows: FloatArray, columns: list[int], settings: FloatArray, kind: str
) -> FloatArray:
    moved, made = rows.copy(), []
    for values in settings:
        moved[:, columns] = values
        made.append(poly.outputs.on_scale(poly.raw_outputs(moved), kind).mean(axis=0))
    return np.array(made)


def ice(
    poly: Formula,
    X: Any,
    feature: int | str,
    *,
    grid: int | Any = 100,
    percentiles: tuple[float, float] = PERCENTILES,
    kind: str = "raw",
) -> IndividualCurves:
    """Follow the prediction of every row as one feature moves (Goldstein et al. 2015).

    Exact and quick: P = Σ_m z_j^m A_m, and the A_m of a row do not depend on the feature.

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array, data frame or stream (n, p) in raw units: the rows to follow, all of them.
    feature
        Index or name.
    grid, percentiles, kind
        As in `partial_dependence`.

    Returns
    -------
    IndividualCurves

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t^2", "t u"], [1.0, 3.0], ["t", "u"])
    >>> ice(poly, [[1.0, 0.0], [2.0, 1.0]], "t", grid=[0.0, 1.0]).values[:, :, 0]
    array([[0., 1.],
           [0., 4.]])
    """
    rows = checked_rows(poly, X)
    scale = poly.outputs.check_scale(kind)
    warn_mixed(poly)
    form = separable(poly)
    players = choose_players(form, [feature])
    (axis,) = read_axes(form, rows, players, grid, percentiles)
    n_points = len(axis.points)
    check_terms(
        len(form.terms),
        16 * len(rows) * n_points * len(poly.output_names),
        what=f"The curves of {len(rows):,} rows at {n_points:,} points, of a polynomial that",
        remedy="pass fewer rows, or a coarser grid",
    )
    parts = cofactors(form, players)
    products = parts.at(placed(rows, [axis]))
    outputs = [parts.cofactor(place).predict(rows) for place in range(len(products))]
    values = np.matmul(products.T, np.stack(outputs, axis=1))
    flat = poly.outputs.on_scale(values.reshape(-1, values.shape[2]), scale)
    names = poly.outputs.names_on(scale)
    return IndividualCurves(axis.name, names, axis.points, flat.reshape(values.shape), rows)
