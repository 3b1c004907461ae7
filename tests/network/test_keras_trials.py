"""Keras models as people write them: read to six digits, or refused with the way out."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import pytest
from keras import layers as L  # noqa: N812
from keras import ops

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.network.checking import check_reading
from nn2poly.network.fallback import read_or_advise
from nn2poly.network.readers.keras.calls import to_array

rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(60, 4)).astype("float32")
KINDS = rng.integers(3, size=(60, 1))


@pytest.fixture(autouse=True)
def _seeded():
    keras.utils.set_random_seed(0)


def chain(*layers, width=4):
    return keras.Sequential([keras.Input((width,)), *layers])


def graph(function, width=4):
    inputs = keras.Input((width,))
    return keras.Model(inputs, function(inputs))


def hidden(activation):
    return lambda: chain(L.Dense(5, activation=activation), L.Dense(2))


def swish_by_hand(x):
    return x * ops.sigmoid(x)


def softmax_by_hand(x):
    return ops.exp(x) / ops.sum(ops.exp(x), axis=-1, keepdims=True)


def called_once(model):
    model(NUMBERS)
    return model


# Functions of one value, and what is linear or a product.
READ = {
    "hard_swish": hidden("hard_swish"),
    "hard_silu": hidden("hard_silu"),
    "gelu": hidden("gelu"),
    "squareplus": hidden("squareplus"),
    "tanh_shrink": hidden("tanh_shrink"),
    "soft_shrink": hidden("soft_shrink"),
    "custom activation": hidden(swish_by_hand),
    "lambda as activation": hidden(lambda x: x * ops.tanh(x)),
    "relu with threshold": lambda: chain(L.Dense(5), L.ReLU(threshold=0.5), L.Dense(2)),
    "leaky and capped": lambda: chain(L.Dense(5), L.ReLU(max_value=2.0, negative_slope=0.1)),
    "PReLU": lambda: called_once(chain(L.Dense(5), L.PReLU("uniform"), L.Dense(2))),
    "PReLU as argument": lambda: called_once(chain(L.Dense(5, L.PReLU("uniform")), L.Dense(2))),
    "LeakyReLU as argument": lambda: chain(L.Dense(5, activation=L.LeakyReLU()), L.Dense(2)),
    "Lambda layer": lambda: chain(L.Dense(5), L.Lambda(ops.sin), L.Dense(2)),
    "square": lambda: graph(lambda x: L.Dense(2)(ops.square(L.Dense(3)(x)))),
    "power": lambda: graph(lambda x: L.Dense(2)(L.Dense(3)(x) ** 2)),
    "cube": lambda: graph(lambda x: L.Dense(2)(L.Dense(3)(x) ** 3)),
    "abs": lambda: graph(lambda x: L.Dense(2)(ops.abs(L.Dense(3)(x)))),
    "clip": lambda: graph(lambda x: L.Dense(2)(ops.clip(L.Dense(3)(x), -0.5, 0.5))),
    "log1p": lambda: graph(lambda x: L.Dense(2)(ops.log1p(ops.exp(L.Dense(3)(x))))),
    "Multiply": lambda: graph(lambda x: L.Multiply()([L.Dense(3)(x), L.Dense(3)(x)])),
    "gate": lambda: graph(lambda x: L.Dense(2)(L.Dense(3)(x) * L.Dense(3, "sigmoid")(x))),
    "Dot": lambda: graph(lambda x: L.Dot(axes=1)([L.Dense(3)(x), L.Dense(3)(x)])),
    "Maximum": lambda: graph(lambda x: L.Maximum()([L.Dense(3)(x), L.Dense(3)(x)])),
    "Minimum": lambda: graph(lambda x: L.Minimum()([L.Dense(3)(x), L.Dense(3)(x)])),
    "residual": lambda: graph(lambda x: L.Add()([x, L.Dense(4, "tanh")(x)])),
    "groups": lambda: chain(L.Reshape((2, 2)), L.Dense(3, "tanh"), L.Flatten(), L.Dense(1)),
    "normalised": lambda: chain(L.BatchNormalization(), L.Dense(3, "elu"), L.Dense(1)),
    "rescaled": lambda: chain(L.Rescaling(0.1, 2.0), L.Dense(3, "selu"), L.Dense(1)),
    "nested": lambda: chain(chain(L.Dense(3, "tanh")), L.Dense(1)),
    "steps": lambda: chain(L.Discretization([-0.5, 0.5], output_mode="one_hot"), width=1),
    "steps as numbers": lambda: chain(L.Discretization([-0.5, 0.5]), L.Dense(2), width=1),
    "sigmoid": lambda: chain(L.Dense(3, "relu"), L.Dense(1, "sigmoid")),
    "softmax": lambda: chain(L.Dense(3, "relu"), L.Dense(3, "softmax")),
}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_to_six_digits(name):
    model = READ[name]()
    X = NUMBERS[:, : model.inputs[0].shape[1]]
    network = n2p.read_network(model)
    expected = to_array(model(X))
    found = network.predict(X).reshape(len(X), -1)
    if network.link != "identity":
        found = network.outputs.probabilities(found)[:, -expected.shape[1] :]
    largest = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * max(1.0, largest))
    check_reading(network, model, X)


# ---- categories, several inputs, several outputs -------------------------------------------------


def categories(encode, dtype="int32"):
    kind = keras.Input((1,), dtype=dtype, name="kind")
    numbers = keras.Input((4,), name="numbers")
    joined = L.Concatenate()([encode(kind), numbers])
    return keras.Model([kind, numbers], L.Dense(2)(L.Dense(3, "tanh")(joined)))


FACTORS = {
    "Embedding": lambda: categories(lambda x: L.Flatten()(L.Embedding(3, 2)(x))),
    "one_hot": lambda: categories(L.CategoryEncoding(3, "one_hot")),
    "multi_hot": lambda: categories(L.CategoryEncoding(3, "multi_hot")),
    "count": lambda: categories(L.CategoryEncoding(3, "count")),
}


@pytest.mark.parametrize("name", FACTORS)
def test_a_column_of_categories_is_a_factor(name):
    model = FACTORS[name]()
    table = np.hstack([KINDS, NUMBERS])
    network = n2p.read_network(model)
    assert [c.kind for c in network.inputs.columns] == ["factor", *["number"] * 4]
    assert network.inputs.feature_names[:4] == ("kind=0", "kind=1", "kind=2", "numbers_0")
    expected = to_array(model([KINDS, NUMBERS]))
    np.testing.assert_allclose(network.predict(table), expected, atol=2e-6)
    check_reading(network, model, table)
    check_reading(network, model)


def test_tables_of_several_inputs_are_data():
    model = FACTORS["Embedding"]()
    poly = n2p.convert(model, 1, data=(KINDS, NUMBERS))
    by_name = n2p.convert(model, 1, data={"numbers": NUMBERS, "kind": KINDS})
    np.testing.assert_array_equal(poly.coefficients, by_name.coefficients)
    one = n2p.convert(model, 1, data=np.hstack([KINDS, NUMBERS]))
    np.testing.assert_array_equal(poly.coefficients, one.coefficients)
    card = n2p.fidelity(model, poly, (KINDS, NUMBERS))
    assert card.r2 == n2p.fidelity(model, poly, np.hstack([KINDS, NUMBERS])).r2
    np.testing.assert_array_equal(
        poly.predict({"kind": KINDS, "numbers": NUMBERS}), poly.predict((KINDS, NUMBERS))
    )


def several_outputs():
    inputs = keras.Input((4,))
    body = L.Dense(3, "tanh")(inputs)
    return keras.Model(inputs, [L.Dense(1, name="mean")(body), L.Dense(2, name="spread")(body)])


@pytest.mark.parametrize("output", ["spread", 1, -1])
def test_one_of_several_outputs_is_chosen(output):
    model = several_outputs()
    poly = n2p.convert(model, 1, data=NUMBERS, output=output)
    assert poly.output_names == ("spread_0", "spread_1")
    network = n2p.read_network(model, output=output)
    expected = to_array(model(NUMBERS)[1])
    np.testing.assert_allclose(network.predict(NUMBERS), expected, atol=2e-6)
    assert n2p.fidelity(model, poly, NUMBERS).r2 == poly_r2(model, poly, output)


def poly_r2(model, poly, output):
    return n2p.fidelity(model, poly, NUMBERS, output=output).r2


def test_outputs_of_a_dictionary_have_its_keys():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, {"b": L.Dense(1)(inputs), "a": L.Dense(1)(inputs)})
    network = n2p.read_network(model, output="b")
    expected = to_array(model(NUMBERS)["b"])[:, 0]
    np.testing.assert_allclose(network.predict(NUMBERS), expected, atol=2e-6)


def test_an_output_is_asked_for_by_name():
    with pytest.raises(UnsupportedModelError, match="several outputs") as caught:
        n2p.convert(several_outputs(), 1, data=NUMBERS)
    assert "output='mean'" in caught.value.remedy
    with pytest.raises(InvalidInputError, match="no such output"):
        n2p.convert(several_outputs(), 1, data=NUMBERS, output="variance")


# ---- refusals ------------------------------------------------------------------------------------


class Own(L.Layer):
    def call(self, x):
        return x * 2.0


REFUSED = {
    "LayerNormalization": (lambda: chain(L.LayerNormalization(), L.Dense(1)), "norm"),
    "UnitNormalization": (lambda: chain(L.UnitNormalization(), L.Dense(1)), "norm"),
    "softmax inside": (lambda: chain(L.Dense(3, "softmax"), L.Dense(1)), "softmax"),
    "softmax by hand": (hidden(softmax_by_hand), "entry by itself"),
    "own layer": (lambda: chain(Own(), L.Dense(1)), "class of its own"),
    "Lambda over a row": (
        lambda: chain(L.Dense(3), L.Lambda(lambda x: ops.cumsum(x, 1)), L.Dense(1)),
        "entry by itself",
    ),
    "attention": (
        lambda: graph(lambda x: L.Flatten()(L.Attention()([L.Reshape((2, 2))(x)] * 2))),
        "multiplies",
    ),
    "quotient": (lambda: graph(lambda x: L.Dense(2)(x) / L.Dense(2)(x)), "divides"),
    "recurrent": (lambda: chain(L.Reshape((2, 2)), L.GRU(3), L.Dense(1)), "recurrent"),
    "convolution": (lambda: chain(L.Reshape((2, 2)), L.Conv1D(3, 2), L.Flatten()), "convolution"),
    "part of a softmax": (
        lambda: graph(lambda x: L.Dense(3, "softmax")(x)[:, :1]),
        "probabilities of a softmax",
    ),
    "normalised dot": (
        lambda: graph(lambda x: L.Dot(1, normalize=True)([L.Dense(2)(x), L.Dense(2)(x)])),
        "norms",
    ),
    "multi-hot of two": (
        lambda: graph(lambda x: L.Dense(1)(L.CategoryEncoding(3)(ops.cast(x, "int32"))), 2),
        "Cast",
    ),
    "PReLU without slopes": (lambda: chain(L.Dense(3, L.PReLU()), L.Dense(1)), "no slopes"),
    "sequence": (lambda: graph(lambda x: L.Dense(1)(ops.sort(x))), "not part"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_reason_and_the_way_out(name):
    make, reason = REFUSED[name]
    with pytest.raises(UnsupportedModelError) as caught:
        read_or_advise(make())
    error = caught.value
    assert reason in str(error)
    assert error.where
    assert "pass model.predict to fit its outputs instead" in str(error).splitlines()[-1]
