"""Errors and warnings: each says what failed, where, expected and found, and the remedy."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Self

__all__ = [
    "InvalidInputError",
    "InvalidNetworkError",
    "MissingDependencyError",
    "MixedRowsWarning",
    "NN2PolyError",
    "NN2PolyWarning",
    "NoSeriesError",
    "OutsideRangeWarning",
    "RadiusWarning",
    "StorageError",
    "TooManyTermsError",
    "UnknownOptionError",
    "UnknownTermError",
    "UnsupportedModelError",
]


class NN2PolyError(Exception):
    """Base of every error that nn2poly raises on purpose.

    Parameters
    ----------
    what
        One sentence: what failed.
    where, expected, found, remedy
        The rest of the story, each optional, each kept as an attribute.

    Examples
    --------
    >>> print(NN2PolyError("Bad bias.", where="layer 2", expected="(5,)", found="(4,)"))
    Bad bias.
      where: layer 2
      expected: (5,)
      found: (4,)
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.what, self.where, self.expected = what, where, expected
        self.found, self.remedy = found, remedy
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The whole story, a line for each part."""
        parts = {k: getattr(self, k) for k in ("where", "expected", "found", "remedy")}
        return "\n".join([self.what, *(f"  {k}: {v}" for k, v in parts.items() if v)])

    def within(self, place: str) -> Self:
        """Say in which larger thing it happened, and give the same error."""
        self.where = f"{place}, {self.where}" if self.where else place
        self.args = (self.message,)
        return self

    def also(self, remedy: str | None) -> Self:
        """Add another remedy, and give the same error."""
        if remedy is not None and remedy not in (self.remedy or ""):
            self.remedy = f"{self.remedy}; or {remedy}" if self.remedy else remedy
            self.args = (self.message,)
        return self

    def __str__(self) -> str:
        return self.message


class InvalidInputError(NN2PolyError, ValueError):
    """An argument or a table of data cannot be used."""


class InvalidNetworkError(NN2PolyError, ValueError):
    """The weights do not make a network: shapes that do not chain, NaN, infinities."""


class UnsupportedModelError(NN2PolyError, TypeError):
    """The model holds a part that is not a feed-forward network."""


class NoSeriesError(NN2PolyError, ValueError):
    """An activation has no Taylor series at the requested centre."""


class UnknownOptionError(NN2PolyError, TypeError):
    """A function has no option of this name."""


class UnknownTermError(NN2PolyError, KeyError):
    """A term or a feature is not part of the polynomial."""


class StorageError(NN2PolyError, ValueError):
    """A file is not a polynomial that this version can trust."""


class MissingDependencyError(NN2PolyError, ImportError):
    """An optional package is needed and not installed."""


# Import name → the name to install it by, where they differ.
PACKAGES = {"jinja2": "Jinja2", "sklearn": "scikit-learn"}


def require(module: str, *, what: str, extra: str | None = None, otherwise: str = "") -> ModuleType:
    """Import an optional module, or say how to install it.

    Parameters
    ----------
    module
        Its dotted name.
    what
        What needs it, as the beginning of a sentence.
    extra
        The extra of nn2poly that brings it; None to install the package by its own name.
    otherwise
        What else can be done, added to the remedy.

    Raises
    ------
    MissingDependencyError
        When the module, or one that it needs itself, is not installed.

    Examples
    --------
    >>> require("json", what="This").loads("[1]")
    [1]
    """
    try:
        return import_module(module)
    except ImportError as error:
        root = module.partition(".")[0]
        package = PACKAGES.get(root, root)
        install = package if extra is None else f'"nn2poly[{extra}]"'
        raise MissingDependencyError(
            f"{what} needs {package}, which is not installed.",
            found=str(error),
            remedy=f"pip install {install}{otherwise}",
        ) from error


class TooManyTermsError(NN2PolyError, MemoryError):
    """The polynomial would not fit in memory.

    Attributes
    ----------
    n_terms
        Number of terms that were asked for.
    n_bytes
        Memory that they would need.
    """

    def __init__(self, what: str, *, n_terms: int, n_bytes: int, remedy: str) -> None:
        self.n_terms, self.n_bytes = n_terms, n_bytes
        super().__init__(what, remedy=remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without its keywords a pool of workers would break on it.
        again = partial(type(self), n_terms=self.n_terms, n_bytes=self.n_bytes, remedy="")
        return again, (self.what,), vars(self)


class NN2PolyWarning(UserWarning):
    """Base of every warning that nn2poly gives."""


class OutsideRangeWarning(NN2PolyWarning):
    """A prediction is asked for rows outside the range that the conversion saw."""


class MixedRowsWarning(NN2PolyWarning):
    """An explanation moves columns apart, and the formula is rough or worse on such rows."""


class RadiusWarning(NN2PolyWarning):
    """The weights can drive a potential outside the radius of convergence of its series."""


def warn_user(message: str, category: type[NN2PolyWarning]) -> None:
    """Give a warning at the line of the user's code that led here, however deep we are."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "nn2poly":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
