"""Plain data from files: objects, lists and numbers; anything in their place is a ValueError."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite, nan
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

_Record = TypeVar("_Record")


def plain_object(data: Any, fields: Collection[str]) -> dict[str, Any]:
    """Refuse anything but an object with exactly these fields.

    Examples
    --------
    >>> plain_object({"a": 1}, ["a"])
    {'a': 1}
    """
    if not isinstance(data, dict) or set(data) != set(fields):
        raise ValueError(f"the fields are not {', '.join(fields)}")
    return data


def plain_mapping(data: Any) -> dict[str, Any]:
    """Refuse anything but an object.

    Examples
    --------
    >>> plain_mapping({"a": 1})
    {'a': 1}
    """
    if not isinstance(data, dict):
        raise ValueError(f"{type(data).__name__} in the place of an object")
    return data


def plain_list(data: Any) -> list[Any]:
    """Refuse anything but a list, or the tuple that it was: a text would be read by letters.

    Examples
    --------
    >>> plain_list(["a", 1])
    ['a', 1]
    """
    if not isinstance(data, list | tuple):
        raise ValueError(f"{type(data).__name__} in the place of a list")
    return list(data)


def plain_texts(data: Any) -> tuple[str, ...]:
    """Refuse anything but a list of texts.

    Examples
    --------
    >>> plain_texts(["male", "female"])
    ('male', 'female')
    """
    texts = tuple(plain_list(data))
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a name is not text")
    return texts


def plain_number(data: Any) -> float:
    """Refuse anything but a finite number: neither text that spells one, nor true.

    A whole number that a float would round is refused too.

    Examples
    --------
    >>> plain_number(2)
    2.0
    """
    if isinstance(data, bool) or not isinstance(data, int | float) or not isfinite(data):
        raise ValueError(f"{type(data).__name__} in the place of a finite number")
    if float(data) != data:
        raise ValueError("a whole number has more digits than a float keeps")
    return float(data)


def plain_count(data: Any) -> int:
    """Refuse anything but a whole number from 0 on.

    Examples
    --------
    >>> plain_count(3)
    3
    """
    if isinstance(data, bool) or not isinstance(data, int) or data < 0:
        raise ValueError("a count is not a whole number")
    return data


def plain_flag(data: Any) -> bool:
    """Refuse anything but true or false.

    Examples
    --------
    >>> plain_flag(True)
    True
    """
    if not isinstance(data, bool):
        raise ValueError(f"{type(data).__name__} in the place of true or false")
    return data


def plain_text(data: Any) -> str:
    """Refuse anything but text.

    Examples
    --------
    >>> plain_text("age")
    'age'
    """
    return plain_texts([data])[0]


def plain_record(kind: type[_Record], data: Any, **readers: Callable[[Any], Any]) -> _Record:
    """Read a dataclass from an object, each field by its declared type.

    Only fields with a default may be missing: those that a later version added. A ``float``
    may be None, which stands for NaN; an ``int`` is a count.

    Parameters
    ----------
    kind
        The dataclass.
    readers
        By the name of a field: reads it in the place of its declared type.

    Examples
    --------
    >>> from nn2poly.verdicts import Region
    >>> plain_record(Region, {"description": "a", "n_rows": 3, "rmse": None, "ratio": 2})
    Region(description='a', n_rows=3, rmse=nan, ratio=2.0)
    """
    needed = [field.name for field in fields(kind) if field.default is MISSING]  # type: ignore[arg-type]
    hints = _hints(kind)  # type: ignore[arg-type]
    if not isinstance(data, dict) or not set(needed) <= set(data) <= set(hints):
        raise ValueError(f"the fields are not {', '.join(hints)}")
    return kind(
        **{
            name: readers[name](value) if name in readers else _read(hints[name], value)
            for name, value in data.items()
        }
    )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    # Resolving annotations is slow, and a card has hundreds of records.
    return get_type_hints(kind)


def _read(hint: Any, data: Any) -> Any:
    """Read a value of a declared type."""
    if hint in _SCALARS:
        return _SCALARS[hint](data)
    if is_dataclass(hint):
        return plain_record(hint, data)  # type: ignore[arg-type]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType and parts[1:] == (NoneType,):
        return None if data is None else _read(parts[0], data)
    if origin is dict:
        return _read_mapping(parts[1], data)
    if origin is tuple:
        return _read_tuple(parts, plain_list(data))
    raise TypeError(f"no rule for {hint}")


def _read_mapping(hint: Any, data: Any) -> dict[str, Any]:
    return {name: _read(hint, value) for name, value in plain_mapping(data).items()}


def _read_tuple(hints: tuple[Any, ...], data: list[Any]) -> tuple[Any, ...]:
    if hints[-1] is Ellipsis:
        return tuple(_read(hints[0], value) for value in data)
    return tuple(_read(hint, value) for hint, value in zip(hints, data, strict=True))


def _number_or_nan(data: Any) -> float:
    return nan if data is None else plain_number(data)


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    str: plain_text,
    bool: plain_flag,
    int: plain_count,
    float: _number_or_nan,
}
