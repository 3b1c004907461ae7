"""The command line on a raw table with text, holes and a threshold of its own."""

import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_curve
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.testing import CliRunner

import nn2poly as n2p
from nn2poly.cli.app import build

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a table with text and holes, a model of it, and its threshold by Youden's J."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(40.0, 9.0, 400), "job": rng.choice(["a", "b"], 400)})
    noisy = X.age - 40 + 8 * (X.job == "a") + rng.normal(0, 6, 400)
    y = np.where(noisy > 6, "yes", "no")
    X = X.assign(age=X.age.mask(rng.random(400) < 0.1), job=X.job.mask(rng.random(400) < 0.1))
    number = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    word = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = ColumnTransformer([("num", number, ["age"]), ("cat", word, ["job"])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = MLPClassifier(hidden_layer_sizes=(6,), max_iter=80, random_state=0)
        model = make_pipeline(columns, network).fit(X, y)
    wrong, right, limits = roc_curve(y == "yes", model.predict_proba(X)[:, 1])
    made = tmp_path_factory.mktemp("raw")
    X.assign(y=y).to_csv(made / "table.csv", index=False)
    (made / "model.pkl").write_bytes(pickle.dumps(model))
    return made, float(limits[np.argmax(right - wrong)])


def run(*arguments):
    result = CliRunner().invoke(build(), list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


def test_convert_fidelity_report_and_predict_speak_of_the_threshold(folder, monkeypatch):
    place, youden = folder
    monkeypatch.chdir(place)
    said = f"at threshold {youden:.4g}"
    data = ("--trust", "-d", "table.csv", "-t", "y")
    found = run("convert", "model.pkl", *data, "--threshold", youden, "-f", "--json")
    assert json.loads(found)["threshold"] == youden
    poly = n2p.load("poly.json")
    assert said in str(poly.card.verdict)
    card = json.loads(run("fidelity", "poly.json", "-m", "model.pkl", *data, "--json"))["card"]
    assert (card["n_rows"], card["labels"]["threshold"]) == (400, youden)
    assert sum(map(sum, card["labels"]["network"]["confusion"])) == 400
    run("report", "poly.json", "-m", "model.pkl", *data, "-f")
    page = (place / "report.html").read_text(encoding="utf-8")
    assert said in page
    assert "Against the true labels" in page
    labels = run("predict", "poly.json", "-d", "table.csv", "-t", "y", "--label").split()[1:]
    assert labels == poly.predict_label(pd.read_csv("table.csv")).tolist()
    assert f"at least {youden:.6g}" in run("export", "poly.json", "--to", "sql", "--kind", "label")
