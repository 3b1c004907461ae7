"""What the audit of version 0.1 found, by names that it had: each of these fails there."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import nn2poly as n2p

POLY = n2p.Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"])
posix = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


@pytest.mark.parametrize(("name", "least"), [("skops", (0, 12)), ("typer", (0, 16))])
def test_2_versions_with_holes_are_not_declared(name, least):
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    floors = re.findall(rf'"{name}[^">]*>=\s*([\d.]+)', text)
    assert floors
    assert all(tuple(map(int, floor.split(".")[:2])) >= least for floor in floors)


@posix
def test_3_a_pipe_is_no_file(tmp_path):
    """In a process of its own, since version 0.1 waits for ever."""
    os.mkfifo(tmp_path / "poly.json")
    code = "import nn2poly, sys\ntry: nn2poly.load(sys.argv[1])\nexcept nn2poly.NN2PolyError: pass"
    command = [sys.executable, "-c", code, str(tmp_path / "poly.json")]
    subprocess.run(command, check=True, timeout=60)


def test_4_an_error_while_a_folder_is_saved_loses_nothing(tmp_path, monkeypatch):
    """Whichever step of a save fails, there is a formula afterwards: the old one or the new."""
    for number in range(1, 4):
        folder = tmp_path / str(number)
        POLY.save(folder)
        with monkeypatch.context() as patch:
            count = iter(range(1, 100))

            def failing(*_, real, **__):
                if next(count) == number:  # noqa: B023
                    raise OSError("disk full")
                return real(*_, **__)

            for name in ("rename", "replace"):
                patch.setattr(os, name, partial(failing, real=getattr(os, name)))
            with suppress(n2p.NN2PolyError, OSError):
                n2p.Polynomial([[5.0], [2.0], [3.0]], 1, ["a", "b"]).save(folder)
        assert n2p.load(folder).coefficients[0] in (1.0, 5.0)


@posix
def test_4_and_5_a_private_file_stays_private_and_the_umask_is_left_alone(tmp_path, monkeypatch):
    path = POLY.save(tmp_path / "poly.json")
    path.chmod(0o600)
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
    POLY.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("version", [True, 1.0])
def test_6_a_version_that_is_no_whole_number_is_refused(tmp_path, version):
    path = POLY.save(tmp_path / "poly.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))
    with pytest.raises(n2p.NN2PolyError):
        n2p.load(path)


def test_7_a_name_is_no_code_and_no_command():
    pytest.importorskip("sympy")
    name = "__import__('os').getpid()"
    expression = n2p.export.sympy(n2p.Polynomial([[1.0], [1 / 3]], 1, [name]))
    assert "__import__(" not in str(expression)


def test_7_no_repr_steers_a_terminal():
    poly = n2p.Polynomial([[1.0], [2.0]], 1, ["a\x1b[31m\u202e"])
    assert not {"\x1b", "\u202e"} & set(repr(poly) + str(poly))


def test_8_a_zero_coefficient_gives_zero_where_its_power_overflows():
    found = n2p.Polynomial([[0.0], [2.0], [0.0], [0.0]], 3, ["a"]).predict([[1e200]])
    assert found.tolist() == [2e200]


@pytest.mark.filterwarnings("ignore")
def test_8_one_enormous_cell_does_not_make_the_output_constant():
    net = n2p.Network([n2p.Layer([[1.0], [2.0]], [0.1], "relu"), n2p.Layer([[1.0]])])
    X = np.random.default_rng(0).normal(size=(300, 2))
    poly = n2p.convert(net, 2, data=X)
    X[3, 0] = 1e308
    assert "does not vary" not in str(n2p.fidelity(net, poly, X))


@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_8_networks_are_copied_and_pickled(way):
    hidden = n2p.Layer([[0.5], [0.2]], [0.0], "tanh")
    net = n2p.Network([hidden, n2p.Layer([[1.0]], [3.0])])
    for value in (net, hidden, n2p.polynomial_network(net, 2)):
        assert type(way(value)) is type(value)


def test_9_a_broken_keras_file_is_refused_by_us(tmp_path):
    path = tmp_path / "a.keras"
    for config in ("5", '{"class_name": "Sequential", "config": {"layers": 5}}', "[]"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", config)
            archive.writestr("model.weights.h5", b"")
        with pytest.raises(n2p.NN2PolyError):
            n2p.read_network(path)


def test_10_a_signature_tells_who_wrote_a_file(tmp_path):
    path = POLY.save(tmp_path / "poly.json", key=bytes(32))
    with pytest.raises(n2p.NN2PolyError, match="signature"):
        n2p.load(path, key=bytes(31) + b"1")
