"""Refit the written terms to the network's own outputs, without a cliff.

A calibration follows the network layer by layer and never sees the terms. Once they are written
out, a ridge regression of the outputs on the terms adds what the layers could not. It works in
products of orthonormal polynomials (`basis`), shrinks towards what is known so far, and chooses
its strength on rows that it does not fit:

- order after order, the fit of order d is shrunk towards that of order d - 1, so that a higher
  order is never worse on the rows kept for choices;
- at the last order it may be shrunk towards the calibrated coefficients instead, which is what
  helps where rows are few;
- where rows are few for each term, the network is asked for more: rows of the sample with some
  columns taken from other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nn2poly.algebra.monomials import count_terms
from nn2poly.algebra.terms import Graded, Listed, Terms, collect
from nn2poly.arrays import BoolArray, FloatArray, IntArray
from nn2poly.conversion.basis import Basis, design, orthonormal_basis
from nn2poly.conversion.fit_rows import FitRows
from nn2poly.conversion.problem import Problem
from nn2poly.errors import InvalidInputError
from nn2poly.formula.fold import fold_terms
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Inputs

# Terms up to which there is a refit: a Gram matrix of 128 MB, solved in about a second.
MAX_TERMS = 4_000
# Terms up to which indicators are folded to see whether fewer are left.
MAX_FOLDED = 200_000
# Up to so many rows every fold is left out in turn, else the first alone.
ALL_FOLDS_ROWS, ALL_FOLDS_TERMS = 2_000, 600
# Strengths tried, relative to orthonormal terms; 0 as a last one is what there was before.
STRENGTHS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Each further order is shrunk so many times more.
GROWTH = 3.0
# Rows for each term below which the network is asked for more; how many of the columns of such a
# row come from elsewhere (design: 0.1), and what it weighs.
ROWS_PER_TERM, MIXED, MIXED_WEIGHT = 10, 0.1, 0.3
# What rows with all columns shuffled weigh together, relative to the sample: with .02 order 4 on
# California (seeds 0 and 1) keeps an R² of .9 on such rows, where it has −6 without, and loses
# .002 on rows as they are. A quarter of the rows is enough for that.
SHUFFLED_WEIGHT, SHUFFLED_ROWS = 0.02, 4
# What a row of a classifier still weighs whose label is certain (design: 0.01).
CERTAIN, LOST = 0.01, 0.002
# The refit stays if it lowers the error on rows left out by so much of it, and of the variance.
GAIN, ROUNDING = 0.01, 1e-9
# Rows of the design matrix that are worked on at a time, by their bytes.
BATCH_BYTES = 2**26


@dataclass(frozen=True)
class _Moments:
    """Weighted moments of the terms with themselves and with the outputs."""

    gram: FloatArray
    cross: FloatArray
    square: FloatArray
    weight: float

    def __sub__(self, other: _Moments) -> _Moments:
        return _Moments(
            self.gram - other.gram,
            self.cross - other.cross,
            self.square - other.square,
            self.weight - other.weight,
        )

    def __add__(self, other: _Moments) -> _Moments:
        return _Moments(
            self.gram + other.gram,
            self.cross + other.cross,
            self.square + other.square,
            self.weight + other.weight,
        )

    def scaled(self, factor: float) -> _Moments:
        """Multiply all weights."""
        return _Moments(
            factor * self.gram, factor * self.cross, factor * self.square, factor * self.weight
        )

    def error(self, c: FloatArray, unit: FloatArray) -> float:
        """Sum the squared errors of coefficients (n, k) of the first n terms, in units (k,)."""
        n = len(c)
        gained = (c * (self.gram[:n, :n] @ c - 2.0 * self.cross[:n])).sum(axis=0)
        return float((np.maximum(self.square + gained, 0.0) / unit).sum())


@dataclass(frozen=True)
class _Choice:
    """How one order is fitted: towards what, and how strongly; no strength leaves it as it is."""

    calibrated: bool
    strength: float | None


# The calibrated polynomial as it is.
UNCHANGED = _Choice(calibrated=True, strength=None)


def refit_terms(poly: Polynomial, problem: Problem) -> Polynomial:
    """Refit the coefficients to the network's outputs, where that helps on rows left out.

    Parameters
    ----------
    poly
        The polynomial, with all divisors of its terms.

    Returns
    -------
    Polynomial
        The same one when there are too many terms or too few rows to choose on, or when nothing
        is gained.
    """
    rows = problem.fit_rows
    if poly.n_terms > MAX_TERMS or poly.max_order < 1 or len(rows) < 2 * len(np.unique(rows.fold)):
        return poly
    z = poly.inputs.to_working(rows.X)
    basis = orthonormal_basis(z, rows.weights, poly.max_order)
    terms = poly.terms.at(basis.carried(poly.terms))
    prior = _aligned(terms, *basis.products(poly.terms, poly.coefficients))
    fit = _Fit(poly.inputs, basis, terms, problem)
    found = fit.best(rows, prior)
    if found is None:
        return poly
    new_terms, values = basis.powers(terms, found)
    return _with_terms(poly, new_terms, values)


def fit_terms(problem: Problem, max_order: int) -> Polynomial:
    """Fit all terms up to an order to the network's outputs, without a calibration before.

    Parameters
    ----------
    max_order
        Total order Q.

    Returns
    -------
    Polynomial
        In the inputs of the problem, which may be functions of the columns.
    """
    inputs, rows = problem.folded_inputs, problem.fit_rows
    terms = all_terms(problem, max_order)
    if len(terms) > MAX_TERMS:
        raise _too_many(len(terms), max_order)
    few = len(rows) < 2 * max(2, len(np.unique(rows.fold)))
    if few or not np.all(np.isfinite(problem.fit_truth)):
        raise _unfit(len(rows))
    basis = orthonormal_basis(inputs.to_working(rows.X), rows.weights, max_order)
    terms = terms.at(basis.carried(terms))
    fit = _Fit(inputs, basis, terms, problem, calibrated=False)
    found = fit.best(rows, np.zeros((len(terms), problem.network.n_outputs)))
    if found is None:
        raise _unfit(len(rows))
    powers, values = basis.powers(terms, found)
    full = len(powers) == count_terms(inputs.n_features, max_order)
    kept: Terms = Graded(inputs.n_features, max_order) if full else powers
    return Polynomial(values, terms=kept, inputs=inputs, outputs=problem.network.outputs)


def all_terms(problem: Problem, max_order: int) -> Terms:
    """Give all terms up to an order that do not vanish."""
    inputs = problem.network.inputs
    count = count_terms(inputs.n_features, max_order)
    terms: Terms = Graded(inputs.n_features, max_order)
    groups = inputs.indicators() if problem.folded else []
    if groups and count <= MAX_FOLDED:
        terms, _ = fold_terms(terms, np.zeros((count, 1)), groups, problem.never)
    return terms


def _too_many(count: int, max_order: int) -> InvalidInputError:
    return InvalidInputError(
        "A formula with transforms is fitted term by term, and has too many.",
        where="max_order",
        expected=f"at most {MAX_TERMS:,} terms",
        found=f"{count:,} of order {max_order}",
        remedy="lower max_order, or give a budget: max_terms=300",
    )


def _unfit(count: int) -> InvalidInputError:
    return InvalidInputError(
        "The terms cannot be fitted to this sample.",
        where="data",
        expected="rows, hundreds if possible, on which the network's outputs are finite",
        found=f"{count:,} rows to fit",
        remedy="pass more rows, check their units, or convert without transforms",
    )


def _near_decision(rows: FitRows, problem: Problem) -> FitRows:
    """Weigh rows of a classifier more where its label is decided."""
    p = problem.network.outputs.probabilities(problem.fit_truth)
    near = (p * (1.0 - p)).sum(axis=1) + CERTAIN
    return replace(rows, weights=rows.weights * near / near.mean())


def _aligned(terms: Terms, found: Listed, values: FloatArray) -> FloatArray:
    """Put coefficients in the order of the terms; others are left out."""
    out = np.zeros((len(terms), values.shape[1]))
    parts = [(rows, np.zeros((len(rows), values.shape[1]))) for _, rows in terms.by_degree()]
    parts += [(rows, values[here]) for here, rows in found.by_degree()]
    order = max(terms.max_order, found.max_order)
    union, summed = collect(parts, terms.n_features, values.shape[1], order)
    if len(union) == len(terms):
        return summed
    place = {term: k for k, term in enumerate(union)}
    for k, term in enumerate(terms):
        out[k] = summed[place[term]]
    return out


def _with_terms(poly: Polynomial, terms: Listed, values: FloatArray) -> Polynomial:
    """Give the polynomial other terms and coefficients; all of an order are graded again."""
    full = len(terms) == count_terms(poly.n_features, poly.max_order)
    kept: Terms = Graded(poly.n_features, poly.max_order) if full else terms
    return replace(poly, terms=kept, coefficients=values, card=None, deviations=None)


@dataclass(frozen=True)
class _Fit:
    """A regression of the outputs on the products of a basis; it may know a calibration."""

    inputs: Inputs
    basis: Basis
    terms: Terms
    problem: Problem
    calibrated: bool = True

    def best(self, rows: FitRows, prior: FloatArray) -> FloatArray | None:
        """Fit all rows; of a classifier also near the decision, and keep what is closer."""
        found = self.solve(rows, prior)
        if self.problem.network.link == "identity":
            return found
        near = self.solve(_near_decision(rows, self.problem), prior)
        return self.closer(rows, found, near, prior)

    def solve(self, rows: FitRows, prior: FloatArray) -> FloatArray | None:
        """Choose strengths on rows left out, and fit all rows: coefficients (n_terms, k)."""
        truth = self.problem.fit_truth
        if not np.all(np.isfinite(truth)):
            return None
        folds = self._folds(rows)
        parts = [self._moments(rows.some(rows.fold == k), truth[rows.fold == k]) for k in folds]
        rest = ~np.isin(rows.fold, folds)
        whole = sum(parts[1:], start=parts[0])
        if rest.any():
            whole = whole + self._moments(rows.some(rest), truth[rest])
        unit = _variances(whole)
        pairs, asked = [], []
        for k, held in zip(folds, parts, strict=True):
            inside, outside = rows.some(rows.fold != k), rows.some(rows.fold == k)
            asked.append((self._asked(inside), self._shuffled(outside)))
            pairs.append((whole - held + asked[-1][0], held + asked[-1][1]))
        choices = self._choose(pairs, prior, unit)
        if choices[-1] == UNCHANGED:
            return None
        return self._fitted(whole + asked[0][0] + asked[0][1], prior, choices)

    def closer(
        self,
        rows: FitRows,
        one: FloatArray | None,
        other: FloatArray | None,
        prior: FloatArray,
    ) -> FloatArray | None:
        """Choose the fit with the closer probabilities on the rows kept for choices.

        The other one must not lose more than `LOST` of R² for it.
        """
        outputs, held = self.problem.network.outputs, rows.fold == rows.fold.min()
        raw = self.problem.fit_truth[held]
        matrix = design(self.terms, self.basis.values(self.inputs.to_working(rows.X[held])))
        found = [matrix @ (prior if c is None else c) for c in (one, other)]
        truth = outputs.probabilities(raw)
        apart = [np.abs(outputs.probabilities(guess) - truth).mean() for guess in found]
        left = [np.mean(((guess - raw) / raw.std(axis=0)) ** 2) for guess in found]
        return other if apart[1] < apart[0] and left[1] < left[0] + LOST else one

    def _asked(self, rows: FitRows) -> _Moments:
        """Sum the moments of rows that only the network has seen."""
        return self._mixed_moments(rows) + self._shuffled(rows)

    def _shuffled(self, rows: FitRows) -> _Moments:
        """Shuffle every column by itself: rows that explanations look at, within the bounds."""
        shuffled = shuffled_rows(rows, self.inputs)
        truth = self.problem.truth(shuffled.X)
        fine = np.all(np.isfinite(truth), axis=1)
        weight = SHUFFLED_WEIGHT * len(rows) / max(1, len(shuffled))
        return self._moments(shuffled.some(fine), truth[fine]).scaled(weight)

    def _folds(self, rows: FitRows) -> list[int]:
        """List the folds that are left out in turn."""
        found: list[int] = np.unique(rows.fold).tolist()
        many = len(rows) > ALL_FOLDS_ROWS or len(self.terms) > ALL_FOLDS_TERMS
        return found[:1] if many else found

    def _moments(self, rows: FitRows, truth: FloatArray) -> _Moments:
        n, k = len(self.terms), truth.shape[1]
        gram, cross = np.zeros((n, n)), np.zeros((n, k))
        step = max(256, BATCH_BYTES // (8 * n))
        for begin in range(0, len(rows), step):
            here = slice(begin, begin + step)
            matrix = design(self.terms, self.basis.values(self.inputs.to_working(rows.X[here])))
            # The same array on both sides: half the work of another one.
            root = np.sqrt(rows.weights[here, None])
            matrix = matrix * root
            gram += matrix.T @ matrix
            cross += matrix.T @ (root * truth[here])
        square = rows.weights @ truth**2
        return _Moments(gram, cross, square, float(rows.weights.sum()))

    def _mixed_moments(self, rows: FitRows) -> _Moments:
        """Ask the network for rows with some columns from other rows, where rows are few."""
        wanted = min(ROWS_PER_TERM * len(self.terms) - len(rows), 3 * len(rows))
        if wanted <= 0:
            return self._moments(rows.some(np.zeros(0, dtype=np.intp)), np.zeros((0, self._width)))
        mixed = mixed_rows(rows, wanted, self.inputs)
        truth = self.problem.truth(mixed.X)
        fine = np.all(np.isfinite(truth), axis=1)
        return self._moments(mixed.some(fine), truth[fine]).scaled(MIXED_WEIGHT)

    @property
    def _width(self) -> int:
        return self.problem.network.n_outputs

    def _choose(
        self, pairs: list[tuple[_Moments, _Moments]], prior: FloatArray, unit: FloatArray
    ) -> list[_Choice]:
        """Choose, order after order, what does best on the folds left out."""
        choices: list[_Choice] = []
        before = [np.zeros((0, prior.shape[1])) for _ in pairs]
        for order in range(self.terms.max_order + 1):
            tried: dict[_Choice, tuple[float, list[FloatArray]]] = {}
            for choice in self._candidates(order):
                fits = [
                    self._step(fitted, start, prior, order, choice)
                    for (fitted, _), start in zip(pairs, before, strict=True)
                ]
                errors = [h.error(c, unit) for (_, h), c in zip(pairs, fits, strict=True)]
                tried[choice] = sum(errors), fits
            best = min(tried, key=lambda choice: tried[choice][0])
            # What the calibration leaves may be rounding: it stays unless something is gained.
            if (
                UNCHANGED in tried
                and tried[best][0] > (1.0 - GAIN) * tried[UNCHANGED][0] - ROUNDING
            ):
                best = UNCHANGED
            choices.append(best)
            before = tried[best][1]
        return choices

    def _candidates(self, order: int) -> Iterator[_Choice]:
        yield _Choice(calibrated=False, strength=None if order else 0.0)
        for strength in STRENGTHS if order else ():
            yield _Choice(calibrated=False, strength=strength)
        if self.calibrated and order and order == self.terms.max_order:
            yield UNCHANGED
            for strength in STRENGTHS:
                yield _Choice(calibrated=True, strength=strength)

    def _fitted(self, moments: _Moments, prior: FloatArray, choices: list[_Choice]) -> FloatArray:
        found = np.zeros((0, prior.shape[1]))
        for order, choice in enumerate(choices):
            found = self._step(moments, found, prior, order, choice)
        return found

    def _step(
        self,
        moments: _Moments,
        before: FloatArray,
        prior: FloatArray,
        order: int,
        choice: _Choice,
    ) -> FloatArray:
        """Fit one order: coefficients (n, k) of the terms up to it."""
        n = self.terms.ends[order + 1]
        start = np.zeros((n, prior.shape[1]))
        start[: len(before)] = before
        if choice.calibrated:
            start = prior[:n]
        if choice.strength is None:
            return start
        gram, cross = moments.gram[:n, :n], moments.cross[:n]
        degrees = self.terms.orders()[:n]
        # The constant is free; each further order is shrunk more.
        penalty = np.where(degrees == 0, 0.0, GROWTH ** (degrees - 1.0))
        system: FloatArray = np.asarray(gram / moments.weight, dtype=np.float64)
        system[np.diag_indices(n)] += choice.strength * penalty + 1e-12
        found: FloatArray = start + np.linalg.solve(system, (cross - gram @ start) / moments.weight)
        return found


def _variances(moments: _Moments) -> FloatArray:
    """Give the variance of each output times the weight, from the constant term's moments."""
    mean = moments.cross[0] / moments.weight
    spread = moments.square - moments.weight * mean**2
    floor: FloatArray = 1e-12 * np.maximum(moments.square, 1e-300)
    result: FloatArray = np.maximum(spread, floor)
    return result


