"""Average marginal effects: what one unit more of a feature does, over the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.derivatives import Jump, check_size, slopes
from nn2poly.explain.effort import check_effort
from nn2poly.explain.rewriting import cofactors
from nn2poly.explain.rows import checked_rows, warn_mixed
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import separable
from nn2poly.explain.summaries import how_many, shown
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import output_index, parse_term
from nn2poly.inputs.indicators import detect_indicators
from nn2poly.tables import Table

# Quantiles of the effect over the rows that a table gives (taste).
QUANTILES = (0.05, 0.5, 0.95)
# In fewer rows than this, features that exclude each other may do so by chance (taste).
FACTOR_ROWS = 10
NOTE = (
    "Effects on the raw outputs, per raw unit. The spread is over the rows of the data, not over "
    "repeated training."
)


@shown()
@dataclass(frozen=True, eq=False)
class MarginalEffects:
    """The effect of every feature at every row, and its average.

    Parameters
    ----------
    values
        Array (n, p, n_outputs).
    feature_names, output_names
        Of the polynomial.
    kinds
        One per feature: ``"slope"``; ``"0 → 1"`` for the difference between the two values of
        a binary feature; ``"'a' → this"`` against the first level of a factor, whose own
        effect is zero (``"reference"``).
    data
        Array (n, p): the rows, in raw units.
    """

    values: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    kinds: tuple[str, ...]
    data: FloatArray | None = None

    @property
    def mean(self) -> FloatArray:
        """Average marginal effects, array (p, n_outputs)."""
        result: FloatArray = self.values.mean(axis=0)
        return result

    @property
    def sd(self) -> FloatArray:
        """Standard deviation over the rows, array (p, n_outputs)."""
        result: FloatArray = self.values.std(axis=0)
        return result

    @property
    def positive(self) -> FloatArray:
        """Share of rows where the effect is positive, array (p, n_outputs)."""
        result: FloatArray = (self.values > 0).mean(axis=0)
        return result

    def quantile(self, q: float) -> FloatArray:
        """Quantile of the effect over the rows, array (p, n_outputs)."""
        return np.asarray(np.quantile(self.values, q, axis=0), dtype=np.float64)

    def table(self, n: int | None = None, *, output: int | str | None = None) -> Table:
        """List the features, largest average first.

        Parameters
        ----------
        n
            How many of each output; None for all.
        output
            Index or name of one output; None lists all, one after the other.
        """
        names = self.output_names
        chosen = range(len(names)) if output is None else [output_index(output, names)]
        count = how_many(n, len(self.feature_names))
        mean, sd, positive = self.mean, self.sd, self.positive
        low, median, high = (self.quantile(q) for q in QUANTILES)
        rows = [
            (
                *((names[o],) if len(names) > 1 else ()),
                self.feature_names[j],
                self.kinds[j],
                *(float(a[j, o]) for a in (mean, sd, low, median, high, positive)),
            )
            for o in chosen
            for j in np.argsort(-np.abs(mean[:, o]), kind="stable")[:count].tolist()
        ]
        columns = ("feature", "change", "AME", "sd", "5%", "median", "95%", "positive")
        return Table(
            f"Average marginal effects over {len(self.values):,} rows",
            ("output", *columns) if len(names) > 1 else columns,
            tuple(rows),
            note=NOTE,
        )


def marginal_effects(
    poly: Formula, X: Any, *, binary: str | bool | Iterable[Any] = "auto"
) -> MarginalEffects:
    """Compute the marginal effect of every feature at every row, and average them.

    A continuous feature's effect is the exact derivative; a binary one's is the difference
    between its two values with all else as in the row; a level of a one-hot factor is compared
    with the factor's first level, all other levels off.

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array, data frame or stream (n, p) in raw units: the population to average over, every
        row of it.
    binary
        ``"auto"``: the indicators that the polynomial's inputs know; where they know none,
        columns of X that hold 0 and 1 only, or only the two ends of the range that the
        conversion saw, and neighbours of which exactly one is high in each of 10 rows or more
        as the levels of one factor. False: derivatives for all. Or a list of features, and of
        lists of features (the levels of a factor, the reference first).

    Returns
    -------
    MarginalEffects

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["t^2", "t u"], [1.0, 3.0], ["t", "u"])
    >>> effects = marginal_effects(poly, [[1.0, 0.0], [2.0, 1.0], [5.0, 1.0]])
    >>> effects.mean[:, 0], effects.kinds
    (array([7.33333333, 8.        ]), ('slope', '0 → 1'))
    """
    rows = checked_rows(poly, X)
    warn_mixed(poly)  # a slope moves one column alone, away from the others
    form = separable(poly)
    check_size(form, len(rows), "The array of marginal effects")
    kinds = ["slope"] * len(poly.feature_names)
    groups, levels = _groups(poly, rows, binary)
    points = _points(rows, groups, levels)
    alone = [group for group in groups if len(_players(form, group)) == 1]
    values = slopes(form, rows, _jumps(form, points, alone))
    together = [group for group in groups if group not in alone]
    check_effort(
        # A rough estimate: what a term costs when it is taken apart, and then on each row.
        len(together) * form.coefficients.size * (200 + len(rows)),
        what=f"The effects of {len(together):,} factors whose levels are inputs of their own",
        remedy="pass fewer rows, or binary=False for slopes",
    )
    for group in together:
        _fill_group(form, rows, group, points, values)
    for group in groups:
        _name_kinds(form, group, levels, kinds)
    return MarginalEffects(values, poly.feature_names, poly.outputs.scale_names, tuple(kinds), rows)


def _players(form: Separable, group: tuple[int, ...]) -> list[int]:
    return sorted(set(form.seats[list(group)].tolist()))


def _n_settings(group: tuple[int, ...]) -> int:
    """Low and high of a binary feature; of a factor each level on, the reference first."""
    return max(2, len(group))


def _points(rows: FloatArray, groups: list[tuple[int, ...]], levels: FloatArray) -> FloatArray:
    """Give rows (s, p) in which every group takes its settings, one after the other."""
    count = max(map(_n_settings, groups), default=1)
    points = np.repeat(rows[:1], count, axis=0)
    for group in groups:
        low, high = levels[:, list(group)]
        on = np.eye(len(group), dtype=bool) if len(group) > 1 else np.array([[False], [True]])
        points[: len(on), list(group)] = np.where(on, high, low)
    return points


def _moved(group: tuple[int, ...]) -> tuple[int, ...]:
    return group if len(group) == 1 else group[1:]


def _jumps(form: Separable, points: FloatArray, groups: list[tuple[int, ...]]) -> list[Jump]:
    """Give the steps of all factors of the players that a group of features moves alone.

    A factor is a function of its player alone: all groups may move at once.
    """
    values = form.values(points)
    found = []
    for group in groups:
        (player,) = _players(form, group)
        own = np.flatnonzero(form.owners == player).tolist()
        for setting, feature in enumerate(_moved(group), start=1):
            steps = values[own, setting] - values[own, 0]
            found += [Jump(f, feature, step) for f, step in zip(own, steps.tolist(), strict=True)]
        if len(group) > 1:
            found += [Jump(f, group[0], 0.0) for f in own]
    return found


def _fill_group(
    form: Separable,
    rows: FloatArray,
    group: tuple[int, ...],
    points: FloatArray,
    values: FloatArray,
) -> None:
    """Write the differences of the levels of a factor that are players of their own."""
    parts = cofactors(form, _players(form, group))
    steps = parts.at(points[: _n_settings(group)])
    steps = steps[:, 1:] - steps[:, :1]
    values[:, list(group)] = 0.0
    for place in np.flatnonzero(steps.any(axis=1)).tolist():
        output = parts.cofactor(place).predict(rows)
        for j, step in zip(_moved(group), steps[place].tolist(), strict=True):
            values[:, j] += step * output


def _name_kinds(
    form: Separable, group: tuple[int, ...], levels: FloatArray, kinds: list[str]
) -> None:
    """Say what changes: a binary feature, or a level against the first one."""
    first = group[0]
    if len(group) == 1:
        low, high = levels[:, first]
        kinds[first] = f"{low:g} → {high:g}"
        return
    kinds[first] = "reference"
    for j in group[1:]:
        kinds[j] = f"{form.feature_names[first]!r} → this"


def _groups(
    poly: Formula, rows: FloatArray, binary: Any
) -> tuple[list[tuple[int, ...]], FloatArray]:
    """Give the features that jump, those of a factor together, and their two values (2, p)."""
    if binary is False:
        return [], np.zeros((2, rows.shape[1]))
    if isinstance(binary, str) and binary == "auto":
        inputs = detect_indicators(poly.inputs, rows)
        return inputs.indicators(), np.stack(inputs.ends())
    levels = np.stack([rows.min(axis=0), rows.max(axis=0)])
    known = poly.inputs.ends()
    same = np.all((rows == known[0]) | (rows == known[1]), axis=0)
    levels = np.where(same, np.stack(known), levels)
    return _given_groups(poly, rows, binary, levels), levels


def _given_groups(
    poly: Formula, rows: FloatArray, binary: Any, levels: FloatArray
) -> list[tuple[int, ...]]:
    if isinstance(binary, str) or not isinstance(binary, Iterable):
        raise InvalidInputError(
            "binary must say which features are binary.",
            where="binary",
            expected='"auto", False, or a list of features (or of lists: levels of a factor)',
            found=repr(binary),
        )
    lists = [[g] if isinstance(g, str | int | np.integer) else list(g) for g in binary]
    # One by one: a term's indices would come back sorted, and the first level is the reference.
    groups = [tuple(parse_term((f,), poly.feature_names)[0] for f in group) for group in lists]
    every = [j for group in groups for j in group]
    if repeated := sorted({poly.feature_names[j] for j in every if every.count(j) > 1}):
        raise InvalidInputError(
            "A feature is named twice.", where="binary", found=", ".join(map(repr, repeated))
        )
    low, high = levels
    for j in every:
        if not (low[j] < high[j] and np.all((rows[:, j] == low[j]) | (rows[:, j] == high[j]))):
            raise InvalidInputError(
                f"The feature {poly.feature_names[j]!r} is not binary in the data.",
                where="binary",
                expected="two different values",
                found=f"{len(np.unique(rows[:, j])):,} of them",
                remedy="leave it out of binary, or pass binary=False",
            )
    return groups
