"""Terms: a lazy list of index tuples, their names, and the look-up of one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, overload

import numpy as np

from nn2poly.algebra.monomials import (
    count_degree,
    count_terms,
    monomials,
    rank,
    unrank,
)
from nn2poly.arrays import IntArray
from nn2poly.errors import InvalidInputError, UnknownTermError

Term = tuple[int, ...]


def offsets(n_features: int, max_order: int) -> list[int]:
    """Give the position of the first term of every degree 0 … max_order, then the total.

    Examples
    --------
    >>> offsets(2, 2)
    [0, 1, 3, 6]
    """
    counts = [count_degree(n_features, degree) for degree in range(max_order + 1)]
    return [sum(counts[:degree]) for degree in range(max_order + 2)]


@dataclass(frozen=True, eq=False)
class Terms(Sequence[Term]):
    """The terms of a polynomial, made into tuples only when asked.

    Parameters
    ----------
    n_features, max_order
        The full graded basis: C(p + Q, Q) terms.
    positions
        Array (n_terms,), increasing: which terms of the full basis are present; None for all.

    Examples
    --------
    >>> terms = Terms(2, 2)
    >>> list(terms)
    [(), (0,), (1,), (0, 0), (0, 1), (1, 1)]
    >>> terms.index((0, 1)), terms[-1], len(Terms(784, 3))
    (4, (1, 1), 80931145)
    """

    n_features: int
    max_order: int
    positions: IntArray | None = None

    def __len__(self) -> int:
        if self.positions is None:
            return count_terms(self.n_features, self.max_order)
        return len(self.positions)

    @overload
    def __getitem__(self, item: int) -> Term: ...
    @overload
    def __getitem__(self, item: slice) -> list[Term]: ...
    def __getitem__(self, item: int | slice) -> Term | list[Term]:
        if isinstance(item, slice):
            return [self[i] for i in range(*item.indices(len(self)))]
        place = range(len(self))[item]
        position = place if self.positions is None else int(self.positions[place])
        begin = offsets(self.n_features, self.max_order)
        degree = int(np.searchsorted(begin, position, side="right")) - 1
        row = unrank(np.array(position - begin[degree]), self.n_features, degree)
        return tuple(row.tolist())

    def __iter__(self) -> Iterator[Term]:
        for _, rows in self.by_degree():
            yield from map(tuple, rows.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        # Equal lists of terms may come from different bases: their length is what they share.
        return hash(len(self))

    def __contains__(self, term: object) -> bool:
        return self._place(term) is not None

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Give the place of a term; ValueError when it is absent."""
        place = self._place(value)
        if place is None or place not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"{value} is not among the terms")
        return place

    def _place(self, term: object) -> int | None:
        """Rank a term within the basis, or None: a term is a tuple of sorted indices."""
        if not isinstance(term, tuple) or not all(isinstance(i, int | np.integer) for i in term):
            return None
        inside = not term or (term[0] >= 0 and term[-1] < self.n_features)
        if len(term) > self.max_order or not inside or list(term) != sorted(term):
            return None
        begin = offsets(self.n_features, self.max_order)[len(term)]
        position = begin + int(rank(np.array(term, dtype=np.intp), self.n_features))
        if self.positions is None:
            return position
        place = int(np.searchsorted(self.positions, position))
        found = place < len(self.positions) and self.positions[place] == position
        return place if found else None

    def by_degree(self) -> Iterator[tuple[slice, IntArray]]:
        """Walk the degrees: the slice of terms of each, and their variables (n, degree)."""
        begin = offsets(self.n_features, self.max_order)
        for degree in range(self.max_order + 1):
            low, high = begin[degree], begin[degree + 1]
            if self.positions is None:
                yield slice(low, high), monomials(self.n_features, degree)
            else:
                ends = np.searchsorted(self.positions, [low, high])
                here = slice(int(ends[0]), int(ends[1]))
                yield here, unrank(self.positions[here] - low, self.n_features, degree)

    def orders(self) -> IntArray:
        """Give the degree of every term, array (n_terms,)."""
        begin = np.array(offsets(self.n_features, self.max_order)[1:])
        where = np.arange(len(self)) if self.positions is None else self.positions
        return np.searchsorted(begin, where, side="right")

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self[:6]))
        more = f", … {len(self):,} in all" if len(self) > 6 else ""
        return f"Terms([{shown}{more}])"


def term_name(term: Sequence[int], feature_names: Sequence[str]) -> str:
    """Spell a term as scikit-learn does.

    Examples
    --------
    >>> [term_name(t, ("rm", "lstat")) for t in [(), (0,), (0, 0), (0, 1)]]
    ['1', 'rm', 'rm^2', 'rm lstat']
    """
    if not term:
        return "1"
    powers = {i: term.count(i) for i in term}
    return " ".join(
        feature_names[i] if n == 1 else f"{feature_names[i]}^{n}" for i, n in powers.items()
    )


def parse_term(term: Any, feature_names: Sequence[str]) -> Term:
    """Turn any spelling of a term into its sorted index tuple.

    Parameters
    ----------
    term
        An index, a name, a tuple of either, or a string such as ``"rm^2 lstat"``; ``()`` and
        ``"1"`` are the intercept.

    Examples
    --------
    >>> names = ("rm", "lstat")
    >>> [parse_term(t, names) for t in ["1", "lstat rm", ("rm", "rm"), (1, 0), 1]]
    [(), (0, 1), (0, 0), (0, 1), (1,)]
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
    """Read a name; names may hold spaces, so every way to cut the string is tried."""
    index = {name: i for i, name in enumerate(names)}
    found = {tuple(sorted(reading)) for reading in _readings(text.split(" "), index)}
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
