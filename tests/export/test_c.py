"""C source, compiled by gcc without a single warning and called through ctypes."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from nn2poly import export
from nn2poly.formula.polynomial import Polynomial

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O0", "-shared", "-fPIC"]


def build(sources, folder, flags=FLAGS):
    """Compile all sources as one file; give the library and its functions."""
    text, library = folder / "poly.c", folder / "poly.so"
    text.write_text("\n".join(sources.values()), encoding="utf-8")
    run = subprocess.run(["gcc", *flags, "-o", library, text], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    loaded = ctypes.CDLL(library)
    names = [re.search(r"double (\w+)\(", source)[1] for source in sources.values()]
    return loaded, [getattr(loaded, name) for name in names]


def call(functions, X):
    for function in functions:
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_void_p]
    rows = np.ascontiguousarray(X)
    return [[function(row.ctypes.data) for function in functions] for row in rows]


def test_the_functions_give_the_predictions(case, close, tmp_path):
    poly, X, Y = case
    _, functions = build(export.c(poly), tmp_path)
    close(call(functions, X), Y)


def test_a_name_cannot_end_its_comment(tmp_path):
    names = ["*/ int evil = 1; /*", "a\n*/ int evil = 1; /*", "*\\\n/ int evil = 1;", "b??/"]
    poly = Polynomial([[1.0]] * 5, 1, names, ["*/ int evil = 1; /*"])
    loaded, functions = build(export.c(poly), tmp_path)
    assert not hasattr(loaded, "evil")
    assert call(functions, np.ones((1, 4))) == [[5.0]]


def test_names_of_the_c_library_are_no_obstacle(tmp_path):
    names = ["y0", "y1", "exp", "main", "double", "printf", "_Bool"]
    poly = Polynomial(np.arange(14.0).reshape(2, 7), 1, ["x"], names)
    _, functions = build(export.c(poly), tmp_path, [*FLAGS, "-std=gnu17"])
    assert call(functions, np.array([[1.0]])) == [[7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0]]


@pytest.mark.parametrize(("p", "order"), [(784, 1), (1, 100)])
def test_wide_and_deep_ones_compile(p, order, make, close, tmp_path):
    poly, X, Y = make["rows"](make["dense"](0, p, order))
    X, Y = X[:3], Y[:3]
    _, functions = build(export.c(poly), tmp_path)
    close(call(functions, X), Y)
