"""Python source, run by Python."""

import ast

import numpy as np
import pytest

from nn2poly import export
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial


def run(sources):
    """Execute every source in a namespace of its own without builtins; give the functions."""
    functions = []
    for source in sources.values():
        names = {"__builtins__": {}}
        exec(source, names)
        (name,) = names.keys() - {"__builtins__"}
        functions.append(names[name])
    return functions


def test_columns_give_the_predictions(case, close):
    poly, X, Y = case
    functions = run(export.python(poly))
    found = [np.broadcast_to(function(*X.T), len(X)) for function in functions]
    close(np.column_stack(found), Y)


def test_numbers_give_the_predictions(case, close):
    poly, X, Y = case
    functions = run(export.python(poly))
    close([[function(*row) for function in functions] for row in X.tolist()], Y)


def test_arguments_are_the_names_where_these_are_identifiers(close):
    poly = Polynomial([[1.0], [2.0], [3.0]], 1, ["rm", "low stat"])
    (function,) = run(export.python(poly))
    assert function(rm=2.0, low_stat=3.0) == 14.0


def test_a_clean_name_keeps_itself_whoever_comes_first():
    poly = Polynomial([[0.0], [1.0], [10.0]], 1, ["a b", "a_b"])
    (function,) = run(export.python(poly))
    assert function(a_b=1.0, a_b_2=0.0) == 10.0


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_, np.int64])
def test_small_integers_do_not_overflow(dtype):
    poly = Polynomial.from_terms(["a^4", "a^3 b", "b"], [1.0, 1.0, -1.0], ["a", "b"])
    X = np.array([[1, 0], [1, 1]] if dtype is np.bool_ else [[100, 100], [90, 7]], dtype=dtype)
    (function,) = run(export.python(poly))
    assert np.allclose(function(*X.T), poly.predict(X), rtol=1e-12)


def test_the_arguments_are_left_as_they_were():
    poly = Polynomial([[0.0], [1.0]], 1, ["a"], center=5.0, scale=2.0)
    column = np.arange(4.0)
    run(export.python(poly))[0](column)
    assert column.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_pandas_columns_work():
    pandas = pytest.importorskip("pandas")
    poly = Polynomial([[1.0], [2.0], [3.0]], 2, ["a"], center=1.0)
    (function,) = run(export.python(poly))
    series = pandas.Series([1.0, 2.0], index=["p", "q"])
    assert function(series).to_dict() == {"p": 1.0, "q": 6.0}


def test_names_cannot_leave_their_comment():
    names = [
        "a\nimport os",
        "b\r\nevil = 1",
        "c\x0cevil = 1",
        "d\u2028evil = 1",
        "'''",
        "\\",
        "__debug__",
    ]
    poly = Polynomial([[1.0]] * 8, 1, names, ["y\nevil = 1"])
    (source,) = export.python(poly).values()
    names = {}
    exec(source, names)
    assert set(names) == {"__builtins__", "predict_y_evil_1"}
    (function,) = ast.parse(source).body
    assert [type(node) for node in function.body] == [ast.Return]


def test_own_coordinates_keep_the_digits_that_raw_units_lose(far, close):
    poly, X, Y = far
    (accurate,) = run(export.python(poly))
    close(accurate(*X.T)[:, None], Y, 1e-13)
    with pytest.raises(InvalidInputError, match="loses its digits"):
        poly.rebase()


def test_classifiers_say_that_the_output_is_raw():
    poly = Polynomial([[1.0], [2.0]], 1, ["a"], link="sigmoid", classes=["no", "yes"])
    assert "1 / (1 + exp(-output))" in export.python(poly)["y"]
