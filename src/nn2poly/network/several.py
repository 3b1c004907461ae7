"""Models with several inputs: which tables of the data are which, side by side in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nn2poly.batches import TABLE_KEYS, Batches, torch_batches
from nn2poly.errors import InvalidInputError
from nn2poly.inputs.joined import Parts, given_tables, join_tables
from nn2poly.network.readers import can_read, reader_of


def input_names(model: Any) -> tuple[str, ...]:
    """List the inputs that a model of PyTorch or Keras asks for; none where it does not say.

    Examples
    --------
    >>> input_names([])
    ()
    """
    reader = reader_of(model) if can_read(model) else None
    if reader == "keras":
        return tuple(tensor.name for tensor in getattr(model, "inputs", None) or ())
    if reader != "torch":
        return ()
    from nn2poly.network.readers.torch.joining import possible_inputs
    from nn2poly.network.readers.torch.skeleton import unwrap

    module = getattr(model, "module_", model)
    return possible_inputs(unwrap(module)) if hasattr(type(module), "forward") else ()


def joined_data(model: Any, data: Any) -> tuple[Any, Parts | None]:
    """Put the tables of a model's inputs side by side.

    Parameters
    ----------
    data
        A tuple of tables in the order of the inputs, a dictionary of tables, or batches of
        either; anything else is given back.

    Returns
    -------
    The data as one table, or batches of one, and how it was put together.
    """
    if data is None or not (names := input_names(model)):
        return data, None
    tables = given_tables(data)
    if tables is not None and (len(names) > 1 or isinstance(data, Mapping)):
        return _joined(data, names)
    walk = _batches(data)
    first = None if walk is None else next(walk(), None)
    if walk is None or first is None or not _is_several(first, names):
        return data, None
    parts = _joined(first, names)[1]
    return Batches(lambda: (_joined(batch, names)[0] for batch in walk()), data), parts


def _batches(data: Any) -> Callable[[], Iterator[Any]] | None:
    """Walk batches that are tuples or dictionaries; None of other data."""
    walk = torch_batches(data)
    if walk is not None:
        dataset = getattr(data, "tensors", None)
        return walk if dataset is None else lambda: iter([tuple(dataset)])
    listed = isinstance(data, list) and data and isinstance(data[0], tuple | Mapping)
    return (lambda: iter(data)) if listed else None


def _is_several(batch: Any, names: tuple[str, ...]) -> bool:
    if isinstance(batch, Mapping):
        tables = given_tables(batch)
        return tables is not None and not set(TABLE_KEYS) & set(batch)
    return len(names) > 1 and isinstance(batch, tuple | list)


def _joined(batch: Any, names: tuple[str, ...]) -> tuple[Any, Parts]:
    """Put the inputs of one batch side by side; targets after them are left alone."""
    if isinstance(batch, Mapping):
        tables = given_tables(batch) or {}
        if set(names) <= set(tables):
            return join_tables({name: tables[name] for name in names})
        if len(names) == 1 and tables:
            return join_tables(tables, keyed=True)
        found = ", ".join(map(repr, batch))
    else:
        if len(batch) >= len(names):
            return join_tables(dict(zip(names, batch, strict=False)))
        found = f"{len(batch)} tables"
    raise InvalidInputError(
        "The data are not the tables that the model takes.",
        where="data",
        expected=f"a tuple or dictionary of {', '.join(names)}",
        found=found,
    )
