"""What a region fixes: levels and yes/no that cannot be otherwise there, put into its terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from nn2poly.algebra.terms import collect
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Path, question
from nn2poly.inputs import Inputs


def fixed_features(path: Path, inputs: Inputs) -> dict[int, float]:
    """Give the features that the way to a leaf fixes, in the coordinates of the algebra.

    Of a factor at most one level is on, so that a row that shows one of some levels shows none
    of the others. That it shows the last one left follows only where the way asked for it: a
    row may show no level at all.

    Examples
    --------
    >>> from nn2poly.formula.region_tree import Leaf, Split, paths
    >>> from nn2poly.inputs import Column
    >>> inputs = Inputs((Column.factor("sky", ["sun", "rain", "snow"]), Column("hour")))
    >>> ways = paths(Split(0, levels=(1,), left=Leaf(0), right=Leaf(1)))
    >>> fixed_features(ways[0], inputs), fixed_features(ways[1], inputs)
    ({0: 0.0, 1: 1.0, 2: 0.0}, {1: 0.0})
    """
    on, off = set[int](), set[int]()
    shown = []
    for split, left in path:
        if split.levels is None:
            continue
        asked = question(split, inputs)
        if asked.reached == left:
            shown.append(set(asked.features))
            off |= set(inputs.places[split.column]) - shown[-1]
        else:
            off |= set(asked.features)
    for levels in shown:
        if len(left_over := levels - off) == 1:
            on |= left_over
    low, high = map(inputs.to_working, inputs.ends())
    ends = {j: float(low[j]) for j in off} | {j: float(high[j]) for j in on}
    return {j: ends[j] for j in sorted(ends)}


def with_fixed(poly: Polynomial, fixed: Mapping[int, float]) -> Polynomial:
    """Put numbers in the place of features, and the terms together that are then the same.

    Where the features have these numbers, predictions stay the same but for rounding.

    Examples
    --------
    >>> poly = Polynomial.from_terms(["u", "t", "t u", "v"], [3.0, 2.0, 4.0, 5.0], ["t", "u", "v"])
    >>> found = with_fixed(poly, {1: 1.0, 2: 0.0})
    >>> list(zip(found.term_names(), found.coefficients.ravel().tolist()))
    [('1', 3.0), ('t', 6.0)]
    """
    if not fixed:
        return poly
    parts = [(np.empty((1, 0), dtype=np.intp), np.zeros((1, poly.n_outputs)))]
    parts += _without(poly, fixed)
    terms, values = collect(parts, poly.n_features, poly.n_outputs, poly.max_order)
    return Polynomial(values, terms=terms, inputs=poly.inputs, outputs=poly.outputs)


def _without(poly: Polynomial, fixed: Mapping[int, float]) -> Iterator[tuple[IntArray, FloatArray]]:
    """Give the terms without the fixed features, by how many of their factors are left."""
    number = np.ones(poly.n_features)
    number[list(fixed)] = list(fixed.values())
    is_fixed = np.zeros(poly.n_features, dtype=bool)
    is_fixed[list(fixed)] = True
    for here, rows in poly.terms.by_degree():
        times, free = number[rows].prod(axis=1), ~is_fixed[rows]
        counts = free.sum(axis=1)
        for count in np.unique(counts).tolist():
            chosen = np.flatnonzero((counts == count) & (times != 0.0))
            kept = rows[chosen][free[chosen]].reshape(len(chosen), count)
            yield kept, poly.coefficients[here][chosen] * times[chosen, None]
