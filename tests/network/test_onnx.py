"""ONNX operations against onnxruntime: every form that is read, and what is refused."""

import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import nn2poly as n2p
from nn2poly.errors import UnsupportedModelError
from nn2poly.links import probabilities
from nn2poly.network.activations import activation

RNG = np.random.default_rng(0)
W, W2, BIAS = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2)), RNG.normal(size=4)
# Constants that the bodies below may use, by name.
FLOATS = {
    "w": W,
    "wt": W.T.copy(),
    "w2": W2,
    "vector": BIAS,
    "b": BIAS,
    "row": BIAS[None, :],
    "v": W2[:2],
    "three": np.array([0.5, -1.0, 2.0]),
    "positive": np.array([0.5, 1.5, 2.0, 3.0]),
    "half": np.array(0.5),
    "one": np.array(1.0),
    "two": np.array(2.0),
    "cubed": np.array(3.0),
    "low": np.array(-0.3),
    "high": np.array(0.6),
    "root2": np.sqrt(2.0),
    "cubic": np.array(0.044715),
    "root": np.sqrt(2.0 / np.pi),
    "slope": np.array([0.2]),
    "twenty": np.array(20.0),
    "quick": np.array(1.702),
}
INTEGERS = {
    "i0": [0],
    "i1": [1],
    "i2": [2],
    "i3": [3],
    "far": [2**63 - 1],
    "order": [3, 0, 2],
    "nested": [[3], [0], [2]],
    "keep": [0, -1],
    "wide": [-1, 4],
    "cube": [0, 2, 2],
    "twos": [-1, 2, 2],
    "flat": [-1],
    "i33": [3, 3],
    "sizes": [1, 3],
    "minus1": [-1],
}


def model_of(body, *, opset=20, inputs="float[N, 3] x", outputs="float[N, M] y", dtype=np.float32):
    """Make a model from ONNX's own text, with the constants that it names."""
    imports = f'["" : {opset}, "ai.onnx.ml" : 3, "other" : 1]'
    head = f"<ir_version: 10, opset_import: {imports}> g ({inputs}) => ({outputs})"
    model = onnx.parser.parse_model(f"{head} {{ {body} }}")
    used = {name for node in model.graph.node for name in node.input}
    made = {name for node in model.graph.node for name in node.output}
    arrays = {name: np.asarray(value, dtype) for name, value in FLOATS.items()}
    arrays |= {name: np.asarray(value, np.int64) for name, value in INTEGERS.items()}
    tensors = [
        numpy_helper.from_array(array, name)
        for name, array in arrays.items()
        if name in used - made
    ]
    model.graph.initializer.extend(tensors)
    return model


def run(model, X):
    """Give the outputs that onnxruntime computes, by name."""
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {session.get_inputs()[0].name: X}), strict=True))


def rows(n_features=3, n=7, dtype=np.float32, seed=1):
    return (2.0 * np.random.default_rng(seed).normal(size=(n, n_features))).astype(dtype)


def follow(model, X=None, tolerance=2e-6):
    """Check that the network gives what onnxruntime gives, and return the network."""
    network = n2p.read_network(model)
    X = rows(network.n_features) if X is None else X
    expected = np.asarray(list(run(model, X).values())[-1], dtype=float).reshape(len(X), -1)
    found = network.predict(X.reshape(len(X), -1)).reshape(len(X), -1)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 10)
    return network


def names_of(network):
    return [layer.activation.name for layer in network.layers]


# --- forms of operations ---------------------------------------------------------------------

