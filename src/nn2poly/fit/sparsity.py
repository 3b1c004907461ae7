"""`sparse_path`: how few terms carry the network: a budget of terms (`sparse_terms`) as a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.terms import Graded, Listed, Term
from nn2poly.arguments import check_count
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.assess.compared import comparable
from nn2poly.assess.fidelity import JudgingRows, make_card, mean_r2
from nn2poly.assess.interval import r2_interval
from nn2poly.cards import FidelityCard
from nn2poly.errors import InvalidInputError
from nn2poly.fit.asked_rows import Answered
from nn2poly.fit.growth import without
from nn2poly.fit.sparse_terms import MAX_DEGREE, Budget, listed
from nn2poly.formula.deviations import carried
from nn2poly.formula.evaluate import term_values
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import term_name
from nn2poly.inputs import check_row_labels, read_either
from nn2poly.network.oracle import Model
from nn2poly.rows.fit_rows import FitRows
from nn2poly.sampling import Keys, distinct, evenly, group_keys, ranked, row_keys
from nn2poly.tables import Table

# Rows that are used (taste).
MAX_ROWS = 4000
# Folds that are left out in turn, and rows below which none can be. Of 60 rows five folds leave 48
# to fit 15 terms to, and judge a path that is much worse than the one of all rows.
FOLDS, MIN_ROWS = 10, 10
# The path ends when the R² of rows left out has not risen for so many steps (taste).
PATIENCE = 10


@dataclass(frozen=True, eq=False)
class Judge:
    """Makes the cards of a path: the network, the rows, and what walks without them say of these.

    Parameters
    ----------
    network
        What the formula follows.
    rows
        All rows of the path.
    guesses
        By number of terms: arrays (n, n_outputs) of walks that did not see the rows.
    best
        The same of the best number of terms, chosen by other folds.
    """

    network: Model
    rows: JudgingRows
    guesses: tuple[FloatArray, ...]
    best: FloatArray | None

    def card(self, poly: Polynomial, n_terms: int, *, is_best: bool) -> FidelityCard:
        """Judge folds in place of a polynomial that was fitted to all rows, if there are some."""
        if self.best is None:
            return make_card(self.network, poly, self.rows.X, rows=self.rows, held_out=False)
        guess = self.best if is_best else self.guesses[n_terms - 1]
        return make_card(
            self.network,
            poly,
            self.rows.X,
            rows=self.rows,
            by_order=[guess],
            n_folds=FOLDS,
            held_out=True,
        )


@dataclass(frozen=True, eq=False)
class SparsePath:
    """Terms in the order in which they join, and the fidelity with each number of them.

    Parameters
    ----------
    poly
        The polynomial that the terms are taken from, with all divisors of its terms.
    chosen
        Places of the terms in ``poly``, the intercept first; each after all its divisors.
    r2
        Array (n,): R² against the network with 1, 2, …, n terms, on rows left out: of ten paths,
        each chosen and fitted without a tenth of the rows. The steps below are of all rows.
    coefficients
        Refitted coefficients of each step: entry k is (k + 1, n_outputs).
    best_r2
        R² of the best number of terms, each fold judged with the number that the other folds
        would choose: ``r2`` at its highest is what chance made high as well.
    best_interval
        The 95 % interval of ``best_r2`` on new rows; None where no rows could be left out.
    intervals
        The 95 % intervals of ``r2``, each by itself; empty where no rows could be left out.
    judge
        Makes the cards of the polynomials; None for polynomials without one.
    """

    poly: Polynomial
    chosen: npt.NDArray[np.intp]
    r2: FloatArray
    coefficients: tuple[FloatArray, ...]
    best_r2: float = float("nan")
    best_interval: tuple[float, float] | None = None
    intervals: tuple[tuple[float, float], ...] = ()
    judge: Judge | None = None

    @property
    def n_best(self) -> int:
        """Number of terms with the highest R² on rows left out."""
        return int(self.r2.argmax()) + 1

    def polynomial(self, n_terms: int | None = None) -> Polynomial:
        """Give the refitted polynomial of the first ``n_terms`` terms, by default the best.

        Its card is that of the folds of the path.
        """
        wanted = self.n_best if n_terms is None else check_count(n_terms, where="n_terms")
        n = min(wanted, len(self.chosen))
        order = np.argsort(self.chosen[:n])
        kept = self.chosen[:n][order]
        values = self.coefficients[n - 1][order]
        found = replace(self.poly.keep(kept), coefficients=values, deviations=None)
        if self.judge is None:
            return found
        return replace(found, card=self.judge.card(found, n, is_best=n == self.n_best))

    def smallest(self, r2: float) -> Polynomial:
        """Give the polynomial with the fewest terms whose R² on rows left out reaches ``r2``."""
        reached = np.flatnonzero(self.r2 >= r2)
        if not len(reached):
            raise InvalidInputError(
                f"No step of the path reaches an R² of {r2}.",
                found=f"at most {self.r2.max():.4f}, with {self.n_best} terms",
                remedy="ask for less, or make the path with a larger max_terms",
            )
        return self.polynomial(int(reached[0]) + 1)

    def table(self) -> Table:
        """List the steps: number of terms, the term that joins, R², its interval, the best."""
        names = [term_name(self.poly.terms[i], self.poly.inputs.written_names) for i in self.chosen]
        ends = self.intervals or ((None, None),) * len(self.r2)
        rows = tuple(
            (n, names[n - 1], float(r2), "best" if n == self.n_best else "", *interval)
            for n, (r2, interval) in enumerate(zip(self.r2, ends, strict=True), start=1)
        )
        title = f"Terms against fidelity, of {self.poly.n_terms:,} terms"
        best = self.best_interval
        note = "" if isnan(self.best_r2) else f"Best, judged by other folds: {self.best_r2:.4g}"
        note += f", 95 % interval {best[0]:.4g} to {best[1]:.4g}." if best else ""
        columns = ("terms", "joins", "held-out R2", "mark", "95 % from", "to")
        shown = rows if self.intervals else tuple(row[:4] for row in rows)
        return Table(title, columns if self.intervals else columns[:4], shown, note=note)

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def sparse_path(
    model: Any,
    poly: Polynomial,
    X: Any,
    max_terms: int = 30,
    *,
    groups: npt.ArrayLike | None = None,
    after: str | None = None,
) -> SparsePath:
    """Show how few terms carry the network: what ``convert(…, max_terms=n)`` does, for every n.

    Terms join where they explain most of what is left, each after all its divisors, and all of
    them are refitted to the network's outputs at each step. It is repeated without each tenth of
    the rows, and the R² of each number of terms is that on the rows that were left out; the path
    ends when it has not risen for 10 steps.

    Parameters
    ----------
    model
        Anything that `read_network` reads, or a function from rows to outputs.
    poly
        Its polynomial: the terms that may join, and the coordinates and bounds of its inputs.
    X
        Array or data frame (n, p) in raw units.
    max_terms
        Longest path.
    groups
        Array (n,): rows that belong together are left out together. Equal rows always are.
    after
        For a pipeline: the step after which the formula begins, as in `nn2poly.convert`; ``X``
        holds what that step gives.

    Returns
    -------
    SparsePath

    Examples
    --------
    >>> import nn2poly as n2p
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 3))
    >>> net = n2p.Network([n2p.Layer(rng.normal(size=(3, 4)) / 4, None, "tanh"),
    ...                    n2p.Layer(np.ones((4, 1)))])
    >>> path = n2p.sparse_path(net, n2p.convert(net, 3, data=X), X, max_terms=4)
    >>> path.polynomial(4).n_terms, bool(path.r2[-1] > 0.99)
    (4, True)
    """
    check_row_labels(X, groups=groups)
    poly = _closed(_check_one_region(poly))
    network = comparable(model, poly.inputs, poly.outputs, X, after=after)
    rows = read_either(X, poly.inputs, network.inputs)
    keys = row_keys(rows) if groups is None else group_keys(groups, len(rows))
    some = evenly(len(rows), MAX_ROWS)
    sample, keys = _numbered(rows[some], keys[some]), keys[some]
    most = check_count(max_terms, where="max_terms")

    def ask(X: FloatArray) -> FloatArray:
        return network.predict(X).reshape(len(X), -1)

    truth = ask(sample.X)

    def walk(inside: BoolArray) -> _Walk:
        return _walk(poly, Answered(sample.some(inside), truth[inside]), ask, most)

    every, outside = np.ones(len(truth), dtype=bool), _left_out(sample, keys)
    whole = walk(every)
    judges = [(out, walk(~out)) for out in outside] or [(every, whole)]
    guesses = _guesses(poly, sample, judges)
    r2 = np.array([mean_r2(truth, guess) for guess in guesses])
    steps = _end(r2)
    chosen = np.array([poly.terms.index(term) for term in whole.terms[:steps]], dtype=np.intp)
    judging = JudgingRows(sample.X, sample.weights, keys, some)
    judge = Judge(network, judging, tuple(guesses[:steps]), None)
    path = SparsePath(poly, chosen, r2[:steps], whole.coefficients[:steps], judge=judge)
    if not outside:
        return path

    def bounded(guess: FloatArray) -> tuple[float, float] | None:
        return r2_interval(truth, truth - guess, np.ones(len(truth)), keys, folded=True)

    found = _judged(truth, guesses[:steps], outside)
    intervals = tuple(ends for guess in guesses[:steps] if (ends := bounded(guess)) is not None)
    best, judged = mean_r2(truth, found), bounded(found)
    judge = replace(judge, best=found)
    return replace(path, best_r2=best, best_interval=judged, intervals=intervals, judge=judge)


def _check_one_region(poly: Any) -> Polynomial:
    """Refuse a formula with regions: each has its own terms, which join in no common order."""
    found = check_formula(poly, verb="chosen from")
    if isinstance(found, Polynomial):
        return found
    raise InvalidInputError(
        "Terms are chosen one by one from a polynomial of one region.",
        where="poly",
        expected="a Polynomial",
        found=f"{len(found.regions)} regions",
        remedy="convert(…, regions=8, max_terms=30) gives few terms in each region; "
        "poly.prune(30) keeps those that matter most in each",
    )


def _closed(poly: Polynomial) -> Polynomial:
    """Give a polynomial all divisors of its terms, the missing ones with coefficient 0."""
    if isinstance(poly.terms, Graded):
        return poly
    terms = {(), *poly.terms}
    new = [*terms]
    while new:
        divisors = {without(term, j) for term in new for j in term}
        new = [*(divisors - terms)]
        terms.update(new)
    if len(terms) == len(poly.terms):
        return poly
    closed = Listed.of(terms, poly.n_features, poly.max_order)
    values = carried(poly.terms, poly.coefficients, closed)
    return replace(poly, terms=closed, coefficients=values, deviations=None)


def _numbered(X: FloatArray, keys: Keys) -> FitRows:
    """Give raw rows (n, p) the numbers of their folds: the same where keys are."""
    number = ranked(keys)
    fold = (number * FOLDS).astype(np.intp)
    return FitRows(X, np.ones(len(X)), fold, np.arange(len(X)), number)


def _left_out(sample: FitRows, keys: Keys) -> list[BoolArray]:
    """Give the rows (n,) of each fold; none where rows, or groups, are too few."""
    if len(sample) < MIN_ROWS or distinct(keys) < FOLDS:
        return []
    return [sample.fold == k for k in range(FOLDS)]


@dataclass(frozen=True)
class _Walk:
    """Terms in the order in which they joined, and the coefficients (m, k) of each step."""

    terms: Sequence[Term]
    coefficients: tuple[FloatArray, ...]


def _walk(
    poly: Polynomial, sample: Answered, ask: Callable[[FloatArray], FloatArray], max_terms: int
) -> _Walk:
    """Let terms of a polynomial join on some rows, and fit each number of them."""
    most = min(max_terms, max(1, len(sample.rows) // 2))
    task = Budget(sample, ask, poly.inputs, most, min(MAX_DEGREE, poly.max_order))
    found, _ = task.grow(poly.max_order, poly.terms.__contains__, patience=inf)
    terms, places = listed(found, poly.n_features)
    # The divisors of the first terms are among them: so are those of the powers that they make.
    powers = task.basis.powers(terms, np.eye(len(terms)))[1][np.ix_(places, places)]
    fits = task.fits(found, range(1, len(found) + 1))
    return _Walk(found, tuple(powers[: len(c), : len(c)] @ c for c in fits))


def _guesses(
    poly: Polynomial, sample: FitRows, judges: Sequence[tuple[BoolArray, _Walk]]
) -> list[FloatArray]:
    """Put together what each walk says, step by step, of its rows: arrays (n, n_outputs)."""
    steps = min(len(walk.terms) for _, walk in judges)
    out = [np.zeros((len(sample), poly.n_outputs)) for _ in range(steps)]
    for here, walk in judges:
        terms, places = listed(walk.terms, poly.n_features)
        values = term_values(terms, poly.inputs.to_working(sample.X[here]))[:, places]
        for guess, step in zip(out, walk.coefficients, strict=False):
            guess[here] = values[:, : len(step)] @ step
    return out


def _end(r2: FloatArray) -> int:
    """Give the number of steps until nothing has been gained for a while."""
    best = 0
    for step, value in enumerate(r2):
        best = step if value > r2[best] else best
        if step - best >= PATIENCE:
            return step + 1
    return len(r2)


def _judged(truth: FloatArray, guesses: list[FloatArray], outside: list[BoolArray]) -> FloatArray:
    """Give the outputs (n, k), of each fold with the number of terms that the others choose."""
    found = np.zeros(truth.shape)
    for left in outside:
        others = [mean_r2(truth[~left], guess[~left]) for guess in guesses]
        found[left] = guesses[int(np.argmax(others))][left]
    return found
