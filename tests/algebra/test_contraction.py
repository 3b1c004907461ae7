"""The top degree by contraction, against the blocks that it never forms."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra import contraction
from nn2poly.algebra.contraction import Products, Share
from nn2poly.algebra.monomials import count_degree
from nn2poly.factored.engine import expand_layers, term_blocks
from nn2poly.factored.expansions import expand_taylor

ANALYTIC = ("tanh", "sigmoid", "softplus", "gelu", "silu", "sin", "exp")


def both_ways(network, max_order, orders=None):
    """Give the output blocks with the contracted top, and those with every block formed."""
    orders = orders or [8] * len(network.layers)
    expansions = expand_taylor(network, max_order, orders, 0.0)
    full = expand_layers(network, expansions, max_order)[-1][1]
    blocks = term_blocks(network, expansions, max_order)
    return [np.concatenate(list(block.slices())) for block in blocks], full


def assert_same_blocks(found, full, p):
    """Compare degree by degree; degrees that the full computation cannot reach are zero."""
    for degree, block in enumerate(found):
        shape = count_degree(p, degree), full[0].shape[1]
        expected = full[degree] if degree < len(full) else np.zeros(shape)
        assert block.shape == shape
        np.testing.assert_allclose(block, expected, rtol=1e-11, atol=1e-13)


def contracted_by_tuples(shares, p, order, n_outputs):
    """Sum the same products one pair of monomials at a time."""
    places = {t: i for i, t in enumerate(combinations_with_replacement(range(p), order))}
    out = np.zeros((len(places), n_outputs))
    for share, x in product(shares, range(1, order)):
        if x < len(share.v) and order - x < len(share.tail):
            for i, s in enumerate(combinations_with_replacement(range(p), x)):
                for k, t in enumerate(combinations_with_replacement(range(p), order - x)):
                    pair = share.v[x][i] * share.tail[order - x][k]
                    out[places[tuple(sorted(s + t))]] += pair @ share.downstream
    return out


def random_share(rng, p, width, n_outputs, v_degree, tail_degree):
    v, tail = (
        [rng.normal(size=(count_degree(p, d), width)) for d in range(degree + 1)]
        for degree in (v_degree, tail_degree)
    )
    curvature = rng.normal(size=width) if tail_degree else np.zeros(width)
    if tail_degree:
        tail[1] = curvature * v[1]  # as in every tail Σ a_m v^(m-1)
    downstream = rng.normal(size=(width, n_outputs))
    return Share(v=v, tail=tail, curvature=curvature, downstream=downstream)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(2, 5),
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), max_size=3),
)
def test_contraction_is_the_sum_over_pairs_of_monomials(seed, p, order, n_outputs, degrees):
    rng = np.random.default_rng(seed)
    shares = [random_share(rng, p, width, n_outputs, *d) for width, d in enumerate(degrees, 1)]
    np.testing.assert_allclose(
        np.concatenate(list(Products(shares, p, order, n_outputs).slices())),
        contracted_by_tuples(shares, p, order, n_outputs),
        rtol=1e-11,
        atol=1e-12,
    )


@pytest.mark.parametrize("max_order", range(1, 7))
@pytest.mark.parametrize("p", range(1, 7))
def test_top_degree_block_needs_no_inner_top_blocks(make_network, p, max_order):
    network = make_network(10 * p + max_order, (p, 4, 3, 2))
    found, full = both_ways(network, max_order)
    assert len(found) == len(full) == max_order + 1
    assert np.abs(found[max_order]).max() > 1e-8
    assert_same_blocks(found, full, p)


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=5),
    max_order=st.integers(1, 5),
    skips=st.booleans(),
    output=st.sampled_from(["linear", *ANALYTIC]),
    data=st.data(),
)
def test_any_network_gives_the_same_blocks(
    make_network, seed, sizes, max_order, skips, output, data
):
    n_layers = len(sizes) - 1
    hidden = data.draw(st.lists(st.sampled_from(ANALYTIC), min_size=n_layers, max_size=n_layers))
    orders = data.draw(st.lists(st.integers(1, 7), min_size=n_layers, max_size=n_layers))
    network = make_network(seed, sizes, hidden[1:], output=output, skips=skips)
    assert_same_blocks(*both_ways(network, max_order, orders), sizes[0])


@pytest.mark.parametrize("max_order", range(1, 7))
def test_residual_connections_reach_the_top(make_network, max_order):
    with_skips = make_network(1, (3, 4, 4, 3, 2), "sigmoid", skips=True)
    assert any(layer.skips for layer in with_skips.layers)
    found, full = both_ways(with_skips, max_order)
    assert_same_blocks(found, full, 3)
    without, _ = both_ways(make_network(1, (3, 4, 4, 3, 2), "sigmoid"), max_order)
    assert not np.allclose(found[max_order], without[max_order], rtol=1e-3, atol=0)


@pytest.mark.parametrize("max_order", range(1, 7))
def test_a_nonlinear_output_layer_has_its_own_share(make_network, max_order):
    network = make_network(2, (3, 4, 2), "tanh", output="sigmoid")
    assert_same_blocks(*both_ways(network, max_order), 3)


@pytest.mark.parametrize("max_order", range(1, 7))
def test_one_nonlinear_layer_is_enough(make_network, max_order):
    assert_same_blocks(*both_ways(make_network(3, (4, 3), output="exp"), max_order), 4)


@pytest.mark.parametrize(
    ("orders", "reach"), [([1, 1, 1], 1), ([2, 1, 1], 2), ([1, 3, 1], 3), ([2, 2, 1], 4)]
)
def test_degrees_that_low_taylor_orders_cannot_reach_are_zero(make_network, orders, reach):
    network = make_network(4, (3, 4, 3, 2), "exp")
    found, full = both_ways(network, 6, orders)
    assert len(full) == reach + 1
    assert np.abs(found[reach]).max() > 0
    assert all(not block.any() for block in found[reach + 1 :])
    assert_same_blocks(found, full, 3)


def test_a_linear_network_has_no_top(make_network):
    found, _ = both_ways(make_network(5, (3, 4, 2), "linear"), 4)
    assert [bool(block.any()) for block in found] == [True, True, False, False, False]


@pytest.mark.parametrize("n_bytes", [1, 1_000, 10_000])
@pytest.mark.parametrize("limit", [0, 4_000_000])
def test_slices_of_the_contraction_add_up(monkeypatch, make_network, n_bytes, limit):
    network = make_network(6, (6, 5, 4, 3), "gelu", skips=True)
    whole, full = both_ways(network, 6)
    monkeypatch.setattr(contraction, "SLICE_BYTES", n_bytes)
    monkeypatch.setattr("nn2poly.algebra.monomials.CACHED_TABLE_ENTRIES", limit)
    sliced, _ = both_ways(network, 6)
    np.testing.assert_allclose(sliced[6], whole[6], rtol=1e-12, atol=1e-16)
    assert_same_blocks(sliced, full, 6)
