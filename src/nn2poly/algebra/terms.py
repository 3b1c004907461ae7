"""Sets of terms: `Graded`, all of total degree at most Q, and `Listed`, any that are written down.

A term is a tuple of sorted 0-based feature indices, each as often as its power: ``(0, 0, 2)`` is
x₀² x₂. Both kinds come in graded, then lexicographic order and show one face; neither makes a
tuple before it is asked. A listed set costs what its terms cost, whatever C(p + Q, Q) is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, overload

import numpy as np

from nn2poly.algebra.monomials import count_degree, count_terms, monomials, rank, unrank
from nn2poly.arrays import FloatArray, IntArray

Term = tuple[int, ...]
# Rows (n, d) of sorted feature indices, and what belongs to each, (n, …).
Rows = tuple[IntArray, FloatArray]


class Terms(Sequence[Term], ABC):
    """A set of terms in graded lexicographic order; see `Graded` and `Listed`."""

    n_features: int
    max_order: int

    @abstractmethod
    def block(self, degree: int) -> IntArray:
        """Give the terms of one degree, array (n, degree) of sorted feature indices."""

    @property
    @abstractmethod
    def ends(self) -> tuple[int, ...]:
        """The place of the first term of every degree 0 … Q, then the number of all."""

    @abstractmethod
    def place(self, term: Term) -> int | None:
        """Find a term of sorted indices within the features and the order; None if absent."""

    @abstractmethod
    def at(self, places: IntArray) -> Listed:
        """Choose terms by their places, which increase."""

    @abstractmethod
    def up_to(self, max_order: int) -> Terms:
        """Leave out the terms above an order."""

    def __len__(self) -> int:
        return self.ends[-1]

    def by_degree(self) -> Iterator[tuple[slice, IntArray]]:
        """Walk the degrees: the slice of terms of each, and their variables (n, degree)."""
        for degree in range(self.max_order + 1):
            yield slice(self.ends[degree], self.ends[degree + 1]), self.block(degree)

    def orders(self) -> IntArray:
        """Give the degree of every term, array (n_terms,)."""
        return np.repeat(np.arange(self.max_order + 1), np.diff(self.ends))

    def variables(self) -> IntArray:
        """List the features that occur, in order."""
        used = [np.unique(rows) for _, rows in self.by_degree()]
        return np.unique(np.concatenate(used))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Give the place of a term; ValueError when it is absent."""
        place = self._place(value)
        if place is None or place not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"{value} is not among the terms")
        return place

    def _place(self, term: object) -> int | None:
        if not isinstance(term, tuple) or not all(isinstance(i, int | np.integer) for i in term):
            return None
        inside = not term or (term[0] >= 0 and term[-1] < self.n_features)
        if len(term) > self.max_order or not inside or list(term) != sorted(term):
            return None
        return self.place(term)

    def __contains__(self, term: object) -> bool:
        return self._place(term) is not None

    @overload
    def __getitem__(self, item: int) -> Term: ...
    @overload
    def __getitem__(self, item: slice) -> list[Term]: ...
    def __getitem__(self, item: int | slice) -> Term | list[Term]:
        if isinstance(item, slice):
            return [self[i] for i in range(*item.indices(len(self)))]
        place = range(len(self))[item]
        return next(iter(self.at(np.array([place]))))

    def __iter__(self) -> Iterator[Term]:
        for _, rows in self.by_degree():
            yield from map(tuple, rows.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        # Equal sets of terms may be of different kinds: their length is what they share.
        return hash(len(self))

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self[:6]))
        more = f", … {len(self):,} in all" if len(self) > 6 else ""
        return f"{type(self).__name__}([{shown}{more}])"


