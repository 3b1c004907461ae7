"""Functions and bounds of columns: every export gives what `predict` gives, rows far off too."""

import ctypes
import inspect
import json
import re
import sqlite3
import subprocess
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from pathlib import Path
from typing import ClassVar

import duckdb
import formulas
import numpy as np
import onnxruntime
import pytest
import sympy

import nn2poly as n2p
from nn2poly import export
from nn2poly.errors import InvalidInputError
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import (
    FUNCTIONS,
    BoxCox,
    Curve,
    Function,
    Identity,
    Log,
    Log1p,
    Rank,
    YeoJohnson,
)

NAMES = ("x1", "x2", "x3")


# The example of CONTRIBUTING.md, from here …
@dataclass(frozen=True)
class SquareRoot(Function):
    """The square root, for counts and areas."""

    low: float = 0.0
    kind: ClassVar[str] = "sqrt"
    onnx: ClassVar[str] = "Sqrt"
    setup: ClassVar[dict[str, str]] = {"c": "#include <math.h>"}
    spelling: ClassVar[dict[str, str]] = {
        "python": "({x})**0.5",
        "c": "sqrt({x})",
        "javascript": "Math.sqrt({x})",
        "sql": "SQRT({x})",
        "excel": "SQRT({x})",
        "latex": r"\sqrt{{{x}}}",
        "sympy": "sqrt",
    }

    def curve(self, x):
        """Take the square root."""
        return np.sqrt(x)

    def curve_slopes(self, x):
        """Give 1 / (2 sqrt(x)), infinite at 0."""
        with np.errstate(divide="ignore"):
            return 0.5 / np.sqrt(x)

    def text(self, name):
        """Write sqrt(name)."""
        return f"sqrt({name})"


# … to here.


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, SquareRoot.kind, SquareRoot)


RANK = Rank(knots=(-1.5, 0.25, 0.5, 2.0, 9.0), shares=(0.01, 0.1, 0.625, 0.9, 0.99))
CASES = {
    "identity, bounded": (Identity(-1.0, 2.5), Identity(0.5, 2e5), Identity()),
    "identity, bounded on one side": (Identity(low=0.25), Identity(high=3.0), Identity(-2.0, 3.0)),
    "square root": (SquareRoot(), Identity(), SquareRoot()),
    "square root, bounded": (SquareRoot(0.5, 9.0), SquareRoot(1.0), Identity(high=4.0)),
    "one column": (SquareRoot(0.25, 16.0),),
    "logarithms": (Log(0.125, 9.0), Log1p(), Log(0.25)),
    "logarithm of a column": (Log(0.5, 1e6),),
    "ranks": (RANK, Log1p(-0.5, 11.0), Rank(knots=(-3.0, 2e-3), shares=(0.25, 1.0))),
    "rank of a column": (RANK,),
    "curves": (Curve(knots=(-1.5, 0.25, 9.0), shares=(0.0, 0.7, 1.0)), Identity(),
               Curve(knots=(-3.0, 2e-3, 2.0), shares=(0.0, 0.3, 1.0))),
    "powers": (YeoJohnson(power=0.3), BoxCox(0.125, 9.0, 0.5), BoxCox(0.25, power=-0.7)),
    "powers, bounded": (YeoJohnson(-2.0, 9.0, 1.4), YeoJohnson(-1.0, 2.5, 0.0),
                        YeoJohnson(-3.0, 5.0, 2.0)),
    "powers, on one side": (YeoJohnson(0.0, 9.0, 0.4), YeoJohnson(0.25, 2e5, 0.0),
                            YeoJohnson(-5.0, 0.0, 2.0)),
    "power of a column": (YeoJohnson(-4.0, 1e6, -0.8),),
}  # fmt: skip
SHAPES = {"dense": None, "sparse": 4}


