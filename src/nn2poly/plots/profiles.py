"""Reduce a polynomial to one in one or two features, the others averaged or at the centre."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.polynomial import Polynomial

# Terms that are averaged at a time; without data, scales to either side of the centre.
TERMS, REACH = 1000, 2.0


def profile(
    poly: Polynomial, features: tuple[int, ...], output: int, rows: FloatArray | None
) -> FloatArray:
    """Reduce a polynomial to one in a few features.

    Parameters
    ----------
    features
        Indices of k different features.
    rows
        Array (n, p) in raw units to average the others over; None for the centre.

    Returns
    -------
    array (Q + 1, …, Q + 1), k axes
        Coefficients of the powers of each feature's z = (x - center) / scale.

    Examples
    --------
    1 + 2 a + 3 a b, with b averaging 2:

    >>> poly = Polynomial([[1.0], [2.0], [0.0], [0.0], [3.0], [0.0]], 2, ["a", "b"])
    >>> profile(poly, (0,), 0, np.array([[0.0, 1.0], [0.0, 3.0]]))
    array([1., 8., 0.])
    """
    table = np.zeros((poly.max_order + 1,) * len(features))
    z = None if rows is None else (rows - poly.center) / poly.scale
    for here, variables in poly.terms.by_degree():
        held = np.isin(variables, features)
        used = np.flatnonzero(held.any(axis=1))
        powers = tuple(np.count_nonzero(variables[used] == f, axis=1) for f in features)
        values = poly.coefficients[here, output][used]
        np.add.at(table, powers, values * _averages(variables[used], held[used], z))
    table[(0,) * len(features)] = _level(poly, features, output, rows)
    return table


def _averages(variables: IntArray, held: npt.NDArray[np.bool_], z: FloatArray | None) -> FloatArray:
    """Average the factors of each term that are not held; at the centre they are zero."""
    if z is None:
        return np.asarray(held.all(axis=1), dtype=np.float64)
    means = np.empty(len(variables))
    for begin in range(0, len(variables), TERMS):
        part = slice(begin, begin + TERMS)
        product = np.ones((len(z), len(means[part])))
        for column, fixed in zip(variables[part].T, held[part].T, strict=True):
            product *= np.where(fixed, 1.0, z[:, column])
        means[part] = product.mean(axis=0)
    return means


def _level(
    poly: Polynomial, features: tuple[int, ...], output: int, rows: FloatArray | None
) -> float:
    """Average the terms without the features: what is left with those at the centre."""
    base = poly.center[None].copy() if rows is None else rows.copy()
    base[:, features] = poly.center[list(features)]
    return float(poly.outputs_by_order(base)[-1][:, output].mean())


def scaled(poly: Polynomial, feature: int, values: FloatArray) -> FloatArray:
    """Change raw values of a feature to the polynomial's coordinates."""
    z: FloatArray = (values - poly.center[feature]) / poly.scale[feature]
    return z


def span(poly: Polynomial, feature: int, rows: FloatArray | None) -> tuple[float, float]:
    """Choose the range of a feature: of the data, of the calibration, or around the centre.

    Examples
    --------
    >>> poly = Polynomial([[0.0], [1.0]], 1, ["t"], center=20.0, scale=5.0)
    >>> span(poly, 0, None), span(poly, 0, np.array([[15.0], [18.0]]))
    ((10.0, 30.0), (15.0, 18.0))
    """
    center, scale = float(poly.center[feature]), float(poly.scale[feature])
    if rows is not None:
        low, high = float(rows[:, feature].min()), float(rows[:, feature].max())
    elif poly.low is not None and poly.high is not None:
        low, high = float(poly.low[feature]), float(poly.high[feature])
    else:
        low, high = center - REACH * scale, center + REACH * scale
    return (low, high) if high > low else (low - scale, high + scale)
