"""Files keep every bit, and whatever is wrong with one ends in a StorageError."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import pickle
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import nn2poly as n2p
from nn2poly.algebra.monomials import count_terms
from nn2poly.errors import StorageError
from nn2poly.formula.polynomial import Polynomial

ENDINGS = (".json", ".npz")
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def small_polynomial():
    """Make a polynomial that uses every field of the format but the layers."""
    return Polynomial.from_terms(
        ["a", "é b", "1", "a é b"],
        [[1.5, -2.0, 0.1], [0.25, 3.0, 1 / 3], [4.0, 5e-324, -0.0], [0.1, 1.7e308, 7.0]],
        ["a", "é b"],
        output_names=["u", "v", "<w>"],
        classes=("no", 1, 0.1),
        link="softmax",
        center=[0.1, -2.0],
        scale=[2.0, 1e-3],
        low=[-1.0, 0.1],
        high=[1.0, 1e300],
        deviations=np.arange(12.0).reshape(4, 3) / 7.0,
    )


def assert_identical(one, other):
    """Compare every field: arrays bit by bit, classes with their types."""
    for field in dataclasses.fields(Polynomial):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert type(a) is type(b), field.name
        if isinstance(a, np.ndarray):
            assert (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes()), field.name
        elif field.name in ("inputs", "outputs"):
            assert repr(a.to_dict()) == repr(b.to_dict()), field.name
        elif field.name == "terms":
            assert (list(a), a.n_features, a.max_order) == (list(b), b.n_features, b.max_order)
        elif field.name == "layers":
            for pair, twin in zip(a, b, strict=True):
                assert_identical(pair.input, twin.input)
                assert_identical(pair.output, twin.output)
        else:  # repr tells 1 from True and from 1.0, and NaN equals itself
            assert repr(a) == repr(b), field.name


def assert_refused_or_identical(path, data, original):
    """Load damaged bytes: nothing but a StorageError or the same polynomial may come out."""
    path.write_bytes(data)
    try:
        found = n2p.load(path)
    except StorageError:
        return False
    assert_identical(found, original)
    return True


def refused(path):
    with pytest.raises(StorageError) as caught:
        n2p.load(path)
    assert caught.value.where == str(path)
    return caught.value


def sealed_json(body, **head):
    """Write a JSON file with a right digest, whatever the body says."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    top = {"format": "nn2poly polynomial", "version": 3, "digest": digest, "body": body}
    return json.dumps(top | head).encode()


def npy(array, **header):
    """Write one .npy member; header entries may lie."""
    file = io.BytesIO()
    claims = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape} | header
    np.lib.format.write_array_header_1_0(file, claims)
    return file.getvalue() + array.tobytes()


