"""A formula taken apart: what its files hold, whatever their format, and how it is checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nn2poly.algebra.terms import Graded, Listed, Terms
from nn2poly.arguments import check_order
from nn2poly.arrays import IntArray
from nn2poly.cards import FidelityCard
from nn2poly.errors import StorageError
from nn2poly.formula.region_tree import Tree, tree_from_dict, tree_to_dict
from nn2poly.formula.signatures import check_signature, is_signature, sign
from nn2poly.inputs import Inputs
from nn2poly.outputs import Outputs
from nn2poly.plain import plain_count, plain_list, plain_number, plain_object

if TYPE_CHECKING:
    from nn2poly.formula.piecewise import PiecewisePolynomial
    from nn2poly.formula.polynomial import Polynomial

FORMAT, VERSION = "nn2poly polynomial", 3
HEADER_FIELDS = ("format", "version", "digest", "body")
# What only some files have: the inner folder of the arrays, a signature.
HEADER_EXTRAS = ("arrays", "signature")
FIELDS = ("type", "terms", "inputs", "outputs", "coefficients", "deviations", "card", "layers")
PIECEWISE_FIELDS = ("type", "inputs", "outputs", "tree", "regions", "card")
REGION_FIELDS = ("coefficients", "deviations", "terms", "n_rows", "r2")
# What arrays hold on disk, little-endian.
NUMBERS, INDICES = "<f8", "<i8"
# Turns what stands for an array in a body into the array; the second argument is its type.
GetArray = Callable[[Any, str], Any]
PutArray = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Document:
    """The fields of one polynomial, with the documents of its layers."""

    terms: Terms
    inputs: Inputs
    outputs: Outputs
    coefficients: Any
    deviations: Any = None
    card: FidelityCard | None = None
    layers: tuple[tuple[Document, Document], ...] = ()


@dataclass(frozen=True)
class PiecewiseDocument:
    """The fields of one piecewise polynomial, with the documents of its regions."""

    tree: Tree
    parts: tuple[Document, ...]
    n_rows: tuple[int, ...] | None
    r2: tuple[float | None, ...] | None
    card: FidelityCard | None = None


AnyDocument = Document | PiecewiseDocument


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
    layers = tuple((pack(pair.input), pack(pair.output)) for pair in poly.layers)
    return Document(
        poly.terms,
        poly.inputs,
        poly.outputs,
        poly.coefficients,
        poly.deviations,
        poly.card,
        layers,
    )


def pack_piecewise(formula: PiecewisePolynomial) -> PiecewiseDocument:
    """Take a piecewise polynomial apart."""
    parts = tuple(map(pack, formula.polynomials))
    return PiecewiseDocument(formula.tree, parts, formula.n_rows, formula.r2, formula.card)


def to_body(document: AnyDocument, put_array: PutArray) -> dict[str, Any]:
    """Turn a document into JSON types, arrays through ``put_array``."""
    if isinstance(document, PiecewiseDocument):
        return _piecewise_body(document, put_array)
    return {
        "type": "polynomial",
        # The coefficients come first: an archive aligns its first array to be mapped.
        **_terms_and_values(document, put_array),
        "inputs": document.inputs.to_dict(),
        "outputs": document.outputs.to_dict(),
        "card": None if document.card is None else document.card.to_dict(),
        "layers": [[to_body(d, put_array) for d in pair] for pair in document.layers],
    }


def _terms_and_values(document: Document, put_array: PutArray) -> dict[str, Any]:
    some = document.deviations
    return {
        "coefficients": put_array(document.coefficients, NUMBERS),
        "deviations": None if some is None else put_array(some, NUMBERS),
        "terms": _terms_body(document.terms, put_array),
    }


def _piecewise_body(document: PiecewiseDocument, put_array: PutArray) -> dict[str, Any]:
    """Write what the regions share once, and for each its terms and numbers."""
    first, count = document.parts[0], len(document.parts)
    rows, r2 = document.n_rows or (None,) * count, document.r2 or (None,) * count
    return {
        "type": "piecewise",
        "inputs": first.inputs.to_dict(),
        "outputs": first.outputs.to_dict(),
        "tree": tree_to_dict(document.tree),
        "regions": [
            {**_terms_and_values(part, put_array), "n_rows": n, "r2": follows}
            for part, n, follows in zip(document.parts, rows, r2, strict=True)
        ],
        "card": None if document.card is None else document.card.to_dict(),
    }


def from_body(body: Any, get_array: GetArray, version: int = VERSION) -> AnyDocument:
    """Turn JSON types back into a document, refusing what is not known."""
    if version != VERSION:
        return OLDER[version](body, get_array)
    if isinstance(body, dict) and body.get("type") == "piecewise":
        return _piecewise_from(body, get_array)
    return _polynomial_from(body, get_array)


def _polynomial_from(body: Any, get_array: GetArray) -> Document:
    if plain_object(body, FIELDS)["type"] != "polynomial":
        raise damaged("it is of a type that is not known")
    shared = Inputs.from_dict(body["inputs"]), Outputs.from_dict(body["outputs"])
    return replace(
        _part_from(body, *shared, get_array),
        card=None if body["card"] is None else FidelityCard.from_dict(body["card"]),
        layers=tuple(
            (_polynomial_from(before, get_array), _polynomial_from(after, get_array))
            for before, after in map(plain_list, plain_list(body["layers"]))
        ),
    )


def _part_from(body: Any, inputs: Inputs, outputs: Outputs, get_array: GetArray) -> Document:
    some = body["deviations"]
    return Document(
        _terms_from(body["terms"], get_array),
        inputs,
        outputs,
        shaped(get_array(body["coefficients"], NUMBERS), outputs),
        None if some is None else shaped(get_array(some, NUMBERS), outputs),
    )


def _piecewise_from(body: Any, get_array: GetArray) -> PiecewiseDocument:
    plain_object(body, PIECEWISE_FIELDS)
    inputs, outputs = Inputs.from_dict(body["inputs"]), Outputs.from_dict(body["outputs"])
    regions = [plain_object(region, REGION_FIELDS) for region in plain_list(body["regions"])]
    rows = tuple(region["n_rows"] for region in regions)
    known = all(n is not None for n in rows)
    if not known and any(n is not None for n in rows):
        raise damaged("the rows of some regions are missing")
    r2 = tuple(None if region["r2"] is None else plain_number(region["r2"]) for region in regions)
    return PiecewiseDocument(
        tree_from_dict(body["tree"]),
        tuple(_part_from(region, inputs, outputs, get_array) for region in regions),
        tuple(map(plain_count, rows)) if known else None,
        None if all(follows is None for follows in r2) else r2,
        None if body["card"] is None else FidelityCard.from_dict(body["card"]),
    )


def shaped(values: Any, outputs: Outputs) -> Any:
    """Give an array without rows its columns back: a list of nothing has lost them."""
    return values if len(values) else np.zeros((0, outputs.count))


def _terms_body(terms: Terms, put_array: PutArray) -> dict[str, Any]:
    if isinstance(terms, Listed):
        blocks = [put_array(block, INDICES) for block in terms.blocks]
        return {"type": "listed", "n_features": terms.n_features, "blocks": blocks}
    return {"type": "graded", "n_features": terms.n_features, "max_order": terms.max_order}


def _terms_from(body: Any, get_array: GetArray) -> Terms:
    if body["type"] == "graded":
        plain_object(body, ("type", "n_features", "max_order"))
        order = check_order(plain_count(body["max_order"]), lowest=0)
        return Graded(plain_count(body["n_features"]), order)
    if body["type"] != "listed":
        raise damaged("its terms are of a kind that is not known")
    plain_object(body, ("type", "n_features", "blocks"))
    arrays = [get_array(block, INDICES) for block in plain_list(body["blocks"])]
    blocks = [a if len(a) else a.reshape(0, d) for d, a in enumerate(arrays)]
    return _check_listed(Listed(plain_count(body["n_features"]), tuple(blocks)))


def _check_listed(terms: Listed) -> Listed:
    """Refuse listed terms that break a rule: shape, range, sorted indices, sorted rows."""
    if not terms.blocks:
        raise damaged("its terms have no order")
    for degree, rows in enumerate(terms.blocks):
        shape_fits = rows.ndim == 2 and rows.shape[1] == degree and rows.dtype.kind == "i"
        if not shape_fits or (degree == 0 and len(rows) > 1):
            raise damaged("its terms do not fit their order")
        inside = not rows.size or (rows.min() >= 0 and rows.max() < terms.n_features)
        if not inside or np.any(np.diff(rows, axis=1) < 0):
            raise damaged("a term is not a sorted list of features")
        if degree and not _increasing(rows):
            raise damaged("its terms are not in order, or one stands twice")
    return terms


def _increasing(rows: IntArray) -> bool:
    """Tell whether every row comes after the one before, in lexicographic order."""
    differs = rows[1:] != rows[:-1]
    first = differs.argmax(axis=1)
    step = np.take_along_axis(np.diff(rows, axis=0), first[:, None], axis=1)
    return bool(np.all(step > 0))


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


def write_header(body: Any, digest: str, key: bytes | None = None, **extras: str) -> bytes:
    """Write the header, which is the whole of a JSON file; signed where there is a key."""
    if key is not None:
        extras["signature"] = sign(FORMAT, VERSION, digest, key)
    head = {"format": FORMAT, "version": VERSION, "digest": digest, **extras, "body": body}
    # Half a surrogate pair has no UTF-8; as an escape it is still valid JSON.
    return json.dumps(head, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Header:
    """What a file says first.

    Its version, its body, the digest that it should have, and of a folder the inner one.
    """

    version: int
    body: Any
    expected: Any
    arrays: Any = None

    def begin_digest(self) -> hashlib._Hash:
        """Begin the digest of the content."""
        return digest_of(self.body)


def read_header(data: bytes, key: bytes | None = None) -> Header:
    """Check format, version and, with a key, the signature."""
    try:
        head = json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_each_name_once)
    except (ValueError, RecursionError) as error:
        raise damaged(f"it is not valid JSON ({error})") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise StorageError(
            "This file is not a polynomial.",
            expected="a file written by the method save of a polynomial",
        )
    version = head.get("version")
    if type(version) is not int or version not in (VERSION, *OLDER):
        raise StorageError(
            "This file is of a version that this nn2poly does not know.",
            expected=f"version {VERSION} or an older one",
            found=f"version {version!r}",
            remedy="upgrade nn2poly: pip install --upgrade nn2poly",
        )
    needed = set(HEADER_FIELDS)
    if not needed <= set(head) <= needed | set(HEADER_EXTRAS):
        raise damaged(f"the fields of its header are not {', '.join(HEADER_FIELDS)}")
    signature = head.get("signature")
    if "signature" in head and not is_signature(signature):
        raise damaged("the signature in its header is none")
    if key is not None:
        check_signature(FORMAT, version, head["digest"], signature, key)
    return Header(version, head["body"], head["digest"], head.get("arrays"))


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


# How files of older versions are read; see `nn2poly.formula.migrations`.
OLDER: dict[int, Callable[[Any, GetArray], AnyDocument]] = {}


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a coefficient")


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object in which a name stands twice: readers differ in which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found
