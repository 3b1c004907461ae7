"""A model that cannot be read can still be asked: say so where it is refused."""

from __future__ import annotations

from typing import Any

from nn2poly.errors import UnsupportedModelError
from nn2poly.inputs.joined import Parts
from nn2poly.network.network import Network
from nn2poly.network.readers import can_read, read_network, reader_of
from nn2poly.network.readers.refusals import as_function, fitting

# Frameworks → the method of a model that gives its outputs.
METHODS = {
    "flax": "model.__call__",
    "keras": "model.predict",
    "torch": "model.forward",
}


def read_or_advise(
    model: Any,
    *,
    after: str | None = None,
    n_features: int | Parts | None = None,
    output: str | int | None = None,
) -> Network:
    """Read a model; where that is refused, name the function that can be fitted instead.

    Examples
    --------
    >>> class Forest:
    ...     def predict(self, X):
    ...         return [1.0 for row in X]
    >>> read_or_advise(Forest())
    Traceback (most recent call last):
    ...
    nn2poly.errors.UnsupportedModelError: This model cannot be read.
    ... pass model.predict to fit its outputs instead: convert(model.predict, 2, data=X); or ...
    """
    try:
        return read_network(model, after=after, n_features=n_features, output=output)
    except UnsupportedModelError as error:
        advised = "convert(lambda" in (error.remedy or "")
        raise error.also(None if advised else _fallback(model)) from error.__cause__


def _fallback(model: Any) -> str | None:
    """Say how the outputs of a model are fitted; None of what cannot be asked, such as a file."""
    reader = reader_of(model) if can_read(model) else "sklearn"
    if reader == "sklearn":
        return as_function(model)
    if not isinstance(reader, str) or reader not in METHODS:
        return None
    name = METHODS[reader]
    if reader == "torch" and hasattr(model, "module_"):
        name = "model.module_.forward"
    elif any(cls.__name__ == "ScriptModule" for cls in type(model).__mro__):
        name = "model.__call__"
    # An exported program is not run.
    if not hasattr(model, name.split(".")[1]):
        return None
    return fitting(name)
