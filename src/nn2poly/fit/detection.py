"""The indicators of a sample: known by the reader, declared by the user, or found in the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.formula.term_names import parse_term
from nn2poly.inputs import Inputs
from nn2poly.inputs.indicators import (
    Group,
    Occurrences,
    count_occurrences,
    group_indicators,
    grouped,
)
from nn2poly.rows.folds import Rows, Sample
from nn2poly.rows.summary import Summary

# Two indicators that would be 1 together in so many rows by chance, and never are, exclude each
# other: with 5 expected, chance alone leaves none in fewer than 1 of 100 cases (Poisson, e^-5).
EXPECTED = 5.0


@dataclass(frozen=True)
class Detected:
    """The inputs with their kinds, and pairs of indicators that are never 1 together.

    ``never`` lists pairs of different columns: what their product does is not in the data.
    """

    inputs: Inputs
    never: tuple[tuple[int, int], ...] = ()


def detect_columns(inputs: Inputs, sample: Sample, summary: Summary) -> Detected:
    """Look for features with two values, and for the factors that they form."""
    found = _occurrences(sample, summary)
    _check_factors(inputs, found)
    return Detected(group_indicators(inputs, found), _never(found))


def declared_columns(binary: Any, inputs: Inputs, sample: Sample, summary: Summary) -> Detected:
    """Take the user's word: names or indices, or lists of them for the levels of a factor."""
    if isinstance(binary, str) or not isinstance(binary, Iterable):
        raise InvalidInputError(
            "binary must say which features are binary.",
            where="binary",
            expected='"auto", False, or a list of features (or of lists: levels of a factor)',
            found=repr(binary),
        )
    names = inputs.feature_names
    given = [[g] if isinstance(g, str | int | np.integer) else list(g) for g in binary]
    groups = [tuple(parse_term(tuple(group), names)) for group in given]
    found = _occurrences(sample, summary)
    _check_factors(inputs, found)
    for j in (j for group in groups for j in group):
        if not found.is_binary[j]:
            raise InvalidInputError(
                f"The feature {names[j]!r} is not binary in the data.",
                where="binary",
                expected="two different values",
                remedy="leave it out of binary, or pass binary=False",
            )
    for group in groups:
        _check_exclusive(group, found, names, "binary")
    known = {place for places in inputs.indicators() for place in places}
    return Detected(grouped(inputs, [g for g in groups if known.isdisjoint(g)]))


def _check_factors(inputs: Inputs, found: Occurrences) -> None:
    """Check the factors that are known against the data."""
    for places in inputs.indicators():
        for j in places:
            if found.varies[j] and not found.is_binary[j]:
                raise InvalidInputError(
                    f"The indicator {inputs.feature_names[j]!r} of a level has other values.",
                    where="data",
                    expected="two different values, 0 and 1 as a rule",
                    remedy="pass the column of levels itself, or its 0/1 columns",
                )
        _check_exclusive(places, found, inputs.feature_names, "data")


def _check_exclusive(group: Group, found: Occurrences, names: Sequence[str], where: str) -> None:
    """Refuse levels of one factor that are 1 in the same row."""
    members = list(group)
    both = np.triu(found.together[np.ix_(members, members)], 1)
    if both.any():
        a, b = np.argwhere(both)[0].tolist()
        raise InvalidInputError(
            "Two levels of one factor are 1 in the same row.",
            where=where,
            expected="at most one of its indicators at its high value in every row",
            found=f"{names[members[a]]!r} and {names[members[b]]!r} together in "
            f"{int(both[a, b]):,} rows",
            remedy="correct those rows, or do not declare these features as one factor",
        )


def _never(found: Occurrences) -> tuple[tuple[int, int], ...]:
    """List the pairs of binary features that are apart beyond chance."""
    expected = np.outer(found.high_count, found.high_count) / max(found.n_rows, 1)
    both = np.outer(found.is_binary, found.is_binary)
    apart = both & (found.together == 0) & (expected >= EXPECTED)
    return tuple((int(a), int(b)) for a, b in np.argwhere(np.triu(apart, 1)))


def _occurrences(sample: Sample, summary: Summary) -> Occurrences:
    low, high = summary.seen_low, summary.seen_high
    # Two values that differ by rounding are one.
    high = np.where(high - low > 1e-12 * np.abs(low), high, low)
    work = partial(_part_occurrences, low=low, high=high)
    return sample.over(work, Occurrences.__add__)


def _part_occurrences(rows: Rows, low: FloatArray, high: FloatArray) -> Occurrences:
    return count_occurrences((batch.X for batch in rows.walk()), low, high)
