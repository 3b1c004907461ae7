"""A polynomial taken apart: what its files hold, whatever their dress, and how it is checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nn2poly.cards import FidelityCard
from nn2poly.errors import StorageError

if TYPE_CHECKING:
    from nn2poly.formula.polynomial import Polynomial

FORMAT, VERSION = "nn2poly polynomial", 1
SCALARS = ("max_order", "feature_names", "output_names", "classes", "link", "card")
ARRAYS = ("coefficients", "center", "scale", "positions", "low", "high")
# What each array holds on disk, little-endian.
DTYPES = {name: "<i8" if name == "positions" else "<f8" for name in ARRAYS}


@dataclass(frozen=True)
class Document:
    """The fields of one polynomial as plain data, with the documents of its layers."""

    fields: dict[str, Any]
    layers: list[tuple[Document, Document]]


@dataclass(frozen=True)
class Stream:
    """An array (n_rows, n_columns) that is written while it is computed.

    Parameters
    ----------
    shape
        Rows and columns in all.
    pieces
        Gives its rows in order, as arrays (some rows, n_columns).
    """

    shape: tuple[int, int]
    pieces: Callable[[], Iterator[npt.NDArray[np.float64]]]


def pack(poly: Polynomial) -> Document:
    """Take a polynomial apart."""
    fields = {name: getattr(poly, name) for name in (*SCALARS, *ARRAYS)}
    return Document(plain(fields), [(pack(pair.input), pack(pair.output)) for pair in poly.layers])


def plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Turn the card and the classes into what JSON holds."""
    card, classes = fields["card"], fields["classes"]
    if classes is not None:
        # NumPy's own numbers become Python's.
        classes = [c.item() if isinstance(c, np.generic) else c for c in classes]
    return {**fields, "card": None if card is None else card.to_dict(), "classes": classes}


def to_body(document: Document, put_array: Callable[[Any, str], Any]) -> dict[str, Any]:
    """Turn a document into JSON types, arrays through ``put_array``."""
    body = {name: document.fields[name] for name in SCALARS}
    for name in ARRAYS:
        value = document.fields[name]
        body[name] = None if value is None else put_array(value, DTYPES[name])
    body["layers"] = [[to_body(d, put_array) for d in pair] for pair in document.layers]
    return body


def from_body(body: Any, get_array: Callable[[Any, str], Any]) -> Document:
    """Turn JSON types back into a document, refusing what is not known."""
    expected = {*SCALARS, *ARRAYS, "layers"}
    if not isinstance(body, dict) or set(body) != expected:
        raise damaged("its fields are not those of the format")
    fields: dict[str, Any] = {name: body[name] for name in SCALARS}
    if fields["card"] is not None:
        fields["card"] = FidelityCard.from_dict(fields["card"])
    for name in ARRAYS:
        fields[name] = None if body[name] is None else get_array(body[name], DTYPES[name])
    layers = [(from_body(a, get_array), from_body(b, get_array)) for a, b in body["layers"]]
    return Document(fields, layers)


def digest_of(body: Any) -> hashlib._Hash:
    """Begin a digest with the body; the arrays follow."""
    try:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StorageError(
            "This polynomial holds something that a file cannot.",
            expected="classes that are strings, numbers or booleans",
            found=str(error),
        ) from error
    return hashlib.sha256(text.encode())  # json.dumps gives plain ASCII


def write_header(body: Any, digest: str) -> bytes:
    """Write the header, which is the whole of a JSON file."""
    head = {"format": FORMAT, "version": VERSION, "digest": digest, "body": body}
    # Half a surrogate pair has no UTF-8; as an escape it is still valid JSON.
    return json.dumps(head, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")


def read_header(data: bytes) -> tuple[Any, hashlib._Hash, Any]:
    """Check format and version; return the body, its digest so far, and the digest expected."""
    try:
        head = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise damaged(f"it is not valid JSON ({error})") from error
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
    return head.get("body"), digest_of(head.get("body")), head.get("digest")


def check_digest(found: hashlib._Hash, expected: Any) -> None:
    """Refuse a content that does not match the digest of the header."""
    if found.hexdigest() != expected:
        raise damaged("its content does not match its digest")


def damaged(reason: str) -> StorageError:
    """Word the refusal of a file that breaks a rule."""
    return StorageError(
        "This file was damaged or changed after it was saved.",
        found=reason,
        remedy="save the polynomial again",
    )


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a coefficient")
