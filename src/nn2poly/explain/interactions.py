"""`interactions`: exact Shapley interaction indices of any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arguments import check_choice, check_count, check_order
from nn2poly.arrays import FloatArray
from nn2poly.errors import require
from nn2poly.explain.games import INDICES, Subset, index_weight, subset_sums
from nn2poly.explain.rewriting import centred, moments
from nn2poly.explain.rows import read_population, read_rows, warn_mixed, warn_once
from nn2poly.explain.separating import player_values, separable
from nn2poly.explain.summaries import over_rows, ranked_table, row_texts, shown, subset_name
from nn2poly.explain.written import recentred
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import output_index, parse_term
from nn2poly.tables import Table


@shown(20)
@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """What each feature, pair, … adds to each prediction, compared with the background.

    Only subsets of features that share a term are listed; all others are exactly zero. With
    ``"k-SII"`` and ``"STII"``, ``base_values + values.sum(axis=1)`` is the prediction.

    Parameters
    ----------
    subsets
        Tuples of 1 … order feature indices.
    values
        Array (n, n_subsets, n_outputs).
    base_values
        Array (n_outputs,): the mean prediction over the background.
    index, order
        Which index, and the largest size of a subset.
    data
        Array (n, p): the rows explained, in raw units; of a column with levels the number of
        its level.
    feature_names, output_names
        Names.
    """

    subsets: tuple[Subset, ...]
    values: FloatArray
    base_values: FloatArray
    index: str
    order: int
    data: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def value(self, subset: Any) -> FloatArray:
        """Give the values (n, n_outputs) of one subset, by indices or names.

        Zero when no term holds all its features.
        """
        wanted = tuple(sorted(set(parse_term(subset, self.feature_names))))
        if wanted in self.subsets:
            return self.values[:, self.subsets.index(wanted)]
        return np.zeros((len(self.values), len(self.output_names)))

    def table(
        self,
        n: int | None = None,
        *,
        output: int | str | None = None,
        size: int | None = None,
    ) -> Table:
        """Rank the subsets by the root mean square of their values, the n first or all.

        Of one row it shows the values themselves, with their signs.

        Parameters
        ----------
        n
            How many.
        output
            Index or name of the only output to show; None for all of them.
        size
            Number of features of the subsets to list; None for all sizes.
        """
        wanted = None if size is None else check_count(size, where="size")
        chosen = [j for j, s in enumerate(self.subsets) if wanted is None or len(s) == wanted]
        title, heading = row_texts(f"{self.index} up to order {self.order}", self.values)
        return ranked_table(
            title,
            "features",
            [subset_name(self.subsets[j], self.feature_names) for j in chosen],
            over_rows(self.values[:, chosen]),
            self.output_names,
            n=n,
            output=output,
            heading=heading,
        )

    def to_shapiq(self, output: int | str = 0) -> list[Any]:
        """Give one ``shapiq.InteractionValues`` for each row, for shapiq's plots.

        Parameters
        ----------
        output
            Index or name.

        Raises
        ------
        MissingDependencyError
            When shapiq is not installed.
        """
        shapiq = require("shapiq", what="to_shapiq()", extra="explain")
        k = output_index(output, self.output_names)
        base = float(self.base_values[k])
        # The interaction index of the empty set is not the base value; its own value is no part
        # of an explanation and is left out.
        empty: dict[Subset, float] = {} if self.index == "SII" else {(): base}
        return [
            shapiq.InteractionValues(
                {**empty, **dict(zip(self.subsets, row.tolist(), strict=True))},
                index=self.index,
                max_order=self.order,
                n_players=len(self.feature_names),
                min_order=0 if empty else 1,
                estimated=False,
                baseline_value=base,
            )
            for row in self.values[:, :, k]
        ]


def interactions(
    poly: Formula, X: Any, background: Any, *, order: int = 2, index: str = "k-SII"
) -> Interactions:
    """Answer "which features act together on this prediction, and how strongly?".

    Exact Shapley interactions of the same game as in `shapley`; with ``order=1`` they are the
    Shapley values. Every index is a weighted sum of the game's Möbius coefficients, and of a
    polynomial of order Q these vanish beyond Q features.

    Parameters
    ----------
    poly
        The polynomial; for a classifier the raw outputs (before the link) are explained.
    X
        Array, data frame or stream (n, p) in raw units: the rows to explain, all of them.
    background
        Array or data frame (m, p): what a prediction is compared with; of a stream an even
        choice of at most 200,000 rows.
    order
        Largest number of features in a subset; 2 for pairs.
    index
        ``"k-SII"`` (n-Shapley values, Bordt and von Luxburg 2023; sums to the prediction),
        ``"STII"`` (Shapley–Taylor, Sundararajan et al. 2020; sums to the prediction) or ``"SII"``
        (Grabisch and Roubens 1999; does not sum).

    Returns
    -------
    Interactions

    Raises
    ------
    InvalidInputError
        When the tables do not fit the polynomial, or the index is unknown.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a", "a b"], [2.0, 1.0], ["a", "b"])
    >>> found = n2p.explain.interactions(poly, [[1.0, 3.0]], [[0.0, 0.0], [0.0, 2.0]])
    >>> found
    k-SII up to order 2 of 1 row
    features  value
    --------  -----
    a         3.000
    a × b     2.000
    b             0
    """
    largest = check_order(order, where="order")
    weight = index_weight(check_choice(index, INDICES, name="index"), largest)
    rows = read_rows(poly, X, "X")
    reference = read_population(poly, background, "background")
    warn_once(poly, rows, reference)
    warn_mixed(poly)
    form = centred(separable(recentred(poly, reference)), reference)
    averages = moments(form, reference)
    games = subset_sums(form, averages, weight, largest)
    return Interactions(
        games.subsets,
        games.evaluate(rows),
        averages @ form.coefficients,
        index,
        largest,
        player_values(form, rows),
        form.players,
        poly.outputs.scale_names,
    )
