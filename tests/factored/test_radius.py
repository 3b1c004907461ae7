"""The warning about the radius of convergence, and the bound behind it."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.errors import NN2PolyWarning, RadiusWarning
from nn2poly.factored.expansions import potential_reach
from nn2poly.network.activation import Activation
from nn2poly.network.activations import activation, activation_names


def l1_constrained(make_network, seed, bound=1.0, **options):
    """Scale every neuron's weights and bias to a sum of absolute values of ``bound``."""
    network = make_network(seed, (4, 6, 5, 3, 1), **options)
    layers = []
    for layer in network.layers:
        norm = (np.abs(layer.weights).sum(axis=0) + np.abs(layer.bias)) / bound
        layers.append(n2p.Layer(layer.weights / norm, layer.bias / norm, layer.activation))
    return n2p.Network(layers)


def potentials(network, z):
    outputs = network.outputs_by_layer(z)
    return [network.potential(index, outputs) for index in range(1, len(network.layers) + 1)]


# ---- the bound -----------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 6),
    width=st.integers(1, 4),
    center=st.sampled_from([0.0, 0.7, -2.0]),
)
def test_the_bound_of_one_layer_is_reached_at_a_corner(make_network, seed, p, width, center):
    network = make_network(seed, (p, width, 1), "tanh", spread=3.0, bias=2.0)
    corners = np.array(list(product([-1.0, 1.0], repeat=p)))
    largest = np.abs(potentials(network, corners)[0] - center).max()
    assert potential_reach(network, center)[0].bound == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("name", activation_names())
def test_no_potential_of_a_deep_network_leaves_its_bound(make_network, name, skips):
    rng = np.random.default_rng(1)
    spreads = [0.2] if name == "exp" else [0.5, 3.0]  # exp of exp of exp leaves the floats
    for seed, spread in product(range(5), spreads):
        network = make_network(seed, (3, 5, 4, 3, 2), name, spread=spread, bias=1.0, skips=skips)
        z = np.vstack([rng.uniform(-1, 1, (500, 3)), list(product([-1, 1], repeat=3))])
        found = potentials(network, z)
        for center in (0.0, 0.8):
            reaches = potential_reach(network, center)
            for reach, potential in zip(reaches, found, strict=True):
                assert np.abs(potential - center).max() <= reach.bound * (1 + 1e-12)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "relu", "softplus"])
def test_the_bound_of_a_chain_of_rising_neurons_is_reached(name):
    # One neuron per layer and rising activations: interval arithmetic loses nothing.
    layers = [n2p.Layer([[2.0]], [0.3], name), n2p.Layer([[-3.0]], [0.1], name)]
    network = n2p.Network([*layers, n2p.Layer([[1.5]], [-0.2])])
    found = potentials(network, np.array([[-1.0], [1.0]]))
    for reach, potential in zip(potential_reach(network, 0.0), found, strict=True):
        assert reach.bound == pytest.approx(np.abs(potential).max(), rel=1e-12)


def test_the_bound_counts_inputs_in_working_coordinates(make_network):
    plain = make_network(2, (3, 4, 1))
    moved = n2p.Network(plain.layers, center=[5.0, 6.0, 7.0], scale=[2.0, 3.0, 4.0])
    assert potential_reach(plain, 0.0) == potential_reach(moved, 0.0)


@pytest.mark.parametrize(
    ("name", "center", "radius"),
    [
        ("tanh", 0.0, math.pi / 2),
        ("tanh", 1.0, math.hypot(1.0, math.pi / 2)),
        ("sigmoid", 0.0, math.pi),
        ("softplus", 0.0, math.pi),
        ("arctan", 0.0, 1.0),
        ("hard_tanh", 0.25, 0.75),
        ("exp", 0.0, math.inf),
        ("linear", 0.0, math.inf),
    ],
)
def test_the_radius_is_that_of_the_activation_at_the_centre(name, center, radius):
    network = n2p.Network([n2p.Layer([[1.0]], None, name)])
    (reach,) = potential_reach(network, center)
    assert (reach.layer, reach.activation) == (1, name)
    assert reach.radius == pytest.approx(radius, rel=1e-12)


