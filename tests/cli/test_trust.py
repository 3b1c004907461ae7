"""Files that could run code do not run it, unless they are trusted."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.cli.models import SAFE_TYPES, load_network
from nn2poly.cli.pt2 import clean_archive
from nn2poly.errors import NN2PolyError, UnsupportedModelError

FEATURES = ["age", "dose", "weight"]


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (Path(self.path),))


def test_trusted_pickles_give_the_same_network_as_the_safe_format(shelf):
    X = pd.read_csv(shelf / "plain.csv")
    safe = load_network(shelf / "model.skops").predict(X)
    for name in ("model.pkl", "model.joblib"):
        np.testing.assert_array_equal(load_network(shelf / name, trust=True).predict(X), safe)
    program = load_network(shelf / "model.pt2").predict(X)
    module = load_network(shelf / "module.pt", trust=True).predict(X)
    np.testing.assert_allclose(program, module, rtol=1e-12)
    whole = load_network(shelf / "model.pt2", trust=True).predict(X)
    np.testing.assert_array_equal(whole, program)


def test_networks_of_files_predict_as_their_frameworks(shelf):
    import torch
    from onnxruntime import InferenceSession

    X = pd.read_csv(shelf / "plain.csv")
    module = torch.load(shelf / "module.pt", weights_only=False)
    with torch.no_grad():
        expected = module(torch.tensor(X.to_numpy(np.float32))).numpy()[:, 0]
    np.testing.assert_allclose(load_network(shelf / "model.pt2").predict(X), expected, rtol=1e-4)
    session = InferenceSession(shelf / "model.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: X.to_numpy(np.float32)})
    np.testing.assert_allclose(
        load_network(shelf / "model.onnx").predict(X.to_numpy()), found[:, 0], rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("ending", ["pkl", "joblib", "pt"])
def test_a_pickle_is_not_even_opened_without_trust(tmp_path, ending):
    import pickle

    bomb = tmp_path / f"bomb.{ending}"
    bomb.write_bytes(pickle.dumps(Bomb(tmp_path / "went off")))
    with pytest.raises(UnsupportedModelError, match="--trust"):
        load_network(bomb)
    assert not (tmp_path / "went off").exists()


# --- skops -----------------------------------------------------------------------------------


def saved(model, path):
    import skops.io

    skops.io.dump(model, path)
    return path


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
@pytest.mark.parametrize("around", ["alone", "search", "target"])
def test_networks_with_their_preprocessing_need_no_trust(tmp_path, solver, around):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    inner = MLPRegressor(hidden_layer_sizes=(3,), solver=solver, max_iter=5, random_state=0)
    model = make_pipeline(StandardScaler(), inner)
    if around == "search":
        model = GridSearchCV(model, {"mlpregressor__alpha": [0.1, 1.0]}, cv=2)
    if around == "target":
        model = TransformedTargetRegressor(model, transformer=MinMaxScaler())
    path = saved(model.fit(X, y), tmp_path / "m.skops")
    np.testing.assert_allclose(load_network(path).predict(X), model.predict(X), rtol=1e-6)


def test_a_type_that_is_not_known_is_refused_by_name_and_read_with_trust(tmp_path):
    from sklearn.neural_network import MLPRegressor

    model = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", random_state=0, max_iter=500)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model.fit(X, y)
    model.remark = n2p.errors.NN2PolyWarning
    path = saved(model, tmp_path / "m.skops")
    with pytest.raises(UnsupportedModelError, match=r"nn2poly\.errors\.NN2PolyWarning"):
        load_network(path)
    np.testing.assert_allclose(load_network(path, trust=True).predict(X), model.predict(X))


def test_every_safe_type_is_there_in_this_scikit_learn():
    from importlib import import_module

    for name in SAFE_TYPES:
        module, _, kind = name.rpartition(".")
        assert hasattr(import_module(module), kind), name


# --- exported programs -----------------------------------------------------------------------


def changed(source, target, edit):
    """Copy an archive with some members changed: ``edit`` maps a member's end to new bytes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            end = name.partition("/")[2]
            data = old.read(name)
            new.writestr(name, edit[end](data) if end in edit else data)
        for end, make in edit.items():
            if not any(name.partition("/")[2] == end for name in old.namelist()):
                new.writestr(f"model/{end}", make(b""))
    return target


def in_json(key, value):
    """Replace the first entry ``key`` of a JSON member, wherever it stands."""

    def edit(data):
        document = json.loads(data)
        assert _replace(document, key, value)
        return json.dumps(document).encode()

    return edit


def _replace(node, key, value):
    if isinstance(node, dict):
        if key in node:
            node[key] = value
            return True
        return any(_replace(part, key, value) for part in node.values())
    return isinstance(node, list) and any(_replace(part, key, value) for part in node)


