"""LaTeX: read line by line by matplotlib's mathtext, and computed back."""

import re

import numpy as np
import pytest
from matplotlib.mathtext import MathTextParser

from nn2poly import export
from nn2poly.errors import InvalidInputError
from nn2poly.export.latex_formula import symbol
from nn2poly.formula.polynomial import Polynomial

NUMBER = r"\{?-?\}?[0-9.]+(?: \\times 10\^\{-?[0-9]+\})?"


def lines_of(text):
    assert text.startswith("\\begin{aligned}\n")
    assert text.endswith("\n\\end{aligned}")
    return text.split("\n")[1:-1]


def computed(text, x):
    """Compute the sum of a formula in x_{1}, x_{2} … that has no units of its own."""
    body = " ".join(line.removesuffix(" \\\\").split("&", 1)[1] for line in lines_of(text))
    body = re.sub(r" \\times 10\^\{(-?[0-9]+)\}", r"e\1", body)
    body = re.sub(r"x_\{([0-9]+)\}", r"x[\1 - 1]", body).replace("\\,", "*")
    body = re.sub(r"\^\{([0-9]+)\}", r"**\1", body).replace("{}", "").replace("{-}", "-")
    return eval(body, {"__builtins__": {}, "x": x})


@pytest.mark.parametrize(("p", "order"), [(1, 1), (1, 4), (3, 2), (3, 4), (54, 1)])
def test_with_all_digits_it_gives_the_predictions(p, order, make, close):
    poly, X, Y = make["rows"](make["dense"](order, p, order, units=False))
    text = export.latex(poly, digits=17)["y"]
    close([[computed(text, row)] for row in X.tolist()], Y)


def is_read(formula):
    # Mathtext knows neither alignment nor an escaped ampersand, nor every glyph.
    formula = re.sub(r"\\&", "+", formula).replace("&", "", 1)
    MathTextParser("path").parse(f"${re.sub('[^ -~]', 'u', formula)}$")
    return True


def test_every_line_is_balanced_and_the_first_are_read_as_mathematics(case):
    poly, _, _ = case
    for text in export.latex(poly).values():
        lines = lines_of(text)
        assert all(line.endswith(" \\\\") for line in lines[:-1])
        for line in lines:
            unescaped = re.sub(r"\\.", "", line)
            assert unescaped.count("&") == 1
            assert unescaped.count("{") == unescaped.count("}")
    assert all(is_read(line.removesuffix("\\\\")) for line in lines[:2])


def test_every_name_is_read_as_mathematics(awkward):
    poly, _, _ = awkward
    assert all(is_read(f"{symbol(name)}^{{2}}") for name in poly.feature_names)
    with pytest.raises(ValueError, match="Parse"):
        is_read(r"\mathrm{a")


def test_digits_round_and_powers_of_ten_are_written_out():
    poly = Polynomial([[-0.00001234567], [12345.678], [1.0], [99.999]], 3, ["x1"])
    assert lines_of(export.latex(poly, digits=3)["y"]) == [
        r"y ={}& {-}1.23 \times 10^{-5} + 1.23 \times 10^{4}\,x_{1} + x_{1}^{2} + 100\,x_{1}^{3}"
    ]


def test_long_sums_are_broken_in_front_of_signs(make):
    text = export.latex(make["dense"](1, 54, 1, units=False), width=60)["y"]
    lines = lines_of(text)
    assert len(lines) > 8
    assert all(re.match(r"& \{\} [-+] ", line) for line in lines[1:])
    assert max(len(line) for line in lines) < 110


def test_standardised_features_are_defined_below():
    poly = Polynomial([[1.0], [2.0], [3.0]], 1, ["rm", "age"], center=[6.25, 0], scale=[0.5, 1])
    assert lines_of(export.latex(poly)["y"]) == [
        r"y ={}& 1 + 2\,z_{\mathrm{rm}} + 3\,\mathrm{age} \\",
        r"z_{\mathrm{rm}} ={}& (\mathrm{rm} - 6.25) / 0.5",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x1", "x_{1}"),
        ("a&b%c#d", r"\mathrm{a\&b\%c\#d}"),
        ("\\input{evil}", r"\mathrm{{\backslash}input\{evil\}}"),
        ("$x$", r"\mathrm{\$x\$}"),
        ("new\nline", r"\mathrm{new\ line}"),
        ("größe", r"\mathrm{gr\text{öß}e}"),
    ],
)
def test_names_are_escaped(name, expected):
    assert symbol(name) == expected


def test_a_name_that_begins_with_a_digit_does_not_melt_into_its_coefficient():
    poly = Polynomial([[0.0], [1.5]], 1, ["2nd"])
    assert lines_of(export.latex(poly)["y"]) == [r"y ={}& 1.5 \cdot \mathrm{2nd}"]


@pytest.mark.parametrize("option", ["digits", "width"])
def test_bad_options_are_refused(option):
    with pytest.raises(InvalidInputError, match=option):
        export.latex(Polynomial([[1.0]], 0, ["a"]), **{option: 0})


def test_a_zero_output_is_zero():
    text = export.latex(Polynomial(np.zeros((3, 1)), 1, ["a", "b"]))["y"]
    assert lines_of(text) == ["y ={}& 0"]
