"""A tree of regions: which rows go where, and what that says in words.

A split asks about one column of the user's table, in raw units. A number goes left where it is
below the threshold; a yes/no or a factor goes left where it shows one of some levels. Levels of a
yes/no are 0, its lower value, and 1. A row that shows no level of a factor goes right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from nn2poly.arguments import listed
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Inputs
from nn2poly.plain import plain_count, plain_list, plain_number, plain_object
from nn2poly.tables import in_quotes, short_number

# A threshold is rounded in words by at most this share of the range of its column.
WORD_ERROR = 1e-4
# More levels than this are said by those that it is not, if they are fewer (taste).
MAX_NAMED = 3
# What a name must not hold, to stand in a rule without quotes.
LIKE_A_RULE = re.compile(r'[<>≤≥"]|\b(?:and|or|is|not)\b')
# Trees of files are read by recursion; none that anybody reads is as deep.
MAX_DEPTH = 64


@dataclass(frozen=True)
class Leaf:
    """The end of a path: one region, by its number."""

    number: int


@dataclass(frozen=True)
class Split:
    """A question about one column.

    Parameters
    ----------
    column
        Position in ``Inputs.columns``.
    threshold
        For a number: left is ``x < threshold``, right ``x >= threshold``.
    levels
        For a yes/no or a factor: left shows one of these, by their positions.
    left, right
        What follows.
    """

    column: int
    threshold: float | None = None
    levels: tuple[int, ...] | None = None
    left: Tree = field(kw_only=True)
    right: Tree = field(kw_only=True)


Tree = Split | Leaf
# The splits on the way to a leaf, and whether the way went left.
Path = tuple[tuple[Split, bool], ...]


@dataclass(frozen=True)
class Between:
    """``low <= x < high``."""

    low: float = -inf
    high: float = inf

    def met(self, split: Split, left: bool) -> Between:
        """Intersect with one side of a split."""
        at = inf if split.threshold is None else split.threshold
        if left:
            return Between(self.low, min(self.high, at))
        return Between(max(self.low, at), self.high)

    @property
    def is_empty(self) -> bool:
        """Say that no number meets it."""
        return not self.low < self.high


@dataclass(frozen=True)
class Among:
    """A yes/no or a factor that shows one of some levels, by their positions."""

    levels: tuple[int, ...]

    def met(self, split: Split, left: bool) -> Among:
        """Intersect with one side of a split."""
        return Among(tuple(k for k in self.levels if (k in (split.levels or ())) == left))

    @property
    def is_empty(self) -> bool:
        """Say that no level meets it."""
        return not self.levels


Conditions = Mapping[int, Between | Among]


def paths(tree: Tree) -> dict[int, Path]:
    """Give the way to every leaf, by its number, left before right.

    Examples
    --------
    >>> found = paths(Split(0, 6.5, left=Leaf(0), right=Leaf(1)))
    >>> {number: [left for _, left in path] for number, path in found.items()}
    {0: [True], 1: [False]}
    """
    return dict(_walk(tree, ()))


def _walk(tree: Tree, path: Path) -> Iterator[tuple[int, Path]]:
    if isinstance(tree, Leaf):
        yield tree.number, path
        return
    yield from _walk(tree.left, (*path, (tree, True)))
    yield from _walk(tree.right, (*path, (tree, False)))


@dataclass(frozen=True)
class Question:
    """What one side of a split asks of raw features.

    Parameters
    ----------
    features, numbers
        Features, and a number for each.
    reached
        True: one of the features is at its number or above. False: all are below.
    """

    features: tuple[int, ...]
    numbers: tuple[float, ...]
    reached: bool

    @property
    def opposite(self) -> Question:
        """The other side."""
        return replace(self, reached=not self.reached)

    @property
    def singles(self) -> list[Question]:
        """The same of each feature by itself."""
        return [Question((j,), (at,), self.reached) for j, at in self.parts]

    @property
    def parts(self) -> list[tuple[int, float]]:
        """Each feature with its number."""
        return list(zip(self.features, self.numbers, strict=True))


def question(split: Split, inputs: Inputs) -> Question:
    """Give what the left side of a split asks.

    Examples
    --------
    >>> question(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), Inputs.of(["hour"]))
    Question(features=(0,), numbers=(6.5,), reached=False)
    """
    places = inputs.places[split.column]
    if split.threshold is not None:
        return Question(places, (split.threshold,), reached=False)
    levels, middle = split.levels or (), middles(inputs)
    binary = inputs.columns[split.column].kind == "binary"
    features = places if binary else tuple(places[level] for level in levels)
    numbers = tuple(middle[list(features)].tolist())
    return Question(features, numbers, reached=not binary or 1 in levels)


def region_of(tree: Tree, inputs: Inputs, features: FloatArray) -> IntArray:
    """Tell the region of every row of raw features (n, p): array (n,).

    Examples
    --------
    >>> tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    >>> region_of(tree, Inputs.of(["hour"]), np.array([[6.4], [6.5]]))
    array([0, 1])
    """
    out = np.empty(len(features), dtype=np.intp)
    waiting = [(tree, np.arange(len(features)))]
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, Leaf):
            out[rows] = node.number
            continue
        # Only the features that the split asks about are copied.
        asked = question(node, inputs)
        reached = (features[rows[:, None], asked.features] >= asked.numbers).any(axis=1)
        left = reached == asked.reached
        waiting += [(node.left, rows[left]), (node.right, rows[~left])]
    return out


def middles(inputs: Inputs) -> FloatArray:
    """Give the number (p,) from which on each feature, an indicator, counts as on."""
    low, high = inputs.ends()
    middle: FloatArray = low / 2 + high / 2
    return middle


def conditions(tree: Tree, inputs: Inputs) -> tuple[Conditions, ...]:
    """Give what holds in each region, column by column, as simple as it can be said.

    Examples
    --------
    >>> inner = Split(0, 9.5, left=Leaf(1), right=Leaf(2))
    >>> tree = Split(0, 6.5, left=Leaf(0), right=inner)
    >>> conditions(tree, Inputs.of(["hour"]))[1]
    {0: Between(low=6.5, high=9.5)}
    """
    found = {number: _met(path, inputs) for number, path in paths(tree).items()}
    return tuple(found[number] for number in sorted(found))


def _met(path: Path, inputs: Inputs) -> dict[int, Between | Among]:
    """Intersect the sides of the splits on a path, columns as they come."""
    result: dict[int, Between | Among] = {}
    for split, left in path:
        column = inputs.columns[split.column]
        everything = Between() if column.kind == "number" else Among(_all_levels(inputs, split))
        result[split.column] = result.get(split.column, everything).met(split, left)
    return result


def _all_levels(inputs: Inputs, split: Split) -> tuple[int, ...]:
    column = inputs.columns[split.column]
    return tuple(range(2 if column.kind == "binary" else column.width))


# ---- in words ----


def rule(found: Conditions, inputs: Inputs) -> str:
    """Say conditions in words.

    Examples
    --------
    >>> from nn2poly.inputs import Column
    >>> inputs = Inputs((Column("hour"), Column.factor("weather", ["clear", "rain", "snow"])))
    >>> rule({0: Between(6.5, 9.5), 1: Among((1, 2))}, inputs), rule({}, inputs)
    ('6.5 ≤ hour < 9.5 and weather is (rain or snow)', 'everywhere')
    """
    parts = [condition_text(column, meets, inputs) for column, meets in found.items()]
    return " and ".join(parts) or "everywhere"


def condition_text(column: int, meets: Between | Among, inputs: Inputs) -> str:
    """Say one condition in words: ``hour < 6.5``, ``weather is (rain or snow)``."""
    name = rule_name(inputs.columns[column].name)
    if isinstance(meets, Among):
        return f"{name} {_levels_text(meets.levels, level_names(inputs, column))}"
    low, high = (threshold_text(end, inputs, column) for end in (meets.low, meets.high))
    if isfinite(meets.low) and isfinite(meets.high):
        return f"{low} ≤ {name} < {high}"
    return f"{name} < {high}" if isfinite(meets.high) else f"{name} ≥ {low}"


def level_names(inputs: Inputs, column: int) -> tuple[str, ...]:
    """Name the levels of a column; a yes/no that is not 0 and 1 is named by its values.

    A level that is an empty text is shown as such: nothing would stand in its place.

    Examples
    --------
    >>> from nn2poly.inputs import Column
    >>> level_names(Inputs((Column("smoker", "binary"),)), 0)
    ('no', 'yes')
    """
    found = inputs.columns[column]
    if found.kind == "factor":
        return tuple(level or "(empty)" for level in found.levels)
    (place,) = inputs.places[column]
    low, high = (float(end[place]) for end in inputs.ends())
    return (
        ("no", "yes")
        if (low, high) == (0.0, 1.0)
        else (short_number(low, 0.0), short_number(high, 0.0))
    )


def _levels_text(levels: tuple[int, ...], names: tuple[str, ...]) -> str:
    """Name levels, or those that it is not where they are fewer."""
    others = [names[k] for k in range(len(names)) if k not in levels]
    if len(others) < len(levels) and len(levels) > MAX_NAMED:
        return f"is not {either(others)}"
    return f"is {either([names[k] for k in levels])}"


def either(names: Sequence[str]) -> str:
    """Name levels, several in brackets: beside "not" and "and", an "or" could be read otherwise."""
    told = " or ".join(map(rule_name, names))
    return f"({told})" if len(names) > 1 else told


def rule_name(name: str) -> str:
    """Quote the name of a column or a level that reads like a part of a rule.

    Examples
    --------
    >>> [rule_name(name) for name in ("5. Advanced Degree", "1. < HS Grad", "trade and craft")]
    ['5. Advanced Degree', '"1. < HS Grad"', '"trade and craft"']
    """
    return in_quotes(name) if LIKE_A_RULE.search(name) else name


def threshold_text(value: float, inputs: Inputs, column: int) -> str:
    """Write a threshold as short as it stays the same to the eye, given the column's range."""
    ranges = inputs.columns[column].ranges
    width = 0.0 if ranges is None else ranges[0][1] - ranges[0][0]
    return short_number(value, WORD_ERROR * width)


