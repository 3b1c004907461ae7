"""Formulas with regions, computed by the engines of all languages, on every side of every split."""

from __future__ import annotations

import ctypes
import json
import re
import sqlite3
import subprocess
from dataclasses import replace

import duckdb
import formulas
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io
import sympy
from sklearn.base import is_classifier

import nn2poly as n2p
from nn2poly import export
from nn2poly.algebra.terms import Graded
from nn2poly.errors import InvalidInputError
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Identity

AWKWARD = ('hour"; DROP TABLE x; --', "*/ int evil = 1; /*", "region_0", "日本\nnew", "class")


def columns(names):
    hour, day, weather = names
    held = Coordinate(12.0, 6.0, Identity(1.0, 22.0))
    return (
        Column(hour, coordinates=(held,), ranges=((0.0, 24.0),)),
        Column(day, "binary", ranges=((1.0, 2.0),)),
        replace(Column.factor(weather, ["clear", "rain", "snow", "fog"]), ranges=((0.0, 1.0),) * 4),
    )


def tree():
    late = Split(0, 1 / 3 + 17, left=Leaf(5), right=Leaf(2))
    wet = Split(
        2, levels=(1, 2), left=Leaf(0), right=Split(2, levels=(3,), left=Leaf(1), right=late)
    )
    early = Split(0, -2.5, left=Leaf(4), right=Leaf(3))
    return Split(0, 6.5, left=Split(1, levels=(0,), left=early, right=Leaf(6)), right=wet)


def rentals(n_outputs=1, order=2, names=("hour", "day", "weather"), n_terms=None, **options):
    rng = np.random.default_rng(order)
    inputs, terms = Inputs(columns(names)), Graded(6, order)
    parts = [
        n2p.Polynomial(
            rng.normal(size=(len(terms), n_outputs)), terms=terms, inputs=inputs, **options
        )
        for _ in range(7)
    ]
    parts = [part if n_terms is None else part.prune(n_terms) for part in parts]
    return n2p.PiecewisePolynomial(tree(), tuple(parts))


def rows():
    """Give rows of every region, on the splits and next to them."""
    splits = [6.5, 1 / 3 + 17, -2.5]
    near = [np.nextafter(t, side) for t in splits for side in (-np.inf, np.inf)]
    hours = [*splits, *near, -3.0, 0.0, 5.0, 12.0, 23.0, 30.0]
    cells = [(h, d, w) for h in hours for d in (1.0, 2.0) for w in range(4)]
    return np.array([[h, d, *np.eye(4)[w]] for h, d, w in cells])


CASES = {
    "order 2": rentals(),
    "order 3, pruned": rentals(order=3, n_terms=9),
    "two outputs": rentals(2, output_names=["a b", "*/ int evil = 1; /*"]),
    "awkward names": rentals(names=AWKWARD[:3]),
    "more awkward names": rentals(names=(AWKWARD[4], AWKWARD[2], AWKWARD[3])),
    "constants": rentals(n_terms=1),
}
pytestmark = pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")


def splits_of(tree):
    """List the splits of a tree."""
    if isinstance(tree, Leaf):
        return []
    return [tree, *splits_of(tree.left), *splits_of(tree.right)]


@pytest.fixture(scope="module")
def transformed():
    """Convert a network into regions of columns that enter as logarithms and ranks."""
    rng = np.random.default_rng(8)
    X = np.column_stack([rng.lognormal(size=(2000, 2)), rng.exponential(size=(2000, 3))])
    X = np.column_stack([X, rng.normal(size=2000)])
    hidden = n2p.Layer(rng.normal(size=(6, 12)), rng.normal(size=12), "relu")
    network = n2p.Network([hidden, n2p.Layer(rng.normal(size=(12, 2)))])
    chosen = {"x1": "log", "x2": "rank", "x3": "log1p", "x6": "rank"}
    poly = n2p.convert(network, 2, data=X, regions=4, transforms=chosen)
    assert isinstance(poly, n2p.PiecewisePolynomial)
    assert len(poly.regions) == 4
    return poly, X


def rows_around(poly, X):
    """Give rows of a sample with one column on a split, next to it and far off."""
    places = [(poly.inputs.places[s.column][0], s.threshold) for s in splits_of(poly.tree)]
    values = [(j, v) for j, t in places for v in (t, np.nextafter(t, -np.inf))]
    values += [(j, v) for j in range(poly.n_features) for v in (-1e12, 0.0, 1e12)]
    out = np.repeat(X[:1], len(values), axis=0)
    for row, (j, value) in zip(out, values, strict=True):
        row[j] = value
    return np.vstack([X[:30], out])


