"""Partitions of multisets: the paper's examples, published counts, and brute force."""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.partitions import (
    count_arrangements,
    multiset_partitions,
    partitions_of,
    representative,
    satisfies_conditions,
)
from nn2poly.errors import InvalidInputError, NN2PolyError

# Section II-C of the paper, in its order and with its labels.
PAPER_PARTITIONS_OF_1123 = [
    [(1, 1, 2, 3)],
    [(1,), (1, 2, 3)],
    [(2,), (1, 1, 3)],
    [(3,), (1, 1, 2)],
    [(1, 1), (2, 3)],
    [(1, 2), (1, 3)],
    [(1,), (1,), (2, 3)],
    [(1,), (2,), (1, 3)],
    [(1,), (3,), (1, 2)],
    [(2,), (3,), (1, 1)],
    [(1,), (1,), (2,), (3,)],
]

BELL = {1: 1, 2: 2, 3: 5, 4: 15, 5: 52, 6: 203, 7: 877}  # OEIS A000110
INTEGER_PARTITIONS = {1: 1, 2: 2, 3: 3, 4: 5, 5: 7, 6: 11, 7: 15, 8: 22, 9: 30}  # A000041
ALL_PAIRS = {1: 2, 2: 9, 3: 66, 4: 712}  # A020555: {1, 1, 2, 2, …, n, n}
BIPARTITE = {1: 2, 2: 9, 3: 31, 4: 109, 5: 339}  # A002774: n ones and n twos
ALL_CLASSES = {1: 1, 2: 4, 3: 12, 4: 47, 5: 170, 6: 750}  # A035310: all classes of order n

small_monomials = st.lists(st.integers(0, 4), max_size=6).map(lambda m: tuple(sorted(m)))
small_multiplicities = st.lists(st.integers(1, 3), max_size=4).filter(lambda m: sum(m) <= 7)


def count(multiplicities: tuple[int, ...]) -> int:
    return sum(1 for _ in multiset_partitions(multiplicities))


def canonical(partition):
    return tuple(sorted(tuple(sorted(part)) for part in partition))


def set_partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """Put the first item in each block of each partition of the others, or on its own."""
    if not items:
        yield []
        return
    first, *others = items
    for blocks in set_partitions(others):
        yield [[first], *blocks]
        for i, block in enumerate(blocks):
            yield [*blocks[:i], [first, *block], *blocks[i + 1 :]]


def integer_partitions(n: int, largest: int) -> Iterator[tuple[int, ...]]:
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for others in integer_partitions(n - first, first):
            yield (first, *others)


def test_partitions_of_1123_are_the_eleven_of_the_paper():
    found = [canonical(partition) for partition in partitions_of((1, 1, 2, 3))]
    assert len(found) == 11
    assert set(found) == {canonical(partition) for partition in PAPER_PARTITIONS_OF_1123}


@pytest.mark.parametrize(
    "vectors",
    [
        [(2, 1, 1)],
        [(1, 0, 0), (1, 1, 1)],
        [(2, 0, 0), (0, 1, 1)],
        [(1, 0, 0), (0, 1, 0), (1, 0, 1)],
    ],
)
def test_vectors_of_the_papers_appendix_table_occur(vectors):
    assert tuple(sorted(vectors, reverse=True)) in set(multiset_partitions((2, 1, 1)))


@pytest.mark.parametrize(("n", "expected"), BELL.items())
def test_a_set_has_a_bell_number_of_partitions(n, expected):
    assert count((1,) * n) == expected


@pytest.mark.parametrize(("n", "expected"), INTEGER_PARTITIONS.items())
def test_one_repeated_element_has_the_partitions_of_an_integer(n, expected):
    assert count((n,)) == expected


def test_one_extra_element_gives_the_running_sum_of_integer_partitions():
    sums = accumulate([1, *INTEGER_PARTITIONS.values()])  # A000070
    assert [count((n, 1)) for n in range(1, 10)] == list(sums)[1:]


