"""Keras 3 models, read with the torch backend: every layer, every activation, saved files."""

import json
import os
import tempfile
import zipfile
from functools import partial
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("KERAS_HOME", str(Path(tempfile.gettempdir()) / "nn2poly-keras"))

import keras
import numpy as np
import pytest
from keras import layers, ops
from keras.src.backend.common.global_state import set_global_attribute

from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.fit.convert import convert
from nn2poly.links import probabilities
from nn2poly.network.network import Layer, Network
from nn2poly.network.readers.keras import dense_layers, read, read_file
from nn2poly.network.readers.keras.file import MODELS
from nn2poly.network.readers.keras.layers import LAYERS

# Keras' torch backend asks NumPy for arrays in the old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

X = np.random.default_rng(0).normal(0.0, 2.0, (50, 4)).astype("float32")


@pytest.fixture(autouse=True)
def seeded():
    keras.utils.set_random_seed(1)


def randomise(model, seed=0, spread=0.7):
    """Give every weight a random value; variances stay positive."""
    rng = np.random.default_rng(seed)
    for variable in model.variables:
        values = rng.normal(0.0, spread, variable.shape)
        variable.assign(np.abs(values) + 0.2 if "variance" in variable.path else values)
    return model


def functional(make, shape=(4,)):
    x = keras.Input(shape)
    return randomise(keras.Model(x, make(x)))


def sequential(*chain, shape=(4,)):
    return randomise(keras.Sequential([keras.Input(shape), *chain]))


def outputs(network, data):
    """Give what Keras gives: probabilities after a link, else raw outputs."""
    raw = network.predict(data.reshape(len(data), -1)).reshape(len(data), -1)
    if network.link == "identity":
        return raw
    p = probabilities(raw, network.link)
    return p[:, 1:] if raw.shape[1] == 1 else p


def assert_same(model, network=None, data=X, tolerance=2e-5):
    expected = model.predict(data, verbose=0).reshape(len(data), -1)
    found = outputs(read(model) if network is None else network, data)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# --- dense networks --------------------------------------------------------------------------


def test_a_sequential_model_gives_its_own_weights():
    model = sequential(layers.Dense(5, "tanh"), layers.Dense(3, "softplus"), layers.Dense(2))
    w1, b1, w2, b2, w3, b3 = model.get_weights()
    network = read(model)
    expected = Network([Layer(w1, b1, "tanh"), Layer(w2, b2, "softplus"), Layer(w3, b3)])
    for found, layer in zip(network.layers, expected.layers, strict=True):
        np.testing.assert_array_equal(found.weights, layer.weights)
        np.testing.assert_array_equal(found.bias, layer.bias)
        assert found.activation == layer.activation
    assert_same(model)


def test_nothing_of_the_model_changes():
    model = functional(lambda x: layers.Dense(1)(layers.Dense(3, "tanh")(x)))
    model.compile("adam", "mse")
    before = model.get_weights()
    nodes = [len(layer._inbound_nodes) for layer in model.layers]
    read(model)
    assert [len(layer._inbound_nodes) for layer in model.layers] == nodes
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_dense_layer_may_have_no_bias_and_names_stay_unknown():
    model = sequential(layers.Dense(5, "tanh", use_bias=False), layers.Dense(2, use_bias=False))
    network = read(model)
    assert not network.layers[0].bias.any()
    assert network.feature_names is None
    assert network.output_names is None
    assert_same(model)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "mixed_float16"])
def test_weights_of_any_precision_are_read_exactly(dtype):
    chain = [layers.Dense(3, "tanh", dtype=dtype), layers.Dense(1, dtype=dtype)]
    model = sequential(*chain)
    kernel = chain[0].kernel.value.detach().double().numpy()
    np.testing.assert_array_equal(read(model).layers[0].weights, kernel)


def test_the_polynomial_follows_the_model():
    model = sequential(layers.Normalization(mean=[0.0] * 4, variance=[4.0] * 4),
                       layers.Dense(8, "tanh"), layers.Dense(1))  # fmt: skip
    network = read(model)
    poly = convert(network, 3, data=X)
    predicted = model.predict(X, verbose=0)[:, 0]
    assert np.corrcoef(poly.predict(X), predicted)[0, 1] > 0.99


