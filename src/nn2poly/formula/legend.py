"""What the names in a formula stand for: the centre and the scale of each, and the units."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nn2poly.algebra.terms import Term
from nn2poly.arguments import listed, plural
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
