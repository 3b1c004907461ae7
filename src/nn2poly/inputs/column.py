"""`Column`: what one column of the user's table is, and the features that it makes.

A *column* is what the user has: a number, a yes/no, or a factor with levels. A *feature* is one
number that enters the algebra: a column is one feature, a factor one indicator (0 or 1) per level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nn2poly.arguments import check_choice
from nn2poly.errors import InvalidInputError
from nn2poly.inputs.coordinates import Coordinate
from nn2poly.inputs.cuts import examples, interval_names, intervals
from nn2poly.inputs.holes import Hole, missing_name
from nn2poly.inputs.matrices import Level
from nn2poly.plain import (
    plain_count,
    plain_flag,
    plain_list,
    plain_mapping,
    plain_number,
    plain_object,
    plain_texts,
)

KINDS = ("number", "binary", "factor")
Range = tuple[float, float]


@dataclass(frozen=True)
class Column:
    """One column of the user's table.

    Parameters
    ----------
    name
        As the user calls it.
    kind
        ``"number"``, ``"binary"`` (two values) or ``"factor"`` (levels).
    levels
        For a factor: the text of each level.
    features
        The name of each feature: the column's own, or of a factor one per level.
    coordinates
        One per feature.
    ranges
        One per feature: lowest and highest value that the conversion saw; None if unknown.
    hole
        What stands in for a missing value; None where rows with one are refused.
    marks
        For a feature that is 1 where another column has a hole, else 0: that column.
    is_text
        For a factor: the table holds it as one column of levels, not as one of 0/1 for each.
    members
        For a factor whose levels stand for other values: the values of the table that each
        level means, as text. Empty: every level means itself.
    rest
        For a factor: the number of the level that any other value means; None: it is refused.
    cuts
        For a factor that the table holds as a number: where each level but the first begins.

    Examples
    --------
    >>> Column.factor("sex", ["male", "female"]).features
    ('sex=male', 'sex=female')
    >>> Column.cut("age", [30.0, 45.0]).levels
    ('below 30', '[30, 45)', '45 or more')
    >>> Column("city", "factor", ("Paris", "rare"), ("a", "b"), members=(("Paris",), ("Albi",)))
    ... # doctest: +ELLIPSIS
    Column(name='city', kind='factor', levels=('Paris', 'rare'), ...)
    """

    name: str
    kind: str = "number"
    levels: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    coordinates: tuple[Coordinate, ...] = ()
    ranges: tuple[Range, ...] | None = None
    hole: Hole | None = None
    marks: str = ""
    is_text: bool = False
    members: tuple[tuple[str, ...], ...] = ()
    rest: int | None = None
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.kind, KINDS, name="kind")
        object.__setattr__(self, "features", self.features or (self.name,))
        plain = (Coordinate(),) * self.width
        object.__setattr__(self, "coordinates", self.coordinates or plain)
        sizes = {len(self.coordinates), self.width}
        sizes |= set() if self.ranges is None else {len(self.ranges)}
        is_factor = self.kind == "factor"
        sizes |= {len(self.levels)} if is_factor else {1}
        sizes |= {len(self.members)} if self.members else set()
        sizes |= {len(self.cuts) + 1} if self.cuts else set()
        if len(sizes) > 1 or (self.levels and not is_factor):
            raise InvalidInputError(
                f"The column {self.name!r} does not fit together.",
                expected="one feature, coordinate and range each; of a factor one per level",
                found=f"{self.width} features, {len(self.levels)} levels",
            )
        if not (np.isfinite(self.cuts).all() and np.all(np.diff(self.cuts) > 0)):
            raise InvalidInputError(
                f"The cuts of the column {self.name!r} cannot be used.",
                expected="finite and increasing numbers",
                found=str(self.cuts),
            )

    @classmethod
    def factor(
        cls, name: str, levels: Sequence[str], features: Sequence[str] | None = None
    ) -> Column:
        """Make a factor; its features are called ``name=level`` unless they have names."""
        names = [f"{name}={level}" for level in levels] if features is None else features
        return cls(name, "factor", tuple(levels), tuple(names))

    @classmethod
    def cut(cls, name: str, cuts: Sequence[float]) -> Column:
        """Make a factor of a number: its levels are the intervals between the cuts."""
        return replace(cls.factor(name, interval_names(cuts)), cuts=tuple(cuts))

    @classmethod
    def marking(cls, column: str, hole: Hole) -> Column:
        """Make the feature that is 1 where another column has a hole."""
        return cls(missing_name(column), "binary", hole=replace(hole, fill=None), marks=column)

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def in_one_column(self) -> bool:
        """Say of a factor that the table holds it in one column: of levels, or of numbers."""
        return self.is_text or bool(self.cuts)

    @property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """For each level the values of the table that mean it; those of `rest` are all others."""
        return self.members or tuple((level,) for level in self.levels)

    @property
    def is_numeric(self) -> bool:
        """Say of a factor that the table holds it in one column, and in numbers."""
        texts = (text for level in self.values for text in level) if self.is_text else ()
        return self.in_one_column and all(map(_is_whole, texts))

    @property
    def level_values(self) -> tuple[float | str, ...]:
        """For each level a value of the table: a number again, or text."""
        if self.cuts:
            return examples(self.cuts)
        return tuple(float(level) if _is_whole(level) else level for level in self.levels)

    @property
    def meanings(self) -> dict[str, Level]:
        """Of a factor, what each feature stands for in the table."""
        if self.cuts:
            pairs = zip(self.features, intervals(self.cuts), strict=True)
            return {name: Level(self.name, (), interval=ends) for name, ends in pairs}
        triples = zip(self.features, self.values, range(self.width), strict=True)
        return {name: Level(self.name, texts, k == self.rest) for name, texts, k in triples}

    def to_dict(self) -> dict[str, Any]:
        """Give plain data for a file; one without cuts is as before there were any."""
        cuts = {"cuts": list(self.cuts)} if self.cuts else {}
        return {
            "name": self.name,
            "kind": self.kind,
            "levels": list(self.levels),
            "features": list(self.features),
            "coordinates": [coordinate.to_dict() for coordinate in self.coordinates],
            "ranges": None if self.ranges is None else [list(pair) for pair in self.ranges],
            "hole": None if self.hole is None else self.hole.to_dict(),
            "marks": self.marks,
            "is_text": self.is_text,
            "members": [list(texts) for texts in self.members],
            "rest": self.rest,
            **cuts,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Column:
        """Rebuild a column from `to_dict`."""
        names = ("name", "kind", "levels", "features", "coordinates", "ranges")
        later = ("hole", "marks", "is_text", "members", "rest", "cuts")
        found = plain_object({"cuts": [], **plain_mapping(data)}, (*names, *later))
        ranges, hole, rest = found["ranges"], found["hole"], found["rest"]
        if not (found["features"] and found["coordinates"]):
            raise ValueError("a column has no feature or no coordinate")
        return cls(
            plain_texts([found["name"]])[0],
            found["kind"],
            plain_texts(found["levels"]),
            plain_texts(found["features"]),
            tuple(map(Coordinate.from_dict, plain_list(found["coordinates"]))),
            None if ranges is None else tuple(map(_range, plain_list(ranges))),
            None if hole is None else Hole.from_dict(hole),
            plain_texts([found["marks"]])[0],
            plain_flag(found["is_text"]),
            tuple(map(plain_texts, plain_list(found["members"]))),
            None if rest is None else plain_count(rest),
            tuple(map(plain_number, plain_list(found["cuts"]))),
        )


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _range(data: Any) -> Range:
    low, high = map(plain_number, plain_list(data))
    if low > high:
        raise ValueError("the lowest value of a range is above its highest")
    return low, high
