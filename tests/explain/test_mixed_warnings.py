"""Explanations that look at mixed rows warn where the card says that the formula is poor there."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import explain, plots
from nn2poly.errors import MixedRowsWarning
from nn2poly.score_texts import r2_text
from nn2poly.verdicts import Effects

rng = np.random.default_rng(0)
A = rng.normal(size=400)
X = np.column_stack([A, A + 0.2 * rng.normal(size=400)])
PLAIN = n2p.Polynomial.from_terms(["a^2", "a b"], [0.9, 0.1], ["a", "b"])
CARD = n2p.fidelity(lambda rows: rows[:, 0] * rows[:, 1], PLAIN, X)
POOR = replace(PLAIN, card=CARD)


def with_effects(r2, predictions=CARD.r2):
    """Give the formula a card with another R² on rows with shuffled columns; None for none."""
    told = [reason for reason in CARD.verdict.reasons if not isinstance(reason, Effects)]
    reasons = (*told, *(() if r2 is None else (Effects(r2),)))
    verdict = replace(CARD.verdict, reasons=reasons)
    return replace(PLAIN, card=replace(CARD, r2=predictions, r2_mixed=r2, verdict=verdict))


LOOKING = {
    "marginal_effects": lambda poly: explain.marginal_effects(poly, X),
    "shapley": lambda poly: explain.shapley(poly, X, X),
    "interactions": lambda poly: explain.interactions(poly, X, X),
    "partial_dependence": lambda poly: explain.partial_dependence(poly, X, "a"),
    "ice": lambda poly: explain.ice(poly, X, "a"),
    "friedman_h": lambda poly: explain.friedman_h(poly, X),
    "sobol": lambda poly: explain.sobol(poly, X),
    "joint sobol": lambda poly: explain.sobol(poly, X, joint=True),
    "anova": lambda poly: explain.anova(poly, X),
    "plots.effects": lambda poly: plots.effects(poly, ["a", "b"], X=X),
    "plots.interaction_surface": lambda poly: plots.interaction_surface(poly, "a", "b", X=X),
}


def caught(ask, poly):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ask(poly)
    return [w for w in found if issubclass(w.category, MixedRowsWarning)]


@pytest.mark.parametrize("name", LOOKING)
def test_it_warns_once_and_only_where_the_card_says_so(name):
    assert len(caught(LOOKING[name], POOR)) == 1
    for poly in (with_effects(0.96), with_effects(None), PLAIN):
        assert caught(LOOKING[name], poly) == []


@pytest.mark.parametrize("name", LOOKING)
def test_it_warns_of_rough_effects_whatever_the_predictions_are(name):
    for predictions in (0.6, 0.88, 0.999):
        assert len(caught(LOOKING[name], with_effects(0.878, predictions))) == 1
        assert caught(LOOKING[name], with_effects(0.95, predictions)) == []


def test_the_warning_stands_at_the_callers_line_and_names_both_numbers():
    line = inspect.currentframe().f_lineno + 2
    with pytest.warns(MixedRowsWarning, match=r"explain\.ale") as found:
        explain.friedman_h(POOR, X)
    assert (found[0].filename, found[0].lineno) == (__file__, line)
    text = str(found[0].message)
    assert all(f"R2 {r2_text(value)}" in text for value in (CARD.r2, CARD.r2_mixed))


def test_what_stays_near_the_rows_does_not_warn():
    explain.ale(POOR, X, "a")
    explain.cohort_shapley(POOR, X[:3], X)
    explain.gradients(POOR, X)
