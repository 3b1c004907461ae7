"""How a polynomial shows itself: a line of facts, the formula, the largest terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from nn2poly.algebra.terms import Term
from nn2poly.arguments import plural
from nn2poly.arrays import FloatArray, IntArray
from nn2poly.formula import ranking
from nn2poly.formula.legend import baselines, legend, units
from nn2poly.formula.term_names import term_name
from nn2poly.inputs import Inputs, held_text
from nn2poly.tables import ROUNDING, Table, one_line

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

# How many terms a formula shows, and how many outputs (taste).
SHOWN_TERMS = 6
SHOWN_OUTPUTS = 3


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
    places = shown_places(poly, output)
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


def shown_places(poly: Polynomial, output: int) -> IntArray:
    """Give the places of the terms that `formula` writes: the intercept and the largest."""
    first = poly.terms.ends[1]
    places = ranking.top_places(poly, SHOWN_TERMS + 1 - first, output)
    return np.concatenate([np.arange(first), places])


def shown_terms(poly: Polynomial) -> list[Term]:
    """List the terms that are written for the outputs that are shown."""
    outputs = range(min(poly.n_outputs, SHOWN_OUTPUTS))
    return [poly.terms[i] for k in outputs for i in shown_places(poly, k).tolist()]


def endings(
    inputs: Inputs, terms: Sequence[Term], n_terms: int, *, cut: bool, compared: str = ""
) -> list[str]:
    """Give the lines below formulas: units, what names stand for, bounds, what gives all terms."""
    every = f".to_frame() gives all {n_terms:,} terms" if cut else ""
    lines = (units(inputs), legend(inputs, terms), compared, held_text(inputs), every)
    return [line for line in lines if line]


def _endings(poly: Polynomial) -> list[str]:
    terms = shown_terms(poly)
    compared = baselines(poly.inputs, poly.terms, terms)
    return endings(poly.inputs, terms, poly.n_terms, cut=is_cut(poly), compared=compared)


def is_cut(poly: Polynomial) -> bool:
    """Say that there are terms or outputs that are not written."""
    return poly.n_terms > len(shown_places(poly, 0)) or poly.n_outputs > SHOWN_OUTPUTS


def _settled(values: FloatArray) -> FloatArray:
    """Take what rounding leaves of a zero for the zero that it is."""
    return np.where(np.abs(values) < ROUNDING * np.abs(values).max(initial=0.0), 0.0, values)


def ranked(poly: Polynomial, places: IntArray) -> Table:
    """List terms at some places, and say what they are ranked by."""
    measure = "" if poly.deviations is None else "ranked by how far they moved the output; "
    found = ranking.ranked_table(
        poly.terms,
        (places, poly.coefficients[places]),
        poly.inputs,
        poly.output_names,
        title=f"{len(places)} largest of {poly.n_terms:,} terms",
        note=f"{measure}{units(poly.inputs)}",
    )
    terms = ranking.terms_at(poly.terms, places)
    compared = baselines(poly.inputs, poly.terms, terms)
    return replace(found, note=f"{found.note}\n{compared}") if compared else found


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
    lines = [f"Polynomial({facts(poly)})"]
    lines += [f"  {formula(poly, k)}" for k in range(min(poly.n_outputs, SHOWN_OUTPUTS))]
    if poly.n_outputs > SHOWN_OUTPUTS:
        lines.append(f"  … {poly.n_outputs - SHOWN_OUTPUTS} more outputs")
    lines += [f"  {line}" for line in _endings(poly)]
    return "\n".join(map(one_line, lines))


def html(poly: Polynomial) -> str:
    """Give the notebook view: facts, formulas, bounds, the ten largest terms, all escaped."""
    formulas = "".join(
        f"<p><code>{escape(formula(poly, k))}</code></p>"
        for k in range(min(poly.n_outputs, SHOWN_OUTPUTS))
    )
    head = f"<p><strong>Polynomial</strong>: {escape(facts(poly))}</p>"
    formulas += "".join(f"<p>{escape(line)}</p>" for line in _endings(poly))
    return f"<div>{head}{formulas}{poly.top(10)._repr_html_()}</div>"
