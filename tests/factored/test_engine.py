"""The engine against the paper's partitions and against SymPy's multivariate expansion.

The Taylor coefficients come from mpmath's numerical differentiation in 50 digits, so that the
two sides share neither the algebra nor the table of activations.
"""

from functools import lru_cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.algebra.reference import convert_by_partitions
from nn2poly.factored.engine import predict_rays
from nn2poly.factored.expansions import expand_taylor
from nn2poly.network.activations import activation_names

# The laws hold wherever a potential may go; convergence is another matter.
pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.RadiusWarning")

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def mp_sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def mp_softplus(x):
    return mpmath.log1p(mpmath.exp(x))


def mp_gelu_tanh(x):
    root = mpmath.sqrt(2 / mpmath.pi)
    return x / 2 * (1 + mpmath.tanh(root * (x + mpmath.mpf("0.044715") * x**3)))


# Function, and a centre at which it has a series that is not trivial.
ACTIVATIONS = {
    "arctan": (mpmath.atan, 0.0),
    "celu": (lambda x: x if x > 0 else mpmath.expm1(x), -0.4),
    "elu": (lambda x: x if x > 0 else mpmath.expm1(x), -0.7),
    "exp": (mpmath.exp, 0.0),
    "gelu": (lambda x: x * mpmath.ncdf(x), 0.0),
    "gelu_tanh": (mp_gelu_tanh, 0.0),
    "hard_sigmoid": (lambda x: min(max(x / 6 + mpmath.mpf("0.5"), 0), 1), 0.0),
    "hard_tanh": (lambda x: min(max(x, -1), 1), 0.3),
    "leaky_relu": (lambda x: x if x > 0 else mpmath.mpf(0.01) * x, -0.5),
    "linear": (lambda x: x, 0.0),
    "log_sigmoid": (lambda x: -mp_softplus(-x), 0.0),
    "mish": (lambda x: x * mpmath.tanh(mp_softplus(x)), 0.0),
    "relu": (lambda x: max(x, 0), 0.5),
    "relu6": (lambda x: min(max(x, 0), 6), 3.0),
    "selu": (lambda x: SELU_SCALE * (x if x > 0 else SELU_ALPHA * mpmath.expm1(x)), -1.0),
    "sigmoid": (mp_sigmoid, 0.0),
    "silu": (lambda x: x * mp_sigmoid(x), 0.0),
    "sin": (mpmath.sin, 0.0),
    "softplus": (mp_softplus, 0.0),
    "softsign": (lambda x: x / (1 + abs(x)), 0.8),
    "tanh": (mpmath.tanh, 0.0),
}
SMOOTH = [name for name, (_, center) in ACTIVATIONS.items() if center == 0.0 and name != "linear"]


@lru_cache
def series(name, order, center):
    with mpmath.workdps(50):
        function = ACTIVATIONS[name][0]
        return tuple(float(value) for value in mpmath.taylor(function, center, order))


def taylor_of(network, orders, center):
    """Give one series per layer; None for a linear one."""
    names = [layer.activation.name for layer in network.layers]
    return [
        None if name == "linear" else series(name, order, center)
        for name, order in zip(names, orders, strict=True)
    ]


def by_partitions(network, orders, center, max_order):
    """Give the coefficients of all terms up to max_order, zero where a network cannot reach."""
    matrices = [np.vstack([layer.bias, layer.weights]) for layer in network.layers]
    taylor = taylor_of(network, orders, center)
    terms, coefficients = convert_by_partitions(
        matrices, taylor, max_order, centers=[center] * len(taylor)
    )
    return dict(zip(terms, coefficients, strict=True))


def by_sympy(network, orders, center, max_order):
    """Substitute the Taylor polynomials layer by layer, expand, truncate."""
    symbols = sympy.symbols(f"x0:{network.n_features}")
    outputs = [[sympy.Poly(x, *symbols, domain="RR") for x in symbols]]
    taylor = taylor_of(network, orders, center)
    for index, coefficients in enumerate(taylor, start=1):
        potentials = [
            sympy.Poly(float(bias), *symbols, domain="RR")
            for bias in network.layers[index - 1].bias
        ]
        for source, matrix in network.sources(index):
            for (i, j), weight in np.ndenumerate(matrix):
                potentials[j] += outputs[source][i] * float(weight)
        outputs.append([sympy_compose(u, coefficients, center, max_order) for u in potentials])
    return outputs[-1]


def sympy_compose(potential, coefficients, center, max_order):
    if coefficients is None:
        return potential
    result, power = potential * 0, potential * 0 + 1
    for g in coefficients:
        result += power * g
        power = sympy_truncate(power * (potential - center), max_order)
    return result


def sympy_truncate(poly, max_order):
    kept = {powers: value for powers, value in poly.terms() if sum(powers) <= max_order}
    return sympy.Poly.from_dict(kept or {(0,) * len(poly.gens): 0}, *poly.gens, domain="RR")


def assert_coefficients(poly, expected):
    """Compare with {term: (n_outputs,)}; an absent term is zero."""
    zero = np.zeros(poly.n_outputs)
    wanted = np.array([expected.get(term, zero) for term in poly.terms])
    assert expected.keys() <= set(poly.terms)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(poly.coefficients, wanted, rtol=0, atol=1e-11 * size)


def convert(network, max_order, orders, center):
    return n2p.convert(
        network, max_order, method="taylor", taylor_order=orders, taylor_center=center
    )


def test_every_activation_of_the_table_is_tested():
    assert set(ACTIVATIONS) == set(activation_names())


