"""The average prediction with each level of a factor on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.explain.rewriting import cofactors
from nn2poly.explain.separating import separable
from nn2poly.formula.protocol import Formula


def level_averages(
    poly: Formula,
    X: FloatArray,
    places: Sequence[int],
    low: npt.ArrayLike = 0.0,
    high: npt.ArrayLike = 1.0,
) -> FloatArray:
    """Average the outputs over the rows with exactly one level of a factor on.

    Moving one indicator of a factor by itself asks about rows with two levels or none; here
    all of them move together, by moments as in `partial_dependence`.

    Parameters
    ----------
    poly
        The formula.
    X
        Array (n, p) in raw units.
    places
        The features of the factor, one per level.
    low, high
        The values of each feature when its level is off and on: numbers or arrays (n_levels,).

    Returns
    -------
    array (n_levels, n_outputs), raw outputs

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial.from_terms(["a", "b c"], [1.0, 2.0], ["a", "b", "c"])
    >>> level_averages(poly, np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 5.0]]), [0, 1]).ravel()
    array([1., 8.])
    """
    columns, points = list(places), np.repeat(X[:1], len(places), axis=0)
    points[:, columns] = np.where(np.eye(len(columns), dtype=bool), high, low)
    form = separable(poly)
    players = sorted(set(form.seats[columns].tolist()))
    return cofactors(form, players).average(X).predict(points)
