"""The laws of the graded algebra, against polynomials kept as plain dictionaries."""

from itertools import combinations_with_replacement
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.blocks import BlockProduct
from nn2poly.algebra.graded import combine, compose
from nn2poly.algebra.monomials import count_degree
from nn2poly.algebra.rays import ray_powers
from nn2poly.factored.expansions import recenter

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "p": st.integers(1, 4),
        "width": st.integers(1, 3),
        "order": st.integers(1, 5),
        "degree": st.integers(1, 5),
    }
)


# ---- the independent model: {tuple of variables: coefficient}, one neuron at a time --------


def times(a, b, order):
    result = {}
    for s, u in a.items():
        for t, v in b.items():
            if len(s) + len(t) <= order:
                term = tuple(sorted(s + t))
                result[term] = result.get(term, 0.0) + u * v
    return result


def composed(v, coefficients, order):
    """Sum a_m v^m, each power by repeated multiplication."""
    result, power = {}, {(): 1.0}
    for a in coefficients:
        for term, value in power.items():
            result[term] = result.get(term, 0.0) + a * value
        power = times(power, v, order)
    return result


def evaluated(polynomial, point):
    return sum(value * prod(point[i] for i in term) for term, value in polynomial.items())


def as_dicts(graded, p):
    """Read degree blocks as dictionaries, one per neuron."""
    return [
        {
            term: float(block[place, neuron])
            for degree, block in enumerate(graded)
            for place, term in enumerate(combinations_with_replacement(range(p), degree))
        }
        for neuron in range(graded[0].shape[1])
    ]


# ---- random graded polynomials ---------------------------------------------------------------


def random_graded(rng, p, width, degree, *, constant=False):
    blocks = [rng.uniform(-1, 1, (count_degree(p, d), width)) for d in range(degree + 1)]
    if not constant:
        blocks[0][:] = 0.0
    return blocks


def rays_of(graded, points):
    """Evaluate every homogeneous part at the points, monomial by monomial."""
    p = points.shape[1]
    parts = [graded[0]]
    for degree, block in enumerate(graded[1:], start=1):
        terms = list(combinations_with_replacement(range(p), degree))
        values = np.array([[prod(point[i] for i in term) for term in terms] for point in points])
        parts.append(values @ block)
    return parts


def assert_graded(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.broadcast_to(a, b.shape), b, rtol=1e-11, atol=1e-11)


def assert_same_terms(found, expected):
    """Compare dictionaries where an absent term counts as zero."""
    for term in found.keys() | expected.keys():
        np.testing.assert_allclose(
            found.get(term, 0.0), expected.get(term, 0.0), rtol=1e-11, atol=1e-11, err_msg=str(term)
        )


# ---- products of blocks ----------------------------------------------------------------------


def product_of(p, *factors):
    """Multiply (degree, block) pairs from left to right."""
    degree, block = factors[0]
    for other_degree, other in factors[1:]:
        out = BlockProduct(p).empty(degree + other_degree, block.shape[1])
        BlockProduct(p).add(out, degree, block, other_degree, other)
        degree, block = degree + other_degree, out
    return degree, block


def random_block(rng, p, degree, width=2):
    return degree, rng.uniform(-1, 1, (count_degree(p, degree), width))


def block_dicts(p, degree, block):
    empty = [np.zeros((count_degree(p, d), block.shape[1])) for d in range(degree)]
    return as_dicts([*empty, block], p)


degrees = st.integers(1, 3)
seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 4), degrees, degrees)
def test_product_of_blocks_is_that_of_the_dictionaries(seed, p, x, y):
    rng = np.random.default_rng(seed)
    a, b = random_block(rng, p, x), random_block(rng, p, y)
    found = block_dicts(p, *product_of(p, a, b))
    for product, s, t in zip(found, block_dicts(p, *a), block_dicts(p, *b), strict=True):
        assert_same_terms(product, times(s, t, x + y))


@given(seeds, st.integers(1, 4), degrees, degrees)
def test_product_of_blocks_commutes(seed, p, x, y):
    rng = np.random.default_rng(seed)
    a, b = random_block(rng, p, x), random_block(rng, p, y)
    np.testing.assert_allclose(product_of(p, a, b)[1], product_of(p, b, a)[1], atol=1e-13)