def sealed_npz(path, body, arrays, header=None, compression=zipfile.ZIP_STORED):
    """Write an archive with right digest and checksums, whatever its members say."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode() + b"".join(arrays)).hexdigest()
    top = {"format": "nn2poly polynomial", "version": 3, "digest": digest, "body": body}
    plain = npy(np.frombuffer(json.dumps(top).encode(), dtype=np.uint8))
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.npy", plain if header is None else header)
        for k, part in enumerate(arrays):
            archive.writestr(f"a{k}.npy", part)


def template(ending):
    """Take a real file apart: its body, and the members of an archive."""
    with tempfile.TemporaryDirectory() as folder:
        poly = Polynomial.from_terms(["1", "a", "b"], [1.0, 2.0, 3.0], ["a", "b"])
        data = poly.save(Path(folder) / f"poly{ending}").read_bytes()
    if ending == ".json":
        return json.loads(data)["body"], []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [archive.read(name) for name in archive.namelist()]
    header = np.lib.format.read_array(io.BytesIO(members[0]), allow_pickle=False)
    return json.loads(header.tobytes())["body"], members[1:]


JSON_BODY, _ = template(".json")
NPZ_BODY, NPZ_ARRAYS = template(".npz")
# The rows of the two terms of order 1, an array (2, 1).
ROWS = NPZ_BODY["terms"]["blocks"][1]["array"]


def with_rows(member):
    return [*NPZ_ARRAYS[:ROWS], member, *NPZ_ARRAYS[ROWS + 1 :]]


def changed(body, path, value):
    """Put a value deep into a body: ``"terms.blocks.1"``."""
    if not path:
        return value
    key, _, rest = path.partition(".")
    if isinstance(body, list):
        return [
            changed(part, rest, value) if str(k) == key else part for k, part in enumerate(body)
        ]
    return body | {key: changed(body[key], rest, value)}


# --- round trips -----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_field_comes_back_bit_by_bit(tmp_path, ending):
    poly = small_polynomial()
    path = poly.save(tmp_path / f"poly{ending}")
    assert path == tmp_path / f"poly{ending}"
    assert_identical(n2p.load(path), poly)
    assert_identical(n2p.load(str(path)), poly)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@in_one_folder
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.just(count_terms(2, 2)), st.integers(1, 3)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_any_finite_coefficients_come_back_bit_by_bit(tmp_path, ending, values):
    poly = Polynomial(values, 2, ["a", "b"])
    assert_identical(n2p.load(poly.save(tmp_path / f"poly{ending}")), poly)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@in_one_folder
@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4, unique=True))
def test_any_names_come_back(tmp_path, ending, names):
    poly = Polynomial(np.ones((1 + len(names), len(names))), 1, names, names)
    assert_identical(n2p.load(poly.save(tmp_path / f"poly{ending}")), poly)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "classes",
    [("no", "yes"), (0, 1), (False, True), (0.1, 1e300), ("", " "), (1, "1"), (-(2**70), 2**70)],
    ids=str,
)
def test_classes_keep_their_values_and_types(tmp_path, ending, classes):
    poly = Polynomial([[1.0], [2.0]], 1, ["a"], classes=classes, link="sigmoid")
    assert_identical(n2p.load(poly.save(tmp_path / f"poly{ending}")), poly)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.bool_, np.str_])
def test_classes_from_an_array_can_be_saved(tmp_path, ending, dtype):
    classes = np.array([0, 1]).astype(dtype)
    poly = Polynomial([[1.0], [2.0]], 1, ["a"], classes=classes, link="sigmoid")
    found = n2p.load(poly.save(tmp_path / f"poly{ending}"))
    assert found.classes == tuple(classes.tolist())
    assert [type(c) for c in found.classes] == [type(c) for c in classes.tolist()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_polynomials_of_the_layers_come_back(tmp_path, ending):
    rng = np.random.default_rng(0)
    layers = [
        n2p.Layer(rng.normal(0, 0.2, (3, 4)), rng.normal(0, 0.2, 4), "tanh"),
        n2p.Layer(rng.normal(0, 0.2, (4, 2)), [0.1, 0.2]),
    ]
    poly = n2p.convert(n2p.Network(layers), 2, keep_layers=True)
    assert len(poly.layers) == 2
    assert_identical(n2p.load(poly.save(tmp_path / f"poly{ending}")), poly)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("n_rows", [1, 400], ids=["undecided", "decided"])
def test_the_fidelity_card_and_the_range_of_the_data_come_back(tmp_path, ending, n_rows):
    rng = np.random.default_rng(0)
    hidden = n2p.Layer(rng.normal(0, 0.4, (2, 3)), rng.normal(0, 0.2, 3), "tanh")
    net = n2p.Network([hidden, n2p.Layer(rng.normal(size=(3, 2)))], link="softmax")
    poly, X = n2p.convert(net, 2), rng.normal(size=(n_rows, 2))
    card = n2p.fidelity(net, poly, X)
    assert np.isnan(card.r2) == (n_rows == 1)
    inputs = poly.inputs.seen(X.min(axis=0), X.max(axis=0))
    poly = dataclasses.replace(poly, card=card, inputs=inputs)
    found = n2p.load(poly.save(tmp_path / f"poly{ending}"))
    assert_identical(found, poly)
    assert str(found.card) == str(card)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_polynomial_without_terms_comes_back(tmp_path, ending):
    poly = Polynomial.from_terms(["a b"], [[1.0, 2.0]], ["a", "b"]).truncate(1)
    assert poly.n_terms == 0
    assert_identical(n2p.load(poly.save(tmp_path / f"poly{ending}")), poly)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_intercept_alone_comes_back(tmp_path, ending):
    poly = Polynomial([[2.5]], 0, ["a", "b"])
    assert_identical(n2p.load(poly.save(tmp_path / f"poly{ending}")), poly)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_comes_back_cannot_be_written_to(tmp_path, ending):
    found = n2p.load(small_polynomial().save(tmp_path / f"poly{ending}"))
    for name in ("coefficients", "center", "scale", "deviations"):
        assert not getattr(found, name).flags.writeable, name
    assert not any(block.flags.writeable for block in found.terms.blocks)


def test_files_may_be_renamed_because_the_content_tells(tmp_path):
    poly = small_polynomial()
    for ending in ENDINGS:
        other = poly.save(tmp_path / f"poly{ending}").rename(tmp_path / "renamed")
        assert_identical(n2p.load(other), poly)


def test_the_json_can_be_read_by_a_person(tmp_path):
    text = small_polynomial().save(tmp_path / "poly.json").read_text(encoding="utf-8")
    head = json.loads(text)
    assert head["format"] == "nn2poly polynomial"
    assert head["version"] == 3
    assert [column["name"] for column in head["body"]["inputs"]["columns"]] == ["a", "é b"]
    assert head["body"]["terms"]["blocks"] == [[[]], [[0], [1]], [[0, 1]]]
    assert "é b" in text


def test_the_digest_follows_the_written_rule(tmp_path):
    """A JSON file made by the rule in this test, not by the package, is accepted."""
    path = tmp_path / "poly.json"
    path.write_bytes(sealed_json(JSON_BODY))
    assert n2p.load(path).predict([[10.0, 100.0]]).tolist() == [321.0]
    archive = tmp_path / "poly.npz"
    sealed_npz(archive, NPZ_BODY, NPZ_ARRAYS)
    assert n2p.load(archive).predict([[10.0, 100.0]]).tolist() == [321.0]


# --- saving ----------------------------------------------------------------------------------


def files_in(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_saving_replaces_the_file_and_leaves_nothing_else_behind(tmp_path, ending):
    path = tmp_path / f"poly{ending}"
    path.write_text("something older and much longer than the polynomial" * 1000)
    small_polynomial().save(path)
    assert_identical(n2p.load(path), small_polynomial())
    assert files_in(tmp_path) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_a_saved_file_has_the_permissions_of_any_other_new_file(tmp_path):
    other = tmp_path / "other"
    other.touch()
    path = small_polynomial().save(tmp_path / "poly.json")
    assert path.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "bad", [object(), 1j, float("nan"), b"bytes"], ids=lambda bad: type(bad).__name__
)
def test_a_failed_save_leaves_the_existing_file_and_no_other(tmp_path, ending, bad):
    path = small_polynomial().save(tmp_path / f"poly{ending}")
    poly = Polynomial([[1.0], [2.0]], 1, ["a"], classes=("yes", bad), link="sigmoid")
    with pytest.raises(StorageError, match="something that a file cannot") as caught:
        poly.save(path)
    assert "strings, numbers or booleans" in caught.value.expected
    assert_identical(n2p.load(path), small_polynomial())
    assert files_in(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_half_of_a_surrogate_pair_in_a_name_is_kept_or_refused(tmp_path, ending):
    poly = Polynomial([[1.0], [2.0]], 1, ["\ud800"])
    try:
        path = poly.save(tmp_path / f"poly{ending}")
    except StorageError:
        assert files_in(tmp_path) == []
    else:
        assert_identical(n2p.load(path), poly)


@pytest.mark.parametrize("name", ["poly.txt", "poly.pkl", "poly.JSON2", ".json"])
def test_an_unknown_ending_is_refused_with_the_known_ones(tmp_path, name):
    with pytest.raises(StorageError, match="ending") as caught:
        small_polynomial().save(tmp_path / name)
    assert ".json" in caught.value.expected
    assert ".npz" in caught.value.expected
    assert caught.value.found == (Path(name).suffix or "no ending")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_folder_that_does_not_exist_is_refused_with_a_remedy(tmp_path, ending):
    with pytest.raises(StorageError, match="cannot be written; nothing was changed") as caught:
        small_polynomial().save(tmp_path / "nowhere" / f"poly{ending}")
    assert "folder exists" in caught.value.remedy
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, ending):
    (tmp_path / "file").write_text("here")
    with pytest.raises(StorageError, match="cannot be written"):
        small_polynomial().save(tmp_path / "file" / f"poly{ending}")
    assert files_in(tmp_path) == ["file"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_folder_in_the_place_of_the_file_is_refused_and_kept(tmp_path, ending):
    path = tmp_path / f"poly{ending}"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        small_polynomial().save(path)
    assert files_in(tmp_path) == [path.name]
    assert files_in(path) == ["inside"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_path_that_no_system_accepts_is_refused(ending):
    with pytest.raises(StorageError):
        small_polynomial().save(f"nul\0l{ending}")
    with pytest.raises(StorageError):
        n2p.load(f"nul\0l{ending}")


# --- loading what is no polynomial -----------------------------------------------------------


def test_a_missing_file_is_refused(tmp_path):
    error = refused(tmp_path / "missing.json")
    assert error.found == "No such file or directory"


def test_a_folder_is_refused(tmp_path):
    refused(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"P",
        b"PK",
        b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18),
        b"{}",
        b"[]",
        b"null",
        b"NaN",
        b'{"format": "another"}',
        b'{"format": "nn2poly polynomial"}',
        b'{"format": "nn2poly polynomial", "version": 1}',
        b"\xff\xfe\x00",
        b"\x00" * 100,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 100_000,
        pickle.dumps({"format": "nn2poly polynomial"}),
    ],
    ids=lambda d: repr(d[:20]),
)
def test_files_that_are_something_else_are_refused(tmp_path, data):
    path = tmp_path / "poly.json"
    path.write_bytes(data)
    refused(path)


@pytest.mark.parametrize("version", [4, 0, -1, "1", None, [1], 1.5, 3.0, True, False, 10**30])
def test_another_version_is_refused_with_the_remedy(tmp_path, version):
    path = tmp_path / "poly.json"
    path.write_bytes(sealed_json(JSON_BODY, version=version))
    error = refused(path)
    assert (error.expected, error.found) == ("version 3 or an older one", f"version {version!r}")
    assert "pip install --upgrade nn2poly" in error.remedy


def test_a_newer_archive_is_refused_with_the_remedy(tmp_path):
    top = {"format": "nn2poly polynomial", "version": 4, "digest": "", "body": {}}
    header = npy(np.frombuffer(json.dumps(top).encode(), dtype=np.uint8))
    path = tmp_path / "poly.npz"
    sealed_npz(path, {}, [], header=header)
    assert "upgrade" in refused(path).remedy


def test_numbers_that_are_not_finite_are_refused_in_json(tmp_path):
    path = tmp_path / "poly.json"
    for name in ("NaN", "Infinity", "-Infinity", "1e999"):
        path.write_bytes(sealed_json(JSON_BODY).replace(b"[3.0]", f"[{name}]".encode()))
        refused(path)


# --- damage ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_cut_anywhere_is_refused(tmp_path, ending):
    poly = small_polynomial()
    data = poly.save(tmp_path / f"poly{ending}").read_bytes()
    path = tmp_path / "cut"
    for end in [*range(0, len(data), 3), *range(len(data) - 30, len(data))]:
        assert not assert_refused_or_identical(path, data[:end], poly), end


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_flipped_byte_is_refused_or_harmless(tmp_path, ending):
    poly = small_polynomial()
    data = poly.save(tmp_path / f"poly{ending}").read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / "flipped"
    places = rng.integers(0, len(data), size=600)
    flips = rng.integers(1, 256, size=600)
    refusals = 0
    for place, flip in zip(places.tolist(), flips.tolist(), strict=True):
        damaged = bytearray(data)
        damaged[place] ^= flip
        refusals += not assert_refused_or_identical(path, bytes(damaged), poly)
    assert refusals > 300


@pytest.mark.slow
def test_every_flip_in_the_directory_of_an_archive_is_refused_or_harmless(tmp_path):
    """The directory at the end is not under the digest: positions, sizes, methods, flags."""
    poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    data = poly.save(tmp_path / "poly.npz").read_bytes()
    path = tmp_path / "flipped.npz"
    for place in range(data.index(b"PK\x01\x02"), len(data)):
        for flip in (1, 8, 12, 14, 128):
            damaged = bytearray(data)
            damaged[place] ^= flip
            assert_refused_or_identical(path, bytes(damaged), poly)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_changed_coefficient_is_refused_as_a_change(tmp_path, ending):
    poly = Polynomial([[1.25], [2.0]], 1, ["a"])
    path = poly.save(tmp_path / f"poly{ending}")
    data = path.read_bytes()
    old, new = b"1.25", b"1.26"
    if ending == ".npz":
        old, new = np.float64(1.25).tobytes(), np.float64(1.26).tobytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))
    assert "damaged or changed" in refused(path).what


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@in_one_folder
@given(st.binary(max_size=40), st.integers(0, 10**6), st.integers(0, 40))
def test_bytes_put_in_the_place_of_others_are_refused_or_harmless(
    tmp_path, ending, extra, place, removed
):
    poly = Polynomial([[1.0], [2.0]], 1, ["a"])
    data = poly.save(tmp_path / f"poly{ending}").read_bytes()
    place %= len(data)
    damaged = data[:place] + extra + data[place + removed :]
    assert_refused_or_identical(tmp_path / "spliced", damaged, poly)


# --- files made with intent: the digest is right, the content is not -------------------------

ROW = {"center": 0.0, "scale": 1.0, "function": {"kind": "identity"}}
NOT_LISTS = [None, 5, "ab", {}, True]
HOSTILE = {
    "type": [None, "poly", 1, []],
    "coefficients": [
        *NOT_LISTS,
        [],
        [[1.0], [2.0]],
        [[1.0], [2.0, 3.0], [4.0]],
        [["a"], ["b"], ["c"]],
        [[None], [1.0], [2.0]],
        [[True], [False], [True]],
        [[1.0], [2.0], [10**400]],
        [[1.0], [2.0], [2**53 + 1]],  # a float would round it
        [[1.0], [2.0], [True]],
        [[[1.0]], [[2.0]], [[3.0]]],
        [[], [], []],
    ],
    "deviations": ["abc", 5, {}, [], [[1.0]], [["a"], ["b"], ["c"]], [[1.0, 2.0]] * 3],
    "terms": [
        *NOT_LISTS,
        [],
        ["type", "n_features", "max_order"],
        {"type": "graded", "n_features": 2, "max_order": 2},
        {"type": "graded", "n_features": 2, "max_order": 101},
        {"type": "graded", "n_features": 2, "max_order": 10**30},
        {"type": "graded", "n_features": 10**30, "max_order": 1},
        {"type": "graded", "n_features": 2, "max_order": -1},
        {"type": "graded", "n_features": 2, "max_order": True},
        {"type": "graded", "n_features": 2.0, "max_order": 1},
        {"type": "graded", "n_features": 2, "max_order": 1, "blocks": []},
        {"type": "graded", "n_features": 2},
        {"type": "chosen", "n_features": 2, "max_order": 1},
        {"n_features": 2, "max_order": 1},
    ],
    "terms.type": [None, "graded", 1, []],
    "terms.n_features": [0, 1, 3, -2, 2.0, "2", None, True, 10**30],
    "terms.blocks": [
        *NOT_LISTS,
        [],
        [[[]]],
        [[[]], [[0], [1]], [[0, 1]]],  # more terms than coefficients
        [[[0], [1]], [[]]],  # degrees exchanged
        [[[]], [[0, 1]]],
        [[[]], [[]], [[0]], [[1]]],
        [[[]], [[], []]],
        [[], [[0], [1], [1]]],
        [[[], []], [[0]]],  # two intercepts
        [[[], [], []]],
    ],
    "terms.blocks.0": [*NOT_LISTS, [[0]], [0], [[], []], [[[]]]],
    "terms.blocks.1": [
        *NOT_LISTS,
        [0, 1],
        [[0, 1]],
        [[[0]], [[1]]],
        [[0], [2]],  # no such feature
        [[-1], [0]],
        [[1], [0]],  # not in order
        [[1], [1]],
        [[0.0], [1.0]],
        [[0.25], [1.5]],
        [["0"], ["1"]],
        [[False], [True]],
        [[None], [1]],
        [[0], [2**63]],
        [[0], [2**64 + 1]],
        [[0], [-(2**63)]],
        [[0], [10**30]],
    ],
    "inputs": [*NOT_LISTS, [], ["columns", "places", "named"]],
    "inputs.columns": [*NOT_LISTS, [], [1, 2], JSON_BODY["inputs"]["columns"][:1]],
    "inputs.places": [*NOT_LISTS, [[0]], [[0], [0]], [[0], [2]], [[0, 1], []], [0, 1], ["0", "1"]],
    "inputs.places.0": [*NOT_LISTS, [], [1], [-1], [0.0], [False], [0, 1]],
    "inputs.named": [None, 1, "true", []],
    "inputs.columns.0": [*NOT_LISTS, [], {"name": "a"}],
    "inputs.columns.0.name": [None, 5, [], ["a"], True],
    "inputs.columns.0.kind": [None, "factor", "text", 5, ["number"]],
    "inputs.columns.0.levels": ["ab", None, 5, {}, ["x"], [1]],
    "inputs.columns.0.features": [*NOT_LISTS, ["b"], ["a", "c"], [""], [1], [None]],
    "inputs.columns.0.coordinates": [*NOT_LISTS, [None], [ROW, ROW], ["ab"]],
    "inputs.columns.0.coordinates.0": [*NOT_LISTS, [], ROW | {"more": 1}, {"center": 0.0}],
    "inputs.columns.0.coordinates.0.center": [None, "1.0", "nan", True, [], {}, 10**400],
    "inputs.columns.0.coordinates.0.scale": [0, 0.0, -1.0, None, "1.0", True, [1.0], 10**400],
    "inputs.columns.0.coordinates.0.function": [
        *NOT_LISTS,
        "identity",
        [["kind", "identity"]],
        {"kind": "wavelet"},
        {"kind": ["identity"]},
        {"kind": None},
        {"kind": "identity", "base": 2.0},
    ],
    "inputs.columns.0.ranges": [
        "ab",
        5,
        {},
        [],
        True,
        [[0.0]],
        [[0.0, 1.0, 2.0]],
        [["0", "1"]],
        [[None, 1.0]],
        [[0.0, 1.0], [0.0, 1.0]],
        [0.0, 1.0],
        [[False, True]],
    ],
    "outputs": [*NOT_LISTS, [], ["names", "classes", "link", "named"]],
    "outputs.names": [*NOT_LISTS, [], [""], ["u", "v"], [5], [None]],
    "outputs.classes": ["ab", 5, {}, True, [["a"], ["b"]], [{}, {}], [None, 1], ["a", None]],
    "outputs.link": [None, "probit", 5, []],
    "outputs.named": [None, 0, "true"],
    "card": [5, "ab", [], {}, {"r2": 1.0}],
    "layers": [*NOT_LISTS, [1], [[]], [[JSON_BODY]], [[JSON_BODY] * 3], [["a", "b"]], [{}]],
}


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in HOSTILE.items() for value in values],
    ids=lambda x: str(x)[:40],
)
def test_a_body_that_describes_no_polynomial_is_refused(tmp_path, field, value):
    path = tmp_path / "poly.json"
    bad = changed(JSON_BODY, field, value)
    path.write_bytes(sealed_json(bad))
    refused(path)
    # The same, in the polynomial of a layer.
    path.write_bytes(sealed_json(JSON_BODY | {"layers": [[JSON_BODY, bad]]}))
    refused(path)


def test_the_header_has_its_fields_alone_and_each_once(tmp_path):
    path, good = tmp_path / "poly.json", sealed_json(JSON_BODY)
    path.write_bytes(good)
    n2p.load(path)
    path.write_bytes(sealed_json(JSON_BODY, signature="x"))
    assert "header" in refused(path).found
    path.write_bytes(sealed_json(JSON_BODY, author="x"))
    assert "header" in refused(path).found
    path.write_bytes(good.replace(b'{"format"', b'{"version": 2, "format"', 1))
    assert "twice" in refused(path).found


OBJECTS = {
    "": JSON_BODY,
    "terms": JSON_BODY["terms"],
    "inputs": JSON_BODY["inputs"],
    "inputs.columns.1": JSON_BODY["inputs"]["columns"][1],
    "inputs.columns.1.coordinates.0": ROW,
    "outputs": JSON_BODY["outputs"],
}


@pytest.mark.parametrize(
    ("place", "field"),
    [(place, field) for place, fields in OBJECTS.items() for field in sorted(fields)],
)
def test_a_field_missing_or_unknown_is_refused(tmp_path, place, field):
    path, fields = tmp_path / "poly.json", OBJECTS[place]
    less = {k: v for k, v in fields.items() if k != field}
    for bad in (less, fields | {field + "_": 1}):
        path.write_bytes(sealed_json(changed(JSON_BODY, place, bad)))
        refused(path)


@pytest.mark.parametrize("depth", [10, 200, 300, 320, 330, 340, 400, 2000])
def test_layers_within_layers_are_refused_or_read_whatever_their_depth(tmp_path, depth):
    """Reading recurses: where Python's own limit lies must not show."""
    body, path = JSON_BODY, tmp_path / "poly.json"
    text = json.dumps(JSON_BODY | {"layers": "HERE"}, sort_keys=True, separators=(",", ":"))
    leaf = json.dumps(JSON_BODY, sort_keys=True, separators=(",", ":"))
    before, after = text.split('"HERE"')
    body = (before + "[[" + leaf + ",") * depth + leaf + ("]]" + after) * depth
    digest = hashlib.sha256(body.encode()).hexdigest()
    top = f'{{"format":"nn2poly polynomial","version":3,"digest":"{digest}","body":{body}}}'
    path.write_text(top)
    try:
        poly = n2p.load(path)
    except StorageError:
        assert depth > 10
    else:
        assert len(poly.layers) == 1


