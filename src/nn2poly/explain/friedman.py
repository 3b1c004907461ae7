"""`friedman_h`: Friedman's H statistic, from analytic partial dependence."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.games import Subset, moebius_weight, subset_sums
from nn2poly.explain.rewriting import centred, moments
from nn2poly.explain.rows import checked_population, warn_mixed
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import separable
from nn2poly.explain.spread import Spread, player_variances
from nn2poly.explain.summaries import how_many, subset_name
from nn2poly.explain.written import recentred
from nn2poly.formula.largest import largest
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import output_index
from nn2poly.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class FriedmanH:
    """How much of the joint effect of features is interaction: 0 none of it, 1 all of it.

    Squares of H are shares of a variance over the data; with correlated features H can exceed 1.
    A large H of two features that hardly matter means little: ``strength`` tells, in units of
    the output.

    Parameters
    ----------
    pairs
        Tuples of two feature indices; pairs that share no term are not listed, their H is 0.
    pairwise
        Array (n_pairs, n_outputs); NaN where the joint effect does not vary.
    strength
        Array (n_pairs, n_outputs): standard deviation of the interaction.
    overall
        Array (p, n_outputs): each feature with all others together.
    feature_names, output_names
        Names.
    """

    pairs: tuple[Subset, ...]
    pairwise: FloatArray
    strength: FloatArray
    overall: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def matrix(self, output: int | str = 0) -> FloatArray:
        """Lay the pairwise H of one output out as a symmetric array (p, p)."""
        k, p = output_index(output, self.output_names), len(self.feature_names)
        out = np.zeros((p, p))
        for (i, j), value in zip(self.pairs, self.pairwise[:, k].tolist(), strict=True):
            out[i, j] = out[j, i] = value
        return out

    def table(self, n: int | None = None, *, output: int | str = 0) -> Table:
        """List the pairs of one output by strength, the n first or all."""
        k = output_index(output, self.output_names)
        order = largest(self.strength[:, k], how_many(n, len(self.pairs))).tolist()
        rows = tuple(
            (
                subset_name(self.pairs[j], self.feature_names),
                float(self.pairwise[j, k]),
                float(self.strength[j, k]),
            )
            for j in order
        )
        name = f" in {self.output_names[k]}" if len(self.output_names) > 1 else ""
        return Table(f"Friedman's H of pairs{name}", ("features", "H", "strength"), rows)

    def overall_table(self, n: int | None = None, *, output: int | str = 0) -> Table:
        """List the features of one output by overall H, the n first or all."""
        k = output_index(output, self.output_names)
        size = np.nan_to_num(self.overall[:, k])
        order = largest(size, how_many(n, len(size))).tolist()
        rows = tuple((self.feature_names[i], float(self.overall[i, k])) for i in order)
        name = f" in {self.output_names[k]}" if len(self.output_names) > 1 else ""
        return Table(f"Friedman's H with all others{name}", ("feature", "H"), rows)

    def _tables(self) -> list[Table]:
        outputs = range(min(3, len(self.output_names)))
        return [
            table
            for k in outputs
            for table in (self.overall_table(10, output=k), self.table(10, output=k))
        ]

    def __repr__(self) -> str:
        more = len(self.output_names) - 3
        rest = [f"… and {more:,} more outputs: see .table(output=…)"] if more > 0 else []
        return "\n\n".join([*map(str, self._tables()), *rest])

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._tables())


def friedman_h(poly: Formula, X: Any) -> FriedmanH:
    """Answer "which pairs interact, and is it much of what they do?".

    Friedman and Popescu (2008): H² of a pair is the variance over the data of
    PD_jk - PD_j - PD_k, divided by that of PD_jk; overall, of f - PD_j - PD_rest, divided by that
    of f. Here partial dependence is a polynomial made of moments of X, so that n rows cost
    n evaluations, not n².

    Parameters
    ----------
    poly
        The polynomial.
    X
        Array or data frame (n, p) in raw units: the data to average over; of a stream an
        even choice of at most 200,000 rows.

    Returns
    -------
    FriedmanH

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a", "a b"], [1.0, 1.0], ["a", "b"])
    >>> h = n2p.explain.friedman_h(poly, [[1, 1], [1, -1], [-1, 1], [-1, -1]])
    >>> h.pairs, h.pairwise.round(3), h.strength
    (((0, 1),), array([[0.707]]), array([[1.]]))
    """
    rows = checked_population(poly, X)
    warn_mixed(poly)
    form = centred(separable(recentred(poly, rows)), rows)
    averages = moments(form, rows)
    outputs = form.predict(rows)
    mean, variance = outputs.mean(axis=0), outputs.var(axis=0)
    pairs, interaction, together = _pair_variances(form, averages, rows)
    overall = _overall_variances(form, averages, rows)
    floor = (64 * np.finfo(float).eps * (np.abs(mean) + np.sqrt(variance))) ** 2
    return FriedmanH(
        pairs,
        _root_ratio(interaction, together, floor),
        np.sqrt(interaction),
        _root_ratio(overall, np.broadcast_to(variance, overall.shape), floor),
        form.players,
        poly.outputs.scale_names,
    )


def _root_ratio(part: FloatArray, whole: FloatArray, floor: FloatArray) -> FloatArray:
    """Divide variances and take the root; NaN where the whole is at the level of rounding."""
    result: FloatArray = np.sqrt(part / np.where(whole > floor, whole, np.nan))
    return result


def _pair_variances(
    form: Separable, averages: FloatArray, rows: FloatArray
) -> tuple[tuple[Subset, ...], FloatArray, FloatArray]:
    """Compute the variances of PD_jk - PD_j - PD_k and of PD_jk over raw rows (n, p), by pair."""
    pure = subset_sums(form, averages, moebius_weight, 2)
    place = {subset: j for j, subset in enumerate(pure.subsets)}
    pairs = tuple(subset for subset in pure.subsets if len(subset) == 2)
    both = [place[pair] for pair in pairs]
    left, right = ([place[pair[side],] for pair in pairs] for side in (0, 1))
    interaction, together = Spread(), Spread()
    for _, values in pure.batches(rows):
        interaction.add(values[:, both])
        together.add(values[:, both] + values[:, left] + values[:, right])
    return pairs, interaction.variance(), together.variance()


def _overall_variances(form: Separable, averages: FloatArray, rows: FloatArray) -> FloatArray:
    """Compute the variances of f - PD_j - PD_rest over raw rows (n, p): (n_players, n_outputs)."""
    # Of all Möbius coefficients with player j, those of two players and more.
    shared = subset_sums(form, averages, lambda _, t: Fraction(t > 1), 1)
    return player_variances(shared, rows)
