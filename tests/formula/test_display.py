"""A polynomial shows its facts and largest terms, and never another's markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from nn2poly.algebra.monomials import count_terms
from nn2poly.formula.display import facts, formula
from nn2poly.formula.legend import units
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Log


def ramp(p, order, k=1, **options):
    """Make a polynomial whose coefficients are 1, 2, 3, …, so that the last term is the largest."""
    n = count_terms(p, order)
    values = np.arange(1.0, n * k + 1).reshape(n, k)
    names = options.pop("names", [f"v{i}" for i in range(p)])
    return Polynomial(values, order, names, **options)


class Reader(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_small_polynomial_is_written_out_whole():
    poly = Polynomial([[1.5], [-2.0], [0.25]], 1, ["rm", "lstat"])
    assert repr(poly) == (
        "Polynomial(2 features, order 1, 3 terms, 1 output)\n"
        "  y = 1.5 - 2 rm + 0.25 lstat\n"
        "  coefficients per raw unit"
    )


def test_a_formula_begins_with_the_intercept_then_the_largest_terms():
    poly = Polynomial([[0.001], [1.0], [-5.0], [3.0]], 1, ["a", "b", "c"], ["price"])
    assert formula(poly) == "price = 0.001 - 5 b + 3 c + 1 a"


def test_a_negative_intercept_keeps_its_sign():
    assert formula(Polynomial([[-1.5], [2.0]], 1, ["a"])) == "y = - 1.5 + 2 a"


def test_a_long_formula_counts_the_terms_that_it_leaves_out():
    text = formula(ramp(3, 3))
    assert text.startswith("y = 1 + 20 v2^3 + 19 v1 · v2^2")
    assert text.endswith(" + … 13 more")
    assert len(text.split(" + ")) == 7 + 1


@pytest.mark.parametrize(
    "name", ["1", "a^2", "a b", "a · b", "a-b", "2a", "log(a)", "a*b", "x[0]", 'a"', "a ", "+"]
)
def test_names_that_could_be_read_as_an_expression_are_quoted(name):
    poly = Polynomial([[5.0], [2.0], [0.0], [0.0], [0.0], [3.0]], 2, ["a", name])
    written = '"' + name.replace('"', '""') + '"'
    last = f"0 {written} + 0 a^2 + 0 a · {written}"
    assert formula(poly) == f"y = 5 + 3 {written}^2 + 2 a + {last}"
    shown = [row[0] for row in poly.top(5)]
    assert shown == [f"{written}^2", "a", written, "a^2", f"a · {written}"]
    assert [poly.coefficient(term) for term in shown[:3]] == [3.0, 2.0, 0.0]


@pytest.mark.parametrize("name", ["bmi", "s5", "größe", "part=noon", "sex=1", "a_b", "a.b", "日本"])
def test_plain_names_are_not_quoted(name):
    assert formula(Polynomial([[5.0], [2.0]], 1, [name])) == f"y = 5 + 2 {name}"


def test_a_function_of_a_quoted_name_is_not_the_name_of_a_function():
    columns = (
        Column("a b", coordinates=(Coordinate(function=Log()),)),
        Column("log(a b)"),
    )
    poly = Polynomial([[5.0], [2.0], [3.0]], 1, inputs=Inputs(columns))
    assert formula(poly) == 'y = 5 + 3 "log(a b)" + 2 log("a b")'
    assert poly.coefficient('log("a b")') == 2.0
    assert poly.coefficient('"log(a b)"') == 3.0


def test_a_polynomial_without_an_intercept_shows_none():
    poly = Polynomial.from_terms(["a b"], [2.0], ["a", "b"])
    assert formula(poly) == "y = 2 a · b"


def test_a_polynomial_without_terms_is_zero():
    nothing = Polynomial.from_terms(["a b"], [2.0], ["a", "b"]).truncate(1)
    assert nothing.n_terms == 0
    assert formula(nothing) == "y = 0"


@pytest.mark.parametrize(
    ("poly", "text"),
    [
        (ramp(1, 1), "1 feature, order 1, 2 terms, 1 output"),
        (ramp(2, 0), "2 features, order 0, 1 term, 1 output"),
        (ramp(54, 3), "54 features, order 3, 29,260 terms, 1 output"),
        (ramp(2, 1, 3, link="softmax"), "2 features, order 1, 3 terms, 3 outputs, softmax link"),
    ],
)
def test_facts_count_features_terms_and_outputs(poly, text):
    assert facts(poly) == text


BMI = Polynomial(
    [[120.0], [25.0], [-3.0], [0.0], [4.0], [0.5]],
    2,
    ["bmi", "year"],
    center=[26.37719, 2012.5],
    scale=[4.311, 1.2],
)


def test_units_are_raw_only_when_center_and_scale_are():
    assert units(BMI.inputs) == "coefficients per scaled unit; .rebase() gives raw units"
    assert units(BMI.rebase().inputs) == "coefficients per raw unit"
    around = units(BMI.rebase(center=BMI.center).inputs)
    assert around == "coefficients per raw unit around .center"


def test_a_formula_in_scaled_units_says_what_each_name_stands_for():
    legend = "bmi stands for (bmi - 26.38) / 4.31, year for (year - 2012.5) / 1.2"
    assert repr(BMI).splitlines()[2:] == [f"  {units(BMI.inputs)}", f"  {legend}"]
    assert BMI.top(2).note.splitlines()[-1] == legend
    assert legend in Reader(BMI._repr_html_()).texts
    around = "bmi stands for bmi - 26.377, year for year - 2012.5"
    assert around in repr(BMI.rebase(center=BMI.center))
    assert "stands for" not in repr(BMI.rebase())
    assert "stands for" not in BMI.rebase()._repr_html_()


KINDS = Inputs((Column.factor("kind", ["a", "b", "c", "d"]), Column("size")))


def of_kinds(*names):
    return Polynomial.from_terms(names, range(1, 1 + len(names)), KINDS.feature_names, inputs=KINDS)


def test_levels_without_a_term_are_named_as_what_the_others_are_compared_with():
    line = "levels are compared with kind = a"
    poly = of_kinds("1", "kind=b", "kind=c", "kind=d", "size")
    assert repr(poly).splitlines()[-1] == f"  {line}"
    assert poly.top(5).note.splitlines()[-1] == line
    assert line in Reader(poly._repr_html_()).texts
    assert "kind = (a or c)" in repr(of_kinds("1", "kind=b", "kind=d"))
    # No level is shown by itself, or each has a number of its own.
    assert "compared" not in repr(of_kinds("1", "size", "size · kind=b"))
    assert "compared" not in repr(of_kinds("1", "kind=a", "kind=b", "kind=c", "kind=d"))
    assert "compared" not in poly.top(1).note


def test_levels_that_a_region_rules_out_are_not_what_others_are_compared_with():
    inner = Split(0, levels=(1,), left=Leaf(0), right=Leaf(1))
    tree = Split(0, levels=(0, 1, 2), left=inner, right=Leaf(2))
    parts = (of_kinds("1", "size"), of_kinds("1", "kind=c"), of_kinds("1"))
    formula = PiecewisePolynomial(tree, parts)
    assert [region.rule for region in formula.regions][1] == "kind is (a or c)"
    lines = repr(formula).splitlines()
    assert lines[lines.index("    y = 1 + 2 kind=c") + 1] == "    levels are compared with kind = a"
    assert repr(formula).count("compared") == 1
    assert "levels are compared with kind = a" in formula._repr_html_()
    assert "region 1: levels are compared with kind = a" in formula.top(3).note


def test_only_names_that_are_shown_are_explained():
    poly = ramp(3, 1, center=5.0, scale=2.0)
    assert poly.top(1).note.endswith("v2 stands for (v2 - 5) / 2")
    raw = Polynomial([[1.0], [2.0], [3.0]], 1, ["a", "b"], center=[0.0, 5.0])
    assert raw.top(2).note.endswith("b stands for b - 5")


def test_of_many_names_the_rest_is_counted_with_what_has_them_all():
    note = ramp(20, 1, center=5.0, scale=2.0).top(20).note
    assert note.count(" for ") == 8
    assert note.endswith(", and 12 more names: see .center and .scale")


def test_the_terms_that_are_left_out_are_counted_with_what_has_them_all():
    assert repr(ramp(3, 3)).splitlines()[-1] == "  .to_frame() gives all 20 terms"
    assert ".to_frame() gives all 20 terms" in Reader(ramp(3, 3)._repr_html_()).texts
    assert "to_frame" not in repr(ramp(2, 2))


def test_the_printed_formula_gives_the_predictions():
    """By hand, from nothing but what is printed."""
    names = dict(
        part.replace(" stands", "").split(" for ")
        for part in repr(BMI).splitlines()[-1].strip().split(", ")
    )
    printed = repr(BMI).splitlines()[1].split(" = ")[1].replace("^", "**")
    for name in names:
        printed = re.sub(rf"\b{name}\b", f"({names[name]})", printed)
    printed = re.sub(r"([0-9]) \(", r"\1 * (", printed).replace("·", "*")
    X = np.random.default_rng(0).normal(BMI.center, BMI.scale, (50, 2))
    found = eval(printed, dict(zip(BMI.feature_names, X.T, strict=True)))
    assert np.abs(found - BMI.predict(X)).max() < 0.01 * BMI.predict(X).std()


def test_three_outputs_are_shown_and_the_rest_counted():
    lines = repr(ramp(1, 1, 5)).splitlines()
    assert [line.split(" = ")[0].strip() for line in lines[1:4]] == ["y1", "y2", "y3"]
    assert lines[4] == "  … 2 more outputs"
    assert lines[-1] == "  .to_frame() gives all 2 terms"
    assert "more" not in repr(ramp(1, 1, 3))


def test_the_notebook_view_shows_facts_formula_and_the_ten_largest_terms():
    poly = ramp(3, 3, names=["rm", "lstat", "age"])
    reader = Reader(poly._repr_html_())
    assert facts(poly) in "".join(reader.texts)
    assert formula(poly) in reader.texts
    assert "10 largest of 20 terms" in reader.texts
    assert reader.tags.count("tr") == 1 + 10 + 1
    assert "age^3" in reader.texts


def test_markup_in_names_shows_as_text():
    evil = "<script>alert('&')</script>"
    poly = ramp(1, 2, names=[evil], output_names=[evil + "y"])
    reader = Reader(poly._repr_html_())
    assert "script" not in reader.tags
    assert any(text.startswith(f"{evil}y = 1") for text in reader.texts)
    assert f'"{evil}"^2' in reader.texts


def test_markup_in_class_and_output_names_of_several_outputs_shows_as_text():
    evil = ["<b>one</b>", "<img src=x onerror=alert(1)>"]
    reader = Reader(ramp(1, 1, 2, output_names=evil, classes=evil)._repr_html_())
    assert not {"b", "img"} & set(reader.tags)
    assert evil[1] in reader.texts


def test_a_repr_holds_nothing_that_steers_a_terminal():
    """Escape sequences, and marks that turn the reading direction round."""
    name = "a\x1b[31m\u202e\nb"
    poly = Polynomial([[1.0], [2.0]], 1, [name], [name])
    assert repr(poly).replace("\n", "").isprintable()
    assert len(repr(poly).splitlines()) == len(
        repr(Polynomial([[1.0], [2.0]], 1, ["a"])).splitlines()
    )