# --- activations -----------------------------------------------------------------------------

NAMES = [
    *("celu", "elu", "exponential", "gelu", "hard_sigmoid", "hard_tanh", "leaky_relu", "linear"),
    *("log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softplus", "softsign"),
    *("swish", "tanh"),
]


@pytest.mark.parametrize("name", NAMES)
def test_an_activation_by_name_is_that_of_keras(name):
    assert_same(sequential(layers.Dense(6, name), layers.Dense(2)))
    assert_same(sequential(layers.Dense(6), layers.Activation(name), layers.Dense(2)))


def test_keras_has_defaults_of_its_own():
    by_name = sequential(layers.Dense(3, "leaky_relu"), layers.Dense(1))
    as_layer = sequential(layers.Dense(3), layers.LeakyReLU(), layers.Dense(1))
    assert dict(read(by_name).layers[0].activation.parameters) == {"negative_slope": 0.2}
    assert dict(read(as_layer).layers[0].activation.parameters) == {"negative_slope": 0.3}
    exact = sequential(layers.Dense(3, "gelu"), layers.Dense(1))
    assert read(exact).layers[0].activation.name == "gelu"


@pytest.mark.parametrize(
    "layer",
    [
        partial(layers.ReLU),
        partial(layers.ReLU, negative_slope=0.15),
        partial(layers.ReLU, max_value=6),
        partial(layers.ReLU, max_value=1.5),
        partial(layers.LeakyReLU, negative_slope=0.05),
        partial(layers.ELU, alpha=0.4),
        partial(layers.PReLU),
        partial(layers.PReLU, shared_axes=[1]),
        partial(layers.Activation, partial(keras.activations.gelu, approximate=True)),
        partial(layers.Activation, partial(keras.activations.celu, alpha=0.5)),
        partial(layers.Activation, ops.sin),
        partial(layers.Activation, keras.activations.relu),
    ],
)
def test_an_activation_layer_keeps_its_parameters(layer):
    assert_same(sequential(layers.Dense(6), layer(), layers.Dense(2)))


def test_a_layer_may_be_the_activation_of_a_dense_layer():
    assert_same(sequential(layers.Dense(6, layers.LeakyReLU(0.07)), layers.Dense(2)))


OPERATIONS = [
    *(ops.arctan, ops.celu, ops.elu, ops.exp, ops.gelu, ops.hard_sigmoid, ops.hard_tanh),
    *(ops.leaky_relu, ops.log_sigmoid, ops.relu, ops.relu6, ops.selu, ops.sigmoid, ops.silu),
    *(ops.sin, ops.softplus, ops.softsign, ops.tanh, keras.activations.relu),
    partial(ops.gelu, approximate=False),
    partial(ops.leaky_relu, negative_slope=0.4),
    partial(keras.activations.relu, max_value=2.0),
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_activation_called_as_a_function_is_read(operation):
    assert_same(functional(lambda x: layers.Dense(2)(operation(layers.Dense(5)(x)))))


def test_one_slope_per_neuron_costs_a_skip_and_no_second_layer():
    network = read(sequential(layers.Dense(6), layers.PReLU(), layers.Dense(2)))
    assert [layer.activation.name for layer in network.layers] == ["relu", "linear"]
    assert set(network.layers[1].skips) == {0}


@pytest.mark.parametrize(
    ("layer", "found"),
    [
        (partial(layers.Activation, "sparsemax"), "sparsemax"),
    ],
)
def test_an_unknown_activation_is_refused_by_name(layer, found):
    model = sequential(layers.Dense(3), layer(name="odd"), layers.Dense(1))
    with pytest.raises(UnsupportedModelError, match=r"'odd'.*" + found):
        read(model)


# --- links -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tail", "link"),
    [
        ([layers.Dense(3, "softmax")], "softmax"),
        ([layers.Dense(3), layers.Softmax()], "softmax"),
        ([layers.Dense(3), layers.Activation("softmax"), layers.Dropout(0.5)], "softmax"),
        ([layers.Dense(1, "sigmoid")], "sigmoid"),
        ([layers.Dense(1), layers.Activation("sigmoid"), layers.Flatten()], "sigmoid"),
        ([layers.Dense(3, "sigmoid")], "sigmoid"),
    ],
)
def test_a_last_softmax_or_sigmoid_is_the_link(tail, link):
    model = sequential(layers.Dense(5, "tanh"), *(t.from_config(t.get_config()) for t in tail))
    assert read(model).link == link
    assert_same(model)