@given(seeds, st.integers(1, 4), degrees, degrees, degrees)
def test_product_of_blocks_is_associative(seed, p, x, y, z):
    rng = np.random.default_rng(seed)
    a, b, c = (random_block(rng, p, d) for d in (x, y, z))
    left, right = product_of(p, product_of(p, a, b), c), product_of(p, a, product_of(p, b, c))
    np.testing.assert_allclose(left[1], right[1], rtol=1e-10, atol=1e-12)


def test_product_adds_to_what_is_there_and_leaves_its_factors_alone():
    rng = np.random.default_rng(0)
    (x, a), (y, b) = random_block(rng, 3, 1), random_block(rng, 3, 2)
    before = a.copy(), b.copy()
    once, twice = (BlockProduct(3).empty(3, 2) for _ in range(2))
    BlockProduct(3).add(once, x, a, y, b)
    BlockProduct(3).add(twice, x, a, y, b)
    BlockProduct(3).add(twice, x, a, y, b)
    np.testing.assert_allclose(twice, 2.0 * once, rtol=1e-14)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_product_may_be_looked_up_in_slices(monkeypatch, rows):
    rng = np.random.default_rng(1)
    a, b = random_block(rng, 4, 3), random_block(rng, 4, 4)
    _, whole = product_of(4, a, b)
    monkeypatch.setattr("nn2poly.algebra.blocks.SLICE_ROWS", rows)
    monkeypatch.setattr("nn2poly.algebra.monomials.CACHED_TABLE_ENTRIES", 0)
    _, sliced = product_of(4, a, b)
    np.testing.assert_allclose(sliced, whole, rtol=1e-13)


# ---- powers ----------------------------------------------------------------------------------


@given(shapes, st.integers(1, 6))
def test_powers_are_those_of_the_dictionaries(shape, highest):
    p, order = shape["p"], shape["order"]
    v = random_graded(np.random.default_rng(shape["seed"]), p, shape["width"], shape["degree"])
    found = BlockProduct(p).plain_powers(v, highest, order)
    inner = as_dicts(v, p)
    expected = [{(): 1.0}] * len(inner)
    for m in range(1, min(highest, order) + 1):
        expected = [times(a, b, order) for a, b in zip(expected, inner, strict=True)]
        full = [np.zeros((count_degree(p, d), shape["width"])) for d in range(m)]
        assert len(full + found[m - 1]) == 1 + min(order, m * shape["degree"])
        for polynomial, other in zip(as_dicts(full + found[m - 1], p), expected, strict=True):
            assert_same_terms(polynomial, other)


@given(shapes, st.integers(1, 3), st.integers(1, 3))
def test_truncated_powers_multiply_to_powers(shape, a, b):
    # Associativity under truncation: v^a · v^b = v^(a+b), whatever was cut on the way.
    p, order = shape["p"], shape["order"]
    v = random_graded(np.random.default_rng(shape["seed"]), p, 1, shape["degree"])
    found = BlockProduct(p).plain_powers(v, a + b, order)
    if a + b > order:
        assert len(found) == order
        return
    as_dict = [
        as_dicts([*(np.zeros((count_degree(p, d), 1)) for d in range(m)), *parts], p)[0]
        for m, parts in enumerate(found, start=1)
    ]
    assert_same_terms(as_dict[a + b - 1], times(as_dict[a - 1], as_dict[b - 1], order))


@given(shapes)
def test_truncating_before_or_after_taking_powers_is_the_same(shape):
    p, order = shape["p"], min(shape["order"], 4)
    v = random_graded(np.random.default_rng(shape["seed"]), p, 2, 4)
    early = BlockProduct(p).plain_powers(v[: order + 1], order, order)
    late = BlockProduct(p).plain_powers(v, order, 6)
    for m, parts in enumerate(early, start=1):
        assert_graded(parts, late[m - 1][: order + 1 - m])


@given(shapes)
def test_the_constant_of_what_is_raised_to_powers_is_ignored(shape):
    p, order = shape["p"], shape["order"]
    v = random_graded(np.random.default_rng(shape["seed"]), p, 2, shape["degree"])
    powers = BlockProduct(p).plain_powers
    offset = powers([v[0] + 7.0, *v[1:]], order, order)
    for parts, expected in zip(offset, powers(v, order, order), strict=True):
        assert_graded(parts, expected)