@pytest.fixture(params=CASES)
def functions(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def converted():
    """Convert a network on heavy tails, with bounds: two outputs, order 3."""
    rng = np.random.default_rng(6)
    hidden = n2p.Layer(rng.normal(size=(3, 6)) / [[1.0], [5.0], [40.0]], None, "tanh")
    network = n2p.Network([hidden, n2p.Layer(rng.normal(size=(6, 2)))])
    X = np.column_stack([rng.normal(size=900), rng.standard_cauchy(900), rng.uniform(0, 99, 900)])
    poly = n2p.convert(network, 3, data=X, bounded=True)
    # Nothing is left of the range: rows far off shall not warn here.
    return replace(poly, inputs=poly.inputs.seen(None, None))


@pytest.fixture(params=[*product(CASES, SHAPES), "converted"], ids=str)
def curved(request, make, converted):
    """Give a polynomial of columns with functions, rows near and far, its predictions."""
    if request.param == "converted":
        return with_rows_far_off(converted)
    functions, n_terms = CASES[request.param[0]], SHAPES[request.param[1]]
    p = len(functions)
    plain = make["dense"](3, p, 3, 2, units=False, n_terms=n_terms)
    units = zip([-1.5, 0.0, 2e-3], [2.0, 1.0, 0.7], functions, strict=False)
    columns = [Column(NAMES[j], coordinates=(Coordinate(*u),)) for j, u in enumerate(units)]
    poly = replace(plain, inputs=Inputs(tuple(columns)))
    X = np.random.default_rng(4).uniform(0.0, 12.0, (12, p))
    # On the bounds, outside them by little and by much; at the ends of the rest one by one.
    far = [np.full(p, value) for value in (0.0, 0.25, 0.5, 9.0, 1e12)]
    far += [np.where(np.arange(p) == j, 1e12, 2.0) for j in range(p)]
    if all(function.low > -inf or function.powers for function in functions):
        far += [np.full(p, -1e12), np.full(p, -0.1)]
    X = np.vstack([X, *far])
    return poly, X, poly.predict(X)


def with_rows_far_off(poly):
    """Give rows inside the bounds, on them, a little outside, and at 1e12."""
    assert poly.inputs.with_bounds.all()
    ends = np.array([*poly.inputs.bounds().values()]).T
    far = [np.full(3, 1e12), np.full(3, -1e12), *(1e12 * np.eye(3)), *(-1e12 * np.eye(3))]
    near = np.random.default_rng(4).uniform(*(1.5 * ends), (12, 3))
    X = np.vstack([near, ends, far])
    return poly, X, poly.predict(X)


def assert_each_close(found, expected):
    """Compare every number by its own size: rows at 1e12 must not hide the others."""
    np.testing.assert_allclose(np.asarray(found, dtype=float), expected, rtol=1e-9, atol=1e-9)


def test_python_gives_the_predictions_of_columns_and_of_numbers(curved):
    poly, X, Y = curved
    for column, source in enumerate(export.python(poly).values()):
        names = {}
        exec(source, names)
        function = names[f"predict_y{column + 1}"]
        assert_each_close(function(*X.T), Y[:, column])
        assert_each_close([function(*row) for row in X.tolist()], Y[:, column])


def test_c_gives_the_predictions(curved, tmp_path):
    poly, X, Y = curved
    text, library = tmp_path / "poly.c", tmp_path / "poly.so"
    text.write_text(export.LANGUAGES["c"].content(poly), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", library, text, "-lm"], check=True)
    loaded = ctypes.CDLL(library)
    for column in range(2):
        function = getattr(loaded, f"predict_y{column + 1}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_void_p]
        rows = [np.ascontiguousarray(row) for row in X]
        assert_each_close([function(row.ctypes.data) for row in rows], Y[:, column])


def test_javascript_gives_the_predictions(curved):
    poly, X, Y = curved
    code = export.LANGUAGES["javascript"].content(poly)
    code += f"const rows = {json.dumps(X.tolist())};"
    code += "console.log(JSON.stringify(rows.map(x => [predict_y1(x), predict_y2(x)])));"
    run = subprocess.run(["node", "-"], input=code, capture_output=True, text=True, check=True)
    assert_each_close(json.loads(run.stdout), Y)


@pytest.mark.parametrize("engine", [duckdb.connect, lambda: sqlite3.connect(":memory:")])
def test_sql_gives_the_predictions(curved, engine):
    poly, X, Y = curved
    connection = engine()
    columns = ", ".join(f'"{name}" DOUBLE PRECISION' for name in poly.feature_names)
    connection.execute(f"CREATE TABLE data ({columns})")
    places = ", ".join("?" * poly.n_features)
    connection.executemany(f"INSERT INTO data VALUES ({places})", X.tolist())
    parts = ", ".join(export.sql(poly).values())
    assert_each_close(connection.execute(f"SELECT {parts} FROM data AS t").fetchall(), Y)
    assert_each_close(connection.execute(export.sql_select(poly, "data")).fetchall(), Y)
    connection.close()


def test_excel_gives_the_predictions(curved):
    poly, X, Y = curved
    for column, formula in enumerate(export.excel(poly).values()):
        function = formulas.Parser().ast(formula)[1].compile()
        cells = {f"{letter}2": values for letter, values in zip("ABC", X.T, strict=False)}
        values = [cells[str(name)][:, None] for name in function.inputs]
        assert_each_close(np.asarray(function(*values), dtype=float).ravel(), Y[:, column])


def test_sympy_gives_the_predictions(curved):
    poly, X, Y = curved
    symbols = [sympy.Symbol(name) for name in poly.feature_names]
    for column, expression in enumerate(export.sympy(poly).values()):
        assert_each_close(sympy.lambdify(symbols, expression, "numpy")(*X.T), Y[:, column])


def test_onnx_gives_the_predictions(curved, tmp_path):
    poly, X, Y = curved
    path = export.onnx(poly, tmp_path / "poly.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert_each_close(session.run(["Y"], {"X": X})[0], Y)


def test_the_scikit_learn_estimator_gives_the_predictions(curved):
    poly, X, Y = curved
    assert_each_close(export.sklearn(poly).predict(X), Y)


def from_latex(text):
    """Rewrite the letters of a formula in x_{1}, x_{2} … and their z as Python."""
    text = re.sub(r" \\times 10\^\{(-?[0-9]+)\}", r"e\1", text)
    text = re.sub(r"z_\{x_\{([0-9]+)\}\}", r"z[\1]", text)
    text = re.sub(r"x_\{([0-9]+)\}", r"x[\1]", text)
    text = re.sub(r"\\(min|max)", r"np.\1imum", text).replace(",\\,", ",").replace("\\,", "*")
    text = re.sub(r"\^\{([-0-9.e]+)\}", r"**(\1)", text).replace("{}", "").replace("{-}", "-")
    text = text.replace("\\log", "np.log").replace("\\operatorname{rank}(x", 'rank["x"](x')
    text = re.sub(r"rank\[\"x\"\]\(x\[([0-9]+)\]", r"rank[\1](x[\1]", text)
    return text.replace("\\sqrt{", "np.sqrt(").replace("}", ")")


def table_of(text):
    """Read the points that a rank of a formula goes through."""
    numbers = [
        float(n)
        for n in re.findall(r"[-0-9.e]+", re.sub(r" .times 10\^\{(-?[0-9]+)\}", r"e\1", text))
    ]
    return lambda x: np.interp(x, numbers[::2], numbers[1::2])


def test_latex_read_back_gives_the_predictions(curved):
    poly, X, Y = curved
    for column, text in enumerate(export.latex(poly, digits=17).values()):
        # A curve is written as a rank is, under its own name.
        body = (
            text.replace("{curve}", "{rank}")
            .removeprefix("\\begin{aligned}\n")
            .removesuffix("\n\\end{aligned}")
        )
        lines = [line.split("&", 1) for line in body.split(" \\\\\n")]
        own = [pair for pair in lines if pair[0].startswith("z")]
        begin = next((i for i, pair in enumerate(lines) if pair[0].startswith("\\op")), None)
        ranks = "".join(left + part for left, part in lines[begin:]) if begin else ""
        total = " ".join(part for left, part in lines[:begin] if not left.startswith("z"))
        names = {"np": np, "x": dict(enumerate(X.T, start=1)), "z": {}, "rank": {}}
        for place, table in re.findall(r"rank\}\(x_\{([0-9])\}\)(.+?)(?=.operatorname|$)", ranks):
            names["rank"][int(place)] = table_of(table.split("through }")[1])
        for left, part in own:
            place = int(re.search("[0-9]+", left)[0])
            names["z"][place] = eval(from_latex(part), names)
        assert_each_close(eval(from_latex(total), names), Y[:, column])


@pytest.mark.parametrize("ending", [".json", ".npz", ""])
def test_files_keep_the_functions_and_their_bounds(curved, ending, tmp_path):
    poly, X, Y = curved
    poly.save(tmp_path / f"poly{ending}")
    loaded = n2p.load(tmp_path / f"poly{ending}")
    assert loaded.inputs.coordinates == poly.inputs.coordinates
    np.testing.assert_array_equal(loaded.predict(X), Y)


def test_contributing_shows_this_very_class():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert inspect.getsource(SquareRoot) in text


def test_values_slopes_and_image_belong_together(functions):
    x = np.linspace(0.6, 8.0, 40)
    for function in functions:
        slopes = (function.values(x + 1e-6) - function.values(x - 1e-6)) / 2e-6
        away = np.min(np.abs(x[:, None] - [[function.low, function.high]]), axis=1) > 1e-5
        np.testing.assert_allclose(function.slopes(x)[away], slopes[away], atol=1e-7)
        ends = function.values(np.array([0.6, 8.0]))
        assert function.image(0.6, 8.0) == tuple(ends)


def test_columns_of_single_precision_are_held_at_their_bounds_without_a_warning():
    poly = replace(
        n2p.Polynomial([[0.0], [1.0]], 1, ["a"]),
        inputs=Inputs((Column("a", coordinates=(Coordinate(function=Identity(high=3.0)),)),)),
    )
    names = {}
    exec(export.python(poly)["y"], names)
    found = names["predict_y"](np.array([1.0, 1e30, -1e30], dtype=np.float32))
    np.testing.assert_allclose(found, [1.0, 3.0, -1e30], rtol=1e-6)


def test_a_feature_called_like_a_builtin_does_not_hide_it():
    coordinates = (Coordinate(function=Identity(-1.0, 1.0)),)
    columns = tuple(Column(name, coordinates=coordinates) for name in ("min", "max", "hasattr"))
    poly = replace(n2p.Polynomial(np.ones((4, 1)), 1, list("abc")), inputs=Inputs(columns))
    names = {}
    exec(export.python(poly)["y"], names)
    assert names["predict_y"](5.0, -5.0, 0.5) == 1.5


def test_a_language_that_a_function_does_not_speak_is_refused(monkeypatch):
    monkeypatch.setattr(SquareRoot, "spelling", {"python": "({x})**0.5"})
    monkeypatch.setattr(SquareRoot, "onnx", "")
    columns = (Column("a", coordinates=(Coordinate(function=SquareRoot()),)),)
    poly = replace(n2p.Polynomial([[0.0], [1.0]], 1, ["a"]), inputs=Inputs(columns))
    silent = set(export.LANGUAGES) - {"python"}
    for name in sorted(silent):
        with pytest.raises(InvalidInputError, match=f"'sqrt' .* cannot be written in {name}"):
            export.LANGUAGES[name].content(poly)
    assert "a = (" in export.LANGUAGES["python"].content(poly)
