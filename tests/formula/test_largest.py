"""The largest entries come first, ties in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.formula.largest import largest


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 70))
def test_largest_is_the_head_of_a_stable_sort(values, n):
    size = np.array(values, dtype=float)
    expected = sorted(range(len(values)), key=lambda i: -values[i])[:n]
    assert largest(size, n).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_largest_of_many_ties_are_the_first_of_them(seed):
    """Partial sorting picks any of the ties; the first ones must come out."""
    values = np.random.default_rng(seed).integers(0, 3, size=500).tolist()
    for n in (1, 10, 100):
        expected = sorted(range(500), key=lambda i: -values[i])[:n]
        assert largest(np.array(values, dtype=float), n).tolist() == expected


def test_largest_keeps_an_infinite_entry_first():
    size = np.arange(100.0)
    size[3] = np.inf
    assert largest(size, 3).tolist() == [3, 99, 98]
