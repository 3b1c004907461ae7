"""Files of older versions are read for ever, and refused when they break the rules of theirs.

The files in ``version1`` were written by nn2poly 0.1; ``expected.json`` holds what it predicted.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.algebra.terms import Graded, Listed
from nn2poly.errors import StorageError

FOLDER = Path(__file__).parent / "version1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def assert_predicts_as_before(poly, name):
    expected = EXPECTED[name]
    wanted = np.array(expected["predict"])
    found = poly.predict(np.array(expected["X"]))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_every_file_of_version_1_has_its_expectation():
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted([*EXPECTED, "expected.json"])


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_of_version_1_gives_the_polynomial_that_was_saved(name):
    poly, expected = n2p.load(FOLDER / name), EXPECTED[name]
    assert_predicts_as_before(poly, name)
    assert poly.n_terms == expected["n_terms"]
    assert list(poly.feature_names) == expected["feature_names"]
    assert poly.link == expected["link"]
    assert (None if poly.classes is None else list(poly.classes)) == expected["classes"]
    assert (poly.card is not None) == expected["has_card"]
    assert str(poly.card)


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
@pytest.mark.parametrize("ending", [".json", ".npz", ""])
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_it_can_be_saved_in_the_present_version_and_loses_nothing(tmp_path, name, ending):
    old = n2p.load(FOLDER / name)
    new = n2p.load(old.save(tmp_path / f"new{ending}"))
    X = np.array(EXPECTED[name]["X"])
    np.testing.assert_array_equal(new.predict(X), old.predict(X))
    assert new.inputs.to_dict() == old.inputs.to_dict()
    assert new.outputs == old.outputs
    assert new.terms == old.terms
    assert type(new.terms) is type(old.terms)
    assert str(new.card) == str(old.card)
    for one, other in zip(new.layers, old.layers, strict=True):
        np.testing.assert_array_equal(one.output.coefficients, other.output.coefficients)


def test_the_polynomials_of_layers_are_read_too():
    poly = n2p.load(FOLDER / "layers.json")
    assert poly.layers
    twin = n2p.load(FOLDER / "layers.npz")
    for one, other in zip(poly.layers, twin.layers, strict=True):
        np.testing.assert_array_equal(one.input.coefficients, other.input.coefficients)


# --- files made with intent ------------------------------------------------------------------

BODY = {
    "coefficients": [[1.0], [2.0], [3.0]],
    "max_order": 2,
    "feature_names": ["a", "b"],
    "output_names": ["y"],
    "classes": None,
    "link": "identity",
    "center": [0.0, 0.0],
    "scale": [1.0, 1.0],
    "positions": [0, 1, 4],
    "low": None,
    "high": None,
    "card": None,
    "layers": [],
}
FULL = {"positions": None, "max_order": 1}


def written(path, body):
    """Write a file of version 1 with a right digest, whatever the body says."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    head = {"format": "nn2poly polynomial", "version": 1, "digest": digest, "body": body}
    path.write_text(json.dumps(head))
    return path


@pytest.mark.parametrize(
    ("change", "terms", "kind"),
    [
        ({}, [(), (0,), (0, 1)], Listed),
        (FULL, [(), (0,), (1,)], Graded),
        ({"positions": [], "coefficients": []}, [], Listed),
    ],
    ids=["sparse", "full", "none"],
)
def test_terms_are_read_from_their_positions(tmp_path, change, terms, kind):
    poly = n2p.load(written(tmp_path / "old.json", BODY | change))
    assert list(poly.terms) == terms
    assert type(poly.terms) is kind
    assert poly.n_outputs == 1


HOSTILE = {
    "positions": [
        [3, -(2**63), 4],  # differences that wrap
        [3, 4, -(2**63)],
        [0, 1, 2**63],
        [0, 1, 2**64 + 4],
        [0.0, 1.0, 4.0],
        [0, 1.5, 4],
        [0, 1],
        [-1, 0, 1],
        [0, 4, 1],
        [4, 0, 1],
        [1, 1, 4],
        [0, 1, 6],
        [0, 1, 10**30],
        [[0, 1, 4]],
        [False, True, True],
        "abc",
        0,
        {},
    ],
    "max_order": [1, -1, 101, 10**30, "2", None, [], 2.0, True],
    "coefficients": [None, "abc", 5, {}, [], [[1.0]], [["a"]] * 3, [[1.0], [2.0], [10**400]]],
    "feature_names": [None, 5, "ab", ["a"], ["a", 5], ["a", "a"], ["a", ""], {"a": 1, "b": 2}],
    "output_names": [None, 5, "y", [], [""], ["u", "v"], {"y": 1}],
    "classes": [5, True, "ab", {}],
    "link": [None, "probit", 5, []],
    "center": [None, "ab", [0.0, None], [[0.0, 0.0]], 10**400, {}, ["0", "0"], 0.0],
    "scale": [None, "ab", [0.0, 1.0], [-1.0, 1.0], [1.0, 2.0, 3.0], {}],
    "low": ["ab", [None, 0.0], {}],
    "card": [5, "ab", [], {}, {"r2": 1.0}],
    "layers": [None, 5, "ab", [1], [[]], [[BODY]], [["a", "b"]], [{}], {}],
}


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in HOSTILE.items() for value in values],
    ids=lambda x: str(x)[:40],
)
def test_an_old_body_that_describes_no_polynomial_is_refused(tmp_path, field, value):
    for body in (BODY | {field: value}, BODY | {"layers": [[BODY, BODY | {field: value}]]}):
        with pytest.raises(StorageError):
            n2p.load(written(tmp_path / "old.json", body))


@pytest.mark.parametrize("order", [10**6, 10**30])
def test_an_old_basis_of_absurd_size_is_refused_at_once(tmp_path, order):
    with pytest.raises(StorageError):
        n2p.load(written(tmp_path / "old.json", BODY | {"max_order": order, "positions": None}))


@pytest.mark.parametrize("field", sorted(BODY))
def test_an_old_field_missing_or_unknown_is_refused(tmp_path, field):
    less = {name: value for name, value in BODY.items() if name != field}
    for body in (less, BODY | {field + "_": 1}):
        with pytest.raises(StorageError):
            n2p.load(written(tmp_path / "old.json", body))


# --- version 2 -------------------------------------------------------------------------------

SECOND = Path(__file__).parent / "version2"
EXPECTED_2 = json.loads((SECOND / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(EXPECTED_2))
def test_a_file_of_version_2_predicts_as_before_and_knows_no_holes_or_threshold(tmp_path, name):
    formula, expected = n2p.load(SECOND / name), EXPECTED_2[name]
    rows = np.array(expected["X"])
    np.testing.assert_allclose(formula.predict(rows), expected["predict"], rtol=0, atol=1e-12)
    assert (formula.link, formula.outputs.threshold) == (expected["link"], None)
    assert all(column.hole is None for column in formula.inputs.columns)
    again = n2p.load(formula.save(tmp_path / "again.json"))
    np.testing.assert_array_equal(again.predict(rows), formula.predict(rows))
    assert str(again.card) == str(formula.card)
