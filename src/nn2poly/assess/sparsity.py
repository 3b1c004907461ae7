"""`sparse_path`: how few terms carry the network, each step refitted to its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arguments import check_count
from nn2poly.arrays import BoolArray, FloatArray
from nn2poly.assess.compared import comparable
from nn2poly.assess.fidelity import mean_r2
from nn2poly.assess.interval import r2_interval
from nn2poly.errors import InvalidInputError
from nn2poly.formula.deviations import term_deviations
from nn2poly.formula.evaluate import term_values
from nn2poly.formula.largest import largest
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import check_formula
from nn2poly.formula.term_names import term_name
from nn2poly.inputs import read_either
from nn2poly.sampling import Keys, distinct, evenly, group_keys, ranked, row_keys
from nn2poly.tables import Table

# Terms with the largest contributions that compete for a place, rows that are used, and those of
# them that tell the contributions (taste).
CANDIDATES, MAX_ROWS, SCREENED = 400, 4000, 500
# Folds that are left out in turn, and rows below which none can be. Of 60 rows five folds leave 48
# to fit 15 terms to, and judge a path that is much worse than the one of all rows.
FOLDS, MIN_ROWS = 10, 10
# The path ends when the R² of rows left out has not risen for so many steps (taste).
PATIENCE = 10


@dataclass(frozen=True, eq=False)
class SparsePath:
    """Terms in the order in which they join, and the fidelity with each number of them.

    Parameters
    ----------
    poly
        The polynomial that the terms are taken from.
    chosen
        Places of the terms in ``poly``, the intercept first.
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
    """

    poly: Polynomial
    chosen: npt.NDArray[np.intp]
    r2: FloatArray
    coefficients: tuple[FloatArray, ...]
    best_r2: float = float("nan")
    best_interval: tuple[float, float] | None = None
    intervals: tuple[tuple[float, float], ...] = ()

    @property
    def n_best(self) -> int:
        """Number of terms with the highest R² on rows left out."""
        return int(self.r2.argmax()) + 1

    def polynomial(self, n_terms: int | None = None) -> Polynomial:
        """Give the refitted polynomial of the first ``n_terms`` terms, by default the best."""
        wanted = self.n_best if n_terms is None else check_count(n_terms, where="n_terms")
        n = min(wanted, len(self.chosen))
        order = np.argsort(self.chosen[:n])
        kept = self.chosen[:n][order]
        values = self.coefficients[n - 1][order]
        return replace(self.poly.keep(kept), coefficients=values, deviations=None)

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
        names = [term_name(self.poly.terms[i], self.poly.inputs.entry_names) for i in self.chosen]
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
    """Choose terms one by one, always refitting all of them to the network's outputs.

    Orthogonal matching pursuit among the terms with the largest contributions. It is repeated
    without each tenth of the rows, and the R² of each number of terms is that on the rows that
    were left out; the path ends when it has not risen for 10 steps.

    Parameters
    ----------
    model
        Anything that `read_network` reads, or a function from rows to outputs.
    poly
        Its polynomial.
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
    _check_one_region(poly)
    network = comparable(model, poly.inputs, poly.outputs, X, after=after)
    rows = read_either(X, poly.inputs, network.inputs)
    keys = row_keys(rows) if groups is None else group_keys(groups, len(rows))
    some = evenly(len(rows), MAX_ROWS)
    rows, keys = rows[some], keys[some]
    truth = network.predict(rows).reshape(len(rows), -1)
    places = _candidates(poly, rows, check_count(max_terms, where="max_terms"))
    values = _values(poly, places, rows)
    outside = _left_out(keys)
    paths = [_pursue(values[~out], truth[~out], max_terms) for out in outside]
    steps: list[FloatArray] = []
    guesses: list[FloatArray] = []
    r2: list[float] = []
    for whole, *parts in zip(_pursue(values, truth, max_terms), *paths, strict=False):
        picked, step = whole
        steps.append(step)
        guesses.append(_guess(values, outside, parts) if parts else values[:, picked] @ step)
        r2.append(mean_r2(truth, guesses[-1]))
        if len(r2) - 1 - int(np.argmax(r2)) >= PATIENCE:
            break
    chosen = places[picked[: len(steps)]]
    if not outside:
        return SparsePath(poly, chosen, np.array(r2), tuple(steps))

    def bounded(guess: FloatArray) -> tuple[float, float] | None:
        return r2_interval(truth, truth - guess, np.ones(len(truth)), keys, folded=True)

    found = _judged(truth, guesses, outside)
    best, judged = mean_r2(truth, found), bounded(found)
    intervals = tuple(ends for guess in guesses if (ends := bounded(guess)) is not None)
    return SparsePath(poly, chosen, np.array(r2), tuple(steps), best, judged, intervals)


