"""No classifier is graded better than its labels agree beyond chance."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.cards import FidelityCard
from nn2poly.plots.footnotes import warning_text
from nn2poly.score_texts import rounded_down
from nn2poly.verdicts import Labels, label_grade

X = np.random.default_rng(3).normal(size=(4_000, 2))
LINE = n2p.Polynomial.from_terms(["1", "a"], [-2.33, 1.0], ["a", "b"])
RARE = replace(LINE, outputs=LINE.outputs.declared(classes=["no", "yes"]))


def lifted(rows, by=0.4):
    """Give the line, lifted near its end, which R² hardly sees: more rows are above 0."""
    return rows[:, 0] - 2.33 + by * (rows[:, 0] > 1.8)


def even(rows):
    """Give the same network with classes of equal size."""
    return lifted(rows) + 2.33


def shown(card):
    return rounded_down(card.labels.kappa, 2)


def test_a_rare_class_that_is_missed_decides_the_grade_and_the_verdict_says_which():
    card = n2p.fidelity(lifted, RARE, X)
    assert card.r2_interval[0] > 0.99
    assert card.agreement > 0.98
    assert card.labels.kappa < 0.6
    assert card.verdict.grade == "not faithful"
    found = card.verdict.reason(Labels)
    assert found.kappa == pytest.approx(card.labels.kappa)
    assert (found.label, found.share) == ("yes", pytest.approx(card.labels.per_class["yes"]))
    assert found.n_rows == np.sum(lifted(X) > 0)
    text = str(card.verdict)
    assert f"The grade goes by the labels: Cohen's kappa is {shown(card)}," in text
    assert f"and of the {found.n_rows} rows that the model labels 'yes' the formula" in text
    assert "lower end" not in text


def test_labels_of_frequent_classes_leave_the_grade_to_r2():
    poly = n2p.Polynomial.from_terms(["a"], [1.0], ["a", "b"])
    poly = replace(poly, outputs=poly.outputs.declared(classes=["no", "yes"]))
    card = n2p.fidelity(even, poly, X)
    assert card.verdict.grade == "faithful"
    assert card.verdict.reason(Labels) is None
    assert "kappa" not in str(card.verdict)


def test_a_regression_with_the_same_numbers_is_graded_by_r2():
    assert n2p.fidelity(lifted, LINE, X).verdict.grade == "faithful"


def test_labels_that_are_alike_on_all_rows_show_nothing():
    few = X[X[:, 0] < 1.0]
    card = n2p.fidelity(lifted, RARE, few)
    assert np.isnan(card.labels.kappa)
    assert card.verdict.grade == "faithful"


def test_of_labels_that_exclude_nothing_the_worst_decides():
    both = n2p.Polynomial.from_terms(
        ["1", "a"], [[-2.33, 0.0], [1.0, 1.0]], ["a", "b"], output_names=["rare", "half"]
    )
    both = replace(both, outputs=both.outputs.declared("sigmoid"))
    card = n2p.fidelity(lambda rows: np.column_stack([lifted(rows), rows[:, 0]]), both, X)
    found = card.verdict.reason(Labels)
    assert card.verdict.grade == "not faithful"
    assert (found.label, found.n_rows) == ("rare", np.sum(lifted(X) > 0))


def test_three_classes_of_which_one_is_rare_are_judged_as_two_are():
    classes = ["x", "y", "rare"]
    scores = [[0.0, 0.0, -2.33], [0.0, 0.0, 1.0], [0.1, -0.1, 0.0]]
    names = ["1", "a", "b"]
    poly = n2p.Polynomial.from_terms(names, scores, ["a", "b"], output_names=classes)
    poly = replace(poly, outputs=poly.outputs.declared("softmax", classes))

    def network(by):
        return lambda X: np.column_stack([0.1 * X[:, 1], -0.1 * X[:, 1], lifted(X, by)])

    assert n2p.fidelity(network(0.0), poly, X).verdict.grade == "faithful"
    card = n2p.fidelity(network(0.4), poly, X)
    assert card.r2_interval[0] > 0.95
    assert card.verdict.grade in ("rough", "not faithful")
    assert card.verdict.reason(Labels).label == "rare"


def test_labels_decide_no_grade_of_rows_that_have_none():
    assert n2p.fidelity(lifted, RARE, X[:25]).verdict.grade == "ungraded"


def test_kappa_counts_rows_by_their_weight():
    weights = np.where(lifted(X) > 0, 50.0, 1.0)
    twice = np.repeat(np.arange(len(X)), weights.astype(int))
    light = n2p.fidelity(lifted, RARE, X, sample_weight=weights).labels
    heavy = n2p.fidelity(lifted, RARE, X[twice]).labels
    assert light.kappa == pytest.approx(heavy.kappa)
    assert light.majority == pytest.approx(heavy.majority)


def test_the_grade_of_labels_falls_with_kappa():
    kappas = (0.95, 0.9, 0.89, 0.8, 0.79, 0.6, 0.59, 0.0, -0.2)
    grades = ("faithful", "faithful", "useful", "useful", "rough", "rough", *3 * ["not faithful"])
    assert tuple(map(label_grade, kappas)) == grades


def test_the_labels_survive_a_file_and_stand_below_figures():
    card = n2p.fidelity(lifted, RARE, X)
    assert FidelityCard.from_dict(json.loads(json.dumps(card.to_dict()))) == card
    text = warning_text([replace(RARE, card=card)])
    assert text.startswith(f"Not faithful (Cohen's kappa {shown(card)}): ")
    assert "R²" not in text
