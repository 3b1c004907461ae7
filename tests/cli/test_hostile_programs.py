"""An exported program of a stranger runs nothing but the operations of a network."""

from __future__ import annotations

import json
import operator
import time
import zipfile

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.cli.models import load_network
from nn2poly.cli.pt2 import clean_archive
from nn2poly.errors import UnsupportedModelError
from nn2poly.network.readers import read_network

torch = pytest.importorskip("torch")
aten = torch.ops.aten
SECRET = np.array([4.0, 7.0], dtype=np.float32).tobytes()


def exported():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2)).eval()
    return torch.export.export(module, (torch.zeros(4, 3),))


class Editor:
    """Puts calls before the last layer of an exported program."""

    def __init__(self):
        self.program = exported()
        self.graph = self.program.graph
        self.nodes = {node.name: node for node in self.graph.nodes}
        self.linear = next(n for n in self.graph.nodes if n.target is aten.linear.default)
        self.bias = self.linear.args[2]

    def call(self, target, *args, like=None, **kwargs):
        with self.graph.inserting_before(self.linear):
            node = self.graph.call_function(target, args, kwargs)
        node.meta["val"] = self.bias.meta["val"] if like is None else like
        return node

    def done(self, bias=None):
        if bias is not None:
            self.linear.args = (*self.linear.args[:2], bias)
        self.graph.lint()
        return self.program


def writes(victim):
    """Overwrite a file with the biases."""
    edit = Editor()
    mapped = edit.call(aten.from_file.default, str(victim), True, 2, dtype=torch.float32)
    return edit.done(edit.call(aten.copy_.default, mapped, edit.bias))


def reads(victim):
    """Take the bytes of a file as biases."""
    edit = Editor()
    return edit.done(edit.call(aten.from_file.default, str(victim), False, 2, dtype=torch.float32))


def reads_unused(victim):
    """Open a file for a result that nobody uses."""
    edit = Editor()
    edit.call(aten.from_file.default, str(victim), True, 2, dtype=torch.float32)
    return edit.done()


def hangs(_):
    """Compute a power that takes for ever."""
    edit = Editor()
    power = edit.call(operator.pow, 9**9, 9**9, like=1)
    return edit.done(edit.call(aten.mul.Scalar, edit.bias, power))


def draws(_):
    """Take random biases."""
    edit = Editor()
    return edit.done(edit.call(aten.rand_like.default, edit.bias))


ATTACKS = {
    "from_file write": (writes, "from_file"),
    "from_file read": (reads, "from_file"),
    "from_file unused": (reads_unused, "from_file"),
    "pow": (hangs, "pow"),
    "random": (draws, "rand_like"),
}


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim.bin"
    path.write_bytes(SECRET)
    return path


def refused(action, name, victim):
    start = time.monotonic()
    with pytest.raises(UnsupportedModelError) as caught:
        action()
    assert name in str(caught.value)
    assert victim.read_bytes() == SECRET
    assert time.monotonic() - start < 10
    return caught.value


@pytest.mark.parametrize("key", ATTACKS)
@pytest.mark.parametrize("reader", [read_network, lambda m: n2p.convert(m, max_order=1)])
def test_a_hostile_program_is_refused_by_name_before_anything_runs(key, reader, victim):
    make, name = ATTACKS[key]
    program = make(victim)
    error = refused(lambda: reader(program), name, victim)
    assert error.where
    assert error.remedy


def saved(program, path):
    torch.export.save(program, path)
    return path


def with_targets(path, change):
    """Write an archive again with the targets of its operations changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith("models/model.json"))
    document = json.loads(members[name])
    for node in document["graph_module"]["graph"]["nodes"]:
        change(node)
    members[name] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return path


@pytest.mark.parametrize("key", ATTACKS)
def test_a_hostile_file_is_refused_before_pytorch_loads_it(key, victim, tmp_path, monkeypatch):
    make, name = ATTACKS[key]
    path = saved(make(victim), tmp_path / "bad.pt2")
    monkeypatch.setattr(torch.export, "load", lambda *_: pytest.fail("PyTorch saw the file"))
    error = refused(lambda: load_network(path), name, victim)
    assert error.found.startswith("the operation")


@pytest.mark.parametrize("key", ATTACKS)
def test_trust_opens_the_file_but_runs_no_such_operation(key, victim, tmp_path):
    make, name = ATTACKS[key]
    path = saved(make(victim), tmp_path / "bad.pt2")
    refused(lambda: load_network(path, trust=True), name, victim)


@pytest.mark.parametrize("key", ATTACKS)
def test_the_command_line_refuses_a_hostile_file(key, victim, tmp_path, call):
    make, name = ATTACKS[key]
    path = saved(make(victim), tmp_path / "bad.pt2")
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b,c\n1,2,3\n2,3,1\n0,1,5\n")
    result = call("convert", path, "-d", rows, "-o", tmp_path / "poly.json", code=1)
    assert name in result.stderr
    assert victim.read_bytes() == SECRET
    assert not (tmp_path / "poly.json").exists()


@pytest.mark.parametrize(
    "target",
    [
        *("_operator.pow", "_operator.lshift", "_operator.concat", "_operator.methodcaller"),
        *("math.factorial", "math.trunc", "builtins.exec", "torch.ops.aten.linear"),
        *("torch.ops.aten.add.out", "torch.ops.aten.mul.left_t", "torch.ops.aten.pow.int"),
        *("torch.ops.aten.add.nothing", "torch.ops.aten.empty.memory_format", ""),
        *("torch.ops.aten.set_.source_Tensor", "torch.ops.aten.as_strided.default"),
        *("torch.ops.aten.dropout.default.default", "torch.ops.prims.exp.default"),
        *("torch.ops.higher_order.cond", "torch.ops.aten.__class__.default"),
    ],
)
def test_a_file_may_only_name_operations_of_the_list(target, tmp_path):
    path = saved(exported(), tmp_path / "bad.pt2")
    with_targets(path, lambda node: node.update(target=target))
    with pytest.raises(UnsupportedModelError, match="the operation") as caught:
        clean_archive(path)
    assert target in caught.value.found


def test_a_weight_of_strides_zero_is_refused_before_it_is_made(tmp_path):
    """Eleven kilobytes took 3.7 GB."""
    base, path = tmp_path / "base.pt2", tmp_path / "strided.pt2"
    torch.export.save(exported(), base)
    with zipfile.ZipFile(base) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("model_weights_config.json"):
                config = json.loads(data)
                meta = next(iter(config["config"].values()))["tensor_meta"]
                meta["sizes"] = [{"as_int": 2**14}, {"as_int": 2**14}]
                meta["strides"] = [{"as_int": 0}, {"as_int": 0}]
                data = json.dumps(config).encode()
            new.writestr(name, data)
    with pytest.raises(UnsupportedModelError, match="more than tensors") as caught:
        load_network(path)
    assert "sizes [16384, 16384]" in caught.value.found