def _left_out(keys: Keys) -> list[BoolArray]:
    """Give the rows (n,) of each fold; none where rows, or groups, are too few."""
    if len(keys) < MIN_ROWS or distinct(keys) < FOLDS:
        return []
    fold = (ranked(keys) * FOLDS).astype(np.intp)
    return [fold == k for k in range(FOLDS)]


def _guess(
    values: FloatArray, outside: list[BoolArray], parts: Sequence[tuple[list[int], FloatArray]]
) -> FloatArray:
    """Put together what the paths say of the rows that they did not see: (n, n_outputs)."""
    out = np.zeros((len(values), parts[0][1].shape[1]))
    for left, (picked, step) in zip(outside, parts, strict=True):
        out[left] = values[left][:, picked] @ step
    return out


def _judged(truth: FloatArray, guesses: list[FloatArray], outside: list[BoolArray]) -> FloatArray:
    """Give the outputs (n, k), of each fold with the number of terms that the others choose."""
    found = np.zeros(truth.shape)
    for left in outside:
        others = [mean_r2(truth[~left], guess[~left]) for guess in guesses]
        found[left] = guesses[int(np.argmax(others))][left]
    return found


def _check_one_region(poly: Any) -> None:
    """Refuse a formula with regions: each has its own terms, which join in no common order."""
    found = check_formula(poly, verb="chosen from")
    if not hasattr(found, "coefficients"):
        raise InvalidInputError(
            "Terms are chosen one by one from a polynomial of one region.",
            where="poly",
            expected="a Polynomial",
            found=f"{len(found.regions)} regions",
            remedy="convert(…, regions=8, max_terms=30) gives few terms in each region; "
            "poly.prune(30) keeps those that matter most in each",
        )


def _candidates(poly: Polynomial, rows: FloatArray, max_terms: int) -> npt.NDArray[np.intp]:
    """Screen terms by the standard deviation of their contributions, intercept first."""
    size = np.linalg.norm(term_deviations(poly, rows[evenly(len(rows), SCREENED)]), axis=1)
    size[poly.terms.orders() == 0] = np.inf
    return largest(size, max(CANDIDATES, 2 * max_terms))


def _values(poly: Polynomial, places: npt.NDArray[np.intp], rows: FloatArray) -> FloatArray:
    """Evaluate chosen terms: (n, len(places)), in the order of the places."""
    order = np.argsort(places)
    values = np.empty((len(rows), len(places)))
    values[:, order] = term_values(poly.terms.at(places[order]), poly.inputs.to_working(rows))
    return values


def _pursue(
    values: FloatArray, truth: FloatArray, max_terms: int
) -> Iterator[tuple[list[int], FloatArray]]:
    """Pick columns by their correlation with what is left, refitting after each.

    Gives the columns so far and their coefficients (len(columns), n_outputs), step by step.
    """
    spread = truth.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    size = np.linalg.norm(values - values.mean(axis=0), axis=0)
    picked = [0]
    while True:
        chosen = values[:, picked]
        step = np.asarray(np.linalg.lstsq(chosen, truth, rcond=1e-12)[0], dtype=np.float64)
        yield list(picked), step
        if len(picked) >= min(max_terms, values.shape[1], len(values) // 2):
            return
        left = (truth - chosen @ step) / unit
        score = np.linalg.norm(values.T @ left, axis=1)
        score = np.divide(score, size, out=np.zeros_like(score), where=size > 1e-12 * size.max())
        score[picked] = -1.0
        picked.append(int(score.argmax()))