AFFINE = {
    "Gemm": "y = Gemm (x, w, b)",
    "Gemm with all attributes": "y = Gemm <alpha = 0.5, beta = 2.0, transB = 1> (x, wt, row)",
    "Gemm without bias": "y = Gemm (x, w)",
    "Gemm with a scalar bias": "y = Gemm (x, w, half)",
    "Gemm with a residual": "h = MatMul (x, w) y = Gemm <beta = 0.5> (x, w, h)",
    "MatMul and Add": "h = MatMul (x, w) y = Add (h, b)",
    "Add on the left": "h = MatMul (x, w) y = Add (row, h)",
    "MatMul by a vector": "y = MatMul (x, three)",
    "MatMul of groups of columns": "h = MatMul (x, w) c = Reshape (h, twos) g = MatMul (c, v)"
    " y = Flatten (g)",
    "Sub of a constant": "y = Sub (x, three)",
    "Sub from a constant": "y = Sub (three, x)",
    "Mul on both sides": "h = Mul (x, three) y = Mul (half, h)",
    "Div": "y = Div (x, three)",
    "Neg": "y = Neg (x)",
    "Sum of three": "y = Sum (x, x, three)",
    "wider by a sum": "h = MatMul (x, three) g = Unsqueeze (h, i1) y = Add (g, b)",
    "BatchNormalization": "h = MatMul (x, w)"
    " y = BatchNormalization <epsilon = 0.01> (h, b, vector, b, positive)",
    "Dropout, Identity, Cast": "a = Dropout (x) b1 = Identity (a) y = Cast <to = 1> (b1)",
    "CastLike": "y = CastLike (x, half)",
    "Flatten": "h = Flatten (x) y = MatMul (h, w)",
    "Flatten from the end": "h = Flatten <axis = -1> (x) y = MatMul (h, w)",
    "Reshape by a size": "h = MatMul (x, w) y = Reshape (h, wide)",
    "Reshape by zero": "y = Reshape (x, keep)",
    "Reshape and back": "h = MatMul (x, w) c = Reshape (h, cube) y = Flatten (c)",
    "Reshape by a shape": "s = Shape <end = 1> (x) t = Concat <axis = 0> (s, minus1)"
    " y = Reshape (x, t)",
    "Reshape by gathered sizes": "s = Shape (x) n = Gather (s, i0) t = Concat <axis = 0> (n, flat)"
    " y = Reshape (x, t)",
    "Squeeze and Unsqueeze": "h = Unsqueeze (x, i1) g = Squeeze (h, i1) y = MatMul (g, w)",
    "Squeeze of every 1": "h = Unsqueeze (x, i2) g = Squeeze (h) y = MatMul (g, w)",
    "Transpose of a constant": "t = Transpose (wt) y = MatMul (x, t)",
    "Transpose of the features": "h = MatMul (x, w) c = Reshape (h, cube)"
    " t = Transpose <perm = [0, 2, 1]> (c) y = Flatten (t)",
    "Concat": "h = MatMul (x, w) y = Concat <axis = 1> (h, x)",
    "Concat from the end": "h = MatMul (x, w) y = Concat <axis = -1> (x, h, x)",
    "Slice": "h = MatMul (x, w) y = Slice (h, i1, i3, i1)",
    "Slice to the end": "h = MatMul (x, w) y = Slice (h, i1, far, minus1)",
    "Slice of all rows": "h = Slice (x, i0, far, i0) y = MatMul (h, w)",
    "Slice backwards": "h = MatMul (x, w) y = Slice (h, i3, i0, i1, minus1)",
    "Gather": "h = MatMul (x, w) y = Gather <axis = 1> (h, order)",
    "GatherND between transposes": "h = MatMul (x, w) t = Transpose <perm = [1, 0]> (h)"
    " g = GatherND (t, nested) y = Transpose <perm = [1, 0]> (g)",
    "ArrayFeatureExtractor": "h = MatMul (x, w) y = ai.onnx.ml.ArrayFeatureExtractor (h, order)",
    "Split by sizes": "h = MatMul (x, w) p, q = Split <axis = 1> (h, sizes)"
    " y = Concat <axis = 1> (q, p)",
    "Split in halves": "h = MatMul (x, w) p, q = Split <axis = 1, num_outputs = 2> (h)"
    " y = Sub (p, q)",
    "Constant": "c = Constant <value_floats = [1.0, 2.0, 3.0]> () y = Add (x, c)",
    "Constant of one number": "c = Constant <value_float = 2.5> () y = Mul (x, c)",
    "ConstantOfShape": "c = ConstantOfShape <value = float[1] {2.0}> (i3) y = Mul (x, c)",
    "the largest constant": "c = Max (half, two, one) y = Mul (x, c)",
    "constants computed": "c = Sqrt (two) d = Div (one, c) y = Mul (x, d)",
    "Scaler": "y = ai.onnx.ml.Scaler <offset = [1.0, 2.0, 3.0], scale = [0.5, 2.0, 4.0]> (x)",
    "Scaler by one number": "y = ai.onnx.ml.Scaler <offset = [1.0], scale = [0.5]> (x)",
}


