"""Mutations: of bytes, and of plain data that knows its own structure; and the memory they take."""

from __future__ import annotations

import copy
import json
import resource
import sys
from random import Random
from typing import Any

# What has broken readers before: edges of integers and floats, foreign types, hostile names.
SCALARS: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 101, 2**31, 2**63 - 1, -(2**63), 2**64 + 1, 10**30),
    *(0.0, -0.0, 0.5, 1.5, 1e-300, 1e300, 1.7e308, -1e308),
    *("", " ", "a", "x1", "identity", "graded", "listed", "polynomial", "piecewise", "nan", "1"),
    *("\x00", "\ud800", "\u202e", "\x1b[31m", "=1+1", "__class__", "../../a", "é" * 300),
    *([], {}, [[]], [None], {"array": 0}, {"array": 99}, [0, 1], [[0], [1]], {"kind": "rank"}),
]
Place = tuple[Any, ...]
# The largest peak of memory that reading files of less than 10 MB may take.
MOST_BYTES = 10**9


def places(data: Any, here: Place = ()) -> list[Place]:
    """List the way to every part of plain data, the whole first."""
    found = [here]
    if isinstance(data, dict):
        parts = list(data.items())
    elif isinstance(data, list):
        parts = list(enumerate(data))
    else:
        return found
    for key, part in parts:
        found += places(part, (*here, key))
    return found


def part(data: Any, place: Place) -> Any:
    """Give the part at a place."""
    for key in place:
        data = data[key]
    return data


def mutated(data: Any, rng: Random) -> Any:
    """Change one to three parts of plain data; the original stays."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = _changed(data, rng)
    return data


def _changed(data: Any, rng: Random) -> Any:
    ways = places(data)
    place = rng.choice(ways)
    if not place:
        return rng.choice(SCALARS) if rng.random() < 0.1 else data
    owner, key = part(data, place[:-1]), place[-1]
    change = rng.choice(CHANGES)
    change(owner, key, rng, data, ways)
    return data


def _scalar(owner, key, rng, data, ways):
    owner[key] = copy.deepcopy(rng.choice(SCALARS))


def _another(owner, key, rng, data, ways):
    owner[key] = copy.deepcopy(part(data, rng.choice(ways)))


def _drop(owner, key, rng, data, ways):
    del owner[key]


def _twice(owner, key, rng, data, ways):
    if isinstance(owner, list):
        owner.insert(key, copy.deepcopy(owner[key]))
    else:
        owner[f"{key}_"] = copy.deepcopy(owner[key])


def _wrap(owner, key, rng, data, ways):
    owner[key] = rng.choice(([owner[key]], {"a": owner[key]}, str(owner[key])))


def _nudge(owner, key, rng, data, ways):
    value = owner[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _scalar(owner, key, rng, data, ways)
    owner[key] = rng.choice((value + 1, -value, value * 2, float(value), value / 3, value * 1e200))
    return None


def _shuffle(owner, key, rng, data, ways):
    if isinstance(owner[key], list):
        rng.shuffle(owner[key])
    else:
        _another(owner, key, rng, data, ways)


CHANGES = (_scalar, _scalar, _another, _drop, _twice, _wrap, _nudge, _nudge, _shuffle)


def mutated_bytes(data: bytes, rng: Random) -> bytes:
    """Flip, cut, repeat, insert or overwrite bytes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        begin = rng.randrange(len(out) + 1)
        length = rng.choice((1, 1, 2, 4, 8, 64, 1024))
        change = rng.randrange(6)
        if change == 0 and begin < len(out):
            out[begin] ^= 1 << rng.randrange(8)
        elif change == 1:
            out[begin : begin + length] = rng.randbytes(length)
        elif change == 2:
            del out[begin : begin + length]
        elif change == 3:
            out[begin:begin] = out[begin : begin + length]
        elif change == 4:
            number = rng.choice((0, 1, 0x7F, 0xFF, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1))
            out[begin : begin + length] = number.to_bytes(8, "little")[:length]
        else:
            del out[begin:]
    return bytes(out)


def difference(one: Any, other: Any, here: str = "body") -> str:
    """Say where plain data differ: 1 is 1.0, but neither is true; a card may gain its defaults."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(key, value, other[key]) for key, value in one.items() if key in other]
        if len(pairs) < len(one):
            return f"{here}: {sorted(set(one) - set(other))} is lost"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(k, a, b) for k, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        typed = bool in (type(one), type(other)) and type(one) is not type(other)
        return f"{here}: {one!r} came back as {other!r}" if typed or one != other else ""
    found = (difference(a, b, f"{here}.{key}") for key, a, b in pairs)
    return next((text for text in found if text), "")


def canonical(data: Any) -> bytes:
    """Write plain data by the rule of the digest."""
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def peak_bytes():
    """Give the largest memory that this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
