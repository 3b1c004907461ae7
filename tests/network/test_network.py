"""A network is a plain forward pass, in any coordinates, and refuses weights that make none."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, InvalidNetworkError
from nn2poly.inputs import Column, Inputs
from nn2poly.network.network import BATCH_ROWS, Layer, Network
from nn2poly.outputs import Outputs

FUNCTIONS = {
    "linear": lambda u: u,
    "tanh": np.tanh,
    "relu": lambda u: np.maximum(u, 0.0),
    "sigmoid": lambda u: 1.0 / (1.0 + np.exp(-u)),
    "softplus": lambda u: np.log1p(np.exp(u)),
}


def forward(network, X):
    """Run the forward pass with nothing but NumPy."""
    outputs = [(np.asarray(X) - network.center) / network.scale]
    for layer in network.layers:
        potential = outputs[-1] @ layer.weights + layer.bias
        for source, matrix in layer.skips.items():
            potential = potential + outputs[source] @ matrix
        outputs.append(FUNCTIONS[layer.activation.name](potential))
    return outputs[-1]


@st.composite
def networks(draw):
    """Draw a network with any number of skips, also from the layer just before."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layers = []
    for index in range(1, len(sizes)):
        sources = draw(st.sets(st.integers(0, index - 1)))
        layers.append(
            Layer(
                rng.normal(size=(sizes[index - 1], sizes[index])),
                rng.normal(size=sizes[index]),
                draw(st.sampled_from(sorted(FUNCTIONS))),
                {s: rng.normal(size=(sizes[s], sizes[index])) for s in sources},
            )
        )
    center, scale = rng.normal(size=sizes[0]), rng.uniform(0.5, 2.0, size=sizes[0])
    return Network(layers, center=center, scale=scale)


def small_network(**options):
    return Network([Layer([[1.0], [10.0]], [0.5], "linear"), Layer([[2.0]])], **options)


def refused(call, error=InvalidNetworkError):
    with pytest.raises(error) as caught:
        call()
    return caught.value


# --- the forward pass ------------------------------------------------------------------------


@given(networks(), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_predictions_are_those_of_a_plain_forward_pass(network, n, seed):
    X = np.random.default_rng(seed).normal(size=(n, network.n_features))
    expected = forward(network, X)
    found = network.predict(X)
    assert found.shape == ((n,) if network.n_outputs == 1 else expected.shape)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-11, atol=1e-11)


