"""The units of coefficients and the rows of data, for all plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.formula.legend import unit_text
from nn2poly.formula.piecewise import Explicit
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_single
from nn2poly.formula.term_names import output_index
from nn2poly.inputs import Inputs
from nn2poly.sampling import evenly


def read_rows(poly: Explicit, X: Any, where: str = "X") -> FloatArray:
    """Read data (n, p) in the order of the polynomial's features."""
    return poly.inputs.read(X, where=where)


def thin(rows: FloatArray, most: int) -> FloatArray:
    """Keep at most ``most`` rows, evenly chosen."""
    return rows[evenly(len(rows), most)]


def moments(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give mean and standard deviation (p,) of the columns; 1 for those that do not vary.

    Examples
    --------
    >>> moments(np.array([[1.0, 5.0], [3.0, 5.0]]))
    (array([2., 5.]), array([1., 1.]))
    """
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    fixed = (rows.max(axis=0) == rows.min(axis=0)) | (scale == 0.0)
    return np.where(fixed, rows[0], center), np.where(fixed, 1.0, scale)


def typical_row(X: FloatArray, inputs: Inputs) -> FloatArray:
    """Give the means, rounded to be read, and of every factor its most frequent level: (p,).

    Examples
    --------
    >>> from nn2poly.inputs.indicators import detect_indicators
    >>> X = np.tile([[0.0, 5.0], [1.0, 6.0], [1.0, 7.0]], (4, 1))
    >>> typical_row(X, detect_indicators(Inputs.of(["u", "t"]), X))
    array([1., 6.])
    """
    spread = np.maximum(X.std(axis=0), np.finfo(float).tiny)
    digits = np.clip(3 - np.floor(np.log10(spread)), -300, 300).astype(int)
    row = np.array(
        [round(m, d) for m, d in zip(X.mean(axis=0).tolist(), digits.tolist(), strict=True)]
    )
    row = np.where(np.ptp(X, axis=0) == 0, X[0], row) + 0.0  # no -0
    for factor in inputs.indicators():
        columns = list(factor)
        levels, counts = np.unique(X[:, columns], axis=0, return_counts=True)
        row[columns] = levels[counts.argmax()]
    return row


def in_units(poly: Any, X: Any) -> tuple[Polynomial, str]:
    """Rewrite a polynomial in standard deviations of X; without X leave it as it is.

    Returns
    -------
    poly, text
        The text says in which units its coefficients are.
    """
    checked = check_single(poly, verb="drawn")
    if X is not None:
        return checked.rebase(*moments(read_rows(checked, X))), "per standard deviation of X"
    return checked, unit_text(checked.inputs)


def chosen_outputs(output: int | str | None, names: Sequence[str]) -> list[int]:
    """List the outputs to draw: one, or all for None."""
    return list(range(len(names))) if output is None else [output_index(output, names)]