@pytest.mark.parametrize("body", AFFINE.values(), ids=AFFINE)
def test_affine_operations_fold_into_one_layer(body):
    outputs = "float[N] y" if body == AFFINE["MatMul by a vector"] else "float[N, M] y"
    network = follow(model_of(body, outputs=outputs))
    assert names_of(network) == ["linear"]


SINGLE = {
    "Tanh": ("y = Tanh (h)", "tanh"),
    "Relu": ("y = Relu (h)", "relu"),
    "LeakyRelu": ("y = LeakyRelu <alpha = 0.2> (h)", "leaky_relu"),
    "LeakyRelu by default": ("y = LeakyRelu (h)", "leaky_relu"),
    "PRelu": ("y = PRelu (h, slope)", "leaky_relu"),
    "PRelu with a slope per neuron": ("y = PRelu (h, b)", "relu"),
    "Elu": ("y = Elu <alpha = 0.5> (h)", "elu"),
    "Selu": ("y = Selu (h)", "selu"),
    "Selu with its own numbers": ("y = Selu <alpha = 1.5, gamma = 1.2> (h)", "elu"),
    "Celu": ("y = Celu <alpha = 2.0> (h)", "celu"),
    "Softplus": ("y = Softplus (h)", "softplus"),
    "Softsign": ("y = Softsign (h)", "softsign"),
    "Gelu": ("y = Gelu (h)", "gelu"),
    "Gelu by tanh": ('y = Gelu <approximate = "tanh"> (h)', "gelu_tanh"),
    "HardSigmoid": ("y = HardSigmoid (h)", "hard_tanh"),
    "HardSigmoid of PyTorch": ("y = HardSigmoid <alpha = 0.16666667> (h)", "hard_sigmoid"),
    "Mish": ("y = Mish (h)", "mish"),
    "Atan": ("y = Atan (h)", "arctan"),
    "Sin": ("y = Sin (h)", "sin"),
    "Exp": ("y = Exp (h)", "exp"),
    "Clip": ("y = Clip (h, low, high)", "hard_tanh"),
    "Clip from below": ("y = Clip (h, low)", "relu"),
    "Clip from above": ("y = Clip (h, , high)", "relu"),
    "Max": ("y = Max (h, low)", "relu"),
    "Max of a vector": ("y = Max (b, h)", "relu"),
    "Max of two constants": ("y = Max (low, h, half)", "relu"),
    "Min": ("y = Min (high, h)", "relu"),
}


@pytest.mark.parametrize(("body", "name"), SINGLE.values(), ids=SINGLE)
def test_activations_are_layers(body, name):
    network = follow(model_of(f"h = Gemm (x, w, b) {body}"))
    assert names_of(network)[0] == name


SPELT_OUT = {
    "GELU": (
        "d = Div (h, root2) e = Erf (d) f = Add (e, one) g = Mul (h, f) y = Mul (g, half)",
        "gelu",
    ),
    "GELU, other order": (
        "d = Div (h, root2) e = Erf (d) f = Add (one, e) g = Mul (half, f) y = Mul (h, g)",
        "gelu",
    ),
    "GELU, half first": (
        "a = Mul (h, half) d = Div (h, root2) e = Erf (d) f = Add (e, one) y = Mul (a, f)",
        "gelu",
    ),
    "GELU by tanh": (
        "a = Pow (h, cubed) c = Mul (a, cubic) d = Add (h, c) e = Mul (d, root) f = Tanh (e)"
        " g = Add (f, one) i = Mul (g, half) y = Mul (h, i)",
        "gelu_tanh",
    ),
    "SiLU": ("s = Sigmoid (h) y = Mul (h, s)", "silu"),
    "SiLU, other order": ("s = Sigmoid (h) y = Mul (s, h)", "silu"),
    "SiLU from exponentials": (
        "n = Neg (h) e = Exp (n) f = Add (one, e) y = Div (h, f)",
        "silu",
    ),
    "SiLU with a rate": ("m = Mul (h, quick) s = Sigmoid (m) y = Mul (h, s)", "silu"),
    "Mish": ("s = Softplus (h) t = Tanh (s) y = Mul (h, t)", "mish"),
    "Mish through casts": (
        "a = Cast <to = 1> (h) s = Softplus (a) c = Cast <to = 1> (s) t = Tanh (c) y = Mul (a, t)",
        "mish",
    ),
    "log-sigmoid": ("s = Sigmoid (h) y = Log (s)", "log_sigmoid"),
    "softsign": ("a = Abs (h) c = Add (a, one) y = Div (h, c)", "softsign"),
    "softplus with a threshold": (
        "m = Mul (h, two) s = Softplus (m) d = Div (s, two) g = Greater (m, twenty)"
        " y = Where (g, h, d)",
        "softplus",
    ),
    "sigmoid from an exponential": (
        "n = Neg (h) e = Exp (n) f = Add (one, e) y = Div (one, f)",
        "sigmoid",
    ),
}


