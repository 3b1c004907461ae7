"""Which features are indicators, when nobody says: two values, and levels of one factor.

The one place where that is guessed. A reader that knows the factors of its model has put them
into its `Inputs`; here they are only checked against the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from nn2poly.arguments import listed
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.conversion.folds import Rows, Sample
from nn2poly.conversion.summary import Summary
from nn2poly.errors import InvalidInputError
from nn2poly.formula.terms import parse_term
from nn2poly.inputs import Column, Inputs

# Two indicators that would be 1 together in so many rows by chance, and never are, exclude each
# other: with 5 expected, chance alone leaves none in fewer than 1 of 100 cases (Poisson, e^-5).
EXPECTED = 5.0
# What may stand between the name of a factor and its level: sex_male, sex.male, sex: male.
SEPARATORS = "=_.:-/ "

Group = tuple[int, ...]


@dataclass(frozen=True)
class Detected:
    """The inputs with their kinds, and pairs of indicators that are never 1 together.

    ``never`` lists pairs of different columns: what their product does is not in the data.
    """

    inputs: Inputs
    never: tuple[tuple[int, int], ...] = ()


def detect_columns(inputs: Inputs, sample: Sample, summary: Summary) -> Detected:
    """Look for features with two values, and runs of them of which always one is high.

    Neighbours count as the levels of one factor when exactly one of them is at its high value
    in every row: an encoder writes them side by side. Factors that are known stay as they are.
    """
    found = _occurrences(sample, summary)
    known = _check_factors(inputs, found)
    groups = []
    columns = [j for j in np.flatnonzero(found.is_binary).tolist() if j not in known]
    while columns:
        run = _one_hot_run(columns, found)
        groups.append(tuple(run))
        columns = columns[len(run) :]
    return Detected(_grouped(inputs, groups), _never(found))


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
    return Detected(_grouped(inputs, [g for g in groups if known.isdisjoint(g)]))


def _check_factors(inputs: Inputs, found: _Occurrences) -> set[int]:
    """Check the factors that are known against the data, and list their features."""
    for places in inputs.indicators():
        _check_exclusive(places, found, inputs.feature_names, "data")
    return {place for places in inputs.indicators() for place in places}


def _check_exclusive(group: Group, found: _Occurrences, names: Sequence[str], where: str) -> None:
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


def _grouped(inputs: Inputs, groups: Sequence[Group]) -> Inputs:
    """Put features together to binary columns and factors."""
    return inputs.grouped([(_column(inputs.feature_names, group), group) for group in groups])


def _column(names: Sequence[str], group: Group) -> Column:
    """Name a binary column, or a factor by what its features' names begin with.

    Examples
    --------
    >>> _column(["sex_male", "sex_female"], (0, 1)).name
    'sex'
    """
    if len(group) == 1:
        return Column(names[group[0]], "binary")
    mine = [names[j] for j in group]
    shared = "".join(letters[0] for letters in takewhile(_same, zip(*mine, strict=False)))
    cut = max(shared.rfind(separator) for separator in SEPARATORS)
    name = shared[:cut].rstrip(SEPARATORS) if cut > 0 else ""
    if not name or name in names:
        return Column.factor(listed(mine, str), mine, mine)
    return Column.factor(name, [text[cut + 1 :].strip() for text in mine], mine)


def _same(letters: tuple[str, ...]) -> bool:
    return len(set(letters)) == 1


def _never(found: _Occurrences) -> tuple[tuple[int, int], ...]:
    """List the pairs of binary features that are apart beyond chance."""
    expected = np.outer(found.high_count, found.high_count) / max(found.n_rows, 1)
    both = np.outer(found.is_binary, found.is_binary)
    apart = both & (found.together == 0) & (expected >= EXPECTED)
    return tuple((int(a), int(b)) for a, b in np.argwhere(np.triu(apart, 1)))


@dataclass(frozen=True)
class _Occurrences:
    """Which features are binary, how often each is high, and how often two are."""

    is_binary: BoolArray
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


def _occurrences(sample: Sample, summary: Summary) -> _Occurrences:
    work = partial(_part_occurrences, low=summary.seen_low, high=summary.seen_high)
    return sample.over(work, _Occurrences.__add__)


def _part_occurrences(rows: Rows, low: FloatArray, high: FloatArray) -> _Occurrences:
    """Count in one walk; what was counted of a feature that turns out not to be binary is moot."""
    is_binary, n_rows = low < high, 0
    count, together = np.zeros(len(low)), np.zeros((len(low), len(low)))
    for X, *_ in rows.numbered():
        is_binary = is_binary & ((low == X) | (high == X)).all(axis=0)
        n_rows += len(X)
        chosen = np.flatnonzero(is_binary)
        if len(chosen):
            indicator = (high[chosen] == X[:, chosen]).astype(np.float64)
            count[chosen] += indicator.sum(axis=0)
            together[np.ix_(chosen, chosen)] += indicator.T @ indicator
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
