"""What matters: how far each term, and each feature, moves the outputs over the rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from nn2poly.arrays import FloatArray
from nn2poly.explain.games import subset_sums
from nn2poly.explain.rewriting import centred, moments
from nn2poly.explain.rows import checked_population
from nn2poly.explain.separating import separable
from nn2poly.explain.spread import player_variances
from nn2poly.explain.summaries import ranked_table
from nn2poly.explain.written import recentred
from nn2poly.formula.protocol import Formula
from nn2poly.tables import Table


def importance(poly: Formula, X: Any) -> Table:
    """Answer "which features matter?": how far the outputs move with each of them.

    For every feature j the standard deviation over the rows of f(x) - E f(x_rest, b_j), what is
    lost of the output when the feature takes the values of other rows b instead of its own; in
    units of the output, and the same in whatever coordinates the terms are written. Of a sum of
    single terms it is the standard deviation of each; what a feature does with others counts
    for all of them. For independent features its square is the total Sobol' index times the
    variance.

    Parameters
    ----------
    poly
        The formula.
    X
        Array or data frame (n, p) in raw units; of a stream an even choice of at most 200,000
        rows.

    Returns
    -------
    Table
        The features, what moves the outputs most first; a column per output.

    Examples
    --------
    >>> import nn2poly as n2p
    >>> poly = n2p.Polynomial.from_terms(["a", "a b"], [2.0, 1.0], ["a", "b"])
    >>> n2p.explain.importance(poly, [[1, 1], [1, -1], [-1, 1], [-1, -1]])
    How far the outputs move with each feature: standard deviation over 4 rows
    feature  deviation
    -------  ---------
    a            2.236
    b            1.000
    """
    rows = checked_population(poly, X)
    names, moves = feature_moves(poly, rows)
    return ranked_table(
        f"How far the outputs move with each feature: standard deviation over {len(rows):,} rows",
        "feature",
        names,
        moves,
        poly.outputs.scale_names,
        heading="deviation",
    )


def feature_moves(poly: Formula, rows: FloatArray) -> tuple[tuple[str, ...], FloatArray]:
    """Give the features, and how far each output moves with them: array (n_names, n_outputs).

    Parameters
    ----------
    rows
        Array (n, p) in raw units.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[0.0], [2.0]], 1, ["t"])
    >>> feature_moves(poly, np.array([[1.0], [3.0]]))
    (('t',), array([[2.]]))
    """
    form = centred(separable(recentred(poly, rows)), rows)
    # The sum of all Möbius coefficients with the player.
    every = subset_sums(form, moments(form, rows), lambda _, __: Fraction(1), 1)
    return form.players, np.sqrt(player_variances(every, rows))