@pytest.mark.parametrize(("body", "name"), SPELT_OUT.values(), ids=SPELT_OUT)
def test_activations_that_exporters_spell_out_are_recognised(body, name):
    network = follow(model_of(f"h = Gemm (x, w, b) {body}"))
    assert names_of(network)[0] == name
    assert len(network.layers) <= 2


def test_a_spelt_out_activation_leaves_no_layers_of_its_parts():
    body = "h = Tanh (x) s = Sigmoid (h) g = Mul (h, s) y = MatMul (g, w)"
    assert names_of(follow(model_of(body))) == ["tanh", "silu", "linear"]


def test_relu6_keeps_its_name():
    body = "z = Constant <value_float = 0.0> () s = Constant <value_float = 6.0> ()"
    assert names_of(follow(model_of(f"{body} y = Clip (x, z, s)"))) == ["relu6"]


def test_clip_to_the_largest_number_has_no_upper_end():
    body = "z = Constant <value_float = 0.0> () s = Constant <value_float = 3.4028235e38> ()"
    assert names_of(follow(model_of(f"{body} y = Clip (x, z, s)"))) == ["relu"]


def test_parameters_are_the_decimals_that_were_written():
    network = n2p.read_network(model_of("y = LeakyRelu <alpha = 0.2> (x)"))
    assert network.layers[0].activation == activation("leaky_relu", negative_slope=0.2)


def test_residual_sums_are_skips():
    body = "h = Gemm (x, w, b) t = Tanh (h) g = Add (t, h) s = Relu (g) y = Add (s, t)"
    network = follow(model_of(body))
    assert names_of(network) == ["tanh", "relu", "linear"]
    assert [sorted(layer.skips) for layer in network.layers] == [[], [0], [1]]


OLD = {
    "Clip by attributes": ("y = Clip <min = -0.5, max = 0.5> (x)", 9),
    "Squeeze by attributes": ("h = Unsqueeze <axes = [1]> (x) y = Squeeze <axes = [1]> (h)", 11),
    "Slice by attributes": ("y = Slice <starts = [1], ends = [3], axes = [1]> (x)", 9),
    "Slice of the first axes": ("y = Slice <starts = [0, 1], ends = [9999999999, 3]> (x)", 9),
    "Split by attributes": (
        "p, q = Split <axis = 1, split = [1, 2]> (x) y = Concat <axis = 1> (q, p)",
        11,
    ),
}


@pytest.mark.parametrize(("body", "opset"), OLD.values(), ids=OLD)
def test_older_versions_of_operators(body, opset):
    follow(model_of(body, opset=opset))


def test_swish_of_the_newest_version_is_silu():
    assert names_of(follow(model_of("y = Swish <alpha = 1.5> (x)", opset=24)))[0] == "silu"


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
def test_weights_of_every_float_type_are_read_exactly(name, raw):
    kind = getattr(TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper()))
    values = [0.5, -1.25, 3.0]  # exact in every type
    tensor = helper.make_tensor("weights", kind, [3, 1], values)
    if raw:
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        tensor = helper.make_tensor(
            "weights", kind, [3, 1], np.array(values, dtype).tobytes(), raw=True
        )
    model = model_of("c = Cast <to = 1> (weights) y = MatMul (x, c)")
    model.graph.initializer.append(tensor)
    assert np.array_equal(n2p.read_network(model).layers[0].weights[:, 0], values)


