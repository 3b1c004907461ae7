"""How close formula and network are in parts of the data: levels of a column, or quarters."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.assess.fidelity import mean_r2
from nn2poly.formula.region_tree import level_names
from nn2poly.inputs import Inputs
from nn2poly.outputs import Outputs

# Values of a column that are groups of their own; groups that a number is cut into otherwise; and
# the rows that a group needs to be measured (taste; R² of fewer rows is chance).
MOST_VALUES, QUARTERS, MIN_ROWS = 8, 4, 20


@dataclass(frozen=True)
class Subgroup:
    """A part of the rows.

    Parameters
    ----------
    name
        In words.
    n_rows
        How many rows.
    r2
        Of the formula against the network there; NaN when the network does not vary.
    within
        95 % of the rows are within this, in probability for a classifier; the worst output.
    agreement
        Share of equal labels; None for a regression.
    bias
        Mean of formula less network, of the output where that is largest.
    """

    name: str
    n_rows: int
    r2: float
    within: float
    agreement: float | None
    bias: float


def column_groups(inputs: Inputs, number: int, X: FloatArray) -> list[tuple[str, BoolArray]]:
    """Divide raw rows (n, p) by a column: names, and which rows are in each.

    Examples
    --------
    >>> inputs = Inputs.of(["age"])
    >>> [name for name, _ in column_groups(inputs, 0, np.arange(100.0)[:, None])]
    ['up to 24.75', '24.75 to 49.5', '49.5 to 74.25', 'above 74.25']
    """
    column, places = inputs.columns[number], list(inputs.places[number])
    if column.kind != "number":
        return _levels(inputs, number, places, X)
    values = X[:, places[0]]
    different = np.unique(values)
    if len(different) <= MOST_VALUES:
        return [(f"{value:.5g}", values == value) for value in different.tolist()]
    ends = np.unique(np.quantile(values, np.arange(1, QUARTERS) / QUARTERS))
    part = np.searchsorted(ends, values)
    names = [f"{a:.4g} to {b:.4g}" for a, b in pairwise(ends.tolist())]
    names = [f"up to {ends[0]:.4g}", *names, f"above {ends[-1]:.4g}"]
    return [(name, part == k) for k, name in enumerate(names)]


def _levels(
    inputs: Inputs, number: int, places: list[int], X: FloatArray
) -> list[tuple[str, BoolArray]]:
    low, high = (end[places] for end in inputs.ends())
    names = level_names(inputs, number)
    if len(places) == 1:
        ends = zip(names, (low[0], high[0]), strict=True)
        return [(name, X[:, places[0]] == end) for name, end in ends]
    levels = zip(names, places, high.tolist(), strict=True)
    return [(name, X[:, place] == on) for name, place, on in levels]


def subgroups(
    inputs: Inputs,
    outputs: Outputs,
    number: int,
    X: FloatArray,
    truth: FloatArray,
    guess: FloatArray,
) -> tuple[Subgroup, ...]:
    """Compare formula and network in each group of rows that a column makes.

    Parameters
    ----------
    number
        Of the column.
    X
        Array (n, p) in raw units.
    truth, guess
        Arrays (n, k): raw outputs of the network and of the formula.

    Examples
    --------
    >>> X, y = np.repeat([[0.0], [1.0]], 30, axis=0), np.arange(60.0)[:, None]
    >>> found = subgroups(Inputs.of(["u"]), Outputs(("y",)), 0, X, y, y + X)
    >>> [(group.name, group.n_rows, group.within) for group in found]
    [('0', 30, 0.0), ('1', 30, 1.0)]
    """
    groups = column_groups(inputs, number, X)
    large = [(name, here) for name, here in groups if here.sum() >= MIN_ROWS]
    return tuple(_measured(name, outputs, truth[here], guess[here]) for name, here in large)


def _measured(name: str, outputs: Outputs, truth: FloatArray, guess: FloatArray) -> Subgroup:
    errors = scaled_errors(outputs, truth, guess)
    bias = errors.mean(axis=0)
    same = None
    if outputs.is_classifier:
        alike = outputs.labels(truth) == outputs.labels(guess)
        same = float(np.mean(alike if alike.ndim == 1 else alike.all(axis=1)))
    return Subgroup(
        name,
        len(truth),
        mean_r2(truth, guess),
        float(np.quantile(np.abs(errors), 0.95, axis=0).max()),
        same,
        float(bias[np.abs(bias).argmax()]),
    )


def scaled_errors(outputs: Outputs, truth: FloatArray, guess: FloatArray) -> FloatArray:
    """Give formula less network (n, k) as a reader sees outputs: probabilities, or the target.

    Examples
    --------
    >>> scaled_errors(Outputs(("y",), link="sigmoid"), np.array([[0.0]]), np.array([[40.0]]))
    array([[0.5]])
    """
    kind = "probability" if outputs.is_classifier else "target"
    return outputs.on_scale(guess, kind) - outputs.on_scale(truth, kind)
