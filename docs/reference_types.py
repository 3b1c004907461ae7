"""Signatures, types and defaults in the reference, parameter by parameter.

Parameters that share one entry of a docstring (``center, scale``) would all get the type and the
default of the first one. A reader has no use for private parameters, and wants the value of a
default, not the name of the constant that holds it. The options of a conversion are written in
`Options` alone; the functions that take them get them when they are imported.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe


class OneByOne(griffe.Extension):
    """Give every documented parameter the type and the default of its own."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Walk everything that was read."""
        things = _inside(pkg)
        for thing in things:
            if thing.is_function:
                _with_options(thing)
                _tidy(thing)
        for thing in things:
            _correct(thing)


def _inside(thing: Any) -> list[Any]:
    own = [member for member in thing.members.values() if not member.is_alias]
    return own + [inner for member in own for inner in _inside(member)]


def _correct(thing: Any) -> None:
    if thing.docstring is None or not (thing.is_function or thing.is_class):
        return
    given = {parameter.name: parameter for parameter in thing.parameters}
    for section in thing.docstring.parsed:
        if section.kind is not griffe.DocstringSectionKind.parameters:
            continue
        for entry in section.value:
            if (real := given.get(entry.name)) is not None:
                entry.annotation, entry.value = real.annotation, real.default


def _with_options(function: Any) -> None:
    """Read the parameters and texts of a function that `takes` options as it has them itself."""
    if not any(str(decorator.value).startswith("takes(") for decorator in function.decorators):
        return
    real = getattr(import_module(function.module.path), function.name)
    function.docstring.value = inspect.cleandoc(real.__doc__)
    own = {parameter.name: parameter for parameter in function.parameters}
    function.parameters = griffe.Parameters(
        *(
            own.get(name)
            or griffe.Parameter(
                name,
                annotation=parameter.annotation,
                kind=griffe.ParameterKind.keyword_only,
                default=repr(parameter.default),
            )
            for name, parameter in inspect.signature(real).parameters.items()
        )
    )


def _tidy(function: Any) -> None:
    """Leave private parameters out of a signature, and give constants as their values."""
    for parameter in list(function.parameters):
        if parameter.name.startswith("_"):
            del function.parameters[parameter.name]
        elif (name := str(parameter.default)).isidentifier() and name.isupper():
            parameter.default = _value(function, name)


def _value(function: Any, name: str) -> str:
    """Give the value of a constant of the function's module; its name if that cannot be loaded."""
    try:
        return repr(getattr(import_module(function.module.path), name))
    except (AttributeError, ImportError):  # a reader of a framework that is not installed
        return name