def test_a_float64_model_is_read_to_the_last_digit():
    body = "h = Gemm (x, w, b) t = Tanh (h) y = MatMul (t, w2)"
    model = model_of(body, inputs="double[N, 3] x", outputs="double[N, M] y", dtype=np.float64)
    network = follow(model, rows(dtype=np.float64), tolerance=1e-13)
    assert np.array_equal(network.layers[0].weights, W)
    assert np.array_equal(network.layers[0].bias, BIAS)
    assert np.array_equal(network.layers[1].weights, W2)


def test_a_fixed_number_of_rows_does_not_bind():
    model = model_of("h = Reshape (x, wide2) y = Tanh (h)", inputs="float[2, 2, 3] x")
    model.graph.initializer.append(numpy_helper.from_array(np.array([2, 6]), "wide2"))
    network = follow(model, rows(6, n=2).reshape(2, 2, 3))
    assert network.predict(rows(6, n=9)).shape == (9, 6)


# --- coordinates, inputs, outputs ------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "s = ai.onnx.ml.Scaler <offset = [1.0, 2.0, 3.0], scale = [0.5, 2.0, 4.0]> (x)",
        "c = Constant <value_floats = [1.0, 2.0, 3.0]> ()"
        " d = Constant <value_floats = [2.0, 0.5, 0.25]> () a = Sub (x, c) s = Div (a, d)",
        "c = Constant <value_floats = [-0.5, -4.0, -12.0]> ()"
        " d = Constant <value_floats = [0.5, 2.0, 4.0]> () a = Mul (x, d) s = Add (a, c)",
    ],
    ids=["Scaler", "Sub and Div", "Mul and Add"],
)
def test_a_leading_scaler_gives_the_working_coordinates(body):
    network = follow(model_of(f"{body} h = MatMul (s, w) y = Tanh (h)"))
    assert np.array_equal(network.center, [1.0, 2.0, 3.0])
    assert np.array_equal(network.scale, [2.0, 0.5, 0.25])
    np.testing.assert_allclose(network.layers[0].weights, W.astype(np.float32), rtol=1e-15)
    assert not network.layers[0].bias.any()


def test_a_scaler_of_some_columns_gives_the_coordinates_of_those():
    body = (
        "p = Slice (x, i1, i3, i1) q = Slice (x, i0, i1, i1)"
        " s = ai.onnx.ml.Scaler <offset = [5.0, 6.0], scale = [0.5, 0.25]> (p)"
        " c = Concat <axis = 1> (s, q) h = MatMul (c, w) y = Tanh (h)"
    )
    network = follow(model_of(body))
    assert np.array_equal(network.center, [0.0, 5.0, 6.0])
    assert np.array_equal(network.scale, [1.0, 2.0, 4.0])


def test_several_inputs_are_features_with_their_names():
    inputs = "float[N, 1] age, float[N, 2] size"
    model = model_of("c = Concat <axis = 1> (size, age) y = MatMul (c, w)", inputs=inputs)
    network = n2p.read_network(model)
    assert network.feature_names == ("age", "size_0", "size_1")
    X = rows()
    np.testing.assert_allclose(
        network.predict(X), X[:, [1, 2, 0]] @ W.astype(np.float32), rtol=1e-5
    )


@pytest.mark.parametrize(
    "body",
    ["y = MatMul (x, w)", "a = Cast <to = 1> (x) y = Gemm <transB = 1> (a, wt)"],
    ids=["MatMul", "Gemm"],
)
def test_the_number_of_features_is_found_in_the_weights_when_it_is_not_declared(body):
    assert follow(model_of(body, inputs="float[N, P] x"), rows()).n_features == 3


