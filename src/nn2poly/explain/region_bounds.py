"""Boxes of regions: what holds in each, and what happens where one ends and another begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.enclosures import enclose, in_box, rounding_slack
from nn2poly.explain.written import plain, union_of_terms
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula
from nn2poly.formula.region_tree import Path, paths, question
from nn2poly.inputs import Inputs

# A level is on within a box that ends so near to it.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class RegionBox:
    """The part of a box that lies in one region.

    Parameters
    ----------
    polynomial
        What holds there.
    low, high
        Arrays (p,), raw units, both ends included. Where a region asks whether one of several
        levels is on, these levels are not narrowed: the box is larger, never too small.
    """

    polynomial: Polynomial
    low: FloatArray
    high: FloatArray
    path: Path = ()

    def at_level(self, places: Sequence[int], level: int) -> RegionBox:
        """Give the part of the box with one level of a factor on, and its others off."""
        off, on = self.polynomial.inputs.ends()
        low, high = self.low.copy(), self.high.copy()
        for place in places:
            low[place] = high[place] = on[place] if place == level else off[place]
        return replace(self, low=low, high=high)

    def levels(self, places: Sequence[int]) -> list[int]:
        """List the levels of a factor, by their features, that the box and the region hold."""
        inside = []
        for level in places:
            part, chosen = self.at_level(places, level), list(places)
            held = np.all(part.low[chosen] >= self.low[chosen] - TOLERANCE)
            if held and np.all(part.high[chosen] <= self.high[chosen] + TOLERANCE):
                inside += [level] if part._in_region(chosen) else []
        return inside

    def _in_region(self, places: Sequence[int]) -> bool:
        """Say that a box with one level of a factor on answers what the region asks about it."""
        for split, left in self.path:
            asked = question(split, self.polynomial.inputs)
            asked = asked if left else asked.opposite
            if set(asked.features) <= set(places):
                reached = any(self.low[feature] >= at for feature, at in asked.parts)
                if reached != asked.reached:
                    return False
        return True


def factors_of(inputs: Inputs) -> list[tuple[int, ...]]:
    """List the features of each factor, those of fewest levels first."""
    pairs = zip(inputs.columns, inputs.places, strict=True)
    found = [places for column, places in pairs if column.kind == "factor"]
    return sorted(found, key=len)


def level_boxes(part: RegionBox, *, but: Sequence[int] = (), most: int = 256) -> list[RegionBox]:
    """Cut a box so that each factor shows one level: rows with two, or none, do not exist.

    Parameters
    ----------
    part
        The box; one that holds no level of a factor is left as it is there.
    but
        The features of a factor that is left as it is.
    most
        Boxes, at most (taste: a second of a formula of 200 terms). Factors with more levels than
        that leaves room for stay boxes of 0 … 1 for each level, larger, never too small.
    """
    boxes = [part]
    for places in factors_of(part.polynomial.inputs):
        levels = [] if set(places) == set(but) else part.levels(places)
        if levels and len(boxes) * len(levels) <= most:
            boxes = [box.at_level(places, level) for box in boxes for level in levels]
    return boxes


def region_boxes(poly: Formula, low: FloatArray, high: FloatArray) -> list[RegionBox]:
    """Cut a box (p,), (p,) at the borders of the regions; those that it does not meet are left.

    Examples
    --------
    >>> from nn2poly.formula.region_tree import Leaf, Split
    >>> line = Polynomial([[5.0], [2.0]], 1, ["hour"])
    >>> both = PiecewisePolynomial(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), (line, line))
    >>> found = region_boxes(both, np.array([0.0]), np.array([24.0]))
    >>> [(box.low[0], box.high[0]) for box in found]
    [(np.float64(0.0), np.float64(6.5)), (np.float64(6.5), np.float64(24.0))]
    """
    if not isinstance(poly, PiecewisePolynomial):
        return [RegionBox(region.polynomial, low, high) for region in poly.regions]
    found = []
    for number, path in paths(poly.tree).items():
        sides = _sides(poly, path)
        first, last = np.maximum(low, sides[0]), np.minimum(high, sides[1])
        # The upper end does not belong to a region.
        if np.all(first <= last) and not np.any(low >= sides[1]):
            found.append(RegionBox(poly.polynomials[number], first, last, path))
    return found


def _sides(poly: PiecewisePolynomial, path: Path) -> tuple[FloatArray, FloatArray]:
    """Give the box of a region, arrays (p,), infinite where nothing is asked."""
    low, high = np.full(poly.n_features, -np.inf), np.full(poly.n_features, np.inf)
    for split, left in path:
        asked = question(split, poly.inputs)
        asked = asked if left else asked.opposite
        if not asked.reached:
            for feature, at in asked.parts:
                high[feature] = min(high[feature], at)
        elif len(asked.features) == 1:
            ((feature, at),) = asked.parts
            low[feature] = max(low[feature], at)
    return low, high


def jumps(
    poly: PiecewisePolynomial, boxes: list[RegionBox], feature: int
) -> tuple[FloatArray, FloatArray]:
    """Bound what the outputs gain where a feature crosses from one region into the next.

    Returns
    -------
    arrays (n_outputs,)
        The lowest jump, 0 if none goes down, and the highest, 0 if none goes up; without end
        where levels of a factor decide.
    """
    least, most = np.zeros(poly.n_outputs), np.zeros(poly.n_outputs)
    if _is_level(poly, feature):
        return least - np.inf, most + np.inf
    for below in boxes:
        for above in boxes:
            if below.high[feature] == above.low[feature] and _touch(below, above, feature):
                low, high = _jump(poly, below, above, feature)
                least, most = np.minimum(least, low), np.maximum(most, high)
    return least, most


def _is_level(poly: PiecewisePolynomial, feature: int) -> bool:
    """Say that a feature is a level of a factor that the tree asks about."""
    column = int(poly.inputs.column_of[feature])
    asked = {split.column for path in paths(poly.tree).values() for split, _ in path}
    return column in asked and poly.inputs.columns[column].kind == "factor"


def _touch(below: RegionBox, above: RegionBox, feature: int) -> bool:
    """Say that two boxes share points but for one feature, which runs into the second."""
    first, last = np.maximum(below.low, above.low), np.minimum(below.high, above.high)
    met = first <= last
    met[feature] = below is not above
    return bool(met.all())


def _jump(
    poly: PiecewisePolynomial, below: RegionBox, above: RegionBox, feature: int
) -> tuple[FloatArray, FloatArray]:
    """Bound the difference of two polynomials on the border of their boxes."""
    low, high = np.maximum(below.low, above.low), np.minimum(below.high, above.high)
    low[feature] = high[feature] = above.low[feature]
    terms, values = union_of_terms([above.polynomial, below.polynomial])
    step = replace(
        plain(above.polynomial), coefficients=values[0] - values[1], terms=terms, deviations=None
    )
    ends = poly.inputs.curved(low), poly.inputs.curved(high)
    slack = rounding_slack(step, *ends)
    bottom, top = enclose(in_box(step, *ends))
    # What rounding leaves of a continuous border is no jump.
    return np.where(bottom < -slack, bottom, 0.0), np.where(top > slack, top, 0.0)
