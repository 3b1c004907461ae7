"""Plain data from files: objects, lists and numbers; anything in their place is a ValueError."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from typing import Any


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


def plain_list(data: Any) -> list[Any]:
    """Refuse anything but a list: a text would be read letter by letter.

    Examples
    --------
    >>> plain_list(["a", 1])
    ['a', 1]
    """
    if not isinstance(data, list):
        raise ValueError(f"{type(data).__name__} in the place of a list")
    return data


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

    Examples
    --------
    >>> plain_number(2)
    2.0
    """
    if isinstance(data, bool) or not isinstance(data, int | float) or not isfinite(data):
        raise ValueError(f"{type(data).__name__} in the place of a finite number")
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
