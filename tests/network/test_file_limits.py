"""Small files take little memory: sizes are told before anything is made of them."""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, NN2PolyError, StorageError, UnsupportedModelError
from nn2poly.memory import FILE_MEMORY, file_allowance

h5py = pytest.importorskip("h5py")
DENSE = {
    "module": "keras.layers",
    "class_name": "Dense",
    "registered_name": None,
    "build_config": {"input_shape": [None, 3]},
    "config": {"name": "dense", "units": 2, "activation": "linear"},
}
MODEL = {
    "module": "keras",
    "class_name": "Sequential",
    "registered_name": None,
    "config": {"name": "model", "layers": [DENSE]},
}


def keras_file(path, config=MODEL, fill=None, compression=zipfile.ZIP_STORED):
    """Write a .keras file whose weights ``fill`` puts into an HDF5 file."""
    weights = io.BytesIO()
    with h5py.File(weights, "w") as file:
        if fill is not None:
            fill(file)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("metadata.json", "{}")
        archive.writestr("model.weights.h5", weights.getvalue())
    return path


def external(file):
    file.create_dataset("a", shape=(8,), dtype="u1", external=[("/etc/hostname", 0, 8)])


def linked(file):
    file["a"] = h5py.ExternalLink("/etc/hostname", "/")


def soft(file):
    file["a"] = h5py.SoftLink("/b")


def virtual(file):
    layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
    layout[:] = h5py.VirtualSource("/etc/hostname", "b", shape=(4,))
    file.create_virtual_dataset("a", layout)


@pytest.mark.parametrize("fill", [external, linked, soft, virtual])
def test_weights_that_lie_elsewhere_are_refused_before_keras_opens_them(tmp_path, fill):
    """Keras 3.4 to 3.12 read the other file into the weights."""
    with pytest.raises(UnsupportedModelError, match="lead out of it"):
        n2p.read_network(keras_file(tmp_path / "a.keras", fill=fill))


def test_weights_that_declare_more_than_is_stored_are_refused(tmp_path):
    path = keras_file(
        tmp_path / "a.keras",
        fill=lambda file: file.create_dataset("a", (2**28,), "f4", chunks=True, compression="gzip"),
    )
    assert path.stat().st_size < 100_000
    with pytest.raises(StorageError, match="more memory") as caught:
        n2p.read_network(path)
    assert FILE_MEMORY in caught.value.remedy


@pytest.mark.parametrize(
    "config",
    [
        5,
        [],
        None,
        {"config": 5},
        {**MODEL, "config": {"layers": 5}},
        {**MODEL, "config": {"layers": [5, None]}},
        {**MODEL, "config": {"layers": [{**DENSE, "config": {"units": "many"}}]}},
        {**MODEL, "config": {"layers": [{**DENSE, "config": {"units": None}}]}},
        {**MODEL, "config": {"layers": [{**DENSE, "config": {"units": 1e300}}]}},
        {**MODEL, "config": {"layers": [{**DENSE, "build_config": {"input_shape": ["a"]}}]}},
        {**MODEL, "config": {"layers": [{**DENSE, "config": []}]}},
        {**MODEL, "config": {"layers": [{**DENSE, "class_name": None}]}},
        {**MODEL, "config": {"layers": [{**DENSE, "module": 5}]}},
    ],
    ids=lambda config: str(config)[-60:],
)
def test_a_broken_configuration_is_refused_as_one(tmp_path, config):
    with pytest.raises(NN2PolyError):
        n2p.read_network(keras_file(tmp_path / "a.keras", config))


def test_an_archive_that_unpacks_to_much_is_refused(tmp_path):
    path = tmp_path / "a.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("model.weights.h5", "w") as member:
            for _ in range(33):
                member.write(bytes(2**23))
        archive.writestr("config.json", json.dumps(MODEL))
    with pytest.raises(StorageError, match="more memory"):
        n2p.read_network(path)


def test_the_limit_can_be_raised_and_must_be_a_number(monkeypatch):
    monkeypatch.setenv(FILE_MEMORY, "8e9")
    assert file_allowance(1) == 8_000_000_000
    monkeypatch.setenv(FILE_MEMORY, "much")
    with pytest.raises(InvalidInputError, match="limit of memory"):
        file_allowance(1)


def test_constants_of_onnx_that_double_again_and_again_are_refused(monkeypatch):
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    monkeypatch.setenv(FILE_MEMORY, "1e6")
    nodes = [helper.make_node("Concat", [f"w{k}"] * 2, [f"w{k + 1}"], axis=1) for k in range(30)]
    nodes.append(helper.make_node("MatMul", ["x", "w30"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", None])],
        [numpy_helper.from_array(np.ones((3, 2), np.float32), "w0")],
    )
    with pytest.raises(UnsupportedModelError, match="more memory") as caught:
        n2p.read_network(helper.make_model(graph))
    assert FILE_MEMORY in caught.value.remedy


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices are POSIX's")
@pytest.mark.parametrize("ending", [".json", ".npz", "", ".onnx", ".keras"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, ending):
    path = tmp_path / f"pipe{ending}"
    os.mkfifo(path)
    read = n2p.read_network if ending in (".onnx", ".keras") else n2p.load
    with pytest.raises(StorageError, match="regular file"):
        read(path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no endless file")
def test_an_endless_file_is_refused():
    with pytest.raises(StorageError, match="regular file"):
        n2p.load("/dev/zero")


def test_members_of_a_formula_that_overlap_are_refused(tmp_path):
    path = n2p.Polynomial(np.ones((1001, 1)), 1, [f"x{j}" for j in range(1000)]).save(
        tmp_path / "poly.npz"
    )
    with zipfile.ZipFile(path) as archive:
        first, second = archive.infolist()[1], archive.infolist()[0]
    data = path.read_bytes()
    # One more entry of the directory that leads to the same bytes.
    start = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    end = data.index(b"PK\x05\x06")
    entry = data[start:end].replace(b"a0.npy", b"a1.npy")
    tail = bytearray(data[end:])
    tail[8:12] = (3).to_bytes(2, "little") * 2
    size = int.from_bytes(tail[12:16], "little") + len(entry)
    tail[12:16] = size.to_bytes(4, "little")
    path.write_bytes(data[:end] + entry + bytes(tail))
    assert first.file_size > 0 < second.file_size
    with pytest.raises(StorageError, match="damaged"):
        n2p.load(path)
