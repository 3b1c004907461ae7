"""A distribution-free guarantee from order statistics.

If n rows are drawn from a distribution, the k-th smallest of their errors exceeds the
coverage-quantile of the error unless at least k of the n fall below it:
P(coverage of the k-th smallest ≥ c) ≥ P(Binomial(n, c) < k). No shape is assumed.
"""

from __future__ import annotations

from math import ceil, exp, lgamma, log

import numpy as np
import numpy.typing as npt

from nn2poly.cards import Guarantee

# The usual confidence, and a coverage that 299 rows can promise (see `rows_needed`).
CONFIDENCE, COVERAGE = 0.95, 0.99


def guarantee(errors: npt.NDArray[np.float64]) -> Guarantee:
    """Bound the absolute errors of new rows, each output by itself.

    Parameters
    ----------
    errors
        Array (n, n_outputs) of errors on rows that the conversion did not see.

    Examples
    --------
    >>> guarantee(np.linspace(0, 1, 299)[:, None]).bounds
    (1.0,)
    >>> print(guarantee(np.zeros((10, 1))))
    too few rows for a guarantee: 299 needed to promise 99 % of new rows with 95 % confidence, ...
    """
    n_rows = len(errors)
    needed = rows_needed(CONFIDENCE, COVERAGE)
    if n_rows < needed:
        return Guarantee(CONFIDENCE, COVERAGE, (), needed, n_rows)
    place = order_statistic(n_rows, CONFIDENCE, COVERAGE)
    ranked = np.sort(np.abs(errors), axis=0)
    return Guarantee(CONFIDENCE, COVERAGE, tuple(ranked[place - 1].tolist()), needed, n_rows)


def rows_needed(confidence: float, coverage: float) -> int:
    """Count the rows whose largest error already is a bound: 1 - coverage^n ≥ confidence.

    Examples
    --------
    >>> rows_needed(0.95, 0.99), rows_needed(0.95, 0.95)
    (299, 59)
    """
    return ceil(log(1.0 - confidence) / log(coverage))


def order_statistic(n: int, confidence: float, coverage: float) -> int:
    """Give the smallest k (1-based) with P(Binomial(n, coverage) < k) ≥ confidence.

    Examples
    --------
    >>> order_statistic(299, 0.95, 0.99), order_statistic(1000, 0.95, 0.99)
    (299, 996)
    """
    above = 0.0
    for k in range(n, -1, -1):
        # P(Binomial = k), summed from the top until less than the confidence is left below.
        above += exp(
            lgamma(n + 1)
            - lgamma(k + 1)
            - lgamma(n - k + 1)
            + k * log(coverage)
            + (n - k) * log(1.0 - coverage)
        )
        if 1.0 - above < confidence:
            return k + 1
    return 1
