"""Variances of what arrives in batches of rows."""

from __future__ import annotations

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.games import SubsetSums


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


def player_variances(sums: SubsetSums, rows: FloatArray) -> FloatArray:
    """Compute the variance of one sum per player over raw rows (n, p): (n_players, n_outputs)."""
    spread = Spread()
    for _, values in sums.batches(rows):
        spread.add(values)
    out = np.zeros((len(sums.form.players), sums.sums.shape[1]))
    out[[subset[0] for subset in sums.subsets]] = spread.variance()
    return out
