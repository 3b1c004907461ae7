"""`shapley`: exact interventional Shapley values, from the moments of the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.assess.compared import comparable
from nn2poly.assess.fidelity import check_pair
from nn2poly.errors import require
from nn2poly.explain.games import shapley_weight, subset_sums
from nn2poly.explain.rewriting import centred, moments
from nn2poly.explain.rows import read_population, read_rows, warn_mixed, warn_once
from nn2poly.explain.separable import Separable
from nn2poly.explain.separating import player_values, separable
from nn2poly.explain.summaries import over_rows, ranked_table, row_texts, shown
from nn2poly.explain.written import recentred
from nn2poly.formula.protocol import Formula
from nn2poly.formula.term_names import output_index
from nn2poly.memory import check_terms
from nn2poly.tables import Table

RESIDUAL_NAME = "beyond polynomial"


@shown(20)
@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues:
    """What each feature adds to each prediction, compared with the background.

    ``base_values + values.sum(axis=1)`` is the polynomial's raw output, and with ``residual``
    added the network's.

    Parameters
    ----------
    values
        Array (n, p, n_outputs).
    base_values
        Array (n_outputs,): the mean prediction over the background.
    data
        Array (n, p): the rows explained, in raw units; of a column with levels the number of
        its level.
    feature_names, output_names
        Names.
    residual
        Array (n, n_outputs): what the network adds beyond the polynomial; None without a model.
    kind
        ``interventional``, of `shapley`, or ``cohort``, of `cohort_shapley`.
    """

    values: FloatArray
    base_values: FloatArray
    data: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    residual: FloatArray | None = None
    kind: str = "interventional"

    @property
    def total(self) -> FloatArray:
        """The outputs that the values add up to: array (n, n_outputs)."""
        beyond = 0.0 if self.residual is None else self.residual
        sums: FloatArray = self.base_values + self.values.sum(axis=1) + beyond
        return sums

    def table(self, n: int | None = None, *, output: int | str | None = None) -> Table:
        """Rank the features by the root mean square of their values, of one output or all.

        Of one row it shows the values themselves, with their signs. Over the background the root
        mean square is the standard deviation, as in `importance`: values are 0 on average there,
        but for interactions of features that go together.

        Parameters
        ----------
        n
            How many features; None for all.
        output
            Index or name of the only output to show; None for all of them.
        """
        extra = {} if self.residual is None else {RESIDUAL_NAME: over_rows(self.residual)}
        name = "Cohort Shapley values" if self.kind == "cohort" else "Shapley values"
        title, heading = row_texts(name, self.values)
        return ranked_table(
            title,
            "feature",
            self.feature_names,
            over_rows(self.values),
            self.output_names,
            n=n,
            output=output,
            extra=extra,
            heading=heading,
        )

    def to_shap(self, output: int | str | None = None) -> Any:
        """Give a ``shap.Explanation`` for SHAP's plots.

        The residual, when there is one, becomes one more feature.

        Parameters
        ----------
        output
            Index or name; None for all of them (plots want one, as in ``explanation[:, :, 0]``).

        Returns
        -------
        shap.Explanation
            With values (n, p), or (n, p, n_outputs) for several outputs.

        Raises
        ------
        MissingDependencyError
            When shap is not installed.
        """
        shap = require("shap", what="to_shap()", extra="explain")
        kept = list(range(len(self.output_names)))
        if output is not None:
            kept = [output_index(output, self.output_names)]
        values, data, names = self.values[:, :, kept], self.data, list(self.feature_names)
        if self.residual is not None:
            beyond = self.residual[:, kept]
            values = np.concatenate([values, beyond[:, None, :]], axis=1)
            # Its own "data": plots colour a feature by its value and cannot do without one.
            data = np.column_stack([data, beyond.mean(axis=1)])
            names.append(RESIDUAL_NAME)
        base, outputs = np.tile(self.base_values[kept], (len(values), 1)), self.output_names
        if len(kept) == 1:
            return shap.Explanation(
                values[:, :, 0],
                base[:, 0],
                data,
                feature_names=names,
                output_names=outputs[kept[0]],
            )
        return shap.Explanation(values, base, data, feature_names=names, output_names=list(outputs))


def shapley(poly: Formula, X: Any, background: Any, *, model: Any = None) -> ShapleyValues:
    """Answer "how far did each feature move this prediction from the average one?".

    Exact interventional Shapley values: the game of a row x is v(S) = E_b P(x_S, b_rest) over
    the rows b of the background. Every term is a game of at most Q players, so that the value of
    a feature is itself a polynomial in x, its coefficients made of moments of the background.
    No sampling; rows, background and terms each enter the cost once.

    Parameters
    ----------
    poly
        The polynomial; for a classifier the raw outputs (before the link) are explained.
    X
        Array, data frame or stream (n, p) in raw units: the rows to explain, all of them.
    background
        Array or data frame (m, p): what a prediction is compared with, such as the training
        data; of a stream an even choice of at most 200,000 rows.
    model
        The network that the polynomial came from, to show also what it adds beyond it.

    Returns
    -------
    ShapleyValues

    Raises
    ------
    InvalidInputError
        When the tables do not fit the polynomial, or the model does not.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a", "a b"], [2.0, 1.0], ["a", "b"])
    >>> found = n2p.explain.shapley(poly, [[1.0, 3.0]], [[0.0, 0.0], [0.0, 2.0]])
    >>> found.values[0, :, 0], found.base_values
    (array([4., 1.]), array([0.]))
    >>> found
    Shapley values of 1 row
    feature  value
    -------  -----
    a        4.000
    b        1.000
    """
    rows = read_rows(poly, X, "X")
    reference = read_population(poly, background, "background")
    warn_once(poly, rows, reference)
    warn_mixed(poly)
    network = None if model is None else comparable(model, poly.inputs, poly.outputs, X)
    if network is not None:
        approximation: Any = poly
        check_pair(network, approximation, "shapley")
    form = separable(recentred(poly, reference))
    _check_size(form, len(rows))
    values, base = _values(centred(form, reference), rows, reference)
    residual = None
    if network is not None:
        outputs = network.predict(rows).reshape(len(rows), -1)
        residual = outputs - base - values.sum(axis=1)
    data = player_values(form, rows)
    return ShapleyValues(values, base, data, form.players, poly.outputs.scale_names, residual)


def _values(
    form: Separable, rows: FloatArray, reference: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute the values (n, n_players, n_outputs) and the mean over the reference (n_outputs,)."""
    averages = moments(form, reference)
    games = subset_sums(form, averages, shapley_weight, 1)
    players = [subset[0] for subset in games.subsets]
    values = np.zeros((len(rows), len(form.players), len(form.output_names)))
    for here, part in games.batches(rows):
        values[here, players] = part
    return values, averages @ form.coefficients


def _check_size(form: Separable, n_rows: int) -> None:
    check_terms(
        len(form.terms),
        8 * n_rows * len(form.players) * len(form.output_names),
        what=f"The array of Shapley values of {n_rows:,} rows",
        remedy="pass fewer rows at a time",
    )