def test_a_constant_has_no_powers():
    found = BlockProduct(2).plain_powers([np.ones((1, 2))], 3, 4)
    assert all(parts == [] for parts in found)
    composed_constant = compose([np.ones((1, 2))], np.full((4, 2), 0.5), 4, BlockProduct(2).powers)
    assert_graded(composed_constant, [np.full((1, 2), 0.5)])


# ---- composition -----------------------------------------------------------------------------


@given(shapes, st.integers(1, 7))
def test_composition_is_that_of_the_dictionaries(shape, highest):
    p, width, order = shape["p"], shape["width"], shape["order"]
    rng = np.random.default_rng(shape["seed"])
    v = random_graded(rng, p, width, shape["degree"])
    expansion = rng.uniform(-1, 1, (highest + 1, width))
    found = compose(v, expansion, order, BlockProduct(p).powers)
    inner = [{t: c for t, c in d.items() if len(t) <= order} for d in as_dicts(v, p)]
    for neuron, polynomial in enumerate(as_dicts(found, p)):
        assert_same_terms(polynomial, composed(inner[neuron], expansion[:, neuron], order))


@given(shapes, st.integers(1, 4), st.lists(st.floats(-1, 1), min_size=4, max_size=4))
def test_composition_without_truncation_commutes_with_evaluation(shape, highest, point):
    p, degree = shape["p"], min(shape["degree"], 2)
    rng = np.random.default_rng(shape["seed"])
    v = random_graded(rng, p, 1, degree)
    expansion = rng.uniform(-1, 1, (highest + 1, 1))
    found = compose(v, expansion, degree * highest, BlockProduct(p).powers)
    value = evaluated(as_dicts(v, p)[0], point)
    expected = np.polynomial.polynomial.polyval(value, expansion[:, 0])
    # Up to 14 inner terms, to the fourth power.
    np.testing.assert_allclose(
        evaluated(as_dicts(found, p)[0], point), expected, rtol=1e-10, atol=1e-10
    )


@given(shapes, st.integers(1, 6))
def test_truncated_composition_evaluates_as_the_dictionaries_do(shape, highest):
    p, order = shape["p"], shape["order"]
    rng = np.random.default_rng(shape["seed"])
    v, point = random_graded(rng, p, 1, order), rng.uniform(-1, 1, p)
    expansion = rng.uniform(-1, 1, (highest + 1, 1))
    found = as_dicts(compose(v, expansion, order, BlockProduct(p).powers), p)[0]
    expected = composed(as_dicts(v, p)[0], expansion[:, 0], order)
    np.testing.assert_allclose(
        evaluated(found, point), evaluated(expected, point), rtol=1e-10, atol=1e-10
    )


@given(shapes, st.integers(1, 6))
def test_the_tail_is_the_composition_divided_by_the_potential(shape, highest):
    # Σ a_m v^m = a_0 + v·r, where r = Σ a_m v^(m-1) comes from the same powers.
    p, width, order = shape["p"], shape["width"], shape["order"]
    rng = np.random.default_rng(shape["seed"])
    v = random_graded(rng, p, width, shape["degree"])
    expansion = rng.uniform(-1, 1, (highest + 1, width))
    below = BlockProduct(p).plain_powers(v, highest, order - 1)
    tail = combine(expansion[1:], below, order - 1)
    assert len(tail) <= order
    np.testing.assert_array_equal(tail[0], expansion[1:2])
    whole = as_dicts(compose(v, expansion, order, BlockProduct(p).powers), p)
    for neuron, polynomial in enumerate(as_dicts(tail, p)):
        divided = times(as_dicts(v, p)[neuron], polynomial, order)
        assert_same_terms(divided | {(): expansion[0, neuron]}, whole[neuron])


@given(shapes)
def test_the_parts_below_the_top_need_no_top_block(shape):
    rng = np.random.default_rng(shape["seed"])
    p, order = shape["p"], shape["order"]
    v = random_graded(rng, p, 2, order)
    expansion = rng.uniform(-1, 1, (order + 2, 2))
    below = compose(v[:order], expansion, order - 1, BlockProduct(p).powers)
    assert_graded(below, compose(v, expansion, order, BlockProduct(p).powers)[:order])


