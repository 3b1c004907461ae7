"""Partitions of multisets: which products of monomials give a monomial.

A monomial is a multiset of variables, written as a non-decreasing tuple of 0-based indices:
``x0 x1^2`` is ``(0, 1, 1)``. Each way to split it into smaller multisets is a product of monomials
that yields it. This is the combinatorial half of the paper's route; `reference` is the other half.

References
----------
D. E. Knuth, The Art of Computer Programming, volume 4A, section 7.2.1.5, Algorithm M.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import repeat
from math import factorial, prod
from typing import TypeAlias

from nn2poly.errors import InvalidInputError

__all__ = [
    "Monomial",
    "Partition",
    "count_arrangements",
    "multiset_partitions",
    "partitions_of",
    "representative",
    "satisfies_conditions",
]

Monomial: TypeAlias = tuple[int, ...]
Partition: TypeAlias = tuple[Monomial, ...]

# One part under construction: Knuth's triples [c, u, v]. Component c still has u > 0 elements to
# share out, and this part takes v of them.
_Frame: TypeAlias = list[list[int]]


def multiset_partitions(multiplicities: Sequence[int]) -> Iterator[Partition]:
    """Yield every partition of a multiset once, in decreasing lexicographic order.

    Knuth's Algorithm M (the paper's appendix). A part is its vector of multiplicities, so the
    vectors of one partition add up to `multiplicities`.

    Parameters
    ----------
    multiplicities
        How often each of the m different elements occurs, all positive. Empty: the empty multiset,
        whose one partition has no parts.

    Yields
    ------
    tuple of tuple of int
        The parts, each of length m, none of them zero, in non-increasing order.

    Raises
    ------
    InvalidInputError
        If a multiplicity is not positive.

    Examples
    --------
    >>> for partition in multiset_partitions((2, 1)):
    ...     print(partition)
    ((2, 1),)
    ((2, 0), (0, 1))
    ((1, 1), (1, 0))
    ((1, 0), (1, 0), (0, 1))
    """
    if any(count < 1 for count in multiplicities):
        raise InvalidInputError(
            "A multiplicity is not positive.",
            where="multiset_partitions",
            expected="positive integers",
            found=str(tuple(multiplicities)),
            remedy="Leave out the elements that do not occur.",
        )
    return _algorithm_m(multiplicities) if multiplicities else iter([()])


def _algorithm_m(multiplicities: Sequence[int]) -> Iterator[Partition]:
    """Run Knuth's Algorithm M; the stack of frames is his arrays c, u, v cut at f."""
    stack: list[_Frame] = [[[c, n, n] for c, n in enumerate(multiplicities)]]  # M1
    while stack:
        while remainder := _subtract(stack[-1]):  # M2, M3
            stack.append(remainder)
        yield tuple(_vector(frame, len(multiplicities)) for frame in stack)  # M4
        while stack and not _decrease(stack[-1]):  # M5
            stack.pop()  # M6


def _subtract(frame: _Frame) -> _Frame:
    """Open the next part: the largest one, not above this one, that the rest allows (M2)."""
    remainder: _Frame = []
    smaller = False  # whether the new part is already lexicographically below this one
    for c, u, v in frame:
        left = u - v
        if left:
            remainder.append([c, left, left if smaller else min(v, left)])
        smaller = smaller or left < v
    return remainder


def _decrease(frame: _Frame) -> bool:
    """Replace a part by the next one below it; say whether there is one (M5)."""
    last = max(j for j, (_, _, v) in enumerate(frame) if v > 0)
    # Later parts are no larger, so if this one had none of its first component, none of them could.
    if last == 0 and frame[0][2] == 1:
        return False
    frame[last][2] -= 1
    for triple in frame[last + 1 :]:
        triple[2] = triple[1]
    return True


def _vector(frame: _Frame, length: int) -> tuple[int, ...]:
    """Write a frame as a vector of multiplicities."""
    vector = [0] * length
    for c, _, v in frame:
        vector[c] = v
    return tuple(vector)


