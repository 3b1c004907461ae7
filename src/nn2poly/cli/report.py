"""``nn2poly report``: one HTML page about a polynomial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import nn2poly as n2p
from nn2poly.cli.command import Answer, command
from nn2poly.cli.console import progress
from nn2poly.cli.options import (
    DataOption,
    Force,
    KeyFile,
    ModelOption,
    PolyArgument,
    TableOptions,
    Threshold,
    Trust,
)
from nn2poly.cli.polynomials import load_case
from nn2poly.cli.targets import check_target
from nn2poly.memory import human_bytes


@command(
    (
        "a page to hand to a colleague",
        "nn2poly report poly.json --model model.onnx --data test.csv -o report.html",
    ),
    (
        "with the truth, and a title",
        "nn2poly report poly.json -m model.skops -d test.csv -t price --title 'House prices'",
    ),
)
def report(
    poly: PolyArgument,
    model: ModelOption,
    data: DataOption,
    table: TableOptions,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write, .html.")
    ] = Path("report.html"),
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title of the page.")
    ] = None,
    threshold: Threshold = None,
    trust: Trust = False,
    key_file: KeyFile = None,
    force: Force = False,
) -> Answer:
    """Write one HTML page about a polynomial, which opens without a network.

    Fidelity, importance, effects, where it fails, the formula, all terms, and a panel to try
    it out.
    """
    check_target(output, (".html", ".htm"), force=force)
    with progress(5) as step:
        case = load_case(poly, model, data, table, trust=trust, key_file=key_file, step=step)
        step("writing the page")
        formula: Any = case.poly
        n2p.report(
            formula, case.network, case.X, case.target, output, title=title, threshold=threshold
        )
    size = output.stat().st_size
    line = (
        f"Wrote {output} ({human_bytes(size)}), about {len(case.X):,} rows; open it in a browser."
    )
    return Answer({"report": str(output), "n_bytes": size, "n_rows": len(case.X)}, (line,))
