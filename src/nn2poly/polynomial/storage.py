"""Files: a versioned format in two dresses, ``.json`` to read and ``.npz`` to keep small.

Rules of the format, version 1:

- a *body* holds the fields of one polynomial; ``layers`` is a list of pairs of bodies;
- JSON holds ``{"format", "version", "digest", "body"}``; arrays are nested lists;
- ``.npz`` holds the same header as text in ``header.npy``, arrays beside it as
  ``a0.npy``, ``a1.npy`` …; in its body an array is ``{"array": k}``; nothing is pickled;
- ``digest`` is the SHA-256 of the body (and arrays): a changed or cut file is refused;
- a reader refuses versions and fields that it does not know.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from nn2poly.cards import FidelityCard
from nn2poly.errors import StorageError
from nn2poly.memory import available_bytes, human_bytes

if TYPE_CHECKING:
    from nn2poly.polynomial.polynomial import Polynomial

FORMAT, VERSION = "nn2poly polynomial", 1
SCALARS = ("max_order", "feature_names", "output_names", "classes", "link", "card")
ARRAYS = ("coefficients", "center", "scale", "positions", "low", "high")
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
# What each array holds on disk, little-endian.
DTYPES = {name: "<i8" if name == "positions" else "<f8" for name in ARRAYS}


@dataclass(frozen=True)
class Document:
    """The fields of one polynomial as plain data, with the documents of its layers."""

    fields: dict[str, Any]
    layers: list[tuple[Document, Document]]


def pack(poly: Polynomial) -> Document:
    """Take a polynomial apart."""
    fields = {name: getattr(poly, name) for name in (*SCALARS, *ARRAYS)}
    fields["card"] = None if poly.card is None else poly.card.to_dict()
    if poly.classes is not None:
        # NumPy's own numbers become Python's.
        fields["classes"] = [c.item() if isinstance(c, np.generic) else c for c in poly.classes]
    return Document(fields, [(pack(pair.input), pack(pair.output)) for pair in poly.layers])


def save(document: Document, path: str | Path) -> Path:
    """Write a document whole or not at all; the ending chooses the dress."""
    target = Path(path)
    if target.suffix == ".json":
        data = _to_json(document)
    elif target.suffix == ".npz":
        data = _to_npz(document)
    else:
        raise StorageError(
            "The ending of the file says how to write it.",
            where=str(target),
            expected=".json (to read) or .npz (compact)",
            found=target.suffix or "no ending",
        )
    _write_atomically(target, data)
    return target


def load(path: str | Path) -> Document:
    """Read and check a document."""
    source = Path(path)
    try:
        data = source.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
        raise StorageError(
            "The file cannot be read.", where=str(source), found=_reason(error)
        ) from error
    try:
        return _from_npz(data) if data[:2] == b"PK" else _from_json(data)
    except (StorageError, *MALFORMED) as error:
        cause = error if isinstance(error, StorageError) else _damaged(_reason(error))
        raise StorageError(
            cause.what,
            where=str(source),
            expected=cause.expected,
            found=cause.found,
            remedy=cause.remedy,
        ) from error


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"


def _write_atomically(target: Path, data: bytes) -> None:
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is private; what the user saves follows the user's umask.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
    except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
        raise StorageError(
            "The file cannot be written; nothing was changed.",
            where=str(target),
            found=_reason(error),
            remedy="check that the folder exists, may be written, and has room",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _body(document: Document, put_array: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Turn a document into JSON types, arrays through ``put_array``."""
    body = {name: document.fields[name] for name in SCALARS}
    for name in ARRAYS:
        value = document.fields[name]
        body[name] = None if value is None else put_array(value, DTYPES[name])
    body["layers"] = [[_body(d, put_array) for d in pair] for pair in document.layers]
    return body


def _unbody(body: Any, get_array: Callable[[Any, str], Any]) -> Document:
    """Turn JSON types back into a document, refusing what is not known."""
    expected = {*SCALARS, *ARRAYS, "layers"}
    if not isinstance(body, dict) or set(body) != expected:
        raise _damaged("its fields are not those of the format")
    fields: dict[str, Any] = {name: body[name] for name in SCALARS}
    if fields["card"] is not None:
        fields["card"] = FidelityCard.from_dict(fields["card"])
    for name in ARRAYS:
        fields[name] = None if body[name] is None else get_array(body[name], DTYPES[name])
    layers = [(_unbody(a, get_array), _unbody(b, get_array)) for a, b in body["layers"]]
    return Document(fields, layers)