@dataclass(frozen=True, eq=False, repr=False)
class Graded(Terms):
    """All terms of total degree at most ``max_order``: C(p + Q, Q) of them, numbered by rank.

    Examples
    --------
    >>> terms = Graded(2, 2)
    >>> list(terms)
    [(), (0,), (1,), (0, 0), (0, 1), (1, 1)]
    >>> terms.index((0, 1)), terms[-1], len(Graded(784, 3))
    (4, (1, 1), 80931145)
    """

    n_features: int
    max_order: int

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The place of the first term of every degree 0 … Q, then the number of all."""
        return tuple(offsets(self.n_features, self.max_order))

    def block(self, degree: int) -> IntArray:
        """Give the terms of one degree, array (N_d, degree)."""
        return monomials(self.n_features, degree)

    def place(self, term: Term) -> int | None:
        """Rank a term."""
        found = rank(np.array(term, dtype=np.intp), self.n_features)
        return self.ends[len(term)] + int(found)

    def at(self, places: IntArray) -> Listed:
        """Choose terms by their places, which increase."""
        cuts = np.searchsorted(places, self.ends)
        blocks = [
            unrank(places[cuts[d] : cuts[d + 1]] - self.ends[d], self.n_features, d)
            for d in range(self.max_order + 1)
        ]
        return Listed(self.n_features, tuple(blocks))

    def holds(self, places: IntArray) -> bool:
        """Tell whether an array is one of increasing places of these terms.

        Examples
        --------
        >>> Graded(2, 1).holds(np.array([0, 2])), Graded(2, 1).holds(np.array([3, -(2**63)]))
        (True, False)
        """
        if places.ndim != 1 or not places.size:
            return places.ndim == 1
        # Compared one by one: differences of such integers can overflow.
        increase = np.all(places[1:] > places[:-1])
        return bool(increase and places[0] >= 0 and places[-1] < self.ends[-1])

    def up_to(self, max_order: int) -> Graded:
        """Leave out the terms above an order."""
        return Graded(self.n_features, min(max_order, self.max_order))


@dataclass(frozen=True, eq=False, repr=False)
class Listed(Terms):
    """Any terms, stored as they are.

    Parameters
    ----------
    n_features
        Number of features, used or not.
    blocks
        For each degree 0 … Q an array (n_d, d) of sorted feature indices, in lexicographic
        order and each once.

    Examples
    --------
    >>> terms = Listed.of([(0, 1), (499,) * 10, ()], 500)
    >>> terms.n_features, terms.max_order, terms[:2]
    (500, 10, [(), (0, 1)])
    >>> terms.index((0, 1)), (0, 2) in terms
    (1, False)
    """

    n_features: int
    blocks: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        views = tuple(block.view() for block in self.blocks)
        for view in views:
            view.setflags(write=False)
        object.__setattr__(self, "blocks", views)

    @classmethod
    def of(cls, terms: Iterable[Term], n_features: int, max_order: int | None = None) -> Listed:
        """List terms in any order, each once."""
        by_degree: dict[int, set[Term]] = {}
        for term in terms:
            by_degree.setdefault(len(term), set()).add(tuple(term))
        order = max([0, *by_degree]) if max_order is None else max_order
        blocks = [
            np.array(sorted(by_degree.get(d, ())), dtype=np.intp).reshape(-1, d)
            if d
            else np.empty((len(by_degree.get(0, ())), 0), dtype=np.intp)
            for d in range(order + 1)
        ]
        return cls(n_features, tuple(blocks))

    @property
    def max_order(self) -> int:  # type: ignore[override]
        """Highest order that may occur."""
        return len(self.blocks) - 1

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The place of the first term of every degree 0 … Q, then the number of all."""
        return tuple(accumulate((len(block) for block in self.blocks), initial=0))

    def block(self, degree: int) -> IntArray:
        """Give the terms of one degree, array (n_d, degree)."""
        return self.blocks[degree]

    def place(self, term: Term) -> int | None:
        """Search a term, index by index: rows that begin alike stand together."""
        rows = self.blocks[len(term)]
        low, high = 0, len(rows)
        for column, variable in enumerate(term):
            here = rows[low:high, column]
            low, high = low + np.searchsorted(here, [variable, variable + 1])
        return self.ends[len(term)] + int(low) if low < high else None

    def at(self, places: IntArray) -> Listed:
        """Choose terms by their places, which increase."""
        cuts = np.searchsorted(places, self.ends)
        blocks = [
            block[places[cuts[d] : cuts[d + 1]] - self.ends[d]]
            for d, block in enumerate(self.blocks)
        ]
        return Listed(self.n_features, tuple(blocks))

    def up_to(self, max_order: int) -> Listed:
        """Leave out the terms above an order."""
        return Listed(self.n_features, self.blocks[: max_order + 1])

    def positions(self) -> IntArray:
        """Rank the terms in the graded basis, array (n_terms,); it must be countable.

        Examples
        --------
        >>> Listed.of([(), (0, 1)], 2).positions()
        array([0, 4])
        """
        begin = offsets(self.n_features, self.max_order)
        ranks = [begin[d] + rank(rows, self.n_features) for d, rows in enumerate(self.blocks)]
        return np.concatenate(ranks)


def offsets(n_features: int, max_order: int) -> list[int]:
    """Give the position of the first term of every degree 0 … max_order, then the total.

    Examples
    --------
    >>> offsets(2, 2)
    [0, 1, 3, 6]
    """
    counts = [count_degree(n_features, degree) for degree in range(max_order + 1)]
    return [sum(counts[:degree]) for degree in range(max_order + 2)]


def is_nearly_full(terms: Terms, times: int) -> bool:
    """Tell whether the graded basis has at most so many times the terms."""
    return count_terms(terms.n_features, terms.max_order) <= times * len(terms)


def collect(
    parts: Iterable[Rows], n_features: int, n_columns: int, max_order: int
) -> tuple[Listed, FloatArray]:
    """Sort rows of terms, each in sorted indices, and add up what belongs to the same term.

    Parameters
    ----------
    parts
        Pairs of arrays (n, d) and (n, n_columns), of any degrees d ≤ max_order.

    Returns
    -------
    terms, and an array (n_terms, n_columns)

    Examples
    --------
    >>> rows = np.array([[0, 1], [0, 0], [0, 1]])
    >>> terms, values = collect([(rows, np.array([[1.0], [2.0], [3.0]]))], 2, 1, 2)
    >>> list(terms), values.ravel()
    ([(0, 0), (0, 1)], array([2., 4.]))
    """
    by_degree: list[list[Rows]] = [[] for _ in range(max_order + 1)]
    for rows, values in parts:
        by_degree[rows.shape[1]].append((rows, values))
    merged = [_merged(found, degree, n_columns) for degree, found in enumerate(by_degree)]
    terms = Listed(n_features, tuple(rows for rows, _ in merged))
    return terms, np.concatenate([values for _, values in merged])


def _merged(found: list[Rows], degree: int, n_columns: int) -> Rows:
    """Merge the rows of one degree."""
    nothing = np.empty((0, degree), dtype=np.intp), np.empty((0, n_columns))
    rows, values = (np.concatenate(part) for part in zip(nothing, *found, strict=True))
    order = np.lexsort(rows.T[::-1]) if degree else np.arange(len(rows))
    rows = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    first = np.flatnonzero(new)
    sums = np.add.reduceat(values[order], first, axis=0) if len(first) else values
    return rows[first], sums
