"""Local polynomials against nested automatic differentiation in PyTorch."""

from collections import Counter
from math import factorial, prod

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.errors import NoSeriesError
from nn2poly.network.activations import activation, activation_names

# torch imports its forward-mode rules on first use, and warns of its own ways.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")

TOLERANCE = 1e-9
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def sigmoid(x):
    return 0.5 + 0.5 * torch.tanh(0.5 * x)


def softplus(x):
    return torch.log1p(torch.exp(x))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def either(x, below, above):
    return torch.where(x > 0, above, below)


# Written out in primitives, whose derivatives torch knows to any order in forward mode.
TORCH = {
    "arctan": torch.atan,
    "celu": lambda x: either(x, torch.expm1(x), x),
    "elu": lambda x: either(x, torch.expm1(x), x),
    "exp": torch.exp,
    "gelu": lambda x: 0.5 * x * (1 + torch.erf(x / np.sqrt(2))),
    "gelu_tanh": gelu_tanh,
    "hard_sigmoid": lambda x: torch.where(x.abs() < 3, x / 6 + 0.5, (x > 0).to(x)),
    "hard_tanh": lambda x: torch.where(x.abs() < 1, x, torch.sign(x)),
    "leaky_relu": lambda x: either(x, 0.01 * x, x),
    "linear": lambda x: x,
    "log_sigmoid": lambda x: -softplus(-x),
    "mish": lambda x: x * torch.tanh(softplus(x)),
    "relu": lambda x: either(x, 0 * x, x),
    "relu6": lambda x: torch.where(x > 6, 0 * x + 6, either(x, 0 * x, x)),
    "selu": lambda x: SELU_SCALE * either(x, SELU_ALPHA * torch.expm1(x), x),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "sin": torch.sin,
    "softplus": softplus,
    "softsign": lambda x: x / (1 + x.abs()),
    "tanh": torch.tanh,
}
KINKED = {
    "celu",
    "elu",
    "hard_sigmoid",
    "hard_tanh",
    "leaky_relu",
    "relu",
    "relu6",
    "selu",
    "softsign",
}


def forward(network):
    """Give the network as a function of one point (p,) in raw units, in torch alone."""
    center, scale = torch.tensor(network.center), torch.tensor(network.scale)
    steps = [
        (
            [(source, torch.tensor(matrix)) for source, matrix in network.sources(index)],
            torch.tensor(layer.bias),
            TORCH[layer.activation.name],
        )
        for index, layer in enumerate(network.layers, start=1)
    ]

    def function(x):
        outputs = [(x - center) / scale]
        for sources, bias, activate in steps:
            outputs.append(activate(bias + sum(outputs[s] @ matrix for s, matrix in sources)))
        return outputs[-1]

    return function


def jets(network, point, max_order, jacobian=torch.func.jacfwd):
    """Give the derivative tensors (n_outputs, p, …, p) of orders 0 … max_order at a point."""
    function, x = forward(network), torch.tensor(np.asarray(point, dtype=float))
    tensors = [function(x)]
    for _ in range(max_order):
        function = jacobian(function)
        tensors.append(function(x))
    return [tensor.numpy() for tensor in tensors]


def assert_is_jet(poly, point, tensors):
    """Compare the coefficients around the point, per raw unit, with derivatives / factorials."""
    raw = poly.rebase(center=point)
    np.testing.assert_array_equal(raw.center, point)
    expected = [
        tensors[len(term)][(slice(None), *term)] / prod(map(factorial, Counter(term).values()))
        for term in raw.terms
    ]
    np.testing.assert_allclose(raw.coefficients, expected, rtol=TOLERANCE, atol=TOLERANCE)


def away_from_kinks(network, point):
    """Check that no potential is near a kink, where there is nothing to compare."""
    outputs = network.outputs_by_layer(network.to_working(np.atleast_2d(point)))
    return all(
        layer.activation.radius(network.potential(index, outputs)).min() > 1e-3
        for index, layer in enumerate(network.layers, start=1)
    )


def test_every_activation_of_the_table_is_tested():
    assert set(TORCH) == set(activation_names())
    assert {
        name
        for name in TORCH
        if any(np.isnan(activation(name).series(np.array([c]), 3)).any() for c in (-1, 0, 1, 3))
    } == KINKED


@pytest.mark.parametrize("name", sorted(TORCH))
def test_the_torch_functions_of_this_test_are_those_of_the_table(name):
    x = np.linspace(-7, 7, 141)
    found = TORCH[name](torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, activation(name)(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(TORCH))
def test_coefficients_are_derivatives_over_factorials(make_network, name):
    network = make_network(1, (3, 4, 3, 2), name, spread=1.5, bias=1.0)
    point = np.array([0.7, -1.2, 0.4])
    assert away_from_kinks(network, point)
    tensors = jets(network, point, 4)
    for max_order in (1, 2, 3, 4):
        poly = n2p.convert(network, max_order, around=point)
        assert poly.max_order == max_order
        assert_is_jet(poly, point, tensors)


@pytest.mark.parametrize("name", sorted(KINKED))
def test_both_sides_of_a_kink_are_in_the_test(make_network, name):
    network = make_network(1, (3, 4, 3, 2), name, spread=1.5, bias=1.0)
    z = np.array([[0.7, -1.2, 0.4]])
    outputs = network.outputs_by_layer(z)
    signs = {np.sign(u) for i in (1, 2) for u in network.potential(i, outputs).ravel()}
    assert signs == {-1.0, 1.0}


@pytest.mark.parametrize("jacobian", [torch.func.jacfwd, torch.func.jacrev])
def test_forward_and_reverse_differentiation_agree(make_network, jacobian):
    network = make_network(2, (2, 3, 1), "gelu", output="sigmoid")
    point = np.array([0.3, -0.8])
    poly = n2p.convert(network, 3, around=point)
    assert_is_jet(poly, point, jets(network, point, 3, jacobian))


@pytest.mark.parametrize("name", ["tanh", "softplus", "mish", "relu"])
@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("coordinates", [False, True])
def test_skips_centres_and_scales_are_part_of_the_network(make_network, name, skips, coordinates):
    options = {"spread": 1.2, "skips": skips, "coordinates": coordinates, "output": "silu"}
    network = make_network(3, (3, 4, 3, 2), name, **options)
    point = np.array([1.5, -0.5, 2.0])
    assert away_from_kinks(network, point)
    poly = n2p.convert(network, 3, around=point)
    np.testing.assert_array_equal(poly.center, point)
    np.testing.assert_array_equal(poly.scale, network.scale)
    assert_is_jet(poly, point, jets(network, point, 3))


@pytest.mark.slow
@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 3),
    max_order=st.integers(1, 3),
    names=st.lists(st.sampled_from(sorted(set(TORCH) - KINKED)), min_size=2, max_size=2),
    skips=st.booleans(),
)
def test_any_smooth_network_has_its_derivatives(make_network, seed, p, max_order, names, skips):
    network = make_network(seed, (p, 3, 2, 2), names, skips=skips, coordinates=True)
    point = np.random.default_rng(seed).normal(size=p)
    poly = n2p.convert(network, max_order, around=point)
    assert_is_jet(poly, point, jets(network, point, max_order))


