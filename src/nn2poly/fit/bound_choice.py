"""How far numbers are cut: by what a fit says of rows that it has not seen.

The range of the rows comes first and wins ties: where a formula is cut, it shows no effect of the
column. All columns are cut alike while that lowers the error of rows that are left out (a table of
62 ratios is harmed by 62 tails of which none shows alone), and then each side of each column by
itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded, Listed, Terms
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.fit.asked_rows import Answered
from nn2poly.fit.basis import Group, design, orthonormal_basis, term_groups
from nn2poly.fit.input_bounds import Ends, column_bounds, column_ends, numbers, with_bounds
from nn2poly.fit.regression import Moments
from nn2poly.fit.ridge import STRENGTHS, Fit, Judged, Ridge, left_out_together, shrinkage
from nn2poly.inputs import Inputs
from nn2poly.rows.fit_rows import stacked
from nn2poly.sampling import evenly

# Shares of the rows beyond each bound: first of all columns, then further of single sides.
SHARES, FURTHER = (0.0, 0.001, 0.005, 0.02, 0.05), (0.1, 0.15)
# Rows of the sample in a trial (4,000 choose the same on California, ReLU, and bike, tanh, seed 0),
# rows that were asked for, and what these weigh together.
ROWS, ASKED_ROWS, ASKED_WEIGHT = 2_000, 500, 0.1
# Terms up to which a trial has all of an order; of higher ones it has the powers of numbers: some
# dozen trials then take less than a second.
TERMS = 100
# Features up to which cuts are tried, and sides of columns: those with the heaviest tails.
FEATURES, SIDES = 500, 40
# What a cut must take away of the error: one of all columns, and one of a side; it must also be
# more than one standard error, and than `PRICE` of the variance for each row that is cut. With two
# standard errors, orders 1 and 2 lose up to .02 of R² on most of ten tables of 100 to 4,000 rows
# and gain .05 on one, California of 300 rows. A price of .05 loses up to .02 and gains nothing.
GAIN_OF_ALL, GAIN, PRICE = 0.02, 0.003, 0.02


def chosen_bounds(inputs: Inputs, real: Answered, asked: Answered, order: int) -> Inputs:
    """Give every number its bounds.

    Parameters
    ----------
    inputs
        Without bounds but those of the functions that columns enter through.
    real, asked
        Rows of the sample, and others.
    order
        Of the formula that the bounds are for.
    """
    table = _Table(inputs, real)
    if not table.numbers:
        return inputs
    if inputs.n_features > FEATURES:
        return with_bounds(inputs, table.common(SHARES[1]))
    trial = _start(table, asked, order)
    for share in SHARES[1:]:
        tried = trial.at(table.common(share))
        if tried.beats(trial, GAIN_OF_ALL):
            trial = tried
    trial = trial.settled()
    for number, side in table.sides():
        trial = _moved(trial, number, side)
    return with_bounds(inputs, trial.ends)


@dataclass(frozen=True)
class _Table:
    """The columns that may be cut, and the rows that their quantiles come from."""

    inputs: Inputs
    real: Answered

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The numbers that vary: the feature of each, by its place among the columns."""
        X = self.real.rows.X
        return {c: j for c, j in numbers(self.inputs) if X[:, j].min() < X[:, j].max()}

    @cached_property
    def values(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Each number (n,), sorted, with the weights of its rows (n,)."""
        rows, found = self.real.rows, {}
        for number, feature in self.numbers.items():
            order = np.argsort(rows.X[:, feature], kind="stable")
            found[number] = rows.X[order, feature], rows.weights[order]
        return found

    def ends(self, number: int, share: float) -> Ends:
        """Give the bounds of one column with a share of the rows beyond each."""
        x, weights = self.values[number]
        return column_ends(x, share, weights)

    def common(self, share: float) -> dict[int, Ends]:
        """Give the bounds of all columns: their range, where tails are heavy those of a share."""
        found = {n: column_bounds(x, share, w) for n, (x, w) in self.values.items()}
        return {number: ends for number, ends in found.items() if ends is not None}

    def tails(self, number: int, share: float) -> Ends:
        """Give how far both tails reach, in distances between two quantiles."""
        (low, high), (first, last) = self.ends(number, 0.0), self.ends(number, share)
        width = max(last - first, 1e-300)
        return (first - low) / width, (high - last) / width

    def sides(self) -> list[tuple[int, int]]:
        """List sides of columns to cut by themselves, those that reach furthest first."""
        found = [
            (-tail, number, side)
            for number in self.numbers
            for side, tail in enumerate(self.tails(number, SHARES[-1]))
        ]
        return [(number, side) for _, number, side in sorted(found)[:SIDES]]

    def cut_by(self, number: int, ends: Ends) -> float:
        """Give the share of the rows that bounds of a column cut."""
        x, weights = self.values[number]
        return float(np.average((x < ends[0]) | (x > ends[1]), weights=weights))


@dataclass(frozen=True)
class _Trial:
    """A fit with bounds.

    Parameters
    ----------
    table
        The columns.
    X, weights
        Rows to fit.
    blocks, n_real
        Those of `Judged`, and of how many rows: the first ones.
    target
        Array (n, k): their outputs, around the mean, over their deviation.
    terms
        Which products of polynomials there are.
    of_feature
        The terms of each feature that may be cut, from `_with_feature`.
    ends
        The bounds of each number.
    values, matrix
        Arrays (p, D + 1, n) and (n, n_terms): the polynomials of features, and the terms.
    strengths
        Those that are tried.
    """

    table: _Table
    X: FloatArray
    weights: FloatArray
    blocks: list[IntArray]
    n_real: int
    target: FloatArray
    terms: Terms
    of_feature: dict[int, tuple[IntArray, Terms, list[Group]]]
    ends: dict[int, Ends]
    values: FloatArray
    matrix: FloatArray
    strengths: FloatArray

    @cached_property
    def fit(self) -> Fit:
        """The fit, and what it leaves of each row of the sample without it."""
        root = np.sqrt(self.weights)[:, None]
        rows, target = self.matrix * root, self.target * root
        square, weight = (target**2).sum(axis=0), float(self.weights.sum())
        sums = Moments(rows.T @ rows, rows.T @ target, square, weight)
        unit = np.ones(target.shape[1])
        n = self.n_real
        judged = Judged(self.matrix[:n], self.target[:n], self.weights[:n], self.blocks, unit)
        ridge = Ridge.of_moments(sums, shrinkage(self.terms.orders()))
        return ridge.best(judged, self.strengths)

    def beats(self, other: _Trial, gain: float) -> bool:
        """Tell whether rows that are left out gain enough by these bounds."""
        gained = other.fit.errors - self.fit.errors
        cut = sum(
            self.table.cut_by(number, self.ends[number]) - self.table.cut_by(number, ends)
            for number, ends in other.ends.items()
            if ends != self.ends[number]
        )
        chance = float(gained.std()) / sqrt(len(gained))
        return bool(gained.mean() > max(gain * other.fit.error, chance, PRICE * cut))

    def settled(self) -> _Trial:
        """Keep the strength that was found."""
        return replace(self, strengths=np.array([self.fit.strength]))

    def at(self, ends: dict[int, Ends]) -> _Trial:
        """Give the same trial with other bounds of some columns."""
        values, matrix = self.values.copy(), self.matrix.copy()
        changed = {c: pair for c, pair in ends.items() if pair != self.ends.get(c)}
        coordinates = with_bounds(self.table.inputs, changed).coordinates
        features = [self.table.numbers[number] for number in changed]
        for j in features:
            x = coordinates[j].function.values(self.X[:, j])[:, None]
            values[j] = _polynomials(x, self.weights, self.terms.max_order)[0]
        for j in features:
            places, terms, groups = self.of_feature[j]
            matrix[:, places] = design(terms, values, groups)
        return replace(self, ends={**self.ends, **changed}, values=values, matrix=matrix)


def _with_feature(terms: Terms, feature: int) -> tuple[IntArray, Terms, list[Group]]:
    """Give the places of the terms of a feature, these terms, and the groups of their design."""
    found = [place for place, term in enumerate(terms) if feature in term]
    places = np.array(found, dtype=np.intp)
    chosen = terms.at(places)
    return places, chosen, term_groups(chosen)


def _start(table: _Table, asked: Answered, order: int) -> _Trial:
    """Fit with the range of every number."""
    real = table.real.some(evenly(len(table.real.rows), ROWS))
    asked = asked.some(evenly(len(asked.rows), ASKED_ROWS))
    total = ASKED_WEIGHT * real.rows.weights.sum() / max(asked.rows.weights.sum(), 1e-300)
    light = replace(asked.rows, weights=total * asked.rows.weights)
    rows, truth = stacked([real.rows, light]), np.concatenate([real.truth, asked.truth])
    target = (truth - real.truth.mean(axis=0)) / np.maximum(real.truth.std(axis=0), 1e-300)
    terms, ends = _terms(table.inputs, order), table.common(0.0)
    x = with_bounds(table.inputs, ends).curved(rows.X)
    values = _polynomials(x, rows.weights, terms.max_order)
    matrix = design(terms, values)
    return _Trial(
        table,
        rows.X,
        rows.weights,
        left_out_together(real.rows.number),
        len(real.rows),
        target,
        terms,
        {j: _with_feature(terms, j) for j in table.numbers.values()},
        ends,
        values,
        matrix,
        STRENGTHS[::2],
    )


def _moved(trial: _Trial, number: int, side: int) -> _Trial:
    """Move one bound: to the better of two places, and on from there while that helps."""
    found = [trial.table.ends(number, share)[side] for share in (*SHARES, *FURTHER)]
    steps = list(dict.fromkeys(found))
    now = trial.ends[number][side]
    tried = {now: trial}

    def error(end: float) -> float:
        if end not in tried:
            low, high = trial.ends[number]
            pair = (end, high) if side == 0 else (low, end)
            if not pair[0] < pair[1]:
                return inf
            tried[end] = trial.at({number: pair})
        return tried[end].fit.error

    best = min((now, found[2], found[4]), key=error)
    while best in steps:
        place = steps.index(best)
        nearest = min(steps[max(place - 1, 0) : place + 2], key=error)
        if nearest == best:
            break
        best = nearest
    return tried[best] if tried[best].beats(trial, GAIN) else trial


def _polynomials(x: FloatArray, weights: FloatArray, order: int) -> FloatArray:
    """Evaluate orthonormal polynomials of columns (n, p): an array (p, order + 1, n).

    Those of a degree that a column does not carry are 0.
    """
    center, scale = x.mean(axis=0), x.std(axis=0)
    # What varies by rounding is flat.
    z = (x - center) / np.where(scale > 1e-12 * np.abs(center), scale, np.inf)
    return orthonormal_basis(z, weights, order).values(z)


def _terms(inputs: Inputs, order: int) -> Terms:
    """Choose the terms of a trial: those of the order, or of a lower one and powers of numbers."""
    p, low = inputs.n_features, order
    while low > 1 and count_terms(p, low) > TERMS:
        low -= 1
    powers = {(j,) * degree for degree in range(low + 1, order + 1) for _, j in numbers(inputs)}
    return Listed.of(list({*Graded(p, low), *powers}), p)
