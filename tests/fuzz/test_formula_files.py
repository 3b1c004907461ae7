"""A file of a formula, changed by somebody who seals it again, is itself or is refused."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import canonical, difference, mutated, mutated_bytes

import nn2poly as n2p
from nn2poly.errors import NN2PolyError, StorageError
from nn2poly.formula.document import VERSION
from nn2poly.formula.region_tree import Leaf, Split

SEEDS = st.integers(0, 2**62)
VERSION_1 = Path(__file__).parents[1] / "formula" / "version1"
fuzzed = settings(
    settings.get_profile("fuzz"), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def with_card():
    rng = np.random.default_rng(0)
    hidden = n2p.Layer(rng.normal(0, 0.4, (3, 3)), rng.normal(0, 0.2, 3), "tanh")
    last = n2p.Layer(rng.normal(size=(3, 2)))
    net = n2p.Network([hidden, last], link="softmax", classes=("no", "yes"))
    return n2p.convert(net, 2, data=rng.normal(size=(400, 3)))


def with_layers():
    rng = np.random.default_rng(0)
    hidden = n2p.Layer(rng.normal(0, 0.2, (2, 2)), rng.normal(0, 0.2, 2), "tanh")
    return n2p.convert(n2p.Network([hidden, n2p.Layer([[1.0], [2.0]])]), 2, keep_layers=True)


def with_regions():
    one = n2p.Polynomial.from_terms(["1", "a", "a b"], [1.0, 2.0, 0.5], ["a", "b"])
    two = n2p.Polynomial.from_terms(["1", "b"], [1.0, 3.0], ["a", "b"])
    tree = Split(0, 6.5, left=Leaf(0), right=Leaf(1))
    return n2p.PiecewisePolynomial(tree, (one, two), n_rows=(10, 20), r2=(0.5, None))


FORMULAS = {"card": with_card, "layers": with_layers, "regions": with_regions}


@pytest.fixture(scope="module", params=FORMULAS)
def formula(request):
    return FORMULAS[request.param]()


def sealed(body, version=VERSION, arrays=()):
    digest = hashlib.sha256(canonical(body))
    for array in arrays:
        digest.update(array)
    head = {"format": "nn2poly polynomial", "version": version}
    return json.dumps({**head, "digest": digest.hexdigest(), "body": body}).encode()


def outcome(path):
    """Load and use a file; anything but a formula that works or a StorageError is a fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows outside the range, and of overflow
        try:
            found = n2p.load(path)
        except StorageError:
            return None
        assert str(found)
        assert found._repr_html_()
        assert str(found.card)
        with suppress(NN2PolyError):
            found.predict(np.zeros((2, found.inputs.n_features)))
    return found


def body_of(path):
    return json.loads(path.read_bytes())["body"]


@fuzzed
@given(seed=SEEDS)
def test_a_changed_and_sealed_json_is_itself_or_refused(formula, folder, tally, seed):
    body = body_of(formula.save(folder / "base.json"))
    changed = mutated(body, Random(seed))
    path = folder / "changed.json"
    path.write_bytes(sealed(changed))
    found = outcome(path)
    tally["refused" if found is None else "read as written"] += 1
    if found is not None:
        assert difference(changed, body_of(found.save(folder / "again.json"))) == ""


@fuzzed
@given(seed=SEEDS)
@pytest.mark.parametrize("name", ["binary.json", "layers.json", "sparse.json", "folded.json"])
def test_a_changed_and_sealed_file_of_version_1_is_read_or_refused(name, folder, tally, seed):
    path = folder / "changed.json"
    path.write_bytes(sealed(mutated(body_of(VERSION_1 / name), Random(seed)), version=1))
    tally["refused" if outcome(path) is None else "read"] += 1


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        members = [archive.read(name) for name in archive.namelist()]
    head = np.lib.format.read_array(io.BytesIO(members[0]), allow_pickle=False)
    return json.loads(head.tobytes())["body"], members[1:]


def write_archive(path, body, arrays):
    buffer = io.BytesIO()
    head = np.frombuffer(sealed(body, arrays=arrays), dtype=np.uint8)
    np.lib.format.write_array(buffer, head, allow_pickle=False)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", buffer.getvalue())
        for k, array in enumerate(arrays):
            archive.writestr(f"a{k}.npy", array)


def write_files(path, body, arrays):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    (path / "manifest.json").write_bytes(sealed(body, arrays=arrays))
    for k, array in enumerate(arrays):
        (path / f"a{k}.npy").write_bytes(array)


WRITERS = {"changed.npz": write_archive, "changed": write_files}


@fuzzed
@given(seed=SEEDS)
@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header")
@pytest.mark.parametrize("name", WRITERS)
def test_changed_and_sealed_arrays_are_read_as_written_or_refused(
    formula, name, folder, tally, seed
):
    rng = Random(seed)
    body, arrays = members_of(formula.save(folder / "base.npz"))
    if rng.random() < 0.5:
        body = mutated(body, rng)
    for k, array in enumerate(arrays):
        if rng.random() < 0.3:
            arrays[k] = mutated_bytes(array, rng)
    WRITERS[name](folder / name, body, arrays)
    found = outcome(folder / name)
    tally["refused" if found is None else "read as written"] += 1
    if found is not None:
        again, numbers = members_of(found.save(folder / "again.npz"))
        assert difference(_filled(body, arrays), _filled(again, numbers)) == ""


def _filled(body, arrays):
    """Put the arrays in the place of their numbers: two bodies may count them differently."""
    if isinstance(body, dict) and set(body) == {"array"}:
        array = np.lib.format.read_array(io.BytesIO(arrays[body["array"]]), allow_pickle=False)
        return f"{array.shape} {array.tobytes().hex()}"
    if isinstance(body, dict):
        return {key: _filled(value, arrays) for key, value in body.items()}
    return [_filled(value, arrays) for value in body] if isinstance(body, list) else body


@fuzzed
@given(seed=SEEDS)
@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_changed_bytes_are_refused_or_harmless(formula, ending, folder, tally, seed):
    base = formula.save(folder / f"base{ending}")
    path = folder / f"changed{ending}"
    path.write_bytes(mutated_bytes(base.read_bytes(), Random(seed)))
    found = outcome(path)
    tally["refused" if found is None else "harmless"] += 1
    if found is not None:
        assert found.save(folder / f"again{ending}").read_bytes() == base.read_bytes()
