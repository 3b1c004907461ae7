"""A quadratic in its plainest form agrees with its terms, written out."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.quadratic import Quadratic
from nn2poly.algebra.terms import Graded
from nn2poly.formula.evaluate import term_values

shapes = {
    "seed": st.integers(0, 2**32 - 1),
    "p": st.integers(1, 5),
    "k": st.integers(1, 3),
}


def drawn(seed, p, k):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(k, p, p))
    matrix = half + half.swapaxes(1, 2)
    return Quadratic(rng.normal(size=k), rng.normal(size=(p, k)), matrix), rng


@given(**shapes)
def test_its_terms_give_its_values(seed, p, k):
    quadratic, rng = drawn(seed, p, k)
    z = rng.normal(size=(4, p))
    expected = term_values(Graded(p, 2), z) @ np.concatenate(quadratic.blocks())
    np.testing.assert_allclose(quadratic.value(z), expected, atol=1e-12)
    np.testing.assert_allclose(sum(quadratic.parts(z)), expected, atol=1e-12)


@given(**shapes)
def test_every_coefficient_is_a_row_of_its_blocks(seed, p, k):
    quadratic, _ = drawn(seed, p, k)
    for degree, block in enumerate(quadratic.blocks()):
        for row, term in zip(block, combinations_with_replacement(range(p), degree), strict=True):
            np.testing.assert_array_equal(quadratic.coefficient(term), row)
    np.testing.assert_array_equal(quadratic.coefficient((0, 0, 0)), np.zeros(k))


@given(**shapes, data=st.data())
def test_some_of_its_variables_in_any_order(seed, p, k, data):
    quadratic, rng = drawn(seed, p, k)
    chosen = np.array(data.draw(st.lists(st.integers(0, p - 1), unique=True, min_size=1)))
    z = np.zeros((3, p))
    z[:, chosen] = rng.normal(size=(3, len(chosen)))
    found = quadratic.of(chosen).value(z[:, chosen])
    np.testing.assert_allclose(found, quadratic.value(z), atol=1e-12)


@given(**shapes)
def test_in_other_units(seed, p, k):
    quadratic, rng = drawn(seed, p, k)
    factors, z = rng.uniform(0.5, 2.0, p), rng.normal(size=(3, p))
    expected = quadratic.value(factors * z)
    np.testing.assert_allclose(quadratic.scaled(factors).value(z), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_works_in_the_precision_of_the_rows(dtype):
    quadratic, rng = drawn(0, 3, 2)
    parts = quadratic.parts(rng.normal(size=(5, 3)).astype(dtype))
    assert [part.dtype for part in parts] == [dtype] * 3