@pytest.mark.parametrize("body", [None, 5, "text", [], {}], ids=str)
def test_a_body_that_is_no_object_is_refused(tmp_path, body):
    path = tmp_path / "poly.json"
    path.write_bytes(sealed_json(body))
    refused(path)


def test_bodies_nested_to_any_depth_are_refused(tmp_path):
    path = tmp_path / "poly.json"
    limit = sys.getrecursionlimit()
    for depth in [*range(limit - 200, limit + 5), 10 * limit]:
        nested = b"[" * depth + b"]" * depth
        path.write_bytes(b'{"format":"nn2poly polynomial","version":3,"body":' + nested + b"}")
        refused(path)


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        [],
        {},
        {"array": 99},
        {"array": -1},
        {"array": "0"},
        {"array": 1.0},
        {"array": True},
    ],
    ids=str,
)
def test_an_array_that_is_not_in_the_archive_is_refused(tmp_path, value):
    path = tmp_path / "poly.npz"
    sealed_npz(path, changed(NPZ_BODY, "terms.blocks.1", value), NPZ_ARRAYS)
    refused(path)


def test_an_array_of_another_type_is_refused(tmp_path):
    path = tmp_path / "poly.npz"
    sealed_npz(path, NPZ_BODY, with_rows(npy(np.array([[0.0], [1.0]]))))
    refused(path)
    numbers = NPZ_BODY["coefficients"]
    sealed_npz(path, changed(NPZ_BODY, "terms.blocks.1", numbers), NPZ_ARRAYS)
    refused(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["coefficients", "deviations"])
