"""Across several networks: which coefficients and explanations can be relied on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.terms import Terms
from nn2poly.arguments import check_count, listed, plural
from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError
from nn2poly.explain.alignment import check_features, check_same, deviation, stability
from nn2poly.explain.explanation_ensemble import ExplanationEnsemble, has_values, side_by_side
from nn2poly.explain.summaries import shown
from nn2poly.explain.written import union_of_terms
from nn2poly.formula.deviations import carried
from nn2poly.formula.importance import ranking
from nn2poly.formula.largest import largest
from nn2poly.formula.legend import legend, units
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.protocol import is_formula
from nn2poly.formula.term_names import output_index, term_name
from nn2poly.tables import Table


@shown()
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Polynomials of several networks in the same terms and coordinates.

    Parameters
    ----------
    mean
        The average polynomial: its predictions are the average of the members'.
    coefficients
        Array (n_members, n_terms, n_outputs), in the terms of ``mean``.
    null
        Array (m, n_terms, n_outputs): coefficients of networks that were trained on permuted
        responses, from `against_chance`; None when there are none.
    """

    mean: Polynomial
    coefficients: FloatArray
    null: FloatArray | None = None

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each coefficient (n - 1 in the denominator): (n_terms, k)."""
        return deviation(self.coefficients)

    @property
    def sign_stability(self) -> FloatArray:
        """Share of members with the sign that most of them have: (n_terms, n_outputs)."""
        return stability(self.coefficients)

    def beside(self, null: Ensemble) -> FloatArray:
        """Give how often networks that had nothing to learn reach these coefficients.

        Parameters
        ----------
        null
            The ensemble of networks that were trained on permuted responses, in the same terms
            and coordinates (``center=``, ``scale=``), best one permutation each.

        Returns
        -------
        array (n_terms, n_outputs)
            The share of them, one added, of which the coefficient is at least as large as the
            mean here; with m networks nothing is below 1 / (m + 1).

        Examples
        --------
        >>> from nn2poly import Polynomial
        >>> found = ensemble([Polynomial([[0.0], [b]], 1, ["t"]) for b in (2.0, 2.2)])
        >>> null = ensemble([Polynomial([[0.0], [b]], 1, ["t"]) for b in (0.1, -0.3, 2.5)])
        >>> found.beside(null)[1]
        array([0.5])
        """
        if null.coefficients.shape[1:] != self.coefficients.shape[1:]:
            raise InvalidInputError(
                "The two ensembles do not have the same terms.",
                where="null",
                expected=f"{self.coefficients.shape[1]} terms of each output",
                found=f"{null.coefficients.shape[1]} terms",
                remedy="convert both alike: the same max_order and columns",
            )
        return self._reached(null.coefficients)

    @property
    def by_chance(self) -> FloatArray | None:
        """How often networks with nothing to learn reach the mean here, as `beside` gives it."""
        return None if self.null is None else self._reached(self.null)

    def _reached(self, null: FloatArray) -> FloatArray:
        reached = np.abs(null) >= np.abs(self.mean.coefficients)
        return np.asarray((1.0 + reached.sum(axis=0)) / (1.0 + len(reached)))

    def table(self, n: int = 20, *, output: int | str = 0) -> Table:
        """List the intercept and the n terms of the mean that matter most; see `Polynomial.top`.

        Parameters
        ----------
        n
            How many.
        output
            Index or name of the output.
        """
        poly, column = self.mean, output_index(output, self.mean.output_names)
        mean, std = poly.coefficients[:, column], self.std[:, column]
        stable = self.sign_stability[:, column]
        terms = poly.terms
        size = np.where(terms.orders() == 0, np.inf, ranking(poly).sizes[:, column])
        count = check_count(n, where="n") + int((terms.orders() == 0).any())
        low, high = (f(axis=0)[:, column] for f in (self.coefficients.min, self.coefficients.max))
        chance = self.by_chance
        more = () if chance is None else (chance[:, column],)
        places = largest(size, count).tolist()
        rows = tuple(
            (
                term_name(terms[i], poly.inputs.written_names),
                len(terms[i]),
                *(float(a[i]) for a in (mean, std, low, high, stable, *more)),
            )
            for i in places
        )
        said = units(poly.inputs).replace(".", ".mean.", 1)
        by_chance = "" if self.null is None else _chance_note(len(self.null))
        names = legend(poly.inputs, (terms[i] for i in places))
        lines = (said, names.replace("see .", "see .mean."), by_chance)
        return Table(
            f"Coefficients of {len(self.coefficients)} polynomials, "
            f"output {poly.outputs.scale_names[column]}",
            ("term", "order", "mean", "sd", "lowest", "highest", "same sign")
            + ("by chance",) * len(more),
            rows,
            note="\n".join(filter(None, lines)),
        )


def _chance_note(count: int) -> str:
    return (
        f"by chance: the share of {count} networks trained on permuted responses, one added, that "
        "have a coefficient as large."
    )


@shown()
@dataclass(frozen=True, eq=False)
class PiecewiseEnsemble:
    """Formulas of several networks with the same regions.

    Parameters
    ----------
    mean
        The average formula: its predictions are the average of the members'.
    regions
        An `Ensemble` for each region, by its number.
    """

    mean: PiecewisePolynomial
    regions: tuple[Ensemble, ...]

    def table(self, n: int = 5, *, output: int | str = 0) -> Table:
        """List, for each region, the intercept and the n largest coefficients of the mean.

        Parameters
        ----------
        n
            How many of each region.
        output
            Index or name of the output.
        """
        tables = [region.table(n, output=output) for region in self.regions]
        rows = tuple((k, *row) for k, table in enumerate(tables) for row in table.rows)
        notes = dict.fromkeys(line for table in tables for line in table.note.splitlines())
        return Table(tables[0].title, ("region", *tables[0].columns), rows, "\n".join(notes))


@overload
def ensemble(
    members: Iterable[Polynomial],
    *,
    center: npt.ArrayLike | None = None,
    scale: npt.ArrayLike | None = None,
) -> Ensemble: ...
@overload
def ensemble(
    members: Iterable[Any],
    *,
    center: npt.ArrayLike | None = None,
    scale: npt.ArrayLike | None = None,
) -> Ensemble | PiecewiseEnsemble | ExplanationEnsemble: ...
def ensemble(
    members: Iterable[Any],
    *,
    center: npt.ArrayLike | None = None,
    scale: npt.ArrayLike | None = None,
) -> Ensemble | PiecewiseEnsemble | ExplanationEnsemble:
    """Put polynomials, or explanations, of several networks side by side.

    Networks trained again, from another start or on a resample, give other coefficients. A
    term that changes sign among them is no finding. One whose sign holds need not be: networks
    that were trained on the same rows share the noise of these rows, and with a response of pure
    noise most first-order terms keep their sign over five seeds. `against_chance` trains some on
    permuted responses as well, and tells how often they have coefficients as large.

    Parameters
    ----------
    members
        Two or more polynomials of the same features and outputs, or formulas with the same
        regions; or explanations of one kind with an array ``values`` (`shapley`,
        `marginal_effects`, …), of the same rows and with the same options.
    center, scale
        Common coordinates z = (x - center) / scale of polynomials; default: theirs where they
        agree, else the average of them.

    Returns
    -------
    Ensemble, PiecewiseEnsemble or ExplanationEnsemble

    Examples
    --------
    >>> import nn2poly as n2p
    >>> polys = [n2p.Polynomial([[1.0], [b]], 1, ["t"]) for b in (2.0, 4.0, -3.0)]
    >>> both = ensemble(polys)
    >>> both.mean.coefficient("t"), both.sign_stability[1, 0].round(3)
    (1.0, np.float64(0.667))
    """
    items = list(members)
    if len(items) < 2:
        raise InvalidInputError(
            "An ensemble needs two members at least.", where="members", found=str(len(items))
        )
    if any(isinstance(item, PiecewisePolynomial) for item in items):
        return _of_pieces(items, center, scale)
    if all(is_formula(item) for item in items):
        return _of_polynomials(items, center, scale)
    if center is None and scale is None and all(has_values(item) for item in items):
        return side_by_side(items)
    raise InvalidInputError(
        "These cannot be put side by side.",
        where="members",
        expected="polynomials, or explanations with an array `values` (without center and scale)",
        found=listed([type(item).__name__ for item in items]),
    )


def _of_polynomials(
    polys: Sequence[Polynomial], center: npt.ArrayLike | None, scale: npt.ArrayLike | None
) -> Ensemble:
    labels = [f"member {i}" for i in range(len(polys))]
    check_features(polys, labels)
    for what in ("output_names", "link", "classes"):
        check_same([getattr(poly, what) for poly in polys], labels, what.replace("_", " "))
    functions = [tuple(c.function for c in poly.inputs.coordinates) for poly in polys]
    check_same(functions, labels, "bounds or functions of the columns")
    middle = _common([poly.center for poly in polys]) if center is None else center
    width = _common([poly.scale for poly in polys]) if scale is None else scale
    moved = [poly.rebase(middle, width) for poly in polys]
    terms, coefficients = union_of_terms(moved)
    low, high = _overlap(polys)
    average = coefficients.mean(axis=0)
    mean = replace(
        moved[0],
        coefficients=average,
        terms=terms,
        inputs=moved[0].inputs.seen(low, high),
        layers=(),
        card=None,
        deviations=_moves(moved, terms, coefficients, average),
    )
    return Ensemble(mean, coefficients)


def _moves(
    polys: Sequence[Polynomial], terms: Terms, coefficients: FloatArray, average: FloatArray
) -> FloatArray | None:
    """Give the deviations (n_terms, k) of the mean's terms; None when a member knows none.

    That of a term is its coefficient times what is alike in all members.
    """
    known = [(poly.terms, poly.deviations) for poly in polys if poly.deviations is not None]
    if len(known) < len(polys):
        return None
    sizes = np.stack([carried(own, found, terms) for own, found in known])
    each = np.divide(sizes, np.abs(coefficients), out=np.zeros_like(sizes), where=sizes > 0.0)
    result: FloatArray = np.abs(average) * each.max(axis=0)
    return result


def _of_pieces(
    items: Sequence[Any], center: npt.ArrayLike | None, scale: npt.ArrayLike | None
) -> PiecewiseEnsemble:
    """Put formulas side by side region by region, where all have the same regions."""
    first = items[0]
    for number, item in enumerate(items):
        if not is_formula(item) or item.tree != first.tree:
            raise InvalidInputError(
                "The coefficients of different regions cannot be put side by side.",
                where=f"members, member {number}",
                expected="the regions of member 0, or explanations in place of formulas",
                found=_rules(item) if is_formula(item) else type(item).__name__,
                remedy="put explanations side by side: ensemble([shapley(poly, X, X), …])",
            )
    places = range(len(first.regions))
    regions = tuple(
        _of_polynomials([item.polynomials[k] for item in items], center, scale) for k in places
    )
    means = tuple(region.mean for region in regions)
    return PiecewiseEnsemble(PiecewisePolynomial(first.tree, means), regions)


def _rules(formula: Any) -> str:
    return f"{plural(len(formula.regions), 'region')}: {listed([r.rule for r in formula.regions])}"


def _common(arrays: Sequence[FloatArray]) -> FloatArray:
    """Average arrays (p,), keeping what they agree on to the last digit."""
    stacked = np.stack(arrays)
    # Indicators (0/1) of binary features stay what they are only in their own coordinates.
    agree = (stacked == stacked[0]).all(axis=0)
    result: FloatArray = np.where(agree, stacked[0], stacked.mean(axis=0))
    return result


def _overlap(polys: Sequence[Polynomial]) -> tuple[FloatArray | None, FloatArray | None]:
    """Give the range that all members saw; None when one does not know its own."""
    lows = [poly.low for poly in polys if poly.low is not None]
    highs = [poly.high for poly in polys if poly.high is not None]
    if len(lows) < len(polys) or len(highs) < len(polys):
        return None, None
    low, high = np.max(lows, axis=0), np.min(highs, axis=0)
    # Ranges that do not meet leave no common one.
    return (low, high) if np.all(low <= high) else (None, None)
