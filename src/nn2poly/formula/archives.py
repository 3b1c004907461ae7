"""Arrays in files, piece by piece: members of an ``.npz`` archive, or files of a folder.

Nothing here holds more than a piece of an array that is being written, and the header comes
last, so that what was interrupted has none.
"""

from __future__ import annotations

import hashlib
import io
import math
import mmap
import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from nn2poly.errors import StorageError
from nn2poly.files import open_regular
from nn2poly.formula.document import (
    AnyDocument,
    Header,
    Stream,
    check_digest,
    damaged,
    digest_of,
    from_body,
    read_header,
    to_body,
    write_header,
)
from nn2poly.formula.folders import ARRAYS, MANIFEST
from nn2poly.memory import available_bytes, human_bytes
from nn2poly.plain import plain_object

# Bytes that are read or written at a time, and the size from which a file is mapped: below, a
# read is as quick (taste).
PIECE_BYTES = 8 * 2**20
MAPPED_FROM = 2**20
# Memory that JSON takes while it is read, in times of its text (measured: lists of empty lists
# take 29 times, numbers 8).
JSON_TIMES = 30
# The maps whose content `load` has checked: they need not be read again to be trusted.
_checked: WeakSet[mmap.mmap] = WeakSet()


def is_checked_map(array: Any) -> bool:
    """Tell whether an array is (a view of) a file that was mapped and checked here.

    Examples
    --------
    >>> is_checked_map(np.zeros(3))
    False
    """
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap) and array in _checked


def write_npz(document: AnyDocument, target: BinaryIO, key: bytes | None = None) -> None:
    """Write an archive; its directory, which makes it one, comes last."""
    body, arrays = _numbered(document)
    digest = digest_of(body)
    archive = zipfile.ZipFile(target, "w", zipfile.ZIP_STORED)
    try:
        for k, (array, dtype) in enumerate(arrays):
            # The longer local header also aligns the numbers of a0.npy to 8 bytes.
            with archive.open(f"a{k}.npy", "w", force_zip64=True) as member:
                _write_array(member, array, dtype, digest)
        with archive.open("header.npy", "w") as member:
            header = np.frombuffer(write_header(body, digest.hexdigest(), key), dtype=np.uint8)
            np.lib.format.write_array(member, header, allow_pickle=False)
        # The header is the first of the directory and the last of the file.
        archive.filelist.insert(0, archive.filelist.pop())
        archive.close()
    except BaseException:
        # What was interrupted gets no directory; closing would raise for an open member.
        archive.fp = None
        raise


def write_folder(document: AnyDocument, folder: Path, inner: str, key: bytes | None = None) -> None:
    """Write the arrays into the inner folder, then the manifest into the outer one."""
    body, arrays = _numbered(document)
    digest = digest_of(body)
    for k, (array, dtype) in enumerate(arrays):
        with (folder / inner / f"a{k}.npy").open("wb") as file:
            _write_array(file, array, dtype, digest)
    header = write_header(body, digest.hexdigest(), key, arrays=inner)
    (folder / MANIFEST).write_bytes(header)


def bytes_needed(document: AnyDocument) -> int:
    """Estimate the size of an archive or folder."""
    sizes: list[int] = [8 * math.prod(array.shape) + 512 for array, _ in _numbered(document)[1]]
    return sum(sizes) + 2**16


def _numbered(document: AnyDocument) -> tuple[dict[str, Any], list[tuple[Any, str]]]:
    arrays: list[tuple[Any, str]] = []

    def put(array: Any, dtype: str) -> dict[str, int]:
        arrays.append((array, dtype))
        return {"array": len(arrays) - 1}

    return to_body(document, put), arrays


