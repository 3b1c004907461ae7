"""The paper's route against the R package's numbers and against direct expansion."""

import json
from itertools import pairwise
from math import comb
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from nn2poly.algebra.reference import compose_by_partitions, convert_by_partitions
from nn2poly.errors import InvalidInputError, InvalidNetworkError

GOLDEN = Path(__file__).parents[1] / "golden"
GOLDEN_NETWORKS = sorted(path.stem for path in GOLDEN.glob("*.json") if path.stem != "keep_layers")
TOLERANCE = 1e-12

# mpmath rather than the package's own table, so that the two cannot share a mistake.
ACTIVATIONS = {
    "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
}


def series(activation, order, center=0.0):
    if activation == "linear":
        return None
    with mpmath.workdps(50):
        return [float(value) for value in mpmath.taylor(ACTIVATIONS[activation], center, order)]


def load(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def convert_golden(golden, **options):
    n_layers = len(golden["weights"])
    orders, center = golden["taylor_orders"], golden["taylor_center"]
    orders = orders if isinstance(orders, list) else [orders] * n_layers
    pairs = zip(golden["activations"], orders, strict=True)
    taylor = [series(activation, order, center) for activation, order in pairs]
    centers = [center] * n_layers
    return convert_by_partitions(
        golden["weights"], taylor, golden["max_order"], centers=centers, **options
    )


def golden_term(term):
    """Translate from R: 1-based, 0 for the intercept, a bare number for one variable."""
    indices = term if isinstance(term, list) else [term]
    return tuple(index - 1 for index in indices if index)


def assert_is_golden(found, golden):
    expected = np.array(golden["coefficients"])
    assert list(found.terms) == [golden_term(term) for term in golden["terms"]]
    np.testing.assert_allclose(
        found.coefficients, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max()
    )


def expand_with_sympy(weights, taylor, symbols):
    values = list(symbols)
    for matrix, coefficients in zip(weights, taylor, strict=True):
        potentials = [
            row[0] + sum(w * y for w, y in zip(row[1:], values, strict=True))
            for row in np.transpose(matrix).tolist()
        ]
        values = [sympy.expand(apply_series(coefficients, u)) for u in potentials]
    return [sympy.Poly(value, *symbols) for value in values]


def apply_series(coefficients, potential):
    if coefficients is None:
        return potential
    return sum(g * potential**n for n, g in enumerate(coefficients))


def random_network(sizes, seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(1 + n_in, n_out)) for n_in, n_out in pairwise(sizes)]


def test_there_are_golden_files():
    assert len(GOLDEN_NETWORKS) == 6


@pytest.mark.parametrize("name", GOLDEN_NETWORKS)
def test_coefficients_are_those_of_the_r_package(name):
    golden = load(name)
    assert_is_golden(convert_golden(golden), golden)


def test_every_layer_has_the_coefficients_of_the_r_package():
    golden = load("keep_layers")
    found = convert_golden(golden, keep_layers=True)
    assert len(found) == len(golden["layers"])
    for layer, expected in zip(found, golden["layers"].values(), strict=True):
        assert_is_golden(layer.input, expected["input"])
        assert_is_golden(layer.output, expected["output"])


def test_the_last_layer_is_what_is_returned_without_keeping_them():
    golden = load("keep_layers")
    terms, coefficients = convert_golden(golden)
    last = convert_golden(golden, keep_layers=True)[-1].output
    assert terms == last.terms
    np.testing.assert_array_equal(coefficients, last.coefficients)


@pytest.mark.parametrize("max_order", [1, 2, 4, 6, 9])
def test_coefficients_are_those_of_sympys_direct_expansion(max_order):
    weights = random_network((2, 3, 2, 2), seed=4)
    taylor = [[0.3, 1.0, -0.5, 0.2], [0.1, -0.7, 0.4], None]
    symbols = sympy.symbols("x0 x1")
    terms, coefficients = convert_by_partitions(weights, taylor, max_order)
    assert max(map(len, terms)) == min(max_order, 6)  # Q* = min(3 · 2, max_order)
    for output, poly in enumerate(expand_with_sympy(weights, taylor, symbols)):
        powers = [tuple(term.count(i) for i in range(2)) for term in terms]
        expected = [float(poly.nth(*power)) for power in powers]
        np.testing.assert_allclose(coefficients[:, output], expected, rtol=1e-11, atol=1e-11)


def test_a_network_of_linear_layers_is_the_product_of_its_matrices():
    weights = random_network((3, 4, 2), seed=1)
    terms, coefficients = convert_by_partitions(weights, [None, None], 5)
    assert terms == ((), (0,), (1,), (2,))
    np.testing.assert_allclose(coefficients[1:], weights[0][1:] @ weights[1][1:])
    np.testing.assert_allclose(coefficients[0], weights[0][0] @ weights[1][1:] + weights[1][0])


