"""``--key-file``: polynomials are signed when written, and refused without when read."""

from __future__ import annotations

import json

import pytest

import nn2poly as n2p

KEY = bytes(range(32))


@pytest.fixture
def keys(tmp_path):
    for name, content in (("key", KEY), ("other", bytes(32)), ("short", b"abc")):
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_what_convert_signs_is_shown_with_the_key_alone(call, shelf, keys):
    poly = keys / "poly.json"
    call("convert", shelf / "model.onnx", "--order", "1", "-o", poly, "--key-file", keys / "key")
    assert n2p.load(poly, key=KEY).n_terms
    assert "terms" in call("show", poly, "--key-file", keys / "key").stdout
    assert "does not fit" in call("show", poly, "--key-file", keys / "other", code=1).stderr


@pytest.mark.parametrize("name", ["short", "absent"])
def test_a_file_that_is_no_key_is_refused(call, keys, name):
    poly = n2p.Polynomial([[1.0], [2.0]], 1, ["rm"]).save(keys / "poly.json")
    assert "Error" in call("show", poly, "--key-file", keys / name, code=1).stderr


@pytest.mark.parametrize("command", [["show"], ["export", "--to", "sql"]])
def test_an_unsigned_polynomial_is_refused_where_a_key_is_given(call, keys, command):
    poly = n2p.Polynomial([[1.0], [2.0]], 1, ["rm"]).save(keys / "poly.json")
    assert json.loads(poly.read_text())["version"]
    result = call(command[0], poly, *command[1:], "--key-file", keys / "key", code=1)
    assert "not signed" in result.stderr