def test_a_last_log_softmax_has_the_logits_as_raw_outputs():
    model = sequential(layers.Dense(5, "tanh"), layers.Dense(3, "log_softmax"))
    network = read(model)
    assert network.link == "softmax"
    found = np.log(outputs(network, X))
    np.testing.assert_allclose(found, model.predict(X, verbose=0), atol=2e-5)


def test_a_sigmoid_in_the_middle_is_one_layer_however_often_it_is_used():
    def make(x):
        hidden = layers.Dense(3, "sigmoid")(x)
        return layers.Add()([layers.Dense(2)(hidden), layers.Dense(2)(hidden)])

    model = functional(make)
    network = read(model)
    assert network.link == "identity"
    assert [layer.activation.name for layer in network.layers] == ["sigmoid", "linear"]
    assert_same(model)


def test_a_softmax_in_the_middle_is_refused():
    model = sequential(layers.Dense(3, "softmax", name="gate"), layers.Dense(1))
    with pytest.raises(UnsupportedModelError, match="softmax in the middle") as caught:
        read(model)
    assert caught.value.where == "gate"


# --- scalers and folded normalisation --------------------------------------------------------


def test_a_first_normalisation_gives_the_working_coordinates():
    scaler = layers.Normalization()
    scaler.adapt(X + 3)
    model = keras.Sequential([keras.Input((4,)), scaler, layers.Dense(5, "tanh"), layers.Dense(1)])
    network = read(model)
    np.testing.assert_allclose(network.center, (X + 3).mean(0), rtol=1e-5)
    np.testing.assert_allclose(network.scale, (X + 3).std(0), rtol=1e-5)
    np.testing.assert_allclose(network.layers[0].weights, model.get_weights()[3], rtol=1e-12)
    assert_same(model, data=X + 3)


@pytest.mark.parametrize(
    ("first", "center", "scale"),
    [
        (partial(layers.Normalization, mean=2.0, variance=9.0), 2.0, 3.0),
        (partial(layers.Normalization, mean=[1.0] * 4, variance=[0.0] * 4), 1.0, 1e-7),
        (partial(layers.Rescaling, 0.5, offset=-1.0), 2.0, 2.0),
        (partial(layers.Rescaling, -0.5), 0.0, 2.0),
    ],
)
def test_coordinates_are_read_from_any_first_scaler(first, center, scale):
    model = sequential(first(), layers.Dense(3, "tanh"), layers.Dense(1))
    network = read(model)
    np.testing.assert_allclose(network.center, center, atol=1e-12)
    np.testing.assert_allclose(network.scale, scale, rtol=1e-6)
    if scale > 1e-3:
        assert_same(model)


def test_two_scalers_in_a_row_compose_to_the_statistics_of_the_second():
    scalers = layers.Rescaling([1.0, 2.0, 3.0, 4.0], offset=1.0), layers.BatchNormalization()
    model = sequential(*scalers, layers.Dense(3, "tanh"), layers.Dense(1))
    mean, variance = (np.asarray(weights) for weights in model.get_weights()[2:4])
    expected = (X * [1.0, 2.0, 3.0, 4.0] + 1.0 - mean) / np.sqrt(variance + scalers[1].epsilon)
    np.testing.assert_allclose(read(model).to_working(X.astype("float64")), expected, atol=1e-4)
    assert_same(model)


