"""The verdict says in plain words what the numbers say, and never more."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.verdict import verdict
from nn2poly.cards import FidelityCard, Guarantee, OutputFidelity
from nn2poly.verdict_texts import verdict_text
from nn2poly.verdicts import (
    FAITHFUL,
    ROUGH,
    USEFUL,
    Closer,
    Distance,
    FarColumn,
    Look,
    MissedTarget,
    Outside,
    Region,
    Smaller,
    Tail,
    Verdict,
)


def output(r2=0.99, within=0.05, spread=1.0):
    return OutputFidelity(r2, 0.1, 0.5, 3, spread, (0.01, 0.02, within, 0.3))


def judge(r2, *, outputs=None, regions=(), tail=None, fitted=False, **changes):
    facts = {
        "n_rows": 500,
        "held_out": True,
        "rmse": 0.1,
        "max_error": 0.5,
        "agreement": None,
        "probability_error": None,
        "per_order": (0.0, 0.5, r2),
        "per_layer": (),
        "guarantee": Guarantee(0.95, 0.99, (), 299, 100),
        "verdict": Verdict("undecided", r2, 500, False, 2),
    }
    if changes.get("agreement") is not None:
        facts |= {"probability_error": 0.01, "probability_within": 0.05}
    card = FidelityCard(
        r2=r2,
        per_output=outputs or {"y": output(r2)},
        regions=tuple(regions),
        **facts | changes,
    )
    return verdict(card, tail=tail, fitted=fitted)


def say(r2, **facts):
    return str(judge(r2, **facts))


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
        (-2804.2, "-2,804"),
        (-1.5e100, "-1.5e+100"),
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
    assert "within 150 % of its range" in say(0.1, outputs={"y": output(within=1.5)})


def test_a_negative_r2_is_not_said_to_follow_the_network():
    for classes in ({}, {"agreement": 0.6}):
        text = say(-3.0, **classes)
        assert "follows" not in text
        assert text.startswith("Not faithful (R2 -3): ")
        assert "try another order or more data" in text
    assert "further from the network, overall, than a constant would be." in say(-3.0)


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
    text = say(0.99, agreement=0.934)
    assert (
        "labels agree on 93.4 % of rows; probabilities are within 0.05 of the network's on 95 % "
        "of rows." in text
    )
    assert "range" not in text
    assert "label" not in say(0.99)


@pytest.mark.parametrize(
    ("within", "shown"),
    [(0.0, "0.001"), (0.0004, "0.001"), (0.0511, "0.052"), (0.05, "0.05"), (0.999, "1")],
)
def test_the_distance_of_probabilities_is_rounded_up(within, shown):
    assert f"within {shown} of" in say(0.99, agreement=1.0, probability_within=within)


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
    assert " 1 of these rows lies outside the range" in say(0.99, outside=1)
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
    X = np.random.default_rng(5).uniform(-1, 1, (900, 3))  # too few to look for regions
    card = n2p.convert(network, 2, data=X, bounded=False).card
    (only,) = card.per_output.values()
    assert card.verdict == verdict(card)
    assert f"{100 * only.quantiles[2] / only.spread:.2g} %" in str(card.verdict)


def test_what_would_be_closer_or_smaller_is_said_with_its_cost():
    closer = Verdict("not faithful", 0.6, 500, False, 2, look=Look(found=Closer(8, 0.968, 728)))
    assert "Closer: 8 regions would reach about R2 0.96, with 728 coefficients." in str(closer)
    assert "Do not use it in place of the network. Closer" in str(closer)
    assert "a higher order" not in str(closer)
    reasons, look = (Distance(0.1, 2.0),), Look(found=Smaller(50, 0.9678))
    smaller = Verdict("useful", 0.97, 500, False, 3, reasons, look=look)
    assert "Smaller: the 50 terms that matter most reach R2 0.967 alone." in str(smaller)


# ---- the verdict is data -----------------------------------------------------------------------


def test_grade_and_reasons_can_be_read_without_parsing_the_text():
    tail = Tail(41, 0.981, (FarColumn("AveOccup", 1243.3, 2.82),))
    found = judge(-316.0, tail=tail, outside=2, path=((3, 20, -316.0),), target_r2=0.99)
    assert (found.grade, found.r2, found.n_rows, found.fitted) == (
        "not faithful",
        -316.0,
        500,
        False,
    )
    assert found.reason(Tail) is tail
    assert found.reason(Outside) == Outside(2)
    assert found.reason(MissedTarget) == MissedTarget(3, 0.99)
    assert found.reason(Region) is None
    assert judge(0.97, regions=[REGION]).reason(Region) is REGION
    assert judge(0.996, fitted=True).grade == "unproven"


def test_another_spelling_of_r2_changes_nothing_else_and_no_name():
    """A column may be called R2: only what the formatter writes itself is spelt."""
    tail = Tail(41, 0.981, (FarColumn("(R2 is", 1243.3, 2.82),))
    found = judge(-316.0, tail=tail, path=((3, 20, -316.0),), target_r2=0.99)
    text, spelt = str(found), verdict_text(found, r2="R²")
    assert text.count("R2") == 4
    assert spelt.count("R²") == 3
    assert "far out in '(R2 is' (1,243" in spelt
    assert spelt.replace("R²", "R2") == text


@pytest.mark.parametrize("r2", [0.999, 0.9, -3.0, float("nan")])
@pytest.mark.parametrize("fitted", [False, True])
def test_a_verdict_comes_back_from_plain_data(r2, fitted):
    tail = Tail(3, 0.9, (FarColumn("a", 9.0, 0.0), FarColumn("b", 8.0, 1.0)))
    for facts in ({}, {"tail": tail}, {"regions": [REGION]}, {"agreement": 0.9}):
        found = judge(r2, fitted=fitted, outside=3, path=((2, 9, 0.1),), target_r2=0.99, **facts)
        data = json.loads(json.dumps(found.to_dict()).replace("NaN", "null"))
        assert repr(Verdict.from_dict(data)) == repr(found)


# ---- few rows that carry the error ---------------------------------------------------------------


def test_the_few_rows_that_carry_the_error_are_counted_and_their_columns_named():
    tail = Tail(41, 0.981, (FarColumn("AveOccup", 1243.3, 2.82), FarColumn("Pop", 9.0, 1.0)))
    text = say(-316.0, tail=tail)
    assert "; without the 41 worst rows R2 is 0.981. The worst of them lie far out in " in text
    assert "'AveOccup' (1,243; median 2.82) and 'Pop' (9; median 1)" in text
    assert "clip or transform such columns, lower the order, or trust the network there." in text
    assert "higher order" not in text


def test_one_worst_row_is_spoken_of_as_one_and_order_one_cannot_be_lowered():
    text = say(0.3, tail=Tail(1, 0.9, (FarColumn("a", 9.0, 0.0),)), per_order=(0.0, 0.3))
    assert "without the worst row R2 is 0.900. It lies far out in 'a'" in text
    assert "clip or transform that column, or trust the network there." in text
    assert "Look at the 3 worst rows, lower the order, or" in say(0.3, tail=Tail(3, 0.9, ()))


# ---- rows that were fitted, few rows, a target that was missed -----------------------------------


def test_rows_that_were_fitted_earn_no_praise():
    text = say(0.996, fitted=True, n_rows=4)
    assert text.startswith("Unproven (R2 0.996): measured on the 4 rows that it was fitted to")
    assert "promises nothing" in text
    assert say(0.3, fitted=True, n_rows=4).startswith("Not faithful (R2 0.300): measured on the 4")
    assert say(float("nan"), fitted=True, n_rows=1).startswith("Undecided")


def test_few_rows_are_counted_and_many_are_not():
    assert "on 95 % of 99 rows." in say(0.99, n_rows=99)
    assert "on 95 % of 1 row." in say(0.99, n_rows=1)
    assert "on 95 % of rows." in say(0.99, n_rows=100)
    assert "be, on 12 rows." in say(-1.0, n_rows=12)


def test_a_target_that_no_order_reached_is_said_to_be_missed():
    path = ((1, 4, 0.5), (2, 10, 0.9), (3, 20, 0.85))
    missed = " No order up to 3 reached R2 0.99; this one came closest."
    assert missed in say(0.9, path=path, target_r2=0.99)
    assert missed in say(0.9, path=path, target_r2=0.99, tail=Tail(3, 0.999, ()))
    assert missed in say(0.9, path=path, target_r2=0.99, fitted=True)
    assert "reached" not in say(0.99, path=path, target_r2=0.99)
    assert "reached" not in say(float("nan"), path=path, target_r2=0.99)
    poor = say(0.5, path=path, target_r2=0.99)
    assert "Do not use it" in poor
    assert "higher order" not in poor


def test_a_conversion_of_few_rows_says_that_they_were_fitted_and_fidelity_does_not(make_network):
    network = make_network(5, (3, 8, 1), "tanh")
    X = np.random.default_rng(5).uniform(-1, 1, (8, 3))
    poly = n2p.convert(network, 2, data=X)
    assert "the 8 rows that it was fitted to" in str(poly.card.verdict)
    assert poly.card.guarantee.held_out is False
    checked = n2p.fidelity(network, poly, X)
    assert "fitted" not in str(checked.verdict)
    assert "8 rows" in str(checked.verdict)


def test_a_search_that_misses_its_target_says_so(make_network):
    network = make_network(5, (3, 8, 6, 1), "relu", spread=2.0)
    X = np.random.default_rng(5).uniform(-1, 1, (300, 3))
    card = n2p.polynomial_network(network, "auto", data=X, target_r2=1.0).card
    assert card.target_r2 == 1.0
    assert f"No order up to {card.path[-1][0]} reached R2 1; this one came closest" in str(
        card.verdict
    )
    # The path is of rows that chose; the card is of others.
    assert card.r2 > 0.95
    assert n2p.polynomial_network(network, 2, data=X).card.target_r2 is None


def test_a_grade_below_that_of_r2_says_that_the_interval_decides():
    low = Verdict("rough", 0.987, 200, False, 2, (), interval=(0.83, 0.995))
    assert "95 % interval 0.830 to 0.995; the grade goes by its lower end" in str(low)
    same = Verdict("useful", 0.987, 200, False, 2, (), interval=(0.96, 0.995))
    assert "lower end" not in str(same)
