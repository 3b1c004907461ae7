"""``nn2poly show``: the largest terms of a saved polynomial."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from nn2poly.cli.command import Answer, command, note
from nn2poly.cli.options import KeyFile, OutputName, PolyArgument
from nn2poly.cli.polynomials import describe, facts, load_polynomial, rules, top_terms
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import held_text

# Terms that are shown, in all or of each region (taste).
SHOWN, SHOWN_PER_REGION = 20, 5


@command(
    ("the twenty largest terms", "nn2poly show poly.json"),
    ("per raw unit, the five largest", "nn2poly show poly.json -n 5 --raw"),
    ("the rules of a formula with regions, and the terms of each", "nn2poly show poly.json -n 3"),
    ("of one output of several", "nn2poly show iris.json --output-name setosa"),
)
def show(
    poly: PolyArgument,
    n: Annotated[
        int | None,
        typer.Option(
            "-n", "--terms", metavar="N", min=1, help="How many terms: 20, or 5 of each region."
        ),
    ] = None,
    standardised: Annotated[
        bool,
        typer.Option(
            "--standardised/--raw",
            help="Coefficients per standard deviation, which compare; or per raw unit.",
        ),
    ] = True,
    output_name: OutputName = None,
    key_file: KeyFile = None,
) -> Answer:
    """Show the largest terms of a polynomial, and what is known of its fidelity.

    Of one with regions: the rule of each region, and its largest terms.
    """
    polynomial = load_polynomial(poly, key_file)
    if standardised and np.all(polynomial.scale == 1.0):
        note("These inputs were never standardised: the coefficients are per raw unit.")
    shown = polynomial if standardised else polynomial.rebase()
    several = not isinstance(shown, Polynomial)
    table = top_terms(shown, n or (SHOWN_PER_REGION if several else SHOWN), output_name)
    names = (*(("region",) if several else ()), "term", "order", *shown.output_names)
    rows = [dict(zip(names, row, strict=True)) for row in table]
    verdict = None if polynomial.card is None else str(polynomial.card.verdict)
    found = {
        **describe(polynomial),
        "units": table.note,
        "terms": rows,
        "verdict": verdict,
    }
    intercepts = [_intercept(region.polynomial) for region in shown.regions]
    named = [dict(zip(shown.output_names, values, strict=True)) for values in intercepts]
    found["intercept"] = named if several else named[0]
    lines = [", ".join(f"{value:.4g}" for value in values) for values in intercepts]
    line = f"Intercept{' of each region' * several}: {'; '.join(lines)}"
    held = held_text(polynomial.inputs)
    bounds = f"Bounds: {held}." if held else None
    parts = (f"{poly}: {facts(polynomial)}", bounds, verdict, *rules(shown), table, line)
    return Answer(found, tuple(part for part in parts if part is not None))


def _intercept(poly: Polynomial) -> list[float]:
    if not poly.n_terms or poly.terms[0] != ():
        return [0.0] * poly.n_outputs
    return [float(value) for value in poly.coefficients[0]]