def _canonical(body: Any) -> bytes:
    try:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StorageError(
            "This polynomial holds something that a file cannot.",
            expected="classes that are strings, numbers or booleans",
            found=str(error),
        ) from error
    return text.encode()  # json.dumps gives plain ASCII


def _header(body: Any, *parts: bytes) -> bytes:
    digest = hashlib.sha256(_canonical(body))
    for part in parts:
        digest.update(part)
    head = {"format": FORMAT, "version": VERSION, "digest": digest.hexdigest(), "body": body}
    # Half a surrogate pair has no UTF-8; as an escape it is still valid JSON.
    return json.dumps(head, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _check_header(data: bytes, arrays: list[bytes]) -> Any:
    """Check format, version and digest; return the body."""
    try:
        head = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"it is not valid JSON ({error})") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise StorageError(
            "This file is not a polynomial.",
            expected="a file written by Polynomial.save",
        )
    version = head.get("version")
    if version != VERSION:
        raise StorageError(
            "This file is of a version that this nn2poly does not know.",
            expected=f"version {VERSION}",
            found=f"version {version!r}",
            remedy="upgrade nn2poly: pip install --upgrade nn2poly",
        )
    digest = hashlib.sha256(_canonical(head.get("body")))
    for part in arrays:
        digest.update(part)
    if digest.hexdigest() != head.get("digest"):
        raise _damaged("its content does not match its digest")
    return head["body"]


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a coefficient")


def _damaged(reason: str) -> StorageError:
    return StorageError(
        "This file was damaged or changed after it was saved.",
        found=reason,
        remedy="save the polynomial again",
    )


def _to_json(document: Document) -> bytes:
    return _header(_body(document, lambda array, _: array.tolist()))


def _from_json(data: bytes) -> Document:
    return _unbody(_check_header(data, []), _listed_array)


def _listed_array(value: Any, dtype: str) -> Any:
    if not isinstance(value, list):
        raise _damaged("an array is not a list")
    array = np.array(value)
    if array.size and array.dtype.kind not in "fiu":
        raise _damaged("an array holds what is not a number")
    return array.astype(dtype)


def _to_npz(document: Document) -> bytes:
    arrays: list[bytes] = []

    def put(array: Any, dtype: str) -> dict[str, int]:
        file = io.BytesIO()
        np.lib.format.write_array(
            file, np.ascontiguousarray(array, dtype=dtype), allow_pickle=False
        )
        arrays.append(file.getvalue())
        return {"array": len(arrays) - 1}

    body = _body(document, put)
    header = np.frombuffer(_header(body, *arrays), dtype=np.uint8)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        with archive.open("header.npy", "w") as member:
            np.lib.format.write_array(member, header, allow_pickle=False)
        for k, part in enumerate(arrays):
            archive.writestr(f"a{k}.npy", part)
    return out.getvalue()


def _from_npz(data: bytes) -> Document:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        count = len(names) - 1
        if names != ["header.npy", *(f"a{k}.npy" for k in range(count))]:
            raise _damaged("it does not hold the members of the format")
        _check_size(sum(info.file_size for info in archive.infolist()))
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise _damaged("it is compressed, which the format is not")
        members = [archive.read(name) for name in names]
    header = _read_array(members[0], "|u1").tobytes()
    body = _check_header(header, members[1:])

    def get(value: Any, dtype: str) -> Any:
        place = value["array"]
        if not isinstance(place, int) or place not in range(count):
            raise _damaged("an array is missing")
        return _read_array(members[1 + place], dtype)

    return _unbody(body, get)


def _check_size(n_bytes: int) -> None:
    if n_bytes > 0.8 * available_bytes():
        raise StorageError(
            "This file would not fit in memory.",
            expected=f"under {human_bytes(available_bytes())}",
            found=human_bytes(n_bytes),
        )


def _read_array(data: bytes, dtype: str) -> Any:
    """Read one .npy member whose header must agree with its length."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    shape, fortran, found = np.lib.format.read_array_header_1_0(file)
    body = data[file.tell() :]
    if version != (1, 0) or fortran or found != np.dtype(dtype):
        raise _damaged("an array is of another type than the format's")
    if min(shape, default=0) < 0 or len(body) != math.prod(shape) * found.itemsize:
        raise _damaged("an array is shorter or longer than it says")
    return np.frombuffer(body, dtype=found).reshape(shape)
