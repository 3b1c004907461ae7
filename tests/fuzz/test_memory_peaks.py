"""Small files that would fill the memory are refused in little of it, each in its own process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from mutations import MOST_BYTES

import nn2poly as n2p

pytestmark = [
    pytest.mark.skipif("FUZZ_EXAMPLES" not in os.environ, reason="takes minutes: make fuzz"),
    pytest.mark.skipif(sys.platform != "linux", reason="the peak of a child is Linux's"),
]
# Reads a file and tells what came of it, and the largest memory of the process.
READ = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import nn2poly as n2p
from nn2poly.cli.models import load_network
path = Path(sys.argv[1])
read = load_network if path.suffix in (".onnx", ".keras", ".pt2", ".skops") else n2p.load
try:
    read(path)
    found = "read"
except n2p.NN2PolyError as error:
    found = type(error).__name__
# Not getrusage: it counts the parent's memory, of which this process was a fork.
status = Path("/proc/self/status").read_text()
print(found, 1024 * int(status.split("VmHWM:")[1].split()[0]))
"""
HUGE = 3 * 10**9


def member_of_zeros(archive, name, size=HUGE):
    with archive.open(name, "w", force_zip64=True) as member:
        for _ in range(size // 2**24):
            member.write(bytes(2**24))


def keras_bomb(folder):
    """2.9 MB that unpack to 3 GB."""
    path = folder / "bomb.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("metadata.json", "{}")
        member_of_zeros(archive, "model.weights.h5")
    return path


def keras_datasets(folder):
    """A dataset of 3 GB in chunks that are not stored."""
    import h5py

    weights, path = io.BytesIO(), folder / "dataset.keras"
    with h5py.File(weights, "w") as file:
        file.create_dataset("a", (HUGE // 4,), "f4", chunks=True, compression="gzip")
    dense = {"units": 2, "name": "dense"}
    layer = {"module": "keras.layers", "class_name": "Dense", "config": dense}
    layer |= {"registered_name": None, "build_config": {"input_shape": [None, 3]}}
    config = {"module": "keras", "class_name": "Sequential", "registered_name": None}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "config.json", json.dumps({**config, "config": {"name": "m", "layers": [layer]}})
        )
        archive.writestr("model.weights.h5", weights.getvalue())
    return path


def exported(path):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(3, 2)).eval()
    torch.export.save(torch.export.export(module, (torch.zeros(4, 3),)), path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def pt2_bomb(folder):
    path = folder / "bomb.pt2"
    members = exported(path)
    weight = next(name for name in members if name.endswith("weight_0"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if name == weight:
                member_of_zeros(archive, name)
            else:
                archive.writestr(name, content)
    return path


def pt2_strides(folder):
    """One stored number that stands for 10⁹ of them."""
    path = folder / "strides.pt2"
    members = exported(path)
    name = next(name for name in members if name.endswith("model_weights_config.json"))
    config = json.loads(members[name])
    meta = next(iter(config["config"].values()))["tensor_meta"]
    meta["sizes"] = [{"as_int": 31622}, {"as_int": 31622}]
    meta["strides"] = [{"as_int": 0}, {"as_int": 0}]
    return write(path, {**members, name: json.dumps(config).encode()})


def npz_overlapping(folder):
    """5 MB of numbers that ten entries of the directory lead to."""
    values, names = np.ones((53_130, 12)), [f"x{j}" for j in range(20)]
    path = n2p.Polynomial(values, 5, names).save(folder / "overlap.npz")
    data = path.read_bytes()
    start = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    end = data.rindex(b"PK\x05\x06")
    entry = data[start:end]
    more = b"".join(entry.replace(b"a0.npy", b"a%d.npy" % k) for k in range(1, 10))
    tail = bytearray(data[end:])
    tail[8:12] = (11).to_bytes(2, "little") * 2
    tail[12:16] = (int.from_bytes(tail[12:16], "little") + len(more)).to_bytes(4, "little")
    path.write_bytes(data[:end] + more + bytes(tail))
    return path


def onnx_doubling(folder):
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    nodes = [helper.make_node("Concat", [f"w{k}"] * 2, [f"w{k + 1}"], axis=1) for k in range(30)]
    nodes.append(helper.make_node("MatMul", ["x", "w30"], ["y"]))
    value = helper.make_tensor_value_info
    inputs = [value("x", onnx.TensorProto.FLOAT, ["N", 3])]
    outputs = [value("y", onnx.TensorProto.FLOAT, ["N", None])]
    weights = [numpy_helper.from_array(np.ones((3, 2), np.float32), "w0")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    path = folder / "doubling.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


def skops_bomb(folder):
    path = folder / "bomb.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        member_of_zeros(archive, "1.npy")
    return path


def endless(_):
    return "/dev/zero"


def pipe(folder):
    os.mkfifo(folder / "pipe.json")
    return folder / "pipe.json"


def json_of_lists(folder):
    """9 MB of empty lists: the worst that JSON can do."""
    path = folder / "lists.json"
    path.write_text("[" + "[]," * 3_000_000 + "[]]")
    return path


CASES = [
    *(keras_bomb, keras_datasets, pt2_bomb, pt2_strides, npz_overlapping, onnx_doubling),
    *(skops_bomb, endless, pipe, json_of_lists),
]


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_a_small_file_takes_less_than_a_gigabyte(make, tmp_path, tally):
    path = make(tmp_path)
    if os.path.isfile(path):
        assert os.path.getsize(path) < 10**7
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "KERAS_BACKEND": "torch"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found, peak = done.stdout.split()[-2:]
    assert found.endswith("Error")
    assert int(peak) < MOST_BYTES
    tally["MB"] = round(int(peak) / 1e6)
