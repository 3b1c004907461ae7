"""Read tables from files and standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nn2poly.arguments import listed, plural
from nn2poly.cli.command import note
from nn2poly.cli.models import check_file
from nn2poly.cli.options import TableOptions
from nn2poly.errors import InvalidInputError, StorageError, require
from nn2poly.inputs import Inputs

if TYPE_CHECKING:
    import pandas as pd

STDIN = "-"
TEXT = (".csv", ".tsv", ".txt", ".data")
BINARY = (".parquet", ".pq", ".feather", ".arrow")
# pandas unpacks these by itself.
PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")
SEPARATORS = {";": "';'", "\t": "'\\t'", "|": "'|'"}


def read_table(source: str, options: TableOptions) -> tuple[pd.DataFrame, pd.Series | None]:
    r"""Read a table, and take the target and the dropped columns out.

    Parameters
    ----------
    source
        Path of a CSV, Parquet or Feather file, or ``-`` for CSV on standard input.
    options
        How to read it.

    Returns
    -------
    The frame of the other columns, and the target if there is one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age,dose,cured\n31,0.5,1\n47,0.1,0\n")
    ...     frame, target = read_table(str(path), TableOptions(target="cured"))
    >>> list(frame), list(target)
    (['age', 'dose'], [1, 0])
    """
    frame = _read(source, options)
    frame.columns = [str(name) for name in frame.columns]
    if not len(frame) or not len(frame.columns):
        raise InvalidInputError(
            "The data are empty.",
            where=named(source),
            expected="a first line with the names of the columns, then at least 1 row",
            found=f"{plural(len(frame.columns), 'column')}, 0 rows",
        )
    _check_header(frame, source)
    gone = [*(options.drop or ()), *([] if options.target is None else [options.target])]
    for name in gone:
        if name not in frame.columns:
            raise _no_column(name, frame, source)
    target = None if options.target is None else frame[options.target]
    return frame.drop(columns=gone), target


def take_groups(
    frame: pd.DataFrame, source: str, column: str | None, inputs: Inputs
) -> tuple[pd.DataFrame, pd.Series | None]:
    """Take the column of groups out of a table, unless it is an input as well.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"day": [1, 1], "age": [31, 47]})
    >>> rest, groups = take_groups(frame, "people.csv", "day", Inputs.of(["age"]))
    >>> list(rest), list(groups)
    (['age'], [1, 1])
    """
    if column is None:
        return frame, None
    if column not in frame.columns:
        raise _no_column(column, frame, source)
    groups = frame[column]
    if groups.isna().any():
        raise InvalidInputError(
            "Some rows belong to no group.",
            where=f"--groups {column}",
            expected="a value in every row",
            found=f"{int(groups.isna().sum()):,} rows without",
            remedy="fill them in, or leave --groups out",
        )
    known = {*inputs.feature_names, *(each.name for each in inputs.columns)}
    return (frame if column in known else frame.drop(columns=[column])), groups


def named(source: str) -> str:
    """Name the source of a table in a message.

    Examples
    --------
    >>> named("-"), named("people.csv")
    ('standard input', 'people.csv')
    """
    return "standard input" if source == STDIN else source


def _read(source: str, options: TableOptions) -> pd.DataFrame:
    pandas = require("pandas", what="Reading tables", extra="cli")
    if source == STDIN:
        if sys.stdin.isatty():
            note("Reading CSV from the keyboard; end with Ctrl-D.")
        data = sys.stdin.buffer.read()
        return _read_csv(pandas.read_csv, io.BytesIO(data), source, options)
    path = Path(source)
    check_file(path)
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in PACKED]
    ending = endings[-1] if endings else ""
    if ending in TEXT:
        return _read_csv(pandas.read_csv, path, source, options)
    if ending in BINARY:
        return _read_binary(path, ending)
    raise InvalidInputError(
        "This file cannot be read as a table.",
        where=source,
        expected=f"{', '.join((*TEXT, *BINARY))}; '-' for CSV on standard input",
        found=ending or "no ending",
        remedy="save the table as CSV or Parquet",
    )


def _read_csv(
    read: Callable[..., Any], file: Path | io.BytesIO, source: str, options: TableOptions
) -> pd.DataFrame:
    import pandas

    tabs = source.lower().partition(".tsv")[1] != ""
    sep = (options.sep or ("\t" if tabs else ",")).replace("\\t", "\t")
    try:
        frame: pd.DataFrame = read(
            file, sep=sep, decimal=options.decimal, encoding=_encoding(options.encoding)
        )
    except pandas.errors.EmptyDataError:
        return pandas.DataFrame()
    except (UnicodeError, LookupError) as error:
        raise _bad_encoding(source, options, error) from error
    except (pandas.errors.ParserError, ValueError, TypeError) as error:
        raise InvalidInputError(
            "The file cannot be read as CSV.",
            where=named(source),
            expected=f"columns separated by {sep!r}, the same number in every line",
            found=str(error).strip().partition("\n")[0],
            remedy="correct the line, or say what separates the columns: --sep ';'",
        ) from error
    except (OSError, EOFError) as error:
        raise _damaged(source, error) from error
    other = next((s for s in SEPARATORS if s != sep and s in str(frame.columns[0])), None)
    if len(frame.columns) == 1 and other:
        raise InvalidInputError(
            "The columns of the file are not separated.",
            where=named(source),
            expected=f"columns separated by {sep!r}",
            found=f"the one column {str(frame.columns[0])[:60]!r}",
            remedy=f"add --sep {SEPARATORS[other]}",
        )
    return frame


def _encoding(name: str) -> str:
    # A byte order mark is no part of the first column's name.
    return "utf-8-sig" if name.lower() in ("utf-8", "utf8") else name


def _bad_encoding(source: str, options: TableOptions, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        "The text of the file cannot be decoded.",
        where=named(source),
        expected=f"the encoding {options.encoding}",
        found=str(error),
        remedy="say which it is, for example --encoding latin-1 or --encoding utf-16",
    )


def _read_binary(path: Path, ending: str) -> pd.DataFrame:
    import pandas

    require("pyarrow", what=f"Reading {ending} files", extra="cli")
    try:
        if ending in (".parquet", ".pq"):
            return pandas.read_parquet(path)
        return _read_arrow(path)
    except (OSError, ValueError, TypeError, EOFError) as error:  # pyarrow's are ValueErrors
        raise _damaged(str(path), error) from error


def _read_arrow(path: Path) -> pd.DataFrame:
    """Read Arrow's file format, of which Feather is one, or its stream format."""
    import pandas
    import pyarrow.ipc

    if path.open("rb").read(4) in (b"ARRO", b"FEA1"):
        return pandas.read_feather(path)
    with pyarrow.ipc.open_stream(path) as reader:
        frame: pd.DataFrame = reader.read_pandas()
    return frame


def _damaged(source: str, error: Exception) -> StorageError:
    return StorageError(
        "The file cannot be read as a table.",
        where=named(source),
        found=str(error).strip().partition("\n")[0],
        remedy="check that it is what its ending says, and whole",
    )


def _check_header(frame: pd.DataFrame, source: str) -> None:
    if all(_is_number(name) for name in frame.columns):
        raise InvalidInputError(
            "The first line of the file holds numbers in place of names.",
            where=named(source),
            expected="the names of the columns",
            found=listed(list(frame.columns)),
            remedy="add a first line with the names, separated as the rest",
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _no_column(name: str, frame: pd.DataFrame, source: str) -> InvalidInputError:
    near = closest(name, list(frame.columns))
    return InvalidInputError(
        f"There is no column {name!r}.",
        where=named(source),
        expected=f"one of {listed(list(frame.columns))}",
        remedy=f"did you mean {near!r}?" if near else "give the name as the first line has it",
    )


def closest(name: str, candidates: list[str]) -> str | None:
    """Find what the user may have meant; a far-fetched guess would mislead.

    Examples
    --------
    >>> closest("Ages", ["age", "dose"]), closest("age", ["target"])
    ('age', None)
    """
    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return folded[close[0]] if close else None
