"""``nn2poly show``: the largest terms of a saved polynomial."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from nn2poly.cli.command import Answer, command, note
from nn2poly.cli.options import OutputName, PolyArgument
from nn2poly.cli.polynomials import describe, load_polynomial, top_terms
from nn2poly.formula.display import facts
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import held_text


@command(
    ("the twenty largest terms", "nn2poly show poly.json"),
    ("per raw unit, the five largest", "nn2poly show poly.json -n 5 --raw"),
    ("of one output of several", "nn2poly show iris.json --output-name setosa"),
)
def show(
    poly: PolyArgument,
    n: Annotated[
        int, typer.Option("-n", "--terms", metavar="N", min=1, help="How many terms.")
    ] = 20,
    standardised: Annotated[
        bool,
        typer.Option(
            "--standardised/--raw",
            help="Coefficients per standard deviation, which compare; or per raw unit.",
        ),
    ] = True,
    output_name: OutputName = None,
) -> Answer:
    """Show the largest terms of a polynomial, and what is known of its fidelity."""
    polynomial = load_polynomial(poly)
    if standardised and np.all(polynomial.scale == 1.0):
        note("These inputs were never standardised: the coefficients are per raw unit.")
    shown = polynomial if standardised else polynomial.rebase()
    table = top_terms(shown, n, output_name)
    rows = [dict(zip(("term", "order", *shown.output_names), row, strict=True)) for row in table]
    verdict = None if polynomial.card is None else str(polynomial.card.verdict)
    found = {
        **describe(polynomial),
        "units": table.note,
        "terms": rows,
        "verdict": verdict,
    }
    intercept = _intercept(shown)
    found["intercept"] = dict(zip(shown.output_names, intercept, strict=True))
    line = "Intercept: " + ", ".join(f"{value:.4g}" for value in intercept)
    held = held_text(polynomial.inputs)
    bounds = f"Bounds: {held}." if held else None
    parts = (f"{poly}: {facts(polynomial)}", bounds, verdict, table, line)
    return Answer(found, tuple(part for part in parts if part is not None))


def _intercept(poly: Polynomial) -> list[float]:
    if not poly.n_terms or poly.terms[0] != ():
        return [0.0] * poly.n_outputs
    return [float(value) for value in poly.coefficients[0]]
