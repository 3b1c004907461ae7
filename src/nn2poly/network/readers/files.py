"""Read the path of a saved model: the ending of its name says how."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from nn2poly.errors import StorageError, UnsupportedModelError
from nn2poly.network.network import Network

# Ending of a file → module of its reader.
READERS = {".onnx": "onnx", ".keras": "keras"}
# Endings that people try → what to do.
REMEDIES = {
    **dict.fromkeys(
        (".pt", ".pth", ".ckpt", ".safetensors"),
        "load the weights into the PyTorch module and pass the module",
    ),
    **dict.fromkeys(
        (".pkl", ".pickle", ".joblib", ".skops"), "load the model, if you trust it, and pass it"
    ),
    **dict.fromkeys((".h5", ".hdf5"), "load it with keras.models.load_model and pass the model"),
}


def read(path: str | Path, output: str | int | None = None) -> Network:
    """Read an ``.onnx`` or a ``.keras`` file; of several outputs one, by its name or number.

    Raises
    ------
    UnsupportedModelError
        For any other ending.
    StorageError
        When there is no such file, or it cannot be opened.
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in READERS:
        raise UnsupportedModelError(
            "This file cannot be read as a model.",
            where=str(path)[:200],
            expected="a path that ends in " + " or ".join(READERS),
            found=ending or "no ending",
            remedy=REMEDIES.get(ending, "pass the model itself, or export it to ONNX"),
        )
    _check(file)
    module = import_module(f"{__package__}.{READERS[ending]}")
    network: Network = module.read_file(file, output)
    return network


def opened(model: Any) -> Any:
    """Open a ``.keras`` file, which takes long, for reading and for asking it; others stay."""
    if not isinstance(model, str | Path) or Path(model).suffix.lower() != ".keras":
        return model
    _check(Path(model))
    return import_module(f"{__package__}.keras.file").load(Path(model))


def _check(file: Path) -> None:
    try:
        found = "a folder" if file.is_dir() else None if file.exists() else "no such file"
        if found is None and not file.is_file():
            found = "a pipe, a device or a socket"
    except (OSError, ValueError) as error:  # a name that no system takes
        found = str(error)
    if found is not None:
        raise StorageError(
            "The file cannot be read.",
            where=str(file)[:200],
            expected="a regular file",
            found=found,
            remedy=f"check the path; the working folder is {Path.cwd()}",
        )
