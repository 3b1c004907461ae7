"""Keras' lookups and feature spaces, which need TensorFlow: their columns are factors."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import pandas as pd
import pytest
from keras import layers as L  # noqa: N812

import nn2poly as n2p
from nn2poly.network.readers.keras.calls import to_array
from nn2poly.training import KerasConstraint

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="needs KERAS_BACKEND=tensorflow"
)
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": rng.normal(40.0, 9.0, 80),
        "kind": rng.choice(["a", "b", "c"], 80),
        "number": rng.choice([10, 20, 30], 80),
        "size": rng.uniform(size=80),
    }
)


def tensors(frame):
    import tensorflow as tf

    return {name: tf.constant(frame[name].to_numpy()[:, None]) for name in frame}


def looked_up(mode):
    kind = keras.Input((1,), dtype="string", name="kind")
    number = keras.Input((1,), dtype="int64", name="number")
    size = keras.Input((1,), name="size")
    words = L.StringLookup(vocabulary=["a", "b"], output_mode=mode)(kind)
    numbers = L.IntegerLookup(vocabulary=[10, 20, 30], output_mode=mode)(number)
    if mode == "int":
        words = L.Flatten()(L.Embedding(3, 2)(words))
        numbers = L.Flatten()(L.Embedding(4, 2)(numbers))
    joined = L.Concatenate()([words, numbers, size])
    inputs = {"kind": kind, "number": number, "size": size}
    return keras.Model(inputs, L.Dense(1)(L.Dense(4, "tanh")(joined)))


def feature_space():
    import tensorflow as tf
    from keras.utils import FeatureSpace

    space = FeatureSpace(
        features={
            "age": FeatureSpace.float_normalized(),
            "kind": FeatureSpace.string_categorical(),
            "number": FeatureSpace.integer_categorical(),
            "size": FeatureSpace.float_discretized(num_bins=3),
        },
        output_mode="concat",
    )
    space.adapt(tf.data.Dataset.from_tensor_slices(dict(FRAME)))
    encoded = space.get_encoded_features()
    return keras.Model(space.get_inputs(), L.Dense(1)(L.Dense(4, "tanh")(encoded)))


MODELS = {
    "int": lambda: looked_up("int"),
    "one_hot": lambda: looked_up("one_hot"),
    "FeatureSpace": feature_space,
}


# Keras itself warns of the order of the inputs of a FeatureSpace.
@pytest.mark.filterwarnings("ignore:The structure of `inputs`")
@pytest.mark.parametrize("name", MODELS)
def test_columns_that_are_looked_up_are_factors(name):
    model = MODELS[name]()
    network = n2p.read_network(model)
    kinds = {column.name: column.kind for column in network.inputs.columns}
    assert kinds["kind"] == kinds["number"] == "factor"
    names = [column.name for column in network.inputs.columns]
    found = network.predict(FRAME[names])
    expected = to_array(model(tensors(FRAME[names])))[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    poly = n2p.convert(model, 1, data=FRAME)
    unseen = FRAME[names].assign(kind="new")[:5]
    expected = to_array(model(tensors(unseen)))[:, 0]
    np.testing.assert_allclose(network.predict(unseen), expected, atol=1e-5)
    assert poly.inputs.columns[names.index("kind")].kind == "factor"


def test_a_constraint_works_on_a_model_that_is_not_built():
    model = keras.Sequential([L.Dense(5, "tanh"), L.Dense(1)])
    model.compile("adam", "mse")
    constraint = KerasConstraint(norm="l1", bound=1.0)
    X = rng.normal(size=(40, 3)).astype("float32")
    model.fit(X, X[:, :1], epochs=1, verbose=0, callbacks=[constraint])
    (norms,) = constraint.norms().values()
    assert np.all(norms <= 1.0 + 1e-5)
