"""Changes of coordinates: there and back, and against evaluation at moved points."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.monomials import count_degree
from nn2poly.algebra.substitution import substitute

cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "p": st.integers(1, 5),
        "order": st.integers(0, 6),
        "n_outputs": st.integers(1, 3),
    }
)


def draw(case):
    """Draw blocks, factors (both signs) and shifts (some of them zero)."""
    rng = np.random.default_rng(case["seed"])
    p = case["p"]
    blocks = [
        rng.normal(size=(count_degree(p, d), case["n_outputs"])) for d in range(case["order"] + 1)
    ]
    factor = rng.uniform(0.5, 2.0, p) * rng.choice([-1.0, 1.0], p)
    shift = rng.uniform(-1.0, 1.0, p) * rng.integers(0, 2, p)
    return rng, blocks, factor, shift


def evaluate(blocks, points):
    """Evaluate term by term."""
    total = 0.0
    for degree, block in enumerate(blocks):
        terms = combinations_with_replacement(range(points.shape[1]), degree)
        values = [points[:, list(term)].prod(axis=1) for term in terms]
        total = total + np.column_stack(values) @ block
    return total


def size(blocks):
    return max(np.abs(block).max() for block in blocks)


@given(cases)
def test_a_substitution_is_evaluation_at_moved_points(case):
    rng, blocks, factor, shift = draw(case)
    points = rng.uniform(-1, 1, (7, case["p"]))
    found = evaluate(substitute(blocks, factor, shift), points)
    expected = evaluate(blocks, factor * points + shift)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(1, np.abs(found).max()))


@given(cases)
def test_there_and_back_is_where_it_began(case):
    _, blocks, factor, shift = draw(case)
    there = substitute(blocks, factor, shift)
    back = substitute(there, 1.0 / factor, -shift / factor)
    assert len(back) == len(blocks)
    for found, expected in zip(back, blocks, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(1, size(there)))


@given(cases)
def test_two_substitutions_are_one(case):
    rng, blocks, factor, shift = draw(case)
    factor2, shift2 = rng.uniform(0.5, 2.0, case["p"]), rng.uniform(-1, 1, case["p"])
    twice = substitute(substitute(blocks, factor, shift), factor2, shift2)
    once = substitute(blocks, factor * factor2, factor * shift2 + shift)
    for found, expected in zip(twice, once, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(1, size(once)))


@given(cases)
def test_the_top_degree_only_changes_its_scale(case):
    _, blocks, factor, shift = draw(case)
    top = substitute(blocks, factor, shift)[-1]
    terms = combinations_with_replacement(range(case["p"]), case["order"])
    factors = np.array([np.prod(factor[list(term)]) for term in terms])
    np.testing.assert_allclose(top, factors[:, None] * blocks[-1], rtol=1e-12)


@given(cases)
def test_the_new_constant_is_the_value_at_the_shift(case):
    _, blocks, factor, shift = draw(case)
    constant = substitute(blocks, factor, shift)[0][0]
    np.testing.assert_allclose(constant, evaluate(blocks, shift[None, :])[0], atol=1e-10)


def test_nothing_changes_in_the_same_coordinates():
    _, blocks, _, _ = draw({"seed": 1, "p": 3, "order": 4, "n_outputs": 2})
    for found, expected in zip(substitute(blocks, np.ones(3), np.zeros(3)), blocks, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("order", range(7))
def test_a_shifted_power_is_the_binomial_theorem(order):
    blocks = [np.zeros((1, 1)) for _ in range(order)] + [np.ones((1, 1))]
    found = np.concatenate(substitute(blocks, np.array([2.0]), np.array([3.0]))).ravel()
    np.testing.assert_allclose(found, np.polynomial.polynomial.polypow([3.0, 2.0], order))


def test_what_is_given_is_left_alone():
    _, blocks, factor, shift = draw({"seed": 2, "p": 3, "order": 3, "n_outputs": 1})
    before = [block.copy() for block in blocks]
    substitute(blocks, factor, shift + 0.5)
    for block, copy in zip(blocks, before, strict=True):
        np.testing.assert_array_equal(block, copy)
