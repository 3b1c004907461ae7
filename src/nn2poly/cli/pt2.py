"""Open PyTorch's exported programs (``.pt2``) without running what might be hidden in them.

``torch.export.load`` unpickles some members of the archive, loads compiled libraries and
evaluates expressions. So the archive is read here first: only plain tensors, harmless
expressions and the operations that `nn2poly.network.readers.torch.allowed` lists pass, and a new
archive that holds nothing else is what PyTorch gets to see.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nn2poly.arguments import listed
from nn2poly.errors import UnsupportedModelError
from nn2poly.files import check_archive

WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"
PROGRAM, INPUTS = "models/model.json", "data/sample_inputs/model.pt"
# Members that are data; all but the JSON ones go on as they are.
PLAIN = re.compile(
    r"archive_format|archive_version|byteorder|\.data/\w+"
    r"|data/weights/weight_\d+|data/constants/tensor_\d+"
)
KNOWN = (WEIGHTS, CONSTANTS, PROGRAM, INPUTS)
# What may be a name, and a size such as 2*Symbol('s0', positive=True).
NAME = re.compile(r"[\w.]*")
SYMBOL = re.compile(r"Symbol\('\w+'(, \w+=(True|False))*\)")
# Sums and products of numbers as sizes have them: a power could take for ever.
ARITHMETIC = re.compile(r"(?:[\s+()-]|\*(?!\s*\*)|(?<![0-9])[0-9]{1,12}(?![0-9]))*")
MAX_EXPRESSION = 1000
CONTAINERS = (None, "builtins.tuple", "builtins.list", "builtins.dict")
METADATA = ("nn_module_stack", "torch_fn")


def clean_archive(path: Path) -> io.BytesIO:
    """Copy the harmless members of an archive; refuse it when there are others.

    Raises
    ------
    UnsupportedModelError
        Naming what PyTorch would unpickle, load or evaluate.
    zipfile.BadZipFile, ValueError, KeyError
        When it is no such archive, or damaged.
    """
    check_archive(path)
    with zipfile.ZipFile(path) as archive:
        names = [name.partition("/")[2] for name in archive.namelist()]
        if strange := [name for name in names if name not in KNOWN and not PLAIN.fullmatch(name)]:
            raise _refusal(path, f"the members {listed(strange)}")
        if len(set(names)) < len(names):
            raise _refusal(path, "two members of the same name")
        members = dict(zip(names, map(archive.read, archive.namelist()), strict=True))
    for name in (WEIGHTS, CONSTANTS):
        _check_tensors(json.loads(members[name]), name.rpartition("/")[0], members, path)
    program = json.loads(members[PROGRAM])
    _check_program(program, path)
    if "guards_code" in program:  # checks of example inputs, as Python code
        program["guards_code"] = []
    members[PROGRAM] = json.dumps(program).encode()
    # The example inputs are a pickle; an export without them holds an empty member.
    members[INPUTS] = b""
    clean = io.BytesIO()
    with zipfile.ZipFile(clean, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(f"model/{name}", data)
    clean.seek(0)
    return clean


def load_pt2(path: Path) -> Any:
    """Open an exported program that holds tensors and the operations of a network alone.

    Parameters
    ----------
    path
        A file that ``torch.export.save`` wrote (PyTorch 2.8 or later).

    Returns
    -------
    torch.export.ExportedProgram
    """
    import torch

    return torch.export.load(clean_archive(path))


def _check_tensors(config: Any, folder: str, members: dict[str, bytes], path: Path) -> None:
    if pickled := [name for name, part in config["config"].items() if part["use_pickle"]]:
        raise _refusal(path, f"pickled tensors: {listed(pickled)}")
    for name, part in config["config"].items():
        stored = len(members[f"{folder}/{part['path_name']}"])
        sizes = [size["as_int"] for size in part["tensor_meta"]["sizes"]]
        # Each number takes a byte or more; with strides of 0 one could stand for millions.
        if any(type(size) is not int or size < 0 for size in sizes) or math.prod(sizes) > stored:
            raise _refusal(path, f"{name!r} of sizes {sizes} in {stored:,} bytes")


def _check_program(program: Any, path: Path) -> None:
    """Check every string that PyTorch looks up, evaluates or puts into code."""
    from nn2poly.network.readers.torch.allowed import is_target

    for key, value in _walk(program):
        if key == "metadata" and isinstance(value, dict):
            for name in set(value) - set(METADATA):
                del value[name]
        elif key == "target" and not is_target(value or ""):
            raise _refusal(path, f"the operation {value!r}")
        elif key == "expr_str" and not _is_arithmetic(value):
            raise _refusal(path, f"the expression {value[:100]!r}")
        elif key == "name" and not NAME.fullmatch(value or ""):
            raise _refusal(path, f"the name {value!r}")
        elif key in ("in_spec", "out_spec") and value:
            kinds = [kind for k, kind in _walk(json.loads(value)) if k == "type"]
            if strange := [kind for kind in kinds if kind not in CONTAINERS]:
                raise _refusal(path, f"the containers {listed(strange)}")
        elif key in ("as_custom_obj", "as_operator", "custom_obj") and value is not None:
            raise _refusal(path, f"a custom object: {value!r}")


def _is_arithmetic(expression: str) -> bool:
    """Tell whether evaluating an expression is harmless, and soon done.

    Examples
    --------
    >>> [_is_arithmetic(text) for text in ("2*Symbol('s0')*3 + 1", "9**9**9", "9 * 10000000000000")]
    [True, False, False]
    """
    # A symbol counts as a number: left out, the stars on both sides of it would meet.
    plain = SYMBOL.sub("0", expression)
    return len(expression) <= MAX_EXPRESSION and ARITHMETIC.fullmatch(plain) is not None


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Go through the entries of all dictionaries, however deep."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key, part
            yield from _walk(part)
    elif isinstance(value, list):
        for part in value:
            yield from _walk(part)


def _refusal(path: Path, found: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        "This exported program holds more than tensors and the operations of a network.",
        where=str(path),
        expected="what torch.export.save of PyTorch 2.8 or later writes for a plain network",
        found=found,
        remedy="export it to .onnx (or again to .pt2 with a newer PyTorch); or add --trust if you "
        "know who made it, since opening it as it is can run code",
    )
