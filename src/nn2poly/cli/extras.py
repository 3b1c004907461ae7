"""The optional libraries: what each is for, and the extra that installs it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from nn2poly.errors import MissingDependencyError


@dataclass(frozen=True)
class Library:
    """A library that some commands need.

    Parameters
    ----------
    module, package
        What is imported, and what is installed.
    extra
        ``pip install 'nn2poly[extra]'``.
    purpose
        What it is for, in a few words.
    """

    module: str
    package: str
    extra: str
    purpose: str

    @property
    def version(self) -> str | None:
        """The version that is installed; None when it is not."""
        try:
            return version(self.package) if find_spec(self.module) else None
        except (PackageNotFoundError, ValueError):  # ValueError: a module half imported
            return None


LIBRARIES = (
    Library("onnx", "onnx", "onnx", "read .onnx, export to ONNX"),
    Library("keras", "keras", "keras", "read .keras"),
    Library("sklearn", "scikit-learn", "sklearn", "read .skops, the demo"),
    Library("skops", "skops", "cli", "read .skops"),
    Library("torch", "torch", "torch", "read .pt2"),
    Library("pandas", "pandas", "cli", "read tables"),
    Library("pyarrow", "pyarrow", "cli", "read Parquet and Feather"),
    Library("matplotlib", "matplotlib", "plots", "plots"),
    Library("jinja2", "Jinja2", "report", "reports"),
    Library("sympy", "sympy", "sympy", "export to SymPy"),
    Library("shap", "shap", "explain", "comparisons with SHAP"),
    Library("shapiq", "shapiq", "explain", "interaction values of SHAP"),
    Library("polars", "polars", "polars", "data frames of polars in Python"),
    Library("dask", "dask", "dask", "data larger than memory in Python"),
)


def missing_library(error: ModuleNotFoundError) -> MissingDependencyError | None:
    """Say how to install what an import did not find; None when it is none of ours.

    Examples
    --------
    >>> print(missing_library(ModuleNotFoundError(name="matplotlib.figure")))
    This needs matplotlib, which is not installed.
      remedy: pip install 'nn2poly[plots]'
    """
    root = (error.name or "").partition(".")[0]
    library = next((known for known in LIBRARIES if known.module == root), None)
    if library is None:
        return None
    return MissingDependencyError(
        f"This needs {library.package}, which is not installed.",
        remedy=f"pip install 'nn2poly[{library.extra}]'",
    )
