"""ONNX models as PyTorch, scikit-learn and Keras write them, read back in the same units."""

import io
import os
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "torch")
os.environ.setdefault("KERAS_HOME", str(Path(tempfile.gettempdir()) / "nn2poly-keras"))

import numpy as np
import onnx
import onnxruntime
import pytest

import nn2poly as n2p
from nn2poly.errors import UnsupportedModelError
from nn2poly.links import probabilities

# Keras' torch backend asks NumPy for arrays in the old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def rows(n, n_features=4, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=(n, n_features)).astype(dtype)


def names_of(network):
    return [layer.activation.name for layer in network.layers]


def outputs_of(network, X):
    """Give what the model gives: raw outputs, or probabilities."""
    raw = network.predict(X).reshape(len(X), -1)
    return raw if network.link == "identity" else probabilities(raw, network.link)


def quietly(function, *args, **options):
    """Call third parties that warn about themselves, or of three rounds of training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


# --- PyTorch ---------------------------------------------------------------------------------


def export_torch(module, *, dynamo, **options):
    import torch

    stream, example = io.BytesIO(), (torch.zeros(2, 4),)
    if dynamo:
        program = quietly(torch.onnx.export, module, example, dynamo=True, verbose=False, **options)
        program.save(stream)
    else:
        quietly(torch.onnx.export, module, example, stream, dynamo=False, **options)
    return onnx.load_model_from_string(stream.getvalue())


@pytest.fixture(scope="module")
def torch_module():
    """Every activation of the table, batch normalisation, residuals, slices and clipping."""
    import torch
    from torch import nn
    from torch.nn import functional as F  # noqa: N812

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 6)
            self.norm, self.prelu, self.last = nn.BatchNorm1d(6), nn.PReLU(), nn.Linear(10, 3)

        def forward(self, x):
            x = x.view(x.size(0), -1)
            h = F.gelu(self.norm(self.first(x)))
            h = h + F.silu(self.second(h))
            h = F.gelu(F.mish(h), approximate="tanh")
            h = F.hardtanh(F.hardsigmoid(h), -0.4, 0.7).clamp(min=0.05).clamp(max=0.6)
            h = F.softplus(F.relu6(h), beta=2.0)
            h = F.celu(F.selu(h - 1.0), 2.0)
            h = F.elu(F.leaky_relu(F.logsigmoid(self.prelu(h)), 0.2), 0.5)
            h = torch.exp(torch.atan(torch.sin(F.softsign(h))))
            left, right = h.chunk(2, 1)
            h = torch.cat([right, left, x], dim=-1)[:, [1, 0, 2, 3, 4, 5, 6, 7, 8, 9]]
            return self.last(torch.maximum(h, torch.tensor(0.1)))

    torch.manual_seed(0)
    module = Own().eval()
    with torch.no_grad():
        module.norm.running_mean.uniform_(-0.5, 0.5)
        module.norm.running_var.uniform_(0.5, 2.0)
    return module


EXPORTS = {
    "dynamo, opset 20": {"dynamo": True},
    "dynamo, opset 18": {"dynamo": True, "opset_version": 18},
    "TorchScript, opset 20": {"dynamo": False, "opset_version": 20},
    "TorchScript, opset 13": {"dynamo": False, "opset_version": 13},
    "TorchScript, free rows": {
        "dynamo": False,
        "input_names": ["x"],
        "dynamic_axes": {"x": {0: "rows"}},
    },
}
USED = {"gelu", "silu", "mish", "gelu_tanh", "hard_sigmoid", "hard_tanh", "softplus", "selu"}
USED |= {"celu", "leaky_relu", "log_sigmoid", "elu", "softsign", "sin", "arctan", "exp"}


def check_torch(module, model, X):
    import torch

    network = n2p.read_network(model)
    with torch.no_grad():
        expected = module(torch.as_tensor(X)).numpy()
    np.testing.assert_allclose(network.predict(X), expected, atol=1e-6)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    np.testing.assert_allclose(network.predict(X), found, atol=1e-6)
    return network


@pytest.mark.slow
@pytest.mark.parametrize("options", EXPORTS.values(), ids=EXPORTS)
def test_pytorch_exports_are_read(torch_module, options):
    network = check_torch(torch_module, export_torch(torch_module, **options), rows(2))
    assert set(names_of(network)) >= USED


@pytest.mark.slow
def test_free_rows_of_dynamo_are_read(torch_module):
    import torch

    shapes = ({0: torch.export.Dim.DYNAMIC},)
    model = export_torch(torch_module, dynamo=True, dynamic_shapes=shapes)
    check_torch(torch_module, model, rows(5))


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", [True, False], ids=["dynamo", "TorchScript"])
@pytest.mark.parametrize(("name", "link"), [("LogSoftmax", "softmax"), ("Sigmoid", "sigmoid")])
def test_a_pytorch_classifier_keeps_its_link(name, link, dynamo):
    from torch import nn

    last = nn.Sigmoid() if name == "Sigmoid" else nn.LogSoftmax(1)
    module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 3), last)
    network = n2p.read_network(export_torch(module.eval(), dynamo=dynamo))
    assert (network.link, names_of(network)) == (link, ["tanh", "linear"])


@pytest.mark.slow
def test_pytorch_weights_in_another_file_are_read(tmp_path):
    import torch
    from torch import nn

    path, module = tmp_path / "model.onnx", nn.Sequential(nn.Linear(4, 300), nn.Linear(300, 1))
    example = (torch.zeros(2, 4),)
    quietly(torch.onnx.export, module, example, path, dynamo=True, verbose=False)
    assert (tmp_path / "model.onnx.data").exists()
    X = np.random.default_rng(0).normal(size=(20, 4))
    with torch.no_grad():
        expected = module(torch.tensor(X, dtype=torch.float32)).numpy()[:, 0]
    np.testing.assert_allclose(n2p.read_network(path).predict(X), expected, atol=1e-5)


# --- scikit-learn ----------------------------------------------------------------------------

SEVERAL = np.array(["ash", "beech", "cedar"])[np.random.default_rng(2).integers(0, 3, 60)]


def perceptron(kind, **options):
    from sklearn import neural_network

    options = {"hidden_layer_sizes": (5,), "max_iter": 3, "random_state": 0, **options}
    return getattr(neural_network, kind)(**options)


def through_onnx(model, y, *, dtype=np.float32, X=None, **options):
    """Fit, export and read; check predictions and give the network."""
    from skl2onnx import to_onnx

    X = rows(60, dtype=dtype) * [1, 10, 0.1, 5] + [0, 3, 0, -2] if X is None else X
    X = X.astype(dtype)
    quietly(model.fit, X, y)
    network = n2p.read_network(quietly(to_onnx, model, X[:1], **options))
    expected = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    found = outputs_of(network, X)
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), atol=tolerance)
    return network


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
def test_a_perceptron_through_skl2onnx_is_the_perceptron(activation):
    model = perceptron("MLPRegressor", activation=activation)
    network = through_onnx(model, rows(60)[:, 0], dtype=np.float64)
    layers = n2p.read_network(model).layers
    if activation == "identity":  # a chain of linear layers is one
        layers = [n2p.Layer(layers[0].weights @ layers[1].weights)]
    for ours, theirs in zip(network.layers, layers, strict=True):
        np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-12)


def test_several_outputs_of_a_regressor_through_skl2onnx_stay_columns():
    assert through_onnx(perceptron("MLPRegressor"), rows(60)[:, :2]).n_outputs == 2


ZIPMAPS = {"dictionaries": {}, "array": {"zipmap": False}, "columns": {"zipmap": "columns"}}


@pytest.mark.parametrize("options", ZIPMAPS.values(), ids=ZIPMAPS)
@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (SEVERAL, ("ash", "beech", "cedar")),
        (np.random.default_rng(3).integers(2, 5, 60), (2, 3, 4)),
        (SEVERAL == "ash", (0, 1)),
        (np.where(SEVERAL == "ash", "yes", "no"), ("no", "yes")),
    ],
    ids=["three names", "three numbers", "true or false", "two names"],
)
def test_a_classifier_through_skl2onnx_keeps_link_and_classes(y, classes, options):
    network = through_onnx(perceptron("MLPClassifier"), y, options=options)
    assert network.classes == classes
    assert network.link == ("softmax" if len(classes) == 3 else "sigmoid")
    shown = classes if len(classes) == 3 else classes[1:]
    assert network.output_names == tuple(map(str, shown))


def test_a_multilabel_classifier_through_skl2onnx_is_sigmoid():
    labels = (rows(60)[:, :3] > 0).astype(int)
    network = through_onnx(perceptron("MLPClassifier"), labels)
    assert (network.link, network.n_outputs) == ("sigmoid", 3)


SCALERS = ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCALERS)
def test_a_scaler_through_skl2onnx_gives_the_coordinates(name, dtype):
    from sklearn import pipeline, preprocessing

    scaler = getattr(preprocessing, name)()
    model = pipeline.make_pipeline(scaler, perceptron("MLPClassifier", activation="tanh"))
    network = through_onnx(model, SEVERAL, dtype=dtype)
    np.testing.assert_allclose(network.layers[0].weights, model[-1].coefs_[0], rtol=1e-5)
    low, high = scaler.transform([network.center, network.center + network.scale])
    np.testing.assert_allclose(low, np.zeros(4), atol=1e-6)
    np.testing.assert_allclose(high, np.ones(4), rtol=1e-6)


def people(n=200):
    """Make a frame of numbers, words and whole numbers as categories, and a target."""
    import pandas as pd

    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "job": rng.choice(["clerk", "farmer", "teacher"], n),
            "rooms": rng.integers(1, 4, n),
            "hours": rng.normal(30.0, 5.0, n),
            "town": rng.choice(["Rome", "Oslo"], n),
        }
    )
    return X, X.age / 20 + (X.job == "farmer") - (X.rooms == 2) + (X.town == "Rome")


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("scaled", [False, True])
def test_categories_through_skl2onnx_are_the_factors_of_the_pipeline(drop, scaled):
    from skl2onnx import to_onnx
    from sklearn import compose, pipeline, preprocessing

    X, y = people()
    encoder = preprocessing.OneHotEncoder(drop=drop, sparse_output=False)
    columns = compose.ColumnTransformer(
        [
            ("cat", encoder, ["job", "rooms", "town"]),
            ("num", preprocessing.StandardScaler(), ["hours", "age"]),
        ]
    )
    chain = [columns, *([preprocessing.MinMaxScaler()] if scaled else [])]
    model = pipeline.make_pipeline(*chain, perceptron("MLPRegressor", activation="tanh"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        network = n2p.read_network(to_onnx(model, X[:1]))
    np.testing.assert_allclose(network.predict(X), model.predict(X), rtol=1e-6, atol=1e-6)
    own = n2p.read_network(model).inputs
    found = [(c.name, c.kind, c.levels, c.features) for c in network.inputs.columns]
    assert found == [(c.name, c.kind, c.levels, c.features) for c in own.columns]
    assert [c.kind for c in network.inputs.columns].count("factor") == 3
    levels = [list(places) for places in network.inputs.indicators()]
    assert all((network.center[k] == 0).all() and (network.scale[k] == 1).all() for k in levels)
    if not scaled:
        np.testing.assert_allclose(network.center, own.center, rtol=1e-6)
        np.testing.assert_allclose(network.scale, own.scale, rtol=1e-6)


def test_a_category_that_is_also_a_number_is_refused_by_name():
    text = """
      <ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 3]>
      g (float[N, 1] a, int64[N, 1] b) => (float[N, 3] y) {
        c = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2], zeros = 1> (b)
        k = Constant <value = int64[2] {-1, 2}> ()
        h = Reshape (c, k)
        f = Cast <to = 1> (b)
        s = Add (a, f)
        y = Concat <axis = 1> (h, s)
      }"""
    with pytest.raises(UnsupportedModelError, match="category"):
        n2p.read_network(onnx.parser.parse_model(text))


def test_pipelines_through_skl2onnx_are_read():
    from sklearn import compose, decomposition, impute, pipeline, preprocessing

    columns = compose.ColumnTransformer(
        [("a", preprocessing.StandardScaler(), [0, 3]), ("b", "passthrough", [2])]
    )
    chains = [
        [decomposition.PCA(2)],
        [impute.SimpleImputer(), preprocessing.StandardScaler()],
        [columns],
        [preprocessing.MinMaxScaler(clip=True)],
    ]
    for chain in chains:
        model = pipeline.make_pipeline(*chain, perceptron("MLPRegressor"))
        assert through_onnx(model, rows(60)[:, 0]).n_features == 4


def test_a_data_frame_through_skl2onnx_names_the_features():
    import pandas as pd
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = pd.DataFrame(rows(60), columns=["age", "height", "weight", "dose"])
    model = make_pipeline(StandardScaler(), perceptron("MLPRegressor"))
    assert through_onnx(model, rows(60)[:, 0], X=X).feature_names == tuple(X.columns)


@pytest.mark.parametrize(
    ("name", "op"), [("Normalizer", "Normalizer"), ("PolynomialFeatures", "Mul|Pow|ReduceProd")]
)
def test_transformers_that_are_not_affine_are_refused_by_name(name, op):
    from sklearn import pipeline, preprocessing

    model = pipeline.make_pipeline(getattr(preprocessing, name)(), perceptron("MLPRegressor"))
    with pytest.raises(UnsupportedModelError, match=op):
        through_onnx(model, rows(60)[:, 0])


# --- Keras -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keras_model():
    """Normalisation, every activation, batch normalisation and a residual sum."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    normalization = layers.Normalization()
    normalization.adapt(3.0 * rows(50) + 1.0)
    inputs = keras.Input((4,))
    h = layers.Dense(6, activation="gelu")(normalization(inputs))
    h = layers.Dropout(0.3)(layers.BatchNormalization()(h))
    h = layers.Dense(6, activation="silu")(h) + h
    h = layers.Rescaling(2.0, 1.0)(layers.LeakyReLU()(h))
    for name in KERAS:
        h = layers.Dense(6, activation=name)(h)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(h))


KERAS = ["tanh", "hard_sigmoid", "softplus", "mish", "selu", "elu", "relu6", "softsign"]
KERAS += ["log_sigmoid", "celu", "hard_tanh", "sigmoid", "relu"]


def check_keras(keras_model, model):
    network, X = n2p.read_network(model), rows(2)
    expected = keras_model(X).detach().numpy()
    np.testing.assert_allclose(outputs_of(network, X), expected, atol=1e-6)
    assert names_of(network) == ["gelu", "silu", "leaky_relu", *KERAS, "linear"]
    assert network.link == "softmax"
    assert network.center.all()


@pytest.mark.slow
def test_keras_export_is_read(keras_model, tmp_path):
    keras_model(rows(2))  # Keras exports only a model that was called
    path = tmp_path / "model.onnx"
    quietly(keras_model.export, path, format="onnx", verbose=False)
    check_keras(keras_model, path)


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", [True, False], ids=["dynamo", "TorchScript"])
def test_keras_models_through_pytorch_are_read(keras_model, dynamo):
    check_keras(keras_model, export_torch(keras_model.eval(), dynamo=dynamo))
