"""Weights of an ONNX model that lie in a file beside it, as PyTorch's exporter writes them.

The model may be a stranger's: only a plain file in the same folder is opened, none that a link
leads to, and no more is read than the tensors declare and the file holds.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from nn2poly.errors import StorageError
from nn2poly.files import open_regular
from nn2poly.memory import available_bytes, human_bytes
from nn2poly.network.readers.onnx.tensors import EXTERNAL, TYPES

# Of the free memory that weights may take (taste).
SHARE = 4
KEYS = {"location", "offset", "length", "checksum"}


def fetch_weights(model: Any, path: Path) -> None:
    """Put the weights that lie beside a file into its model."""
    tensors = [t for t in model.graph.initializer if t.data_location == EXTERNAL]
    total = sum(_declared(tensor) for tensor in tensors)
    room = available_bytes() // SHARE
    if total > room:
        raise _refused(path, f"weights of at most {human_bytes(room)}", human_bytes(total))
    for tensor in tensors:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        data = _part(path, entries, _declared(tensor))
        del tensor.external_data[:]
        tensor.data_location = 0
        tensor.raw_data = data


def _declared(tensor: Any) -> int:
    """Count the bytes of a tensor by its shape."""
    _, width, _ = TYPES.get(tensor.data_type, ("", 0, ""))
    return math.prod(max(0, int(size)) for size in tensor.dims) * width


def _part(path: Path, entries: dict[str, str], declared: int) -> bytes:
    name = entries.get("location", "")
    plain = bool(name) and name == os.path.basename(name) and name not in (".", "..")
    if not plain or "\\" in name or "\0" in name or not set(entries) <= KEYS:
        raise _refused(path, "a file in the same folder", repr(name)[:200])
    start = _count(entries.get("offset", "0"), path)
    length = _count(entries.get("length", str(declared)), path)
    if length != declared:
        raise _refused(path, f"{declared:,} bytes, as its shape says", f"{length:,} bytes")
    beside = path.parent / name
    if beside.is_symlink():
        raise _refused(path, "a file in the same folder", f"{name!r}, a link")
    try:
        with open_regular(beside) as opened:
            held = os.fstat(opened.fileno()).st_size
            if start + length > held:
                raise _refused(path, f"{start + length:,} bytes in {name!r}", f"{held:,} bytes")
            opened.seek(start)
            return bytes(opened.read(length))
    except OSError as error:
        raise _refused(
            path, f"the file {name!r} beside the model", error.strerror or "no such file"
        ) from error


def _count(text: str, path: Path) -> int:
    if text.isdecimal() and len(text) < 19:
        return int(text)
    raise _refused(path, "offsets and lengths in bytes", repr(text)[:100])


def _refused(path: Path, expected: str, found: str) -> StorageError:
    return StorageError(
        "The weights beside the file cannot be read.",
        where=str(path),
        expected=expected,
        found=found,
        remedy="keep the .data file beside the .onnx file, under its name; or export with "
        "torch.onnx.export(…, external_data=False)",
    )
