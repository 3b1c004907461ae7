"""Only the terms that matter: computed slice by slice, compared, and let go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nn2poly.algebra.monomials import rank, unrank
from nn2poly.algebra.terms import offsets
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.factored.correction import Correction
from nn2poly.factored.engine import Expansions, term_blocks
from nn2poly.formula.ranking import largest_rows
from nn2poly.network.network import Network, map_inputs


def largest_terms(
    network: Network,
    expansions: Expansions,
    correction: Correction | None,
    degrees: Sequence[int],
    n: int,
    column: int | None,
) -> tuple[IntArray, FloatArray]:
    """Find the n largest terms of consecutive degrees.

    Parameters
    ----------
    degrees
        At least 1 each.
    column
        The output to rank by; None for the norm over all.

    Returns
    -------
    arrays (n,) and (n, n_outputs)
        Positions in the graded basis, largest first, and coefficients.
    """
    blocks = term_blocks(network, expansions, degrees[-1], correction)
    pieces = (piece for degree in degrees for piece in blocks[degree].slices())
    places, rows = largest_rows(pieces, n, column)
    return places + offsets(network.n_features, degrees[0])[degrees[0]], rows


def terms_with(
    network: Network,
    expansions: Expansions,
    correction: Correction | None,
    feature: int,
    degrees: Sequence[int],
    n: int,
    column: int | None,
) -> tuple[IntArray, FloatArray]:
    """Find the n largest of the terms that hold one feature; see `largest_terms`.

    With the feature first, its terms are the first slice of every degree: x_f times the
    monomials of one degree less.
    """
    p = network.n_features
    moved = np.array([feature, *(i for i in range(p) if i != feature)], dtype=np.intp)
    more = None if correction is None else correction.of(moved)
    blocks = term_blocks(restrict(network, moved), expansions, degrees[-1], more)
    pieces = (piece for degree in degrees for piece in blocks[degree].slices(0, 1))
    places, rows = largest_rows(pieces, n, column)
    begin = np.array(offsets(p, degrees[-1]))
    places = places + begin[degrees[0] - 1]
    positions = np.empty(len(places), dtype=np.intp)
    for degree in degrees:
        here = (places >= begin[degree - 1]) & (places < begin[degree])
        others = moved[unrank(places[here] - begin[degree - 1], p, degree - 1)]
        whole = np.column_stack([np.full(len(others), feature, dtype=np.intp), others])
        positions[here] = begin[degree] + rank(np.sort(whole, axis=1), p)
    return positions, rows


def restrict(network: Network, variables: IntArray) -> Network:
    """Give the network of some inputs, the others held at zero in working coordinates."""
    layers = map_inputs(network, lambda matrix: matrix[variables])
    return Network(layers, inputs=network.inputs.select(variables.tolist()))