@given(shapes, st.integers(1, 4))
def test_powers_above_the_order_change_nothing(shape, extra):
    rng = np.random.default_rng(shape["seed"])
    p, order = shape["p"], shape["order"]
    v = random_graded(rng, p, 2, shape["degree"])
    expansion = rng.uniform(-1, 1, (order + 1 + extra, 2))
    powers = BlockProduct(p).powers
    assert_graded(
        compose(v, expansion, order, powers), compose(v, expansion[: order + 1], order, powers)
    )


@given(shapes, st.floats(-1, 1), st.integers(1, 4))
def test_a_taylor_order_above_the_degree_acts_through_recentering_alone(shape, constant, extra):
    # Σ_{n ≤ q} g_n (c + v)^n, q > Q, by dictionaries that know nothing of re-centring.
    p, order = min(shape["p"], 3), min(shape["order"], 4)
    rng = np.random.default_rng(shape["seed"])
    v = random_graded(rng, p, 1, shape["degree"])
    series = rng.uniform(-1, 1, (order + 1 + extra, 1))
    moved = recenter(series, np.array([constant]), order)
    assert moved.shape == (order + 1, 1)
    found = as_dicts(compose(v, moved, order, BlockProduct(p).powers), p)[0]
    inner = as_dicts(v, p)[0] | {(): constant}
    expected = composed(inner, series[:, 0], order)
    assert_same_terms(found, {t: value for t, value in expected.items() if len(t) <= order})


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(0, 8))
def test_recentering_moves_by_binomial_coefficients(seed, q, order):
    rng = np.random.default_rng(seed)
    series, shift = rng.uniform(-1, 1, (q + 1, 3)), rng.uniform(-2, 2, 3)
    found = recenter(series, shift, order)
    assert found.shape == (min(q, order) + 1, 3)
    for m, row in enumerate(found):
        expected = sum(series[n] * comb(n, m) * shift ** (n - m) for n in range(m, q + 1))
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_without_a_constant_a_higher_taylor_order_changes_nothing(extra):
    rng = np.random.default_rng(3)
    series = rng.normal(size=(4 + extra, 2))
    np.testing.assert_array_equal(recenter(series, np.zeros(2), 3), series[:4])


# ---- rays ------------------------------------------------------------------------------------


@given(shapes, st.integers(1, 5))
def test_composing_rays_is_evaluating_the_composed_blocks(shape, highest):
    p, width, order = shape["p"], shape["width"], shape["order"]
    rng = np.random.default_rng(shape["seed"])
    v, points = random_graded(rng, p, width, shape["degree"]), rng.uniform(-1.5, 1.5, (4, p))
    expansion = rng.uniform(-1, 1, (highest + 1, width))
    blocks = compose(v, expansion, order, BlockProduct(p).powers)
    rays = compose(rays_of(v, points), expansion, order, ray_powers)
    assert_graded(rays, rays_of(blocks, points))


@given(shapes)
def test_powers_of_rays_are_the_values_of_powers_of_blocks(shape):
    p, order = shape["p"], shape["order"]
    rng = np.random.default_rng(shape["seed"])
    v, points = random_graded(rng, p, 2, shape["degree"]), rng.uniform(-1.5, 1.5, (3, p))
    rays = ray_powers(rays_of(v, points), order, order)
    for m, blocks in enumerate(BlockProduct(p).plain_powers(v, order, order), start=1):
        full = [np.zeros((count_degree(p, d), 2)) for d in range(m)] + blocks
        assert_graded(rays[m - 1], rays_of(full, points)[m:])


def test_rays_are_homogeneous():
    rng = np.random.default_rng(5)
    v, points = random_graded(rng, 3, 2, 2), rng.normal(size=(4, 3))
    expansion = rng.normal(size=(5, 2))
    once = compose(rays_of(v, points), expansion, 5, ray_powers)
    twice = compose(rays_of(v, 2.0 * points), expansion, 5, ray_powers)
    for degree in range(6):
        np.testing.assert_allclose(twice[degree], 2.0**degree * once[degree], rtol=1e-12)
