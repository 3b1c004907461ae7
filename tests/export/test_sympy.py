"""SymPy expressions, computed by lambdify."""

import numpy as np
import pytest
import sympy

from nn2poly import export
from nn2poly.formula.polynomial import Polynomial


@pytest.mark.slow
def test_the_expressions_give_the_predictions(case, close):
    poly, X, Y = case
    symbols = [sympy.Symbol(name) for name in poly.feature_names]
    found = export.sympy(poly)
    assert tuple(found) == poly.output_names
    functions = [sympy.lambdify(symbols, expression) for expression in found.values()]
    columns = [np.broadcast_to(function(*X.T), len(X)) for function in functions]
    close(np.column_stack(columns), Y)


def test_the_symbols_are_those_that_occur(case):
    poly, _, _ = case
    names = {s.name for e in export.sympy(poly).values() for s in e.free_symbols}
    present = [t for t, c in zip(poly.terms, poly.coefficients, strict=True) if np.any(c)]
    assert names == {poly.feature_names[i] for term in present for i in term}


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
