"""Read a box: the lowest and highest value of every feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nn2poly.arguments import per_feature, real_array
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.rows import row_parts
from nn2poly.explain.written import check_explained, known_range
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import parse_term


def read_box(poly: Formula, box: Any, data: Any) -> tuple[FloatArray, FloatArray]:
    """Read a box in any spelling: the lowest and the highest values, arrays (p,).

    Parameters
    ----------
    box
        A pair of numbers or arrays, an array (2,) or (2, p), a dict of pairs by feature, or None
        for the known range.
    data
        A table or a stream (n, p) whose range is the known one; None: what the conversion saw.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> read_box(Polynomial([[0.0], [1.0]], 1, ["t"]), (0.0, 2.0), None)
    (array([0.]), array([2.]))
    """
    check_explained(poly)
    known = known_range(poly) if data is None else _range(poly, data)
    if isinstance(box, Mapping):
        return _named_box(poly, box, known)
    ends: Any = known if box is None else box
    if ends is None:
        raise _no_box("This polynomial does not know the range of its data.", poly)
    pair = isinstance(ends, tuple | list) or (isinstance(ends, np.ndarray) and ends.ndim > 0)
    if not pair or len(ends) != 2:
        raise _no_box("A box is a pair of its lowest and highest values.", poly)
    low, high = (per_feature(end, len(poly.feature_names), "box") for end in ends)
    return _ordered(low, high, poly)


def _range(poly: Formula, data: Any) -> tuple[FloatArray, FloatArray]:
    """Find the range of a table, or of a stream without holding it."""
    low, high = np.full(len(poly.feature_names), np.inf), np.full(len(poly.feature_names), -np.inf)
    for rows in row_parts(poly, data, "data"):
        low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
    return low, high


def _named_box(
    poly: Formula, box: Mapping[Any, Any], known: tuple[FloatArray, FloatArray] | None
) -> tuple[FloatArray, FloatArray]:
    low = np.full(len(poly.feature_names), np.nan) if known is None else known[0].copy()
    high = np.full(len(poly.feature_names), np.nan) if known is None else known[1].copy()
    for feature, pair in box.items():
        (j,) = parse_term((feature,), poly.feature_names)
        side = real_array(pair, f"side {feature!r} of the box")
        if side.shape != (2,):
            raise _no_box(f"The side {feature!r} of the box is not a pair.", poly)
        low[j], high[j] = side
    if missing := [poly.feature_names[j] for j in np.flatnonzero(np.isnan(low + high)).tolist()]:
        raise _no_box(f"The box has no side for {', '.join(map(repr, missing[:10]))}.", poly)
    return _ordered(low, high, poly)


def _ordered(low: FloatArray, high: FloatArray, poly: Formula) -> tuple[FloatArray, FloatArray]:
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high) & (low <= high))).tolist()
    if bad:
        j = bad[0]
        raise InvalidInputError(
            f"The side {poly.feature_names[j]!r} of the box cannot be used.",
            where="box",
            expected="finite numbers, the lowest first",
            found=f"{low[j]:g} to {high[j]:g}",
        )
    return low, high


def _no_box(what: str, poly: Formula) -> InvalidInputError:
    return InvalidInputError(
        what,
        where="box",
        expected="(low, high) of numbers or of arrays "
        f"({len(poly.feature_names)},), or a dict of pairs",
        remedy="pass box=(low, high), or data=X to take its range",
    )
