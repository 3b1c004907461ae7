"""Types and defaults in the reference, parameter by parameter.

Parameters that share one entry of a docstring (``center, scale``) would all get the type and the
default of the first one.
"""

from __future__ import annotations

from typing import Any

import griffe


class OneByOne(griffe.Extension):
    """Give every documented parameter the type and the default of its own."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Walk everything that was read."""
        for thing in _inside(pkg):
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
