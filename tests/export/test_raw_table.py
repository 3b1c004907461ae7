"""Exports of a pipeline run on the raw table: text, holes and unseen levels as they are."""

import ctypes
import json
import re
import sqlite3
import subprocess
import warnings

import duckdb
import formulas
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PowerTransformer,
    StandardScaler,
)

import nn2poly as n2p
from nn2poly import export
from nn2poly.errors import InvalidInputError

NUMBERS, TEXTS = ["income", "age"], ["purpose", "employment"]
pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")


def credit(n=600, seed=0):
    """Make a credit-like table with strings and holes, and who defaulted."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "income": np.exp(rng.normal(10.4, 0.7, n)),
            "age": rng.integers(19, 75, n).astype(float),
            "purpose": rng.choice(["car", 'tv "4k"', "home", "edu's"], n),
            "employment": rng.choice(["skilled", "none", "größe"], n),
        }
    )
    logit = 1.5 - 1.2 * (np.log(table.income) - 10.4) - 0.04 * (table.age - 40)
    logit += 0.9 * (table.purpose == "home") - 0.8 * (table.employment == "skilled") - 1.5
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "late", "ok")
    for name, share in zip(table.columns, (0.1, 0.03, 0.08, 0.04), strict=True):
        table[name] = table[name].mask(rng.random(n) < share)
    return table, y


def pipeline(text="constant", unknown="ignore"):
    number = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    word = make_pipeline(
        SimpleImputer(strategy=text, fill_value="missing"),
        OneHotEncoder(handle_unknown=unknown),
    )
    columns = ColumnTransformer([("num", number, NUMBERS), ("cat", word, TEXTS)])
    network = MLPClassifier(hidden_layer_sizes=(8,), max_iter=60, random_state=0)
    return make_pipeline(columns, network)


def binned(encode="onehot"):
    """Make a pipeline that fills in its numbers, marks them, cuts one and bends the other."""
    fill = [SimpleImputer(strategy="median", add_indicator=True)]
    bins = KBinsDiscretizer(4, encode=encode, strategy="uniform")
    numbers = ColumnTransformer([("age", bins, [1]), ("income", PowerTransformer(), [0])],
                                remainder="passthrough")  # fmt: skip
    word = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    columns = ColumnTransformer(
        [("num", make_pipeline(*fill, numbers), NUMBERS), ("cat", word, TEXTS)]
    )
    network = MLPClassifier(hidden_layer_sizes=(8,), max_iter=60, random_state=0)
    return make_pipeline(columns, network)


OPTIONS = {
    "one region": {},
    "regions": {"regions": 3},
    "logarithms": {"transforms": {"income": "log1p"}},
    "bins": {},
    "bins, regions": {"regions": 3},
}


@pytest.fixture(scope="module", params=OPTIONS)
def formula(request):
    X, y = credit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (binned() if "bins" in request.param else pipeline()).fit(X, y)
        poly = n2p.convert(model, 2, data=X, threshold=0.35, **OPTIONS[request.param])
    new, _ = credit(120, 7)
    new.loc[:3, "purpose"] = "rocket"
    cuts = [cut for column in poly.inputs.columns for cut in column.cuts]
    edges = [*cuts, *np.nextafter(cuts, -np.inf), *np.nextafter(cuts, np.inf)]
    new.loc[4 : 3 + len(edges), "age"] = edges
    return poly, new


@pytest.fixture(scope="module", params=["raw", "probability", "label"])
def kind(request):
    return request.param


def expected(poly, X, kind):
    if kind == "raw":
        return poly.predict(X)
    return poly.predict_proba(X)[:, 1] if kind == "probability" else poly.predict_label(X)


def assert_same(found, wanted):
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(np.asarray(found, dtype=float), wanted, rtol=0, atol=1e-9)
    else:
        assert list(found) == wanted.tolist()


def cells(X):
    """Give rows of plain Python values, None for a hole."""
    return X.astype(object).where(X.notna(), None).to_numpy().tolist()


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_sql_on_the_raw_table_gives_the_predictions(formula, kind, engine):
    poly, X = formula
    connection = duckdb.connect() if engine == "duckdb" else sqlite3.connect(":memory:")
    connection.execute(
        'CREATE TABLE t ("income" DOUBLE, "age" DOUBLE, "purpose" VARCHAR, "employment" VARCHAR)'
    )
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", cells(X))
    (text,) = export.sql(poly, kind=kind).values()
    for statement in (export.sql_select(poly, "t", kind=kind), f"SELECT {text} FROM t"):
        found = [row[0] for row in connection.execute(statement).fetchall()]
        assert_same(found, expected(poly, X, kind))
    connection.close()


def test_python_on_columns_and_on_single_values_gives_the_predictions(formula, kind):
    poly, X = formula
    (source,) = export.python(poly, kind=kind).values()
    space = {}
    exec(source, space)
    function = space[re.search(r"def (\w+)", source)[1]]
    wanted = expected(poly, X, kind)
    assert_same(function(*(X[name] for name in X)), wanted)
    found = [function(*row) for row in cells(X)[:20]]
    assert_same([value.item() for value in found], wanted[:20])


def test_node_on_rows_with_null_gives_the_predictions(formula, kind):
    poly, X = formula
    (source,) = export.javascript(poly, kind=kind).values()
    name = re.search(r"function (\w+)", source)[1]
    code = f'"use strict";{source}console.log(JSON.stringify({json.dumps(cells(X))}.map({name})))'
    run = subprocess.run(["node", "-"], input=code, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert_same(json.loads(run.stdout), expected(poly, X, kind))


def test_c_on_numbers_and_strings_gives_the_predictions(formula, kind, tmp_path):
    poly, X = formula
    (source,) = export.c(poly, kind=kind).values()
    text, library = tmp_path / "poly.c", tmp_path / "poly.so"
    text.write_text(source, encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    run = subprocess.run(
        ["gcc", *flags, "-o", library, text, "-lm"], capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
    function = getattr(ctypes.CDLL(library), re.search(r"(\w+)\(const double \*x", source)[1])
    function.restype = ctypes.c_char_p if kind == "label" else ctypes.c_double
    found = []
    for income, age, *words in cells(X):
        numbers = [float("nan") if v is None else v for v in (income, age)]
        texts = [None if v is None else v.encode() for v in words]
        value = function((ctypes.c_double * 2)(*numbers), (ctypes.c_char_p * 2)(*texts))
        found.append(value.decode() if kind == "label" else value)
    assert_same(found, expected(poly, X, kind))


def test_excel_on_cells_with_blanks_gives_the_predictions(formula, kind):
    poly, X = formula
    poly, X = poly.prune(8), X[:40]
    (text,) = export.excel(poly, kind=kind).values()
    function = formulas.Parser().ast(text)[1].compile()
    columns = {
        f"{letter}2": X[name].astype(object).where(X[name].notna(), "").to_numpy()[:, None]
        for letter, name in zip("ABCD", X, strict=True)
    }
    found = np.asarray(function(*(columns[str(name)] for name in function.inputs))).ravel()
    assert_same(found, expected(poly, X, kind))


def test_onnx_takes_strings_and_gives_the_predictions(formula, kind, tmp_path):
    poly, X = formula
    session = onnxruntime.InferenceSession(export.onnx(poly, tmp_path / "p.onnx", kind=kind))
    given = {"X": X[NUMBERS].to_numpy(), "S": X[TEXTS].fillna("").to_numpy(dtype=object)}
    found = session.run(["Y"], given)[0][:, 0]
    if kind == "label":
        found = np.array(poly.classes)[found.astype(int)]
    assert_same(found, expected(poly, X, kind))


def test_what_predict_refuses_is_missing_in_every_engine(tmp_path):
    X, y = credit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pipeline(unknown="error").fit(X, y)
    poly = n2p.convert(model, 2, data=X)
    new = X[:3].assign(purpose=["rocket", "car", None])
    with pytest.raises(InvalidInputError, match="'rocket'"):
        poly.predict(new)
    wanted = poly.predict(new[1:])
    connection = duckdb.connect()
    connection.register("t", new)
    for wanted_kind in ("raw", "label"):
        statement = export.sql_select(poly, "t", kind=wanted_kind)
        assert connection.execute(statement).fetchall()[0] == (None,)
    (source,) = export.python(poly).values()
    space = {}
    exec(source, space)
    found = space[re.search(r"def (\w+)", source)[1]](*(new[name] for name in new))
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1:], wanted)
    session = onnxruntime.InferenceSession(export.onnx(poly, tmp_path / "p.onnx"))
    given = {"X": new[NUMBERS].to_numpy(), "S": new[TEXTS].fillna("").to_numpy(dtype=object)}
    found = session.run(["Y"], given)[0][:, 0]
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1:], wanted)


def test_each_header_says_what_the_numbers_are(formula):
    poly, _ = formula
    assert "the probability is 1 / (1 + exp(-output))" in export.sql_select(poly, "t")
    assert "/* Probability of 'ok', from 0 to 1." in export.sql_select(
        poly, "t", kind="probability"
    )
    for write in (export.python, export.c, export.javascript):
        (text,) = write(poly, kind="label").values()
        assert "'ok' where its probability is at least 0.35, else 'late'" in text


def test_three_classes_have_probabilities_and_labels_in_every_language(tmp_path):
    rng = np.random.default_rng(0)
    net = n2p.Network(
        [n2p.Layer(rng.normal(size=(2, 4)), None, "tanh"), n2p.Layer(rng.normal(size=(4, 3)))],
        ["a", "b"],
        classes=["x", "y", "z"],
        link="softmax",
    )
    X = rng.uniform(-1, 1, (50, 2))
    poly = n2p.convert(net, 2, data=X)
    chances, labels = poly.predict_proba(X), poly.predict_label(X)
    connection = duckdb.connect()
    connection.register("t", pd.DataFrame(X, columns=["a", "b"]))
    found = connection.execute(export.sql_select(poly, "t", kind="probability")).fetchall()
    np.testing.assert_allclose(found, chances, atol=1e-12)
    found = connection.execute(export.sql_select(poly, "t", kind="label")).fetchall()
    assert [row[0] for row in found] == labels.tolist()
    space = {}
    for source in export.python(poly, kind="probability").values():
        exec(source, space)
    found = [function(*X.T) for name, function in space.items() if name.startswith("prob")]
    np.testing.assert_allclose(np.transpose(found), chances, atol=1e-12)
    (source,) = export.javascript(poly, kind="label").values()
    run = subprocess.run(
        ["node", "-"],
        input=f"{source}console.log(JSON.stringify({json.dumps(X.tolist())}.map(predict_label)))",
        capture_output=True,
        text=True,
    )
    assert json.loads(run.stdout) == labels.tolist()
    for kind, wanted in (("probability", chances), ("label", np.searchsorted(list("xyz"), labels))):
        session = onnxruntime.InferenceSession(export.onnx(poly, tmp_path / "p.onnx", kind=kind))
        found = session.run(["Y"], {"X": X})[0]
        np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=1e-12)


def test_a_regression_has_no_probabilities():
    poly = n2p.Polynomial([[1.0], [2.0]], 1, ["t"])
    for write in (export.sql, export.python, export.c, export.javascript, export.excel):
        with pytest.raises(InvalidInputError, match="regression"):
            write(poly, kind="probability")
    with pytest.raises(InvalidInputError, match="one of"):
        export.sql(poly, kind="logit")
