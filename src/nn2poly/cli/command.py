"""What every command shares: ``--json``, ``--debug``, exit codes, errors without a traceback."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Annotated, Any, NoReturn, get_type_hints

import typer

import nn2poly
from nn2poly.cli import console
from nn2poly.cli.extras import missing_library
from nn2poly.cli.wording import FLAGS, as_flags, at_command_line
from nn2poly.errors import NN2PolyError, NN2PolyWarning
from nn2poly.tables import printable

# Exit codes: 0 fine; 1 the user can help; 2 (Typer's) wrong usage; a bug; Ctrl-C; a closed pipe.
MISTAKE, BUG, STOPPED, CLOSED = 1, 70, 130, 141
# Warnings for programmers, of libraries: nobody at a command line can act on them.
NOT_FOR_USERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)
ISSUES = "if this happens again, rerun with --debug and report what it prints"

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, for other programs.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
SHARED = {"as_json": AsJson, "debug": Debug}


class Note(NN2PolyWarning):
    """Something that was done on the user's behalf."""


def note(text: str) -> None:
    """Tell the user, on standard error and in the JSON document, what was done.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     note("One row left out.")
    >>> [str(warning.message) for warning in caught]
    ['One row left out.']
    """
    warnings.warn(text, Note, stacklevel=2)


@dataclass(frozen=True)
class Answer:
    """What a command has to say.

    Parameters
    ----------
    data
        For ``--json``: plain data.
    parts
        For people: strings and tables, printed in order.
    raw
        Text to print as it is in place of the parts: code, CSV.
    """

    data: dict[str, Any]
    parts: tuple[Any, ...] = ()
    raw: str | None = None


@dataclass
class _Remarks:
    """Warnings and notes of one run, each shown once."""

    lines: list[tuple[str, str]] = field(default_factory=list)

    def show(self, message: Warning | str, category: type[Warning], *_: Any) -> None:
        kind = "Note" if issubclass(category, Note) else "Warning"
        line = (kind, at_command_line(str(message)) or str(message))
        if not issubclass(category, NOT_FOR_USERS) and line not in self.lines:
            self.lines.append(line)
            console.show_remark(*line)

    def texts(self, kind: str) -> list[str]:
        return [text for found, text in self.lines if found == kind]


def command(*examples: tuple[str, str]) -> Callable[[Callable[..., Answer]], Any]:
    """Make a command of a function that returns an `Answer`.

    A parameter whose type is a dataclass stands for the options that its fields are.

    Parameters
    ----------
    *examples
        Pairs (what it does, command line), shown by ``--help``.

    Examples
    --------
    >>> @command(("say it", "nn2poly hello"))
    ... def hello(name: str = "world") -> Answer:
    ...     return Answer({"name": name}, (f"Hello, {name}.",))
    >>> hello(name="Ada", as_json=False, debug=False)
    Hello, Ada.
    """

    def decorate(function: Callable[..., Answer]) -> Any:
        bundles, parameters = _parameters(function)

        @functools.wraps(function)
        def run(**given: Any) -> None:
            as_json, debug = given.pop("as_json"), given.pop("debug")
            remarks = _Remarks()
            with _exit_codes(as_json, debug), _shown_warnings(remarks):
                for name, kind in bundles.items():
                    given[name] = kind(**{f.name: given.pop(f.name) for f in fields(kind)})
                _print(function(**given), function.__name__, as_json, remarks)

        signature = inspect.Signature(parameters)
        vars(run).update(__signature__=signature, epilog=_epilog(examples))
        run.__doc__ = _help(function)
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _parameters(
    function: Callable[..., Any],
) -> tuple[dict[str, Any], list[inspect.Parameter]]:
    """List the parameters with the bundles taken apart and the shared options added."""
    bundles: dict[str, Any] = {}
    types: dict[str, tuple[Any, Any]] = {}
    for given in inspect.signature(function, eval_str=True).parameters.values():
        if not is_dataclass(given.annotation):
            types[given.name] = (given.annotation, given.default)
            continue
        bundles[given.name] = given.annotation
        hints = get_type_hints(given.annotation, include_extras=True)
        for part in fields(given.annotation):
            default = inspect.Parameter.empty if part.default is MISSING else part.default
            types[part.name] = (hints[part.name], default)
    types |= {name: (kind, False) for name, kind in SHARED.items()}
    keyword = inspect.Parameter.KEYWORD_ONLY
    return bundles, [
        inspect.Parameter(name, keyword, default=default, annotation=kind)
        for name, (kind, default) in types.items()
    ]