def test_an_inverted_normalisation_scales_the_outputs_back():
    back = layers.Normalization(mean=100.0, variance=25.0, invert=True)
    model = sequential(layers.Dense(4, "tanh"), layers.Dense(1), back)
    assert len(read(model).layers) == 2
    assert_same(model)


@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": False, "epsilon": 0.1}])
def test_batch_normalisation_is_folded(options):
    hidden = layers.Dense(6), layers.BatchNormalization(**options), layers.Activation("tanh")
    model = sequential(*hidden, layers.BatchNormalization(), layers.Dense(2))
    assert len(read(model).layers) == 2
    assert_same(model)


def test_batch_normalisation_works_on_any_axis_of_an_image():
    scalers = layers.BatchNormalization(axis=1), layers.BatchNormalization(), layers.Flatten()
    model = sequential(*scalers, layers.Dense(3, "tanh"), layers.Dense(1), shape=(2, 3))
    assert_same(model, data=np.random.default_rng(1).normal(size=(20, 2, 3)).astype("float32"))


def test_layers_of_training_disappear():
    model = sequential(layers.Dropout(0.5), layers.GaussianNoise(1.0), layers.Dense(4, "tanh"),
                       layers.AlphaDropout(0.3), layers.Identity(),
                       layers.ActivityRegularization(0.1), layers.Dense(1))  # fmt: skip
    assert len(read(model).layers) == 2
    assert_same(model)


def test_what_stays_random_at_inference_is_refused():
    model = functional(lambda x: layers.Dense(1)(layers.Dropout(0.5, name="mc")(x, training=True)))
    with pytest.raises(UnsupportedModelError, match=r"'mc'.*training=True"):
        read(model)


# --- graphs ----------------------------------------------------------------------------------


def wide_and_deep(x):
    h = layers.Dense(4, "tanh")(x)
    h = layers.Add()([x, h, layers.Dense(4, "relu")(h)])
    h = layers.Subtract()([h, layers.Dense(4)(x)])
    h = layers.Average()([h, x])
    return layers.Dense(2)(layers.Concatenate()([h, x]))


def arithmetic(x):
    h = ops.tanh(layers.Dense(4)(x)) * 2.0 + x / 4.0 - np.array([1.0, 2.0, 3.0, 4.0])
    h = -h[:, 1:3] + 0.5 * x[:, -2:]
    h = ops.concatenate([h, x[..., :1]], axis=-1)
    return layers.Dense(2)(1.0 - ops.reshape(h, (-1, 3)))


def broadcasting(x):
    one = layers.Dense(1, "tanh")(x)
    return layers.Dense(2)(layers.Add()([x, one]))


def shared(x):
    layer = layers.Dense(4, "tanh")
    return layers.Dense(1)(layer(layer(x)))


def nested(x):
    inner = keras.Sequential([layers.Dense(4, "sigmoid"), layers.Dense(4)], name="inner")
    y = keras.Input((4,))
    outer = keras.Model(y, layers.Add()([y, inner(y)]), name="block")
    return layers.Dense(2)(outer(outer(x)))


@pytest.mark.parametrize("make", [wide_and_deep, arithmetic, broadcasting, shared, nested])
def test_a_graph_of_sums_is_read(make):
    assert_same(functional(make))


@pytest.mark.parametrize(
    "tail",
    [
        [layers.Flatten()],
        [layers.Flatten(data_format="channels_first")],
        [layers.Reshape((4, -1)), layers.Permute((2, 1)), layers.Reshape((12,))],
        [layers.Rescaling([1.0, 2.0]), layers.Flatten()],
        [layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 9.0]), layers.Flatten()],
        [layers.PReLU(shared_axes=[1, 2]), layers.Flatten()],
    ],
)
def test_images_are_flat_rows_in_the_order_of_keras(tail):
    chain = [layer.from_config(layer.get_config()) for layer in tail]
    model = sequential(*chain, layers.Dense(3, "tanh"), layers.Dense(1), shape=(3, 2, 2))
    assert read(model).n_features == 12
    assert_same(model, data=np.random.default_rng(1).normal(size=(20, 3, 2, 2)).astype("float32"))


