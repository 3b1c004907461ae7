"""SymPy expressions, computed by lambdify."""

import numpy as np
import pytest
import sympy

from nn2poly import export
from nn2poly.formula.polynomial import Polynomial


@pytest.mark.slow
def test_the_expressions_give_the_predictions(case, close):
    poly, X, Y = case
    symbols = [sympy.Symbol(name) for name in export.sympy_names(poly)]
    found = export.sympy(poly)
    assert tuple(found) == poly.output_names
    functions = [sympy.lambdify(symbols, expression) for expression in found.values()]
    columns = [np.broadcast_to(function(*X.T), len(X)) for function in functions]
    close(np.column_stack(columns), Y)


def test_the_symbols_are_those_that_occur(case):
    poly, _, _ = case
    names = {s.name for e in export.sympy(poly).values() for s in e.free_symbols}
    present = [t for t, c in zip(poly.terms, poly.coefficients, strict=True) if np.any(c)]
    words = list(export.sympy_names(poly))
    assert names == {words[i] for term in present for i in term}


def test_expanded_it_is_the_polynomial_in_raw_units():
    poly = Polynomial([[1.0], [2.0], [3.0]], 2, ["t"], center=3.0, scale=2.0)
    expanded = sympy.Poly(sympy.expand(export.sympy(poly)["y"]), sympy.Symbol("t"))
    assert np.allclose(
        [float(c) for c in reversed(expanded.all_coeffs())], poly.rebase().coefficients[:, 0]
    )


def test_its_derivative_is_the_derivative():
    poly = Polynomial([[1.0], [2.0], [3.0]], 2, ["t"], center=3.0, scale=2.0)
    slope = export.sympy(poly)["y"].diff("t")
    assert float(slope.subs("t", 5.0)) == (2.0 + 6.0 * 1.0) / 2.0


def test_a_feature_name_is_never_code_to_sympify(tmp_path):
    """Version 0.1 wrote the name raw: ``sympify`` of the text ran it."""
    marker = tmp_path / "ran"
    evil = f"open({str(marker)!r}, 'w')"
    poly = Polynomial([[1.0]] * 5, 1, [evil, "N", "lambda", "eval"], ["y = 1\nimport os"])
    text = export.LANGUAGES["sympy"].content(poly)
    *remarks, line = text.splitlines()
    assert len(remarks) == 5
    assert all(remark.startswith("# ") for remark in remarks)
    name, _, expression = line.partition(" = ")
    assert name.isidentifier()
    found = sympy.sympify(expression)
    assert not marker.exists()
    assert {s.name for s in found.free_symbols} == set(export.sympy_names(poly))
    assert list(export.sympy_names(poly).values()) == list(poly.feature_names)


def test_printed_numbers_and_lambdify_keep_every_digit():
    values = [[1 / 3], [0.1 + 0.2], [1e-300 / 7]]
    poly = Polynomial(values, 1, ["a", "b"], center=[1 / 7, 0.0], scale=[1 / 9, 1.0])
    expression = export.sympy(poly)["y"]
    X = np.random.default_rng(0).normal(size=(50, 2))
    again = sympy.sympify(str(expression))
    for form in (expression, again):
        found = sympy.lambdify(sympy.symbols("a b"), form)(*X.T)
        np.testing.assert_allclose(found, poly.predict(X), rtol=1e-15)
