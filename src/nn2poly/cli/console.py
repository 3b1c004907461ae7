"""What people see: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any, TextIO

from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text

from nn2poly.errors import NN2PolyError
from nn2poly.tables import Table, numeric_columns, printable, shown_rows

# A line in a pipe or a file has no edge to wrap at.
WIDE = 1000
REMARKS = ("where", "expected", "found", "remedy")


def console(stream: TextIO) -> Console:
    """Open a console on a stream; only a terminal gets colours and wrapped lines.

    Examples
    --------
    >>> console(sys.stdout).print("no colour in a pipe", style="red")
    no colour in a pipe
    """
    # COLUMNS is no edge of a pipe: whoever imports readline hands it to all children.
    width = None if stream.isatty() else WIDE
    return Console(file=stream, highlight=False, soft_wrap=False, width=width)


def show(*parts: Any) -> None:
    """Print results (strings, house tables, Rich's own) with a blank line between them.

    Examples
    --------
    >>> show("Largest terms", Table("", ("term", "size"), (("age", 2.0),)))
    Largest terms
    <BLANKLINE>
    term   size
    ----  -----
    age   2.000
    """
    out = console(sys.stdout)
    for k, part in enumerate(parts):
        if k:
            out.print()
        out.print(_drawn(part, out.is_terminal))


def show_json(document: dict[str, Any]) -> None:
    """Print one JSON document; a number that JSON cannot hold becomes null.

    Examples
    --------
    >>> show_json({"r2": float("nan")})
    {
      "r2": null
    }
    """
    # In ASCII with escapes: valid whatever the encoding of the stream.
    sys.stdout.write(json.dumps(_plain(document), indent=2, allow_nan=False) + "\n")


def show_error(error: NN2PolyError) -> None:
    """Print the parts of an error under each other."""
    err = console(sys.stderr)
    err.print(Text.assemble(("Error: ", "bold red"), (printable(error.what), "bold")))
    if not err.is_terminal:
        for name in REMARKS:
            if text := getattr(error, name):
                err.print(Text(f"  {name}: {printable(text)}"))
        return
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    for name in REMARKS:
        if text := getattr(error, name):
            style = "green" if name == "remedy" else ""
            grid.add_row(Text(f"  {name}", "dim"), Text(printable(text), style))
    err.print(grid)


def show_remark(kind: str, text: str) -> None:
    """Print one line on standard error: a warning or a note."""
    style = "bold yellow" if kind == "Warning" else "bold cyan"
    line = " ".join(printable(text).split())
    console(sys.stderr).print(Text.assemble((f"{kind}: ", style), line))


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on a terminal while steps are announced; elsewhere nothing.

    Examples
    --------
    >>> with progress(2) as step:
    ...     step("reading the model")
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task, steps = bar.add_task("starting", total=total), iter(range(10**6))

        def step(text: str) -> None:
            done = next(steps)
            # A search over orders takes more steps than were foreseen.
            bar.update(task, description=text, completed=done, total=max(total, done + 1))

        yield step


def _drawn(part: Any, terminal: bool) -> Any:
    if isinstance(part, Table) and terminal:
        return _table(part)
    return Text(printable(str(part))) if isinstance(part, str | Table) else part


def _table(table: Table) -> Group:
    """Draw a house table for a terminal, which may be too narrow for its lines."""
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, right in zip(table.columns, numeric_columns(table), strict=True):
        drawn.add_column(Text(printable(name)), justify="right" if right else "left")
    for row in shown_rows(table):
        drawn.add_row(*map(Text, row))
    above = [Text(printable(table.title), "bold")] if table.title else []
    below = [Text(printable(table.note), "dim")] if table.note else []
    return Group(*above, drawn, *below)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):  # NumPy's own numbers
        return _plain(value.item())
    return None if isinstance(value, float) and not isfinite(value) else value
