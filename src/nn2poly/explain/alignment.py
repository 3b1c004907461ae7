"""Polynomials side by side: the same features, the same terms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.monomials import IntArray
from nn2poly.arguments import listed
from nn2poly.errors import InvalidInputError
from nn2poly.polynomial.polynomial import Polynomial

FloatArray = npt.NDArray[np.float64]


def aligned(polys: Sequence[Polynomial]) -> tuple[IntArray, FloatArray]:
    """Bring polynomials of the same features and coordinates to the same terms.

    The graded basis of a lower order is the beginning of that of a higher one, so positions
    mean the same in all of them.

    Returns
    -------
    arrays (n_terms,) and (n_members, n_terms, n_outputs)
        Positions of the terms that any of them has, and their coefficients, 0 where absent.
    """
    every = [np.arange(p.n_terms) if p.positions is None else p.positions for p in polys]
    union = np.unique(np.concatenate(every))
    values = np.zeros((len(polys), len(union), polys[0].n_outputs))
    for k, (poly, positions) in enumerate(zip(polys, every, strict=True)):
        values[k, np.searchsorted(union, positions)] = poly.coefficients
    return union, values


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
