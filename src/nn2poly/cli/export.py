"""``nn2poly export``: the polynomial in another language."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import nn2poly as n2p
from nn2poly.arguments import check_choice
from nn2poly.cli.command import Answer, command
from nn2poly.cli.options import Force, KeyFile, PolyArgument
from nn2poly.cli.polynomials import load_polynomial
from nn2poly.cli.targets import check_target
from nn2poly.errors import InvalidInputError
from nn2poly.files import write_whole


@command(
    ("a SELECT statement, to the terminal", "nn2poly export poly.json --to sql"),
    ("a C function in a file", "nn2poly export poly.json --to c -o poly.c"),
    ("the ten largest terms as LaTeX", "nn2poly export poly.json --to latex --terms 10"),
    ("a model for any ONNX runtime", "nn2poly export poly.json --to onnx -o poly.onnx"),
)
def export(
    poly: PolyArgument,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="LANGUAGE",
            help="sql, latex, python, c, excel, javascript, sympy or onnx.",
        ),
    ],
    terms: Annotated[
        int | None,
        typer.Option(
            "--terms", "-n", metavar="N", min=1, help="Keep the N largest terms; default: all."
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Multiply out to raw units; can lose digits.")
    ] = False,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="predict, raw (before the link), or of a classifier probability or label.",
        ),
    ] = "predict",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; default: the terminal."
        ),
    ] = None,
    key_file: KeyFile = None,
    force: Force = False,
) -> Answer:
    """Write a polynomial as SQL, LaTeX, Python, C, Excel, JavaScript, SymPy or ONNX.

    It takes the columns of the raw table: factors as text, holes filled in as the model does.
    """
    languages = n2p.export.LANGUAGES
    language = languages[check_choice(to.lower(), sorted(languages), name="language")]
    if output is not None:
        check_target(output, (), force=force)
    polynomial = load_polynomial(poly, key_file)
    if terms is not None:
        polynomial = polynomial.prune(terms)
    content = language.content(polynomial.rebase() if raw else polynomial, kind=kind)
    data = content if isinstance(content, bytes) else content.encode()
    if output is not None:
        write_whole(output, data)
        found = {"to": to.lower(), "file": str(output), "n_bytes": len(data)}
        return Answer(found, (f"Wrote {output}: {polynomial.n_terms:,} terms as {to.lower()}.",))
    if isinstance(content, bytes):
        raise _binary(to, sys.stdout.isatty())
    return Answer({"to": to.lower(), "text": content}, raw=content)


def _binary(to: str, terminal: bool) -> InvalidInputError:
    return InvalidInputError(
        f"{to.upper()} is no text.",
        where="the terminal" if terminal else "standard output",
        expected="a file to write",
        remedy=f"add -o poly.{to.lower()}",
    )
