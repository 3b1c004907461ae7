"""How a polynomial shows itself: a line of facts, the formula, the largest terms."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from nn2poly.arguments import listed, plural
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula import ranking
from nn2poly.formula.term_names import term_name
from nn2poly.inputs import held_text
from nn2poly.tables import ROUNDING, Table, one_line

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

# How many terms a formula shows, and how many outputs (taste).
SHOWN_TERMS = 6
SHOWN_OUTPUTS = 3


def units(poly: Polynomial) -> str:
    """Say in which coordinates the coefficients are.

    Examples
    --------
    >>> from nn2poly.formula.polynomial import Polynomial
    >>> units(Polynomial([[0.0], [1.0]], 1, ["t"]))
    'coefficients per raw unit'
    """
    coordinates = poly.inputs.coordinates
    if all(coordinate.center == 0.0 and coordinate.scale == 1.0 for coordinate in coordinates):
        pairs = zip(poly.inputs.entry_names, poly.feature_names, strict=True)
        curved = [entry for entry, name in pairs if entry != name]
        also = f", and per unit of {listed(curved, str)}" if curved else ""
        return f"coefficients per raw unit{also}"
    return "coefficients per scaled unit, (x - center) / scale; .rebase() gives raw units"


def facts(poly: Polynomial) -> str:
    """Count features, order, terms and outputs in one line."""
    link = "" if poly.link == "identity" else f", {poly.link} link"
    link += ", inputs held at their bounds" if poly.inputs.are_bounded else ""
    return (
        f"{plural(poly.n_features, 'feature')}, order {poly.max_order}, "
        f"{plural(poly.n_terms, 'term')}, {plural(poly.n_outputs, 'output')}{link}"
    )


def formula(poly: Polynomial, output: int = 0) -> str:
    """Write the intercept and the largest terms of one output.

    Examples
    --------
    >>> from nn2poly.formula.polynomial import Polynomial
    >>> formula(Polynomial([[1.5], [-2.0], [0.25]], 1, ["rm", "lstat"]))
    'y = 1.5 - 2 rm + 0.25 lstat'
    """
    first = poly.terms.ends[1]
    places = ranking.top_places(poly, SHOWN_TERMS + 1 - first, output)
    places = np.concatenate([np.arange(first), places])
    values = _settled(poly.coefficients[places, output]).tolist()
    parts = []
    for place, value in zip(places.tolist(), values, strict=True):
        term = poly.terms[place]
        sign = "-" if value < 0 else "+"
        name = f" {term_name(term, poly.inputs.written_names)}" if term else ""
        parts.append(f"{sign} {abs(value):.4g}{name}")
    text = " ".join(parts).removeprefix("+ ") or "0"
    rest = poly.n_terms - len(places)
    more = f" + … {rest:,} more" if rest else ""
    return f"{poly.outputs.scale_names[output]} = {text}{more}"


def _settled(values: FloatArray) -> FloatArray:
    """Take what rounding leaves of a zero for the zero that it is."""
    return np.where(np.abs(values) < ROUNDING * np.abs(values).max(initial=0.0), 0.0, values)


def ranked(poly: Polynomial, places: IntArray) -> Table:
    """List terms at some places, and say what they are ranked by."""
    found = ranking.ranked_table(
        poly.terms,
        (places, poly.coefficients[places]),
        poly.inputs.written_names,
        poly.output_names,
        title=f"{len(places)} largest of {poly.n_terms:,} terms",
        note=units(poly),
    )
    if poly.deviations is None:
        return found
    return replace(found, note=f"ranked by how far they moved the output; {found.note}")


def all_terms(poly: Polynomial) -> Table:
    """List every term with its order and coefficients."""
    names, orders = poly.term_names(), poly.terms.orders().tolist()
    rows = zip(names, orders, poly.coefficients.tolist(), strict=True)
    table = tuple((name, order, *values) for name, order, values in rows)
    return Table("", ("term", "order", *_columns(poly)), table)


def _columns(poly: Polynomial) -> tuple[str, ...]:
    return ("coefficient",) if poly.n_outputs == 1 else poly.output_names


def text(poly: Polynomial) -> str:
    """Give the `repr`: facts, a formula per output, and where inputs are held."""
    lines = [f"Polynomial({facts(poly)}; {units(poly)})"]
    lines += [f"  {formula(poly, k)}" for k in range(min(poly.n_outputs, SHOWN_OUTPUTS))]
    if poly.n_outputs > SHOWN_OUTPUTS:
        lines.append(f"  … {poly.n_outputs - SHOWN_OUTPUTS} more outputs")
    if held := held_text(poly.inputs):
        lines.append(f"  {held}")
    return "\n".join(map(one_line, lines))


def html(poly: Polynomial) -> str:
    """Give the notebook view: facts, formulas, bounds, the ten largest terms, all escaped."""
    formulas = "".join(
        f"<p><code>{escape(formula(poly, k))}</code></p>"
        for k in range(min(poly.n_outputs, SHOWN_OUTPUTS))
    )
    head = f"<p><strong>Polynomial</strong>: {escape(facts(poly))}</p>"
    held = escape(held_text(poly.inputs))
    formulas += f"<p>{held}</p>" if held else ""
    return f"<div>{head}{formulas}{poly.top(10)._repr_html_()}</div>"
