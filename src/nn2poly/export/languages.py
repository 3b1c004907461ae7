"""The table of languages: what a command line or a menu offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nn2poly.errors import InvalidInputError
from nn2poly.export.brace_source import c, javascript
from nn2poly.export.excel_formula import excel
from nn2poly.export.latex_formula import latex
from nn2poly.export.names import identifiers
from nn2poly.export.onnx_model import onnx_bytes
from nn2poly.export.python_source import python
from nn2poly.export.sql_expression import sql, sql_select
from nn2poly.export.sympy_expression import sympy, sympy_names
from nn2poly.formula.piecewise import Explicit


class Content(Protocol):
    """Writes a whole file."""

    def __call__(self, poly: Explicit, *, kind: str = "predict") -> str | bytes:
        """Write raw outputs, probabilities or labels."""


class Texts(Protocol):
    """Writes one text per output."""

    def __call__(self, poly: Explicit, *, kind: str = "predict") -> dict[str, str]:
        """Write raw outputs, probabilities or labels."""


@dataclass(frozen=True)
class Language:
    """A language that a polynomial can be written in.

    Parameters
    ----------
    suffix
        Ending of its files.
    content
        Gives the content of one file with all outputs: text, or bytes for a binary format.
    outputs
        Gives a dict with one text per output; None for a format that holds all in one.

    Examples
    --------
    >>> from nn2poly import Polynomial
    >>> poly = Polynomial([[1.0, 0.0], [2.0, 5.0]], 1, ["t"], ["a", "b"])
    >>> print(LANGUAGES["excel"].content(poly))
    =1+2*A2
    =5*A2
    <BLANKLINE>
    """

    suffix: str
    content: Content
    outputs: Texts | None = None


def _joined(outputs: Texts, between: str, suffix: str) -> Language:
    """Make a language whose file is its outputs one after the other."""

    def content(poly: Explicit, *, kind: str = "predict") -> str:
        return between.join(outputs(poly, kind=kind).values()).rstrip("\n") + "\n"

    return Language(suffix, content, outputs)


def _only_raw(kind: str, language: str) -> None:
    if kind not in ("raw", "predict"):
        raise InvalidInputError(
            f"{language} writes raw outputs alone.",
            where="kind",
            expected="'raw'",
            found=repr(kind),
            remedy="export to sql, python, c, javascript, excel or onnx",
        )


def _latex(poly: Explicit, *, kind: str = "predict") -> dict[str, str]:
    _only_raw(kind, "LaTeX")
    return latex(poly)


def _sql_file(poly: Explicit, *, kind: str = "predict") -> str:
    return sql_select(poly, "data", kind=kind) + "\n"


def _sympy_texts(poly: Explicit, *, kind: str = "predict") -> dict[str, str]:
    _only_raw(kind, "SymPy")
    return {name: str(expression) for name, expression in sympy(poly).items()}


def _sympy_lines(poly: Explicit, *, kind: str = "predict") -> str:
    """Write the outputs under plain names, after remarks on those that stand for others."""
    features, texts = sympy_names(poly), _sympy_texts(poly, kind=kind)
    outputs = dict(zip(identifiers(texts, prefix="y"), texts, strict=True))
    other = [(word, name) for word, name in (*features.items(), *outputs.items()) if word != name]
    lines = [f"# {word} is {name!r}" for word, name in other]
    lines += [f"{word} = {texts[name]}" for word, name in outputs.items()]
    return "".join(f"{line}\n" for line in lines)


# A file of SQL is a whole SELECT from a table called data.
LANGUAGES = {
    "c": _joined(c, "\n", ".c"),
    "excel": _joined(excel, "\n", ".txt"),
    "javascript": _joined(javascript, "\n", ".js"),
    "latex": _joined(_latex, "\n\n", ".tex"),
    "onnx": Language(".onnx", onnx_bytes),
    "python": _joined(python, "\n\n", ".py"),
    "sql": Language(".sql", _sql_file, sql),
    "sympy": Language(".txt", _sympy_lines, _sympy_texts),
}