def shuffled_rows(rows: FitRows, inputs: Inputs) -> FitRows:
    """Take every column of each row from another row, held within the bounds."""
    rng = np.random.default_rng(len(rows))
    some = rows.some(np.arange(min(len(rows), max(1_000, len(rows) // SHUFFLED_ROWS))))
    X = some.X.copy()
    for places in inputs.places:
        order = rng.permutation(len(rows))[: len(some)]
        for place in places:
            X[:, place] = rows.X[order, place]
    return replace(some, X=inputs.held(X))


def mixed_rows(rows: FitRows, count: int, inputs: Inputs) -> FitRows:
    """Make rows of which each column comes from another row with a small chance.

    The indicators of a factor move together. The draw is the same for the same rows.
    """
    rng = np.random.default_rng(len(rows))
    base, other = (rng.integers(len(rows), size=count) for _ in range(2))
    X = rows.X[base]
    moved: BoolArray = rng.random((count, len(inputs.columns))) < MIXED
    for number, places in enumerate(inputs.places):
        some: IntArray = np.flatnonzero(moved[:, number])
        donors = rng.permutation(other)[: len(some)]
        for place in places:
            X[some, place] = rows.X[donors, place]
    return FitRows(X, rows.weights[base], rows.fold[base], rows.index[base])
