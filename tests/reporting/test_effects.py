"""Deviations, average curves and pairs: what explain computes, and no other number."""

import base64

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.explain.levels import level_averages
from nn2poly.formula.importance import ranking
from nn2poly.formula.polynomial import Polynomial
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.inputs.indicators import detect_indicators
from nn2poly.outputs import Outputs
from nn2poly.plots.units import typical_row
from nn2poly.reporting.controls import controls
from nn2poly.reporting.effectviews import (
    MAX_INPUTS,
    column_moves,
    column_pairs,
    effects_payload,
    features_by_importance,
    value_deviations,
)
from nn2poly.reporting.scatter import scatter_views


def random_polynomial(seed, p=4, order=3, n_outputs=2, kept=None):
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(p)]
    size = len(Polynomial.from_terms([(0,) * order], [1.0], names).terms)
    full = Polynomial(
        rng.normal(size=(_count(p, order), n_outputs)),
        order,
        names,
        center=rng.normal(size=p),
        scale=rng.uniform(0.5, 2.0, p),
    )
    assert size == 1
    return full if kept is None else full.prune(kept)


def _count(p, order):
    from math import comb

    return comb(p + order, order)


def unpacked(text, dtype="<f8"):
    return np.frombuffer(base64.b64decode(text), dtype)


def test_a_track_ends_a_little_behind_the_bounds_of_its_input():
    held = Column("size", coordinates=(Coordinate(function=Identity(1.0, 12.0)),))
    X = np.append(np.linspace(0.5, 13.0, 99), 1_000.0)[:, None]
    (made,) = controls(X, Inputs((held,)), X.min(axis=0), X.max(axis=0), [0])
    assert (made["low"], made["high"]) == (0.5, 1_000.0)
    assert (made["min"], made["max"]) == pytest.approx((1.0 - 0.15 * 11, 12.0 + 0.15 * 11))
    assert sum(made["counts"]) == 99
    assert sum(count > 0 for count in made["counts"]) > 15


def test_a_track_whose_rows_are_all_beyond_the_bounds_shows_them():
    held = Column("size", coordinates=(Coordinate(function=Identity(1.0, 12.0)),))
    X = np.linspace(20.0, 30.0, 50)[:, None]
    (made,) = controls(X, Inputs((held,)), X.min(axis=0), X.max(axis=0), [0])
    assert made["min"] < 20.0 < 30.0 < made["max"]
    assert sum(made["counts"]) == 50


CASES = [(4, 3, None), (4, 3, 12), (1, 4, None), (6, 1, None), (3, 0, None), (2, 5, 4)]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    p, order, kept = request.param
    poly = random_polynomial(0, p, order, kept=kept)
    return poly, np.random.default_rng(1).normal(size=(50, p)) + 0.5


def payload_of(poly, X):
    moves, inputs = column_moves(poly, X), detect_indicators(poly.inputs, X)
    low, high = X.min(axis=0), X.max(axis=0)
    made = controls(X, inputs, low, high, features_by_importance(poly, moves))
    return made, effects_payload(poly, X, moves, made)


def test_a_term_moves_the_output_by_the_deviation_of_its_contribution(case):
    """The browser multiplies the deviation of the term by its absolute coefficient."""
    poly, X = case
    found = value_deviations(poly, ranking(poly, X))[:, None] * np.abs(poly.coefficients)
    np.testing.assert_allclose(found, poly.contributions(X).std(axis=0), rtol=1e-9, atol=1e-12)


def test_curves_are_the_partial_dependence_of_explain(case):
    poly, X = case
    made, payload = payload_of(poly, X)
    assert len(made) == len(payload["averages"]) == poly.n_features
    for control, found in zip(made, payload["averages"], strict=True):
        x = unpacked(found["x"])
        curve = n2p.explain.partial_dependence(poly, X, control["features"], grid=x)
        np.testing.assert_array_equal(unpacked(found["y"]), curve.values.ravel())
        moved = X.copy()
        moved[:, control["features"]] = x[7]
        np.testing.assert_allclose(curve.values[7], poly.predict(moved).mean(axis=0), rtol=1e-9)
        assert x[-2:].tolist() == [control["low"], control["high"]]


def test_pairs_are_the_pure_effects_of_explain(case):
    poly, X = case
    pairs = column_pairs(poly, X, column_moves(poly, X))
    found = n2p.explain.anova(poly, X)
    wanted = [i for i, subset in enumerate(found.subsets) if len(subset) == 2]
    assert [tuple(pair) for pair in pairs.members.tolist()] == [found.subsets[i] for i in wanted]
    np.testing.assert_array_equal(pairs.strengths, np.sqrt(found.variances[wanted]))
    few = dict.fromkeys([poly.feature_names[0], poly.feature_names[-1]], np.ones(2))
    assert len(column_pairs(poly, X, few).members) <= 1


