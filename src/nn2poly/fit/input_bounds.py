"""Bounds of numeric columns: where a formula holds a value at the edge.

A polynomial of an unbounded input is a bomb: one row with 1,243 occupants moved the R² of a cubic
to −971,354. So every number enters as clip(x, low, high). The bounds are the range of the rows to
fit, or quantiles of them where tails are heavy. How far to cut is chosen by what a small regression
of the network's outputs does on rows that are kept for choices: for all columns together, as a
table of 62 ratios is harmed by 62 cuts of which none shows alone, and then column by column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nn2poly.arguments import check_flag, listed
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.fit.bound_trials import POWERS, TRIAL_TERMS, Trial, crossed_error, start_trial
from nn2poly.inputs import Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.rows.fit_rows import FitRows
from nn2poly.sampling import evenly

# Shares of the rows beyond each bound of a heavy tail that are tried, and the place of the one to
# begin with. From .005, orders 1 to 4, 100 and 300 terms, 16 and 64 regions on California (ReLU and
# tanh, seeds 0 and 1) have .001 to .01 less of R².
BEYOND, FIRST = (0.0, 0.0002, 0.001, 0.005, 0.02, 0.05), 4
# Further shares that are tried beyond a bound of one column: each side is cut by itself.
FURTHER = (0.1, 0.15)
# A tail is light while it ends within so many times the distance between the quantiles (taste).
LIGHT = 0.5
# A column of fewer values keeps its range: its quantiles are values that mean something (taste: the
# hours of a day, the days of a month).
FEW_VALUES = 32
# Rows of the trial regressions: on 5,000 the cut of a single side is up to chance.
TRIAL_ROWS = 20_000
# Another cut must lower the error on the rows kept for choices by so much of it: of one side of a
# column, and of all columns together (taste). With .003 on 20,000 rows, order 2 has .002 to .015
# more on California than with .02 on 5,000 and both sides alike, and .009 more on bike; order 3,
# 100 terms and 16 regions on California .001 to .004 (ReLU and tanh, seeds 0 and 1). And the mean
# error of all folds, where rows are few: 400 rows of Cauchy, t and lognormal columns gain .2 to .7
# of R² at order 3 by a tight cut, ISLP's College .05 by none (ReLU and tanh, seeds 0 to 2); by .05
# Boston is cut on one seed of three, in vain.
GAIN, GAIN_OF_ALL, GAIN_OF_FEW = 0.003, 0.05, 0.1
# What a tighter cut of one column must gain, of the variance of the outputs, for each row that it
# holds: a formula shows no effect of the column there. A cut of 28 % of the rows of `carat` gained
# .004 of R² and hid half of its effect. Without a price, 12 networks on diamonds and 32 on other
# tables have the same R² in the median (ReLU, tanh, logistic, seeds 0 and 1).
PRICE = 0.02
# Rows below which nothing is tried: numbers keep about their range.
TOO_FEW = 100

Ends = tuple[float, float]


def bounded(
    inputs: Inputs, rows: FitRows, truth: FloatArray, powers: tuple[int, ...] = POWERS
) -> Inputs:
    """Give every number its bounds.

    Parameters
    ----------
    inputs
        Indicators stay as they are (see `flags_held`), and so do columns that do not vary.
    rows, truth
        Rows to fit, and the network's outputs (n, k) on them.
    powers
        Those of numbers that bounds are tried with.
    """
    table, places = _Table(inputs, rows), trial_rows(rows)
    if places is None:
        return _of_few(table, truth, powers)
    return _chosen(table, rows.some(places), truth[places], powers)


def check_bounds(bounded: object) -> tuple[bool, dict[str, Ends]]:
    """Tell whether numbers are held at bounds, and give those that the user gave, by column.

    Examples
    --------
    >>> check_bounds({"age": (18, 90)})
    (True, {'age': (18.0, 90.0)})
    """
    if not isinstance(bounded, Mapping):
        return check_flag(bounded, name="bounded"), {}
    return True, {str(name): _pair(name, ends) for name, ends in bounded.items()}


def _pair(name: object, ends: Any) -> Ends:
    try:
        low, high = map(float, ends)
        Identity(low, high)
    except (TypeError, ValueError, InvalidInputError):
        raise InvalidInputError(
            f"The bounds of {name!r} are not two numbers, the lower one first.",
            where="bounded",
            expected="a pair (low, high)",
            found=repr(ends),
            remedy=f"pass bounded={{{name!r}: (low, high)}}, or bounded=True",
        ) from None
    return low, high


def named_bounds(inputs: Inputs, given: Mapping[str, Ends]) -> Inputs:
    """Hold columns at bounds that the user gives, by name."""
    numbers = {column.name: place for place, column in enumerate(inputs.columns)}
    for name, ends in given.items():
        if name not in numbers or inputs.columns[numbers[name]].kind != "number":
            expected = [column.name for column in inputs.columns if column.kind == "number"]
            raise InvalidInputError(
                f"There is no number {name!r} to hold at bounds.",
                where="bounded",
                expected=f"names of numbers: {listed(expected)}",
                found=repr(name),
            )
        inputs = with_bounds(inputs, {numbers[name]: ends})
    return inputs


def flags_held(inputs: Inputs) -> Inputs:
    """Hold columns of two values, and levels that the table brings as 0/1 columns, at their range.

    Levels of text cannot lie outside, nor can marks of holes.

    Examples
    --------
    >>> from nn2poly.inputs import Column
    >>> year = Column("year", "binary", ranges=((2011.0, 2012.0),))
    >>> flags_held(Inputs((year,))).bounds()
    {'year': (2011.0, 2012.0)}
    """
    low, high = inputs.ends()
    columns = []
    for column, places in zip(inputs.columns, inputs.places, strict=True):
        if column.kind != "number" and not column.in_one_column and not column.marks:
            functions = [Identity(float(low[j]), float(high[j])) for j in places]
            pairs = zip(column.coordinates, functions, strict=True)
            held = tuple(replace(coordinate, function=f) for coordinate, f in pairs)
            column = replace(column, coordinates=held)
        columns.append(column)
    return replace(inputs, columns=tuple(columns))


def trial_rows(rows: FitRows) -> IntArray | None:
    """Choose rows of trial regressions, evenly; None where they are too few for one.

    The first rows of a table in calendar order would be one season.
    """
    if len(rows) < 10 * TRIAL_TERMS:
        return None
    return evenly(len(rows), TRIAL_ROWS)


@dataclass(frozen=True)
class _Table:
    """The columns that bounds are looked for, and the rows that their quantiles come from."""

    inputs: Inputs
    rows: FitRows

    def held(self, beyond: float) -> Inputs:
        """Hold all numbers that vary at their range or, where tails are heavy, at quantiles."""
        found = {number: self.ends(number, beyond) for number, _ in self.numbers()}
        return with_bounds(self.inputs, {n: ends for n, ends in found.items() if ends is not None})

    def ends(self, number: int, beyond: float, *, cut: bool = False) -> Ends | None:
        """Give the bounds of one column; to cut it is to take quantiles whatever its tails."""
        feature = self.inputs.places[number][0]
        x, weights = self.rows.X[:, feature], self.rows.weights
        if cut:
            return _cut(x, beyond, weights)
        return column_bounds(x, beyond, weights)

    def looser(self, place: int) -> list[float]:
        """List the shares below one that leave a row beyond: the range is up to single outliers."""
        return [share for share in reversed(BEYOND[:place]) if share * len(self.rows) >= 1.0]

    def held_by(self, number: int, ends: Ends) -> float:
        """Give the share of the rows that bounds of a column hold."""
        x = self.rows.X[:, self.inputs.places[number][0]]
        return float(np.average((x < ends[0]) | (x > ends[1]), weights=self.rows.weights))

    def numbers(self) -> Iterator[tuple[int, int]]:
        """List the columns that are numbers: number of the column, and its feature."""
        for number, (column, places) in enumerate(
            zip(self.inputs.columns, self.inputs.places, strict=True)
        ):
            function = column.coordinates[0].function
            # A table of ranks ends at its outer knots; other functions may be held further inside.
            inner = not isinstance(function, Identity) and not function.points
            if column.kind == "number" and (inner or column.coordinates[0].is_affine):
                yield number, places[0]


def with_bounds(inputs: Inputs, ends: dict[int, Ends]) -> Inputs:
    """Hold columns at bounds, by their number."""
    columns = list(inputs.columns)
    for number, pair in ends.items():
        coordinate = columns[number].coordinates[0]
        low, high = max(pair[0], coordinate.function.low), min(pair[1], coordinate.function.high)
        if isinstance(coordinate.function, Identity):  # bounds of the user may be wider
            low, high = pair
        new = replace(coordinate, function=replace(coordinate.function, low=low, high=high))
        columns[number] = replace(columns[number], coordinates=(new,))
    return replace(inputs, columns=tuple(columns))


def _chosen(table: _Table, rows: FitRows, truth: FloatArray, powers: tuple[int, ...]) -> Inputs:
    """Choose how far to cut: all columns together, then one by one."""
    place, trial = _common(table, rows, truth, powers)
    chosen: dict[int, Ends] = {}
    for number, feature in table.numbers():
        is_plain = table.inputs.coordinates[feature].is_affine
        if is_plain and len(np.unique(rows.X[:, feature])) > FEW_VALUES:
            trial, ends = _of_column(table, number, place, trial)
            if ends is not None:
                chosen[number] = ends
    held, free = with_bounds(table.held(BEYOND[place]), chosen), table.held(0.0)
    full = start_trial(free, rows, truth, powers)
    price = PRICE * sum(
        table.held_by(number, (function.low, function.high))
        for number, _ in table.numbers()
        for function in [held.columns[number].coordinates[0].function]
    )
    gains = full.error - trial.error, full.whole_error - trial.whole_error
    return held if max(gains) > price else free


def _of_few(table: _Table, truth: FloatArray, powers: tuple[int, ...]) -> Inputs:
    """Cut all columns of a small table alike, further where that helps on each fold in turn."""
    held = {share: table.held(share) for share in BEYOND}
    best, *tighter = BEYOND
    if len(table.rows) < TOO_FEW:
        return held[best]
    errors = {share: crossed_error(held[share], table.rows, truth, powers) for share in BEYOND}
    for share in tighter:
        if errors[share] < (1.0 - GAIN_OF_FEW) * errors[best]:
            best = share
    return held[best]


def _common(
    table: _Table, rows: FitRows, truth: FloatArray, powers: tuple[int, ...]
) -> tuple[int, Trial]:
    """Cut all columns less while that helps: the place of the share, and its trial."""
    first = start_trial(table.held(BEYOND[FIRST]), rows, truth, powers)
    place, best = FIRST, first
    for share in reversed(BEYOND[:FIRST]):
        tried = start_trial(table.held(share), rows, truth, powers)
        # The first sets what harm powers may do: it is not added up from share to share. Single
        # outliers set the range: it must leave nearly nothing.
        left = 1.0 - GAIN_OF_ALL if share * len(rows) >= 1.0 else GAIN_OF_ALL
        lower = tried.error < left * best.error
        if not (lower and tried.beats(first, GAIN_OF_ALL)):
            break
        place, best = place - 1, tried
    return place, best


def _of_column(table: _Table, number: int, place: int, trial: Trial) -> tuple[Trial, Ends | None]:
    """Cut one column further, or less, on each side while that helps; None leaves it as it is."""
    before = table.ends(number, BEYOND[place])
    if before is None:
        return trial, None
    tighter = [table.ends(number, share, cut=True) for share in (*BEYOND[place:], *FURTHER)]
    looser = [table.ends(number, share) for share in table.looser(place)]
    ends = before
    for side in (0, 1):
        for direction in (tighter, looser):
            trial, found = _moved(trial, table, number, ends, side, direction)
            if found != ends:
                ends = found
                break
    return trial, None if ends == before else ends


def _moved(
    trial: Trial,
    table: _Table,
    number: int,
    ends: Ends,
    side: int,
    direction: Sequence[Ends | None],
) -> tuple[Trial, Ends]:
    """Move one bound of a column along a list of them, while that helps."""
    feature = table.inputs.places[number][0]
    for other in direction:
        if other is None or other[side] == ends[side]:
            continue
        low, high = (other[0], ends[1]) if side == 0 else (ends[0], other[1])
        if not low < high:
            break
        tried = trial.held(feature, low, high)
        more = table.held_by(number, (low, high)) - table.held_by(number, ends)
        if not tried.beats(trial, GAIN, PRICE * more):
            break
        trial, ends = tried, (low, high)
    return trial, ends


def column_bounds(x: FloatArray, beyond: float, weights: FloatArray | None = None) -> Ends | None:
    """Choose bounds of one column: its range where tails are light, else quantiles.

    Examples
    --------
    >>> column_bounds(np.arange(100.0), 0.005)
    (0.0, 99.0)
    >>> column_bounds(np.array([2.0, 2.0]), 0.005)
    """
    low, high = float(x.min()), float(x.max())
    if not low < high:
        return None
    inner = _quantiles(x, beyond, np.ones(len(x)) if weights is None else weights)
    reach = LIGHT * (inner[1] - inner[0])
    first = low if low >= inner[0] - reach else inner[0]
    last = high if high <= inner[1] + reach else inner[1]
    return (first, last) if first < last else (low, high)


def _cut(x: FloatArray, beyond: float, weights: FloatArray) -> Ends | None:
    """Give quantiles of one column as bounds; None when they leave nothing."""
    first, last = _quantiles(x, beyond, weights)
    return (first, last) if first < last else None


def _quantiles(x: FloatArray, beyond: float, weights: FloatArray) -> Ends:
    """Give two quantiles; of the other values where one value holds nearly all rows."""
    first, last = _weighted(x, beyond, weights)
    if first < last:
        return first, last
    others = x != first
    low, high = _weighted(x[others], beyond, weights[others])
    return min(low, first), max(high, first)


def _weighted(x: FloatArray, beyond: float, weights: FloatArray) -> Ends:
    """Give the values below and above which a share of the weight lies."""
    order = np.argsort(x, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    # Sums of weights end at 1 but for rounding.
    places = np.minimum(np.searchsorted(share, [beyond, 1.0 - beyond]), len(x) - 1)
    low, high = x[order[places]].tolist()
    return low, high