MODEL, CONFIG = "models/model.json", "data/weights/model_weights_config.json"
EXPRESSION = "__import__('os').system('touch went_off')"
SPEC = json.dumps([1, {"type": "collections.defaultdict", "context": "{}", "children_spec": []}])


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({MODEL: in_json("expr_str", EXPRESSION)}, "the expression"),
        ({MODEL: in_json("expr_str", "Symbol('s1').func")}, "the expression"),
        ({MODEL: in_json("expr_str", "9**9**9**9")}, "the expression"),
        ({MODEL: in_json("expr_str", "9* *9")}, "the expression"),
        ({MODEL: in_json("expr_str", "Symbol('s0')**9")}, "the expression"),
        ({MODEL: in_json("expr_str", "9" * 13)}, "the expression"),
        ({MODEL: in_json("expr_str", "999999*" * 200 + "9")}, "the expression"),
        ({MODEL: in_json("target", "torch.serialization.os.system")}, "the operation"),
        ({MODEL: in_json("target", "#other:op")}, "the operation"),
        ({MODEL: in_json("in_spec", SPEC)}, "the containers 'collections.defaultdict'"),
        ({MODEL: in_json("name", "x; import os")}, "the name"),
        ({CONFIG: in_json("use_pickle", True)}, "pickled tensors"),
        ({"data/aotinductor/model/m.so": lambda _: b"ELF"}, "the members"),
        ({"data/constants/custom_obj_0": lambda _: b"x"}, "the members"),
        ({"data/weights/model.pt": lambda _: b"x"}, "the members"),
    ],
)
def test_an_exported_program_with_code_in_it_is_refused(shelf, tmp_path, monkeypatch, edit, says):
    monkeypatch.chdir(tmp_path)
    bad = changed(shelf / "model.pt2", tmp_path / "bad.pt2", edit)
    with pytest.raises(UnsupportedModelError) as caught:
        load_network(bad)
    assert says in str(caught.value)
    assert "--trust" in str(caught.value)
    assert not (tmp_path / "went_off").exists()


def test_the_expression_of_that_test_would_run_with_trust(shelf, tmp_path, monkeypatch):
    """PyTorch evaluates it: this is why the archive is looked through first."""
    monkeypatch.chdir(tmp_path)
    edit = {MODEL: in_json("expr_str", EXPRESSION)}
    bad = changed(shelf / "model.pt2", tmp_path / "bad.pt2", edit)
    with pytest.raises(NN2PolyError):
        load_network(bad, trust=True)
    assert (tmp_path / "went_off").exists()


def test_a_size_that_is_a_product_around_a_symbol_passes(shelf, tmp_path):
    edit = {MODEL: in_json("expr_str", "2*Symbol('s99', integer=True)*3 + 999999999999")}
    clean_archive(changed(shelf / "model.pt2", tmp_path / "good.pt2", edit))


def test_a_pickle_in_the_example_inputs_is_thrown_away(shelf, tmp_path):
    import torch

    data = io.BytesIO()
    torch.save((Bomb(tmp_path / "went off"),), data)
    edit = {"data/sample_inputs/model.pt": lambda _: data.getvalue()}
    bad = changed(shelf / "model.pt2", tmp_path / "bad.pt2", edit)
    X = pd.read_csv(shelf / "plain.csv")
    expected = load_network(shelf / "model.pt2").predict(X)
    np.testing.assert_array_equal(load_network(bad).predict(X), expected)
    assert not (tmp_path / "went off").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(shelf, tmp_path):
    bad = tmp_path / "bad.pt2"
    bad.write_bytes((shelf / "model.pt2").read_bytes())
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr(archive.namelist()[0], b"other")
    with pytest.raises(UnsupportedModelError, match="same name"):
        clean_archive(bad)


def test_normalisation_residuals_and_fixed_batches_pass(tmp_path):
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.a, self.b = nn.BatchNorm1d(4), nn.Linear(4, 4), nn.Linear(4, 2)
            self.register_buffer("shift", torch.ones(4), persistent=False)

        def forward(self, x):
            h = self.norm(x - self.shift)
            return self.b(h + torch.nn.functional.gelu(self.a(h)))

    torch.manual_seed(0)
    module = Residual().eval()
    torch.export.save(torch.export.export(module, (torch.zeros(5, 4),)), tmp_path / "r.pt2")
    X = np.random.default_rng(0).normal(size=(9, 4))
    with torch.no_grad():
        expected = module(torch.tensor(X, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(load_network(tmp_path / "r.pt2").predict(X), expected, atol=1e-5)


def test_keras_takes_a_backend_that_is_installed(monkeypatch):
    from nn2poly.cli.models import _choose_backend

    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    _choose_backend()
    assert os.environ.pop("KERAS_BACKEND", "torch") == "torch"