@pytest.mark.parametrize(
    ("tail", "link"),
    [
        ("y = Softmax (h)", "softmax"),
        ("y = Softmax <axis = 1> (h)", "softmax"),
        ("y = Sigmoid (h)", "sigmoid"),
        ("s = Sigmoid (h) y = Identity (s)", "sigmoid"),
        ("c = Cast <to = 11> (h) s = Softmax (c) y = Cast <to = 1> (s)", "softmax"),
    ],
)
def test_a_final_softmax_or_sigmoid_is_the_link(tail, link):
    model = model_of(f"h = Gemm (x, w, b) {tail}")
    network, X = n2p.read_network(model), rows()
    assert (network.link, names_of(network)) == (link, ["linear"])
    found = probabilities(network.predict(X), link)
    np.testing.assert_allclose(found, run(model, X)["y"], atol=1e-6)


def test_log_softmax_is_the_link_too():
    network = n2p.read_network(model_of("h = Gemm (x, w, b) y = LogSoftmax (h)"))
    assert (network.link, names_of(network)) == ("softmax", ["linear"])


def test_a_sigmoid_inside_is_an_activation():
    network = follow(model_of("h = Sigmoid (x) y = MatMul (h, w)"))
    assert (network.link, names_of(network)) == ("identity", ["sigmoid", "linear"])


def test_a_sigmoid_that_is_squeezed_is_still_the_link():
    body = "h = MatMul (x, three) g = Unsqueeze (h, i1) s = Sigmoid (g) y = Squeeze (s, i1)"
    network = n2p.read_network(model_of(body, outputs="float[N] y"))
    assert (network.link, network.n_outputs) == ("sigmoid", 1)


@pytest.mark.parametrize("axis", [1, -1])
def test_the_label_of_the_largest_output_reads_as_softmax(axis):
    body = f"h = Gemm (x, w, b) y = ArgMax <axis = {axis}> (h)"
    network = n2p.read_network(model_of(body, outputs="int64[N, 1] y"))
    assert (network.link, network.n_outputs) == ("softmax", 4)


def test_labels_come_from_a_label_encoder():
    body = (
        "h = Gemm (x, w, b) a = ArgMax <axis = 1> (h) y = ai.onnx.ml.LabelEncoder"
        ' <keys_int64s = [1, 0, 2, 3], values_strings = ["b", "a", "c", "d"]> (a)'
    )
    network = n2p.read_network(model_of(body, outputs="string[N, 1] y"))
    assert network.classes == network.output_names == ("a", "b", "c", "d")


def test_logits_and_probabilities_together_are_one_network():
    body = "h = Gemm (x, w, b) y = Softmax (h)"
    network = n2p.read_network(model_of(body, outputs="float[N, 4] h, float[N, 4] y"))
    assert network.link == "softmax"


# --- what is refused -------------------------------------------------------------------------

REFUSED = {
    "a convolution": ("y = Conv (x, w)", "Conv", "convolution"),
    "a recurrent layer": ("y = LSTM (x, w, w)", "LSTM", "recurrent"),
    "LayerNormalization": ("y = LayerNormalization (x, three)", "LayerNormalization", "affine"),
    "attention": (
        "t = Transpose <perm = [1, 0]> (x) y = MatMul (x, t)",
        "MatMul",
        "product of two values",
    ),
    "softmax inside": ("h = Softmax (x) y = MatMul (h, w)", "Softmax", "at the end"),
    "transA": ("y = Gemm <transA = 1> (x, w)", "Gemm", "across the rows"),
    "weights on the left": ("y = MatMul (wt, x)", "MatMul", "a constant stands"),
    "rows in a column": ("y = Reshape (x, flat)", "Reshape", "loses the rows"),
    "rows flattened": ("y = Flatten <axis = 0> (x)", "Flatten", "rows"),
    "rows selected": ("y = Slice (x, i0, i2, i0)", "Slice", "rows"),
    "rows gathered": ("y = Gather (x, i0)", "Gather", "rows"),
    "rows stacked": ("y = Concat <axis = 0> (x, x)", "Concat", "rows"),
    "rows split": ("y, q = Split <num_outputs = 2> (x)", "Split", "rows"),
    "a normalisation in training": (
        "y = BatchNormalization <training_mode = 1> (x, three, three, three, three)",
        "BatchNormalization",
        "training mode",
    ),
    "an inadmissible parameter": ("y = Celu <alpha = -1.0> (x)", "Celu", "alpha"),
    "a sum over features": ("y = ReduceSum (x, i1)", "ReduceSum", "not part of a dense network"),
    "the largest ones": ("y, q = TopK (x, i2)", "TopK", "not part of a dense network"),
    "Normalizer": ("y = ai.onnx.ml.Normalizer (x)", "ai.onnx.ml.Normalizer", "norm"),
    "an Imputer of numbers": (
        "y = ai.onnx.ml.Imputer <imputed_value_floats = [1.0], replaced_value_float = 0.0> (x)",
        "ai.onnx.ml.Imputer",
        "replaces",
    ),
    "another domain": ("y = other.Gelu (x)", "other.Gelu", "not part of a dense network"),
}


