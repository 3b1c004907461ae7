"""``nn2poly doctor``: what is installed, and what can be read."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

import nn2poly
from nn2poly.cli.command import Answer, command
from nn2poly.cli.extras import LIBRARIES
from nn2poly.tables import Table

# Kind of file → what it is, and the modules that read it.
FORMATS = {
    ".onnx": ("model", ("onnx",)),
    ".keras": ("model of Keras 3", ("keras",)),
    ".skops": ("model of scikit-learn", ("sklearn", "skops")),
    ".pt2": ("exported program of PyTorch", ("torch",)),
    ".pkl, .pickle, .joblib": ("pickle, with --trust", ("sklearn",)),
    ".pt, .pth": ("pickled module, with --trust", ("torch",)),
    ".csv, .tsv": ("table", ("pandas",)),
    ".parquet, .feather, .arrow": ("table", ("pandas", "pyarrow")),
}


@command(
    ("what is installed", "nn2poly doctor"),
    ("for a bug report", "nn2poly doctor --json"),
)
def doctor() -> Answer:
    """List versions, optional libraries, and the files that can be read here."""
    from importlib.util import find_spec

    here = {
        "nn2poly": nn2poly.__version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "platform": platform.platform(terse=True),
        "executable": sys.executable,
    }
    found = {library.package: library.version for library in LIBRARIES}
    readable = {
        ending: all(find_spec(module) for module in modules)
        for ending, (_, modules) in FORMATS.items()
    }
    head = ", ".join(f"{key} {here[key]}" for key in ("nn2poly", "python", "numpy", "platform"))
    libraries = Table(
        "Optional libraries",
        ("library", "version", "for", "to install"),
        tuple(
            (
                library.package,
                found[library.package] or "missing",
                library.purpose,
                "" if found[library.package] else f"pip install 'nn2poly[{library.extra}]'",
            )
            for library in LIBRARIES
        ),
    )
    formats = Table(
        "Files that can be read",
        ("ending", "what", "here"),
        tuple((e, FORMATS[e][0], "yes" if ok else "no") for e, ok in readable.items()),
    )
    return Answer({**here, "libraries": found, "formats": readable}, (head, libraries, formats))
