"""Tables that are larger than memory: files, Arrow datasets, lazy frames, Dask collections.

The engines that read them are other people's; here they are only told apart and walked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nn2poly.arrays import FloatArray
from nn2poly.errors import InvalidInputError, require
from nn2poly.sampling import hashed, highest_number

# File formats that are streamed, by suffix, as Arrow calls them.
FORMATS = {".csv": "csv", ".parquet": "parquet", ".feather": "feather", ".arrow": "ipc"}
# Whole numbers up to this one are floats without loss; the mark of columns that were whole in a
# file, and what a frame calls those of its columns that have lost digits.
EXACT_WHOLE, WHOLE, ROUNDED = 2**53, b"whole", "nn2poly_rounded"
# Rows of one batch of a stream, 50 MB of 100 columns; and rows of a stream that are looked at in
# memory, whose statistics more rows would hardly change (taste).
BATCH_ROWS, MAX_ROWS = 65_536, 200_000


def is_dask(X: object) -> bool:
    """Tell a Dask array or data frame from everything else, without importing Dask.

    Examples
    --------
    >>> is_dask([[1.0]])
    False
    """
    kind = type(X)
    return kind.__module__.split(".")[0] == "dask" and hasattr(kind, "to_delayed")


def open_stream(X: object) -> Callable[[], Iterator[Any]] | None:
    """Give a function that walks X in batches, if X is read in batches; else None.

    Parameters
    ----------
    X
        Path of a CSV, Parquet or Feather file, or of a folder of them; a ``pyarrow`` dataset;
        a polars ``LazyFrame``.

    Examples
    --------
    >>> open_stream([[1.0]]) is None
    True
    """
    if isinstance(X, str | os.PathLike):
        X = _dataset(Path(X))
    module = type(X).__module__.split(".")[0]
    table: Any = X
    if module == "polars" and hasattr(type(X), "collect_batches"):
        return lambda: iter(table.collect_batches(chunk_size=BATCH_ROWS))
    if module == "pyarrow" and hasattr(type(X), "to_batches"):
        return lambda: _arrow_frames(table)
    return None


def is_stream(X: object) -> bool:
    """Tell whether X is walked in batches, here or by Dask."""
    if is_dask(X) or isinstance(X, str | os.PathLike):
        return True
    return open_stream(X) is not None


def dask_parts(X: Any) -> list[Any]:
    """Give the parts of a Dask collection as delayed tables, whole rows each."""
    if not hasattr(type(X), "map_blocks"):
        return list(X.to_delayed())
    if X.ndim != 2:
        raise InvalidInputError(
            "A Dask array of data must have two dimensions.",
            expected="rows and columns, (n, p)",
            found=f"{X.ndim} dimensions",
        )
    return [part for row in X.rechunk({1: -1}).to_delayed() for part in row]


def over_rows(
    function: Callable[[Any], npt.NDArray[Any]], X: Any, shape: tuple[int, ...], dtype: Any = float
) -> Any:
    """Apply a function of a table to a stream, batch by batch.

    Parameters
    ----------
    function
        Takes a table (n, p), gives an array (n, *shape).
    X
        A stream.
    shape, dtype
        Of the result's rows.

    Returns
    -------
    A NumPy array (n, *shape); of a Dask collection a Dask array, not computed yet.
    """
    stream = None if is_dask(X) else open_stream(X)
    if stream is not None:
        parts = [np.asarray(function(part)) for part in stream()]
        return np.concatenate(parts) if parts else np.zeros((0, *shape), dtype)
    import dask.array

    # One copy of the function, however many parts there are: it may hold a polynomial.
    shared, applied = dask.delayed(function), dask.delayed(_applied)
    blocks = [
        dask.array.from_delayed(applied(part, shared, shape, dtype), (np.nan, *shape), dtype=dtype)
        for part in dask_parts(X)
    ]
    return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)


def read_evenly(X: Any, read: Callable[[Any], FloatArray], limit: int = MAX_ROWS) -> FloatArray:
    """Read a table, or of a stream an even choice of at most ``limit`` rows, as one matrix.

    Examples
    --------
    >>> read_evenly([[1.0], [2.0]], np.asarray).shape
    (2, 1)
    """
    if not is_stream(X):
        return read(X)
    parts = [read(table) for table in even_choice(X, limit)]
    if not parts:
        raise InvalidInputError("The data are empty.", expected="at least 1 row", found="0 rows")
    return np.concatenate(parts)


def even_choice(X: Any, limit: int) -> Iterator[Any]:
    """Walk an even choice of at most ``limit`` rows of a stream, in tables, in order."""
    if is_dask(X):
        import dask

        parts = dask_parts(X)
        sizes = dask.compute(*[dask.delayed(len)(part) for part in parts])
        highest = highest_number(sum(sizes), limit)
        begins = np.cumsum([0, *sizes[:-1]]).tolist()
        chosen = [dask.delayed(_some)(p, b, highest) for p, b in zip(parts, begins, strict=True)]
        yield from (part for part in dask.compute(*chosen) if len(part))
        return
    stream = open_stream(X)
    if stream is None:
        yield X
        return
    highest = highest_number(sum(len(part) for part in stream()), limit)
    begin = 0
    for part in stream():
        few = _some(part, begin, highest)
        begin += len(part)
        if len(few):
            yield few


def _applied(
    part: Any, function: Callable[[Any], npt.NDArray[Any]], shape: tuple[int, ...], dtype: Any
) -> npt.NDArray[Any]:
    return np.asarray(function(part)) if len(part) else np.zeros((0, *shape), dtype)


def _some(part: Any, begin: int, highest: float) -> Any:
    """Keep the rows whose hashed number is not above ``highest``."""
    chosen = np.flatnonzero(hashed(np.arange(begin, begin + len(part))) <= highest)
    if len(chosen) == len(part):
        return part
    return part.iloc[chosen] if hasattr(type(part), "iloc") else part[chosen]


def _arrow_frames(table: Any) -> Iterator[Any]:
    """Walk what Arrow holds or reads: a dataset, a scanner, or a table in memory."""
    from pyarrow import ArrowException

    size: dict[str, int] = {}
    if hasattr(type(table), "scanner"):
        size = {"batch_size": BATCH_ROWS}
    elif hasattr(type(table), "num_rows"):
        size = {"max_chunksize": BATCH_ROWS}
    try:
        for part in table.to_batches(**size):
            if part.num_rows:
                frame = part.to_pandas()
                # Only a column that is used is refused.
                frame.attrs[ROUNDED] = _rounded(frame, part.schema)
                yield frame
    except ArrowException as error:
        raise InvalidInputError(
            "The data cannot be read to their end.",
            found=str(error),
            remedy="give every file and every part of it the same types of columns, and whole "
            f"numbers beyond {EXACT_WHOLE:,} as text",
        ) from error


def _dataset(path: Path) -> Any:
    """Open a file or a folder of files with Arrow."""
    if not path.exists():
        raise InvalidInputError("The data file does not exist.", where=str(path))
    # Writers leave marks beside the data, such as _SUCCESS and .part-0.crc; Arrow skips them too.
    inside = sorted(path.iterdir()) if path.is_dir() else [path]
    files = [file for file in inside if not file.name.startswith((".", "_"))]
    kinds = {FORMATS.get(file.suffix.lower()) for file in files}
    if len(kinds) != 1 or None in kinds:
        raise InvalidInputError(
            "The data file is of an unknown format.",
            where=str(path),
            expected="one of " + ", ".join(FORMATS) + ", or a folder of one kind of them",
            remedy="open anything else yourself, for example with pyarrow.dataset, and pass that",
        )
    otherwise = "; or read it yourself and pass a data frame"
    dataset = require(
        "pyarrow.dataset", what="Reading a data file", extra="cli", otherwise=otherwise
    )
    import pyarrow

    try:
        kind = kinds.pop()
        first = dataset.dataset(path, format=kind)
        return dataset.dataset(path, format=kind, schema=_as_numbers(first.schema))
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise InvalidInputError(
            "The data file cannot be read.", where=str(path), found=str(error)
        ) from error


def _as_numbers(schema: Any) -> Any:
    """Read whole numbers as numbers: the next file, or the next block, may have decimals."""
    import pyarrow

    for place, field in enumerate(schema):
        if pyarrow.types.is_integer(field.type) or pyarrow.types.is_null(field.type):
            number = field.with_type(pyarrow.float64()).with_metadata({WHOLE: WHOLE})
            schema = schema.set(place, number)
    return schema


def _rounded(frame: Any, schema: Any) -> list[str]:
    """Name the columns that were whole in a file's first block, and lost digits as floats."""
    whole = [field.name for field in schema if WHOLE in (field.metadata or {})]
    return [name for name in whole if np.any(np.abs(frame[name]) > EXACT_WHOLE)]