@pytest.fixture(params=[*CASES, "converted with transforms"])
def case(request):
    if request.param not in CASES:
        poly, sample = request.getfixturevalue("transformed")
        X = rows_around(poly, sample)
        assert set(poly.region_of(X)) == set(range(4))
        return poly, X, poly.predict(X)
    poly, X = CASES[request.param], rows()
    assert set(poly.region_of(X)) == set(range(7))
    return poly, X, poly.predict(X).reshape(len(X), -1)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def table(engine, poly, X):
    connection = duckdb.connect() if engine == "duckdb" else sqlite3.connect(":memory:")
    names = ", ".join(f"{quoted(name)} DOUBLE PRECISION" for name in poly.feature_names)
    connection.execute(f"CREATE TABLE data ({names})")
    places = ", ".join("?" * poly.n_features)
    connection.executemany(f"INSERT INTO data VALUES ({places})", X)
    return connection


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_sql_gives_the_predictions(case, close, engine):
    poly, X, Y = case
    connection = table(engine, poly, X.tolist())
    texts = [f"{text} AS {quoted(name)}" for name, text in export.sql(poly).items()]
    close(connection.execute(f"SELECT {', '.join(texts)} FROM data AS t").fetchall(), Y)
    close(connection.execute(export.sql_select(poly, "data")).fetchall(), Y)
    connection.close()


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_null_in_a_column_that_decides_gives_null(engine):
    poly = rentals(n_terms=1)
    connection = table(engine, poly, [[None, 1.0, 1.0, 0.0, 0.0, 0.0]])
    text = export.sql(poly)["y"]
    assert "CASE\n  WHEN" in text
    assert connection.execute(f"SELECT {text} FROM data AS t").fetchall() == [(None,)]
    assert connection.execute(export.sql_select(poly, "data")).fetchall() == [(None,)]
    connection.close()


def test_excel_gives_the_predictions(close):
    poly, X = rentals(n_terms=5), rows()
    (formula,) = export.excel(poly).values()
    function = formulas.Parser().ast(formula)[1].compile()
    cells = {f"{letter}2": column for letter, column in zip("ABCDEF", X.T, strict=True)}
    values = [np.reshape(cells[str(name)], (len(X), 1)) for name in function.inputs]
    # Excel reads 15 digits of a threshold, the engine all of them.
    found = np.asarray(function(*values), dtype=float).reshape(-1, 1)
    close(found, poly.predict(X)[:, None])
    assert "IF(A2<6.5," in formula
    assert "IF((D2>=0.5)+(E2>=0.5)>0," in formula


def test_a_formula_too_long_for_excel_names_terms_that_fit():
    poly = rentals(order=3)
    with pytest.raises(InvalidInputError) as error:
        export.excel(poly)
    fitting = int(re.search(r"n_terms=(\d+)", error.value.remedy)[1])
    assert len(export.excel(poly.prune(fitting))["y"]) <= 8192


