"""`ale`: accumulated local effects of one feature, which stay near the rows as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arguments import check_count, listed, real_array
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.grids import choose_players
from nn2poly.explain.rows import checked_population
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import separable
from nn2poly.explain.summaries import shown
from nn2poly.explain.written import recentred
from nn2poly.formula.protocol import Formula
from nn2poly.tables import Table


@shown()
@dataclass(frozen=True, eq=False, repr=False)
class AccumulatedEffects:
    """What moving a feature a little does to the rows that are there, added up from left to right.

    Parameters
    ----------
    feature_name
        The feature that moves.
    output_names
        The outputs.
    grid
        Array (g + 1,): the edges of the bins, in raw units.
    values
        Array (g + 1, n_outputs): the effect at each edge, raw outputs, 0 on average over the
        rows.
    counts
        Array (g,): the rows in each bin.
    """

    feature_name: str
    output_names: tuple[str, ...]
    grid: FloatArray
    values: FloatArray
    counts: IntArray

    def table(self) -> Table:
        """List the edges with the effect at each, and the rows of the bin that ends there."""
        counts = (0, *self.counts.tolist())
        rows = zip(self.grid.tolist(), self.values.tolist(), counts, strict=True)
        return Table(
            f"Accumulated local effects of {self.feature_name}",
            (self.feature_name, *self.output_names, "rows"),
            tuple((x, *y, n) for x, y, n in rows),
            note="Zero is the average over the rows.",
        )


def ale(poly: Formula, X: Any, feature: int | str, *, bins: int | Any = 40) -> AccumulatedEffects:
    """Answer "what does the feature do, near the rows that are there?".

    Apley and Zhu (2020): in each bin the feature of its rows moves from the left edge to the
    right one, all else as it is; the mean differences are added up, and centred. Where features
    go together, `partial_dependence` asks about rows that do not exist; this does not, and
    unlike a mean of the output in each bin it leaves out what other features do.

    Parameters
    ----------
    poly
        The formula.
    X
        Array or data frame (n, p) in raw units; of a stream an even choice of at most 200,000
        rows.
    feature
        Index or name of a number, or of a yes/no; neither a factor, whose levels have no order,
        nor a number that is cut into bins.
    bins
        Number of bins, of about as many rows each (fewer where values repeat), or their edges,
        an array (g + 1,): increasing, with rows in every bin; rows outside them are left out.

    Returns
    -------
    AccumulatedEffects

    Raises
    ------
    InvalidInputError
        For a factor, and for edges that cannot be used.

    Examples
    --------
    With b always equal to a, moving a alone by one adds b.

    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    >>> n2p.explain.ale(poly, [[0, 0], [1, 1], [2, 2], [3, 3]], "a", bins=3)
    Accumulated local effects of a
        a       y  rows
    -----  ------  ----
        0  -1.500     0
    1.000  -1.000     2
    2.000   1.000     1
    3.000   4.000     1
    Zero is the average over the rows.
    """
    rows = checked_population(poly, X)
    form = separable(recentred(poly, rows))
    (player,) = choose_players(form, [feature])
    place = _place(poly, form, player)
    x = rows[:, place]
    edges = _edges(x, bins)
    inside = (edges[0] <= x) & (x <= edges[-1])
    # The bins are (left, right]; the lowest row belongs to the first.
    bin_of = np.maximum(np.searchsorted(edges, x[inside], side="left") - 1, 0)
    counts = np.bincount(bin_of, minlength=len(edges) - 1)[: len(edges) - 1]
    _check_filled(edges, counts)
    steps = _steps(form, rows[inside], place, edges, bin_of)
    return AccumulatedEffects(
        form.players[player], poly.outputs.scale_names, edges, _centred(steps, counts), counts
    )


def _place(poly: Formula, form: Separable, player: int) -> int:
    columns = form.columns[player]
    if len(columns) == 1:
        return columns[0]
    name = form.players[player]
    cut = any(column.name == name and column.cuts for column in poly.inputs.columns)
    what = "levels without an order, along which nothing accumulates"
    if cut:
        what = "bins, and within a bin moving the number changes nothing"
    raise InvalidInputError(
        f"{name!r} has {len(columns)} {what}.",
        where="feature",
        expected="a number, or a yes/no",
        found="a number that is cut into bins" if cut else "a factor",
        remedy=f"ask partial_dependence for {name!r}",
    )


def _edges(x: FloatArray, bins: Any) -> FloatArray:
    """Give the edges of the bins: quantiles that are values of the feature, or those given."""
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        shares = np.linspace(0.0, 1.0, check_count(bins, where="bins") + 1)
        return np.unique(np.quantile(x, shares, method="inverted_cdf"))
    edges: FloatArray = real_array(bins, "bins")
    if edges.ndim == 1 and len(edges) > 1 and np.all(np.diff(edges) > 0):
        return edges
    raise InvalidInputError(
        "The edges of the bins cannot be used.",
        where="bins",
        expected="a number of bins, or two increasing edges and more",
        found=listed(edges.ravel().tolist()),
    )


def _check_filled(edges: FloatArray, counts: IntArray) -> None:
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return
    left, right = edges[empty[0]], edges[empty[0] + 1]
    raise InvalidInputError(
        "A bin without rows has no local effect.",
        where="bins",
        expected="rows in every bin",
        found=f"none between {left:,.4g} and {right:,.4g}",
        remedy="pass wider bins, or a number of them",
    )


def _steps(
    form: Separable, rows: FloatArray, place: int, edges: FloatArray, bin_of: IntArray
) -> FloatArray:
    """Average the differences of the formula over each bin: array (g, n_outputs)."""
    steps = np.zeros((len(edges) - 1, len(form.output_names)))
    if not len(steps):
        return steps  # the feature has one value
    moved = rows.copy()
    moved[:, place] = edges[bin_of + 1]
    difference = form.predict(moved)
    moved[:, place] = edges[bin_of]
    difference -= form.predict(moved)
    np.add.at(steps, bin_of, difference)
    return steps / np.bincount(bin_of, minlength=len(steps))[:, None]


def _centred(steps: FloatArray, counts: IntArray) -> FloatArray:
    """Add up steps (g, n_outputs), zero on average: the effect of a bin is that of its middle."""
    values: FloatArray = np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
    if not len(counts):
        return values
    middles = (values[1:] + values[:-1]) / 2
    return np.asarray(values - np.average(middles, axis=0, weights=counts), dtype=np.float64)