def test_concatenation_along_an_inner_axis():
    def make(x):
        y = layers.Concatenate(axis=1)([x, ops.tanh(x), x[:, :1]])
        return layers.Dense(2)(layers.Flatten()(y))

    model = functional(make, shape=(2, 3))
    assert_same(model, data=np.random.default_rng(1).normal(size=(20, 2, 3)).astype("float32"))


def test_inputs_and_outputs_may_have_names():
    x = keras.Input((4,), name="q")
    model = keras.Model({"q": x}, {"y": layers.Dense(1)(layers.Dense(3, "tanh")(x))})
    expected = model.predict({"q": X}, verbose=0)["y"][:, 0]
    np.testing.assert_allclose(read(model).predict(X), expected, atol=2e-6)


def test_the_dense_layers_come_in_the_order_in_which_they_run():
    first, second, last = (layers.Dense(4, name=name) for name in ("first", "second", "last"))
    x = keras.Input((4,))
    inner = keras.Sequential([keras.Input((4,)), second])
    hidden = first(x)
    model = keras.Model(x, last(inner(hidden) + hidden))
    assert [layer.name for layer in dense_layers(model)] == ["first", "second", "last"]


# --- refusals --------------------------------------------------------------------------------


class Doubled(layers.Layer):
    def call(self, x):
        return 2 * x


def sequence(layer):
    return sequential(layer, layers.Flatten(), layers.Dense(1), shape=(6, 4))


def image(layer):
    return sequential(layer, layers.Flatten(), layers.Dense(1), shape=(6, 6, 1))


def attended(x):
    y = layers.Reshape((4, 1))(x)
    return layers.Dense(1)(layers.Flatten()(layers.Attention(name="odd")([y, y])))


UNREADABLE = [
    (lambda: image(layers.Conv2D(2, 3, name="odd")), "Conv2D", "convolution"),
    (lambda: sequence(layers.LSTM(3, name="odd")), "LSTM", "recurrent"),
    (lambda: sequence(layers.GlobalAveragePooling1D(name="odd")), "GlobalAveragePooling1D", "pool"),
    (lambda: sequence(layers.LayerNormalization(name="odd")), "LayerNormalization", "norm"),
    (
        lambda: sequence(layers.EinsumDense("abc,cd->abd", (6, 2), name="odd")),
        "EinsumDense",
        "dense network",
    ),
    (lambda: sequential(Doubled(name="odd")), "Doubled", "class of its own"),
    (lambda: functional(attended), "Attention", "multiplies"),
]


@pytest.mark.parametrize(("make", "kind", "reason"), UNREADABLE)
def test_what_is_not_a_dense_network_is_refused_by_name(make, kind, reason):
    with pytest.raises(UnsupportedModelError, match=reason) as caught:
        read(make())
    assert caught.value.found.endswith(kind)
    assert repr(caught.value.where) in caught.value.what
    assert caught.value.remedy


def test_some_of_the_probabilities_of_a_softmax_are_refused():
    model = functional(lambda x: layers.Dense(3, "softmax")(x)[:, 1])
    with pytest.raises(UnsupportedModelError, match="nly some of the probabilities"):
        read(model)


def test_a_layer_inside_a_model_is_named_with_its_path():
    inner = keras.Sequential([keras.Input((4,)), layers.UnitNormalization(name="odd")], name="box")
    with pytest.raises(UnsupportedModelError, match="'box/odd'"):
        read(functional(lambda x: layers.Dense(1)(inner(x))))


def test_several_outputs_are_refused_until_one_is_named():
    a = keras.Input((2,), name="left")
    with pytest.raises(UnsupportedModelError, match="several outputs"):
        read(keras.Model(a, [layers.Dense(1)(a), layers.Dense(1)(a)]))


def test_a_table_of_outputs_and_unknown_widths_are_refused():
    with pytest.raises(UnsupportedModelError, match="table for every row"):
        read(sequential(layers.Dense(4), layers.Reshape((2, 2))))
    x = keras.Input((None, 3))
    with pytest.raises(UnsupportedModelError, match="number of inputs"):
        read(keras.Model(x, layers.Rescaling(2.0)(x)))


