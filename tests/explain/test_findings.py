"""Findings in words, on formulas whose effects are known."""

import re

import numpy as np

from nn2poly import Polynomial
from nn2poly.explain.findings import Findings
from nn2poly.inputs import Column, Inputs
from nn2poly.outputs import Outputs


def rows():
    hours, day = np.meshgrid(np.arange(24.0), [0.0, 1.0])
    return np.column_stack([hours.ravel(), day.ravel()])


def rentals(**outputs):
    inputs = Inputs((Column("hour"), Column("workingday", "binary")))
    inputs = inputs.seen([0.0, 0.0], [23.0, 1.0])
    # A working day adds 210 - 10 (hour - 8)².
    terms = ["workingday", "hour workingday", "hour^2 workingday"]
    poly = Polynomial.from_terms(terms, [210.0 - 640.0, 160.0, -10.0], ["hour", "workingday"])
    kinds = Outputs(("rentals",), **outputs)
    return Polynomial(poly.coefficients, terms=poly.terms, inputs=inputs, outputs=kinds)


def test_a_switch_is_told_where_it_adds_most_and_where_it_takes_most():
    said = Findings(rentals(), rows())
    text = said.of_pair("hour", "workingday", 0)
    assert text.startswith("workingday yes instead of no takes")
    assert "from rentals where hour is between 21 and 23" in text
    assert text == said.of_pair("workingday", "hour", 0)


def test_a_column_that_rises_is_told_by_its_ends_and_one_that_turns_by_its_peaks():
    X = np.linspace(-1.0, 1.0, 21)[:, None]
    line = Polynomial([[1.0], [2.0]], 1, ["t"])
    assert Findings(line, X).of_column("t", 0) == (
        "t: from −1 to 1, y goes up from −1 to 3 on average."
    )
    bowl = Polynomial([[0.0], [0.0], [1.0]], 2, ["t"])
    assert "lowest at 0 (0)" in Findings(bowl, X).of_column("t", 0)
    flat = Polynomial([[3.0], [0.0]], 1, ["t"])
    assert "changes nothing" in Findings(flat, X).of_column("t", 0)


def test_a_column_whose_effects_cancel_is_said_to_hardly_change_the_average():
    X = np.array([[a, b] for a in (-1.0, 0.0, 1.0) for b in (0.0, 1.0)])
    poly = Polynomial.from_terms(["a", "a b", "b"], [1.0, 3.0, 0.001], ["a", "b"])
    assert Findings(poly, X).of_column("b", 0) == (
        "b: on average it hardly changes y (0 to 0.001)."
    )


def test_a_classifier_is_told_in_percent_of_the_class():
    poly = rentals(classes=("few", "many"), link="sigmoid")
    said = Findings(poly, rows(), "probability")
    text = said.of_column("workingday", 0)
    assert "P(many)" in text
    assert "%" in text
    assert "percentage points" in said.of_pair("hour", "workingday", 0)


def test_a_second_change_of_the_same_sign_is_told_by_its_size_alone():
    poly = Polynomial.from_terms(["day", "hour day"], [10.0, 1.0], ["hour", "day"])
    text = Findings(poly, rows()).of_pair("hour", "day", 0)
    assert re.search(r"adds [\d.]+ to y where .*, and [\d.]+ where hour is between 0 and", text)
    classes = Outputs(("y",), ("few", "many"), "sigmoid")
    poly = Polynomial(
        0.02 * poly.coefficients, terms=poly.terms, inputs=poly.inputs, outputs=classes
    )
    text = Findings(poly, rows(), "probability").of_pair("hour", "day", 0)
    assert re.search(r"raises P\(many\) by \d+ percentage points where .*, and by [\d.]+", text)