def representative(monomial: Monomial) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Give the equivalence class M0 of a monomial, and the relabelling back from it.

    Monomials with the same multiplicities have the same partitions up to the names of their
    variables (Section IV-C of the paper).

    Parameters
    ----------
    monomial
        Variable indices with repetition.

    Returns
    -------
    multiplicities : tuple of int
        The class: multiplicities in decreasing order, the paper's vector t0.
    variables : tuple of int
        ``variables[i]`` is the variable that element i of the class stands for. Variables of equal
        multiplicity keep their order.

    Examples
    --------
    The paper's {2, 3, 3, 5}, where 3 becomes 1, 2 stays 2 and 5 becomes 3:

    >>> representative((2, 3, 3, 5))
    ((2, 1, 1), (3, 2, 5))
    """
    counts = Counter(monomial)
    variables = tuple(sorted(counts, key=lambda variable: (-counts[variable], variable)))
    return tuple(counts[variable] for variable in variables), variables


def partitions_of(monomial: Monomial) -> tuple[Partition, ...]:
    """List the partitions of a monomial, computed once for its whole class.

    Parameters
    ----------
    monomial
        Variable indices with repetition.

    Returns
    -------
    tuple of partitions
        Each a tuple of monomials whose product is `monomial`.

    Examples
    --------
    >>> for partition in partitions_of((4, 7, 7)):
    ...     print(partition)
    ((4, 7, 7),)
    ((7, 7), (4,))
    ((4, 7), (7,))
    ((7,), (7,), (4,))
    """
    multiplicities, variables = representative(monomial)
    return tuple(
        tuple(tuple(sorted([variables[i] for i in part])) for part in partition)
        for partition in _class_partitions(multiplicities)
    )


@cache
def _class_partitions(multiplicities: tuple[int, ...]) -> tuple[Partition, ...]:
    """List the partitions of a class, each part as its elements 0, 1, … with repetition."""
    return tuple(
        tuple(
            tuple(i for i, v in enumerate(vector) for _ in repeat(None, v)) for vector in partition
        )
        for partition in multiset_partitions(multiplicities)
    )


def satisfies_conditions(partition: Partition, *, taylor_order: int, inner_order: int) -> bool:
    """Tell whether a product of monomials occurs in a polynomial of a polynomial.

    Conditions 1 and 2 of Lemma III.1. A product in the n-th power of the inner polynomial has n
    factors: the parts, and the intercept as often as it takes to make n. So Condition 1 holds for
    some n up to the Taylor order exactly when there are no more parts than that.

    Parameters
    ----------
    partition
        Monomials whose product is sought.
    taylor_order
        Order q of the outer polynomial.
    inner_order
        Order Q of the inner polynomial.

    Returns
    -------
    bool
        True if there are at most q parts (Condition 1), each of order at most Q (Condition 2).

    Examples
    --------
    >>> satisfies_conditions(((0, 0), (1, 2)), taylor_order=2, inner_order=2)
    True
    >>> satisfies_conditions(((0,), (0,), (1,), (2,)), taylor_order=2, inner_order=2)
    False
    >>> satisfies_conditions(((0,), (0, 1, 2)), taylor_order=2, inner_order=2)
    False
    """
    return len(partition) <= taylor_order and all(len(part) <= inner_order for part in partition)


def count_arrangements(partition: Partition) -> int:
    """Count the different orders in which the parts can be multiplied.

    The multinomial coefficient of Lemma III.1 without the intercept: r! / (n_1! n_2! …) for r
    parts, of which the k-th different one occurs n_k times.

    Parameters
    ----------
    partition
        The parts, equal ones repeated.

    Returns
    -------
    int
        Number of distinct arrangements.

    Examples
    --------
    >>> count_arrangements(((7,), (7,), (4,)))
    3
    """
    return factorial(len(partition)) // prod(map(factorial, Counter(partition).values()))
