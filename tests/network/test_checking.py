"""What was read is compared with the model itself: nothing is wrong in silence."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import numpy as np
import onnx
import pandas as pd
import pytest
import torch
from onnx import TensorProto, helper
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

import nn2poly as n2p
from nn2poly.errors import UnsupportedModelError
from nn2poly.network import checking
from nn2poly.network.checking import check_reading

X = np.random.default_rng(0).normal(size=(250, 3))
Y = np.sin(X[:, 0]) + X[:, 1]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def plain():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


# ---- what the layers do not show ----------------------------------------------------------------


class Doubled(nn.Sequential):
    def __call__(self, x):
        return 2.0 * super().__call__(x)


class WrittenElsewhere(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = self.first(x)
        torch.tanh(h, out=h)
        return self.last(h)


class OwnGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 2)
        self.generator = torch.Generator().manual_seed(1)

    def forward(self, x):
        return self.first(x) + torch.randn(2, generator=self.generator)


class DoubledRegressor(MLPRegressor):
    def predict(self, X):
        return 2.0 * super().predict(X)


class ShiftedScaler(StandardScaler):
    def inverse_transform(self, X, copy=None):
        return super().inverse_transform(X) + 5.0


def softmax_slice():
    inputs = keras.Input((3,))
    h = keras.layers.Dense(3, activation="softmax")(inputs)
    return keras.Model(inputs, h[:, :1])


def doubled_regressor():
    return DoubledRegressor(hidden_layer_sizes=(4,), activation="tanh", max_iter=5, random_state=0)


def shifted_target():
    return TransformedTargetRegressor(mlp(), transformer=ShiftedScaler(), check_inverse=False)


WRONG = {
    "overridden __call__": lambda: Doubled(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)),
    "out=": WrittenElsewhere,
    "own generator": OwnGenerator,
    "slice of a softmax": softmax_slice,
    "overridden predict": doubled_regressor,
    "overridden inverse_transform": shifted_target,
}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("data", [None, X], ids=["drawn rows", "data"])
@pytest.mark.parametrize("name", WRONG)
def test_what_the_layers_do_not_show_is_an_error(name, data):
    model = WRONG[name]()
    if hasattr(model, "n_iter_no_change") or isinstance(model, TransformedTargetRegressor):
        model.fit(X, Y)
    with pytest.raises(UnsupportedModelError) as caught:
        n2p.convert(model, 1, data=data)
    assert caught.value.remedy
    if "does not give what the model gives" in caught.value.what:
        assert "check=False" in caught.value.remedy
        assert "what the model gives, in row" in caught.value.expected
        assert "from the network" in caught.value.found
        poly = n2p.convert(model, 1, data=X, check=False)
        assert poly.n_terms == 4
        with pytest.raises(UnsupportedModelError, match="does not give"):
            n2p.fidelity(model, poly, X)


# ---- what passes --------------------------------------------------------------------------------


def fitted(estimator, target=Y):
    return estimator.fit(X, target)


def mlp(kind=MLPRegressor):
    return kind(hidden_layer_sizes=(4,), activation="tanh", max_iter=5, random_state=0)


def onnx_model(end):
    weights = helper.make_tensor("w", TensorProto.FLOAT, (3, 2), [1.0, 2, 3, 4, 5, 6])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node(end, ["z"], ["y"])]
    values = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, (None, k))]
        for n, k in (("x", 3), ("y", 2))
    ]
    graph = helper.make_graph(nodes, "g", *values, [weights])
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9)


RIGHT = {
    "torch": plain,
    "sigmoid": lambda: nn.Sequential(plain(), nn.Sigmoid()),
    "softmax": lambda: nn.Sequential(nn.Linear(3, 3), nn.Softmax(dim=1)),
    "log_softmax": lambda: nn.Sequential(nn.Linear(3, 3), nn.LogSoftmax(dim=1)),
    "bfloat16": lambda: plain().bfloat16(),
    "double": lambda: plain().double(),
    "in training": lambda: nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.BatchNorm1d(4)).train(),
    "keras": lambda: keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, "softmax")]),
    "regressor": lambda: fitted(mlp()),
    "classifier": lambda: fitted(mlp(MLPClassifier), Y > 0),
    "three classes": lambda: fitted(mlp(MLPClassifier), np.digitize(Y, [-1, 1])),
    "labels": lambda: fitted(mlp(MLPClassifier), np.column_stack([Y > 0, Y > 1])),
    "pipeline": lambda: fitted(make_pipeline(StandardScaler(), mlp())),
    "onnx": lambda: onnx_model("Tanh"),
    "onnx softmax": lambda: onnx_model("Softmax"),
    "onnx bytes": lambda: onnx_model("Sigmoid").SerializeToString(),
}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_read_well_passes(name, monkeypatch):
    model, compared = RIGHT[name](), []
    inner = checking._compare
    monkeypatch.setattr(checking, "_compare", lambda *a: (compared.append(name), inner(*a)))
    for table in (None, X[:200]):
        check_reading(n2p.read_network(model), model, table)
    assert len(compared) == 2


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_a_pipeline_with_factors_is_asked_with_the_frame():
    frame = pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 125, "target": Y})
    encode = ColumnTransformer([("b", OneHotEncoder(), ["b"])], remainder="passthrough")
    model = make_pipeline(encode, mlp()).fit(frame[["a", "b"]], Y)
    poly = n2p.convert(model, 1, data=frame)
    assert poly.inputs.columns[1].kind == "factor"
    wrong = n2p.read_network(model)
    wrong = n2p.Network(
        [*wrong.layers[:-1], n2p.Layer(2 * wrong.layers[-1].weights)], inputs=wrong.inputs
    )
    with pytest.raises(UnsupportedModelError, match="does not give"):
        check_reading(wrong, model, frame[:200])


def test_the_model_stays_as_it_was():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(3, 1)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            return self.last(x)

    model, state = Counting().train(), torch.get_rng_state()
    n2p.convert(model, 1, data=X)
    assert model.training
    assert torch.equal(state, torch.get_rng_state())
    assert model.calls == 0


def test_an_exported_program_is_not_run(monkeypatch):
    program = torch.export.export(plain(), (torch.zeros(2, 3),))
    monkeypatch.setattr(type(program), "module", lambda *_: pytest.fail("it was run"))
    assert n2p.convert(program, 1).n_terms == 4


def test_a_graph_with_an_operation_that_the_reader_does_not_know_is_not_run(monkeypatch):
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *_, **__: pytest.fail("it was run"))
    model = onnx_model("Tanh")
    model.graph.node.append(helper.make_node("NonZero", ["x"], ["unused"]))
    check_reading(n2p.read_network(model), model)
    assert onnx.ModelProto.FromString(model.SerializeToString()) == model


# ---- also of files, of streams, after a step, of functions ---------------------------------------


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_files_are_compared(tmp_path, monkeypatch):
    compared = []
    inner = checking._compare
    monkeypatch.setattr(checking, "_compare", lambda *a: (compared.append(1), inner(*a)))
    onnx.save(onnx_model("Tanh"), tmp_path / "model.onnx")
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(tmp_path / "model.keras")
    for name in ("model.onnx", "model.keras"):
        n2p.convert(tmp_path / name, 1, data=X)
    assert len(compared) == 2


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_what_comes_after_a_step_is_compared():
    model = make_pipeline(StandardScaler(), doubled_regressor()).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="does not give"):
        n2p.convert(model, 1, data=X, after="standardscaler")


def test_the_first_rows_of_a_stream_are_compared():
    model = Doubled(nn.Linear(3, 1))
    with pytest.raises(UnsupportedModelError, match="does not give"):
        n2p.convert(model, 1, data=lambda: iter([X[:100], X[100:]]))


def test_a_card_of_a_function_speaks_of_the_model():
    poly = n2p.convert(lambda table: table[:, 0] * table[:, 1], 1, data=X)
    assert "the network" not in str(poly.card)
    assert "Fidelity to the model" in str(poly.card)
    again = type(poly.card).from_dict(poly.card.to_dict())
    assert str(again.verdict) == str(poly.card.verdict)
    assert "the network" in str(n2p.convert(plain(), 1, data=X).card)


def test_rows_with_holes_are_left_out_of_a_function_or_refused():
    table = X.copy()
    table[::9, 1] = np.nan

    def model(rows):
        return np.where(np.isnan(rows[:, 1]), 0.0, rows[:, 0])

    with pytest.raises(n2p.NN2PolyError, match="NaN") as caught:
        n2p.convert(model, 1, data=table)
    assert "skip" in caught.value.remedy
    assert n2p.convert(model, 1, data=table, missing="skip").card.r2 > 0.99
