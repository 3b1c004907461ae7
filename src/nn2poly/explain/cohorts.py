"""`cohort_shapley`: Shapley values that look at rows as they are, never at mixed ones.

A coalition of columns is worth the mean prediction of the rows that are like the one explained in
these columns (Mase, Owen and Seiler 2019). Every row that is asked for exists, so columns that go
together share what they say, also one that the formula does not use. It needs no model of the
distribution, and is the same for any formula.

With p columns each row of the background is like the row explained in some of them: a number of p
bits. Its cohorts are those of all subsets of these bits, so that the sums of all 2^p cohorts come
from one sum over supersets, in p · 2^p steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.grids import choose_players
from nn2poly.explain.rows import read_population, read_rows, warn_once
from nn2poly.explain.separating import player_values, separable
from nn2poly.explain.shapley import ShapleyValues
from nn2poly.formula.protocol import Formula

# Players up to which all coalitions are summed: 65,536 of them take some hundredths of a second
# for each row.
MOST_PLAYERS = 16
# How far ranks may differ for two values to be alike: a cohort of one number is then a fifth of the
# rows, of two independent ones a twenty-fifth (taste; Mase et al. take tenths of the range).
REACH = 0.1
OTHERS = "other columns"


def cohort_shapley(
    poly: Formula,
    X: Any,
    background: Any,
    *,
    columns: Sequence[int | str] | None = None,
    reach: float = REACH,
) -> ShapleyValues:
    """Answer "what do the columns tell about this prediction?", by similar rows.

    The value of a coalition of columns is the mean prediction of the cohort: the rows of the
    background that are similar to the row in all of them, and that row itself. The coalition
    of all columns is the row alone, so values add up to its prediction. Where columns are
    correlated, `shapley` asks the formula about rows that do not exist; this does not, but it
    cannot tell which of them the formula uses: they share what they have in common. With many
    numbers a cohort shrinks to the row itself, so with few rows ask about few columns.

    Parameters
    ----------
    poly
        The formula; for a classifier the raw outputs (before the link) are explained.
    X
        Array, data frame or stream (n, p) in raw units: the rows to explain, all of them.
    background
        Array or data frame (m, p): the rows that cohorts are made of, hundreds if possible; of a
        stream an even choice of at most 200,000.
    columns
        The columns to ask about, by index or name, at most 16; ``other columns`` is
        then what these leave unexplained. None for all.
    reach
        Numbers are alike where their ranks among the background, as shares of it, differ by no
        more; levels, and yes and no, where they are the same.

    Returns
    -------
    ShapleyValues

    Raises
    ------
    InvalidInputError
        For more than 16 columns, and for a reach outside 0 … 1.

    Examples
    --------
    The formula uses a alone, but b says the same:

    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a"], [2.0], ["a", "b"])
    >>> rows = [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    >>> n2p.explain.cohort_shapley(poly, [[1.0, 1.0]], rows).values[0, :, 0]
    array([0.5, 0.5])
    >>> n2p.explain.shapley(poly, [[1.0, 1.0]], rows).values[0, :, 0]
    array([1., 0.])
    """
    rows = read_rows(poly, X, "X")
    reference = read_population(poly, background, "background")
    warn_once(poly, rows, reference)
    form = separable(poly)
    chosen = range(len(form.players)) if columns is None else choose_players(form, [*columns])
    _check(len(chosen), reach)
    data, several = player_values(form, rows), [len(places) > 1 for places in form.columns]
    alike = _Alike(player_values(form, reference), np.array(several), reach)
    outputs, own = form.predict(reference), form.predict(rows)
    rest = len(chosen) < len(form.players)
    found = []
    for x, y in zip(data, own, strict=True):
        worth = _game(alike, x, chosen, outputs, y)
        others = [(y - worth[-1])[None]] if rest else []
        worth[-1] = worth[-1] if rest else y
        found.append(np.concatenate([_values(worth, len(chosen)), *others]))
    names = tuple(form.players[j] for j in chosen) + (OTHERS,) * rest
    shown = data[:, list(chosen)]
    return ShapleyValues(
        np.stack(found),
        outputs.mean(axis=0),
        np.column_stack([shown, np.zeros(len(rows))]) if rest else shown,
        names,
        poly.output_names,
        kind="cohort",
    )


class _Alike:
    """Tells which rows (m, p) of one number per column are like another, column by column."""

    def __init__(self, rows: FloatArray, is_factor: BoolArray, reach: float) -> None:
        self.rows, self.is_factor, self.reach = rows, is_factor, reach
        self.ordered = np.sort(rows, axis=0)
        self.ranks = np.column_stack(
            [_rank(self.ordered[:, j], rows[:, j]) for j in range(rows.shape[1])]
        )

    def to(self, x: FloatArray) -> BoolArray:
        """Compare with one row (p,): array (m, p)."""
        own = np.array([_rank(self.ordered[:, j], x[j : j + 1])[0] for j in range(len(x))])
        # Rounding must not part ranks that are just within reach.
        near = np.abs(self.ranks - own) <= self.reach + 1e-12
        same: BoolArray = self.rows == x
        found: BoolArray = same | (near & ~self.is_factor)
        return found


def _rank(ordered: FloatArray, x: FloatArray) -> FloatArray:
    """Give the share of the values below x (n,), those equal to it counted half."""
    below, upto = (np.searchsorted(ordered, x, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2.0 * len(ordered)))


def _game(
    alike: _Alike, x: FloatArray, chosen: Sequence[int], outputs: FloatArray, own: FloatArray
) -> FloatArray:
    """Give the worth (2^players, n_outputs) of every coalition: means over the cohorts."""
    n = len(chosen)
    codes: IntArray = alike.to(x)[:, list(chosen)] @ (1 << np.arange(n))
    counts: FloatArray = np.bincount(codes, minlength=2**n).astype(np.float64)
    columns = [np.bincount(codes, y, minlength=2**n) for y in outputs.T]
    sums: FloatArray = np.stack(columns, axis=1).astype(np.float64)
    if not (alike.rows == x).all(axis=1).any():
        counts[-1] += 1.0
        sums[-1] += own
    worth = _over_supersets(sums, n) / _over_supersets(counts[:, None], n)
    worth[0] = outputs.mean(axis=0)
    return worth


def _over_supersets(values: FloatArray, n: int) -> FloatArray:
    """Sum (2^n, k) over all supersets of each set of bits."""
    out = values.reshape(*(2,) * n, -1).copy()
    for axis in range(n):
        # Along an axis: without the bit, with it.
        without = (slice(None),) * axis + (0,)
        out[without] += out[(slice(None),) * axis + (1,)]
    return out.reshape(values.shape)


def _values(worth: FloatArray, n: int) -> FloatArray:
    """Compute the Shapley values (n, k) of a game (2^n, k) that is given in full."""
    sets = np.arange(2**n)
    size = np.array([int(s).bit_count() for s in sets])
    weight = np.array([1.0 / (n * comb(n - 1, s)) for s in range(n)])
    out = np.empty((n, worth.shape[1]))
    for player in range(n):
        without = sets[(sets >> player) & 1 == 0]
        gain = worth[without | (1 << player)] - worth[without]
        out[player] = weight[size[without]] @ gain
    return out


def _check(n_players: int, reach: float) -> None:
    if n_players > MOST_PLAYERS:
        raise InvalidInputError(
            f"All coalitions of {n_players} columns are too many to look at.",
            where="columns",
            expected=f"at most {MOST_PLAYERS} columns",
            found=str(n_players),
            remedy='ask about some: columns=["age", …]; explain.importance ranks them',
        )
    is_number = isinstance(reach, int | float | np.number) and not isinstance(reach, bool)
    if not is_number or not 0.0 <= float(reach) <= 1.0:
        raise InvalidInputError(
            "The reach of a cohort is a share of the rows.",
            where="reach",
            expected="a number from 0 to 1",
            found=repr(reach),
        )
