"""Partial dependence and individual curves, from moments instead of repeated predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arguments import check_count, listed
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.rewriting import Cofactors, as_polynomial, cofactors
from nn2poly.explain.rows import checked_population, checked_rows
from nn2poly.explain.separable import Separable, separable
from nn2poly.explain.summaries import shown
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import parse_term
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
        The partial dependence itself, a polynomial in these features alone.
    grid
        One array (g_i,) per feature, in raw units.
    values
        Array (g_1, …, g_m, n_outputs), raw outputs.
    feature_names, output_names
        These features, and the outputs.
    """

    polynomial: Polynomial | Separable
    grid: tuple[FloatArray, ...]
    values: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def table(self) -> Table:
        """List the points of the grid with the average prediction at each."""
        points = _points(self.grid).tolist()
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
        Index or name of a feature, or a list of them for a joint dependence.
    grid
        Number of points (evenly spaced between the percentiles; a feature with no more values
        than that takes these), or the points themselves: an array, or one per feature.
    percentiles
        Ends of the grid as quantiles of each feature.

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
    parts, columns = _split(poly, features)
    axes = _axes(poly, rows, columns, grid, percentiles)
    average = parts.average(rows)
    values = average.predict(_placed(rows, columns, _points(axes)))
    return PartialDependence(
        as_polynomial(average, poly, columns),
        axes,
        values.reshape(*map(len, axes), -1),
        tuple(poly.feature_names[j] for j in columns),
        poly.output_names,
    )


def ice(
    poly: Formula,
    X: Any,
    feature: int | str,
    *,
    grid: int | Any = 100,
    percentiles: tuple[float, float] = PERCENTILES,
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
    grid, percentiles
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
    parts, columns = _split(poly, [feature])
    (axis,) = _axes(poly, rows, columns, grid, percentiles)
    check_terms(
        len(parts.form.terms),
        16 * len(rows) * len(axis) * len(poly.output_names),
        what=f"The curves of {len(rows):,} rows at {len(axis):,} points, of a polynomial that",
        remedy="pass fewer rows, or a coarser grid",
    )
    products = parts.at(_placed(rows, columns, axis[:, None]))
    outputs = [parts.cofactor(place).predict(rows) for place in range(len(products))]
    values = np.matmul(products.T, np.stack(outputs, axis=1))
    return IndividualCurves(poly.feature_names[columns[0]], poly.output_names, axis, values, rows)


def _split(poly: Formula, features: Any) -> tuple[Cofactors, list[int]]:
    """Take the chosen players out of a formula; also give their columns."""
    form = separable(poly)
    alone = isinstance(features, str | int | np.integer) or not isinstance(features, Iterable)
    given = [features] if alone else list(features)
    chosen = [parse_term((feature,), form.players)[0] for feature in given]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InvalidInputError(
            "The features of a partial dependence cannot be used.",
            where="features",
            expected="one feature, or a list of different ones",
            found=listed(given),
        )
    columns = [j for player in chosen for j in form.columns[player]]
    return cofactors(form, chosen), columns


def _placed(rows: FloatArray, columns: list[int], points: FloatArray) -> FloatArray:
    """Write points (g, m) into some columns of a row: array (g, p); the others do not matter."""
    out = np.repeat(rows[:1], len(points), axis=0)
    out[:, columns] = points
    return out


def _axes(
    poly: Formula,
    rows: FloatArray,
    chosen: list[int],
    grid: Any,
    percentiles: tuple[float, float],
) -> tuple[FloatArray, ...]:
    if isinstance(grid, int | np.integer) and not isinstance(grid, bool):
        count = check_count(grid, where="grid")
        return tuple(_spread(rows[:, j], count, _ends(percentiles)) for j in chosen)
    axes = _given_axes(grid, len(chosen))
    if axes is None:
        raise InvalidInputError(
            "The grid cannot be used.",
            where="grid",
            expected="a number of points, or finite points: an array (g,)"
            + (f", or a list of {len(chosen)} of them" if len(chosen) > 1 else ""),
            remedy=f"one axis for each of {listed([poly.feature_names[j] for j in chosen])}",
        )
    return axes


def _given_axes(grid: Any, count: int) -> tuple[FloatArray, ...] | None:
    """Read the points of each axis, or give None."""
    try:
        parts = [np.asarray(part, dtype=np.float64) for part in ([grid] if count == 1 else grid)]
    except (TypeError, ValueError):
        return None
    good = all(part.ndim == 1 and part.size and np.all(np.isfinite(part)) for part in parts)
    return tuple(parts) if good and len(parts) == count else None


def _ends(percentiles: Any) -> tuple[float, float]:
    try:
        low, high = map(float, percentiles)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 <= low < high <= 1:
        raise InvalidInputError(
            "The percentiles of the grid cannot be used.",
            where="percentiles",
            expected="two numbers with 0 <= low < high <= 1",
            found=repr(percentiles),
        )
    return low, high


def _spread(values: FloatArray, count: int, ends: tuple[float, float]) -> FloatArray:
    unique = np.unique(values)
    if len(unique) <= count:
        return unique
    low, high = np.quantile(values, ends)
    return np.linspace(low, high, count)


def _points(axes: Sequence[FloatArray]) -> FloatArray:
    """List the points of a grid, the last feature moving fastest: array (Π g_i, m)."""
    return np.stack([mesh.ravel() for mesh in np.meshgrid(*axes, indexing="ij")], axis=1)