def test_numbers_that_are_not_finite_are_refused_in_an_archive(tmp_path, field, bad):
    path = tmp_path / "poly.npz"
    extra = npy(np.array([[1.0], [bad], [2.0]]))
    body = NPZ_BODY | {field: {"array": len(NPZ_ARRAYS)}}
    sealed_npz(path, body, [*NPZ_ARRAYS, extra])
    refused(path)


MEMBERS = {
    "huge shape": npy(np.arange(2), shape=(10**12, 10**6)),
    "larger shape": npy(np.arange(2), shape=(3, 1)),
    "smaller shape": npy(np.arange(2), shape=(1, 1)),
    "negative shape": npy(np.arange(2), shape=(-1, -2)),
    "negative zero-sized shape": npy(np.zeros(0, dtype=np.int64), shape=(0, -1)),
    "zero of a huge shape": npy(np.zeros(0, dtype=np.int64), shape=(0, 10**30)),
    "empty": npy(np.zeros(0, dtype=np.int64)),
    "flat": npy(np.arange(2)),
    "three dimensions": npy(np.arange(2).reshape(2, 1, 1)),
    "other kind": npy(np.zeros(2, dtype=np.int32)),
    "big-endian": npy(np.zeros(2, dtype=">i8")),
    "structured": npy(np.zeros(2, dtype=[("a", "<f8")])),
    "strings": npy(np.array(["ab", "cd"])),
    "fortran": npy(np.arange(2), shape=(2, 1), fortran_order=True),
    "no header": b"",
    "magic alone": b"\x93NUMPY\x01\x00",
    "no array": b"plain text",
    "version 2": NPZ_ARRAYS[ROWS].replace(b"\x01\x00", b"\x02\x00", 1),
    "unbalanced header": NPZ_ARRAYS[ROWS].replace(b"}", b"("),
    "header of nonsense": NPZ_ARRAYS[ROWS].replace(b"{'descr'", b"['descr'"),
    "header of another kind": NPZ_ARRAYS[ROWS].replace(b"'shape': (2, 1), ", b"'shape': 'abc', "),
    "object": npy(np.arange(2), descr="|O"),
    "unknown type": npy(np.arange(2), descr="<zz"),
}


