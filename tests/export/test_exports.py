"""What all exports share: the table of languages, errors, size."""

import subprocess
import sys

import numpy as np
import pytest

from nn2poly import export
from nn2poly.errors import InvalidInputError
from nn2poly.export.horner import Factored, Monomial, expressions
from nn2poly.formula.polynomial import Polynomial

TEXTS = [export.python, export.c, export.javascript, export.sql, export.excel, export.latex]
WRITTEN = [*TEXTS, export.sympy, lambda poly: export.sql_select(poly, "data")]
ALL = [*WRITTEN, lambda poly: export.onnx(poly, "never.onnx")]


def numbers_in(node):
    """Count the numbers and the variables of an expression."""
    if isinstance(node, Monomial):
        return np.array([1, len(node.variables)])
    if isinstance(node, Factored):
        return numbers_in(node.rest) + np.array([0, len(node.variables)])
    return sum(numbers_in(part) for part in node.parts)


@pytest.mark.parametrize("function", TEXTS)
def test_there_is_one_text_for_each_output_by_its_name(function, awkward):
    poly = awkward[0].prune(40)
    found = function(poly)
    assert tuple(found) == poly.output_names
    assert len(set(found.values())) == poly.n_outputs


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("thing", [None, "poly.json", np.ones((3, 1)), Polynomial])
def test_what_is_not_a_polynomial_is_refused(function, thing):
    with pytest.raises(InvalidInputError, match="can be exported") as error:
        function(thing)
    assert "convert" in error.value.remedy


@pytest.mark.parametrize("function", ALL)
def test_a_polynomial_without_terms_is_refused(function):
    empty = Polynomial(np.zeros((0, 1)), 1, ["a"], positions=[])
    with pytest.raises(InvalidInputError, match="no terms"):
        function(empty)


@pytest.mark.parametrize("function", WRITTEN)
def test_too_many_terms_are_refused_with_the_remedy(function, monkeypatch):
    monkeypatch.setattr("nn2poly.export.horner.MAX_NUMBERS", 5)
    with pytest.raises(InvalidInputError, match="too large") as error:
        function(Polynomial(np.ones((3, 2)), 2, ["a"]))
    assert "prune" in error.value.remedy


def test_a_term_costs_one_number_and_one_variable_whatever_its_order():
    poly = Polynomial(np.ones((1001, 1)), 4, [f"x{i}" for i in range(10)])
    ((_, tree),) = expressions(poly)
    numbers, variables = numbers_in(tree)
    assert (numbers, variables) == (1001, 1000)


def test_text_is_the_same_in_every_run(make):
    poly = make["dense"](0, 4, 3, 2)
    assert [f(poly) for f in TEXTS] == [f(poly) for f in TEXTS]


def test_the_table_of_languages_gives_the_content_of_files(make):
    poly = make["dense"](0, 3, 2, 2, output_names=["a", "b"])
    for name, language in export.LANGUAGES.items():
        assert language.suffix.startswith(".")
        content = language.content(poly)
        if name == "onnx":
            assert isinstance(content, bytes)
            assert language.outputs is None
        else:
            expected = {key: str(text) for key, text in getattr(export, name)(poly).items()}
            assert language.outputs(poly) == expected
            assert content.endswith("\n")


def test_every_text_export_is_in_the_table_of_languages():
    others = {"LANGUAGES", "Language", "sklearn", "sql_select", "sympy_names"}
    assert set(export.LANGUAGES) == set(export.__all__) - others


def test_the_files_of_source_hold_all_functions(make):
    poly = make["dense"](0, 3, 2, 2, output_names=["a b", "a_b"])
    for name in ("python", "c", "javascript"):
        content = export.LANGUAGES[name].content(poly)
        assert content.count("predict_a_b(") == content.count("predict_a_b_2(") == 1


def test_importing_the_exports_imports_no_library():
    code = "import sys, nn2poly.export; print([m for m in ('sympy', 'onnx') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
