"""Find the binary columns of a sample, and the factors that they are levels of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.conversion.folds import Rows, Sample
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import parse_term

# Two columns that would be high together in so many rows by chance, and never are, exclude
# each other.
EXPECTED = 5.0


@dataclass(frozen=True)
class Binary:
    """Columns that take two values: ``low`` and ``high`` (p,), and the factors they form.

    ``never`` lists further pairs that are never both high, although chance would bring them
    together: what their product does is not in the data.
    """

    low: FloatArray
    high: FloatArray
    factors: tuple[tuple[int, ...], ...]
    never: tuple[tuple[int, int], ...] = ()


def find_binary(sample: Sample) -> Binary:
    """Look for columns with two values, and runs of them of which always one is high.

    Neighbouring columns count as the levels of one factor when exactly one of them is at its
    high value in every row: an encoder writes them side by side.
    """
    low, high = _range(sample)
    found = _occurrences(sample, low, high)
    factors: list[tuple[int, ...]] = []
    columns = np.flatnonzero(found.is_binary).tolist()
    while columns:
        run = _one_hot_run(columns, found)
        factors.append(tuple(run))
        columns = columns[len(run) :]
    return Binary(low, high, tuple(factors), _never(found))


def _never(found: _Occurrences) -> tuple[tuple[int, int], ...]:
    """List the pairs of binary columns that are apart beyond chance."""
    expected = np.outer(found.high_count, found.high_count) / max(found.n_rows, 1)
    both = np.outer(found.is_binary, found.is_binary)
    apart = both & (found.together == 0) & (expected >= EXPECTED)
    return tuple((int(a), int(b)) for a, b in np.argwhere(np.triu(apart, 1)))


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
    is_binary = _occurrences(sample, low, high).is_binary
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
    folded = poly.rebase(center, scale).fold(binary.factors, never=binary.never)
    return replace(folded, layers=poly.layers)


def _range(sample: Sample) -> tuple[FloatArray, FloatArray]:
    return sample.over(_part_range, _wider)


def _part_range(rows: Rows) -> tuple[FloatArray, FloatArray]:
    low: Any = np.inf
    high: Any = -np.inf
    for X, *_ in rows.numbered():
        if not len(X):
            continue
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
    return low, high


def _wider(
    one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


@dataclass(frozen=True)
class _Occurrences:
    """Which columns are binary, how often each is high, and how often two are."""

    is_binary: npt.NDArray[np.bool_]
    high_count: FloatArray
    together: FloatArray
    n_rows: int

    def __add__(self, other: _Occurrences) -> _Occurrences:
        return _Occurrences(
            self.is_binary & other.is_binary,
            self.high_count + other.high_count,
            self.together + other.together,
            self.n_rows + other.n_rows,
        )


def _occurrences(sample: Sample, low: FloatArray, high: FloatArray) -> _Occurrences:
    work = partial(_part_occurrences, low=low, high=high)
    return sample.over(work, _Occurrences.__add__)


def _part_occurrences(rows: Rows, low: FloatArray, high: FloatArray) -> _Occurrences:
    is_binary, n_rows = low < high, 0
    for X, *_ in rows.numbered():
        is_binary = is_binary & ((low == X) | (high == X)).all(axis=0)
        n_rows += len(X)
        if not is_binary.any():
            break
    count, together = np.zeros(len(low)), np.zeros((len(low), len(low)))
    if is_binary.any():
        for X, *_ in rows.numbered():
            indicator = ((high == X) & is_binary).astype(np.float64)
            count += indicator.sum(axis=0)
            together += indicator.T @ indicator
    return _Occurrences(is_binary, count, together, n_rows)


def _one_hot_run(columns: list[int], found: _Occurrences) -> list[int]:
    """Extend from the first column while no two are high together and until always one is."""
    run, covered = [columns[0]], found.high_count[columns[0]]
    for j in columns[1:]:
        if j != run[-1] + 1 or found.together[j, run].any():
            break
        run.append(j)
        covered += found.high_count[j]
        if covered == found.n_rows:
            return run
    return columns[:1]