def test_curves_of_a_classifier_are_averages_of_probabilities():
    rng = np.random.default_rng(5)
    X = np.hstack([rng.normal(size=(40, 1)), np.eye(3)[np.arange(40) % 3]])
    inputs = Inputs((Column("age"), Column.factor("job", ["a", "b", "c"])))
    outputs = Outputs(("no", "yes", "maybe"), link="softmax")
    poly = Polynomial(rng.normal(size=(15, 3)), 2, inputs=inputs, outputs=outputs)
    made, payload = payload_of(poly, X)
    for control, found in zip(made, payload["averages"], strict=True):
        moved, places = X.copy(), control["features"]
        if control["kind"] == "levels":
            moved[:, places] = np.eye(3)[1]
        else:
            moved[:, places] = unpacked(found["x"])[7]
        mean = poly.predict_proba(moved).mean(axis=0)
        row = 1 if control["kind"] == "levels" else 7
        np.testing.assert_allclose(unpacked(found["y"]).reshape(-1, 3)[row], mean, rtol=1e-9)


def test_of_many_inputs_those_that_matter_most_have_effects():
    poly = Polynomial(np.arange(71.0)[:, None], 1, [f"x{j}" for j in range(70)])
    X = np.random.default_rng(0).normal(size=(40, 70))
    made, payload = payload_of(poly, X)
    assert len(made) == 70
    assert len(payload["averages"]) == MAX_INPUTS
    assert made[0]["name"] == next(iter(column_moves(poly, X)))


def test_factors_are_runs_of_columns_of_which_always_one_is_high():
    levels = np.eye(3)[np.arange(30) % 3]
    alone = (np.arange(30) % 5 == 0).astype(float)[:, None]
    X = np.hstack([alone, levels, np.arange(30.0)[:, None]])
    assert detect_indicators(Inputs.of(None, 5), X).indicators() == [(0,), (1, 2, 3)]


def test_few_rows_make_no_factor():
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert detect_indicators(Inputs.of(None, 2), X).indicators() == [(0,), (1,)]


def test_the_typical_row_is_a_row_that_can_be():
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(3)[rng.integers(0, 3, 60)], rng.normal(5.0, 2.0, (60, 1))])
    row = typical_row(X, detect_indicators(Inputs.of(None, 4), X))
    assert sorted(row[:3]) == [0.0, 0.0, 1.0]
    assert row[3] == pytest.approx(X[:, 3].mean(), abs=1e-3)


def test_the_feature_that_moves_most_comes_first():
    X = np.random.default_rng(0).normal(size=(30, 3))
    poly = Polynomial.from_terms(["a", "b", "b c"], [1.0, 5.0, 2.0], ["a", "b", "c"])
    assert ranking(poly, X).features(poly) == (1, 2, 0)


@pytest.mark.parametrize("kept", [None, 12])
def test_a_factor_moves_all_its_columns_together(kept):
    poly = random_polynomial(3, 5, 3, kept=kept)
    X = np.random.default_rng(3).normal(size=(40, 5))
    X[:, 1:4] = np.eye(3)[np.arange(40) % 3]
    found = level_averages(poly, X, [1, 2, 3])
    for i in range(3):
        moved = X.copy()
        moved[:, 1:4] = np.eye(3)[i]
        np.testing.assert_allclose(found[i], poly.predict(moved).mean(axis=0), rtol=1e-9)


def test_a_level_that_no_row_has_is_offered_where_the_inputs_know_it():
    X = np.insert(np.eye(3)[np.arange(30) % 3], 1, 0.0, axis=1)
    inputs = Inputs((Column.factor("job", ["a", "b", "c", "d"]),))
    (made,) = controls(X, inputs, X.min(axis=0), X.max(axis=0), [2, 0, 1, 3])
    assert made["levels"] == ["a", "b", "c", "d"]
    assert made["high"] == [1.0] * 4
    assert made["shares"][1] == 0.0


def test_a_view_leaves_out_what_is_far_off_only():
    y = np.random.default_rng(0).normal(size=(300, 1))
    whole = scatter_views(y, y)[0]
    assert whole["outside"] == 0
    assert whole["all"] == whole["bulk"]
    guess = y.copy()
    guess[[3, 50]] = [[-28_000.0], [900.0]]
    view = scatter_views(y, guess)[0]
    assert view["outside"] == 2
    assert np.ptp(view["bulk"]) < 15
    assert view["all"][0] < -28_000


def test_a_rare_group_and_a_constant_stay_in_view():
    rare = np.where(np.arange(200) % 20 == 0, 100.0, np.linspace(0, 1, 200))[:, None]
    assert scatter_views(rare, rare)[0]["outside"] == 0
    still = np.r_[np.zeros(99), 5.0][:, None]
    assert scatter_views(still, still)[0]["outside"] == 0
    assert scatter_views(still[:1], still[:1])[0]["bulk"] == [-1.0, 1.0]