def test_a_model_that_is_not_built_is_refused():
    with pytest.raises(UnsupportedModelError, match="not built"):
        read(keras.Sequential([layers.Dense(2)]))


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = layers.Dense(3, "tanh"), layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x))


def test_a_model_with_its_own_call_is_refused_and_the_remedy_works():
    model = Own()
    model(X)
    with pytest.raises(UnsupportedModelError, match=r"call\(\) of its own") as caught:
        read(model)
    assert "keras.Model(x, model.call(x))" in caught.value.remedy
    x = keras.Input((4,))
    assert_same(keras.Model(x, model.call(x)))


def test_the_remedy_for_unreadable_layers_works():
    model = sequence(layers.LSTM(3, name="odd"))
    rest = keras.Model(model.get_layer("odd").output, model.outputs[0])
    assert read(rest).n_features == 3


@pytest.mark.slow
def test_quantised_weights_are_refused():
    model = sequential(layers.Dense(3, "tanh", name="small"), layers.Dense(1))
    for layer in model.layers:
        layer.quantize("int8")
    with pytest.raises(UnsupportedModelError, match=r"'small'.*quantised"):
        read(model)


def test_low_rank_updates_are_part_of_the_weights():
    model = sequential(layers.Dense(3, "tanh"), layers.Dense(1))
    model.layers[0].enable_lora(2)
    assert_same(randomise(model))


# --- saved files -----------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    def save(model):
        path = tmp_path / "model.keras"
        model.save(path)
        return path

    return save


