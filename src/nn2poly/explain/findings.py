"""What a formula does, in plain words: single columns, and columns that change what others do."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import MixedRowsWarning, OutsideRangeWarning
from nn2poly.explain.dependence import partial_dependence
from nn2poly.formula.protocol import Formula
from nn2poly.formula.region_tree import level_names

# Points along a number; ends of what is usual; the share of rows below which a level is not
# spoken of; how near to its peak, as a share of the way, an effect still counts as there (taste).
POINTS, USUAL, RARE, NEAR = 25, (0.05, 0.95), 0.005, 0.75
# A change of a probability that is none to a reader; the share of what an output varies by below
# which an average is called flat (taste).
HARDLY, FLAT = 5e-4, 0.02


@dataclass(frozen=True, eq=False)
class Findings:
    """Words about one formula on some rows.

    Parameters
    ----------
    poly
        The formula.
    rows
        Array (n, p) in raw units, to average over.
    kind
        The scale of the outputs, as in `partial_dependence`.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> terms = ["t", "u t"]
    >>> poly = Polynomial.from_terms(terms, [2.0, 3.0], ["t", "u"], output_names=["sales"])
    >>> rows = np.array([[0.0, 0.0], [10.0, 1.0], [0.0, 1.0], [10.0, 0.0]])
    >>> print(Findings(poly, rows).of_column("t", 0))
    t: from 0 to 10, sales goes up from 0 to 35 on average.
    >>> print(Findings(poly, rows).of_pair("t", "u", 0))
    u 1 instead of 0 adds 30 to sales where t is 10, and changes nothing where t is 0.
    """

    poly: Formula
    rows: FloatArray
    kind: str = "raw"
    known: dict[Any, Any] = field(default_factory=dict)

    def of_column(self, name: str, output: int) -> str:
        """Say what a column does to an output, on average over the rows."""
        points, labels = self._points(name, POINTS)
        values = self._average((name,), (points,))[..., output]
        out, say = self.poly.outputs.names_on(self.kind)[output], self._say(values)
        low, high = int(values.argmin()), int(values.argmax())
        if np.ptp(values) == 0.0:
            return f"{name}: on average it changes nothing."
        if np.ptp(values) < FLAT * self._varies(output):
            ends = f"{say(values[low])} to {say(values[high])}"
            return f"{name}: on average it hardly changes {out} ({ends})."
        steps = np.diff(values)
        if self._is_number(name) and (np.all(steps >= 0) or np.all(steps <= 0)):
            way = "up" if steps.sum() > 0 else "down"
            ends = f"from {say(values[0])} to {say(values[-1])}"
            return f"{name}: from {labels[0]} to {labels[-1]}, {out} goes {way} {ends} on average."
        at = "at" if self._is_number(name) else "with"
        return (
            f"{name}: {out} is highest {at} {labels[high]} ({say(values[high])} on average) and "
            f"lowest {at} {labels[low]} ({say(values[low])})."
        )

    def of_pair(self, first: str, second: str, output: int) -> str:
        """Say how what one of two columns does depends on the other."""
        # What has levels is switched; the other tells where.
        where, what = (first, second) if self._is_number(first) else (second, first)
        if self._is_number(what) and where == second:
            where, what = first, second
        points, labels = self._points(where, POINTS)
        ends, names = self._ends(what)
        values = self._average((where, what), (points, ends))[..., output]
        change = values[:, 1] - values[:, 0]
        if np.ptp(change) <= 1e-9 * float(np.abs(values).max()):
            return ""
        most, least = (self._place(where, labels, sign * change) for sign in (1.0, -1.0))
        # What is furthest from no change at all comes first.
        parts = sorted((most, least), key=lambda part: -abs(change[part[1]].mean()))
        (here, by), (there, other) = ((place, float(change[at].mean())) for place, at in parts)
        if self.kind == "probability" and max(abs(by), abs(other)) < HARDLY:
            return ""
        said = f"{self._changes(by, output)} {here}, and {self._changes(other, output, by)} {there}"
        return f"{what} {names[1]} instead of {names[0]} {said}."

    def _changes(self, by: float, output: int, before: float = 0.0) -> str:
        """Say a change; after one of the same sign, its size alone."""
        again = by * before > 0
        out = self.poly.outputs.names_on(self.kind)[output]
        if self.kind == "probability":
            size = f"{100 * abs(by):.2g}"
            points = "percentage point" if size == "1" else "percentage points"
            if abs(by) < HARDLY:
                return f"hardly changes {out}"
            said = f"by {size} {points}"
            return said if again else f"{'raises' if by > 0 else 'lowers'} {out} {said}"
        size = amount(abs(by))
        if size == "0":
            return "changes nothing"
        if again:
            return size
        return f"adds {size} to {out}" if by > 0 else f"takes {size} from {out}"

    def _varies(self, output: int) -> float:
        """Give the standard deviation of an output over the rows, on its scale."""
        if "deviations" not in self.known:
            made = self.poly.outputs.on_scale(self.poly.raw_outputs(self.rows), self.kind)
            self.known["deviations"] = made.std(axis=0)
        return float(self.known["deviations"][output])

    def _say(self, values: FloatArray) -> Any:
        if self.kind == "probability":
            return lambda value: share_text(float(value))
        digits = 3 if np.ptp(values) >= 0.01 * np.abs(values).max() else 5
        return lambda value: amount(float(value), digits)

    def _place(
        self, name: str, labels: Sequence[str], effect: FloatArray
    ) -> tuple[str, slice | list[int]]:
        """Say where an effect (g,) is near its peak: a stretch of a number, or one level."""
        peak = int(effect.argmax())
        if not self._is_number(name):
            return f"with {name} {labels[peak]}", [peak]
        near = effect >= effect.min() + NEAR * np.ptp(effect)
        start, end = peak, peak
        while start > 0 and near[start - 1]:
            start -= 1
        while end < len(near) - 1 and near[end + 1]:
            end += 1
        if start == end:
            return f"where {name} is {labels[peak]}", [peak]
        text = f"where {name} is between {labels[start]} and {labels[end]}"
        return text, slice(start, end + 1)

    def _average(self, names: tuple[str, ...], grid: tuple[FloatArray, ...]) -> FloatArray:
        """Give the partial dependence (g_1, …, n_outputs), computed once."""
        if names not in self.known:
            axes = grid[0] if len(names) == 1 else list(grid)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OutsideRangeWarning)
                warnings.simplefilter("ignore", MixedRowsWarning)
                found = partial_dependence(self.poly, self.rows, names, grid=axes, kind=self.kind)
            self.known[names] = found.values
        result: FloatArray = self.known[names]
        return result

    def _column(self, name: str) -> int:
        return [column.name for column in self.poly.inputs.columns].index(name)

    def _is_number(self, name: str) -> bool:
        return self.poly.inputs.columns[self._column(name)].kind == "number"

    def _points(self, name: str, count: int) -> tuple[FloatArray, list[str]]:
        """Give the points of a column and their names: of a factor levels that rows have."""
        number = self._column(name)
        places = list(self.poly.inputs.places[number])
        if not self._is_number(name):
            return self._levels(number, places)
        values = self.rows[:, places[0]]
        points = np.unique(values)
        if len(points) > count:
            low, high = np.quantile(values, USUAL).tolist()
            points = np.linspace(low, high, count)
            if np.all(values == np.round(values)):
                points = np.unique(np.round(points))
        return points, [amount(x, 4) for x in points.tolist()]

    def _levels(self, number: int, places: list[int]) -> tuple[FloatArray, list[str]]:
        names = level_names(self.poly.inputs, number)
        low, high = (end[places] for end in self.poly.inputs.ends())
        if len(places) == 1:
            return np.concatenate([low, high]), list(names)
        share = (self.rows[:, places] == high).mean(axis=0)
        shown = np.flatnonzero(share >= min(RARE, share.max()))
        return shown.astype(np.float64), [names[k] for k in shown]

    def _ends(self, name: str) -> tuple[FloatArray, list[str]]:
        """Give the two points between which a column is switched, and their names."""
        number = self._column(name)
        places = list(self.poly.inputs.places[number])
        points, labels = self._points(name, POINTS)
        if self._is_number(name):
            chosen = [0, len(points) - 1]
        elif len(places) == 1:
            chosen = [0, 1]
        else:
            high = self.poly.inputs.ends()[1][places]
            share = (self.rows[:, places] == high).mean(axis=0)[points.astype(int)]
            chosen = np.argsort(-share, kind="stable")[:2].tolist()[::-1]
        return points[chosen], [labels[i] for i in chosen]


def amount(value: float, digits: int = 3) -> str:
    """Write a number in words' company: few digits, no powers of ten; what is tiny is 0.

    Examples
    --------
    >>> amount(2012.0, 4), amount(22734.0), amount(0.01234), amount(-3e-14), amount(12.0)
    ('2012', '22,700', '0.0123', '0', '12')
    """
    if abs(value) < 1e-9:
        return "0"
    decimals = digits - 1 - int(np.floor(np.log10(abs(value))))
    rounded = round(value, decimals)
    group = "," if abs(rounded) >= 10_000 else ""  # 2012 is a year, or could be
    text = f"{rounded:{group}.{max(0, decimals)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def share_text(share: float) -> str:
    """Write a probability in percent; what is not 0 or 1 is not said to be.

    Examples
    --------
    >>> share_text(0.3421), share_text(0.0), share_text(6.69e-8), share_text(0.999999)
    ('34.2 %', '0 %', '< 0.01 %', '> 99.99 %')
    """
    percent = 100.0 * share
    if 0.0 < percent < 0.01:
        return "< 0.01 %"
    if 99.99 < percent < 100.0:
        return "> 99.99 %"
    digits = 3 if percent < 99.0 else 4
    text = f"{percent:.{digits}g}"
    return f"{text} %"