@pytest.mark.parametrize("skips", [False, True])
def test_a_network_is_the_same_around_any_point_and_scale(make_network, skips):
    network = make_network(9, (3, 4, 3, 2), "gelu", skips=skips, coordinates=True)
    moved = network.recentered([1.0, -2.0, 0.5], [2.0, 0.3, 4.0])
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(moved.predict(X), network.predict(X), rtol=1e-12, atol=1e-13)
    poly, expected = (n2p.convert(n, 2, around=[0.1, 0.2, 0.3]) for n in (moved, network))
    np.testing.assert_array_equal(poly.scale, [2.0, 0.3, 4.0])
    np.testing.assert_allclose(
        poly.rebase().coefficients, expected.rebase().coefficients, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("coordinates", [False, True])
def test_the_polynomial_touches_the_network_at_its_point(make_network, coordinates):
    network = make_network(4, (3, 5, 2), "sigmoid", spread=3.0, coordinates=coordinates)
    point = np.array([[0.4, 1.1, -2.0]])
    poly = n2p.convert(network, 3, around=point[0])
    np.testing.assert_allclose(poly.predict(point), network.predict(point), rtol=1e-13)
    np.testing.assert_allclose(poly.coefficients[0], network.predict(point)[0], rtol=1e-13)
    steps = np.array([0.2, 0.1, 0.05])
    errors = [np.abs(poly.predict(point + h) - network.predict(point + h)).max() for h in steps]
    slopes = np.diff(np.log(errors)) / np.diff(np.log(steps))
    assert (slopes > 3.5).all()  # the error is of order Q + 1 = 4


def test_around_chooses_the_local_method(make_network):
    network = make_network(5)
    pnet = n2p.polynomial_network(network, 2, around=[0.1, 0.2, 0.3])
    assert pnet.method == "local"
    named = n2p.convert(network, 2, method="local", around=[0.1, 0.2, 0.3])
    np.testing.assert_array_equal(named.coefficients, pnet.expand().coefficients)


@pytest.mark.parametrize(
    "around",
    [
        *((1, 2, 3), [[1, 2, 3]], np.array([1, 2, 3]), torch.tensor([1.0, 2.0, 3.0])),
        pd.Series([1.0, 2.0, 3.0]),
        pl.Series([1.0, 2.0, 3.0]),
        torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
    ],
)
def test_a_point_may_come_as_a_row_of_any_kind(make_network, around):
    poly = n2p.convert(make_network(6), 2, around=around)
    assert poly.center.tolist() == [1.0, 2.0, 3.0]


def test_one_input_may_be_a_plain_number(make_network):
    assert n2p.convert(make_network(6, (1, 3, 1)), 2, around=0.5).center.tolist() == [0.5]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_row_of_a_data_frame_is_matched_by_name(make_network, frame):
    network = make_network(7).named(["age", "dose", "time"])
    row = frame({"time": [3.0], "age": [1.0], "dose": [2.0], "other": [9.0]})
    poly = n2p.convert(network, 2, around=row)
    assert poly.center.tolist() == [1.0, 2.0, 3.0]
    expected = n2p.convert(network, 2, around=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(poly.coefficients, expected.coefficients)


def test_a_labelled_row_is_matched_by_name(make_network):
    network = make_network(7).named(["age", "dose", "time"])
    frame = pd.DataFrame({"time": [3.0], "age": [1.0], "dose": [2.0]})
    poly = n2p.convert(network, 2, around=frame.iloc[0])
    assert poly.center.tolist() == [1.0, 2.0, 3.0]


def test_a_kink_at_the_point_is_refused_with_its_layer():
    network = n2p.Network(
        [n2p.Layer([[1.0], [1.0]], [0.5], "tanh"), n2p.Layer([[1.0]], None, "relu")]
    )
    with pytest.raises(NoSeriesError, match=r"relu has no Taylor series") as caught:
        n2p.convert(network, 2, around=[-0.25, -0.25])
    assert caught.value.where == "layer 2 (relu)"


@pytest.mark.filterwarnings("error")
def test_a_local_polynomial_needs_no_radius(make_network):
    network = make_network(8, (3, 4, 1), "tanh", spread=50.0)
    assert n2p.convert(network, 2, around=[0.0, 0.0, 0.0]).n_terms == 10
