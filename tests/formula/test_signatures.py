"""A signed file is read with its key, and refused with another one or when it was changed."""

from __future__ import annotations

import hmac
import json

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError, StorageError
from nn2poly.formula import signatures
from nn2poly.formula.document import digest_of
from nn2poly.formula.region_tree import Leaf, Split

KEY, OTHER = bytes(range(32)), bytes(32)
ENDINGS = pytest.mark.parametrize("ending", [".json", ".npz", ""])
POLY = n2p.Polynomial([[1.0], [2.0]], 1, ["rm"])


def rules():
    return n2p.PiecewisePolynomial(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), (POLY, POLY))


@ENDINGS
@pytest.mark.parametrize("formula", [POLY, rules()], ids=["polynomial", "piecewise"])
def test_what_was_signed_is_read_with_the_key_and_without(tmp_path, formula, ending):
    path = formula.save(tmp_path / f"poly{ending}", key=KEY)
    for options in ({"key": KEY}, {}):
        found = n2p.load(path, **options)
        np.testing.assert_array_equal(found.predict([[3.0]]), formula.predict([[3.0]]))


@ENDINGS
def test_another_key_is_refused(tmp_path, ending):
    path = POLY.save(tmp_path / f"poly{ending}", key=KEY)
    with pytest.raises(StorageError, match="does not fit the key") as caught:
        n2p.load(path, key=OTHER)
    assert str(path) in caught.value.where


@ENDINGS
def test_a_file_without_a_signature_is_refused_where_one_is_asked_for(tmp_path, ending):
    with pytest.raises(StorageError, match="not signed") as caught:
        n2p.load(POLY.save(tmp_path / f"poly{ending}"), key=KEY)
    assert "key=" in caught.value.remedy


def test_a_file_that_was_changed_and_sealed_again_is_refused(tmp_path):
    """The digest can be computed by anybody; the signature is of the digest."""
    path = POLY.save(tmp_path / "poly.json", key=KEY)
    head = json.loads(path.read_text())
    head["body"]["coefficients"][1][0] = 99.0
    head["digest"] = digest_of(head["body"]).hexdigest()
    path.write_text(json.dumps(head))
    assert n2p.load(path).coefficients[1, 0] == 99.0
    with pytest.raises(StorageError, match="does not fit the key"):
        n2p.load(path, key=KEY)


def test_a_kept_digest_does_not_cover_another_body(tmp_path):
    path = POLY.save(tmp_path / "poly.json", key=KEY)
    head = json.loads(path.read_text())
    head["body"]["coefficients"][1][0] = 99.0
    path.write_text(json.dumps(head))
    with pytest.raises(StorageError, match="damaged"):
        n2p.load(path, key=KEY)


@pytest.mark.parametrize("signature", [None, 5, "", "é", "\ud800", [], {"a": 1}, "0" * 64, True])
def test_a_strange_signature_is_refused(tmp_path, signature):
    path = POLY.save(tmp_path / "poly.json", key=KEY)
    head = {**json.loads(path.read_text()), "signature": signature}
    path.write_text(json.dumps(head))
    with pytest.raises(StorageError):
        n2p.load(path, key=KEY)


def test_signatures_are_compared_in_constant_time(tmp_path, monkeypatch):
    seen, before = [], hmac.compare_digest
    monkeypatch.setattr(
        signatures.hmac, "compare_digest", lambda a, b: seen.append((a, b)) or before(a, b)
    )
    n2p.load(POLY.save(tmp_path / "poly.json", key=KEY), key=KEY)
    assert len(seen) == 1


@pytest.mark.parametrize("key", [b"short", "a text of sixteen letters", 5, b"", True])
def test_what_is_no_key_is_refused_and_not_shown(tmp_path, key):
    for call in (lambda: POLY.save(tmp_path / "a.json", key=key), lambda: n2p.load("a", key=key)):
        with pytest.raises(InvalidInputError, match="cannot be the key") as caught:
            call()
        assert not isinstance(key, str) or key not in str(caught.value)
    assert not list(tmp_path.iterdir())
