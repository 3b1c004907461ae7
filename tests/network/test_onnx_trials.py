"""ONNX models as exporters write them: read to six digits, or refused with the way out."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, UnsupportedModelError
from nn2poly.network.checking import check_reading

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4)).astype("float32")
CONSTANTS = {
    "W": rng.normal(size=(4, 5)), "V": rng.normal(size=(4, 5)), "U": rng.normal(size=(5, 2)),
    "b": rng.normal(size=5), "half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0, "six": 6.0,
    "zero": 0.0, "root": np.sqrt(2.0), "slopes": rng.uniform(0.1, 0.5, 5), "table": np.eye(3, 5),
}  # fmt: skip


def model(*steps, outputs=("y",), width=4, opset=20):
    """Make a model of lines such as ``"h = Gemm x W b"``."""
    nodes, used = [], set()
    for step in steps:
        made, _, rest = step.partition(" = ")
        op, *inputs = rest.split()
        attributes = dict(part.split(":") for part in inputs if ":" in part)
        given = [name for name in inputs if ":" not in name]
        used |= set(given)
        options = {k: int(v) if v.lstrip("-").isdigit() else v for k, v in attributes.items()}
        nodes.append(helper.make_node(op, given, made.split(","), **options))
    weights = [
        numpy_helper.from_array(np.asarray(value, "float32"), name)
        for name, value in CONSTANTS.items()
        if name in used
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", width))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def hidden(*steps):
    """Put steps from h to a between two layers."""
    return model("h = Gemm x W b", *steps, "y = MatMul a U")


def run(proto, table=None, place=0):
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    return session.run(None, {"x": X if table is None else table})[place]


READ = {
    "Erf-gelu": lambda: hidden(
        "s = Div h root", "e = Erf s", "p = Add e one", "q = Mul h p", "a = Mul q half"
    ),
    "Erfc-gelu": lambda: hidden(
        "n = Neg h", "s = Div n root", "e = Erf s", "p = Sub one e", "q = Mul half h", "a = Mul q p"
    ),
    "HardSwish": lambda: hidden("a = HardSwish h"),
    "HardSwish by hand": lambda: hidden(
        "s = Add h three", "c = Clip s zero six", "p = Mul h c", "a = Div p six"
    ),
    "HardSwish by HardSigmoid": lambda: hidden("s = HardSigmoid h", "a = Mul h s"),
    "PRelu per channel": lambda: hidden("a = PRelu h slopes"),
    "SiLU": lambda: hidden("s = Sigmoid h", "a = Mul h s"),
    "learned swish": lambda: hidden("z = Mul h slopes", "s = Sigmoid z", "a = Mul h s"),
    "Mish": lambda: hidden("s = Softplus h", "t = Tanh s", "a = Mul h t"),
    "Abs": lambda: hidden("a = Abs h"),
    "Cos": lambda: hidden("a = Cos h"),
    "Erf alone": lambda: hidden("a = Erf h"),
    "Sqrt of a square": lambda: hidden("q = Mul h h", "p = Add q one", "a = Sqrt p"),
    "square": lambda: hidden("a = Pow h two"),
    "cube": lambda: hidden("a = Pow h three"),
    "relu squared": lambda: hidden("r = Relu h", "a = Mul r r"),
    "reciprocal": lambda: hidden("e = Exp h", "p = Add e one", "a = Reciprocal p"),
    "Max of two": lambda: model("a = MatMul x W", "b2 = MatMul x V", "y = Max a b2"),
    "Min of two": lambda: model("a = MatMul x W", "b2 = MatMul x V", "y = Min a b2"),
    "product": lambda: model("a = MatMul x W", "b2 = MatMul x V", "y = Mul a b2"),
    "gate": lambda: model(
        "a = MatMul x W", "b2 = MatMul x V", "s = Sigmoid b2", "p = Mul a s", "y = MatMul p U"
    ),
    "residual": lambda: hidden("t = Tanh h", "a = Add t h"),
    "softsign by hand": lambda: hidden("m = Abs h", "p = Add m one", "a = Div h p"),
    "Celu": lambda: hidden("a = Celu h"),
    "Selu": lambda: hidden("a = Selu h"),
    "Softplus": lambda: hidden("a = Softplus h"),
    "Clip": lambda: hidden("a = Clip h zero six"),
    "Sub and Neg": lambda: hidden("n = Neg h", "s = Sub n one", "a = Tanh s"),
    "Dropout": lambda: hidden("d = Dropout h", "a = Relu d"),
    "Flatten": lambda: hidden("f = Flatten h", "a = Elu f"),
}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_to_six_digits(name):
    proto = READ[name]()
    network = n2p.read_network(proto)
    expected = run(proto)
    found = network.predict(X).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * max(1, np.abs(expected).max()))
    check_reading(network, proto, X)
    check_reading(network, proto)


def test_a_column_that_is_looked_up_is_a_factor():
    proto = model(
        "i = Cast x to:7", "g = Gather table i", "f = Flatten g", "t = Tanh f", "y = MatMul t U",
        width=1,
    )  # fmt: skip
    table = rng.integers(3, size=(30, 1)).astype("float32")
    network = n2p.read_network(proto)
    assert network.inputs.columns[0].kind == "factor"
    np.testing.assert_allclose(network.predict(table), run(proto, table), atol=1e-6)


def test_one_of_several_outputs_is_chosen(tmp_path):
    proto = model("mean = MatMul x W", "spread = MatMul x V", outputs=("mean", "spread"))
    for output in ("spread", 1):
        network = n2p.read_network(proto, output=output)
        np.testing.assert_allclose(network.predict(X), run(proto, place=1), atol=1e-5)
    path = tmp_path / "two.onnx"
    onnx.save(proto, path)
    assert n2p.read_network(path, output="mean").n_outputs == 5
    with pytest.raises(InvalidInputError, match="no such output"):
        n2p.read_network(proto, output="variance")


FRAME = pd.DataFrame(
    {
        "age": rng.normal(size=80),
        "kind": rng.choice(["a", "b", "c"], 80),
        "number": rng.choice([10, 20, 30], 80),
    }
)
TYPES = {"kind": StringTensorType, "number": Int64TensorType}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("columns", [["kind"], ["number"], ["kind", "number"]])
def test_what_skl2onnx_writes_of_one_hot_columns_is_read(columns):
    encode = ColumnTransformer(
        [("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(handle_unknown="ignore"), columns)]
    )
    network = MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", max_iter=5, random_state=0)
    pipeline = make_pipeline(encode, network).fit(FRAME[["age", *columns]], FRAME["age"])
    types = [("age", FloatTensorType([None, 1]))]
    types += [(name, TYPES[name]([None, 1])) for name in columns]
    read = n2p.read_network(to_onnx(pipeline, initial_types=types))
    assert [c.kind for c in read.inputs.columns] == ["number", *["factor"] * len(columns)]
    expected = pipeline.predict(FRAME[["age", *columns]])
    np.testing.assert_allclose(read.predict(FRAME), expected, atol=1e-5)


# What is refused, and a word of the reason.
REFUSED = {
    "quotient": (
        lambda: model("a = MatMul x W", "b2 = MatMul x V", "y = Div a b2"), "divides"),
    "softmax inside": (lambda: hidden("a = Softmax h"), "link"),
    "LayerNormalization": (lambda: hidden("a = LayerNormalization h slopes"), "norm"),
    "TopK": (lambda: hidden("a = ReduceMax h"), "not part"),
    "Round": (lambda: hidden("a = Round h"), "not part"),
    "Where of two": (
        lambda: hidden("g = Greater h zero", "a = Where g h b"), "cannot be read"),
    "over the batch": (lambda: hidden("m = Transpose h", "a = Softmax m"), "cannot be read"),
    "power of values": (
        lambda: model("a = MatMul x W", "b2 = MatMul x V", "y = Pow a b2"), "constant"),
    "recurrent": (lambda: model("y = GRU x W V"), "recurrent"),
    "CumSum": (lambda: hidden("a = CumSum h one"), "not part"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_reason_and_the_way_out(name):
    make, reason = REFUSED[name]
    with pytest.raises(UnsupportedModelError, match=reason) as caught:
        n2p.read_network(make())
    assert "node" in caught.value.where
    assert caught.value.remedy