@given(networks(), st.integers(0, 2**32 - 1))
def test_other_coordinates_give_the_same_predictions(network, seed):
    rng = np.random.default_rng(seed)
    p = network.n_features
    center, scale = rng.normal(size=p), rng.uniform(0.5, 2.0, size=p)
    moved, X = network.recentered(center, scale), rng.normal(size=(7, p))
    np.testing.assert_allclose(moved.predict(X), network.predict(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(moved.center, center)
    np.testing.assert_array_equal(moved.scale, scale)


@pytest.mark.parametrize("n", [1, BATCH_ROWS - 1, BATCH_ROWS, 2 * BATCH_ROWS + 1])
def test_batches_meet_without_a_gap(n):
    rng = np.random.default_rng(n)
    network = Network([Layer(rng.normal(size=(2, 3)), None, "tanh"), Layer(np.eye(3))])
    X = rng.normal(size=(n, 2))
    np.testing.assert_allclose(network.predict(X), forward(network, X), rtol=1e-12, atol=1e-12)


def test_a_skip_adds_to_the_potential_of_its_layer():
    network = Network(
        [Layer([[1.0]], [0.0], "relu"), Layer([[1.0]], [0.0], "linear", {0: [[5.0]]})]
    )
    assert network.predict([[-2.0], [3.0]]).tolist() == [-10.0, 18.0]


def test_a_skip_from_the_layer_before_adds_to_its_weights_in_any_coordinates():
    network = Network([Layer([[1.0]], None, "linear", {0: [[2.0]]}), Layer([[1.0]])])
    assert network.predict([[1.0]]).tolist() == [3.0]
    assert network.recentered(1.0, 2.0).predict([[1.0]]).tolist() == [3.0]


def test_every_layers_output_is_given_after_the_input():
    network = Network([Layer([[2.0, -1.0]], None, "relu"), Layer([[1.0], [1.0]], [1.0])])
    outputs = network.outputs_by_layer(np.array([[3.0]]))
    assert [o.tolist() for o in outputs] == [[[3.0]], [[6.0, 0.0]], [[7.0]]]


def test_inputs_are_seen_in_the_networks_coordinates():
    network = small_network(center=[1.0, 2.0], scale=[2.0, 4.0])
    assert network.predict([[3.0, 6.0]]).tolist() == [2 * (1.0 + 10.0 + 0.5)]


def test_a_function_of_ones_own_may_be_an_activation():
    network = Network([Layer([[1.0]], None, np.cbrt), Layer([[1.0]])])
    assert network.predict([[8.0]]).tolist() == [2.0]


# --- what goes in ----------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_are_matched_by_name_when_the_network_has_names(frame):
    X = frame({"b": [2.0], "other": ["x"], "a": [1.0]})
    network = small_network(feature_names=["a", "b"])
    assert network.predict(X).tolist() == network.predict([[1.0, 2.0]]).tolist()
    error = refused(lambda: network.predict(frame({"b": [1.0]})), InvalidInputError)
    assert error.found == "no 'a'"


def test_frames_are_taken_by_position_when_the_network_has_no_names():
    X = pd.DataFrame({"b": [2.0], "a": [1.0]})
    assert small_network().predict(X).tolist() == small_network().predict([[2.0, 1.0]]).tolist()


@pytest.mark.parametrize(
    "X", [[[1.0]], [[1.0, np.nan]], [[1.0, np.inf]], [], [1.0, 2.0], [["a", "b"]]]
)
def test_data_that_do_not_fit_are_refused(X):
    assert refused(lambda: small_network().predict(X), InvalidInputError).where == "X"


# --- weights that make no network ------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("part", "where"),
    [("weights", "layer 2, weights[1, 0]"), ("bias", "layer 2, bias[0]"), ("skip", "skip from 0")],
)
def test_weights_that_are_not_finite_are_refused_with_their_layer_and_place(bad, part, where):
    weights, bias, skip = np.ones((3, 1)), np.ones(1), np.ones((2, 1))
    {"weights": weights[1], "bias": bias, "skip": skip[0]}[part][0] = bad
    layers = [Layer(np.ones((2, 3)), None, "tanh"), Layer(weights, bias, "linear", {0: skip})]
    error = refused(lambda: Network(layers))
    assert "layer 2" in error.what
    assert where in error.where
    assert str(bad) in error.found
    assert error.remedy


def test_shapes_that_do_not_chain_are_refused_with_both_layers_and_shapes():
    layers = [Layer(np.ones((2, 3))), Layer(np.ones((4, 1)))]
    error = refused(lambda: Network(layers))
    assert error.where == "between layer 1 and layer 2"
    assert "(3, 1)" in error.expected
    assert "(4, 1)" in error.found
    assert "transpose" in error.remedy


def test_a_bias_that_does_not_match_is_refused_with_its_layer_and_shapes():
    layers = [Layer(np.ones((2, 3))), Layer(np.ones((3, 2)), [1.0, 2.0, 3.0])]
    error = refused(lambda: Network(layers))
    assert error.where == "layer 2"
    assert "(2,)" in error.expected
    assert "(3,)" in error.found


@pytest.mark.parametrize("source", [-1, 2, 7])
def test_a_skip_from_no_earlier_layer_is_refused_with_the_sources_there_are(source):
    layers = [Layer(np.ones((2, 2))), Layer(np.ones((2, 2)), None, "tanh", {source: np.eye(2)})]
    error = refused(lambda: Network(layers))
    assert error.where == "layer 2"
    assert error.expected == "a source from 0 (the input) to 1"
    assert error.found == str(source)


def test_a_skip_of_the_wrong_shape_is_refused_with_both_ends():
    layers = [Layer(np.ones((2, 3))), Layer(np.ones((3, 1)), None, "tanh", {0: np.ones((3, 1))})]
    error = refused(lambda: Network(layers))
    assert error.where == "between the input and layer 2"
    assert "(2, 1)" in error.expected


def test_no_layers_are_no_network():
    assert "at least one layer" in refused(lambda: Network([])).what


@pytest.mark.parametrize(
    "layers", [[("tanh", np.eye(2))], [np.eye(2)], ["tanh"], [None], Layer(np.eye(2)), None, 5]
)
def test_what_is_no_list_of_layers_is_refused(layers):
    assert "Layer" in str(refused(lambda: Network(layers)))


@pytest.mark.parametrize(
    "weights",
    [
        [1.0, 2.0],
        5.0,
        np.ones((2, 2, 2)),
        np.ones((0, 2)),
        np.ones((2, 0)),
        [["a"]],
        [[1j]],
        [[None]],
        [[1.0], [2.0, 3.0]],
        None,
    ],
    ids=str,
)
def test_weights_that_are_no_matrix_of_real_numbers_are_refused(weights):
    assert "weights" in refused(lambda: Layer(weights)).what


@pytest.mark.parametrize("bias", [[[1.0, 2.0]], 1.0, ["a", "b"], [], [1j, 2j]], ids=str)
def test_a_bias_that_is_no_vector_of_real_numbers_is_refused(bias):
    assert "bias" in refused(lambda: Layer(np.eye(2), bias)).what


@pytest.mark.parametrize("source", [1.5, "a", None])
def test_a_skip_whose_source_is_no_layer_number_is_refused(source):
    refused(lambda: Layer(np.eye(2), skips={source: np.eye(2)}))


def test_an_unknown_activation_is_refused_with_the_near_match():
    error = refused(lambda: Layer([[1.0]], None, "tahn"), InvalidInputError)
    assert "tanh" in error.remedy


@pytest.mark.parametrize("scale", [0.0, -1.0, [1.0, 0.0], np.nan, np.inf, [1.0], [1.0, 2.0, 3.0]])
def test_a_scale_that_is_not_positive_is_refused(scale):
    assert "scale" in refused(lambda: small_network(scale=scale)).what
    assert "scale" in refused(lambda: small_network().recentered(0.0, scale)).what


@pytest.mark.parametrize("center", [np.nan, [0.0, np.inf], [1.0], [[0.0, 0.0]]])
def test_a_center_that_is_not_finite_or_does_not_fit_is_refused(center):
    error = refused(lambda: small_network(center=center))
    assert "center" in error.what
    assert "2 of them" in error.expected


# --- names, classes and link -----------------------------------------------------------------


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"], ["a", "a"], ["a", ""], "ab", ["a", 1]])
def test_feature_names_that_do_not_fit_are_refused(names):
    for call in (
        lambda: small_network(feature_names=names),
        lambda: small_network().named(names),
    ):
        assert refused(call, InvalidInputError).where == "feature_names"


@pytest.mark.parametrize("names", [["u", "v"], [""], "u", [1]])
def test_output_names_that_do_not_fit_are_refused(names):
    error = refused(lambda: small_network(output_names=names), InvalidInputError)
    assert error.where == "output_names"


def test_an_unknown_link_is_refused():
    error = refused(lambda: small_network(link="probit"), InvalidInputError)
    assert "'softmax'" in error.expected


def test_names_classes_and_link_are_kept_in_other_coordinates_and_under_other_names():
    options = {
        "feature_names": ("a", "b"),
        "output_names": ("u",),
        "classes": ("no", "yes"),
        "link": "sigmoid",
    }
    network = small_network(**options)
    for other in (network, network.recentered(1.0, 2.0), network.named(None)):
        assert {name: getattr(other, name) for name in options} == options
    renamed = network.named(["c", "d"], ["v"])
    assert (renamed.feature_names, renamed.output_names) == (("c", "d"), ("v",))
    assert (renamed.classes, renamed.link) == (options["classes"], "sigmoid")
    assert network.feature_names == ("a", "b")


def test_without_names_there_are_none():
    network = small_network()
    assert network.feature_names is None
    assert network.output_names is None
    assert network.classes is None
    assert network.link == "identity"


# --- immutability ----------------------------------------------------------------------------


def test_neither_fields_nor_arrays_can_be_written_to():
    network = Network([Layer(np.eye(2), [1.0, 2.0], "tanh", {0: np.eye(2)})])
    for owner in (network, network.layers[0]):
        for field in dataclasses.fields(owner):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(owner, field.name, None)
    layer = network.layers[0]
    for array in (layer.weights, layer.bias, layer.skips[0], network.center, network.scale):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
    with pytest.raises(TypeError):
        layer.skips[0] = np.eye(2)


def test_a_bias_that_was_not_given_cannot_be_written_to_either():
    with pytest.raises(ValueError, match="read-only"):
        Layer(np.eye(2)).bias[0] = 5.0


def test_writing_to_the_arrays_that_it_was_made_from_does_not_change_it():
    weights, bias, skip, center, scale = np.eye(2), np.ones(2), np.eye(2), np.zeros(2), np.ones(2)
    network = Network([Layer(weights, bias, "tanh", {0: skip})], center=center, scale=scale)
    before = network.predict([[0.3, 0.4]])
    for array in (weights, bias, skip, center, scale):
        array += 7.0
    np.testing.assert_array_equal(network.predict([[0.3, 0.4]]), before)


def test_the_repr_is_the_chain_of_widths_and_activations():
    network = Network(
        [Layer(np.ones((3, 5)), None, "tanh"), Layer(np.ones((5, 2)))], link="softmax"
    )
    assert repr(network) == "Network(3 → 5 tanh → 2 linear, link=softmax)"
    assert repr(Layer(np.ones((5, 2)), None, "relu", {0: np.ones((3, 2))})) == (
        "Layer(5 → 2, relu, skips from [0])"
    )
    assert (network.n_features, network.n_outputs) == (3, 2)
    assert (network.layers[0].n_inputs, network.layers[0].n_outputs) == (3, 5)


# --- inputs and outputs as wholes ------------------------------------------------------------


def mixed_inputs():
    return Inputs((Column("age"), Column.factor("sex", ["male", "female"]))).around(
        [30.0, 0.0, 0.0], [10.0, 1.0, 1.0]
    )


def mixed_network():
    return Network(
        [Layer([[1.0], [10.0], [20.0]], [0.5])],
        inputs=mixed_inputs(),
        outputs=Outputs.of(["risk"], 1, ["no", "yes"], "sigmoid"),
    )


def test_a_network_reads_tables_as_its_columns_say():
    frame = pd.DataFrame({"sex": ["female", "male"], "age": [40, 30]})
    network = mixed_network()
    assert network.predict(frame).tolist() == [21.5, 10.5]
    assert network.predict([[40.0, 0.0, 1.0], [30.0, 1.0, 0.0]]).tolist() == [21.5, 10.5]
    assert network.feature_names == ("age", "sex=male", "sex=female")
    assert network.output_names == ("risk",)
    assert (network.classes, network.link) == (("no", "yes"), "sigmoid")


def test_columns_and_outputs_are_kept_in_other_coordinates_and_under_other_names():
    network = mixed_network()
    moved = network.recentered(1.0, 2.0)
    assert [column.kind for column in moved.inputs.columns] == ["number", "factor"]
    assert moved.outputs == network.outputs
    X = [[40.0, 0.0, 1.0], [35.0, 1.0, 0.0]]
    np.testing.assert_allclose(moved.predict(X), network.predict(X), rtol=1e-13)
    named = network.named(["years", "gender=male", "gender=female"], ["odds"])
    assert [column.name for column in named.inputs.columns] == ["years", "gender"]
    assert (named.output_names, named.link) == (("odds",), "sigmoid")


@pytest.mark.parametrize(
    "options",
    [
        {"inputs": Inputs.of(["a"])},
        {"outputs": Outputs.of(None, 2)},
        {"inputs": Inputs.of(["a", "b", "c"])},
    ],
    ids=str,
)
def test_inputs_and_outputs_that_do_not_fit_the_layers_are_refused(options):
    error = refused(lambda: small_network(**options))
    assert error.expected == "2 features and 1 outputs"


@pytest.mark.parametrize(
    "options",
    [
        {"inputs": Inputs.of(["a", "b"]), "feature_names": ["a", "b"]},
        {"inputs": Inputs.of(["a", "b"]), "center": 1.0},
        {"inputs": Inputs.of(["a", "b"]), "scale": [1.0, 2.0]},
        {"outputs": Outputs.of(None, 1), "output_names": ["y"]},
        {"outputs": Outputs.of(None, 1), "classes": [0, 1]},
        {"outputs": Outputs.of(None, 1), "link": "sigmoid"},
    ],
    ids=lambda options: str(list(options)),
)
def test_parts_beside_the_whole_are_refused_and_not_ignored(options):
    error = refused(lambda: small_network(**options), InvalidInputError)
    assert error.where == next(iter(options))


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_networks_and_their_parts_can_be_copied_and_pickled(make_network, way):
    network = make_network(0, (3, 4, 3, 1), skips=True)
    X = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(way(network).predict(X), network.predict(X))
    layer = way(network.layers[-1])
    assert sorted(layer.skips) == sorted(network.layers[-1].skips)
    with pytest.raises(TypeError):
        layer.skips[0] = np.zeros((3, 1))
    factored = n2p.polynomial_network(network, 2)
    np.testing.assert_array_equal(way(factored).predict(X), factored.predict(X))
