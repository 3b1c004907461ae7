"""LaTeX: read line by line by matplotlib's mathtext, and computed back."""

import re

import numpy as np
import pytest
from matplotlib.mathtext import MathTextParser

from nn2poly import export
from nn2poly.errors import InvalidInputError
from nn2poly.export.latex_formula import symbol
from nn2poly.formula.piecewise import PiecewisePolynomial
from nn2poly.formula.polynomial import Polynomial
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Identity, Log

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


def calculated(text, X):
    """Compute a formula with its definitions for rows of numbers x_{1}, x_{2} …"""
    text = re.sub(r" \\times 10\^\{(-?[0-9]+)\}", r"e\1", text)
    sides = [line.removesuffix(" \\\\").split("&", 1) for line in lines_of(text)]
    own = {left: python_of(right) for left, right in sides if left.startswith("z")}
    total = python_of(" ".join(right for left, right in sides if not left.startswith("z")))
    names = {"np": np, "x": dict(enumerate(X.T, start=1)), "z": {}}
    for left, right in own.items():
        names["z"][int(re.search("[0-9]+", left)[0])] = eval(right, names)
    return np.broadcast_to(eval(total, names), len(X))


def python_of(side):
    side = re.sub(r"z_\{x_\{([0-9]+)\}\}", r"z[\1]", side)
    side = re.sub(r"x_\{([0-9]+)\}", r"x[\1]", side)
    side = re.sub(r"\\(min|max)", r"np.\1imum", side).replace(",\\,", ",").replace("\\,", "*")
    side = re.sub(r"\^\{([0-9]+)\}", r"**\1", side).replace("{}", "").replace("{-}", "-")
    return side.replace("\\log", "np.log").strip()


def relative_error(poly, X, digits):
    """Give the root mean square error of the printed formula in deviations of the output."""
    exact = poly.predict(X)
    printed = calculated(export.latex(poly, digits=digits)["y"], X)
    return np.sqrt(np.mean((printed - exact) ** 2)) / exact.std()


YEARS = np.random.default_rng(3).uniform([2008.0, 59.0], [2016.0, 61.0], size=(300, 2))
UNITS = {"center": YEARS.mean(axis=0), "scale": YEARS.std(axis=0)}
SEEN = {"low": YEARS.min(axis=0), "high": YEARS.max(axis=0)}
PRICE = Polynomial([[20150.4], [1.25], [-3.5], [0.4], [0.31], [0.2]], 2, ["x1", "x2"], **UNITS)


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 6])
def test_the_printed_formula_is_near_the_predictions_however_far_the_inputs_are_from_0(digits):
    """The year 2012.5, scaled by 1.2, was written as 2.01e3: off by two deviations."""
    assert relative_error(PRICE, YEARS, digits) < 10.0 ** (1 - digits)


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_bounds_far_from_0_are_written_as_they_act(digits):
    bounded = tuple(
        Column(f"x{j + 1}", coordinates=(Coordinate(*unit, Identity(*ends)),))
        for j, (unit, ends) in enumerate(
            zip(zip(*UNITS.values(), strict=True), ((2009.3, 2014.8), (59.3, 60.9)), strict=True)
        )
    )
    poly = Polynomial(PRICE.coefficients, 2, inputs=Inputs(bounded))
    assert relative_error(poly, YEARS, digits) < 10.0 ** (1 - digits)


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_logarithms_of_years_are_written_as_they_act(digits):
    logs = np.log(YEARS)
    units = zip(logs.mean(axis=0), logs.std(axis=0), strict=True)
    columns = tuple(
        Column(f"x{j + 1}", coordinates=(Coordinate(*unit, Log(low, low + 1.5)),))
        for j, (unit, low) in enumerate(zip(units, YEARS.min(axis=0), strict=True))
    )
    poly = Polynomial(PRICE.coefficients, 2, inputs=Inputs(columns))
    assert relative_error(poly, YEARS, digits) < 10.0 ** (1 - digits)


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_coefficients_in_raw_units_have_the_digits_that_their_sum_needs(digits):
    """The intercept is in the millions, and most of it cancels."""
    seen = Polynomial(PRICE.coefficients, 2, ["x1", "x2"], **UNITS, **SEEN)
    assert relative_error(seen.rebase(), YEARS, digits) < 10.0 ** (1 - digits)


def test_thresholds_of_regions_far_from_0_are_written_as_they_act():
    tree = Split(0, 2012.5, left=Leaf(0), right=Leaf(1))
    text = export.latex(PiecewisePolynomial(tree, (PRICE, PRICE)), digits=3)["y"]
    assert r"x_{1} < 2012.5" in text
    assert r"x_{1} \ge 2012.5" in text


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