def test_terms_are_all_of_them_in_graded_lexicographic_order():
    terms, _ = convert_by_partitions(random_network((4, 2), seed=2), [[0, 1, 1, 1]], 3)
    assert len(terms) == comb(4 + 3, 3)
    assert list(terms) == sorted(terms, key=lambda term: (len(term), term))


def test_the_intercept_may_be_chosen_in_any_number_of_factors():
    cube = compose_by_partitions({(): [2.0], (0,): [5.0]}, [0, 0, 0, 1], 3)  # (2 + 5x)³
    assert [float(value[0]) for value in cube.values()] == [8.0, 60.0, 150.0, 125.0]


def test_a_centre_is_subtracted_from_the_intercept():
    inner = {(): [0.7, -0.2], (0,): [1.5, 0.3]}
    shifted = {(): [0.4, -0.5], (0,): [1.5, 0.3]}
    taylor = [1.0, -2.0, 0.5]
    found = compose_by_partitions(inner, taylor, 2, center=0.3)
    expected = compose_by_partitions(shifted, taylor, 2)
    for term, value in expected.items():
        np.testing.assert_allclose(found[term], value, rtol=1e-14)


def test_each_neuron_may_have_its_own_series():
    inner = {(): [0.1, 0.2], (0,): [1.0, 2.0], (1,): [3.0, 4.0]}
    both = np.array([[0.5, 0.1], [1.0, -1.0], [0.2, 0.3]])
    found = compose_by_partitions(inner, both, 2)
    for neuron in range(2):
        alone = {term: [value[neuron]] for term, value in inner.items()}
        expected = compose_by_partitions(alone, both[:, neuron], 2)
        assert {term: value[neuron] for term, value in found.items()} == expected


def test_an_absent_inner_monomial_counts_as_zero():
    sparse = {(1,): [2.0]}
    full = {(): [0.0], (0,): [0.0], (1,): [2.0]}
    assert compose_by_partitions(sparse, [1, 1, 1], 2) == compose_by_partitions(full, [1, 1, 1], 2)


def test_order_stops_at_inner_order_times_taylor_order():
    composed = compose_by_partitions({(0, 0): [1.0]}, [0, 0, 1], 9)  # (x²)²
    assert max(composed, key=len) == (0,) * 4
    assert {term for term, value in composed.items() if value[0]} == {(0,) * 4}


def test_constants_compose_to_a_constant():
    assert compose_by_partitions({(): [2.0]}, [1, 1, 1], 3) == {(): [7.0]}


@given(
    st.lists(st.floats(-2, 2), min_size=6, max_size=6),
    st.lists(st.floats(-2, 2), min_size=1, max_size=5),
    st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
)
def test_untruncated_composition_evaluates_to_the_composition(inner_values, taylor, x):
    terms = ((), (0,), (1,), (0, 0), (0, 1), (1, 1))
    inner = {term: [value] for term, value in zip(terms, inner_values, strict=True)}
    composed = compose_by_partitions(inner, taylor, 2 * (len(taylor) - 1))

    def evaluate(polynomial):
        return sum(np.asarray(c)[0] * np.prod([x[i] for i in t]) for t, c in polynomial.items())

    expected = np.polynomial.polynomial.polyval(evaluate(inner), taylor)
    # Intermediate terms reach 2 (6 · 2)^4, and cancel.
    np.testing.assert_allclose(evaluate(composed), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("inner", "taylor"),
    [
        ({}, [1.0]),
        ({(): [1.0]}, []),
        ({(): [1.0], (0,): [1.0, 2.0]}, [1.0]),
        ({(): 1.0}, [1.0]),
        ({(): [1.0, 2.0]}, [[1.0, 2.0, 3.0]]),
    ],
)
def test_polynomials_that_do_not_fit_are_refused(inner, taylor):
    with pytest.raises(InvalidInputError, match="do not fit together"):
        compose_by_partitions(inner, taylor, 2)


@pytest.mark.parametrize("key", [(1, 0), (-1,)])
def test_a_key_that_would_be_overlooked_is_refused(key):
    with pytest.raises(InvalidInputError, match="not a monomial"):
        compose_by_partitions({(): [1.0], key: [1.0]}, [1.0, 1.0], 2)


def test_an_order_below_one_is_refused():
    with pytest.raises(InvalidInputError, match="order is too low"):
        convert_by_partitions([[[0.0], [1.0]]], [None], 0)


@pytest.mark.parametrize(("taylor", "centers"), [([], None), ([None], [0.0, 0.0])])
def test_as_many_series_and_centres_as_layers_are_expected(taylor, centers):
    with pytest.raises(InvalidInputError, match="layers do not match"):
        convert_by_partitions([[[0.0], [1.0]]], taylor, 2, centers=centers)


def test_weights_that_do_not_chain_are_refused_with_the_layer():
    weights = [np.ones((3, 4)), np.ones((4, 1))]
    with pytest.raises(InvalidNetworkError, match="5 rows") as caught:
        convert_by_partitions(weights, [None, None], 2)
    assert caught.value.where == "layer 1"
