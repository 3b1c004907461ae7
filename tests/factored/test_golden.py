"""The coefficients that the R package (1.0.1.9000) gives for the same weights."""

import json
from pathlib import Path

import numpy as np
import pytest

import nn2poly as n2p

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.json"))
WITH_TERMS = [name for name in NAMES if name != "keep_layers"]
TOLERANCE = 1e-12

# Whether a network leaves the radius of convergence is not what these files are about.
pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.RadiusWarning")


def load(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def convert_golden(golden, verb=n2p.convert, **options):
    pairs = list(zip(golden["activations"], golden["weights"], strict=True))
    return verb(
        pairs,
        golden["max_order"],
        taylor_order=golden["taylor_orders"],
        taylor_center=golden["taylor_center"],
        **options,
    )


def golden_term(term):
    """Translate from R: 1-based, 0 for the intercept, a bare number for one variable."""
    indices = term if isinstance(term, list) else [term]
    return tuple(index - 1 for index in indices if index)


def assert_close(found, expected, size):
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * size)


def assert_is_golden(poly, golden):
    expected = np.array(golden["coefficients"])
    assert list(poly.terms) == [golden_term(term) for term in golden["terms"]]
    assert_close(poly.coefficients, expected, np.abs(expected).max())


def test_all_golden_files_are_there():
    assert NAMES == [
        "boston_shape_q3",
        "deep_softplus",
        "keep_layers",
        "per_layer_orders",
        "sigmoid_output_q4",
        "tanh_softplus_q3",
        "taylor_center",
    ]


@pytest.mark.parametrize("name", WITH_TERMS)
def test_coefficients_are_those_of_the_r_package(name):
    golden = load(name)
    assert_is_golden(convert_golden(golden), golden)


@pytest.mark.parametrize("name", WITH_TERMS)
def test_coefficients_with_every_layer_kept_are_those_of_the_r_package(name):
    golden = load(name)
    poly = convert_golden(golden, keep_layers=True)
    assert_is_golden(poly, golden)
    assert len(poly.layers) == len(golden["weights"])


@pytest.mark.parametrize("verb", [n2p.convert, n2p.polynomial_network])
@pytest.mark.parametrize("name", WITH_TERMS)
def test_predictions_are_those_of_the_r_package(name, verb):
    golden = load(name)
    found = convert_golden(golden, verb).predict(golden["x"])
    expected = np.array(golden["predictions"])
    size = max(np.abs(expected).max(), np.abs(golden["coefficients"]).max())
    assert_close(found.reshape(expected.shape), expected, size)


@pytest.mark.parametrize("name", WITH_TERMS)
def test_single_coefficients_are_those_of_the_r_package(name):
    golden = load(name)
    pnet = convert_golden(golden, n2p.polynomial_network)
    size = np.abs(golden["coefficients"]).max()
    for row in range(0, len(golden["terms"]), 7):
        term = golden_term(golden["terms"][row])
        for output, expected in enumerate(golden["coefficients"][row]):
            assert_close(pnet.coefficient(term, output), expected, size)


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_every_neurons_polynomial_is_that_of_the_r_package(layer, side):
    golden = load("keep_layers")
    poly = convert_golden(golden, keep_layers=True)
    kept = getattr(poly.layers[layer - 1], side)
    assert_is_golden(kept, golden["layers"][f"layer_{layer}"][side])


def test_the_polynomial_itself_is_the_output_of_the_last_layer_kept():
    golden = load("keep_layers")
    poly = convert_golden(golden, keep_layers=True)
    assert_is_golden(poly, golden["layers"]["layer_3"]["output"])
    assert_is_golden(convert_golden(golden), golden["layers"]["layer_3"]["output"])


# The options that the files are about: without them the numbers are others.


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("per_layer_orders", {"taylor_orders": 8}),
        ("taylor_center", {"taylor_center": 0.0}),
        ("sigmoid_output_q4", {"activations": ["sigmoid", "linear"]}),
    ],
)
def test_the_files_tell_the_options_apart(name, change):
    golden = load(name)
    poly = convert_golden(golden | change)
    assert np.abs(poly.coefficients - golden["coefficients"]).max() > 1e-6