@pytest.mark.parametrize(("body", "op", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_dense_network_is_refused_by_name(body, op, reason):
    model = model_of(body)
    next(n for n in model.graph.node if op.endswith(n.op_type)).name = "the culprit"
    with pytest.raises(UnsupportedModelError, match=re.escape(op)) as caught:
        n2p.read_network(model)
    assert caught.value.where in {f'node "the culprit" ({op})', f'node "y" ({op})'}
    assert reason in caught.value.what
    assert caught.value.remedy


COUNTED = {
    "divided by their number": "s = Shape <end = 1> (x) f = Cast <to = 1> (s) y = Div (x, f)",
    "the first three": "y = Slice (x, i0, i3, i0)",
    "three of them": "y = Reshape (x, i33)",
}


@pytest.mark.parametrize("body", COUNTED.values(), ids=COUNTED)
def test_outputs_that_depend_on_the_number_of_rows_are_refused(body):
    with pytest.raises(UnsupportedModelError, match="depend on the number of rows") as caught:
        n2p.read_network(model_of(body))
    assert caught.value.remedy


def test_control_flow_is_refused_by_name():
    branch = onnx.parser.parse_graph("b () => (float[N, 3] z) { z = Identity (x) }")
    model = model_of("y = Identity (x)")
    node = helper.make_node("If", ["c"], ["y"], "the culprit", then_branch=branch)
    model.graph.node[0].CopyFrom(node)
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
    with pytest.raises(UnsupportedModelError, match="control flow") as caught:
        n2p.read_network(model)
    assert caught.value.where == 'node "the culprit" (If)'


def test_functions_of_the_file_are_refused_by_name():
    text = (
        '<ir_version: 10, opset_import: ["" : 20, "own" : 1]> g (float[N, 3] x) => (float[N, 3] y)'
        '{ y = own.twice (x) } <domain: "own", opset_import: ["" : 20]>'
        " twice (a) => (b) { b = Add (a, a) }"
    )
    model = onnx.parser.parse_model(text)
    with pytest.raises(UnsupportedModelError, match=r"own\.twice") as caught:
        n2p.read_network(model)
    assert "inline_local_functions" in caught.value.remedy
    from onnx import inliner

    assert n2p.read_network(inliner.inline_local_functions(model)).n_features == 3


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("string[N, 3] x", "not a table of numbers"),
        ("float[3] x", "number of features is not known"),
        ("float[N, A, B] x", "number of features is not known"),
        ("float[N, 1152921504606846976] x", "more memory than there is"),
        ("float[N, 3000000] x", "more memory than there is"),
    ],
)
def test_inputs_that_are_no_table_are_refused(inputs, message):
    with pytest.raises(UnsupportedModelError, match=message):
        n2p.read_network(model_of("y = Tanh (x)", inputs=inputs))


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("y = Tanh (x) z = Relu (x)", "float[N, 3] y, float[N, 3] z"),
        ("h = Softmax (x) y = Slice (h, i1, i2, i1)", "float[N, 1] y"),
    ],
    ids=["two outputs", "one probability"],
)
def test_several_outputs_and_parts_of_them_are_refused(body, outputs):
    with pytest.raises(UnsupportedModelError, match="several outputs") as caught:
        n2p.read_network(model_of(body, outputs=outputs))
    assert 'output "y"' in caught.value.where


def test_outputs_that_do_not_depend_on_the_inputs_are_refused():
    with pytest.raises(UnsupportedModelError, match="does not depend"):
        n2p.read_network(model_of("y = Neg (three) z = Neg (x)"))
