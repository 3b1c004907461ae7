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
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
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


def test_a_pipeline_with_an_imputer_and_bins_needs_no_trust(folder, monkeypatch):
    skops = pytest.importorskip("skops.io")
    place, _ = folder
    monkeypatch.chdir(place)
    table = pd.read_csv("table.csv")
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    word = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = ColumnTransformer(
        [("num", make_pipeline(SimpleImputer(), bins), ["age"]), ("cat", word, ["job"])]
    )
    network = MLPClassifier(hidden_layer_sizes=(6,), solver="lbfgs", alpha=1.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(columns, network).fit(table[["age", "job"]], table.y)
    skops.dump(model, "binned.skops")
    run("convert", "binned.skops", "-d", "table.csv", "-t", "y", "-o", "binned.json", "-f")
    found = run("predict", "binned.json", "-d", "table.csv", "-t", "y", "--proba").split()[1:]
    chances = np.array([row.split(",") for row in found], dtype=float)
    np.testing.assert_allclose(chances, model.predict_proba(table[["age", "job"]]), atol=0.02)


@pytest.fixture(scope="module")
def adult_folder(tmp_path_factory):
    """Census rows as people have them, a model of them, and its threshold by Youden's J."""
    shapiq = pytest.importorskip("shapiq")
    X, y = shapiq.load_adult_census(to_numpy=False)
    numbers, levels = ["age", "hours-per-week", "capital-gain"], ["marital-status", "sex"]
    X = X[numbers + levels].iloc[:1500].astype(dict.fromkeys(levels, int))
    y = np.where(np.asarray(y)[:1500] == 1, "over 50k", "below")
    parts = [("num", StandardScaler(), numbers), ("cat", OneHotEncoder(), levels)]
    columns = ColumnTransformer(parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = MLPClassifier(hidden_layer_sizes=(8,), max_iter=30, random_state=0)
        model = make_pipeline(columns, network).fit(X, y)
    wrong, right, limits = roc_curve(y == "over 50k", model.predict_proba(X)[:, 1])
    made = tmp_path_factory.mktemp("adult")
    X.assign(income=y).to_csv(made / "adult.csv", index=False)
    (made / "model.pkl").write_bytes(pickle.dumps(model))
    return made, model, float(limits[np.argmax(right - wrong)])


def test_of_adult_card_report_and_command_line_speak_of_the_threshold_of_youden(
    adult_folder, monkeypatch
):
    place, model, youden = adult_folder
    assert youden < 0.4  # far from the half: rich people are rare
    monkeypatch.chdir(place)
    table = pd.read_csv("adult.csv")
    X, y = table.drop(columns="income"), table["income"]
    said, rule = f"at threshold {youden:.4g}", f"P(over 50k) >= {youden:.4g}"
    poly = n2p.convert(model, 2, data=X, threshold=youden)
    assert said in str(poly.card.verdict)
    card = n2p.fidelity(model, poly, X, y)
    theirs = np.where(model.predict_proba(X)[:, 1] >= youden, "over 50k", "below")
    assert card.agreement == np.mean(poly.predict_label(X) == theirs)
    assert card.labels.network.sensitivity == np.mean(theirs[y == "over 50k"] == "over 50k")
    assert rule in str(card)
    page = n2p.report(poly, model, X, y, "of_formula.html").read_text(encoding="utf-8")
    assert said in page
    data = ("--trust", "-d", "adult.csv", "-t", "income")
    assert said in run("convert", "model.pkl", *data, "--threshold", youden, "-f")
    shown = run("fidelity", "poly.json", "-m", "model.pkl", *data)
    assert said in shown
    assert rule in shown
    run("report", "poly.json", "-m", "model.pkl", *data, "-f")
    assert said in (place / "report.html").read_text(encoding="utf-8")
    assert n2p.load("poly.json").outputs.threshold == youden
