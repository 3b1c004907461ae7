"""What holds everywhere in a box: ranges, signs and monotonicity, by bounds that are certain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_count
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.explain.boxes import read_box
from nn2poly.explain.derivatives import derivatives
from nn2poly.explain.effort import check_effort
from nn2poly.explain.enclosures import (
    enclose,
    in_box,
    lowest,
    minus,
    one_output,
    rounding_slack,
    witnesses,
)
from nn2poly.explain.level_switches import level_switches
from nn2poly.explain.region_bounds import (
    RegionBox,
    factors_of,
    jumps,
    level_boxes,
    region_boxes,
)
from nn2poly.explain.summaries import how_many, shown
from nn2poly.explain.written import entered, plain
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import output_index, parse_term
from nn2poly.tables import Table

# Rounding up to this share of the outputs, over the width of a column, counts as zero (taste).
LARGEST_ZERO = 1e-6


@shown()
@dataclass(frozen=True, eq=False)
class Bounds:
    """Every output stays between ``low`` and ``high`` in the box.

    Parameters
    ----------
    low, high
        Arrays (n_outputs,), rounded outwards.
    output_names
        The outputs.
    box
        Arrays (p,): lowest and highest value of each feature, raw units.
    """

    low: FloatArray
    high: FloatArray
    output_names: tuple[str, ...]
    box: tuple[FloatArray, FloatArray]

    @property
    def sign(self) -> tuple[str, ...]:
        """One word per output: ``"positive"``, ``"negative"`` or ``"unknown"``."""
        return tuple(
            "positive" if low > 0 else "negative" if high < 0 else "unknown"
            for low, high in zip(self.low, self.high, strict=True)
        )

    def table(self) -> Table:
        """List the outputs with their bounds."""
        ends = zip(self.output_names, self.low.tolist(), self.high.tolist(), strict=True)
        rows = tuple((*end, sign) for end, sign in zip(ends, self.sign, strict=True))
        return Table("Bounds over the box", ("output", "at least", "at most", "sign"), rows)


@shown()
@dataclass(frozen=True, eq=False)
class Monotonicity:
    """The direction of every feature's effect on every output, over a box.

    Parameters
    ----------
    directions
        Array (p, n_outputs) of words. Certain: ``"increasing"`` (never falls), ``"decreasing"``
        (never rises), ``"constant"``, ``"neither"`` (it rises somewhere and falls elsewhere).
        Not decided: ``"unknown"``.
    low, high
        Arrays (p, n_outputs): bounds of the slope per raw unit.
    feature_names, output_names
        Of the polynomial.
    """

    directions: npt.NDArray[np.str_]
    low: FloatArray
    high: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def direction(self, feature: int | str, output: int | str = 0) -> str:
        """Look up one word."""
        (j,) = parse_term((feature,), self.feature_names)
        return str(self.directions[j, output_index(output, self.output_names)])

    def table(self, n: int | None = None, *, output: int | str | None = None) -> Table:
        """List features and outputs with the direction and the bounds of the slope.

        Parameters
        ----------
        n
            How many features, in their order; None for all.
        output
            Index or name of one output; None lists all, one after the other.
        """
        names, several = self.output_names, len(self.output_names) > 1
        chosen = range(len(names)) if output is None else [output_index(output, names)]
        count = how_many(n, len(self.feature_names))
        rows = tuple(
            (
                *((names[o],) if several else ()),
                feature,
                str(self.directions[j, o]),
                float(self.low[j, o]),
                float(self.high[j, o]),
            )
            for o in chosen
            for j, feature in enumerate(self.feature_names[:count])
        )
        columns = ("feature", "direction", "slope at least", "at most")
        return Table(
            "Monotonicity over the box",
            ("output", *columns) if several else columns,
            rows,
            note="Certain for the polynomial, at every point of the box; 'unknown': not decided.",
        )


def bounds(poly: Formula, box: Any = None, *, data: Any = None, splits: int = 0) -> Bounds:
    """Bound every raw output over a box; never too narrow, not always tight.

    With regions: over the part of the box in each of them, all taken together. A factor shows one
    of its levels at a time; with more than 256 combinations of levels, the factors of most levels
    count as if their levels were numbers between 0 and 1, which is cautious.

    Parameters
    ----------
    poly
        The polynomial.
    box
        ``(low, high)``, numbers or arrays (p,), in raw units; or a dict of such pairs by
        feature, the others taking the range below. None: the range that the conversion saw.
    data
        Array, data frame or stream (n, p): take its range instead.
    splits
        How often the box may be cut in two, for each end of each output, where that tightens
        the bound.

    Returns
    -------
    Bounds

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["1", "t", "t^2"], [3.0, -2.0, 1.0], ["t"])
    >>> bounds(poly, (0.0, 4.0)).sign, bounds(poly, (0.0, 4.0), splits=20).sign
    (('unknown',), ('positive',))
    """
    box_low, box_high = read_box(poly, box, data)
    cuts = _cuts(splits)
    parts = region_boxes(poly, box_low, box_high)
    found = [_enclosed(box, cuts) for part in parts for box in level_boxes(part)]
    bottom = np.min([low for low, _ in found], axis=0)
    top = np.max([high for _, high in found], axis=0)
    return Bounds(bottom, top, poly.outputs.scale_names, (box_low, box_high))


def _enclosed(part: RegionBox, cuts: int) -> tuple[FloatArray, FloatArray]:
    """Bound the outputs (n_outputs,) of one polynomial over its box."""
    # A column is held at its bounds: beyond them nothing changes.
    low, high = (part.polynomial.inputs.curved(end) for end in (part.low, part.high))
    silent = plain(part.polynomial)
    slack = rounding_slack(silent, low, high)
    if cuts:
        single = [one_output(silent, o) for o in range(silent.n_outputs)]
        ends = [(lowest(p, low, high, cuts), -lowest(minus(p), low, high, cuts)) for p in single]
        bottom, top = (np.array(end) for end in zip(*ends, strict=True))
    else:
        bottom, top = enclose(in_box(silent, low, high))
    return bottom - slack, top + slack


def monotonicity(
    poly: Formula, box: Any = None, *, data: Any = None, splits: int = 0
) -> Monotonicity:
    """Tell for every feature and output whether the effect keeps its direction over a box.

    The slope is a polynomial, and is bounded over the box. For polynomials of order 2 slopes
    are linear and the answer is certain, unless rounding decides; slopes below rounding error
    count as zero.
    Binary features count as if every value between were possible, which is cautious. A factor
    shows one of its levels, see `bounds`; the direction of a level is that of showing it instead
    of any other, and its slope what that changes. With regions, a direction holds in each of them
    and across their borders, jumps included; where levels of a factor decide the region, the
    direction of a level stays undecided. A column that enters through a function, such as a
    logarithm or a curve, has the direction of its function, as these all rise; its slopes are
    per unit of the function.

    Parameters
    ----------
    poly, box, data, splits
        As in `bounds`.

    Returns
    -------
    Monotonicity

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t", "t u", "u^2"], [1.0, 2.0, 1.0], ["t", "u"])
    >>> monotonicity(poly, (0.0, 1.0)).directions[:, 0].tolist()
    ['increasing', 'increasing']
    >>> monotonicity(poly, {"t": (0, 1), "u": (-1, 1)}).directions[:, 0].tolist()
    ['neither', 'neither']
    """
    cuts, boxes = _cuts(splits), region_boxes(poly, *read_box(poly, box, data))
    found = [_of_columns(part, cuts) for part in boxes]
    bottom = np.min([part.low for part in found], axis=0)
    top = np.max([part.high for part in found], axis=0)
    words = found[0].directions
    if isinstance(poly, PiecewisePolynomial):
        steps = [jumps(poly, boxes, j) for j in range(poly.n_features)]
        words = _joined(found, *(np.array(side) for side in zip(*steps, strict=True)))
    return Monotonicity(words, bottom, top, poly.feature_names, poly.outputs.scale_names)


def _of_columns(part: RegionBox, cuts: int) -> Monotonicity:
    """Judge every slope over the possible levels of all factors, and the switches of levels."""
    found = [_directions(box, cuts) for box in level_boxes(part)]
    none = np.zeros_like(found[0].low)
    low = np.min([one.low for one in found], axis=0)
    high = np.max([one.high for one in found], axis=0)
    words = found[0].directions if len(found) == 1 else _joined(found, none, none)
    for places in factors_of(part.polynomial.inputs):
        for level, (word, least, most) in level_switches(part, places).items():
            words[level], low[level], high[level] = word, least, most
    return replace(found[0], directions=words, low=low, high=high)


def _directions(part: RegionBox, cuts: int) -> Monotonicity:
    """Judge every slope of one polynomial over its box."""
    poly = part.polynomial
    check_effort(
        # Each end of each slope is rewritten for both halves of a box (estimate: 10 µs a column).
        4 * cuts * poly.n_features * (5000 * poly.n_features * poly.n_outputs + 100 * poly.n_terms),
        what=f"Slopes along {poly.n_features:,} features over boxes cut {cuts:,} times",
        remedy="lower splits, or prune the polynomial",
    )
    low, high = (poly.inputs.curved(end) for end in (part.low, part.high))
    silent = entered(plain(poly))
    # Changing coordinates once serves all derivatives.
    boxed = in_box(silent, low, high)
    slacks = [rounding_slack(slope, low, high) for slope in derivatives(silent)]
    # Rounding that is no longer small beside the outputs is no zero: nothing is known then.
    width, size = high - low, np.abs(boxed.coefficients).max(axis=0, initial=0.0)
    known = [s * w <= LARGEST_ZERO * size for s, w in zip(slacks, width, strict=True)]
    found = [
        _direction(slope, s, k, low, high, cuts)
        for slope, s, k in zip(derivatives(boxed), slacks, known, strict=True)
    ]
    words, bottom, top = zip(*found, strict=True)
    names = (poly.feature_names, poly.outputs.scale_names)
    return Monotonicity(np.array(words), np.array(bottom), np.array(top), *names)


def _joined(parts: list[Monotonicity], least: FloatArray, most: FloatArray) -> npt.NDArray[np.str_]:
    """Judge all regions together, with the jumps (p, n_outputs) between them."""
    words = np.stack([part.directions for part in parts])
    rises = np.any([part.low > 0 for part in parts], axis=0)
    falls = np.any([part.high < 0 for part in parts], axis=0)
    out = np.full(words.shape[1:], "unknown", dtype=object)
    out[(words == "neither").any(axis=0) | (rises & falls)] = "neither"
    never_falls = np.isin(words, ("increasing", "constant")).all(axis=0) & (least >= 0)
    never_rises = np.isin(words, ("decreasing", "constant")).all(axis=0) & (most <= 0)
    out[never_rises] = "decreasing"
    out[never_falls] = "increasing"
    out[never_falls & never_rises] = "constant"
    return out.astype(str)


def _direction(
    slope: Polynomial,
    slack: FloatArray,
    known: BoolArray,
    low: FloatArray,
    high: FloatArray,
    cuts: int,
) -> tuple[list[str], FloatArray, FloatArray]:
    """Judge one slope, in coordinates of the box.

    What is within ``slack`` of zero is zero where that is ``known`` to be rounding, else anything.
    """
    bottom, top = enclose(slope)
    seen_low, seen_high = witnesses(slope, low, high)
    both_seen = (seen_low < -slack) & (seen_high > slack)
    undecided = (bottom < -slack) & (top > slack) & ~both_seen
    for o in np.flatnonzero(undecided).tolist() if cuts else ():
        single = one_output(slope, o)
        bottom[o] = lowest(single, low, high, cuts)
        top[o] = -lowest(minus(single), low, high, cuts)
    words = np.full(slope.n_outputs, "unknown", dtype=object)
    words[both_seen] = "neither"
    zero = np.where(known | ((bottom == 0.0) & (top == 0.0)), slack, -slack)
    falls, rises = top <= zero, bottom >= -zero
    words[falls] = "decreasing"
    words[rises] = "increasing"
    words[falls & rises] = "constant"
    return words.tolist(), bottom - slack, top + slack


def _cuts(splits: object) -> int:
    if isinstance(splits, int | np.integer) and splits == 0 and not isinstance(splits, bool):
        return 0
    return check_count(splits, where="splits")
