"""The same weights, written in every framework and exported by every exporter, are one network."""

import io
import os
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("KERAS_HOME", str(Path(tempfile.gettempdir()) / "nn2poly-keras"))

import keras
import numpy as np
import pytest
import torch
from keras import layers
from skl2onnx import to_onnx
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import nn2poly as n2p

# Keras' torch backend asks NumPy for arrays in the old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

# Each of the forms goes through an exporter.
pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
SIZES = (4, 6, 5, 3)
WEIGHTS = [RNG.normal(0.0, 0.3 / np.sqrt(a), (a, b)) for a, b in pairwise(SIZES)]
BIASES = [RNG.normal(0.0, 0.1, size) for size in SIZES[1:]]
# Sums of powers of two: float32 keeps them, and their squares, exactly.
MEAN, SCALE = np.array([1.0, -2.0, 0.5, 3.0]), np.array([2.0, 0.25, 1.0, 4.0])
X = MEAN + SCALE * RNG.uniform(-1.0, 1.0, (200, 4))
KINDS = ("plain", "scaled", "softmax")


def quietly(function, *args, **options):
    """Call third parties that warn about themselves, or of one round of training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


# --- the same network in each framework ------------------------------------------------------


def by_hand(_dtype, kind):
    functions = ("tanh", "tanh", "linear")
    parts = zip(WEIGHTS, BIASES, functions, strict=True)
    chain = [n2p.Layer(weights, bias, function) for weights, bias, function in parts]
    options = {"center": MEAN, "scale": SCALE} if kind == "scaled" else {}
    return n2p.Network(chain, link="softmax" if kind == "softmax" else "identity", **options)


class Scaled(nn.Module):
    def __init__(self, inner, dtype):
        super().__init__()
        self.inner = inner
        self.register_buffer("mean", torch.tensor(MEAN, dtype=dtype))
        self.register_buffer("deviation", torch.tensor(SCALE, dtype=dtype))

    def forward(self, x):
        return self.inner((x - self.mean) / self.deviation)


def in_torch(dtype, kind):
    linears = [nn.Linear(a, b, dtype=getattr(torch, dtype)) for a, b in pairwise(SIZES)]
    with torch.no_grad():
        for linear, weights, bias in zip(linears, WEIGHTS, BIASES, strict=True):
            linear.weight.copy_(torch.tensor(weights.T))
            linear.bias.copy_(torch.tensor(bias))
    first, second, third = linears
    last = [nn.Softmax(dim=1)] if kind == "softmax" else []
    module = nn.Sequential(first, nn.Tanh(), second, nn.Dropout(), nn.Tanh(), third, *last).eval()
    return Scaled(module, getattr(torch, dtype)) if kind == "scaled" else module


class Methods(nn.Module):
    """The same weights, as people write them in a class of their own."""

    def __init__(self, chain):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (part for part in chain if isinstance(part, nn.Linear))

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(self.fc1(x.flatten(1)).tanh())))


def in_a_torch_class(dtype, kind):
    module = Methods(in_torch(dtype, "plain"))
    if kind == "scaled":
        return Scaled(module, getattr(torch, dtype))
    return nn.Sequential(module, nn.Softmax(dim=1)) if kind == "softmax" else module


def in_keras(dtype, kind):
    chain = [
        layers.Dense(SIZES[1], activation="tanh", dtype=dtype),
        layers.Dense(SIZES[2], dtype=dtype),
        layers.Activation("tanh", dtype=dtype),
        layers.Dense(SIZES[3], activation="softmax" if kind == "softmax" else None, dtype=dtype),
    ]
    scaler = layers.Normalization(mean=MEAN, variance=SCALE**2, dtype=dtype)
    model = keras.Sequential(
        [keras.Input((4,), dtype=dtype), *([scaler] if kind == "scaled" else []), *chain]
    )
    dense = [chain[0], chain[1], chain[3]]
    for layer, weights, bias in zip(dense, WEIGHTS, BIASES, strict=True):
        layer.set_weights([weights, bias])
    model(np.zeros((2, 4), dtype))  # Keras exports only a model that was called
    return model


def in_sklearn(dtype, kind):
    perceptron = MLPClassifier if kind == "softmax" else MLPRegressor
    model = perceptron(hidden_layer_sizes=SIZES[1:-1], activation="tanh", max_iter=1)
    y = np.arange(len(X)) % 3 if kind == "softmax" else X[:, :3]
    quietly(model.fit, X.astype(dtype), y)
    model.coefs_ = [weights.astype(dtype) for weights in WEIGHTS]
    model.intercepts_ = [bias.astype(dtype) for bias in BIASES]
    if kind != "scaled":
        return model
    scaler = StandardScaler().fit(X)
    scaler.mean_, scaler.scale_, scaler.var_ = MEAN.copy(), SCALE.copy(), SCALE**2
    return make_pipeline(scaler, model)


# --- and from each exporter ------------------------------------------------------------------


def export_torch(module, dtype, *, dynamo):
    stream, example = io.BytesIO(), (torch.zeros(2, 4, dtype=getattr(torch, dtype)),)
    if dynamo:
        program = quietly(torch.onnx.export, module, example, dynamo=True, verbose=False)
        program.save(stream)
    else:
        quietly(torch.onnx.export, module, example, stream, dynamo=False)
    return stream.getvalue()


def through_dynamo(dtype, kind):
    return export_torch(in_torch(dtype, kind), dtype, dynamo=True)


def through_torchscript(dtype, kind):
    return export_torch(in_torch(dtype, kind), dtype, dynamo=False)


def through_skl2onnx(dtype, kind):
    return quietly(to_onnx, in_sklearn(dtype, kind), X[:1].astype(dtype))


def through_keras(dtype, kind):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        quietly(in_keras(dtype, kind).export, path, format="onnx", verbose=False)
        return path.read_bytes()


def through_keras_and_dynamo(dtype, kind):
    return export_torch(in_keras(dtype, kind).eval(), dtype, dynamo=True)


def in_pairs(_dtype, kind):
    functions = ("tanh", "tanh", "softmax" if kind == "softmax" else "linear")
    matrices = [np.vstack([b, w]) for w, b in zip(WEIGHTS, BIASES, strict=True)]
    return list(zip(functions, matrices, strict=True))


FORMS = [in_torch, in_a_torch_class, in_keras, in_sklearn]
FORMS += [through_dynamo, through_torchscript, through_skl2onnx]
FORMS += [through_keras, through_keras_and_dynamo]
# Keras' torch backend multiplies matrices in float32, and exports them so.
ROUNDING = (through_keras, through_keras_and_dynamo)
# In float64 nothing is lost; float32 keeps seven digits.
CASES = [
    *((form, "plain", "float64", 0.0) for form in [in_pairs, *FORMS] if form not in ROUNDING),
    *((form, "plain", "float32", 1e-7) for form in FORMS),
    *((form, "scaled", "float32", 1e-6) for form in FORMS),
    *((form, "softmax", "float32", 1e-7) for form in [in_pairs, *FORMS]),
]


@pytest.fixture(
    scope="module",
    params=CASES,
    ids=[f"{form.__name__}, {kind}, {dtype}" for form, kind, dtype, _ in CASES],
)
def case(request):
    """Give a model, the network it should be, and the tolerance."""
    form, kind, dtype, tolerance = request.param
    return form(dtype, kind), by_hand(dtype, kind), tolerance


def agree(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_every_form_of_the_same_weights_is_the_same_network(case):
    model, expected, tolerance = case
    network = n2p.read_network(model)
    assert repr(network) == repr(expected)
    agree(network.center, expected.center, tolerance)
    agree(network.scale, expected.scale, tolerance)
    for ours, theirs in zip(network.layers, expected.layers, strict=True):
        assert ours.activation == theirs.activation
        assert ours.skips == {}
        agree(ours.weights, theirs.weights, tolerance)
        agree(ours.bias, theirs.bias, tolerance)


def test_every_form_of_the_same_weights_is_the_same_polynomial(case):
    model, expected, tolerance = case
    found, reference = n2p.convert(model, max_order=3), n2p.convert(expected, max_order=3)
    assert found.terms == reference.terms
    agree(found.coefficients, reference.coefficients, tolerance)
    # In raw units the scale of an input divides its coefficients, up to its third power.
    raw, reference = found.rebase(), reference.rebase()
    agree(raw.coefficients, reference.coefficients, 100 * tolerance)


@pytest.mark.parametrize("form", [in_torch, in_keras, in_sklearn, through_torchscript])
def test_calibration_on_the_same_rows_gives_the_same_polynomial(form):
    expected = n2p.convert(by_hand("float32", "scaled"), max_order=2, data=X)
    found = n2p.convert(form("float32", "scaled"), max_order=2, data=X)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-6)


def test_an_exported_classifier_keeps_the_classes_of_scikit_learn():
    model = in_sklearn("float32", "softmax")
    exported = quietly(to_onnx, model, X[:1].astype(np.float32))
    ours, theirs = n2p.read_network(exported), n2p.read_network(model)
    assert (ours.classes, ours.output_names) == (theirs.classes, theirs.output_names)
