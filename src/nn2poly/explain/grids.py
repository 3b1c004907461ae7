"""Which players a dependence is on, and the points that they move over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arguments import check_count, listed
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.separable import Separable
from nn2poly.formula.term_names import parse_term


@dataclass(frozen=True, eq=False)
class Axis:
    """One player and its points.

    Parameters
    ----------
    name
        Of the player: a feature, or a column with levels.
    columns
        Its features.
    points
        Array (g,): raw values; of a column with levels their numbers.
    settings
        Array (g, width): the raw values of its features at each point.
    """

    name: str
    columns: tuple[int, ...]
    points: FloatArray
    settings: FloatArray


def choose_players(form: Separable, features: Any) -> list[int]:
    """Read one feature or column, or a list of different ones, by index of feature or name."""
    alone = isinstance(features, str | int | np.integer) or not isinstance(features, Iterable)
    given = [features] if alone else list(features)
    chosen = [_player(form, feature) for feature in given]
    if chosen and len(set(chosen)) == len(chosen):
        return chosen
    raise InvalidInputError(
        "The features of a partial dependence cannot be used.",
        where="features",
        expected="one feature, or a list of different ones",
        found=listed(given),
    )


def _player(form: Separable, feature: Any) -> int:
    if isinstance(feature, str) and feature in form.players:
        return form.players.index(feature)
    names = form.feature_names
    (j,) = parse_term((feature,), names)
    player = int(form.seats[j])
    if len(form.columns[player]) == 1:
        return player
    column = form.players[player]
    raise InvalidInputError(
        f"{names[j]!r} is one level of the column {column!r}, which moves as a whole.",
        where="features",
        remedy=f"ask for {column!r}: its points are its levels",
    )


def read_axes(
    form: Separable,
    rows: FloatArray,
    players: Sequence[int],
    grid: Any,
    percentiles: tuple[float, float],
) -> list[Axis]:
    """Give the points of every player: a number of them, or those given.

    Parameters
    ----------
    rows
        Array (n, p) of raw rows, whose quantiles are the ends of an axis.
    grid
        A number of points, or an array (g,), or one for each player; a column with levels takes
        all of them, or the numbers of some.
    percentiles
        The ends, as quantiles.
    """
    if isinstance(grid, int | np.integer) and not isinstance(grid, bool):
        count, ends = check_count(grid, where="grid"), _ends(percentiles)
        return [_spread(form, rows, player, count, ends) for player in players]
    axes = _given_axes(grid, len(players))
    if axes is None:
        raise InvalidInputError(
            "The grid cannot be used.",
            where="grid",
            expected="a number of points, or finite points: an array (g,)"
            + (f", or a list of {len(players)} of them" if len(players) > 1 else ""),
            remedy=f"one axis for each of {listed([form.players[i] for i in players])}",
        )
    return [_axis(form, player, points) for player, points in zip(players, axes, strict=True)]


def placed(rows: FloatArray, axes: Sequence[Axis]) -> FloatArray:
    """Write every point of a grid into a row, the last axis moving fastest: array (Π g_i, p).

    The other features do not matter.
    """
    numbers = np.meshgrid(*(np.arange(len(axis.points)) for axis in axes), indexing="ij")
    out = np.repeat(rows[:1], numbers[0].size, axis=0)
    for axis, number in zip(axes, numbers, strict=True):
        out[:, axis.columns] = axis.settings[number.ravel()]
    return out


def grid_points(axes: Sequence[FloatArray]) -> FloatArray:
    """List the points of a grid, the last axis moving fastest: array (Π g_i, m).

    Examples
    --------
    >>> grid_points([np.array([0.0, 1.0]), np.array([5.0])])
    array([[0., 5.],
           [1., 5.]])
    """
    return np.stack([mesh.ravel() for mesh in np.meshgrid(*axes, indexing="ij")], axis=1)


def _axis(form: Separable, player: int, points: FloatArray) -> Axis:
    columns = form.columns[player]
    if len(columns) == 1:
        return Axis(form.players[player], columns, points, points[:, None])
    levels = points.astype(np.intp)
    if np.any(levels != points) or levels.min() < 0 or levels.max() >= len(columns):
        raise InvalidInputError(
            f"The points of {form.players[player]!r} are not its levels.",
            where="grid",
            expected=f"whole numbers from 0 to {len(columns) - 1}",
            found=listed(points.tolist()),
        )
    low, high = (end[list(columns)] for end in form.inputs.ends())
    settings = np.where(np.eye(len(columns), dtype=bool), high, low)[levels]
    return Axis(form.players[player], columns, points, settings)


def _spread(
    form: Separable, rows: FloatArray, player: int, count: int, ends: tuple[float, float]
) -> Axis:
    columns = form.columns[player]
    if len(columns) > 1:
        return _axis(form, player, np.arange(float(len(columns))))
    values = rows[:, columns[0]]
    unique = np.unique(values)
    if len(unique) <= count:
        return _axis(form, player, unique)
    low, high = np.quantile(values, ends)
    return _axis(form, player, np.linspace(low, high, count))


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
