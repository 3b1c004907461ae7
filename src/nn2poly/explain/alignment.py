"""Members side by side: the same features, the same terms, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as short_repr
from typing import Any

import numpy as np

from nn2poly.arguments import listed
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial


def check_features(polys: Sequence[Polynomial], labels: Sequence[str]) -> None:
    """Refuse polynomials of different features, and say how they differ."""
    first = polys[0].feature_names
    for poly, label in zip(polys, labels, strict=True):
        if poly.feature_names == first:
            continue
        names = poly.feature_names
        missing = [name for name in first if name not in names]
        extra = [name for name in names if name not in first]
        parts = [f"lacks {listed(missing)}"] if missing else []
        parts += [f"adds {listed(extra)}"] if extra else []
        raise InvalidInputError(
            "The polynomials are not of the same features.",
            where=label,
            expected=f"the features of {labels[0]}: {listed(first)}",
            found=f"{label} {' and '.join(parts) or 'has them in another order'}",
            remedy="train the networks on the same columns in the same order, or pass "
            "feature_names to convert",
        )


def check_same(items: Sequence[Any], labels: Sequence[str], what: str) -> None:
    """Refuse members that differ in something they must share, and name the first that does."""
    for item, label in zip(items, labels, strict=True):
        if not _alike(item, items[0]):
            raise InvalidInputError(
                f"The {what} differ.",
                where=label,
                expected=f"{_shown(items[0])}, as in {labels[0]}",
                found=f"other {_shown(item)}" if isinstance(item, np.ndarray) else _shown(item),
                remedy="make all members with the same data and options",
            )


def _alike(a: Any, b: Any) -> bool:
    """Compare names, numbers, arrays, and tuples of them."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if any(isinstance(part, np.ndarray) for part in (*a, *b)):
            return len(a) == len(b) and all(map(_alike, a, b))
        return a == b
    if a is None or b is None:
        return a is b
    left, right = np.asarray(a), np.asarray(b)
    numbers = left.dtype.kind == right.dtype.kind == "f"
    return bool(np.array_equal(left, right, equal_nan=numbers))


def _shown(item: Any) -> str:
    if item is None:
        return "none"
    if isinstance(item, np.ndarray):
        return f"numbers of shape {item.shape}"
    return short_repr(item)


def deviation(stacked: FloatArray) -> FloatArray:
    """Compute the standard deviation over members (first axis), n - 1 in the denominator."""
    result: FloatArray = stacked.std(axis=0, ddof=1)
    return result


def stability(stacked: FloatArray) -> FloatArray:
    """Give the share of members (first axis) with the sign that most of them have."""
    result: FloatArray = np.maximum((stacked > 0).mean(axis=0), (stacked < 0).mean(axis=0))
    return result
