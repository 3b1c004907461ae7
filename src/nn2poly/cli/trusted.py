"""The one place that opens files which can run code: only with ``--trust``.

A pickle is a program: opening it runs whatever its author wrote. `open_trusted` is called
after the user has said that the author is trusted, and nowhere else.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

# Ending of a file → the library whose loader runs it.
LOADERS = {
    ".joblib": "joblib",
    ".pickle": "pickle",
    ".pkl": "pickle",
    ".pt": "torch",
    ".pt2": "torch.export",
    ".pth": "torch",
    ".skops": "skops.io",
}


def open_trusted(path: Path) -> Any:
    """Open a file, running what is in it.

    Parameters
    ----------
    path
        A file whose author the user trusts.

    Returns
    -------
    The object inside.
    """
    name = LOADERS[path.suffix.lower()]
    library = import_module(name)
    if name == "torch":
        return library.load(path, map_location="cpu", weights_only=False)
    if name == "torch.export":
        return library.load(path)
    if name == "skops.io":
        return library.load(path, trusted=library.get_untrusted_types(file=path))
    if name == "pickle":
        # joblib writes .pkl too, and reads both kinds.
        library = import_module("joblib") if _has("joblib") else library
    if hasattr(library, "loads"):
        return library.loads(path.read_bytes())
    return library.load(path)


def _has(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None