def edited(path, change):
    """Write the archive again with another configuration."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config)
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("make", [wide_and_deep, arithmetic, shared, nested])
def test_a_saved_model_is_read_as_the_model_itself(make, saved):
    model = functional(make)
    model.compile("adam", "mse")
    assert_same(model, read_file(saved(model)))


def test_a_saved_scaler_and_its_coordinates_come_back(saved):
    scaler = layers.Normalization()
    scaler.adapt(X)
    model = keras.Sequential([keras.Input((4,)), scaler, layers.Dense(3, "tanh"),
                              layers.BatchNormalization(), layers.PReLU(),
                              layers.Dense(3, "softmax")])  # fmt: skip
    path = saved(model)
    network = read_file(str(path))
    np.testing.assert_array_equal(network.center, read(model).center)
    assert network.link == "softmax"
    assert_same(model, network)


def test_a_lambda_in_a_file_is_refused_before_anything_runs(saved):
    model = sequential(layers.Dense(3), layers.Lambda(lambda x: x, name="odd"), layers.Dense(1))
    path = saved(model)
    with pytest.raises(UnsupportedModelError, match=r"Python code.*'odd'"):
        read_file(path)


def test_the_safety_of_files_does_not_rest_on_a_switch_of_keras(saved):
    path = saved(sequential(layers.Lambda(lambda x: x, name="odd"), layers.Dense(1)))
    keras.config.enable_unsafe_deserialization()
    try:
        with pytest.raises(UnsupportedModelError, match="Python code"):
            read_file(path)
    finally:
        set_global_attribute("safe_mode_saving", None)


def test_an_unreadable_layer_in_a_file_is_named(saved):
    with pytest.raises(UnsupportedModelError, match=r"'odd'.*recurrent"):
        read_file(saved(sequence(layers.LSTM(3, name="odd"))))


def hostile_module(config):
    config["config"]["layers"][1]["module"] = "os"


def hostile_function(config):
    config["config"]["layers"][1]["config"]["activation"] = {
        "module": "keras.utils", "class_name": "function", "config": "get_file",
        "registered_name": "function",
    }  # fmt: skip


def hostile_name(config):
    config["config"]["layers"][1]["registered_name"] = "mine>Evil"


def hostile_initializer(config):
    config["config"]["layers"][1]["config"]["kernel_initializer"] = {
        "class_name": "__lambda__", "config": {"value": ["4wAAAA==", None, None]},
    }  # fmt: skip


@pytest.mark.parametrize(
    "change", [hostile_module, hostile_function, hostile_name, hostile_initializer]
)
def test_a_file_may_only_name_parts_of_keras(change, saved):
    path = edited(saved(sequential(layers.Dense(3, "tanh"), layers.Dense(1))), change)
    with pytest.raises(UnsupportedModelError) as caught:
        read_file(path)
    assert "load it yourself" in caught.value.remedy


def huge_units(config):
    config["config"]["layers"][1]["config"]["units"] = 10**12


def huge_inputs(config):
    config["config"]["layers"][1]["build_config"]["input_shape"] = [None, 10**12]


def no_shape(config):
    del config["config"]["layers"][1]["build_config"]


@pytest.mark.parametrize("change", [huge_units, huge_inputs, no_shape])
def test_sizes_are_checked_before_memory_is_taken(change, saved):
    path = edited(saved(sequential(layers.Dense(3, "tanh"), layers.Dense(1))), change)
    with pytest.raises(UnsupportedModelError, match="do not go together"):
        read_file(path)


def test_a_file_that_is_damaged_or_not_keras_says_so(tmp_path, saved):
    with pytest.raises(InvalidInputError, match="no such file"):
        read_file(tmp_path / "none.keras")
    (tmp_path / "text.keras").write_text("hello")
    with pytest.raises(InvalidInputError, match="not a model saved by Keras"):
        read_file(tmp_path / "text.keras")
    path = saved(sequential(layers.Dense(3, "tanh"), layers.Dense(1)))
    with pytest.raises(UnsupportedModelError, match="Keras cannot load"):
        read_file(edited(path, lambda config: config["config"].pop("name")))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("assets/run.py", "print()")
    with pytest.raises(UnsupportedModelError, match="more than the layers"):
        read_file(path)


def public_layers():
    """List the layers of Keras by the names under which files know them."""
    found = {n: c for n, c in vars(layers).items() if isinstance(c, type)}
    return sorted(n for n, c in found.items() if issubclass(c, layers.Layer))


def as_layer(name):
    return {"module": "keras.layers", "class_name": name, "config": {"name": "odd"},
            "registered_name": None}  # fmt: skip


@pytest.mark.slow
def test_every_layer_without_a_rule_is_refused_in_a_file_wherever_it_stands(saved, monkeypatch):
    path = saved(sequential(layers.Dense(3, "tanh"), layers.Dense(1)))
    original = path.read_bytes()
    monkeypatch.setattr(keras.saving, "load_model", lambda *_, **__: pytest.fail("Keras saw it"))
    unknown = [name for name in public_layers() if name not in {*LAYERS, *MODELS}]
    assert len(unknown) > 80

    def as_part(config, name):
        config["config"]["layers"].append(as_layer(name))

    def as_initializer(config, name):
        config["config"]["layers"][1]["config"]["kernel_initializer"] = as_layer(name)

    for name in unknown:
        for change in (as_part, as_initializer):
            path.write_bytes(original)
            with pytest.raises(UnsupportedModelError, match="odd") as caught:
                read_file(edited(path, partial(change, name=name)))
            assert name in caught.value.found


def dotted_class(config):
    config["config"]["layers"][1]["config"]["kernel_initializer"] = {
        "module": "keras", "class_name": "layers.TorchModuleWrapper", "config": {},
        "registered_name": None,
    }  # fmt: skip


def dotted_function(config):
    config["config"]["layers"][1]["config"]["activation"] = {
        "module": "keras", "class_name": "function", "config": "utils.get_file",
        "registered_name": "function",
    }  # fmt: skip


@pytest.mark.parametrize("change", [dotted_class, dotted_function])
def test_a_path_in_a_name_is_refused_before_keras_follows_it(change, saved, monkeypatch):
    path = edited(saved(sequential(layers.Dense(3, "tanh"), layers.Dense(1))), change)
    monkeypatch.setattr(keras.saving, "load_model", lambda *_, **__: pytest.fail("Keras saw it"))
    with pytest.raises(UnsupportedModelError, match="not a part of Keras") as caught:
        read_file(path)
    assert "load it yourself" in caught.value.remedy
