"""The names of terms, and the look-up of a term or an output by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any

import numpy as np

from nn2poly.algebra.terms import Term
from nn2poly.errors import InvalidInputError, UnknownTermError
from nn2poly.tables import in_quotes

# Between the factors of a product: names may hold spaces, so that a space would not tell.
TIMES = " · "
# The sign with an even number of quotes behind it.
OUTSIDE_QUOTES = re.compile(TIMES + r'(?=[^"]*(?:"[^"]*"[^"]*)*$)')


def term_name(term: Sequence[int], feature_names: Sequence[str]) -> str:
    """Spell a term: its features with a sign between them.

    Examples
    --------
    >>> [term_name(t, ("rm", "lstat")) for t in [(), (0,), (0, 0), (0, 1)]]
    ['1', 'rm', 'rm^2', 'rm · lstat']
    """
    if not term:
        return "1"
    powers = {i: term.count(i) for i in term}
    return TIMES.join(
        feature_names[i] if n == 1 else f"{feature_names[i]}^{n}" for i, n in powers.items()
    )


def parse_term(term: Any, feature_names: Sequence[str]) -> Term:
    """Turn any spelling of a term into its sorted index tuple.

    Parameters
    ----------
    term
        An index, a name, a tuple of either, or a string such as ``"rm^2 · lstat"``, with or
        without the sign; ``()`` and ``"1"`` are the intercept. Names may stand in quotes.

    Examples
    --------
    >>> names = ("rm", "lstat")
    >>> [parse_term(t, names) for t in ["1", "lstat · rm", "lstat rm", ("rm", "rm"), (1, 0), 1]]
    [(), (0, 1), (0, 1), (0, 0), (0, 1), (1,)]
    """
    if isinstance(term, str):
        return _parse_string(term, feature_names)
    parts = tuple(term) if isinstance(term, Iterable) else (term,)
    return tuple(sorted(_feature_index(part, feature_names) for part in parts))


def _feature_index(part: Any, names: Sequence[str]) -> int:
    if isinstance(part, str):
        if part in names:
            return list(names).index(part)
        raise _unknown_feature(part, names)
    if isinstance(part, bool) or not isinstance(part, int | np.integer):
        raise InvalidInputError(
            "A term is made of feature indices or names.",
            found=f"{part!r}",
            remedy='write it as (0, 1), ("rm", "lstat") or "rm lstat"',
        )
    if not 0 <= part < len(names):
        raise UnknownTermError(
            f"There is no feature {part}.",
            expected=f"indices from 0 to {len(names) - 1}",
            found=str(part),
            remedy="features count from 0, in the order of feature_names",
        )
    return int(part)


def _unknown_feature(text: str, names: Sequence[str]) -> UnknownTermError:
    near = get_close_matches(text, names, n=3)
    return UnknownTermError(
        f"There is no feature {text!r} in this polynomial.",
        expected="one of "
        + ", ".join(repr(n) for n in names[:10])
        + (", …" if len(names) > 10 else ""),
        found=repr(text),
        remedy=f"did you mean {' or '.join(map(repr, near))}?" if near else "see .feature_names",
    )


def _parse_string(text: str, names: Sequence[str]) -> Term:
    """Read what `term_name` writes; without a sign every way to cut the string is tried."""
    index = {in_quotes(name): i for i, name in enumerate(names)}
    index |= {name: i for i, name in enumerate(names)}
    found = {tuple(sorted(reading)) for reading in _readings(text.split(" "), index)}
    found |= _signed(text, index)
    if text == "1":
        found.add(())
    if len(found) == 1:
        return found.pop()
    if not found:
        raise _unknown_feature(text, names)
    raise UnknownTermError(
        f"The term {text!r} can be read in {len(found)} ways.",
        found="; ".join(str(tuple(names[i] for i in reading)) for reading in sorted(found)),
        remedy="pass a tuple of names or of indices instead",
    )


def _signed(text: str, index: dict[str, int]) -> set[Term]:
    """List all ways to read a string as factors with a sign between them."""
    ways = [
        way
        for cut in (text.split(TIMES), OUTSIDE_QUOTES.split(text))
        for way in product(*(_factor(part, index) for part in cut))
    ]
    return {tuple(sorted(i for i, power in way for _ in range(power))) for way in ways}


def _readings(words: list[str], index: dict[str, int]) -> list[list[int]]:
    """List all ways to read ``words`` as feature names with optional powers."""
    if not words:
        return [[]]
    readings = []
    for end in range(1, len(words) + 1):
        for variable, power in _factor(" ".join(words[:end]), index):
            readings += [[variable] * power + rest for rest in _readings(words[end:], index)]
    return readings


def _factor(text: str, index: dict[str, int]) -> list[tuple[int, int]]:
    plain = [(index[text], 1)] if text in index else []
    base, caret, power = text.rpartition("^")
    if caret and power.isdecimal() and 0 < int(power) <= 100 and base in index:
        return [*plain, (index[base], int(power))]
    return plain


def output_index(output: int | str, names: Sequence[str]) -> int:
    """Find an output by index or name."""
    if isinstance(output, str) and output in names:
        return list(names).index(output)
    if isinstance(output, int | np.integer) and -len(names) <= output < len(names):
        return int(output) % len(names)
    raise UnknownTermError(
        f"There is no output {output!r}.",
        expected=f"0 to {len(names) - 1}, or one of {', '.join(map(repr, names[:10]))}",
    )
