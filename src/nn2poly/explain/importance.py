"""What matters: how far each term moves the outputs over the rows."""

from __future__ import annotations

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.moments import monomial_values, row_batches
from nn2poly.explain.separable import working
from nn2poly.formula.polynomial import Polynomial


def term_deviations(poly: Polynomial, rows: FloatArray) -> FloatArray:
    """Compute the standard deviation of each term's contribution over the rows.

    A contribution is coefficient × value, in units of the output, so that terms compare whatever
    the units of their features; that of the constant is 0.

    Parameters
    ----------
    poly
        The polynomial.
    rows
        Array (n, p) in raw units.

    Returns
    -------
    array (n_terms, n_outputs)

    Examples
    --------
    >>> poly = Polynomial.from_terms(["1", "km", "km t"], [7.0, 2.0, -3.0], ["km", "t"])
    >>> term_deviations(poly, np.array([[1.0, 2.0], [-1.0, 0.0]])).ravel()
    array([0., 2., 3.])
    """
    terms, z = poly.terms, working(poly, rows)
    spread = Spread()
    for here in row_batches(len(z), len(terms)):
        spread.add(monomial_values(terms, z[here]).T)
    result: FloatArray = np.abs(poly.coefficients) * np.sqrt(spread.variance())[:, None]
    return result


class Spread:
    """Variances of columns that arrive in batches of rows.

    Batches are merged by their means (Chan, Golub and LeVeque 1983): sums of squares would
    cancel where a mean is large, as in raw units.

    Examples
    --------
    >>> spread = Spread()
    >>> spread.add(np.array([[1e9], [1e9 + 2]]))
    >>> spread.add(np.array([[1e9 + 4]]))
    >>> spread.variance().round(3)
    array([2.667])
    """

    def __init__(self) -> None:
        self.n, self.mean, self.squares = 0, np.zeros(()), np.zeros(())

    def add(self, values: FloatArray) -> None:
        """Add rows, array (n, …)."""
        n, mean = len(values), values.mean(axis=0)
        step = mean - self.mean
        total = self.n + n
        # The first batch makes zeros of the columns' shape of the scalar that stands for none.
        self.squares = self.squares + ((values - mean) ** 2).sum(axis=0)
        self.squares = self.squares + step**2 * (self.n * n / total)
        self.mean = self.mean + step * (n / total)
        self.n = total

    def variance(self) -> FloatArray:
        """Give the variance of each column, with n in the denominator."""
        result: FloatArray = self.squares / self.n
        return result