@pytest.mark.parametrize("name", sorted(MEMBERS))
@pytest.mark.parametrize("place", ["rows", "header"])
@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header")
def test_a_member_that_is_not_the_array_it_should_be_is_refused(tmp_path, place, name):
    path = tmp_path / "poly.npz"
    if place == "rows":
        sealed_npz(path, NPZ_BODY, with_rows(MEMBERS[name]))
    else:
        sealed_npz(path, NPZ_BODY, NPZ_ARRAYS, header=MEMBERS[name])
    tracemalloc.start()
    try:
        refused(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5e6


def test_members_by_another_name_more_or_twice_are_refused(tmp_path):
    sealed_npz(tmp_path / "good.npz", NPZ_BODY, NPZ_ARRAYS)
    with zipfile.ZipFile(tmp_path / "good.npz") as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    changed = [
        [*members, ("extra.npy", members[1][1])],
        members[:-1],
        members[1:],
        [("../header.npy", members[0][1]), *members[1:]],
        [*members, (f"a{len(NPZ_ARRAYS)}.npy", NPZ_ARRAYS[0])],
        [],
    ]
    path = tmp_path / "poly.npz"
    for listed in changed:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in listed:
                archive.writestr(name, data)
        refused(path)
    assert files_in(tmp_path) == ["good.npz", "poly.npz"]


def test_numpys_own_archives_are_refused(tmp_path):
    path = tmp_path / "poly.npz"
    np.savez(path, coefficients=np.zeros((3, 1)))
    refused(path)
    np.savez_compressed(path, header=np.zeros(3, dtype=np.uint8))
    refused(path)


def test_an_archive_that_claims_more_than_the_memory_is_refused_before_reading(tmp_path):
    """A zip bomb: one zero byte, repeated, packs a thousandfold."""
    path = tmp_path / "poly.npz"
    bomb = npy(np.zeros(4_000_000))
    sealed_npz(path, NPZ_BODY, with_rows(bomb), None, zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    size = len(bomb).to_bytes(4, "little")
    # The size in the directory, through the 64-bit extension that zip has for it.
    start = data.rindex(b"PK\x01\x02", 0, data.rindex(f"a{ROWS}.npy".encode()))
    entry = bytearray(data[start : start + 46])
    assert bytes(entry[24:28]) == size
    entry[24:28] = b"\xff\xff\xff\xff"
    entry[30:32] = (12).to_bytes(2, "little")
    name = data[start + 46 : start + 46 + 6]
    extra = b"\x01\x00\x08\x00" + (2**60).to_bytes(8, "little")
    patched = data[:start] + bytes(entry) + name + extra + data[start + 52 :]
    end = patched.rindex(b"PK\x05\x06")
    directory = int.from_bytes(patched[end + 12 : end + 16], "little") + 12
    patched = patched[: end + 12] + directory.to_bytes(4, "little") + patched[end + 16 :]
    path.write_bytes(patched)
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo(f"a{ROWS}.npy").file_size == 2**60
    assert "would not fit in memory" in refused(path).what


# --- nothing is executed ---------------------------------------------------------------------


class Trap:
    """Create a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_the_trap_of_these_tests_works(tmp_path):
    marker = tmp_path / "marker"
    pickle.loads(pickle.dumps(Trap(marker))).close()
    assert marker.exists()


def test_a_pickle_is_refused_and_not_run(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "poly.npz"
    path.write_bytes(pickle.dumps(Trap(marker)))
    refused(path)
    assert not marker.exists()


@pytest.mark.parametrize("place", ["header", "array"])
def test_a_pickled_object_array_is_refused_and_not_run(tmp_path, place):
    marker, path = tmp_path / "marker", tmp_path / "poly.npz"
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([Trap(marker)] * 2, dtype=object), allow_pickle=True)
    evil = file.getvalue()
    if place == "header":
        sealed_npz(path, NPZ_BODY, NPZ_ARRAYS, header=evil)
    else:
        sealed_npz(path, NPZ_BODY, with_rows(evil))
    refused(path)
    assert not marker.exists()


def test_a_saved_archive_opens_without_pickle(tmp_path):
    path = small_polynomial().save(tmp_path / "poly.npz")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    assert "header" in arrays
    assert not any(array.dtype.hasobject for array in arrays.values())
    np.testing.assert_array_equal(arrays["a0"], small_polynomial().coefficients)
