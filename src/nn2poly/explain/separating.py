"""`separable`: a formula of any kind in separable form.

The players are the columns of the user's table. The levels of a factor move together: indicators
that were mixed between rows would show two levels, or none, and what each does by itself is
arbitrary, as all of them together are always 1.
"""

from __future__ import annotations

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.rewriting import joined, total, within
from nn2poly.explain.separable import Condition, Interval, Separable, Shown, of_polynomial
from nn2poly.explain.written import check_explained
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.protocol import Formula, Region
from nn2poly.formula.region_tree import Among, Between, Path, middles, paths, question
from nn2poly.inputs import Inputs


def separable(poly: Formula | Separable) -> Separable:
    """Bring a formula to separable form, every column a player.

    Parameters
    ----------
    poly
        A formula; a `Separable` stays what it is. Terms without any coefficient are left out.

    Examples
    --------
    >>> from nn2poly import PiecewisePolynomial, Polynomial
    >>> from nn2poly.formula.region_tree import Leaf, Split
    >>> line = Polynomial([[5.0], [2.0]], 1, ["hour"])
    >>> tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    >>> form = separable(PiecewisePolynomial(tree, (line, line)))
    >>> form.players, len(form.factors), form.predict([[1.0]])
    (('hour',), 4, array([[7.]]))
    """
    check_explained(poly)
    if isinstance(poly, Separable):
        return poly
    factors = _factors(poly.inputs)
    if not isinstance(poly, PiecewisePolynomial):
        (everywhere,) = poly.regions
        form = of_polynomial(everywhere.polynomial)
        return joined(form, factors) if factors else form
    ways = paths(poly.tree)
    return total([_held(region, ways[region.number], factors) for region in poly.regions])


def _held(region: Region, path: Path, factors: dict[str, tuple[int, ...]]) -> Separable:
    """Hold the polynomial of a region to its box."""
    form = joined(of_polynomial(region.polynomial), factors)
    inputs = form.inputs
    players = {
        int(form.seats[inputs.places[column][0]]): _tests(column, meets, path, inputs)
        for column, meets in region.conditions.items()
    }
    return within(form, players)


def _factors(inputs: Inputs) -> dict[str, tuple[int, ...]]:
    """Give the features of every factor, under its name."""
    pairs = zip(inputs.columns, inputs.places, strict=True)
    return {column.name: places for column, places in pairs if column.width > 1}


def _tests(column: int, meets: Between | Among, path: Path, inputs: Inputs) -> list[Condition]:
    """Give what holds of one column in a region."""
    if isinstance(meets, Between):
        return [Interval(inputs.places[column][0], meets.low, meets.high)]
    # Split by split: a row that shows no level of the factor goes right at each of them.
    sides = [(question(split, inputs), left) for split, left in path if split.column == column]
    return [Shown(q.features, q.numbers, q.reached == left) for q, left in sides]


def player_values(form: Separable, rows: FloatArray) -> FloatArray:
    """Give one number per player of raw rows (n, p): array (n, n_players).

    That is the feature's own; of several, as of a factor, the number of the first that is on.
    """
    out, on = np.empty((len(rows), len(form.players))), rows >= middles(form.inputs)
    for player, columns in enumerate(form.columns):
        several = len(columns) > 1
        out[:, player] = on[:, columns].argmax(axis=1) if several else rows[:, columns[0]]
    return out
