"""The options that several commands take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from nn2poly.cli.wording import FLAGS, as_flags
from nn2poly.fit.options import summary

READING = "Reading the data"


def values(*known: str) -> Callable[[str], list[str]]:
    """Give what a shell completes a value with.

    Examples
    --------
    >>> values("auto", "taylor")("a")
    ['auto']
    """
    return lambda incomplete: [value for value in known if value.startswith(incomplete)]


def of_conversion(name: str, metavar: str | None, *flags: str, known: Sequence[str] = ()) -> Any:
    """Make an option of one of a conversion: its own name and text, in words of the command line.

    Examples
    --------
    >>> of_conversion("max_terms", "N").help
    'A budget of terms (per region) instead of an order; needs data.'
    """
    return typer.Option(
        *(flags or (FLAGS[name],)),
        metavar=metavar,
        help=as_flags(summary(name).replace("``", "")),
        autocompletion=values(*known),
    )


ModelArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The trained network: .onnx, .keras, .skops, .pt2; or, with --trust, a pickle.",
    ),
]
ModelOption = Annotated[
    Path, typer.Option("--model", "-m", metavar="MODEL", help="The network that was converted.")
]
SomeModel = Annotated[
    Path | None,
    typer.Option("--model", "-m", metavar="MODEL", help="The network that was converted."),
]
PolyArgument = Annotated[
    Path, typer.Argument(metavar="POLY", help="A polynomial that 'convert' wrote.")
]
DataOption = Annotated[
    str,
    typer.Option(
        "--data",
        "-d",
        metavar="FILE",
        help="Rows of inputs: CSV, Parquet, Feather; '-' reads CSV from standard input.",
    ),
]
SomeData = Annotated[
    str | None,
    typer.Option(
        "--data",
        "-d",
        metavar="FILE",
        help="Rows of inputs: CSV, Parquet, Feather; '-' reads CSV from standard input.",
    ),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Open a model file that can run code; only if you trust it."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The key of signatures, all bytes of this file: sign what is written, refuse to read "
        "polynomials that are not signed with it.",
    ),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files that exist.")]
Threshold = Annotated[float | None, of_conversion("threshold", "P")]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COL",
        help="Column of what rows belong to, such as a patient or a day: never split between "
        "fitting and judging. It is no input unless the model names it.",
    ),
]
Link = Annotated[
    str | None, of_conversion("link", "NAME", known=("sigmoid", "softmax", "identity"))
]
Classes = Annotated[str | None, of_conversion("classes", "A,B,…")]
OutputName = Annotated[
    str | None, typer.Option("--output-name", metavar="NAME", help="Which output; default: all.")
]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How to read a table."""

    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COL",
            help="Column of what the network predicts; it is no input.",
            rich_help_panel=READING,
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="COL",
            help="Column to leave out; may be repeated.",
            rich_help_panel=READING,
        ),
    ] = None
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing",
            help="Leave out rows with missing values.",
            rich_help_panel=READING,
        ),
    ] = False
    sep: Annotated[
        str | None,
        typer.Option(
            "--sep", metavar="CHAR", help="What separates CSV columns.", rich_help_panel=READING
        ),
    ] = None
    decimal: Annotated[
        str,
        typer.Option(
            "--decimal", metavar="CHAR", help="The decimal point of CSV.", rich_help_panel=READING
        ),
    ] = "."
    encoding: Annotated[
        str,
        typer.Option(
            "--encoding", metavar="NAME", help="The encoding of CSV.", rich_help_panel=READING
        ),
    ] = "utf-8"
