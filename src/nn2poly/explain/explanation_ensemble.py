"""The same explanation of several networks: its average, its spread, its sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arguments import default_names
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.alignment import check_same, deviation, stability
from nn2poly.explain.summaries import how_many, over_rows, subset_name
from nn2poly.formula.largest import largest
from nn2poly.formula.term_names import output_index
from nn2poly.tables import Table

# What explanations must share, as far as they have it, and how messages call it.
SHARED = {
    "subsets": "subsets of features",
    "index": "interaction indices",
    "order": "orders",
    "kinds": "kinds of effects",
    "feature_name": "features that move",
    "grid": "grids",
    "data": "rows explained",
}


@dataclass(frozen=True, eq=False)
class ExplanationEnsemble:
    """The same explanation from several networks.

    Parameters
    ----------
    values
        Array (n_members, …): the explanations, stacked.
    feature_names, output_names
        Names, when the explanations bring them.
    subsets
        Tuples of feature indices, when the values are those of subsets.
    grid
        The points, when the explanations are curves.
    """

    values: FloatArray
    feature_names: tuple[str, ...] | None = None
    output_names: tuple[str, ...] | None = None
    subsets: tuple[tuple[int, ...], ...] | None = None
    grid: FloatArray | tuple[FloatArray, ...] | None = None

    @property
    def mean(self) -> FloatArray:
        """Average explanation."""
        result: FloatArray = self.values.mean(axis=0)
        return result

    @property
    def std(self) -> FloatArray:
        """Standard deviation across members (n - 1 in the denominator)."""
        return deviation(self.values)

    @property
    def sign_stability(self) -> FloatArray:
        """Share of members with the sign that most of them have."""
        return stability(self.values)

    def table(self, n: int | None = None, *, output: int | str = 0) -> Table:
        """List features, or subsets of them, by the root mean square of their means.

        Of one row it shows the means themselves, with their signs.

        Parameters
        ----------
        n
            How many; None for all.
        output
            Index or name of the output.
        """
        names = self._row_names()
        if names is None:
            raise InvalidInputError(
                "Only explanations by row, feature (or subset) and output have this table.",
                where="values",
                expected="shape (n, p, n_outputs) of each member",
                found=f"shape {self.values.shape[1:]}" + (" of curves" if self._curves() else ""),
                remedy="use .mean, .std and .sign_stability",
            )
        outputs = self.output_names or default_names("y", self.values.shape[3])
        column = output_index(output, outputs)
        mean = self.mean[:, :, column]
        size, is_row = over_rows(mean), len(mean) == 1
        spread = self.std[:, :, column].mean(axis=0)
        stable = self.sign_stability[:, :, column].mean(axis=0)
        rows = tuple(
            (names[j], float(size[j]), float(spread[j]), float(stable[j]))
            for j in largest(np.abs(size), how_many(n, len(size))).tolist()
        )
        return Table(
            f"Explanations of {len(self.values)} networks, output {outputs[column]}",
            (
                "feature" if self.subsets is None else "features",
                "value" if is_row else "rms value",
                "sd across networks",
                "same sign",
            ),
            rows,
            note="" if is_row else "Each is over the rows: a root mean square, and two averages.",
        )

    def _curves(self) -> bool:
        return self.grid is not None

    def _row_names(self) -> tuple[str, ...] | None:
        """Name the entries along the second axis of each member; None when they have none."""
        if self.values.ndim != 4 or self._curves():
            return None
        count = self.values.shape[2]
        names = self.feature_names
        if self.subsets is not None and names is not None:
            names = tuple(subset_name(subset, names) for subset in self.subsets)
        names = names or default_names("x", count)
        return names if len(names) == count else None

    def __repr__(self) -> str:
        if self._row_names() is not None:
            return str(self.table(None if self.subsets is None else 20))
        return f"ExplanationEnsemble of {len(self.values)}, shape {self.values.shape[1:]}"


def side_by_side(items: Sequence[Any]) -> ExplanationEnsemble:
    """Stack explanations that say the same thing of the same rows."""
    labels = [f"member {i}" for i in range(len(items))]
    check_same([type(item).__name__ for item in items], labels, "kinds of explanation")
    arrays = [np.asarray(item.values, dtype=np.float64) for item in items]
    check_same([array.shape for array in arrays], labels, "shapes of the values")
    names: dict[str, Any] = {}
    for what in ("feature_names", "output_names"):
        given = [getattr(item, what, None) for item in items]
        lists = [None if name is None else tuple(map(str, name)) for name in given]
        check_same(lists, labels, what.replace("_", " "))
        names[what] = lists[0]
    for what, called in SHARED.items():
        check_same([_field(item, what) for item in items], labels, called)
    kept = {what: _field(items[0], what) for what in ("subsets", "grid")}
    return ExplanationEnsemble(np.stack(arrays), **names, **kept)


def has_values(item: Any) -> bool:
    """Tell an explanation, which has an array of numbers called ``values``."""
    values = getattr(item, "values", None)
    return not callable(values) and np.asarray(values).dtype.kind in "fiu"


def _field(item: Any, name: str) -> Any:
    """Give what a member has under a name; a method of that name is none of it."""
    value = getattr(item, name, None)
    return None if callable(value) else value
