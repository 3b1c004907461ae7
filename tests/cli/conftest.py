"""What the tests of the command line share: real files of real models, and a runner."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nn2poly.cli.app import build

pd = pytest.importorskip("pandas")

SCRIPT = Path(sys.executable).with_name("nn2poly")
FEATURES = ["age", "dose", "weight"]


def table(seed, n=240):
    """Make rows with an id, three inputs of different units, and a price."""
    rng = np.random.default_rng(seed)
    age, dose, weight = rng.uniform(20, 80, n), rng.uniform(0, 2, n), rng.normal(70, 12, n)
    price = 3 + np.tanh((age - 50) / 20) * dose + 0.01 * weight
    frame = pd.DataFrame({"id": np.arange(n) + 100, "age": age, "dose": dose, "weight": weight})
    return frame.round(4).assign(price=price.round(6))


def torch_module():
    import torch
    from torch import nn

    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).eval()
    module[0].weight.data *= 0.02  # for inputs of size 50
    return module


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """Fill a folder with models of every format and tables; nobody writes to it."""
    folder = tmp_path_factory.mktemp("shelf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the frameworks, while they train and export
        _tables(folder)
        _sklearn_models(folder)
        _torch_models(folder)
        _keras_model(folder)
    return folder


def _tables(folder):
    from sklearn.datasets import load_iris

    train = table(1)
    train.to_csv(folder / "train.csv", index=False)
    for name in ("test", "new", "rows"):
        table(2, 60).to_csv(folder / f"{name}.csv", index=False)
    plain = train[FEATURES]
    plain.to_csv(folder / "plain.csv", index=False)
    plain.to_parquet(folder / "plain.parquet")
    plain.to_feather(folder / "plain.feather")
    iris = load_iris(as_frame=True)
    species = iris.target.map(dict(enumerate(iris.target_names)))
    iris.data.assign(species=species).to_csv(folder / "iris.csv", index=False)


def _sklearn_models(folder):
    import joblib
    import skops.io
    from skl2onnx import to_onnx
    from sklearn.compose import make_column_transformer
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    options = {"hidden_layer_sizes": (8,), "activation": "tanh", "max_iter": 150, "random_state": 0}
    train, iris = pd.read_csv(folder / "train.csv"), pd.read_csv(folder / "iris.csv")
    model = make_pipeline(StandardScaler(), MLPRegressor(**options))
    model.fit(train[FEATURES], train["price"])
    skops.io.dump(model, folder / "model.skops")
    joblib.dump(model, folder / "model.joblib")
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    classifier = make_pipeline(StandardScaler(), MLPClassifier(**options))
    classifier.fit(iris.drop(columns="species"), iris["species"])
    skops.io.dump(classifier, folder / "iris.skops")
    nameless = make_pipeline(StandardScaler(), MLPRegressor(**options))
    nameless.fit(train[FEATURES].to_numpy(), train["price"])
    onnx = to_onnx(nameless, train[FEATURES].to_numpy(np.float32)[:1])
    (folder / "model.onnx").write_bytes(onnx.SerializeToString())
    colours = train[FEATURES].assign(colour=np.where(train["age"] > 50, "red", "blue"))
    colours.to_csv(folder / "colours.csv", index=False)
    encoder = make_column_transformer(
        (StandardScaler(), FEATURES), (OneHotEncoder(sparse_output=False), ["colour"])
    )
    encoded = make_pipeline(encoder, MLPRegressor(**options)).fit(colours, train["price"])
    skops.io.dump(encoded, folder / "colours.skops")


def _torch_models(folder):
    import torch

    module = torch_module()
    program = torch.export.export(
        module, (torch.zeros(2, 3),), dynamic_shapes=({0: torch.export.Dim("batch")},)
    )
    torch.export.save(program, folder / "model.pt2")
    torch.save(module, folder / "module.pt")
    torch.save(module.state_dict(), folder / "weights.pth")


def _keras_model(folder):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    keras.utils.set_random_seed(5)
    small = keras.initializers.RandomNormal(stddev=0.01)
    layers = [keras.layers.Dense(6, "tanh", kernel_initializer=small), keras.layers.Dense(1)]
    model = keras.Sequential([keras.layers.Input((3,)), *layers])
    model.save(folder / "model.keras")


@pytest.fixture
def here(shelf, tmp_path, monkeypatch):
    """Work in a fresh folder that holds copies of the shelf's files."""
    shutil.copytree(shelf, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture(scope="session")
def polynomials(shelf, tmp_path_factory):
    """Convert the regression and the classifier once: ``poly.json`` and ``iris.json``."""
    folder = tmp_path_factory.mktemp("polynomials")
    for model, data, target, name in (
        ("model.skops", "train.csv", "price", "poly.json"),
        ("iris.skops", "iris.csv", "species", "iris.json"),
    ):
        arguments = ["convert", shelf / model, "-d", shelf / data, "-t", target]
        run = CliRunner().invoke(build(), [*map(str, arguments), "-o", str(folder / name)])
        assert run.exit_code == 0, run.stderr
    return folder


@pytest.fixture
def ready(here, polynomials):
    """Work in a folder that also holds ``poly.json`` and ``iris.json``."""
    for path in polynomials.iterdir():
        shutil.copy(path, here)
    return here


@pytest.fixture(scope="session")
def call():
    """Give a caller of the application in this process: ``call("show", path)``."""
    app, runner = build(), CliRunner()

    def run(*arguments, code=0, stdin=None):
        result = runner.invoke(app, [str(a) for a in arguments], input=stdin)
        assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr)
        return result

    return run


@pytest.fixture(scope="session")
def call_json(call):
    """Give a caller with ``--json`` that parses the document."""

    def run(*arguments, **options):
        result = call(*arguments, "--json", **options)
        return json.loads(result.stdout)

    return run


@pytest.fixture(scope="session")
def shell():
    """Give a caller of the installed script in a fresh shell: ``shell("nn2poly doctor", cwd)``."""

    def run(line, cwd, **options):
        clean = {
            k: os.environ[k]
            for k in ("HOME", "LANG", "PYTHONPATH", "SYSTEMROOT")
            if k in os.environ
        }
        path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
        env = {**clean, "PATH": path, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )

    return run
