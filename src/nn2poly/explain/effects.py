"""Average marginal effects: what one unit more of a feature does, over the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.derivatives import check_room, checked_rows, derivative, evaluate
from nn2poly.explain.restriction import contrast
from nn2poly.explain.summaries import how_many
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.terms import output_index, parse_term
from nn2poly.tables import Table

# Quantiles of the effect over the rows that a table gives.
QUANTILES = (0.05, 0.5, 0.95)
# In fewer rows than this, features that exclude each other may do so by chance.
FACTOR_ROWS = 10
NOTE = (
    "Effects on the raw outputs, per raw unit. The spread is over the rows of the data, not over "
    "repeated training."
)


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

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def marginal_effects(
    poly: Polynomial, X: Any, *, binary: str | bool | Iterable[Any] = "auto"
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
        ``"auto"``: columns of X that hold 0 and 1 only, or only the two ends of the range that
        the conversion saw; neighbours of which exactly one is high in each of 10 rows or more,
        every one of them somewhere, and that share no term, are levels of one factor. False:
        derivatives for all. Or a list of features, and of lists of features (the levels of a
        factor, the reference first).

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
    check_room(poly, len(rows), "The array of marginal effects")
    levels = _levels(poly, rows)
    values = np.zeros((len(rows), poly.n_features, poly.n_outputs))
    kinds = ["slope"] * poly.n_features
    for group in _groups(poly, rows, binary, levels):
        _fill_group(poly, rows, group, levels, values, kinds)
    for j in np.flatnonzero(np.array(kinds) == "slope").tolist():
        values[:, j] = evaluate(derivative(poly, j), rows)
    return MarginalEffects(values, poly.feature_names, poly.output_names, tuple(kinds), rows)


def _fill_group(
    poly: Polynomial,
    rows: FloatArray,
    group: tuple[int, ...],
    levels: FloatArray,
    values: FloatArray,
    kinds: list[str],
) -> None:
    """Write the differences of one binary feature, or of the levels of a factor."""
    low, high = levels[0, list(group)], levels[1, list(group)]
    if len(group) == 1:
        (j,) = group
        values[:, j] = evaluate(contrast(poly, group, high, low), rows)
        kinds[j] = f"{low[0]:g} → {high[0]:g}"
        return
    reference = np.where(np.arange(len(group)) == 0, high, low)
    kinds[group[0]] = "reference"
    for place, j in enumerate(group[1:], start=1):
        to = np.where(np.arange(len(group)) == place, high, low)
        values[:, j] = evaluate(contrast(poly, group, to, reference), rows)
        kinds[j] = f"{poly.feature_names[group[0]]!r} → this"


def _levels(poly: Polynomial, rows: FloatArray) -> FloatArray:
    """Give the two values that each feature would have if it were binary: array (2, p)."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    indicator = np.all((rows == 0) | (rows == 1), axis=0)
    if poly.low is not None and poly.high is not None:
        ends = np.all((rows == poly.low) | (rows == poly.high), axis=0) & (poly.low < poly.high)
        low, high = np.where(ends, poly.low, low), np.where(ends, poly.high, high)
        indicator &= ~ends
    return np.stack([np.where(indicator, 0.0, low), np.where(indicator, 1.0, high)])


def _groups(
    poly: Polynomial, rows: FloatArray, binary: Any, levels: FloatArray
) -> list[tuple[int, ...]]:
    if binary is False:
        return []
    if isinstance(binary, str) and binary == "auto":
        is_binary = _is_binary(poly, rows, levels)
        columns = np.flatnonzero(is_binary).tolist()
        if len(rows) < FACTOR_ROWS:
            return [(j,) for j in columns]
        return _apart(poly, _one_hot_runs(rows == levels[1], columns))
    return _given_groups(poly, rows, binary, levels)


def _one_hot_runs(on: npt.NDArray[np.bool_], columns: list[int]) -> list[tuple[int, ...]]:
    """Group binary columns: neighbours of which exactly one is on in every row, else alone.

    A column that is never on excludes every other, which says nothing: it stays alone.
    """
    groups = []
    while columns:
        run, seen = [columns[0]], on[:, columns[0]].copy()
        for j in columns[1:]:
            if seen.all() or j != run[-1] + 1 or np.any(seen & on[:, j]) or not on[:, j].any():
                break
            run.append(j)
            seen |= on[:, j]
        groups.append(tuple(run) if seen.all() else (columns[0],))
        columns = columns[len(groups[-1]) :]
    return groups


def _apart(poly: Polynomial, groups: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Take groups apart of which some term holds two features: levels are never on together."""
    group_of = np.full(poly.n_features, -1)
    for place, group in enumerate(groups):
        group_of[list(group)] = place
    together = {-1}
    for here, variables in poly.terms.by_degree():
        used = variables[poly.coefficients[here].any(axis=1)]
        # Neighbours in sorted terms, for the features of a group are neighbours.
        left, right = used[:, :-1], used[:, 1:]
        shared = (left != right) & (group_of[left] == group_of[right])
        together.update(group_of[left[shared]].tolist())
    whole = [
        [group] if k not in together else [(j,) for j in group] for k, group in enumerate(groups)
    ]
    return [group for part in whole for group in part]


def _is_binary(poly: Polynomial, rows: FloatArray, levels: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell the columns with two values that mean levels, not a sample of a scale.

    Two values count when they are 0 and 1 or the ends of the range that the conversion saw; a
    single value only when the polynomial itself is written in indicators (z is 0 or 1 at the
    ends, and no term holds a square).
    """
    low, high = levels
    two = np.all((rows == low) | (rows == high), axis=0) & (low < high)
    both = two & np.any(rows == low, axis=0) & np.any(rows == high, axis=0)
    known = (low == 0) & (high == 1)
    folded = np.zeros(poly.n_features, dtype=bool)
    if poly.low is not None and poly.high is not None:
        known |= (low == poly.low) & (high == poly.high)
        folded = (poly.center == poly.low) & (poly.scale == poly.high - poly.low)
        folded[_squared(poly)] = False
    result: npt.NDArray[np.bool_] = (both & known) | (two & folded)
    return result


def _squared(poly: Polynomial) -> npt.NDArray[np.intp]:
    """List the features of which some term holds a square."""
    found = [np.empty(0, dtype=np.intp)]
    for _, variables in poly.terms.by_degree():
        if variables.shape[1] > 1:
            found.append(variables[:, 1:][variables[:, 1:] == variables[:, :-1]])
    return np.unique(np.concatenate(found))


def _given_groups(
    poly: Polynomial, rows: FloatArray, binary: Any, levels: FloatArray
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
