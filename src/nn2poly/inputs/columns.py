"""`Inputs`: all columns, the features that they make, and in which coordinates these are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_names, listed, per_feature
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.inputs.column import Column, Range
from nn2poly.inputs.coordinates import Coordinate
from nn2poly.inputs.functions import Function, Identity
from nn2poly.inputs.holes import LearnedImputer
from nn2poly.inputs.matrices import Level
from nn2poly.inputs.outside_rows import outside_range, warn_levels, warn_outside
from nn2poly.inputs.renaming import renamed
from nn2poly.inputs.table_reading import read_table, table_columns
from nn2poly.plain import plain_count, plain_flag, plain_list, plain_object
from nn2poly.tables import quoted


@dataclass(frozen=True, eq=False)
class Inputs:
    """All columns, and the p features that they make.

    Parameters
    ----------
    columns
        In the order of the table.
    places
        For each column the numbers of its features among all; by default one after the other.
    named
        Whether somebody gave the names; default names ``x1 …`` give way to a data frame's.
    imputers
        What fills in holes by several columns, while the model is at hand; no file keeps them.

    Examples
    --------
    >>> inputs = Inputs((Column("age"), Column.factor("sex", ["male", "female"])))
    >>> inputs.feature_names, inputs.places
    (('age', 'sex=male', 'sex=female'), ((0,), (1, 2)))
    """

    columns: tuple[Column, ...]
    places: tuple[tuple[int, ...], ...] = ()
    named: bool = True
    imputers: tuple[LearnedImputer, ...] = ()

    def __post_init__(self) -> None:
        if not self.places:
            object.__setattr__(self, "places", _in_sequence(self.columns))
        found = sorted(place for places in self.places for place in places)
        fits = [len(places) == c.width for places, c in zip(self.places, self.columns, strict=True)]
        if found != list(range(len(found))) or not all(fits):
            raise InvalidInputError("The places of the features do not fit the columns.")
        check_names(self.feature_names, kind="feature", default_prefix="x")
        _check_column_names(self.columns)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed once: reading rows changes nothing that is compared."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def of(
        cls,
        feature_names: Iterable[str] | None,
        n_features: int | None = None,
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
        low: npt.ArrayLike | None = None,
        high: npt.ArrayLike | None = None,
    ) -> Inputs:
        """Make inputs of numbers: names, or how many, and coordinates and range as arrays (p,)."""
        names = check_names(feature_names, n_features, kind="feature", default_prefix="x")
        columns = tuple(Column(name) for name in names)
        plain = cls(columns, named=feature_names is not None)
        return plain.around(center, scale).seen(low, high)

    # ---- features ----

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in order."""
        return tuple(self._by_feature(column.features for column in self.columns))

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return len(self.feature_names)

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinate of every feature."""
        return tuple(self._by_feature(column.coordinates for column in self.columns))

    @cached_property
    def center(self) -> FloatArray:
        """Array (p,): centres of the coordinates."""
        return _frozen([coordinate.center for coordinate in self.coordinates])

    @cached_property
    def scale(self) -> FloatArray:
        """Array (p,): scales of the coordinates."""
        return _frozen([coordinate.scale for coordinate in self.coordinates])

    @cached_property
    def low(self) -> FloatArray | None:
        """Array (p,): the lowest values that a conversion saw; None if none did."""
        ranges = self._ranges()
        return None if ranges is None else _frozen([low for low, _ in ranges])

    @cached_property
    def high(self) -> FloatArray | None:
        """Array (p,): the highest values that a conversion saw; None if none did."""
        ranges = self._ranges()
        return None if ranges is None else _frozen([high for _, high in ranges])

    @cached_property
    def column_of(self) -> IntArray:
        """Array (p,): the number of the column that each feature belongs to."""
        result = np.empty(self.n_features, dtype=np.intp)
        for number, places in enumerate(self.places):
            result[list(places)] = number
        return result

    def indicators(self) -> list[tuple[int, ...]]:
        """List the features that are 0 or 1 in the algebra: of factors together, else alone."""
        pairs = zip(self.columns, self.places, strict=True)
        return [places for column, places in pairs if column.kind != "number"]

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Give the two values (p,), (p,) that an indicator of each feature takes.

        They are the ends of the range; 0 and 1 where that is unknown or a single value: a level
        that no row shows.
        """
        zeros, ones = np.zeros(self.n_features), np.ones(self.n_features)
        if self.low is None or self.high is None:
            return zeros, ones
        varies = self.low < self.high
        return np.where(varies, self.low, zeros), np.where(varies, self.high, ones)

    def _by_feature(self, parts: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """Put what the columns hold, one entry per feature, in the order of the features."""
        found: dict[int, Any] = {}
        for places, values in zip(self.places, parts, strict=True):
            found.update(zip(places, values, strict=True))
        return (found[place] for place in range(len(found)))

    def _ranges(self) -> list[Range] | None:
        parts = [column.ranges for column in self.columns]
        if any(part is None for part in parts):
            return None
        return list(self._by_feature(part for part in parts if part is not None))

    # ---- data ----

    def read(self, X: Any, *, where: str = "X", allow_nan: bool = False) -> FloatArray:
        """Turn a table into features (n, p): columns by name, levels of factors as 0 and 1.

        A pandas Series is one row. Arrays go by position, and so do data frames of p columns
        where nobody has given names to the features, as in the model itself. Holes are filled in
        where the columns know how, else refused, or NaN with ``allow_nan``.
        """
        return read_table(self, X, where=where, allow_nan=allow_nan)

    def as_columns(self, features: FloatArray) -> npt.NDArray[Any]:
        """Give the columns (n, m) of the table that features (n, p) stand for."""
        return table_columns(features, self.columns, self.places)

    @cached_property
    def has_holes(self) -> bool:
        """Say that some column knows what to do with a missing value."""
        return bool(self.imputers) or any(column.hole is not None for column in self.columns)

    @cached_property
    def are_numbers(self) -> bool:
        """Say that a table of numbers alone tells the levels of all factors."""
        factors = [column for column in self.columns if column.kind == "factor"]
        return bool(factors) and all(column.is_numeric for column in factors)

    @cached_property
    def table_features(self) -> tuple[str, ...]:
        """The features that the user's table brings: all but those that mark holes."""
        marks = {column.name for column in self.columns if column.marks}
        return tuple(name for name in self.feature_names if name not in marks)

    @cached_property
    def levels_of(self) -> dict[str, Level]:
        """What the features stand for that are levels of a column of text, or of a number."""
        factors = [column for column in self.columns if column.kind == "factor"]
        return {name: level for c in factors for name, level in c.meanings.items()}

    @cached_property
    def sources_of(self) -> dict[str, str]:
        """The column of the user's table that a feature is made of, where it is another one."""
        made = [column for column in self.columns if column.marks or column.in_one_column]
        return {name: c.marks or c.name for c in made for name in c.features}

    # ---- coordinates ----

    def to_working(self, features: FloatArray) -> FloatArray:
        """Change features (n, p) or (p,) to the coordinates of the algebra."""
        z: FloatArray = (self.curved(features) - self.center) / self.scale
        return z

    def curved(self, features: FloatArray) -> FloatArray:
        """Apply the functions of the columns alone, which are then centred and scaled."""
        if not self._curved:
            return features
        values = np.array(features, dtype=np.float64)
        for j in self._curved:
            values[..., j] = self.coordinates[j].function.values(values[..., j])
        return values

    def clipped(self, features: FloatArray) -> FloatArray:
        """Hold raw features (n, p) at the bounds of their columns."""
        if not self.are_bounded:
            return features
        functions = [coordinate.function for coordinate in self.coordinates]
        low, high = (np.array([getattr(f, end) for f in functions]) for end in ("low", "high"))
        return np.clip(features, low, high)

    def hold(self, z: FloatArray) -> FloatArray:
        """Hold rows (n, p) in the coordinates of the algebra within what raw values can give."""
        if not self._curved:
            return z
        ends = np.array([c.image(-np.inf, np.inf) for c in self.coordinates]).reshape(-1, 2)
        return np.clip(z, ends[:, 0], ends[:, 1])

    @property
    def with_bounds(self) -> BoolArray:
        """Array (p,): marks the features that are held at bounds."""
        return np.array([coordinate.function.is_bounded for coordinate in self.coordinates])

    def bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """Give the bounds of every feature that has some, as plain data; None does not bind."""
        functions = zip(self.feature_names, self.coordinates, strict=True)
        pairs = {name: (c.function.low, c.function.high) for name, c in functions}
        return {
            name: (low if np.isfinite(low) else None, high if np.isfinite(high) else None)
            for name, (low, high) in pairs.items()
            if np.isfinite(low) or np.isfinite(high)
        }

    @cached_property
    def held_outside(self) -> BoolArray:
        """Mark the features held at a bound wherever they leave the range that was seen: (p,).

        Bounds that a user declares may be wider than the sample; between the two nothing is held.
        """
        if self.low is None or self.high is None:
            return self.with_bounds
        functions = [coordinate.function for coordinate in self.coordinates]
        ends = np.array([[getattr(f, end) for f in functions] for end in ("low", "high")])
        held: BoolArray = self.with_bounds & ~outside_range(ends, self.low, self.high).any(axis=0)
        return held

    @property
    def are_bounded(self) -> bool:
        """Say that some column is held at bounds."""
        return bool(self.with_bounds.any())

    @cached_property
    def transforms(self) -> dict[str, str]:
        """The features that enter through a function, and what as, in words."""
        pairs = zip(self.feature_names, self.coordinates, strict=True)
        return {n: c.function.words for n, c in pairs if not isinstance(c.function, Identity)}

    @cached_property
    def entry_names(self) -> tuple[str, ...]:
        """Names of the features as they enter: ``log(income)``."""
        pairs = zip(self.feature_names, self.coordinates, strict=True)
        return tuple(coordinate.function.text(name) for name, coordinate in pairs)

    @cached_property
    def written_names(self) -> tuple[str, ...]:
        """Names of the features as they enter, in quotes where they look like an expression."""
        pairs = zip(self.feature_names, self.coordinates, strict=True)
        return tuple(coordinate.function.text(quoted(name)) for name, coordinate in pairs)

    def slopes(self, features: FloatArray) -> FloatArray:
        """Give dz/dx of every feature at features (n, p): an array of the same shape."""
        result = np.ones_like(features) / self.scale
        for j in self._curved:
            result[..., j] = self.coordinates[j].slopes(features[..., j])
        return result

    def image(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give the box in the coordinates of the algebra that a box (p,), (p,) is mapped to."""
        triples = zip(self.coordinates, low.tolist(), high.tolist(), strict=True)
        ends = np.array([coordinate.image(a, b) for coordinate, a, b in triples]).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    @cached_property
    def _curved(self) -> list[int]:
        """The features with a function of their own."""
        return [j for j, coordinate in enumerate(self.coordinates) if not coordinate.is_affine]

    # ---- rows unlike those that were seen ----

    def count_outside(self, features: FloatArray) -> int:
        """Count the rows of features (n, p) outside the range that the conversion saw."""
        if self.low is None or self.high is None:
            return 0
        return int(outside_range(features, self.low, self.high).any(axis=1).sum())

    def warn_outside(self, features: FloatArray) -> None:
        """Warn about rows of features (n, p) outside the range that the conversion saw."""
        if self.low is not None and self.high is not None:
            held = self.held_outside
            warn_outside(features, self.low, self.high, self.feature_names, held=held)

    def warn_levels(self, features: FloatArray) -> None:
        """Warn about rows of features (n, p) that do not show one level of a factor."""
        warn_levels(features, self.columns, self.places, self.ends())

    # ---- the same inputs, but for … ----

    def around(self, center: npt.ArrayLike, scale: npt.ArrayLike) -> Inputs:
        """Give the same inputs in other coordinates: numbers or arrays (p,)."""
        centers = per_feature(center, self.n_features, "center")
        scales = per_feature(scale, self.n_features, "scale", positive=True)
        moved = [
            coordinate.moved(c, s)
            for coordinate, c, s in zip(self.coordinates, centers, scales, strict=True)
        ]
        return self._changed("coordinates", moved)

    def through(self, functions: Mapping[int, Function]) -> Inputs:
        """Let features enter through functions, by their places."""
        if not functions:
            return self
        entering = [
            replace(coordinate, function=functions.get(place, coordinate.function))
            for place, coordinate in enumerate(self.coordinates)
        ]
        return self._changed("coordinates", entering)

    def seen(self, low: npt.ArrayLike | None, high: npt.ArrayLike | None) -> Inputs:
        """Give the same inputs with the range (p,), (p,) of data; None for an unknown one."""
        if low is None or high is None:
            if all(column.ranges is None for column in self.columns):
                return self
            return replace(self, columns=tuple(replace(c, ranges=None) for c in self.columns))
        lows, highs = (
            per_feature(end, self.n_features, name) for end, name in ((low, "low"), (high, "high"))
        )
        return self._changed("ranges", list(zip(lows.tolist(), highs.tolist(), strict=True)))

    def renamed(self, feature_names: Iterable[str]) -> Inputs:
        """Give the same inputs with other names: of all features, or of the table's, or columns."""
        return renamed(self, feature_names)

    def grouped(self, groups: Iterable[tuple[Column, tuple[int, ...]]]) -> Inputs:
        """Put features together to columns: pairs of a column and the places of its features.

        Their coordinates and ranges stay; features that no pair names stay as they are.
        """
        given = list(groups)
        taken = {place for _, places in given for place in places}
        pairs = [
            (column, places)
            for column, places in zip(self.columns, self.places, strict=True)
            if taken.isdisjoint(places)
        ]
        ranges = self._ranges()
        holes = {places: c for c, places in zip(self.columns, self.places, strict=True)}
        for column, places in given:
            if (was := holes.get(tuple(places))) is not None:
                column = replace(column, hole=was.hole, marks=was.marks)
            here = None if ranges is None else tuple(ranges[j] for j in places)
            mine = tuple(self.coordinates[j] for j in places)
            pairs.append((replace(column, coordinates=mine, ranges=here), tuple(places)))
        pairs.sort(key=lambda pair: pair[1])
        columns = tuple(column for column, _ in pairs)
        return replace(self, columns=columns, places=tuple(places for _, places in pairs))

    def select(self, features: Sequence[int]) -> Inputs:
        """Give some features, each as a column of its own."""
        ranges = self._ranges()
        columns = [
            Column(
                self.feature_names[j],
                coordinates=(self.coordinates[j],),
                ranges=None if ranges is None else (ranges[j],),
            )
            for j in features
        ]
        return Inputs(tuple(columns), named=self.named)

    def _changed(self, field: str, values: Sequence[Any]) -> Inputs:
        """Replace what every column holds for each of its features."""
        columns = []
        for column, places in zip(self.columns, self.places, strict=True):
            changes: dict[str, Any] = {field: tuple(values[place] for place in places)}
            columns.append(replace(column, **changes))
        return replace(self, columns=tuple(columns))

    # ---- files ----

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file."""
        return {
            "columns": [column.to_dict() for column in self.columns],
            "places": [list(places) for places in self.places],
            "named": self.named,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Inputs:
        """Rebuild inputs from `to_dict`."""
        found = plain_object(data, ("columns", "places", "named"))
        columns = tuple(map(Column.from_dict, plain_list(found["columns"])))
        parts = map(plain_list, plain_list(found["places"]))
        places = tuple(tuple(map(plain_count, part)) for part in parts)
        if not places:
            raise ValueError("the columns have no places")
        return cls(columns, places, plain_flag(found["named"]))


def _in_sequence(columns: Sequence[Column]) -> tuple[tuple[int, ...], ...]:
    begin, places = 0, []
    for column in columns:
        places.append(tuple(range(begin, begin + column.width)))
        begin += column.width
    return tuple(places)


def _check_column_names(columns: Sequence[Column]) -> None:
    """Refuse two columns of one name, of which a table could give only one."""
    counts = Counter(column.name for column in columns)
    if repeated := [name for name, times in counts.items() if times > 1]:
        raise InvalidInputError(
            "Two columns have the same name.",
            where="columns",
            expected="a name of its own for each column, also for a factor beside its levels",
            found=f"{listed(repeated)} more than once",
            remedy="rename the repeated ones",
        )


def _frozen(values: Sequence[float]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
