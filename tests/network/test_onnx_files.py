"""ONNX files that are damaged, hostile or not there lead to errors of nn2poly, nothing else."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import nn2poly as n2p
from nn2poly.errors import NN2PolyError, StorageError, UnsupportedModelError
from nn2poly.network.network import Network
from nn2poly.network.readers.symbolic import limits

RNG = np.random.default_rng(0)
TEXT = """
<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 3]>
g (float[N, 3] x) => (float[N, 2] y)
{
    s = ai.onnx.ml.Scaler <offset = [1.0, 2.0, 3.0], scale = [0.5, 2.0, 4.0]> (x)
    h = Gemm <transB = 1> (s, w, b)
    d = Softplus (h)
    e = Tanh (d)
    f = Mul (h, e)
    r = Reshape (f, shape)
    l = LeakyRelu <alpha = 0.2> (r)
    c = Concat <axis = 1> (l, x)
    m = MatMul (c, v)
    p = Softmax (m)
    y = ai.onnx.ml.ZipMap <classlabels_strings = ["ash", "beech"]> (p)
}
"""
ARRAYS = {
    "w": RNG.normal(size=(4, 3)).astype(np.float32),
    "b": RNG.normal(size=4).astype(np.float32),
    "shape": np.array([-1, 4]),
    "v": RNG.normal(size=(7, 2)),
}


def make_model():
    model = onnx.parser.parse_model(TEXT)
    model.graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in ARRAYS.items())
    return model


@pytest.fixture
def model():
    """A model with parts of most kinds, of which a test may spoil one."""
    return make_model()


def tensor(model, name="w"):
    return next(entry for entry in model.graph.initializer if entry.name == name)


def node(model, op):
    return next(entry for entry in model.graph.node if entry.op_type == op)


def refusal(model, kind):
    with pytest.raises(kind) as caught:
        n2p.read_network(model)
    return caught.value


def test_a_model_its_bytes_and_its_file_are_the_same(model, tmp_path):
    path = tmp_path / "model.ONNX"
    onnx.save(model, path)
    before = model.SerializeToString()
    networks = [n2p.read_network(form) for form in (model, before, path, str(path))]
    assert [repr(network) for network in networks] == [
        "Network(3 → 4 mish → 4 leaky_relu → 2 linear, link=softmax)"
    ] * 4
    X = RNG.normal(size=(5, 3))
    assert all(np.array_equal(n.predict(X), networks[0].predict(X)) for n in networks)
    assert model.SerializeToString() == before


# --- damaged ---------------------------------------------------------------------------------


def damaged(count, seed):
    """Yield the bytes of a real file, cut off, with bits turned over, or with pieces gone."""
    rng, data = np.random.default_rng(seed), make_model().SerializeToString()
    for _ in range(count):
        kind, place = rng.integers(3), rng.integers(len(data))
        copy = bytearray(data)
        if kind == 0:
            del copy[place:]
        elif kind == 1:
            for spot in rng.integers(len(data), size=rng.integers(1, 4)):
                copy[spot] ^= 1 << rng.integers(8)
        else:
            del copy[place : place + rng.integers(1, 20)]
        yield bytes(copy)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bytes_lead_to_an_error_of_ours_or_to_a_network(seed):
    outcomes = set()
    for data in damaged(300, seed):
        try:
            outcomes.add(type(n2p.read_network(data)))
        except NN2PolyError as error:
            outcomes.add(type(error))
    assert outcomes >= {Network, StorageError, UnsupportedModelError}


def spoilt(count, seed):
    """Yield models that are well written, but in which parts were exchanged."""
    rng, whole = np.random.default_rng(seed), make_model()
    ops = [entry.op_type for entry in whole.graph.node] + ["Gather", "Transpose", "Split", "Shape"]
    names = [name for entry in whole.graph.node for name in (*entry.input, *entry.output)]
    sizes = [-(2**63), -1, 0, 1, 2, 3, 5, 2**31, 2**62]
    for _ in range(count):
        model = make_model()
        entry = model.graph.node[rng.integers(len(model.graph.node))]
        stored = model.graph.initializer[rng.integers(len(model.graph.initializer))]
        kind = rng.integers(5)
        if kind == 0:
            entry.op_type = str(rng.choice(ops))
        elif kind == 1:
            entry.input[rng.integers(len(entry.input))] = str(rng.choice(names))
        elif kind == 2:
            entry.input.append(str(rng.choice(names)))
        elif kind == 3:
            stored.dims[rng.integers(len(stored.dims))] = int(rng.choice(sizes))
        else:
            stored.data_type = int(rng.integers(24))
        yield model


def test_models_with_exchanged_parts_lead_to_an_error_of_ours_or_to_a_network():
    outcomes = set()
    for model in spoilt(400, 0):
        try:
            outcomes.add(type(n2p.read_network(model)))
        except NN2PolyError as error:
            outcomes.add(type(error))
    assert outcomes >= {Network, StorageError, UnsupportedModelError}


@pytest.mark.parametrize("data", [b"", b"\x00" * 100, b"hello, world" * 10, b"PK\x03\x04", b"\x80"])
def test_bytes_that_are_no_model_say_so(data):
    assert "not an ONNX model" in refusal(data, StorageError).what


def test_a_tensor_that_declares_more_than_it_holds_is_refused_before_memory_is_taken(model):
    for size in (2**62, 2**31, 5, -1, 0):
        tensor(model).dims[0] = size
        error = refusal(model, StorageError)
        assert error.where == 'tensor "w"'
        assert "(" in error.expected


def test_a_tensor_in_pieces_or_of_many_axes_is_refused(model):
    tensor(model).segment.begin = 0
    assert "segment" in refusal(model, StorageError).found
    tensor(model).ClearField("segment")
    tensor(model).dims.extend([1] * 60)
    refusal(model, StorageError)


def test_a_large_constant_that_the_file_only_names_is_refused(model):
    shape = numpy_helper.from_array(np.array([2**20, 2**20, 2**10]), "sizes")
    model.graph.initializer.append(shape)
    filled = helper.make_node("ConstantOfShape", ["sizes"], ["filled"])
    model.graph.node.insert(0, filled)
    node(model, "Gemm").input[2] = "filled"
    assert "more memory" in refusal(model, UnsupportedModelError).what


def test_a_value_that_doubles_without_end_is_refused(model, monkeypatch):
    monkeypatch.setattr(limits, "available_bytes", lambda: 2**28)  # not all of a machine
    names = ["x", *(f"d{step}" for step in range(60))]
    doubled = [helper.make_node("Concat", [a, a], [b], axis=1) for a, b in pairwise(names)]
    del model.graph.node[:]
    model.graph.node.extend([*doubled, helper.make_node("Tanh", names[-1:], ["y"])])
    assert "more memory" in refusal(model, UnsupportedModelError).what


@pytest.mark.slow
def test_a_layer_too_wide_for_memory_is_refused(model):
    """The weights of a few megabytes would need the square of their number."""
    tensor(model, "w").CopyFrom(numpy_helper.from_array(np.zeros((4_000_000, 3), "f4"), "w"))
    tensor(model, "b").CopyFrom(numpy_helper.from_array(np.zeros(1, "f4"), "b"))
    assert "more memory" in refusal(model, UnsupportedModelError).what


def beside(model, folder, **entries):
    """Write a model whose first weights lie in a file beside it."""
    stored = tensor(model)
    data = stored.raw_data
    stored.ClearField("raw_data")
    stored.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "model.onnx.data", **entries}.items():
        entry = stored.external_data.add()
        entry.key, entry.value = key, str(value)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx", data


def test_weights_beside_the_file_are_read(model, tmp_path):
    expected = n2p.read_network(model)
    length = len(tensor(model).raw_data)
    path, data = beside(model, tmp_path, offset=16, length=length)
    (tmp_path / "model.onnx.data").write_bytes(b"\0" * 16 + data)
    found = n2p.read_network(path)
    np.testing.assert_array_equal(found.layers[0].weights, expected.layers[0].weights)
    assert refusal(model, UnsupportedModelError).found == "external data"


STRANGE = {
    "elsewhere": {"location": "/etc/hostname"},
    "above": {"location": "../model.onnx.data"},
    "below": {"location": "part/model.onnx.data"},
    "absent": {"location": "other.data"},
    "a link": {"location": "link.data"},
    "a folder": {"location": "folder"},
    "too long": {"length": 10**9},
    "beyond the end": {"offset": 10**9},
    "negative": {"offset": -4},
    "another key": {"basepath": "/etc"},
}


@pytest.mark.parametrize("name", STRANGE)
def test_weights_anywhere_else_are_refused(name, model, tmp_path):
    path, data = beside(model, tmp_path, **STRANGE[name])
    (tmp_path / "model.onnx.data").write_bytes(data)
    (tmp_path / "link.data").symlink_to(tmp_path / "model.onnx.data")
    (tmp_path / "folder").mkdir()
    error = refusal(path, StorageError)
    if name != "a folder":
        assert error.what == "The weights beside the file cannot be read."
        assert error.where == str(path)
        assert error.remedy


def test_text_where_numbers_belong_is_refused(model):
    tensor(model, "b").CopyFrom(helper.make_tensor("b", TensorProto.STRING, [4], [b"a"] * 4))
    assert "text" in refusal(model, StorageError).found


def test_quantised_weights_are_refused(model):
    tensor(model).data_type = TensorProto.FLOAT8E4M3FN
    assert "quantisation" in refusal(model, UnsupportedModelError).remedy


def test_sparse_weights_are_refused(model):
    model.graph.sparse_initializer.add()
    assert "sparse" in refusal(model, UnsupportedModelError).what


def test_weights_that_are_not_finite_are_refused(model):
    tensor(model).CopyFrom(numpy_helper.from_array(np.full((4, 3), np.nan, "f4"), "w"))
    assert "NaN" in refusal(model, NN2PolyError).what


def test_a_tensor_that_is_used_before_it_is_made_is_refused(model):
    node(model, "Softplus").input[0] = "m"
    error = refusal(model, StorageError)
    assert error.where == 'node "d" (Softplus)'
    assert '"m"' in error.found


def test_a_tensor_that_is_made_twice_is_refused(model):
    node(model, "Tanh").output[0] = "d"
    assert refusal(model, StorageError).where == 'node "d" (Tanh)'


def test_sizes_that_do_not_fit_are_refused_by_name(model):
    node(model, "MatMul").input[0] = "l"
    error = refusal(model, StorageError)
    assert error.where == 'node "m" (MatMul)'
    assert "(7, 2)" in error.found


def test_labels_that_do_not_match_the_outputs_are_refused(model):
    node(model, "ZipMap").attribute[0].strings.append(b"cedar")
    assert refusal(model, StorageError).found == "3 classes"


def test_names_that_are_not_text_are_refused(model):
    data = model.SerializeToString().replace(b"Softplus", b"Soft\xff\xfe\xfds")
    assert "not text" in refusal(data, StorageError).what


def test_models_of_2017_are_refused(model):
    model.opset_import[0].version = 6
    assert refusal(model, UnsupportedModelError).found == "version 6"


# --- files -----------------------------------------------------------------------------------


def test_a_path_that_is_no_file_says_so(tmp_path):
    (tmp_path / "folder.onnx").mkdir()
    assert refusal(tmp_path / "folder.onnx", StorageError).found == "a folder"
    assert refusal(tmp_path / "none.onnx", StorageError).found == "no such file"
    assert refusal(str(tmp_path / "none.keras"), StorageError).found == "no such file"
    assert refusal("a\0b.onnx", StorageError).what
    assert refusal("x" * 5000 + ".onnx", StorageError).what


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("model.pt", "PyTorch module"),
        ("model.pkl", "if you trust it"),
        ("model.h5", "keras.models.load_model"),
        ("model", "export it to ONNX"),
        ("", "export it to ONNX"),
    ],
)
def test_other_endings_are_refused_with_what_to_do(name, remedy):
    error = refusal(name, UnsupportedModelError)
    assert error.expected == "a path that ends in .onnx or .keras"
    assert remedy in error.remedy


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"hello, world")
    assert refusal(path, StorageError).where == str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "endless.onnx").symlink_to("/dev/zero")
    for name in ("pipe.onnx", "endless.onnx"):
        assert "regular file" in refusal(tmp_path / name, StorageError).expected


def test_a_file_larger_than_the_format_allows_is_not_opened(tmp_path):
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(2**31 + 1)  # sparse: it takes no room
    assert "GB" in refusal(path, StorageError).found


def test_without_the_package_onnx_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import nn2poly as n2p\n"
        "try: n2p.read_network(b'model')\n"
        "except ImportError as error: print(error.remedy)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == 'pip install "nn2poly[onnx]"\n'