def compiled(sources, folder):
    text, library = folder / "poly.c", folder / "poly.so"
    text.write_text("\n".join(sources.values()), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O0", "-shared", "-fPIC"]
    run = subprocess.run(["gcc", *flags, "-o", library, text], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    loaded = ctypes.CDLL(library)
    names = [re.search(r"double (\w+)\(", source)[1] for source in sources.values()]
    for name in names:
        getattr(loaded, name).restype = ctypes.c_double
        getattr(loaded, name).argtypes = [ctypes.c_void_p]
    return [getattr(loaded, name) for name in names]


def test_c_gives_the_predictions_and_keeps_what_is_missing(case, close, tmp_path):
    poly, X, Y = case
    functions = compiled(export.c(poly), tmp_path)
    close([[function(row.ctypes.data) for function in functions] for row in X], Y)
    row = X[0].copy()
    row[0] = np.nan
    assert np.isnan(functions[0](row.ctypes.data))


def test_javascript_gives_the_predictions_and_keeps_what_is_missing(case, close):
    poly, X, Y = case
    sources = export.javascript(poly)
    names = [re.search(r"function (\w+)\(", source)[1] for source in sources.values()]
    code = '"use strict";\n' + "\n".join(sources.values())
    code += f"const rows = {json.dumps(X.tolist())};\n"
    code += f"const all = [{', '.join(names)}];\n"
    code += "if (!Number.isNaN(all[0]([NaN, 1, 1, 0, 0, 0]))) throw new Error('not missing');\n"
    code += "console.log(JSON.stringify(rows.map(x => all.map(f => f(x)))));"
    run = subprocess.run(
        ["node", "-"], input=code, capture_output=True, text=True, encoding="utf-8", timeout=60
    )
    assert (run.returncode, run.stderr) == (0, "")
    close(json.loads(run.stdout), Y)


def python_functions(poly):
    functions = []
    for source in export.python(poly).values():
        names = {}
        exec(source, names)
        functions.append(next(v for k, v in names.items() if k.startswith("predict_")))
    return functions


def test_python_gives_the_predictions_of_columns_and_of_numbers(case, close):
    poly, X, Y = case
    functions = python_functions(poly)
    close(np.column_stack([function(*X.T) for function in functions]), Y)
    close([[function(*row) for function in functions] for row in X.tolist()], Y)
    series = [pd.Series(column) for column in X.T]
    close(np.column_stack([function(*series) for function in functions]), Y)
    X = X.copy()
    X[1, 0] = np.nan
    assert np.flatnonzero(np.isnan(functions[0](*X.T))).tolist() == [1]


def test_sympy_gives_the_predictions(case, close):
    poly, X, Y = case
    symbols = [sympy.Symbol(word) for word in export.sympy_names(poly)]
    expressions = export.sympy(poly)
    assert all(isinstance(e, sympy.Piecewise) for e in expressions.values())
    found = [sympy.lambdify(symbols, e)(*X.T) for e in expressions.values()]
    close(np.column_stack(found), Y)


def test_onnx_gives_the_predictions_and_keeps_what_is_missing(case, close, tmp_path):
    poly, X, Y = case
    path = export.onnx(poly, tmp_path / "poly.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    close(session.run(["Y"], {"X": X})[0], Y)
    X = X.copy()
    X[1, 0] = np.nan
    assert np.isnan(session.run(["Y"], {"X": X})[0][1]).all()


def test_scikit_learn_gives_the_predictions(case):
    poly, X, _ = case
    model = export.sklearn(poly)
    np.testing.assert_array_equal(model.predict(X), poly.predict(X))


def test_a_link_makes_it_a_classifier():
    poly = rentals(link="sigmoid", classes=("few", "many"))
    model = export.sklearn(poly)
    assert is_classifier(model)
    np.testing.assert_array_equal(model.predict(rows()), poly.predict_label(rows()))


def test_skops_keeps_it_without_pickle():
    model = export.sklearn(rentals())
    data = skops.io.dumps(model)
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(again.predict(rows()), model.predict(rows()))


def test_latex_lists_the_cases_and_then_the_formulas():
    text = export.latex(rentals(n_terms=3))["y"]
    lines = text.split("\n")
    assert lines[0] == r"\begin{aligned}"
    assert lines[1].startswith(
        r"y ={}& \begin{cases} f^{(0)} & \text{if } \mathrm{hour} \ge 6.5,\ "
    )
    assert r"\mathrm{weather} \in \{\mathrm{rain},\, \mathrm{snow}\}" in lines[1]
    assert r"{-}2.5 \le" not in lines[1]
    assert r"-2.5 \le \mathrm{hour} < 6.5" in lines[1]
    assert [line[: len("f^{(0)}")] for line in lines[2:9]] == [f"f^{{({k})}}" for k in range(7)]
    for line in lines:
        assert re.sub(r"\\.", "", line).count("{") == re.sub(r"\\.", "", line).count("}")


def test_excel_gives_the_predictions_of_transformed_columns(transformed, close):
    poly, sample = transformed
    poly = poly.prune(4)
    X = rows_around(poly, sample)
    found = []
    for formula in export.excel(poly).values():
        function = formulas.Parser().ast(formula)[1].compile()
        cells = {f"{letter}2": column for letter, column in zip("ABCDEF", X.T, strict=True)}
        values = [np.reshape(cells[str(name)], (len(X), 1)) for name in function.inputs]
        found.append(np.asarray(function(*values), dtype=float).ravel())
    close(np.column_stack(found), poly.predict(X))


def test_latex_defines_transformed_columns_once_behind_all_regions(transformed):
    text = export.latex(transformed[0])["y1"]
    assert text.count(r"z_{x_{1}} ={}& (\log(") == 1
    assert text.count(r"\operatorname{rank}(x_{2}) ={}& \text{linear through }") == 1


def test_every_language_of_the_table_writes_it():
    for name, language in export.LANGUAGES.items():
        content = language.content(rentals(n_terms=4))
        assert len(content) > 100, name


def test_regions_are_named_in_comments():
    text = export.c(rentals())["y"]
    assert "region 0: 'hour ≥ 6.5 and weather is (rain or snow)'" in text
