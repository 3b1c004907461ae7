"""The options that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

READING = "Reading the data"


def values(*known: str) -> Callable[[str], list[str]]:
    """Give what a shell completes a value with.

    Examples
    --------
    >>> values("auto", "taylor")("a")
    ['auto']
    """
    return lambda incomplete: [value for value in known if value.startswith(incomplete)]


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
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="P",
        help="Of two classes: the probability of the second from which on it is chosen.",
    ),
]
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
    str | None,
    typer.Option(
        "--link",
        metavar="NAME",
        help="Of a classifier whose model gives raw scores: sigmoid or softmax.",
        autocompletion=values("sigmoid", "softmax", "identity"),
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,…",
        help="Names of the classes, in the order of the outputs.",
    ),
]
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
