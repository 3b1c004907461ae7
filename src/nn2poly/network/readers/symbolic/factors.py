"""Columns that a model takes for categories: an embedding, a lookup or an encoder meets them.

A first walk through a model tells which columns these are (`Factors.wanted`); in a second one they
enter as indicators of their levels. A number that stands for a level is then a sum of indicators,
each times its code, and whatever looks levels up is linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from nn2poly.arguments import default_names
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.inputs import Column, Inputs
from nn2poly.network.builder import Value

# A factor of more levels is refused by its memory elsewhere; of fewer it is a constant.
FEWEST_LEVELS = 2


@dataclass(frozen=True)
class Factor:
    """The levels of a column.

    Parameters
    ----------
    levels
        As the table has them, as text.
    codes
        The number that the model goes on with, for each level.
    rest
        The level that any other value means; None: it is refused.
    """

    levels: tuple[str, ...]
    codes: tuple[float, ...]
    rest: int | None = None

    @classmethod
    def of_numbers(cls, count: int, first: int = 0) -> Factor:
        """Make the factor of the whole numbers first, first + 1 and so on."""
        numbers = range(first, first + count)
        return cls(tuple(map(str, numbers)), tuple(map(float, numbers)))


class Factors:
    """The features of a table some of whose columns are factors.

    Parameters
    ----------
    n_columns
        Of the table.
    found
        Number of a column → its levels.
    names
        Of the columns, where the model has some.
    """

    def __init__(
        self, n_columns: int, found: Mapping[int, Factor], names: Sequence[str] | None = None
    ) -> None:
        self.found, self._n_columns, self._names = dict(found), n_columns, names
        self.wanted: dict[int, Factor] = {}
        widths = [len(found[j].levels) if j in found else 1 for j in range(n_columns)]
        self._starts = [0, *accumulate(widths)]

    @property
    def n_features(self) -> int:
        """Number of features of all columns."""
        return self._starts[-1]

    def is_level(self) -> BoolArray:
        """Say of each feature whether it is a level: (n_features,)."""
        marks = np.zeros(self.n_features, dtype=bool)
        for j in self.found:
            marks[self._starts[j] : self._starts[j + 1]] = True
        return marks

    def columns_of(self, features: Value) -> Value:
        """Give the columns of the table: numbers, and the codes of levels."""
        if not self.found:
            return features
        matrix = np.zeros((self.n_features, self._n_columns))
        for j in range(self._n_columns):
            codes = self.found[j].codes if j in self.found else (1.0,)
            matrix[self._starts[j] : self._starts[j + 1], j] = codes
        return features.linear(matrix)

    def inputs(self) -> Inputs | None:
        """Give the columns with their levels; None where all are numbers without names."""
        if not self.found and self._names is None:
            return None
        names = self._names or default_names("x", self._n_columns)
        columns = [
            _column(name, self.found[j]) if j in self.found else Column(name)
            for j, name in enumerate(names)
        ]
        return Inputs(tuple(columns), named=False)

    def want(self, value: Value, factor: Factor) -> bool:
        """Ask that each entry of a value, which is a column, be a factor; False if one is none."""
        found = [_single(value, k) for k in range(value.width)]
        places = [pair[0] for pair in found if pair is not None and pair[1] == 0]
        if len(places) < len(found):
            return False
        return all(self._want(place, factor) for place in places)

    def want_numbers(self, value: Value, count: int) -> None:
        """Ask that columns, perhaps shifted, whose numbers are looked up be factors."""
        for entry in range(value.width):
            found = _single(value, entry)
            if found is not None:
                self._want(found[0], Factor.of_numbers(count, -found[1]))

    def _want(self, column: int, factor: Factor) -> bool:
        if len(factor.levels) < FEWEST_LEVELS or self.found:
            return False
        known = self.wanted.setdefault(column, factor)
        # Tables of two sizes: the larger one knows all numbers of the smaller.
        if known.levels[:1] == factor.levels[:1] and len(known.levels) < len(factor.levels):
            self.wanted[column] = factor
        return True

    def codes(self, value: Value, entry: int) -> tuple[slice, FloatArray] | None:
        """Give the features of the one factor that an entry is a function of, and its codes."""
        if any(matrix[:, entry].any() for s, matrix in value.matrices.items() if s):
            return None
        here = value.matrices.get(0)
        used: list[int] = [] if here is None else np.flatnonzero(here[:, entry]).tolist()
        for j in self.found:
            mine = slice(self._starts[j], self._starts[j + 1])
            if len(used) and mine.start <= used[0] and used[-1] < mine.stop:
                codes = value.bias[entry] + value.matrices[0][mine, entry]
                return mine, np.asarray(codes, dtype=np.float64)
        return None

    def indicators(self, value: Value, count: int) -> Value | None:
        """Say of entries that are codes which of 0, …, count - 1 they are; None for others."""
        found = [self.codes(value, entry) for entry in range(value.width)]
        matrix = np.zeros((self.n_features, value.width, count))
        for entry, pair in enumerate(found):
            if pair is None:
                return None
            here, codes = pair
            matrix[here, entry] = codes[:, None] == np.arange(count)
        return Value(np.zeros(value.width * count), {0: matrix.reshape(self.n_features, -1)})

    def recoded(self, value: Value, factor: Factor) -> Value | None:
        """Give entries that are the columns of a factor its codes; None for other entries."""
        matrix = np.zeros((self.n_features, value.width))
        for entry in range(value.width):
            pair = self.codes(value, entry)
            if pair is None or len(pair[1]) != len(factor.codes):
                return None
            matrix[pair[0], entry] = factor.codes
        return Value(np.zeros(value.width), {0: matrix})


def _single(value: Value, entry: int) -> tuple[int, int] | None:
    """Give the column that an entry is, and a whole number added to it; None of anything else."""
    columns = {s: matrix[:, entry] for s, matrix in value.matrices.items()}
    used = {s: column for s, column in columns.items() if column.any()}
    if set(used) != {0}:
        return None
    places, shift = np.flatnonzero(used[0]), float(value.bias[entry])
    alone = len(places) == 1 and used[0][places[0]] == 1.0 and shift.is_integer()
    return (int(places[0]), int(shift)) if alone else None


def _column(name: str, factor: Factor) -> Column:
    return replace(Column.factor(name, factor.levels), is_text=True, rest=factor.rest)
