"""`read_network`: find the reader of a model by the path of its class.

A reader is imported only when a model of its framework arrives, so that importing nn2poly
imports no framework. `register_reader` adds readers of others.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.inputs.joined import Parts
from nn2poly.network.network import Network
from nn2poly.network.readers.refusals import BY_HAND, as_function

# "root package.class name" of a model or of one of its bases → module of its reader.
READERS = {
    "builtins.bytes": "onnx",
    "builtins.list": "pairs",
    "builtins.str": "files",
    "builtins.tuple": "pairs",
    "flax.Module": "flax",
    "keras.Model": "keras",
    "onnx.ModelProto": "onnx",
    "pathlib.Path": "files",
    "sklearn.BaseEstimator": "sklearn",
    "skorch.NeuralNet": "torch",
    "torch.ExportedProgram": "torch",
    "torch.Module": "torch",
}
# Readers of models that may have several outputs.
WITH_OUTPUTS = ("files", "keras", "onnx", "torch")
Matches = str | Callable[[Any], bool]
Reader = Callable[[Any], Network]
# What `register_reader` was given, the latest last.
_registered: list[tuple[Matches, Reader]] = []


def register_reader(matches: Matches, read: Reader) -> None:
    """Add a reader, so that `read_network` and `convert` take models of another framework.

    The latest registration that fits a model wins, before the readers that nn2poly brings.

    Parameters
    ----------
    matches
        Which models it reads: the path of their class or of one of its bases (``"flax.Module"``:
        the root package and the name, wherever in the package the class is defined; ``"flax"``:
        all classes of the package), which imports nothing; or a function of the model.
    read
        Takes a model and gives its `Network`.

    Examples
    --------
    >>> from nn2poly.network.network import Layer
    >>> class Line:
    ...     slope = 2.0
    >>> def read_line(line):
    ...     return Network([Layer([[line.slope]])])
    >>> register_reader(lambda model: type(model).__name__ == "Line", read_line)
    >>> read_network(Line()).predict([[3.0]])
    array([6.])
    """
    if not callable(read) or not (callable(matches) or (isinstance(matches, str) and matches)):
        raise InvalidInputError(
            "A reader is registered with what it matches and what reads.",
            where="register_reader",
            expected="a class path such as 'flax.Module' or a function, and a function",
            found=f"{type(matches).__name__} and {type(read).__name__}",
        )
    _registered.append((matches, read))


def read_network(
    model: Any,
    *,
    after: str | None = None,
    n_features: int | Parts | None = None,
    output: str | int | None = None,
) -> Network:
    """Read a trained model into a `Network`.

    Parameters
    ----------
    model
        A `Network`; a PyTorch module, Lightning module, exported program or skorch net; a
        Keras 3 model; a scikit-learn MLP, alone or in a Pipeline, search,
        TransformedTargetRegressor, BaggingRegressor or VotingRegressor; an ONNX model, its
        bytes, or the path of an ``.onnx`` or ``.keras`` file; or a list of
        ``(activation, matrix)`` pairs with the bias in row 0 of each matrix.
    after
        For a scikit-learn pipeline: read what comes after the step of this name, in the
        columns that the step gives out.
    n_features
        For a PyTorch module, which does not say it: the number of columns of the data; `convert`
        tells from its data how they are cut into several inputs.
    output
        For a model with several outputs, the one to read: its name or its number.

    Returns
    -------
    Network

    Raises
    ------
    UnsupportedModelError
        When no reader knows the model's class, or it holds a part that cannot be read.

    Examples
    --------
    >>> read_network([("tanh", [[0.0], [1.0], [1.0]]), ("linear", [[0.5], [2.0]])])
    Network(2 → 1 tanh → 1 linear)
    """
    reader = reader_of(model)
    if after is not None and reader != "sklearn":
        raise InvalidInputError(
            "Only a scikit-learn pipeline can be read after one of its steps.",
            where="after",
            found=f"{type(model).__module__}.{type(model).__qualname__}",
        )
    if not isinstance(reader, str):
        return _checked(reader(model), reader)
    options: dict[str, Any] = {} if after is None else {"after": after}
    if reader in ("flax", "torch") and n_features is not None:
        options["n_features"] = n_features
    if output is not None:
        if reader not in WITH_OUTPUTS:
            raise InvalidInputError(
                "This model has one table of outputs.",
                where="output",
                expected="a model of PyTorch, Keras or ONNX",
                found=f"{type(model).__module__}.{type(model).__qualname__}",
            )
        options["output"] = output
    network: Network = import_module(f"{__name__}.{reader}").read(model, **options)
    return network


def read_members(model: Any) -> list[Network] | None:
    """Read the networks of an average of several one by one; None of anything else.

    Examples
    --------
    >>> read_members([("tanh", [[0.0], [1.0]])]) is None
    True
    """
    if not can_read(model) or reader_of(model) != "sklearn":
        return None
    found: list[Network] | None = import_module(f"{__name__}.sklearn").members(model)
    return found


def can_read(model: Any) -> bool:
    """Say whether there is a reader of models of this class.

    Examples
    --------
    >>> can_read([]), can_read(len)
    (True, False)
    """
    try:
        reader_of(model)
    except UnsupportedModelError:
        return False
    return True


def _fits(matches: Matches, model: Any) -> bool:
    if not isinstance(matches, str):
        return bool(matches(model))
    root, *rest = matches.rstrip(".").split(".")
    mine = (c for c in type(model).__mro__ if c.__module__.partition(".")[0] == root)
    return any(not rest or c.__name__ == rest[-1] for c in mine)


def _checked(found: Any, read: Reader) -> Network:
    if isinstance(found, Network):
        return found
    raise UnsupportedModelError(
        "A registered reader does not give a network.",
        where=getattr(read, "__qualname__", repr(read)),
        expected="an nn2poly.Network",
        found=type(found).__name__,
    )


def reader_of(model: Any) -> str | Reader:
    """Give a registered reader, or the module of one by the path of a class of the model.

    Raises
    ------
    UnsupportedModelError
        When there is none.
    """
    if isinstance(model, Network):
        return lambda network: network
    for matches, read in reversed(_registered):
        if _fits(matches, model):
            return read
    for cls in type(model).__mro__:
        reader = READERS.get(f"{cls.__module__.partition('.')[0]}.{cls.__name__}")
        if reader is not None:
            return reader
    remedies = (as_function(model), BY_HAND, "add a reader with nn2poly.register_reader")
    raise UnsupportedModelError(
        "This model cannot be read.",
        expected="a model of PyTorch, Keras, scikit-learn or ONNX, an nn2poly.Network, or a list "
        "of (activation, matrix) pairs",
        found=f"{type(model).__module__}.{type(model).__qualname__}",
        remedy="; or ".join(filter(None, remedies)),
    )