def _epilog(examples: tuple[tuple[str, str], ...]) -> str:
    lines = ["[bold]Examples[/bold]"]
    for what, line in examples:
        lines += ["", f"[dim]# {what}[/dim]", line.replace("[", "\\[")]
    return "\n".join(lines)


def _help(function: Callable[..., Any]) -> str:
    """Unwrap the paragraphs of the docstring: the terminal wraps them again."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(text.split()) for text in paragraphs)


@contextmanager
def _shown_warnings(remarks: _Remarks) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = remarks.show  # type: ignore[assignment]
        yield


def _print(answer: Answer, name: str, as_json: bool, remarks: _Remarks) -> None:
    if as_json:
        head = {"command": name, "nn2poly": nn2poly.__version__}
        tail = {"notes": remarks.texts("Note"), "warnings": remarks.texts("Warning")}
        console.show_json({**head, **answer.data, **tail})
    elif answer.raw is not None:
        # A file gets every character; a terminal none that would steer it.
        plain = printable(answer.raw) if sys.stdout.isatty() else answer.raw
        sys.stdout.write(plain)
    else:
        console.show(*answer.parts)
    sys.stdout.flush()


@contextmanager
def _exit_codes(as_json: bool, debug: bool) -> Iterator[None]:
    """Turn what went wrong into a message and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        # The reader (head, less) has gone; nothing may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED) from None
    except KeyboardInterrupt:
        _fail(NN2PolyError("Stopped."), as_json, STOPPED)
    except NN2PolyError as error:
        _trace(debug)
        _fail(error, as_json, MISTAKE)
    except OSError as error:  # a disk that is full, a folder that may not be written
        _trace(debug)
        place = None if error.filename is None else str(error.filename)
        what = "The system refused to read or write a file."
        _fail(NN2PolyError(what, where=place, found=error.strerror or str(error)), as_json, MISTAKE)
    except MemoryError as error:
        _trace(debug)
        remedy = "use fewer rows or a lower order"
        _fail(NN2PolyError("There is not enough memory.", found=str(error), remedy=remedy),
              as_json, MISTAKE)  # fmt: skip
    except Exception as error:
        _trace(debug)
        known = missing_library(error) if isinstance(error, ModuleNotFoundError) else None
        if known is not None:
            _fail(known, as_json, MISTAKE)
        found = f"{type(error).__name__}: {error}"
        what = "nn2poly met something that it did not expect; this is a bug."
        remedy = ISSUES if not debug else "please report the traceback above"
        _fail(NN2PolyError(what, found=found, remedy=remedy), as_json, BUG)


def _trace(debug: bool) -> None:
    if debug:
        traceback.print_exc()


def _fail(error: NN2PolyError, as_json: bool, code: int) -> NoReturn:
    error.remedy = at_command_line(error.remedy)
    error.where = FLAGS.get(error.where or "", error.where)
    for part in ("what", "expected", "found"):
        setattr(error, part, as_flags(getattr(error, part) or "") or None)
    if as_json:
        parts = {name: getattr(error, name) for name in ("what", *console.REMARKS)}
        console.show_json({"error": parts, "exit_code": code})
    else:
        console.show_error(error)
    raise typer.Exit(code) from None
