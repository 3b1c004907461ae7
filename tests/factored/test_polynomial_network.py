"""The factored form, the terms written out, and single coefficients are one polynomial."""

import tracemalloc
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.errors import UnknownTermError
from nn2poly.factored import engine
from nn2poly.factored.engine import restrict

# The forms agree inside and outside the radius of convergence.
pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.RadiusWarning")

SMOOTH = ("tanh", "sigmoid", "softplus", "gelu", "silu", "mish", "arctan", "sin")


def assert_three_forms_agree(network, max_order, **options):
    pnet = n2p.polynomial_network(network, max_order, **options)
    poly = pnet.expand()
    p = network.n_features
    X = network.center + network.scale * np.random.default_rng(0).uniform(-1, 1, (9, p))
    values = poly.predict(X)
    size = max(1.0, np.abs(poly.coefficients).max())
    np.testing.assert_allclose(pnet.predict(X), values, rtol=0, atol=1e-10 * size)
    expected = [
        [pnet.coefficient(term, output) for output in range(network.n_outputs)]
        for term in poly.terms
    ]
    np.testing.assert_allclose(poly.coefficients, expected, rtol=0, atol=1e-10 * size)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=5),
    max_order=st.integers(1, 4),
    name=st.sampled_from(SMOOTH),
    output=st.sampled_from(["linear", "sigmoid"]),
    skips=st.booleans(),
    coordinates=st.booleans(),
    local=st.booleans(),
)
def test_rays_terms_and_single_coefficients_agree(
    make_network, seed, sizes, max_order, name, output, skips, coordinates, local
):
    network = make_network(seed, sizes, name, output=output, skips=skips, coordinates=coordinates)
    around = np.random.default_rng(seed).normal(size=sizes[0]) if local else None
    assert_three_forms_agree(network, max_order, around=around)


@pytest.mark.parametrize("max_order", [1, 2, 3, 5, 7])
def test_the_forms_agree_at_every_order(make_network, max_order):
    network = make_network(1, (2, 5, 4, 3), "gelu", skips=True, coordinates=True)
    assert_three_forms_agree(network, max_order)


@pytest.mark.parametrize("orders", [[1, 1, 1], [2, 1, 1], [1, 3, 2]])
def test_the_forms_agree_for_low_taylor_orders(make_network, orders):
    network = make_network(2, (3, 4, 3, 2), "exp", output="exp", skips=True)
    assert_three_forms_agree(network, 4, taylor_order=orders)


def test_a_skip_from_the_layer_before_adds_to_its_weights(make_network):
    plain = make_network(3, (3, 4, 3, 2), "tanh", coordinates=True)
    rng = np.random.default_rng(3)
    extra = [rng.normal(0, 0.3, layer.weights.shape) for layer in plain.layers]

    def rebuilt(make):
        layers = [make(i, layer) for i, layer in enumerate(plain.layers)]
        return n2p.Network(layers, center=plain.center, scale=plain.scale)

    doubled = rebuilt(lambda i, a: n2p.Layer(a.weights, a.bias, a.activation, {i: extra[i]}))
    merged = rebuilt(lambda i, a: n2p.Layer(a.weights + extra[i], a.bias, a.activation))
    X = rng.normal(size=(5, 3))
    np.testing.assert_allclose(doubled.predict(X), merged.predict(X), rtol=1e-12)
    for options in ({}, {"around": [0.1, 0.2, 0.3]}):
        expected = n2p.convert(merged, 2, **options).coefficients
        found = n2p.convert(doubled, 2, **options).coefficients
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert_three_forms_agree(doubled, 2, **options)


