"""Excel formulas, computed by the `formulas` package."""

import re

import formulas
import numpy as np
import pytest

from nn2poly import export
from nn2poly.errors import InvalidInputError
from nn2poly.formula.polynomial import Polynomial


def compute(formula, cells):
    """Compute a formula for a dict of cell to column (n,)."""
    function = formulas.Parser().ast(formula)[1].compile()
    shape = (len(next(iter(cells.values()))), 1)
    values = [np.reshape(cells[str(name)], shape) for name in function.inputs]
    return np.asarray(function(*values), dtype=float).ravel()


def default_cells(p):
    letters = [chr(65 + i) for i in range(26)]
    columns = [*letters, *(a + b for a in letters for b in letters)]
    return [f"{column}2" for column in columns[:p]]


@pytest.mark.slow
def test_the_formulas_give_the_predictions(case, close):
    poly, X, Y = case
    if poly.n_terms > 150:
        with pytest.raises(InvalidInputError, match=r"at most 8,192 characters"):
            export.excel(poly)
        return
    cells = dict(zip(default_cells(poly.n_features), X.T, strict=True))
    for column, formula in enumerate(export.excel(poly).values()):
        found = np.broadcast_to(compute(formula, cells), len(X))
        close(found[:, None], Y[:, [column]])


def test_the_remedy_for_a_long_formula_works(make):
    poly = make["dense"](2, 54, 2)
    with pytest.raises(InvalidInputError) as error:
        export.excel(poly)
    n_terms = int(re.search(r"n_terms=(\d+)", error.value.remedy)[1])
    assert 50 < n_terms < poly.n_terms
    with pytest.raises(InvalidInputError):
        export.excel(poly.prune(n_terms + 1))
    assert len(export.excel(poly.prune(n_terms))["y"]) <= 8192


def test_deep_brackets_are_refused_with_a_remedy_that_works():
    poly = Polynomial(np.ones((71, 1)), 70, ["t"])
    with pytest.raises(InvalidInputError, match="64 levels") as error:
        export.excel(poly)
    assert "truncate" in error.value.remedy
    assert export.excel(poly.truncate(20))


def test_cells_go_by_order_or_by_name():
    poly = Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"])
    assert export.excel(poly, cells=["$C$4", "Rates!B2"])["y"] == "=1+2*$C$4+3*Rates!B2"
    assert export.excel(poly, cells={"b": "'My sheet!'!B2", "a": "xfd$1048576"})["y"] == (
        "=1+2*xfd$1048576+3*'My sheet!'!B2"
    )


@pytest.mark.parametrize(
    "cells",
    [
        ["A2"],
        "A2",
        {"a": "A2"},
        ["A2", "B2+1"],
        ["A2", 'HYPERLINK("http://x")'],
        ["A2", "cmd|'/C calc'!A0"],
        ["A2", "B2)+(1"],
        ["A2", ""],
        ["A2", 3],
        ["2", "3"],
        ["A2", "B"],
        ["A2", "B0"],
        ["A2", "B02"],
        ["A2", "$$B2"],
        ["A2", "XFE2"],
        ["A2", "B1048577"],
        ["A2", "rate"],
        ["A2", "B2:B9"],
        ["A2", "B\N{ARABIC-INDIC DIGIT TWO}"],
        ["A2", "!B2"],
        ["A2", "Q1!B2"],
        ["A2", "My sheet!B2"],
    ],
)
def test_cells_that_are_no_references_are_refused(cells):
    poly = Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"])
    with pytest.raises(InvalidInputError, match="cells cannot be used"):
        export.excel(poly, cells=cells)


def test_names_are_not_part_of_a_formula(awkward):
    poly, _, _ = awkward
    for formula in export.excel(poly.prune(60)).values():
        assert re.fullmatch(r"=[-+*/().0-9A-Z]+", formula)
