"""A changed file of a model is read, twice the same, or refused by an error of ours."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import warnings
import zipfile
from contextlib import contextmanager, suppress
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import MOST_BYTES, mutated, mutated_bytes, peak_bytes

os.environ.setdefault("KERAS_BACKEND", "torch")
from nn2poly.cli.models import load_network
from nn2poly.errors import NN2PolyError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a hang is told by POSIX's signals")
SEEDS = st.integers(0, 2**62)
fuzzed = settings(
    settings.get_profile("fuzz"), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# A reader that takes longer hangs: each takes less than a second on a busy machine.
SECONDS = 60


def onnx_model(path):
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    rng = np.random.default_rng(0)
    given = {"w": (3, 4), "b": (4,), "scale": (4,), "bias": (4,), "mean": (4,), "v": (4, 2)}
    arrays = {name: rng.uniform(0.5, 1.0, shape) for name, shape in given.items()}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], alpha=0.5, transB=0),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("BatchNormalization", ["t", "scale", "bias", "mean", "b"], ["n"]),
        helper.make_node("Concat", ["n", "t"], ["c"], axis=1),
        helper.make_node("Concat", ["v", "v"], ["vv"], axis=0),
        helper.make_node("MatMul", ["c", "vv"], ["l"]),
        helper.make_node("Softmax", ["l"], ["y"], axis=-1),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", onnx.TensorProto.FLOAT, ["N", 3])],
        [value("y", onnx.TensorProto.FLOAT, ["N", 2])],
        [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()],
    )
    opset = helper.make_opsetid("", 17)
    path.write_bytes(
        helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
    )


def keras_model(path):
    keras = pytest.importorskip("keras")
    layers = keras.layers
    first, middle = layers.Dense(4, activation="tanh"), layers.BatchNormalization()
    last = layers.Dense(2, activation="softmax")
    keras.Sequential([layers.Input((3,)), first, middle, layers.Dropout(0.1), last]).save(path)


def torch_model(path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    parts = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    module = torch.nn.Sequential(*parts).eval()
    torch.export.save(torch.export.export(module, (torch.zeros(4, 3),)), path)


def sklearn_model(path):
    import skops.io
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).normal(size=(40, 3))
    model = make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=5, random_state=0))
    skops.io.dump(model.fit(X, X[:, 0] > 0), path)


WRITERS = {
    ".onnx": onnx_model,
    ".keras": keras_model,
    ".pt2": torch_model,
    ".skops": sklearn_model,
}
endings = pytest.mark.parametrize("ending", WRITERS)


@pytest.fixture(scope="module")
def bases(folder):
    made = {}

    def base(ending):
        if ending not in made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the frameworks, while they are imported
                WRITERS[ending](folder / f"base{ending}")
            made[ending] = (folder / f"base{ending}").read_bytes()
            assert read(folder / f"base{ending}") is not None
        return made[ending]

    return base


@contextmanager
def limited(path):
    """Fail when a reader hangs; keep its file."""

    def stop(*_):
        pytest.fail(f"reading {path} took more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read(path):
    """Read and use a file; anything but a network that works or an error of ours is a fault."""
    with warnings.catch_warnings(), limited(path):
        warnings.simplefilter("ignore")
        try:
            network = load_network(path)
        except NN2PolyError:
            return None
        assert repr(network)
        with suppress(NN2PolyError), np.errstate(all="ignore"):
            network.predict(np.zeros((2, network.n_features)))
        # Nothing that was not initialised, and nothing random, went into it.
        assert pickle.dumps(load_network(path)) == pickle.dumps(network)
    return network


# --- changes that know the structure ----------------------------------------------------------


def changed_onnx(data, rng):
    onnx = pytest.importorskip("onnx")
    from google.protobuf import json_format

    plain = json_format.MessageToDict(onnx.load_model_from_string(data))
    # What a message cannot hold at all is drawn again.
    unfit = (json_format.ParseError, ValueError, TypeError, AttributeError, SystemError)
    for _ in range(20):
        with suppress(*unfit):
            changed = json_format.ParseDict(mutated(plain, rng), onnx.ModelProto())
            return changed.SerializeToString()
    return data


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed_archive(data, rng):
    """Change plain data of one member, or the bytes of another; seldom the members themselves."""
    members = members_of(data)
    readable = [name for name in members if name.endswith((".json", "schema"))]
    chance, name = rng.random(), rng.choice(sorted(members))
    if chance < 0.8:
        name = rng.choice(readable)
        changed = mutated(json.loads(members[name]), rng)
        members[name] = json.dumps(changed).encode()
    elif chance < 0.95:
        members[name] = mutated_bytes(members[name], rng)
    else:
        members[rng.choice(("strange", "a/../b", f"{name}2"))] = members.pop(name)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tried(path, data, tally):
    path.write_bytes(data)
    tally["refused" if read(path) is None else "read"] += 1


@fuzzed
@given(seed=SEEDS)
@endings
def test_a_model_whose_structure_is_changed_is_read_or_refused(ending, bases, folder, tally, seed):
    change = changed_onnx if ending == ".onnx" else changed_archive
    tried(folder / f"changed{ending}", change(bases(ending), Random(seed)), tally)


@fuzzed
@given(seed=SEEDS)
@endings
def test_a_model_whose_bytes_are_changed_is_read_or_refused(ending, bases, folder, tally, seed):
    tried(folder / f"changed{ending}", mutated_bytes(bases(ending), Random(seed)), tally)


@pytest.mark.skipif("FUZZ_EXAMPLES" not in os.environ, reason="other tests share this process")
def test_all_of_this_took_little_memory():
    assert peak_bytes() < MOST_BYTES