@pytest.mark.filterwarnings("ignore::nn2poly.errors.RadiusWarning")
def test_a_chain_of_exponentials_converts_although_its_bound_overflows():
    layers = [n2p.Layer([[4.0]], None, "exp"), n2p.Layer([[14.0]], None, "exp")]
    outputs = n2p.Layer([[1e-6, 0.0, -1e-6]], None, "tanh")
    network = n2p.Network([*layers, outputs])
    bounds = [reach.bound for reach in potential_reach(network, 0.0)]
    assert bounds[1] == pytest.approx(14.0 * math.exp(4.0))
    assert bounds[2] > 1e90
    assert np.isfinite(n2p.convert(network, 2).coefficients).all()


def test_an_activation_with_a_series_but_without_turning_points_converts():
    tanh = activation("tanh")
    mine = Activation("mine", np.tanh, tanh.series, tanh.radius, turning_points=None)
    network = n2p.Network([n2p.Layer([[0.5]], None, mine), n2p.Layer([[1.0]])])
    assert n2p.convert(network, 1).coefficients[1] == pytest.approx(0.5)


# ---- the warning ---------------------------------------------------------------------------


def test_the_warning_names_layer_bound_and_radius():
    network = n2p.Network(
        [
            n2p.Layer([[0.5], [0.25]], [0.125], "tanh"),
            n2p.Layer([[4.0]], [1.0], "softplus"),
            n2p.Layer([[1.0]]),
        ]
    )
    with pytest.warns(RadiusWarning) as caught:
        n2p.convert(network, 2)
    (warning,) = caught
    bound = 1.0 + 4.0 * math.tanh(0.875)
    message = str(warning.message)
    assert "layer 2 (softplus)" in message
    assert f"|u - 0| can reach {bound:.3g}" in message
    assert "the radius of convergence is 3.14" in message
    assert "layer 1" not in message
    assert "fidelity" in message
    assert "l1" in message


def test_every_layer_outside_is_named_once():
    layers = [n2p.Layer(np.full((2, 2), 3.0), None, name) for name in ("tanh", "sigmoid")]
    with pytest.warns(RadiusWarning) as caught:
        n2p.convert(n2p.Network([*layers, n2p.Layer(np.ones((2, 1)))]), 2)
    (warning,) = caught
    message = str(warning.message)
    assert message.count("layer 1 (tanh)") == message.count("layer 2 (sigmoid)") == 1
    assert "can reach 6, the radius of convergence is 1.57" in message
    assert "layer 3" not in message


def test_the_warning_speaks_of_the_centre():
    network = n2p.Network([n2p.Layer([[3.0]], None, "tanh"), n2p.Layer([[1.0]])])
    with pytest.warns(RadiusWarning, match=r"\|u - 0\.5\| can reach 3\.5"):
        n2p.convert(network, 2, taylor_center=0.5)


@pytest.mark.parametrize("verb", [n2p.convert, n2p.polynomial_network])
def test_the_warning_points_at_the_line_of_the_caller(verb):
    network = n2p.Network([n2p.Layer([[3.0]], None, "tanh"), n2p.Layer([[1.0]])])
    with pytest.warns(RadiusWarning) as caught:
        verb(network, 2)
    assert caught[0].filename == __file__


def test_the_warning_can_be_caught_as_one_of_ours():
    assert issubclass(RadiusWarning, NN2PolyWarning)
    assert issubclass(NN2PolyWarning, UserWarning)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus"])
def test_an_l1_constrained_network_gives_no_warning(make_network, name, seed):
    network = l1_constrained(make_network, seed, activations=name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        poly = n2p.convert(network, 3)
    assert poly.max_order == 3


def test_a_weaker_constraint_gives_a_warning(make_network):
    network = l1_constrained(make_network, 0, bound=1.6, activations="tanh")
    with pytest.warns(RadiusWarning, match=r"layer 1 \(tanh\): \|u - 0\| can reach 1\.6"):
        n2p.convert(network, 3)


@pytest.mark.parametrize(("weight", "warned"), [(1.57, False), (1.58, True)])
def test_the_warning_begins_at_the_radius(weight, warned):
    network = n2p.Network([n2p.Layer([[weight]], None, "tanh"), n2p.Layer([[1.0]])])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        n2p.convert(network, 2)
    assert bool(caught) == warned


@pytest.mark.parametrize("name", ["sin", "exp", "gelu", "linear"])
def test_an_entire_activation_gives_no_warning(name):
    network = n2p.Network([n2p.Layer([[50.0]], None, name), n2p.Layer([[1.0]])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        n2p.convert(network, 2)
