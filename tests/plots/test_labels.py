"""Names of one axis: short enough, and never alike; numbers as people write them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nn2poly as n2p
from nn2poly import plots
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.plots.labels import axis_labels, number, term_labels
from nn2poly.plots.shortening import broken, shorten_together

LEVELS = ("Married-civ-spouse", "Married-AF-spouse", "Never-married", "Divorced")
ADULT = (*(f"marital status={level}" for level in LEVELS), "sex=male", "sex=female", "age")


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("width", [6, 8, 12, 16, 24])
def test_names_of_an_axis_fit_and_differ(width, lines):
    short = shorten_together(ADULT, width, lines)
    assert len({*short}) == len(ADULT)
    assert all(len(broken(text, width)) <= lines for text in short)


@given(
    st.lists(st.text("ab =_-", min_size=1, max_size=30), min_size=1, max_size=8),
    st.integers(6, 20),
    st.integers(1, 3),
)
def test_any_names_fit_and_differ(names, width, lines):
    short = shorten_together(names, width, lines)
    assert len({*short}) == len(names)
    assert all(len(broken(text, width)) <= lines for text in short)


def test_what_distinguishes_is_kept():
    assert shorten_together(ADULT[4:6], 7) == ["se…male", "…female"]
    one, other, *_ = shorten_together(ADULT, 16)
    assert "civ" in one
    assert "AF" in other


def test_a_level_is_kept_before_its_column():
    assert shorten_together(["marital status=Divorced"], 16) == ["marital…Divorced"]


def test_names_that_fit_stay_as_they_are():
    assert axis_labels(["age", "rooms"], 5, 1) == ["age", "rooms"]


def test_names_that_cannot_be_told_apart_are_numbered():
    names = [f"{'x' * 20}{i}{'y' * 20}{i}{'z' * 20}" for i in range(1)] * 3
    assert [text[:2] for text in shorten_together(names, 10)] == ["1 ", "2 ", "3 "]


def test_a_power_survives_shortening():
    names = ["a very long name of the first feature there is", "a very long name of another one"]
    labels = term_labels([(0, 0), (1, 1), (0, 0, 1)], names, width=12, lines=1)
    assert labels[0].endswith("²")
    assert labels[1].endswith("²")
    assert labels[2].count("²") == 1


@pytest.fixture(scope="module")
def adult(make_polynomial):
    return make_polynomial(3, len(ADULT), 2, feature_names=ADULT)


def test_no_two_labels_of_an_axis_are_alike_in_any_plot(adult):
    X = np.random.default_rng(0).normal(size=(60, len(ADULT)))
    drawn = [
        plots.importance(adult, 25),
        plots.heatmap(adult),
        plots.beeswarm(adult, X, n=25),
        plots.waterfall(adult, X[0], n=25),
    ]
    for axes in drawn:
        texts = [label.get_text() for label in axes.get_yticklabels()]
        assert len({*texts}) == len(texts)
    around = [text.get_text() for text in plots.interaction_network(adult).texts]
    assert len({*around}) == len(around)


def test_rules_of_a_tree_differ_where_its_columns_do(adult):
    inner = Split(1, 0.5, left=Leaf(0), right=Leaf(1))
    tree = Split(0, 0.5, left=inner, right=Leaf(2))
    formula = n2p.PiecewisePolynomial(tree, (adult, adult, adult))
    texts = [text.get_text() for text in plots.regions(formula).texts]
    columns = {text.split("\n")[0] for text in texts if "spouse" in text}
    assert len(columns) == 2
    assert max(map(len, columns)) <= 18


def test_outputs_with_long_names_have_different_titles(make_polynomial):
    names = [f"the probability of a class called {c} in the register" for c in "ab"]
    poly = make_polynomial(4, 2, 1, 2, output_names=names)
    one, other = (axes.get_title(loc="left") for axes in plots.importance(poly))
    assert one != other


@pytest.mark.parametrize(
    ("value", "text"),
    [(2270.0, "2,270"), (-2268.4, "−2,268"), (999.4, "999"), (999.6, "1,000"), (0.0, "0"),
     (1234567.0, "1,230,000"), (1e12, "1e+12"), (-0.00001, "−1e−05"), (41.58, "41.6")],
)  # fmt: skip
def test_numbers_are_written_as_people_do(value, text):
    assert number(value) == text


def test_a_waterfall_of_thousands_has_no_exponents():
    poly = n2p.Polynomial([[2270.0], [-31234.0], [5.5]], 1, ["a", "b"])
    axes = plots.waterfall(poly, [1.0, 2000.0])
    shown = [*(text.get_text() for text in axes.texts), *map(str, axes.get_yticklabels())]
    assert "2,270" in shown
    assert not any(re.search(r"\de[+-−]\d", text) for text in shown)