def _write_array(file: Any, array: Any, dtype: str, digest: hashlib._Hash) -> None:
    head = io.BytesIO()
    description = {"descr": dtype, "fortran_order": False, "shape": tuple(array.shape)}
    np.lib.format.write_array_header_1_0(head, description)
    file.write(head.getvalue())
    digest.update(head.getvalue())
    for rows in array.pieces() if isinstance(array, Stream) else _pieces(array):
        if rows.size:
            piece = np.ascontiguousarray(rows, dtype=dtype).data.cast("B")
            file.write(piece)
            digest.update(piece)


def _pieces(array: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Cut an array into runs of rows; an empty one has none."""
    width = max(1, math.prod(array.shape[1:]))
    step = max(1, PIECE_BYTES // (8 * width))
    for begin in range(0, len(array) if array.size else 0, step):
        yield array[begin : begin + step]


def read_npz(source: Path, key: bytes | None = None) -> AnyDocument:
    """Read an archive into memory."""
    with open_regular(source) as file, zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        count = len(infos) - 1
        if archive.namelist() != ["header.npy", *(f"a{k}.npy" for k in range(count))]:
            raise damaged("it does not hold the members of the format")
        _check_size(sum(info.file_size for info in infos))
        if sum(info.file_size for info in infos) > os.fstat(file.fileno()).st_size:
            raise damaged("its members overlap: together they are longer than the file")
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise damaged("it is compressed, which the format is not")
        with archive.open(infos[0]) as member:
            head = _read_array(member, infos[0].file_size, hashlib.sha256())
        if head.dtype != np.uint8:
            raise damaged("its header is not text")
        header = read_header(head.tobytes(), key)
        digest, arrays = header.begin_digest(), []
        for info in infos[1:]:
            with archive.open(info) as member:
                arrays.append(_read_array(member, info.file_size, digest))
    check_digest(digest, header.expected)
    return _document(header, arrays)


def read_folder(folder: Path, key: bytes | None = None) -> AnyDocument:
    """Read the manifest, check the arrays, and map those that are large.

    When a writer replaces the content meanwhile, the arrays of the old one may be gone: the
    manifest tells, and the new content is read.
    """
    manifest = read_text(folder / MANIFEST)
    while True:
        try:
            return _read_content(folder, manifest, key)
        except (StorageError, OSError):
            newer = read_text(folder / MANIFEST)
            if newer == manifest:
                raise
            manifest = newer


def _read_content(folder: Path, manifest: bytes, key: bytes | None) -> AnyDocument:
    header = read_header(manifest, key)
    place = _place_of_arrays(folder, header)
    files = sorted(place.glob("a*.npy"), key=lambda path: (len(path.name), path.name))
    if [path.name for path in files] != [f"a{k}.npy" for k in range(len(files))]:
        raise damaged("it does not hold the files of the format")
    digest, arrays = header.begin_digest(), []
    for path in files:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            large = size >= MAPPED_FROM
            arrays.append((_map if large else _read_array)(file, size, digest))
    check_digest(digest, header.expected)
    return _document(header, arrays)


def read_text(path: Path) -> bytes:
    """Read a file of JSON whole, if memory can hold what it becomes."""
    with open_regular(path) as file:
        _check_size(JSON_TIMES * os.fstat(file.fileno()).st_size)
        return file.read()


def _place_of_arrays(folder: Path, header: Header) -> Path:
    if header.arrays is None:
        return folder
    if not isinstance(header.arrays, str) or not ARRAYS.fullmatch(header.arrays):
        raise damaged("its manifest names no inner folder")
    return folder / header.arrays


def map_npz(source: Path) -> AnyDocument:
    """Read an archive that was just written, mapping its large arrays where they lie."""
    with zipfile.ZipFile(source) as archive:
        infos = archive.infolist()
        with archive.open(infos[0]) as member:
            head = _read_array(member, infos[0].file_size, hashlib.sha256())
        arrays = []
        for info in infos[1:]:
            with archive.open(info) as member:
                reader = _Reader(member, info.file_size, hashlib.sha256())
                shape, dtype = reader.header()
                if info.file_size < MAPPED_FROM:
                    arrays.append(reader.values(shape, dtype))
                else:
                    begin = _member_begin(source, info.header_offset)
                    arrays.append(_mapped(source, shape, dtype, begin + reader.done))
    return _document(read_header(head.tobytes()), arrays)


def _member_begin(source: Path, header_offset: int) -> int:
    """Find the first byte of a member after its local header, of 30 bytes, a name and extras."""
    with source.open("rb") as file:
        file.seek(header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
    return header_offset + 30 + int(name) + int(extra)


def _document(header: Header, arrays: list[Any]) -> AnyDocument:
    """Put the arrays into the places of the body that name them; each must have one."""
    used = set()

    def get(value: Any, dtype: str) -> Any:
        place = plain_object(value, ("array",))["array"]
        if type(place) is not int or place not in range(len(arrays)):
            raise damaged("an array is missing")
        if arrays[place].dtype != np.dtype(dtype):
            raise damaged("an array is of another type than the format's")
        used.add(place)
        return arrays[place]

    document = from_body(header.body, get, header.version)
    if len(used) < len(arrays):
        raise damaged("an array belongs to nothing")
    return document


def _check_size(n_bytes: int) -> None:
    if n_bytes > 0.8 * available_bytes():
        raise StorageError(
            "This file would not fit in memory.",
            expected=f"under {human_bytes(available_bytes())}",
            found=human_bytes(n_bytes),
            remedy="save large polynomials as a folder, which is mapped and not read",
        )


class _Reader:
    """Reads one .npy file or member whose header must agree with its length."""

    def __init__(self, file: Any, size: int, digest: hashlib._Hash) -> None:
        self.file, self.size, self.digest, self.done = file, size, digest, 0

    def read(self, n: int = -1, /) -> bytes:
        data: bytes = self.file.read(n)
        self.digest.update(data)
        self.done += len(data)
        return data

    def header(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        version = np.lib.format.read_magic(self)
        if version != (1, 0):
            raise damaged("an array is of another type than the format's")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(self)
        if fortran or dtype.str not in ("<f8", "<i8", "|u1"):
            raise damaged("an array is of another type than the format's")
        length = self.size - self.done
        if min(shape, default=0) < 0 or length != math.prod(shape) * dtype.itemsize:
            raise damaged("an array is shorter or longer than it says")
        return shape, dtype

    def values(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        array = np.empty(math.prod(shape), dtype=dtype)
        view, place = array.view(np.uint8), 0
        for piece in self.pieces():
            view[place : place + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
            place += len(piece)
        array.setflags(write=False)
        return array.reshape(shape)

    def pieces(self) -> Iterator[bytes]:
        while self.done < self.size:
            piece = self.read(min(PIECE_BYTES, self.size - self.done))
            if not piece:
                raise damaged("an array is shorter or longer than it says")
            yield piece
        if self.read(1):  # also lets an archive compare its checksum
            raise damaged("an array is shorter or longer than it says")


def _read_array(file: Any, size: int, digest: hashlib._Hash) -> npt.NDArray[Any]:
    reader = _Reader(file, size, digest)
    return reader.values(*reader.header())


def _map(file: Any, size: int, digest: hashlib._Hash) -> npt.NDArray[Any]:
    """Check a file by reading it through, without keeping it, and map it."""
    reader = _Reader(file, size, digest)
    shape, dtype = reader.header()
    start = reader.done
    for piece in reader.pieces():
        if dtype.kind == "f" and not np.all(np.isfinite(np.frombuffer(piece, dtype))):
            raise damaged("NaN or infinite values")
    return _mapped(file, shape, dtype, start)


def _mapped(
    file: Any, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int
) -> npt.NDArray[Any]:
    array = np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=shape)
    _checked.add(array._mmap)  # type: ignore[attr-defined]
    return array.view(np.ndarray)
