"""The link of a regression is in every export: it gives the target, as `predict` does."""

import ctypes
import json
import sqlite3
import subprocess

import duckdb
import formulas
import numpy as np
import onnxruntime
import pytest

from nn2poly import Polynomial, export
from nn2poly.target_links import TARGET_LINKS

X = np.random.default_rng(0).uniform(0.5, 2.0, (25, 2))


@pytest.fixture(params=TARGET_LINKS)
def poly(request):
    values = [[0.7], [0.4], [0.3], [0.05], [-0.01], [0.02]]  # positive within the rows
    return Polynomial(values, 2, ["rooms", "tax"], ["price"], link=request.param)


def same(found, poly):
    wanted = TARGET_LINKS[poly.link].back(poly.raw_outputs(X)[:, 0])
    np.testing.assert_allclose(np.asarray(found, dtype=float).ravel(), wanted, rtol=1e-9)
    np.testing.assert_array_equal(poly.predict(X), wanted)


@pytest.mark.parametrize("connect", [duckdb.connect, sqlite3.connect])
def test_sql(poly, connect):
    connection = connect(":memory:")
    connection.execute('CREATE TABLE t ("rooms" DOUBLE, "tax" DOUBLE)')
    connection.executemany("INSERT INTO t VALUES (?, ?)", X.tolist())
    (text,) = export.sql(poly).values()
    for statement in (export.sql_select(poly, "t"), f"SELECT {text} FROM t"):
        same(connection.execute(statement).fetchall(), poly)
    header = export.sql_select(poly, "t").partition("*/")[0]
    assert f"the polynomial is of {poly.outputs.scale_names[0]}" in header
    connection.close()


def test_python(poly):
    space = {}
    exec(export.python(poly)["price"], space)
    same(space["predict_price"](*X.T), poly)


def test_javascript(poly):
    code = export.javascript(poly)["price"]
    code += f"console.log(JSON.stringify({json.dumps(X.tolist())}.map(predict_price)))"
    run = subprocess.run(["node", "-"], input=code, capture_output=True, text=True, timeout=60)
    same(json.loads(run.stdout), poly)


def test_c(poly, tmp_path):
    (tmp_path / "p.c").write_text(export.c(poly)["price"], encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    library = tmp_path / "p.so"
    subprocess.run(["gcc", *flags, "-o", library, tmp_path / "p.c", "-lm"], check=True)
    function = ctypes.CDLL(library).predict_price
    function.restype = ctypes.c_double
    same([function((ctypes.c_double * 2)(*row)) for row in X.tolist()], poly)


def test_excel(poly):
    function = formulas.Parser().ast(export.excel(poly)["price"])[1].compile()
    columns = {"A2": X[:, :1], "B2": X[:, 1:]}
    same(function(*(columns[str(name)] for name in function.inputs)), poly)


def test_onnx(poly, tmp_path):
    session = onnxruntime.InferenceSession(export.onnx(poly, tmp_path / "p.onnx"))
    same(session.run(["Y"], {"X": X})[0], poly)


def test_sympy_and_the_text_of_latex(poly):
    expression = export.sympy(poly)["price"]
    same([expression.subs(dict(zip(("rooms", "tax"), row, strict=True))) for row in X], poly)
    head = export.latex(poly)["price"].partition("={}")[0]
    assert "price" in head
    assert (
        head
        != export.latex(Polynomial(poly.coefficients, 2, ["rooms", "tax"], ["price"]))[
            "price"
        ].partition("={}")[0]
    )


def test_before_the_link_on_demand(poly):
    space = {}
    exec(export.python(poly, kind="raw")["price"], space)
    np.testing.assert_allclose(space["predict_price"](*X.T), poly.raw_outputs(X)[:, 0])
