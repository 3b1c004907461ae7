"""Look into the weights of a ``.keras`` file before Keras opens them.

HDF5 can name other files as the place of its numbers, and can declare any number of them where
few are stored. Keras before 3.13 follows such names, so that a file from a stranger reads other
files into its weights: here they are refused, whatever the version.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

from nn2poly.errors import UnsupportedModelError, require
from nn2poly.files import check_allowance

WEIGHTS = ("model.weights.h5", "model.weights.npz")


def check_weights(path: Path) -> None:
    """Refuse weights that lie in other files, or are larger than the file may take.

    Raises
    ------
    UnsupportedModelError, StorageError
        Naming what was found.
    OSError, ValueError, RuntimeError, zipfile.BadZipFile
        When the weights are damaged.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in WEIGHTS if name in archive.namelist()}
    if "model.weights.npz" in members:
        _check_npz(members["model.weights.npz"], path)
    if "model.weights.h5" in members:
        _check_hdf5(members["model.weights.h5"], path)


def _check_npz(data: bytes, path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(info.file_size for info in archive.infolist())
    check_allowance(unpacked, path.stat().st_size, str(path))


def _check_hdf5(data: bytes, path: Path) -> None:
    h5py = require("h5py", what="Reading a .keras file")
    with h5py.File(io.BytesIO(data), "r") as file:
        total, waiting, seen = 0, [file], set()
        while waiting:
            group = waiting.pop()
            if group.id in seen:  # a link back would lead round for ever
                continue
            seen.add(group.id)
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise _refusal(path, f"{group.name}/{name}, a link to another place")
                part = group[name]
                if isinstance(part, h5py.Group):
                    waiting.append(part)
                else:
                    total += _dataset_bytes(part, path)
                    check_allowance(total, path.stat().st_size, str(path))


def _dataset_bytes(part: Any, path: Path) -> int:
    """Give the bytes that an array will take, and refuse what is not stored in the file."""
    settings = getattr(part.id, "get_create_plist", None)
    if settings is None:
        raise _refusal(path, f"{part.name}, which is no array")
    if settings().get_external_count():
        raise _refusal(path, f"{part.name}, whose numbers lie in other files")
    if part.is_virtual:
        raise _refusal(path, f"{part.name}, which is put together from other files")
    return math.prod(part.shape or ()) * int(part.dtype.itemsize)


def _refusal(path: Path, found: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        "The weights of the file lead out of it.",
        where=str(path),
        expected="arrays that are stored in the file",
        found=found,
        remedy='save the model again: model.save("model.keras")',
    )
