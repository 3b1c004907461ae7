"""The Typer application: one table of commands."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer

import nn2poly
from nn2poly.cli.command import STOPPED
from nn2poly.cli.console import show_json

# Of the library that reads arguments, in whatever package Typer keeps it.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]

# Name of a command → panel of the help that it stands in. The command ``name`` is the function
# ``name`` of the module ``nn2poly.cli.name``, made by `nn2poly.cli.command.command`.
COMMANDS = {
    "convert": "From a network to a polynomial",
    "fidelity": "From a network to a polynomial",
    "show": "Look at it",
    "plot": "Look at it",
    "report": "Look at it",
    "predict": "Use it",
    "export": "Use it",
    "reproduce": "The paper",
    "demo": "Help",
    "doctor": "Help",
}

EPILOG = (
    "Start with [bold]nn2poly demo[/bold]; "
    "[bold]nn2poly COMMAND --help[/bold] shows examples of each command."
)


def build() -> typer.Typer:
    """Put the application together from the table.

    Examples
    --------
    >>> [command.name for command in build().registered_commands][:2]
    ['convert', 'fidelity']
    """
    app = typer.Typer(
        name="nn2poly",
        help="Turn a trained neural network into a polynomial that you can read, check and use.",
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for name, panel in COMMANDS.items():
        function = getattr(import_module(f"nn2poly.cli.{name}"), name)
        app.command(name, epilog=function.epilog, rich_help_panel=panel)(function)
    return app


def run() -> None:
    """Run the application on the arguments of the process."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: nobody listens
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name that the terminal cannot write is no bug
            stream.reconfigure(errors="backslashreplace")
    if "--json" not in sys.argv[1:]:
        build()(prog_name="nn2poly")
        return
    try:
        code = build()(prog_name="nn2poly", standalone_mode=False)
    except typer.Abort:
        code = STOPPED
    except USAGE_ERROR as error:
        parts = {"what": error.format_message(), "remedy": "see nn2poly COMMAND --help"}
        show_json({"error": parts, "exit_code": error.exit_code})
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nn2poly {nn2poly.__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that stand before the command."""
