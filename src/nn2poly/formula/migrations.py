"""Files of older versions: how each is read as a document of the present one.

Version 1 (nn2poly 0.1) held the names, centre, scale and range of features as they stood, and
the terms as positions in the graded basis. It knew no columns: every feature is a number, or an
indicator ``column=level`` by its name.
"""

from __future__ import annotations

from typing import Any

from nn2poly.algebra.terms import Graded, Terms
from nn2poly.cards import FidelityCard
from nn2poly.formula.document import (
    INDICES,
    NUMBERS,
    OLDER,
    Document,
    GetArray,
    check_listed,
    damaged,
    shaped,
    whole_number,
)
from nn2poly.inputs import Inputs
from nn2poly.outputs import Outputs

ARRAYS = ("coefficients", "center", "scale", "low", "high")
NAMES = ("max_order", "feature_names", "output_names", "classes", "link", "card", "positions")


def from_version_1(body: Any, get_array: GetArray) -> Document:
    """Read a body of version 1."""
    if not isinstance(body, dict) or set(body) != {*ARRAYS, *NAMES, "layers"}:
        raise damaged("its fields are not those of the format")
    arrays: dict[str, Any] = {
        name: None if body[name] is None else get_array(body[name], NUMBERS) for name in ARRAYS
    }
    values = arrays.pop("coefficients")
    inputs = Inputs.of(body["feature_names"], None, **arrays)
    outputs = Outputs.of(
        body["output_names"], len(body["output_names"]), body["classes"], body["link"]
    )
    terms = _terms(inputs.n_features, whole_number(body["max_order"]), body["positions"], get_array)
    card = None if body["card"] is None else FidelityCard.from_dict(body["card"])
    layers = [
        (from_version_1(before, get_array), from_version_1(after, get_array))
        for before, after in body["layers"]
    ]
    return Document(terms, inputs, outputs, shaped(values, outputs), None, card, tuple(layers))


def _terms(n_features: int, max_order: int, positions: Any, get_array: GetArray) -> Terms:
    basis = Graded(n_features, max_order)
    if positions is None:
        return basis
    places = get_array(positions, INDICES)
    inside = places.ndim == 1 and (
        not places.size or (places.min() >= 0 and places.max() < basis.ends[-1])
    )
    if not inside:
        raise damaged("the positions of its terms are not those of the basis")
    return check_listed(basis.at(places))


OLDER[1] = from_version_1
