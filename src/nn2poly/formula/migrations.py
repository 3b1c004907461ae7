"""Files of older versions: how each is read as a document of the present one.

Version 1 (nn2poly 0.1) held the names, centre, scale and range of features as they stood, and
the terms as positions in the graded basis. It knew no columns: every feature is a number, or an
indicator ``column=level`` by its name.

Version 2 (nn2poly 0.2 while it was made) held columns that knew no holes, and outputs without a
threshold.
"""

from __future__ import annotations

from math import nan
from typing import Any

from nn2poly.algebra.terms import Graded, Terms
from nn2poly.arguments import check_order
from nn2poly.cards import FidelityCard
from nn2poly.formula.document import (
    INDICES,
    NUMBERS,
    OLDER,
    AnyDocument,
    Document,
    GetArray,
    damaged,
    from_body,
    shaped,
)
from nn2poly.inputs import Inputs
from nn2poly.outputs import Outputs
from nn2poly.plain import plain_list, plain_number, plain_object, plain_texts
from nn2poly.verdicts import grade

ARRAYS = ("coefficients", "center", "scale", "low", "high")
# What columns and outputs hold since version 3, as it was before.
COLUMN_SINCE_3: dict[str, Any] = {
    "hole": None,
    "marks": "",
    "is_text": False,
    "members": [],
    "rest": None,
}
OUTPUTS_SINCE_3 = {"threshold": None, "calibration": None}
NAMES = ("max_order", "feature_names", "output_names", "classes", "link", "card", "positions")


def from_version_1(body: Any, get_array: GetArray) -> Document:
    """Read a body of version 1."""
    plain_object(body, (*ARRAYS, *NAMES, "layers"))
    arrays: dict[str, Any] = {
        name: None if body[name] is None else get_array(body[name], NUMBERS) for name in ARRAYS
    }
    values = arrays.pop("coefficients")
    inputs = Inputs.of(plain_texts(body["feature_names"]), None, **arrays)
    outputs = Outputs.from_dict(
        {
            "names": body["output_names"],
            "classes": body["classes"],
            "link": body["link"],
            "named": True,
            **OUTPUTS_SINCE_3,
        }
    )
    terms = _terms(inputs.n_features, body["max_order"], body["positions"], get_array)
    card = None if body["card"] is None else _card(body["card"])
    layers = [
        (from_version_1(before, get_array), from_version_1(after, get_array))
        for before, after in map(plain_list, plain_list(body["layers"]))
    ]
    return Document(terms, inputs, outputs, shaped(values, outputs), None, card, tuple(layers))


def _card(data: Any) -> FidelityCard:
    """Read a card, whose verdict was text alone."""
    verdict = data["verdict"]
    if isinstance(verdict, str):
        fitted = data["guarantee"].get("held_out") is False
        r2 = nan if data["r2"] is None else plain_number(data["r2"])
        verdict = {
            "grade": grade(r2, fitted=fitted),
            "r2": data["r2"],
            "n_rows": data["n_rows"],
            "fitted": fitted,
            "order": len(data["per_order"]) - 1,
            "stated": verdict,
            "reasons": [],
        }
    return FidelityCard.from_dict({**data, "verdict": verdict})


def _terms(n_features: int, max_order: Any, positions: Any, get_array: GetArray) -> Terms:
    basis = Graded(n_features, check_order(max_order, lowest=0))
    if positions is None:
        return basis
    places = get_array(positions, INDICES)
    if not basis.holds(places):
        raise damaged("the positions of its terms are not those of the basis")
    return basis.at(places)


def from_version_2(body: Any, get_array: GetArray) -> AnyDocument:
    """Read a body of version 2."""
    return from_body(_since_2(body), get_array)


def _since_2(body: Any) -> Any:
    """Add to a body, and to those of its layers, what version 3 holds."""
    if not isinstance(body, dict):
        return body
    layers = [[_since_2(part) for part in pair] for pair in body.get("layers", [])]
    inputs, outputs = dict(body["inputs"]), {**body["outputs"], **OUTPUTS_SINCE_3}
    inputs["columns"] = [{**column, **COLUMN_SINCE_3} for column in inputs["columns"]]
    changed = {**body, "inputs": inputs, "outputs": outputs}
    return {**changed, "layers": layers} if "layers" in body else changed


OLDER[1] = from_version_1
OLDER[2] = from_version_2
