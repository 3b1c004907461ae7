"""Files: one versioned content in three formats.

``.json`` to read, ``.npz`` to keep small, and a folder (a path without an ending) for what is
too large to read at once. Rules, version 2:

- a *body* holds the fields of one formula; what comes in several kinds (the formula, its terms,
  the functions of its columns) says its ``type``; ``layers`` is a list of pairs of bodies; a
  piecewise formula holds its tree, and the terms and coefficients of its ``regions``;
- JSON holds ``{"format", "version", "digest", "body"}``; arrays are nested lists;
- ``.npz`` holds the same header as text in ``header.npy``, arrays beside it as
  ``a0.npy``, ``a1.npy`` …; in its body an array is ``{"array": k}``; nothing is pickled;
- a folder holds the same header as ``manifest.json``, which names in ``arrays`` the inner folder
  of the arrays (files of nn2poly 0.1 have them beside it); `load` maps the large ones;
- ``digest`` is the SHA-256 of the body (and arrays): a changed or cut file is refused;
- ``signature``, where a key was given, is by `nn2poly.formula.signatures`;
- a reader refuses versions, types and fields that it does not know;
- files of older versions are read by `nn2poly.formula.migrations`.
"""

from __future__ import annotations

import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from nn2poly.errors import StorageError
from nn2poly.files import open_regular, replacing, unwritten, write_whole
from nn2poly.formula import archives, migrations  # noqa: F401  (older versions register)
from nn2poly.formula.document import (
    INDICES,
    NUMBERS,
    AnyDocument,
    Document,
    PiecewiseDocument,
    Stream,
    check_digest,
    damaged,
    digest_of,
    from_body,
    pack,
    pack_piecewise,
    read_header,
    to_body,
    write_header,
)
from nn2poly.formula.folders import is_content, new_content
from nn2poly.formula.signatures import check_key
from nn2poly.memory import human_bytes

__all__ = [
    "AnyDocument",
    "Document",
    "PiecewiseDocument",
    "Stream",
    "check_room",
    "load",
    "map_large",
    "pack",
    "pack_piecewise",
    "save",
]

ENDINGS = ".json (to read), .npz (compact), or none (a folder, for large polynomials)"
# What reading a body that follows no rule can raise; each ends in a StorageError.
MALFORMED = (
    OSError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    SyntaxError,
    TokenError,
    TypeError,
    ValueError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)


def save(document: AnyDocument, path: str | Path, *, key: bytes | None = None) -> Path:
    """Write a document whole or not at all; the ending chooses the format, a key signs it."""
    secret = None if key is None else check_key(key)
    target = Path(path)
    kind = _kind(target)
    if kind == "folder":
        with new_content(target) as (folder, name):
            archives.write_folder(document, folder, name, secret)
    elif kind == ".npz":
        with replacing(target) as temporary, temporary.open("wb") as file:
            archives.write_npz(document, file, secret)
    else:
        write_whole(target, _to_json(document, secret))
    return target


def _kind(target: Path) -> str:
    """Tell the format from the ending: ``.json``, ``.npz`` or ``folder``."""
    if target.suffix in (".json", ".npz"):
        return target.suffix
    if not target.suffix and not target.name.startswith("."):
        return "folder"
    raise StorageError(
        "The ending of the file says how to write it.",
        where=str(target),
        expected=ENDINGS,
        found=target.suffix or "no ending",
    )


def check_room(document: AnyDocument, path: str | Path) -> None:
    """Refuse, before any work, a path that cannot take the document.

    Raises
    ------
    StorageError
        When the ending is not known, the folder does not exist, or the disk has no room.
    """
    target = Path(path)
    if _kind(target) == ".json":
        raise StorageError(
            "A JSON file is written from memory.",
            where=str(target),
            expected=".npz, or no ending (a folder)",
            found=".json",
            remedy="convert without out= and save the polynomial",
        )
    needed = archives.bytes_needed(document)
    try:
        free = shutil.disk_usage(target.parent).free
    except (OSError, ValueError) as error:
        raise unwritten(target, error) from error
    if needed > free:
        raise StorageError(
            "The disk has no room for this polynomial; nothing was written.",
            where=str(target),
            expected=f"{human_bytes(needed)} free",
            found=human_bytes(free),
            remedy="write to another disk, or lower max_order",
        )


def load(path: str | Path, *, key: bytes | None = None) -> AnyDocument:
    """Read and check a document, and its signature where there is a key."""
    secret = None if key is None else check_key(key)
    source = Path(path)
    try:
        is_folder = is_content(source)
        data = b"" if is_folder else _start(source)
    except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
        raise StorageError(
            "The file cannot be read.", where=str(source), found=_reason(error)
        ) from error
    try:
        if is_folder:
            return archives.read_folder(source, secret)
        if data == b"PK":
            return archives.read_npz(source, secret)
        return _from_json(archives.read_text(source), secret)
    except (StorageError, *MALFORMED) as error:
        cause = error if isinstance(error, StorageError) else damaged(_reason(error))
        raise StorageError(
            cause.what,
            where=str(source),
            expected=cause.expected,
            found=cause.found,
            remedy=cause.remedy,
        ) from error


def map_large(path: str | Path) -> AnyDocument:
    """Open what was just written without reading its large arrays: an archive or a folder."""
    source = Path(path)
    return archives.map_npz(source) if source.suffix == ".npz" else load(source)


def _start(source: Path) -> bytes:
    with open_regular(source) as file:
        return file.read(2)


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"


def _to_json(document: AnyDocument, key: bytes | None) -> bytes:
    body = to_body(document, lambda array, _: array.tolist())
    return write_header(body, digest_of(body).hexdigest(), key)


def _from_json(data: bytes, key: bytes | None) -> AnyDocument:
    header = read_header(data, key)
    check_digest(header.begin_digest(), header.expected)
    return from_body(header.body, _listed_array, header.version)


def _listed_array(value: Any, dtype: str) -> Any:
    if not isinstance(value, list):
        raise damaged("an array is not a list")
    # NumPy would turn true into 1, round what is too long, and cut off fractions of an index.
    if not all(map(_fits[dtype], _entries(value))):
        raise damaged("an array holds what is not a number, or not a whole one")
    return np.array(value, dtype=dtype)


def _entries(value: list[Any]) -> Iterator[Any]:
    for part in value:
        if isinstance(part, list):
            yield from _entries(part)
        else:
            yield part


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and float(value) == value)


def _is_index(value: Any) -> bool:
    return type(value) is int


_fits = {NUMBERS: _is_number, INDICES: _is_index}
