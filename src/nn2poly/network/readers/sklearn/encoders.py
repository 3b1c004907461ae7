"""The encoders of scikit-learn: what each level of a column becomes, in numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.inputs import level_text
from nn2poly.inputs.cuts import interval_names

# The level of what an encoder groups, and the level of values that it does not know; brackets
# because a column may have levels of these names.
INFREQUENT, UNSEEN = "(infrequent)", "(unseen)"


@dataclass(frozen=True)
class Levels:
    """The levels of a column as an encoder tells them apart.

    Parameters
    ----------
    names
        One per level.
    members
        For each the values of the table that mean it, as text.
    rest
        The level that all other values mean; None where the encoder refuses them.
    cuts
        Of a number: where each level but the first begins.
    """

    names: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]
    rest: int | None
    cuts: tuple[float, ...] = ()

    def plus(self, name: str) -> Levels:
        """Add the level of all other values."""
        return Levels((*self.names, name), (*self.members, ()), len(self.names))


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column with levels, and the numbers (n_levels, width) that each of them becomes."""

    levels: Levels
    numbers: FloatArray

    def with_unseen(self, numbers: npt.ArrayLike) -> Encoded:
        """Say what values become that the encoder does not know: a level of their own.

        They become what a level becomes already where there is such a one, as the dropped one.
        """
        row = np.broadcast_to(np.asarray(numbers, dtype=np.float64), self.numbers.shape[1:])
        same = np.flatnonzero((self.numbers == row).all(axis=1))
        if len(same):
            known = Levels(self.levels.names, self.levels.members, int(same[0]))
            return Encoded(known, self.numbers)
        return Encoded(self.levels.plus(UNSEEN), np.vstack([self.numbers, row]))


def one_hot(model: Any, k: int) -> Encoded:
    """Read column k of a fitted ``OneHotEncoder``."""
    levels, group = _grouped(model, k)
    numbers = np.eye(len(levels.names))
    dropped = None if model.drop_idx_ is None else model.drop_idx_[k]
    if dropped is not None:
        numbers = np.delete(numbers, group[int(dropped)], axis=1)
    found = Encoded(levels, numbers)
    if model.handle_unknown == "error":
        return found
    if model.handle_unknown != "ignore" and INFREQUENT in levels.names:
        place = levels.names.index(INFREQUENT)
        return Encoded(Levels(levels.names, levels.members, place), numbers)
    return found.with_unseen(0.0)


def ordinal(model: Any, k: int) -> Encoded:
    """Read column k of a fitted ``OrdinalEncoder``: levels are counted from 0."""
    levels, group = _grouped(model, k)
    numbers = np.arange(float(len(levels.names)))[:, None]
    for place, value in zip(group, model.categories_[k].tolist(), strict=True):
        if _is_missing(value):
            numbers[place] = model.encoded_missing_value
    found = Encoded(levels, numbers)
    if model.handle_unknown == "error" or _is_missing(model.unknown_value):
        return found
    return found.with_unseen(model.unknown_value)


def target(model: Any, k: int) -> Encoded:
    """Read column k of a fitted ``TargetEncoder``: a mean of the target per level, and class."""
    values = [level_text(value) for value in model.categories_[k].tolist()]
    means = np.atleast_1d(model.target_mean_)
    # With several classes the columns are those of the first feature, then of the second.
    mine = model.encodings_[k * len(means) : (k + 1) * len(means)]
    levels = Levels(tuple(values), tuple((value,) for value in values), None)
    return Encoded(levels, np.column_stack(mine)).with_unseen(means)


def bins(model: Any, k: int) -> Encoded:
    """Read column k of a fitted ``KBinsDiscretizer``: a number by cuts.

    A column that was constant has no cut, and no level: it is one row of numbers.
    """
    cuts = tuple(np.asarray(model.bin_edges_[k][1:-1], dtype=np.float64).tolist())
    names = interval_names(cuts) if cuts else ()
    count = len(cuts) + 1
    is_ordinal = model.encode == "ordinal"
    numbers = np.arange(float(count))[:, None] if is_ordinal else np.eye(count)
    return Encoded(Levels(names, tuple((name,) for name in names), None, cuts), numbers)


def _grouped(model: Any, k: int) -> tuple[Levels, list[int]]:
    """Give the levels of a column, infrequent ones as one, and the level of each category."""
    texts = [level_text(value) for value in model.categories_[k].tolist()]
    rare = (getattr(model, "infrequent_categories_", None) or [None] * (k + 1))[k]
    few = {level_text(value) for value in ([] if rare is None else np.asarray(rare).tolist())}
    names = [text for text in texts if text not in few]
    members: list[tuple[str, ...]] = [(text,) for text in names]
    if few:
        names.append(INFREQUENT)
        members.append(tuple(text for text in texts if text in few))
    place = {text: number for number, group in enumerate(members) for text in group}
    return Levels(tuple(names), tuple(members), None), [place[text] for text in texts]


def _is_missing(value: Any) -> bool:
    return value is None or value != value


ENCODERS: dict[str, Callable[[Any, int], Encoded]] = {
    "KBinsDiscretizer": bins,
    "OneHotEncoder": one_hot,
    "OrdinalEncoder": ordinal,
    "TargetEncoder": target,
}
