"""The verdict says in plain words what the numbers say, and never more."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.verdict import FAITHFUL, ROUGH, USEFUL, verdict
from nn2poly.cards import OutputFidelity, Region


def output(r2=0.99, within=0.05, spread=1.0):
    return OutputFidelity(r2, 0.1, 0.5, 3, spread, (0.01, 0.02, within, 0.3))


def say(r2, *, agreement=None, outputs=None, regions=(), outside=0):
    return verdict(r2, agreement, outputs or {"y": output(r2)}, tuple(regions), outside)


REGION = Region("age > 60 and dose <= 2", 40, 0.3, 2.34)


@pytest.mark.parametrize(
    ("r2", "word"),
    [
        (1.0, "Faithful"),
        (0.99, "Faithful"),
        (np.nextafter(0.99, 0), "Useful"),
        (0.95, "Useful"),
        (np.nextafter(0.95, 0), "Rough"),
        (0.8, "Rough"),
        (np.nextafter(0.8, 0), "Not faithful"),
        (0.0, "Not faithful"),
        (-82.0, "Not faithful"),
    ],
)
def test_the_grade_follows_r2(r2, word):
    assert say(r2).startswith(f"{word} (R2 ")


def test_the_grades_are_those_of_the_tests_above():
    assert (FAITHFUL, USEFUL, ROUGH) == (0.99, 0.95, 0.8)


def test_an_output_that_does_not_vary_is_not_graded():
    text = say(float("nan"), outputs={"y": output(float("nan"), 0.0, 0.0)})
    assert text.startswith("Undecided")
    assert "does not vary" in text
    assert "nan" not in text.lower().replace("undecided", "")


@pytest.mark.parametrize(
    ("r2", "shown"),
    [
        (0.8, "0.800"),
        (0.9912, "0.991"),
        (0.99951, "0.9995"),
        (0.99997, "0.99997"),
        (0.9999973, "0.999997"),
        (0.9999999, "above 0.999999"),
        (1.0, "above 0.999999"),
        (-0.5, "-0.5"),
        (-82.34, "-82.3"),
    ],
)
def test_r2_is_shown_with_enough_digits_not_to_be_called_one(r2, shown):
    assert f"(R2 {shown})" in say(r2)


def test_no_r2_below_one_is_shown_as_one():
    near = 1.0 - 10.0 ** -np.linspace(0.1, 16, 500)
    assert not [r2 for r2 in near.tolist() if "(R2 1" in say(r2)]


@pytest.mark.parametrize("r2", [0.98996, 0.94998, 0.79996])
def test_the_number_shown_earns_the_grade_given(r2):
    text = say(r2)
    shown = float(re.search(r"R2 ([\d.]+)", text)[1])
    assert text.split(" (")[0] == say(shown).split(" (")[0]


def test_the_distance_is_the_95_percent_quantile_in_units_of_the_range():
    text = say(0.99, outputs={"y": output(within=0.2, spread=10.0)})
    assert "within 2 % of its range on 95 % of rows." in text


def test_a_distance_beyond_the_range_is_written_in_plain_digits():
    assert "within 150 % of its range" in say(-3.0, outputs={"y": output(within=1.5)})


def test_of_several_outputs_the_worst_is_named():
    outputs = {"price": output(within=0.1), "demand": output(within=0.3), "flat": output(0, 9, 0)}
    text = say(0.97, outputs=outputs)
    assert "30 % of its range (output 'demand', the worst)" in text
    assert "the worst" not in say(0.97, outputs={"price": output()})


def test_when_no_output_varies_the_distance_is_in_its_own_unit():
    text = say(float("nan"), outputs={"a": output(within=0.25, spread=0.0)})
    assert "to within 0.25 on" in text
    assert "range" not in text


def test_a_classifier_is_told_how_often_the_labels_agree():
    assert "gives the same label on 93.4%." in say(0.99, agreement=0.934)
    assert "label" not in say(0.99)


def test_labels_that_differ_somewhere_are_not_said_to_agree_on_all_rows():
    assert "100" not in say(0.99, agreement=0.9996)


def test_the_worst_region_is_a_caution():
    text = say(0.97, regions=[REGION, Region("time > 3", 20, 0.2, 1.5)])
    assert "Take care where age > 60 and dose <= 2: errors are 2.3 times larger." in text
    assert "time > 3" not in text


def test_a_polynomial_that_is_not_faithful_is_not_to_be_used_anywhere():
    text = say(0.5, regions=[REGION])
    assert "Do not use it in place of the network" in text
    assert "Take care" not in text
    assert "Do not use" not in say(0.85, regions=[REGION])


def test_rows_outside_the_range_are_counted():
    assert " 1,234 of these rows lie outside the range" in say(0.99, outside=1234)
    assert "outside" not in say(0.99)


def test_every_verdict_ends_as_a_sentence():
    for r2 in (0.999, 0.96, 0.9, 0.1, float("nan")):
        for regions in ((), (REGION,)):
            for outside in (0, 5):
                text = say(r2, regions=regions, outside=outside, agreement=0.9)
                assert text.endswith(".")
                assert "  " not in text
                assert ".." not in text


def test_the_verdict_of_a_card_is_made_of_its_own_numbers(make_network):
    network = make_network(5, (3, 8, 6, 1), "tanh", spread=1.5)
    X = np.random.default_rng(5).uniform(-1, 1, (1000, 3))
    card = n2p.convert(network, 2, data=X).card
    (only,) = card.per_output.values()
    expected = verdict(card.r2, None, card.per_output, card.regions, card.outside)
    assert card.verdict == expected
    assert f"{100 * only.quantiles[2] / only.spread:.2g} %" in card.verdict
