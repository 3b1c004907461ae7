"""What the audit of version 0.1 found, by names that it had: each of these fails there."""

from __future__ import annotations

import copy
import json
import os
import pickle
import stat
import zipfile

import pytest

import nn2poly as n2p

POLY = n2p.Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"])
posix = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


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


@pytest.mark.filterwarnings("ignore:.*(overflow|invalid value):RuntimeWarning")
def test_8_a_zero_coefficient_gives_zero_where_its_power_overflows():
    found = n2p.Polynomial([[0.0], [2.0], [0.0], [0.0]], 3, ["a"]).predict([[1e200]])
    assert found.tolist() == [2e200]


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
