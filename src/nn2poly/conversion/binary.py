"""Find the binary columns of a sample, and the factors that they are levels of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.conversion.sample import Sample
from nn2poly.errors import InvalidInputError
from nn2poly.polynomial.polynomial import Polynomial
from nn2poly.polynomial.terms import parse_term

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Binary:
    """Columns that take two values: ``low`` and ``high`` (p,), and the factors they form."""

    low: FloatArray
    high: FloatArray
    factors: tuple[tuple[int, ...], ...]


def find_binary(sample: Sample) -> Binary:
    """Look for columns with two values, and runs of them of which always one is high.

    Neighbouring columns count as the levels of one factor when exactly one of them is at its
    high value in every row: an encoder writes them side by side.
    """
    low, high = _range(sample)
    is_binary, high_count, together, n_rows = _occurrences(sample, low, high)
    factors: list[tuple[int, ...]] = []
    columns = np.flatnonzero(is_binary).tolist()
    while columns:
        run = _one_hot_run(columns, high_count, together, n_rows)
        factors.append(tuple(run))
        columns = columns[len(run) :]
    return Binary(low, high, tuple(factors))


def given_binary(binary: Any, sample: Sample, names: Sequence[str]) -> Binary:
    """Take the user's word: names or indices, or lists of them for the levels of a factor."""
    if isinstance(binary, str) or not isinstance(binary, Iterable):
        raise InvalidInputError(
            "binary must say which features are binary.",
            where="binary",
            expected='"auto", False, or a list of features (or of lists: levels of a factor)',
            found=repr(binary),
        )
    groups = [[g] if isinstance(g, str | int | np.integer) else list(g) for g in binary]
    factors = tuple(tuple(parse_term(tuple(group), names)) for group in groups)
    low, high = _range(sample)
    is_binary, *_ = _occurrences(sample, low, high)
    for j in (j for factor in factors for j in factor):
        if not is_binary[j]:
            raise InvalidInputError(
                f"The feature {names[j]!r} is not binary in the data.",
                where="binary",
                expected="two different values",
                remedy="leave it out of binary, or pass binary=False",
            )
    return Binary(low, high, factors)


def fold_binary(poly: Polynomial, binary: Binary) -> Polynomial:
    """Rewrite a polynomial in 0/1 indicators of its binary features, and fold it."""
    if not binary.factors:
        return poly
    columns = np.array([j for factor in binary.factors for j in factor], dtype=np.intp)
    center, scale = poly.center.copy(), poly.scale.copy()
    center[columns] = binary.low[columns]
    scale[columns] = (binary.high - binary.low)[columns]
    folded = poly.rebase(center, scale).fold(binary.factors)
    return replace(folded, layers=poly.layers)


def _range(sample: Sample) -> tuple[FloatArray, FloatArray]:
    low: Any = np.inf
    high: Any = -np.inf
    for X, _ in sample.batches():
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
    return low, high


def _occurrences(
    sample: Sample, low: FloatArray, high: FloatArray
) -> tuple[npt.NDArray[np.bool_], FloatArray, FloatArray, int]:
    """Tell which columns are binary, how often each is high, and how often two are."""
    is_binary, n_rows = low < high, 0
    for X, _ in sample.batches():
        is_binary = is_binary & ((low == X) | (high == X)).all(axis=0)
        n_rows += len(X)
        if not is_binary.any():
            break
    count, together = np.zeros(len(low)), np.zeros((len(low), len(low)))
    if is_binary.any():
        for X, _ in sample.batches():
            indicator = ((high == X) & is_binary).astype(np.float64)
            count += indicator.sum(axis=0)
            together += indicator.T @ indicator
    return is_binary, count, together, n_rows


def _one_hot_run(
    columns: list[int], high_count: FloatArray, together: FloatArray, n_rows: int
) -> list[int]:
    """Extend from the first column while no two are high together and until always one is."""
    run, covered = [columns[0]], high_count[columns[0]]
    for j in columns[1:]:
        if j != run[-1] + 1 or together[j, run].any():
            break
        run.append(j)
        covered += high_count[j]
        if covered == n_rows:
            return run
    return columns[:1]
