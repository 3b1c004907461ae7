"""Load a ``.keras`` file after looking at what it asks for, so that nothing in it can run.

The file is a zip archive: ``config.json`` names classes and functions, ``model.weights.h5``
holds numbers. Every name is checked before Keras sees it: only classes of Keras itself, only
layers that can be read, no serialised code; and no layer larger than the stored weights.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nn2poly.errors import InvalidInputError, NN2PolyError, UnsupportedModelError, require
from nn2poly.files import check_archive
from nn2poly.network.readers.keras.calls import refusal
from nn2poly.network.readers.keras.layers import find_rule
from nn2poly.network.readers.keras.weights import check_weights
from nn2poly.plain import plain_mapping

MEMBERS = {"metadata.json", "config.json", "model.weights.h5", "model.weights.npz"}
MODELS = {"InputLayer", "Sequential", "Functional"}
# Where the classes and functions that a plain model names may come from.
MODULES = (
    *("activations", "constraints", "dtype_policies", "initializers", "layers", "losses"),
    *("metrics", "models", "ops", "optimizers", "regularizers"),
)
# Entries that are data, not classes.
DATA = {"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"}
# 64 MiB of JSON, by taste: thousands of layers, and quickly read.
MAX_CONFIG_BYTES = 1 << 26
# Layers whose weights are compared with what is stored.
WITH_WEIGHTS = ("BatchNormalization", "Dense", "Embedding", "PReLU")
# What looking into a file that follows no rule can raise.
BROKEN = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, NotImplementedError, OSError),
    *(RuntimeError, TypeError, ValueError, zipfile.BadZipFile, zlib.error),
)
TRUSTED = "if you trust the file, load it yourself with keras.saving.load_model and pass the model"


def load(path: Path) -> Any:
    """Load a saved model that consists of Keras' own layers only.

    Raises
    ------
    InvalidInputError
        When there is no such file, or it is not a Keras archive.
    UnsupportedModelError
        When it asks for code (a Lambda), for classes outside Keras, or for more memory than
        its weights fill.
    """
    try:
        config, n_bytes = _read_config(path)
        _check_names(config, path)
        _check_sizes(config, n_bytes, path)
        check_weights(path)
    except NN2PolyError:
        raise
    except BROKEN as error:
        raise InvalidInputError(
            "This is not a model saved by Keras 3.",
            where=str(path),
            expected="a .keras file: a zip archive with config.json and weights",
            found=f"{type(error).__name__}: {str(error)[:300]}",
            remedy='save it with model.save("model.keras")',
        ) from error
    backend = " torch, and set KERAS_BACKEND=torch (or the one you have)"
    keras = require("keras", what="Reading a .keras file", otherwise=backend)
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # of whatever kind: the file decides what goes wrong in Keras
        raise UnsupportedModelError(
            "Keras cannot load this file.",
            where=str(path),
            found=f"{type(error).__name__}: {str(error)[:300]}",
            remedy="save the model again with this version of Keras",
        ) from error


def _read_config(path: Path) -> tuple[dict[str, Any], int]:
    """Give the configuration, and the bytes of the weights."""
    if not path.is_file():
        raise InvalidInputError("There is no such file.", where=str(path))
    check_archive(path)
    with zipfile.ZipFile(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        strangers = sorted(set(sizes) - MEMBERS)
        if strangers or sizes["config.json"] > MAX_CONFIG_BYTES:
            raise UnsupportedModelError(
                "The file holds more than the layers and weights of a model.",
                where=str(path),
                found=", ".join(strangers) or f"config.json of {sizes['config.json']:,} bytes",
                remedy=TRUSTED,
            )
        if len(sizes) < len(archive.namelist()):
            raise ValueError("two members of the same name")
        config = plain_mapping(json.loads(archive.read("config.json")))
    # Of the outermost model, Keras leaves the loss and the metrics out.
    top = {k: v for k, v in config.items() if k != "compile_config"}
    return top, sum(size for name, size in sizes.items() if ".weights." in name)


def _check_names(config: dict[str, Any], path: Path) -> None:
    for entry in _named_objects(config):
        kind, module = str(entry["class_name"]), str(entry.get("module") or "")
        where = f"{path}: {_name(entry)}"
        if kind in ("Lambda", "__lambda__"):
            raise UnsupportedModelError(
                f"The file holds Python code, in {_name(entry)!r}, which is never run.",
                where=where,
                expected="Keras' own layers",
                found=kind,
                remedy="replace the Lambda by a Keras layer; " + TRUSTED,
            )
        # A registered name would win over Keras' own class.
        registered = entry.get("registered_name") not in (None, kind)
        if registered or not _is_known(module, kind) or not _is_one_name(entry):
            raise UnsupportedModelError(
                f"The file needs {kind!r}, which is not a part of Keras that can be read.",
                where=where,
                found=f"{module or '(no module)'}.{kind}",
                remedy=TRUSTED,
            )
        # Wherever it stands: Keras would also make a layer that is given as an initializer.
        if "layers" in module.split(".") and not _is_readable(module, kind):
            raise refusal(module, kind, _name(entry))
    for entry in _layers(config):
        kind, module = str(entry["class_name"]), str(entry.get("module") or "")
        if not _is_readable(module, kind):
            raise refusal(module, kind, _name(entry))


def _is_readable(module: str, kind: str) -> bool:
    return kind in MODELS or find_rule(module, kind) is not None


def _is_one_name(entry: dict[str, Any]) -> bool:
    """Say whether a class or function is named without a path, which would lead elsewhere."""
    names = [entry["class_name"], *([entry["config"]] if entry["class_name"] == "function" else [])]
    return all(str(name).isidentifier() for name in names)


def _is_known(module: str, kind: str) -> bool:
    if kind in DATA:
        return True
    root, *rest = [part for part in module.split(".") if part != "src"] or [""]
    if root == "builtins":
        return kind == "function"
    return root == "keras" and (not rest or rest[0] in MODULES)


def _check_sizes(config: dict[str, Any], n_bytes: int, path: Path) -> None:
    """Compare what the layers would allocate with the bytes that are there to fill it."""
    for entry in _layers(config):
        shape = [n for n in _build_shape(entry) if isinstance(n, int)]
        settings = entry["config"] if isinstance(entry["config"], dict) else {}
        numbers = max(shape, default=0)
        if entry["class_name"] == "Dense":
            if not shape:
                raise _damaged(entry, "a Dense layer without the shape of its inputs", path)
            numbers = shape[-1] * _count(settings, "units")
        elif entry["class_name"] == "Embedding":
            numbers = _count(settings, "input_dim") * _count(settings, "output_dim")
        elif entry["class_name"] == "PReLU" and not settings.get("shared_axes"):
            numbers = math.prod(shape)
        if numbers > n_bytes and entry["class_name"] in WITH_WEIGHTS:
            found = f"{numbers:,} weights declared, {n_bytes:,} bytes stored"
            raise _damaged(entry, found, path)


def _count(settings: dict[str, Any], name: str) -> int:
    count = settings.get(name, 1)
    if type(count) is not int:
        raise ValueError(f"a layer of {count!r} {name}")
    return count


def _damaged(entry: dict[str, Any], found: str, path: Path) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The layer {_name(entry)!r} and its stored weights do not go together.",
        where=str(path),
        found=found,
        remedy="the file is damaged; save the model again",
    )


def _build_shape(entry: dict[str, Any]) -> list[Any]:
    build = entry.get("build_config")
    shape = build.get("input_shape") if isinstance(build, dict) else None
    return shape if isinstance(shape, list) else []


def _name(entry: dict[str, Any]) -> str:
    settings = entry["config"]
    named = settings.get("name") if isinstance(settings, dict) else settings
    return str(entry.get("name") or named or entry["class_name"])


def _layers(config: Any) -> Iterator[dict[str, Any]]:
    """Walk the layers of a model and of the models inside it."""
    settings = config.get("config") if isinstance(config, dict) else None
    layers = settings.get("layers") if isinstance(settings, dict) else None
    for entry in layers if isinstance(layers, list) else []:
        if isinstance(entry, dict) and "class_name" in entry and "config" in entry:
            yield entry
            yield from _layers(entry)


def _named_objects(node: Any) -> Iterator[dict[str, Any]]:
    """Walk everything that names a class or a function, at any depth."""
    if isinstance(node, dict):
        if "class_name" in node:
            yield {"config": {}, **node}
        for value in node.values():
            yield from _named_objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from _named_objects(value)
