"""The smallest change of one column, or of two, that changes the label of a row.

Along one column a formula is a polynomial of one variable, or a few of them where the column leads
into other regions. The places where the label can change are roots of differences of outputs, and
thresholds of the tree: between two of them it is the same everywhere, so that none is missed.
Of two columns the one goes in steps, and the other is followed so from each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.rows import checked_population
from nn2poly.explain.written import known_range
from nn2poly.formula.borders import thresholds
from nn2poly.formula.evaluate import evaluate
from nn2poly.formula.protocol import Formula, Region
from nn2poly.formula.region_tree import level_names, region_of
from nn2poly.inputs import Inputs

# Whole numbers of a column that are all tried, instead of what lies between them (taste).
MOST_WHOLE = 1_000
# Steps of a number while a second column is followed, and columns that are tried in pairs: some
# hundred pairs of a few hundred rows each (time).
N_STEPS, MOST_PAIRED = 20, 30
# Halvings that bring an interval down to neighbouring doubles.
HALVINGS = 80
# Part of its distance from the row by which a changed value may exceed the least one: what can
# be written shorter then is (taste).
ROUNDING = 0.01


@dataclass(frozen=True)
class Flip:
    """A change of one column that changes the label.

    Parameters
    ----------
    column
        The name of the column.
    before, after
        Its value, in words.
    row
        The changed row, raw features (p,).
    label
        What the formula says then.
    distance
        How large the change is: in standard deviations of the column; 1 for another level.
    """

    column: str
    before: str
    after: str
    row: tuple[float, ...]
    label: Any
    distance: float


def smallest_flips(poly: Formula, rows: Any, X: Any) -> list[tuple[Flip, ...]]:
    """Find for every row, and every column alone, the smallest change that changes its label.

    Numbers stay within the range that the conversion saw, or that of X; columns of whole numbers
    stay whole.

    Parameters
    ----------
    poly
        The formula of a classifier that gives each row one label.
    rows
        Array or data frame (m, p) in raw units: the rows to change.
    X
        Array or data frame (n, p) in raw units: what is usual.

    Returns
    -------
    list
        For every row the changes that do, smallest first; none where no column does it alone.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> line = Polynomial([[-6.0], [2.0]], 1, ["dose"], link="sigmoid", classes=("no", "yes"))
    >>> ((flip,),) = smallest_flips(line, [[1.0]], [[0.5], [1.0], [4.5], [6.0]])
    >>> flip.before, flip.after, flip.label
    ('1', '3.01', 'yes')
    """
    _check(poly)
    usual, changed = (checked_population(poly, part) for part in (X, rows))
    span = known_range(poly) or (usual.min(axis=0), usual.max(axis=0))
    search = _Search(poly, usual, *span)
    return [tuple(sorted(search.flips(x), key=lambda flip: flip.distance)) for x in changed]


def smallest_pairs(poly: Formula, rows: Any, X: Any) -> list[tuple[Flip, ...]]:
    """Find for every row two columns that together change its label, by the smallest sum.

    The first goes in steps through its range, or its levels; along the second the change is exact.
    Which two, is judged by the steps of both.

    Parameters
    ----------
    poly, rows, X
        As in `smallest_flips`.

    Returns
    -------
    list
        For every row two changes, of which the second begins where the first has led; none where
        no two do it, or where there are more than ``MOST_PAIRED`` columns.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> terms = [[-8.0], [2.0], [2.0]]
    >>> both = Polynomial(terms, 1, ["age", "dose"], link="sigmoid", classes=("no", "yes"))
    >>> usual = [[0.0, 0.0], [3.0, 3.0]]
    >>> smallest_flips(both, [[0.0, 0.0]], usual)
    [()]
    >>> [(flip.column, flip.after) for flip in smallest_pairs(both, [[0.0, 0.0]], usual)[0]]
    [('age', '2'), ('dose', '3')]
    """
    _check(poly)
    usual, changed = (checked_population(poly, part) for part in (X, rows))
    if len(poly.inputs.columns) > MOST_PAIRED:
        return [() for _ in changed]
    span = known_range(poly) or (usual.min(axis=0), usual.max(axis=0))
    search = _Search(poly, usual, *span)
    return [search.pair(x) for x in changed]


def _check(poly: Formula) -> None:
    several = poly.outputs.link == "sigmoid" and not poly.outputs.is_binary
    if not poly.outputs.is_classifier or several:
        raise InvalidInputError(
            "Only the label of a classifier can change.",
            where="poly",
            expected="one label for each row",
            found="several labels" if several else "a regression",
        )


@dataclass(frozen=True, eq=False)
class _Search:
    """Looks along the columns of one formula; ``low`` and ``high`` (p,) are how far it goes."""

    poly: Formula
    usual: FloatArray
    low: FloatArray
    high: FloatArray

    def flips(self, x: FloatArray) -> Iterator[Flip]:
        """Give the smallest change of every column that changes the label of a row (p,)."""
        label = self.labels(x[None])[0]
        for number in range(len(self.poly.inputs.columns)):
            found = self._along(x, label, number)
            if found is not None:
                yield found

    def pair(self, x: FloatArray) -> tuple[Flip, ...]:
        """Give the smallest two changes found that together change the label of a row (p,)."""
        label = self.labels(x[None])[0]
        steps = [self._steps(x, label, k) for k in range(len(self.poly.inputs.columns))]
        reached = {
            (a, b): size
            for a, b in combinations(range(len(steps)), 2)
            if (size := self._reached(label, steps[a], steps[b], b)) < np.inf
        }
        if not reached:
            return ()
        a, b = min(reached, key=reached.__getitem__)
        found = [
            (step, flip)
            for first, second in ((a, b), (b, a))
            for step in steps[first]
            if (flip := self._along(np.array(step.row), label, second)) is not None
        ]
        return min(found, key=lambda two: two[0].distance + two[1].distance, default=())

    def _reached(self, label: Any, one: list[Flip], other: list[Flip], number: int) -> float:
        """Give the least sum of two steps that change the label, infinite where none does."""
        if not one or not other:
            return np.inf
        places = list(self.poly.inputs.places[number])
        rows = np.repeat([step.row for step in one], len(other), axis=0)
        rows[:, places] = np.tile(np.array([step.row for step in other])[:, places], (len(one), 1))
        size = np.add.outer([step.distance for step in one], [step.distance for step in other])
        return float(np.where(self.labels(rows) != label, size.ravel(), np.inf).min())

    def _steps(self, x: FloatArray, label: Any, number: int) -> list[Flip]:
        """List what a column can be changed to: levels that rows show, or steps of a number."""
        places, name = list(self.poly.inputs.places[number]), self.poly.inputs.columns[number].name
        if self.poly.inputs.columns[number].kind == "number":
            (place,) = places
            grid = _even(float(self.low[place]), float(self.high[place]))
            grid = np.unique(np.round(grid)) if self._is_whole(place) else grid
            grid = grid[(grid >= self.low[place]) & (grid <= self.high[place]) & (grid != x[place])]
            size = np.abs(grid - x[place]) / (float(self.usual[:, place].std()) or 1.0)
            words = _text(float(x[place])), [_text(value) for value in grid.tolist()]
            moved = _with(x, place, grid)
        else:
            moved, count = self._settings(x, places)
            others = (count > 0) & (moved != x).any(axis=1)
            names = level_names(self.poly.inputs, number)
            words = self._level(x, number), [names[k] for k in np.flatnonzero(others)]
            moved, size = moved[others], np.ones(int(others.sum()))
        return [
            Flip(name, words[0], after, tuple(row), label, far)
            for after, row, far in zip(words[1], moved.tolist(), size.tolist(), strict=True)
        ]

    def _along(self, x: FloatArray, label: Any, number: int) -> Flip | None:
        """Give the smallest change of a column that gives a row (p,) another label than this."""
        places = self.poly.inputs.places[number]
        if self.poly.inputs.columns[number].kind == "number":
            return self._along_number(x, label, number, places[0])
        return self._along_levels(x, label, number, list(places))

    def labels(self, rows: FloatArray) -> npt.NDArray[Any]:
        """Give the labels of raw rows (n, p)."""
        return self.poly.outputs.labels(self.poly.raw_outputs(rows))

    def _along_levels(
        self, x: FloatArray, label: Any, number: int, places: list[int]
    ) -> Flip | None:
        """Try the other levels; of those that flip the label take the most usual one."""
        moved, count = self._settings(x, places)
        said = self.labels(moved)
        # A level that no row shows is no change to propose.
        count[said == label] = 0
        if not count.any():
            return None
        best = int(count.argmax())
        names, column = level_names(self.poly.inputs, number), self.poly.inputs.columns[number]
        row = tuple(moved[best].tolist())
        before = self._level(x, number)
        return Flip(column.name, before, names[best], row, _plain(said[best]), 1.0)

    def _settings(self, x: FloatArray, places: list[int]) -> tuple[FloatArray, IntArray]:
        """Give a row with each level (n, p), and how many of the usual rows have it (n,)."""
        low, high = (end[places] for end in self.poly.inputs.ends())
        settings = np.where(np.eye(len(places), dtype=bool), high, low)
        settings = settings if len(places) > 1 else np.array([low, high])
        moved = np.repeat(x[None], len(settings), axis=0)
        moved[:, places] = settings
        rows = self.usual[:, places]
        return moved, (rows[:, None, :] == settings).all(axis=2).sum(axis=0)

    def _level(self, x: FloatArray, number: int) -> str:
        """Name the level that a row (p,) has."""
        moved, _ = self._settings(x, list(self.poly.inputs.places[number]))
        here = np.flatnonzero((moved == x).all(axis=1))
        return level_names(self.poly.inputs, number)[int(here[0])] if len(here) else "none"

    def _is_whole(self, place: int) -> bool:
        values, width = self.usual[:, place], self.high[place] - self.low[place]
        return bool(np.all(values == np.round(values))) and bool(width <= MOST_WHOLE)

    def _along_number(self, x: FloatArray, label: Any, number: int, place: int) -> Flip | None:
        values = self.usual[:, place]
        low, high = float(self.low[place]), float(self.high[place])
        if self._is_whole(place):
            grid = np.arange(np.ceil(low), np.floor(high) + 1.0)
            differs = self.labels(_with(x, place, grid)) != label
            found = _nearest(grid[differs], x[place])
        else:
            found = self._nearest_flip(x, label, number, place)
        if found is None:
            return None
        moved = _with(x, place, np.array([found]))
        spread = float(values.std()) or 1.0
        before, after = (_text(value) for value in (float(x[place]), found))
        distance = abs(found - float(x[place])) / spread
        row = tuple(moved[0].tolist())
        name = self.poly.inputs.columns[number].name
        return Flip(name, before, after, row, _plain(self.labels(moved)[0]), distance)

    def _nearest_flip(self, x: FloatArray, label: Any, number: int, place: int) -> float | None:
        """Find the value nearest to the own one that gives another label."""
        points = np.sort([*self._critical(x, number, place), float(x[place])])
        # Each stretch between neighbouring critical points has one label, that of its middle.
        ends = [(a, b) for a, b in pairwise(points.tolist()) if a < b]
        if not ends:
            return None
        middles = np.array([(a + b) / 2 for a, b in ends])
        differs = self.labels(_with(x, place, middles)) != label
        at = float(x[place])
        best = None
        for (a, b), middle, flips in zip(ends, middles.tolist(), differs, strict=True):
            near = a if a >= at else b
            if flips and (best is None or abs(near - at) < abs(best[0] - at)):
                best = near, middle
        return None if best is None else self._edge(x, label, place, *best)

    def _edge(self, x: FloatArray, label: Any, place: int, near: float, inside: float) -> float:
        """Give the value nearest to an end of a stretch where the label is another one."""
        for _ in range(HALVINGS):
            if self.labels(_with(x, place, np.array([near])))[0] != label:
                break
            middle = (near + inside) / 2
            if self.labels(_with(x, place, np.array([middle])))[0] != label:
                inside = middle
            else:
                near = middle
            if np.nextafter(near, inside) == inside:
                break
        exact = near if self.labels(_with(x, place, np.array([near])))[0] != label else inside
        # Rounded, the value may meet the border itself: then one unit further.
        short = np.array(_rounded(exact, float(x[place])))
        fits = (self.low[place] <= short) & (short <= self.high[place])
        flips = fits & (self.labels(_with(x, place, short)) != label)
        return float(short[flips.argmax()]) if flips.any() else exact

    def _critical(self, x: FloatArray, number: int, place: int) -> Iterator[float]:
        """Give the values of a column at which the label of a row can change, and both ends."""
        low, high = float(self.low[place]), float(self.high[place])
        cuts = [cut for cut in thresholds(self.poly.tree, number) if low < cut < high]
        for start, end in pairwise([low, *cuts, high]):
            yield from (start, end)
            middle = _with(x, place, np.array([(start + end) / 2]))
            region = self.poly.regions[int(region_of(self.poly.tree, self.poly.inputs, middle)[0])]
            yield from _roots(region, self.poly.outputs.cut(), x, place, (start, end))


def _roots(
    region: Region, cut: float | None, x: FloatArray, place: int, ends: tuple[float, float]
) -> Iterator[float]:
    """Give the values between two ends where two outputs meet, or the one reaches its cut."""
    poly = region.polynomial
    coordinate = poly.inputs.coordinates[place]
    first, last = coordinate.values(np.array(ends)).tolist()
    if not first < last:
        return
    n_nodes = poly.max_order + 1
    nodes = chebyshev.chebpts1(n_nodes)
    z = np.repeat(poly.inputs.to_working(x[None]), n_nodes, axis=0)
    z[:, place] = first + (last - first) * (nodes + 1.0) / 2.0
    raw = evaluate(poly.terms, poly.coefficients, z)
    for values in _differences(raw, cut).T:
        series = chebyshev.chebfit(nodes, values, n_nodes - 1)
        series = chebyshev.chebtrim(series, 1e-14 * float(np.abs(series).max()))
        found = chebyshev.chebroots(series) if len(series) > 1 else np.empty(0)
        # A double root comes out as a pair that is complex by the root of the rounding error.
        real = found.real[np.abs(found.imag) <= 1e-6]
        for t in real[np.abs(real) <= 1.0].tolist():
            target = first + (last - first) * (t + 1.0) / 2.0
            yield _inverse(poly.inputs, place, target, ends)


def _differences(raw: FloatArray, cut: float | None) -> FloatArray:
    """Give what changes its sign where labels change, of raw outputs (n, k)."""
    if raw.shape[1] == 1:
        return raw - (cut or 0.0)
    if cut is not None:
        return raw[:, 1:] - raw[:, :1] - cut
    left, right = np.triu_indices(raw.shape[1], 1)
    return raw[:, left] - raw[:, right]


def _inverse(inputs: Inputs, place: int, z: float, ends: tuple[float, float]) -> float:
    """Find the raw value of a coordinate between two ends; it grows with the value."""
    coordinate, (low, high) = inputs.coordinates[place], ends
    if coordinate.is_affine:
        return min(max(z * coordinate.scale + coordinate.center, low), high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if float(coordinate.values(np.array([middle]))[0]) < z:
            low = middle
        else:
            high = middle
    return high


def _with(x: FloatArray, place: int, values: FloatArray) -> FloatArray:
    """Repeat a row (p,) with one feature at other values (n,)."""
    rows = np.repeat(x[None], len(values), axis=0)
    rows[:, place] = values
    return rows


def _even(low: float, high: float) -> FloatArray:
    """Give even steps between two ends, short to write."""
    if not low < high:
        return np.array([low])
    unit = 10.0 ** np.floor(np.log10((high - low) / N_STEPS))
    return np.unique(np.round(np.round(np.linspace(low, high, N_STEPS) / unit) * unit, 12))


def _plain(label: Any) -> Any:
    """Give a label as Python's own number or text."""
    return label.item() if isinstance(label, np.generic) else label


def _nearest(values: FloatArray, x: float) -> float | None:
    return float(values[np.abs(values - x).argmin()]) if len(values) else None


def _rounded(value: float, start: float) -> list[float]:
    """Round away from the start, to less than a hundredth of the change; and one unit further."""
    step = abs(value - start) * ROUNDING
    if not step > 0.0:
        return [value]
    unit = 10.0 ** np.floor(np.log10(step))
    count = np.ceil(value / unit) if value > start else np.floor(value / unit)
    further = count + (1.0 if value > start else -1.0)
    return [float(round(n * unit, 12)) for n in (count, further)]


def _text(value: float) -> str:
    """Write a value; numbers of thousands whole."""
    return (f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.5g}").replace("-", "−")
