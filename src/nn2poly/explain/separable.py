"""A formula in separable form: Σ coefficient × Π factors, each factor of one player alone.

A *player* is a column of the user's table: a feature, or several that belong together (the 0/1
indicators of a factor's levels). A *factor* is a function of one player: a product of powers of
its features, times 1 where a condition on the player holds and 0 elsewhere. Polynomials, levels
and boxes are all sums of products of such factors, and closed forms need nothing of a factor but
its values on rows: games, ANOVA and dependence are written on this form alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.explain.factor_products import Products, Values, distinct, merged, row_codes
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs
from nn2poly.outputs import Outputs

# Where a factor is not 0, on raw rows (n, p): array (n,). Equal conditions must compare equal.
Condition = Callable[[FloatArray], BoolArray]


@dataclass(frozen=True)
class Interval:
    """The condition low <= x < high of one feature, in raw units.

    Examples
    --------
    >>> Interval(0, 1.0, 2.0)(np.array([[0.5], [1.0], [1.5], [2.0]]))
    array([False,  True,  True, False])
    """

    feature: int
    low: float = -np.inf
    high: float = np.inf

    def __call__(self, rows: FloatArray) -> BoolArray:
        """Tell where the condition holds on raw rows (n, p): array (n,)."""
        x = rows[:, self.feature]
        result: BoolArray = (self.low <= x) & (x < self.high)
        return result


@dataclass(frozen=True)
class Shown:
    """The condition that one of some levels of a factor is on, or that none of them is.

    Parameters
    ----------
    features
        The indicators of these levels.
    middles
        The raw value from which on each counts as on.
    holds
        False for none of them.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> Shown((0, 1), (0.5, 0.5))(rows), Shown((0, 1), (0.5, 0.5), holds=False)(rows)
    (array([ True, False]), array([False,  True]))
    """

    features: tuple[int, ...]
    middles: tuple[float, ...]
    holds: bool = True

    def __call__(self, rows: FloatArray) -> BoolArray:
        """Tell where the condition holds on raw rows (n, p): array (n,)."""
        on = (rows[:, self.features] >= np.array(self.middles)).any(axis=1)
        return np.asarray(on == self.holds)


@dataclass(frozen=True)
class Factor:
    """A function of one player.

    Parameters
    ----------
    player
        Its number.
    features
        The features multiplied, increasing, repeated for powers: (2, 2) is the square of the
        working coordinate of feature 2; () is 1.
    conditions
        The function is 0 where one of them does not hold.
    """

    player: int
    features: tuple[int, ...]
    conditions: frozenset[Condition] = frozenset()


@dataclass(frozen=True, eq=False)
class Separable:
    """A sum of products of factors of different players.

    Parameters
    ----------
    players, columns
        Their names, and the features of each.
    factors
        The different functions, player after player.
    terms
        The products of factors.
    coefficients
        Array (n_terms, n_outputs).
    inputs, outputs
        What goes in, in the coordinates that factors multiply, and what comes out.
    means
        Array (n_factors,): subtracted from each factor; see `centred`.
    """

    players: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    factors: tuple[Factor, ...]
    terms: Products
    coefficients: FloatArray
    inputs: Inputs
    outputs: Outputs
    means: FloatArray

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features that go in."""
        return self.inputs.feature_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of what comes out."""
        return self.outputs.names

    @cached_property
    def owners(self) -> IntArray:
        """The player of each factor, array (n_factors,)."""
        return np.array([factor.player for factor in self.factors], dtype=np.intp)

    @cached_property
    def seats(self) -> IntArray:
        """The player of each feature, array (p,)."""
        out = np.empty(len(self.feature_names), dtype=np.intp)
        for player, columns in enumerate(self.columns):
            out[list(columns)] = player
        return out

    def values(self, rows: FloatArray, chosen: Sequence[int] | None = None) -> FloatArray:
        """Evaluate the factors, or some of them, on raw rows (n, p): array (n_factors, n)."""
        factors = self.factors if chosen is None else [self.factors[i] for i in chosen]
        means = self.means if chosen is None else self.means[list(chosen)]
        out = _factor_values(factors, self.inputs.to_working(rows), rows)
        out -= means[:, None]
        return out

    def on(self, rows: FloatArray) -> Values:
        """Give the factors on raw rows (n, p) as a function of a slice of the rows."""
        return lambda here: self.values(rows[here])

    def predict(self, X: FloatArray) -> FloatArray:
        """Compute the raw outputs on raw rows (n, p): array (n, n_outputs)."""
        rows = np.asarray(X, dtype=np.float64)
        return self.terms.weigh(self.coefficients, self.on(rows), len(rows))

    def slopes(self, rows: FloatArray) -> tuple[IntArray, FloatArray]:
        """Differentiate the factors on raw rows (n, p), conditions held.

        Returns
        -------
        arrays (m, 2) and (m, n)
            Factors and the features that they depend on, and the derivatives per raw unit.
        """
        found = [
            (i, feature, factor.features.index(feature), factor.features.count(feature))
            for i, factor in enumerate(self.factors)
            for feature in sorted(set(factor.features))
        ]
        pairs = np.array([(i, j) for i, j, _, _ in found], dtype=np.intp).reshape(-1, 2)
        rest = [_without(self.factors[i], place) for i, _, place, _ in found]
        out = _factor_values(rest, self.inputs.to_working(rows), rows)
        out *= np.array([power for *_, power in found], dtype=np.float64).reshape(-1, 1)
        out *= self.inputs.slopes(rows).T[pairs[:, 1]]
        return pairs, out


def _without(factor: Factor, place: int) -> Factor:
    """Leave out one of the features that a factor multiplies."""
    return replace(factor, features=factor.features[:place] + factor.features[place + 1 :])


def _factor_values(factors: Sequence[Factor], z: FloatArray, rows: FloatArray) -> FloatArray:
    """Evaluate factors on rows (n, p), working and raw: array (n_factors, n)."""
    columns = np.ascontiguousarray(z.T)
    out = np.ones((len(factors), len(z)))
    by_degree, by_condition = defaultdict(list), defaultdict(list)
    for i, factor in enumerate(factors):
        by_degree[len(factor.features)].append(i)
        for condition in factor.conditions:
            by_condition[condition].append(i)
    for degree, places in by_degree.items():
        features = np.array([factors[i].features for i in places], dtype=np.intp)
        values = columns[features[:, 0]] if degree else np.ones((len(places), len(z)))
        for column in features.T[1:]:
            values *= columns[column]
        out[places] = values
    for condition, places in by_condition.items():
        out[places] *= condition(rows)
    return out


def of_polynomial(poly: Polynomial) -> Separable:
    """Bring a polynomial to separable form, every feature a player.

    Terms without any coefficient are left out.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial.from_terms(["a^2 b", "c"], [2.0, 3.0], ["a", "b", "c"])
    >>> [(f.player, f.features) for f in of_polynomial(poly).factors]
    [(0, (0, 0)), (1, (1,)), (2, (2,))]
    """
    parts = [
        part
        for here, rows in poly.terms.by_degree()
        for part in _patterns(rows, poly.coefficients[here])
    ]
    highest = max((int(powers.max(initial=0)) for _, powers, _ in parts), default=0)
    # Powers side by side: z_j, z_j², … are the functions j (highest + 1) + 1, 2, ….
    rows = [variables * (highest + 1) + powers for variables, powers, _ in parts]
    used, where = distinct(
        np.concatenate([np.empty(0, dtype=np.intp), *(part.ravel() for part in rows)]),
        len(poly.feature_names) * (highest + 1),
    )
    ends = np.cumsum([part.size for part in rows])
    numbered = [
        part.reshape(old.shape) for part, old in zip(np.split(where, ends), rows, strict=False)
    ]
    pairs = (divmod(code, highest + 1) for code in used.tolist())
    width = poly.coefficients.shape[1]
    terms, coefficients = merged(
        [np.empty((0, 0), dtype=np.intp), *numbered],
        [np.empty((0, width)), *(values for *_, values in parts)],
        len(used),
    )
    return Separable(
        tuple(poly.feature_names),
        tuple((j,) for j in range(len(poly.feature_names))),
        tuple(Factor(j, (j,) * power) for j, power in pairs),
        terms,
        coefficients,
        poly.inputs,
        poly.outputs,
        np.zeros(len(used)),
    )


def _patterns(
    rows: IntArray, values: FloatArray
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Group terms (n, degree) by exponents: variables (m, k), exponents (k,), coefficients."""
    kept = np.flatnonzero(values.any(axis=1))
    if len(kept) < len(rows):
        rows, values = rows[kept], values[kept]
    degree = rows.shape[1]
    # Whether a new variable begins, from the second place on. Its codes serve any degree: as the
    # bits of one integer they would wrap from degree 64 on.
    begins = rows[:, 1:] != rows[:, :-1]
    known, which = distinct(row_codes(begins, 2), 2 ** max(degree - 1, 0))
    # Small integers are sorted in linear time.
    order = np.argsort(which.astype(np.min_scalar_type(len(known))), kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(known)))
    for alike in np.split(order, ends[:-1]) if len(known) else ():
        first = [0, *(np.flatnonzero(begins[alike[0]]) + 1).tolist()][:degree]
        variables = rows[alike] if len(first) == degree else rows[alike][:, first]
        yield variables, np.diff([*first, degree]), values[alike]
