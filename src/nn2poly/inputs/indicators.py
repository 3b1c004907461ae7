"""Which features are indicators, when nobody says: two values, and levels of one factor.

The one place where that is guessed, for a conversion and for formulas that were written by hand.
Readers that know the factors of their model have put them into its `Inputs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from nn2poly.arguments import listed
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.inputs.column import Column
from nn2poly.inputs.columns import Inputs

# What may stand between the name of a factor and its level: sex_male, sex.male, sex: male.
SEPARATORS = "=_.:-/ "
# Fewer rows cannot tell a column of two values from one that happens to show only two (taste).
MIN_ROWS = 10

Group = tuple[int, ...]


@dataclass(frozen=True)
class Occurrences:
    """Which features are binary, how often each is high, and how often two are together.

    Parameters
    ----------
    is_binary, varies, high_count, together
        Arrays (p,), (p,), (p,) and (p, p).
    n_rows
        Rows that were counted.
    """

    is_binary: BoolArray
    varies: BoolArray
    high_count: FloatArray
    together: FloatArray
    n_rows: int

    def __add__(self, other: Occurrences) -> Occurrences:
        return Occurrences(
            self.is_binary & other.is_binary,
            self.varies | other.varies,
            self.high_count + other.high_count,
            self.together + other.together,
            self.n_rows + other.n_rows,
        )


def count_occurrences(
    batches: Iterable[FloatArray], low: FloatArray, high: FloatArray
) -> Occurrences:
    """Count in one walk over batches (n, p) of features with the range ``low … high`` (p,)."""
    is_binary, n_rows = low < high, 0
    count, together = np.zeros(len(low)), np.zeros((len(low), len(low)))
    for X in batches:
        is_binary = is_binary & ((low == X) | (high == X)).all(axis=0)
        n_rows += len(X)
        # What was counted of a feature that turns out not to be binary is moot.
        chosen = np.flatnonzero(is_binary)
        if len(chosen):
            indicator = (high[chosen] == X[:, chosen]).astype(np.float64)
            count[chosen] += indicator.sum(axis=0)
            together[np.ix_(chosen, chosen)] += indicator.T @ indicator
    return Occurrences(is_binary, low < high, count, together, n_rows)


def group_indicators(inputs: Inputs, found: Occurrences) -> Inputs:
    """Put binary features together to columns; factors that are known stay as they are.

    Neighbours count as the levels of one factor when exactly one of them is at its high value
    in every row: an encoder writes them side by side.
    """
    known = {place for places in inputs.indicators() for place in places}
    features = [j for j in np.flatnonzero(found.is_binary).tolist() if j not in known]
    # A feature with holes of its own is no level of a factor, which has a single hole.
    holes = _with_holes(inputs)
    groups: list[Group] = [(j,) for j in features if j in holes]
    features = [j for j in features if j not in holes]
    while features:
        run = _one_hot_run(features, found)
        groups.append(tuple(run))
        features = features[len(run) :]
    return grouped(inputs, groups)


def _with_holes(inputs: Inputs) -> set[int]:
    pairs = zip(inputs.columns, inputs.places, strict=True)
    return {j for column, places in pairs if column.hole is not None for j in places}


def detect_indicators(inputs: Inputs, X: FloatArray) -> Inputs:
    """Find the indicators among features (n, p), unless the inputs know theirs.

    Indicators are 0 and 1, or the two ends of the range that a conversion saw. A few rows make
    no factor.

    Examples
    --------
    >>> X = np.tile([[0.0, 1.0, 5.0], [1.0, 0.0, 6.0], [1.0, 0.0, 7.0]], (4, 1))
    >>> found = detect_indicators(Inputs.of(["sex_m", "sex_f", "age"]), X)
    >>> [(column.name, column.kind) for column in found.columns]
    [('sex', 'factor'), ('age', 'number')]
    """
    if inputs.indicators():
        return inputs
    low, high = inputs.ends()
    found = count_occurrences([X], low, high)
    both = (found.high_count > 0) & (found.high_count < len(X))
    if inputs.low is not None:
        # One value is enough where the formula is written in indicators.
        both |= (inputs.to_working(low) == 0.0) & (inputs.to_working(high) == 1.0)
    found = replace(found, is_binary=found.is_binary & both)
    seen = inputs if inputs.low is not None else inputs.seen(X.min(axis=0), X.max(axis=0))
    if len(X) < MIN_ROWS:
        return grouped(seen, [(j,) for j in np.flatnonzero(found.is_binary).tolist()])
    return group_indicators(seen, found)


def grouped(inputs: Inputs, groups: Sequence[Group]) -> Inputs:
    """Put features together to binary columns and factors."""
    names = inputs.feature_names
    columns = [_column(names, group) for group in groups]
    counts = Counter(column.name for column in columns)
    # Two groups may begin alike: soil_1 to soil_3, and soil_4 to soil_6.
    distinct = [
        column if counts[column.name] == 1 else _levels_as_name(names, group)
        for column, group in zip(columns, groups, strict=True)
    ]
    return inputs.grouped(zip(distinct, groups, strict=True))


def _one_hot_run(features: list[int], found: Occurrences) -> list[int]:
    """Extend from the first feature while no two are high together and until always one is."""
    run, covered = [features[0]], found.high_count[features[0]]
    for j in features[1:]:
        # A feature that is never high excludes every other, which says nothing; levels that the
        # sample does not show may stand between others.
        between = found.varies[run[-1] + 1 : j].any()
        if between or found.together[j, run].any() or not found.high_count[j]:
            break
        run.append(j)
        covered += found.high_count[j]
        if covered == found.n_rows:
            return run
    return features[:1]


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
        return _levels_as_name(names, group)
    return Column.factor(name, [text[cut + 1 :].strip() for text in mine], mine)


def _levels_as_name(names: Sequence[str], group: Group) -> Column:
    mine = [names[j] for j in group]
    return Column.factor(listed(mine, str), mine, mine)


def _same(letters: tuple[str, ...]) -> bool:
    return len(set(letters)) == 1