@pytest.mark.parametrize(("n", "expected"), ALL_PAIRS.items())
def test_a_doubled_set_has_the_published_count(n, expected):
    assert count((2,) * n) == expected


@pytest.mark.parametrize(("n", "expected"), BIPARTITE.items())
def test_two_equally_repeated_elements_have_the_published_count(n, expected):
    assert count((n, n)) == expected


@pytest.mark.parametrize(("n", "expected"), ALL_CLASSES.items())
def test_all_classes_of_one_order_have_the_published_total(n, expected):
    assert sum(count(multiplicities) for multiplicities in integer_partitions(n, n)) == expected


def test_the_empty_multiset_has_one_partition_without_parts():
    assert list(multiset_partitions(())) == [()]
    assert partitions_of(()) == ((),)


@pytest.mark.parametrize("bad", [(0,), (2, 0, 1), (1, -1)])
def test_multiplicities_that_are_not_positive_are_refused_at_once(bad):
    with pytest.raises(InvalidInputError, match="not positive") as caught:
        multiset_partitions(bad)
    assert isinstance(caught.value, NN2PolyError)


@given(small_multiplicities)
def test_the_parts_of_every_partition_add_up_to_the_multiset(multiplicities):
    for partition in multiset_partitions(multiplicities):
        assert all(any(part) for part in partition)
        assert [sum(column) for column in zip(*partition, strict=True)] == multiplicities


@given(small_multiplicities)
def test_order_is_strictly_decreasing_so_no_partition_comes_twice(multiplicities):
    found = list(multiset_partitions(multiplicities))
    assert all(before > after for before, after in pairwise(found))
    assert all(list(partition) == sorted(partition, reverse=True) for partition in found)


@given(small_monomials)
def test_partitions_agree_with_brute_force(monomial):
    brute_force = {canonical(blocks) for blocks in set_partitions(list(monomial))}
    found = [canonical(partition) for partition in partitions_of(monomial)]
    assert len(found) == len(set(found))
    assert set(found) == brute_force


@given(small_monomials)
def test_every_part_of_a_monomial_is_sorted(monomial):
    for partition in partitions_of(monomial):
        assert all(list(part) == sorted(part) for part in partition)


def test_representative_is_the_papers_example():
    multiplicities, variables = representative((2, 3, 3, 5))
    assert multiplicities == (2, 1, 1)  # M0 = {1, 1, 2, 3}
    assert variables == (3, 2, 5)  # 3 → 1, 2 → 2, 5 → 3


@given(small_monomials)
def test_relabelling_the_representative_gives_the_monomial_back(monomial):
    multiplicities, variables = representative(monomial)
    assert list(multiplicities) == sorted(multiplicities, reverse=True)
    assert Counter(monomial) == dict(zip(variables, multiplicities, strict=True))


def test_condition_1_refuses_the_papers_example_of_too_many_parts():
    partition = ((1,), (1,), (2,), (3,))
    assert not satisfies_conditions(partition, taylor_order=2, inner_order=4)
    assert satisfies_conditions(partition, taylor_order=4, inner_order=4)


def test_condition_2_refuses_the_papers_example_of_a_part_of_too_high_order():
    partition = ((1,), (1, 2, 3))
    assert not satisfies_conditions(partition, taylor_order=2, inner_order=2)
    assert satisfies_conditions(partition, taylor_order=2, inner_order=3)


def test_both_conditions_leave_the_two_pairings_of_1123_at_order_two():
    allowed = {
        canonical(partition)
        for partition in partitions_of((1, 1, 2, 3))
        if satisfies_conditions(partition, taylor_order=2, inner_order=2)
    }
    assert allowed == {((1, 1), (2, 3)), ((1, 2), (1, 3))}


@pytest.mark.parametrize(
    ("partition", "expected"),
    [
        ((), 1),
        (((0,),), 1),
        (((0,), (1,)), 2),
        (((0,), (0,)), 1),
        (((0,), (0,), (1,), (2,)), 12),
    ],
)
def test_arrangements_are_the_multinomial_coefficient(partition, expected):
    assert count_arrangements(partition) == expected