# ---- checks and files ----


def check_tree(tree: Any, inputs: Inputs, count: int) -> None:
    """Refuse a tree that does not fit the columns, or does not lead to each of ``count`` regions.

    Examples
    --------
    >>> check_tree(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), Inputs.of(["hour"]), 2)
    """
    _check_nodes(tree, inputs, 0)
    numbers = [number for number, _ in _walk(tree, ())]
    if sorted(numbers) != list(range(count)):
        raise InvalidInputError(
            "The leaves of the tree do not count the regions.",
            where="tree",
            expected=f"each number from 0 to {count - 1} once",
            found=listed(numbers, str),
        )
    for number, found in enumerate(conditions(tree, inputs)):
        empty = [c for c, meets in found.items() if meets.is_empty]
        if empty:
            raise InvalidInputError(
                f"No row can be in region {number}.",
                where=f"tree, column {inputs.columns[empty[0]].name!r}",
                expected="splits that leave something on both sides",
            )


def _check_nodes(tree: Any, inputs: Inputs, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidInputError("The tree is too deep.", expected=f"at most {MAX_DEPTH} splits")
    if isinstance(tree, Leaf):
        return
    if not isinstance(tree, Split):
        raise _bad_split("a Split or a Leaf", type(tree).__name__)
    _check_split(tree, inputs)
    _check_nodes(tree.left, inputs, depth + 1)
    _check_nodes(tree.right, inputs, depth + 1)


def _check_split(split: Split, inputs: Inputs) -> None:
    if split.column not in range(len(inputs.columns)):
        raise _bad_split(f"columns from 0 to {len(inputs.columns) - 1}", str(split.column))
    column = inputs.columns[split.column]
    if column.kind == "number":
        if split.levels is not None or split.threshold is None or not isfinite(split.threshold):
            raise _bad_split("a finite threshold and no levels", _asked(split), column.name)
        return
    known, levels = _all_levels(inputs, split), split.levels
    proper = levels is not None and 0 < len(set(levels)) == len(levels) < len(known)
    if split.threshold is not None or levels is None or not proper or not {*levels} <= {*known}:
        raise _bad_split(f"some of the levels 0 to {len(known) - 1}", _asked(split), column.name)


def _asked(split: Split) -> str:
    return f"threshold {split.threshold}, levels {split.levels}"


def _bad_split(expected: str, found: str, column: str | None = None) -> InvalidInputError:
    return InvalidInputError(
        "A split of the tree cannot be used.",
        where="tree" if column is None else f"tree, column {column!r}",
        expected=expected,
        found=found,
    )


def tree_to_dict(tree: Tree) -> dict[str, Any]:
    """Give plain data for a file."""
    if isinstance(tree, Leaf):
        return {"region": tree.number}
    return {
        "column": tree.column,
        "threshold": tree.threshold,
        "levels": None if tree.levels is None else list(tree.levels),
        "left": tree_to_dict(tree.left),
        "right": tree_to_dict(tree.right),
    }


def tree_from_dict(data: Any) -> Tree:
    """Rebuild a tree from `tree_to_dict`.

    Examples
    --------
    >>> tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    >>> tree_from_dict(tree_to_dict(tree)) == tree
    True
    """
    if isinstance(data, dict) and "region" in data:
        return Leaf(plain_count(plain_object(data, ("region",))["region"]))
    names = ("column", "threshold", "levels", "left", "right")
    fields = plain_object(data, names)
    threshold, levels = fields["threshold"], fields["levels"]
    return Split(
        plain_count(fields["column"]),
        None if threshold is None else plain_number(threshold),
        None if levels is None else _counts(plain_list(levels)),
        left=tree_from_dict(fields["left"]),
        right=tree_from_dict(fields["right"]),
    )


def _counts(data: Iterable[Any]) -> tuple[int, ...]:
    return tuple(map(plain_count, data))