@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 6),
    widths=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    max_order=st.integers(1, 6),
    center=st.sampled_from([0.0, 0.0, 0.25, -0.5]),
    data=st.data(),
)
def test_any_network_has_the_coefficients_of_the_partitions(
    make_network, seed, p, widths, max_order, center, data
):
    names = data.draw(st.lists(st.sampled_from(SMOOTH), min_size=3, max_size=3))
    orders = data.draw(st.lists(st.integers(1, 8), min_size=len(widths), max_size=len(widths)))
    output = data.draw(st.sampled_from(["linear", "linear", "sigmoid"]))
    network = make_network(seed, (p, *widths), names[: len(widths) - 1], output=output)
    poly = convert(network, max_order, orders, center)
    assert_coefficients(poly, by_partitions(network, orders, center, max_order))


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_every_activation_gives_the_coefficients_of_the_partitions(make_network, name):
    center = ACTIVATIONS[name][1]
    network = make_network(7, (3, 4, 3, 2), name)
    poly = convert(network, 4, 8, center)
    assert_coefficients(poly, by_partitions(network, [8, 8, 8], center, 4))


@pytest.mark.parametrize("p", range(1, 7))
@pytest.mark.parametrize("max_order", range(1, 7))
def test_orders_and_inputs_up_to_six_give_the_coefficients_of_the_partitions(
    make_network, p, max_order
):
    network = make_network(p, (p, 3, 2), "gelu", output="softplus")
    poly = convert(network, max_order, 8, 0.0)
    assert poly.coefficients[-1].all()
    assert_coefficients(poly, by_partitions(network, [8, 8], 0.0, max_order))


@pytest.mark.parametrize("orders", [[1, 1, 1], [2, 1, 1], [2, 3, 1], [1, 2, 2], [3, 3, 3]])
def test_low_taylor_orders_leave_the_terms_they_cannot_reach_at_zero(make_network, orders):
    network = make_network(11, (2, 3, 2, 1), "exp", output="exp")
    poly = convert(network, 6, orders, 0.0)
    expected = by_partitions(network, orders, 0.0, 6)
    assert max(map(len, expected)) == min(6, np.prod(orders))
    assert_coefficients(poly, expected)


@pytest.mark.parametrize(
    ("p", "max_order", "names", "output", "skips"),
    [
        (1, 6, ["tanh", "sigmoid"], "linear", False),
        (2, 5, ["softplus", "mish"], "sigmoid", False),
        (2, 4, ["gelu_tanh", "arctan", "sin"], "linear", True),
        (3, 3, ["silu", "tanh"], "exp", True),
        (4, 3, ["exp"], "linear", False),
        (6, 2, ["gelu", "log_sigmoid"], "tanh", True),
        (6, 1, ["sin", "sin"], "linear", True),
    ],
)
def test_coefficients_are_those_of_sympys_expansion(
    make_network, p, max_order, names, output, skips
):
    widths = (3, 2, 2)[: len(names)]
    network = make_network(p + max_order, (p, *widths, 2), names, output=output, skips=skips)
    orders = [7] * len(network.layers)
    polys = by_sympy(network, orders, 0.0, max_order)
    poly = convert(network, max_order, orders, 0.0)
    for j, expected in enumerate(polys):
        wanted = [float(expected.nth(*(term.count(i) for i in range(p)))) for term in poly.terms]
        size = np.abs(wanted).max()
        np.testing.assert_allclose(poly.coefficients[:, j], wanted, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("name", ["hard_tanh", "softsign", "relu", "elu"])
def test_a_series_away_from_the_kink_is_that_of_sympys_expansion(make_network, name):
    center = ACTIVATIONS[name][1]
    network = make_network(5, (2, 2, 2, 1), name, skips=True)
    poly = convert(network, 4, 5, center)
    (expected,) = by_sympy(network, [5, 5, 5], center, 4)
    wanted = [float(expected.nth(*(term.count(i) for i in range(2)))) for term in poly.terms]
    np.testing.assert_allclose(poly.coefficients[:, 0], wanted, rtol=0, atol=1e-11)


@given(
    seed=st.integers(0, 2**32 - 1),
    max_order=st.integers(2, 6),
    skips=st.booleans(),
)
def test_a_lower_order_is_a_truncation(make_network, seed, max_order, skips):
    network = make_network(seed, (3, 4, 3, 2), "silu", skips=skips)
    high = convert(network, max_order, 8, 0.0).truncate(max_order - 1)
    low = convert(network, max_order - 1, 8, 0.0)
    np.testing.assert_allclose(high.coefficients, low.coefficients, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("skips", [False, True])
def test_the_parts_of_a_ray_are_the_values_of_the_degrees(make_network, skips):
    network = make_network(3, (3, 4, 3, 2), "sigmoid", skips=skips)
    poly = convert(network, 4, 8, 0.0)
    z = np.random.default_rng(0).normal(size=(5, 3))
    parts = predict_rays(network, expand_taylor(network, 4, [8] * 3, 0.0), 4, z)
    assert parts.shape == (5, 5, 2)
    each = poly.contributions(z)
    orders = np.array([len(term) for term in poly.terms])
    for degree, part in enumerate(parts):
        expected = each[:, orders == degree].sum(axis=1)
        np.testing.assert_allclose(part, expected, atol=1e-13)


def test_a_network_with_a_small_reach_is_its_own_polynomial(make_network):
    # Inside the radius of convergence the polynomial tends to the network as orders grow.
    network = make_network(8, (2, 3, 1), "tanh", spread=0.3, bias=0.1)
    X = np.random.default_rng(1).uniform(-1, 1, (50, 2))
    errors = [
        np.abs(n2p.convert(network, q, taylor_order=25).predict(X) - network.predict(X)).max()
        for q in (1, 3, 5, 7)
    ]
    assert all(later < earlier / 3 for earlier, later in pairwise(errors))
