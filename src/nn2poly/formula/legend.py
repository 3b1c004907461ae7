"""What the names in a formula stand for: the centre and the scale of each, and the units."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from types import MappingProxyType

import numpy as np

from nn2poly.algebra.terms import Term, Terms
from nn2poly.arguments import listed, plural
from nn2poly.formula.region_tree import Among, Conditions, either, level_names, rule_name
from nn2poly.inputs import Inputs

# How many names a line explains before it counts the others (taste).
SHOWN_NAMES = 8


def unit_text(inputs: Inputs) -> str:
    """Say in which units coefficients are.

    Examples
    --------
    >>> unit_text(Inputs.of(["t"])), unit_text(Inputs.of(["t"], center=20.0))
    ('per raw unit', 'per raw unit around .center')
    >>> unit_text(Inputs.of(["t"], center=20.0, scale=5.0))
    'per unit of (x − center) / scale'
    """
    if np.any(inputs.scale != 1.0):
        return "per unit of (x − center) / scale"
    return "per raw unit around .center" if np.any(inputs.center) else "per raw unit"


def units(inputs: Inputs) -> str:
    """Say the same of a printed formula, and which way leads to raw units.

    Examples
    --------
    >>> units(Inputs.of(["t"])), units(Inputs.of(["t"], center=20.0, scale=5.0))
    ('coefficients per raw unit', 'coefficients per scaled unit; .rebase() gives raw units')
    """
    if np.any(inputs.scale != 1.0):
        return "coefficients per scaled unit; .rebase() gives raw units"
    pairs = zip(inputs.entry_names, inputs.feature_names, strict=True)
    curved = [entry for entry, name in pairs if entry != name]
    also = f", and per unit of {listed(curved, str)}" if curved else ""
    return f"coefficients {unit_text(inputs)}{also}"


def legend(inputs: Inputs, terms: Iterable[Term]) -> str:
    """Say what the names in some terms stand for; nothing for those that are themselves.

    Examples
    --------
    >>> legend(Inputs.of(["t", "u"], center=20.0, scale=5.0), [(), (0, 0)])
    't stands for (t - 20) / 5'
    >>> legend(Inputs.of(["t"]), [(0,)])
    ''
    """
    places = dict.fromkeys(place for term in terms for place in term)
    moved = [j for j in places if inputs.center[j] != 0.0 or inputs.scale[j] != 1.0]
    names = inputs.written_names
    parts = [f"{names[j]} for {inputs.coordinates[j].of(names[j])}" for j in moved[:SHOWN_NAMES]]
    text = ", ".join(parts).replace(" for ", " stands for ", 1)
    more = len(moved) - SHOWN_NAMES
    return f"{text}, and {plural(more, 'more name')}: see .center and .scale" if more > 0 else text


def baselines(
    inputs: Inputs, every: Terms, shown: Iterable[Term], met: Conditions = MappingProxyType({})
) -> str:
    """Say what the numbers of levels are compared with: levels without a term of their own.

    Parameters
    ----------
    every, shown
        All terms, and those whose levels are meant.
    met
        What holds in the region: levels that it rules out are not named.

    Examples
    --------
    >>> from nn2poly.algebra.terms import Listed
    >>> from nn2poly.inputs import Column
    >>> inputs = Inputs((Column.factor("kind", ["a", "b"]),))
    >>> baselines(inputs, Listed.of([(1,)], 2), [(1,)])
    'levels are compared with kind = a'
    """
    alone = {term[0] for term in shown if len(term) == 1}
    # Of a long polynomial nothing beyond the first order is made.
    first = (rows[:, 0].tolist() for _, rows in islice(every.by_degree(), 2) if rows.shape[1] == 1)
    own = {j for features in first for j in features}
    parts = []
    for number, (column, places) in enumerate(zip(inputs.columns, inputs.places, strict=True)):
        if column.kind != "factor" or alone.isdisjoint(places):
            continue
        held = met.get(number)
        possible = held.levels if isinstance(held, Among) else range(column.width)
        names = level_names(inputs, number)
        missing = [names[k] for k in possible if places[k] not in own]
        if missing:
            parts.append(f"{rule_name(column.name)} = {either(missing)}")
    return f"levels are compared with {', '.join(parts)}" if parts else ""