# ---- predictions ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_predictions_in_batches_are_those_of_single_rows(make_network, n_outputs):
    network = make_network(4, (3, 200, 150, n_outputs), "tanh", coordinates=True)
    pnet = n2p.polynomial_network(network, 3)
    n_rows = 3 * max(64, engine.BATCH_SIZE // 200) + 1
    X = np.random.default_rng(4).normal(size=(n_rows, 3))
    together = pnet.predict(X)
    assert together.shape == ((n_rows,) if n_outputs == 1 else (n_rows, n_outputs))
    single = np.concatenate([pnet.predict(row[None]) for row in X])
    np.testing.assert_allclose(together, single, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("batch_size", [None, 1, 64, 1000])
def test_a_batch_is_as_small_as_it_is_told(monkeypatch, make_network, batch_size):
    pnet = n2p.polynomial_network(make_network(4, (2, 3, 1)), 2)
    X = np.random.default_rng(1).normal(size=(200, 2))
    expected, sizes, parts = pnet.predict(X), [], engine.ray_parts

    def counted(network, expansions, max_order, z):
        sizes.append(len(z))
        return parts(network, expansions, max_order, z)

    monkeypatch.setattr(engine, "BATCH_SIZE", 1)
    monkeypatch.setattr("nn2poly.factored.polynomial_network.ray_parts", counted)
    np.testing.assert_allclose(pnet.predict(X, batch_size=batch_size), expected, rtol=1e-12)
    step = batch_size or 64
    assert sizes == [min(step, 200 - begin) for begin in range(0, 200, step)]


def test_data_frames_are_matched_by_name(make_network):
    pnet = n2p.polynomial_network(make_network(5), 2, feature_names=["a", "b", "c"])
    X = np.random.default_rng(2).normal(size=(6, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])[["c", "a", "b"]]
    np.testing.assert_array_equal(pnet.predict(frame), pnet.predict(X))
    np.testing.assert_allclose(pnet.expand().predict(frame), pnet.predict(X), rtol=1e-12)


def test_a_frame_with_the_default_names_means_the_same_to_all_forms(make_network):
    network = make_network(5)
    pnet = n2p.polynomial_network(network, 3)
    X = np.random.default_rng(2).normal(size=(6, 3))
    frame = pd.DataFrame(X, columns=["x1", "x2", "x3"])[["x3", "x1", "x2"]]
    np.testing.assert_allclose(pnet.expand().predict(frame), pnet.predict(frame), rtol=1e-12)


# ---- single coefficients -------------------------------------------------------------------


def test_terms_and_outputs_may_be_named(make_network):
    pnet = n2p.polynomial_network(
        make_network(6, (3, 4, 2)), 3, feature_names=["rm", "age", "tax"], output_names=["u", "v"]
    )
    expected = pnet.expand().coefficient((0, 0, 2), 1)
    spellings = [(0, 0, 2), (2, 0, 0), "rm^2 tax", "tax rm^2", ("rm", "tax", "rm")]
    for term in spellings:
        for output in (1, -1, "v"):
            assert pnet.coefficient(term, output) == pytest.approx(expected, rel=1e-12)
    assert pnet.coefficient("1") == pytest.approx(pnet.expand().coefficient(()), rel=1e-12)


def test_a_term_above_the_order_is_refused(make_network):
    pnet = n2p.polynomial_network(make_network(7), 2)
    with pytest.raises(UnknownTermError, match="higher order") as caught:
        pnet.coefficient((0, 1, 2))
    assert caught.value.expected == "order at most 2"


@pytest.mark.parametrize("term", [(3,), "x4", (0, -1)])
def test_a_feature_that_is_not_there_is_refused(make_network, term):
    with pytest.raises(UnknownTermError, match="no feature"):
        n2p.polynomial_network(make_network(7), 2).coefficient(term)


@pytest.mark.parametrize("output", [1, -2, "z"])
def test_an_output_that_is_not_there_is_refused(make_network, output):
    with pytest.raises(UnknownTermError, match="no output"):
        n2p.polynomial_network(make_network(7), 2).coefficient((0,), output)


def test_restricting_a_network_holds_the_other_inputs_at_their_centre(make_network):
    network = make_network(8, (4, 3, 3, 2), "tanh", skips=True, coordinates=True)
    X = np.tile(network.center, (5, 1))
    kept = np.array([1, 3])
    X[:, kept] += np.random.default_rng(0).normal(size=(5, 2))
    small = restrict(network, kept)
    np.testing.assert_allclose(small.predict(X[:, kept]), network.predict(X), rtol=1e-12)


# ---- the largest terms ---------------------------------------------------------------------


@pytest.mark.parametrize("output", [None, 0, 1, "y2"])
@pytest.mark.parametrize("n", [1, 5, 1000])
def test_top_terms_are_those_of_the_polynomial(make_network, n, output):
    pnet = n2p.polynomial_network(make_network(9, (4, 5, 2), "gelu"), 3)
    found, expected = pnet.top_terms(n, output=output), pnet.expand().top(n, output)
    assert found.columns == expected.columns
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose(
        [row[2:] for row in found], [row[2:] for row in expected], rtol=0, atol=1e-12
    )
    assert len(found) == min(n, pnet.n_terms - 1)


# ---- 784 inputs ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pixels(make_network):
    return make_network(10, (784, 20, 10, 10), "tanh", skips=True, spread=1.0)


def test_784_inputs_predict_without_their_80_million_terms(monkeypatch, pixels):
    monkeypatch.setattr(n2p.PolynomialNetwork, "expand", None)
    pnet = n2p.polynomial_network(pixels, 3)
    assert pnet.n_terms == 80_931_145
    used = np.array([3, 400, 783])
    X = np.zeros((50, 784))
    X[:, used] = np.random.default_rng(0).normal(size=(50, 3))
    tracemalloc.start()
    found = pnet.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6  # one coefficient per term would take 650 MB
    small = restrict(pixels, used)
    terms = [t for d in range(4) for t in combinations_with_replacement(range(3), d)]
    values = np.column_stack([X[:, used[list(t)]].prod(axis=1) for t in terms])
    coefficients = [
        [n2p.polynomial_network(small, 3).coefficient(t, j) for j in range(10)] for t in terms
    ]
    np.testing.assert_allclose(found, values @ coefficients, rtol=0, atol=1e-10)


def test_784_inputs_give_any_coefficient_without_their_terms(monkeypatch, pixels):
    monkeypatch.setattr(n2p.PolynomialNetwork, "expand", None)
    pnet = n2p.polynomial_network(pixels, 3)
    small = n2p.polynomial_network(restrict(pixels, np.array([5, 100, 700])), 3)
    tracemalloc.start()
    found = [pnet.coefficient(t, 4) for t in [(5, 100, 700), (5, 5, 700), (100,), ()]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    expected = [small.coefficient(t, 4) for t in [(0, 1, 2), (0, 0, 2), (1,), ()]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert all(found)
    assert peak < 5e6


# ---- what is carried along -----------------------------------------------------------------


def test_names_classes_link_and_coordinates_reach_the_polynomial():
    network = n2p.Network(
        [n2p.Layer(np.eye(2), None, "tanh"), n2p.Layer(np.ones((2, 3)))],
        feature_names=["a", "b"],
        output_names=["p", "q", "r"],
        classes=["p", "q", "r"],
        link="softmax",
        center=[1.0, 2.0],
        scale=[3.0, 4.0],
    )
    poly = n2p.convert(network, 2)
    assert poly.feature_names == ("a", "b")
    assert poly.output_names == poly.classes == ("p", "q", "r")
    assert poly.link == "softmax"
    assert (poly.center.tolist(), poly.scale.tolist()) == ([1.0, 2.0], [3.0, 4.0])
    assert poly.layers == ()


def test_layers_that_are_kept_predict_what_the_neurons_do(make_network):
    network = make_network(
        11, (2, 3, 2, 1), "tanh", spread=0.2, bias=0.1, skips=True, coordinates=True
    )
    poly = n2p.convert(network, 6, taylor_order=20, keep_layers=True)
    X = network.center + network.scale * np.random.default_rng(0).uniform(-0.5, 0.5, (8, 2))
    outputs = network.outputs_by_layer(network.to_working(X))
    for index, layer in enumerate(poly.layers, start=1):
        potential = network.potential(index, outputs)
        for kept, expected in ((layer.input, potential), (layer.output, outputs[index])):
            values = kept.predict(X).reshape(expected.shape)
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)
        assert layer.output.output_names[0] == f"layer{index}_1"
    np.testing.assert_allclose(poly.predict(X), network.predict(X), atol=1e-6)


def test_a_polynomial_network_cannot_be_changed(make_network):
    pnet = n2p.polynomial_network(make_network(12), 2)
    with pytest.raises(AttributeError):
        pnet.max_order = 3
