"""The card looks where explanations look, on rows with shuffled columns, and grades effects."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.mixed_columns import MIXED_ROWS, mix_columns
from nn2poly.cards import FidelityCard
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.score_texts import r2_text
from nn2poly.verdicts import Effects, Verdict


def together(n, seed=0, noise=0.2):
    """Two columns that go together."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return np.column_stack([a, a + noise * rng.normal(size=n)])


def product_of_both(X):
    return X[:, 0] * X[:, 1]


SQUARE = n2p.Polynomial.from_terms(["a^2"], [1.0], ["a", "b"])


# ---- the rows ----------------------------------------------------------------------------------


def test_every_column_keeps_its_values_and_loses_its_company():
    X = together(400)
    mixed = mix_columns(X, np.ones(400), Inputs.of(["a", "b"]))
    np.testing.assert_array_equal(np.sort(mixed, axis=0), np.sort(X, axis=0))
    assert np.corrcoef(X.T)[0, 1] > 0.95
    assert abs(np.corrcoef(mixed.T)[0, 1]) < 0.15


def test_the_levels_of_a_factor_stay_together():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.eye(3)[rng.integers(3, size=300)], rng.normal(size=300)])
    inputs = Inputs((Column.factor("city", ["x", "y", "z"]), Column("age")))
    mixed = mix_columns(X, np.ones(300), inputs)
    np.testing.assert_array_equal(mixed[:, :3].sum(axis=1), 1.0)
    np.testing.assert_array_equal(mixed[:, :3].sum(axis=0), X[:, :3].sum(axis=0))


def test_neither_the_order_nor_copies_of_the_rows_change_them():
    X, inputs = together(300), Inputs.of(["a", "b"])
    mixed = mix_columns(X, np.ones(300), inputs)
    order = np.random.default_rng(2).permutation(300)
    np.testing.assert_array_equal(mix_columns(X[order], np.ones(300), inputs), mixed)
    twice = mix_columns(np.repeat(X, 2, axis=0), np.ones(600), inputs)
    np.testing.assert_array_equal(twice, np.repeat(mixed, 2, axis=0))


def test_a_row_is_drawn_as_often_as_it_weighs():
    X = together(200)
    weights = np.where(np.arange(200) < 20, 9.0, 0.1)
    mixed = mix_columns(X, weights, Inputs.of(["a", "b"]))
    share = np.isin(mixed, X[:20]).mean(axis=0)
    np.testing.assert_allclose(share, 180 / 198, atol=0.01)


def test_many_rows_cost_no_more_than_a_thousand():
    found = mix_columns(together(5_000), np.ones(5_000), Inputs.of(["a", "b"]))
    assert found.shape == (MIXED_ROWS, 2)


def test_effects_that_bounds_cut_off_are_seen():
    """Held at its edge, the formula knows nothing of a third of a column's effect."""
    held = Column("a", coordinates=(Coordinate(function=Identity(-0.5, 0.5)),))
    X = together(400)
    mixed = mix_columns(X, np.ones(400), Inputs((held, Column("b"))))
    np.testing.assert_array_equal(np.sort(mixed, axis=0), np.sort(X, axis=0))
    poly = n2p.Polynomial.from_terms(["a"], [1.0], ["a", "b"])
    cut = replace(poly, inputs=Inputs((held, Column("b"))))
    found = [n2p.fidelity(lambda rows: rows[:, 0], form, X).verdict for form in (poly, cut)]
    assert [verdict.effects for verdict in found] == ["faithful", "not faithful"]


# ---- the number --------------------------------------------------------------------------------


def test_a_formula_that_only_fits_rows_as_they_are_is_found_out():
    """a² for a b: where a and b are mixed, it explains nothing of their product."""
    card = n2p.fidelity(product_of_both, SQUARE, together(800))
    assert card.r2 > 0.9
    assert card.r2_mixed < 0.3
    assert card.verdict.reason(Effects) == Effects(card.r2_mixed)
    assert card.verdict.effects == "not faithful"
    assert f"Effects: not faithful (R2 {r2_text(card.r2_mixed)} on rows with" in str(card.verdict)
    assert f"On rows with shuffled columns: R2 {r2_text(card.r2_mixed)}." in str(card.tables()[0])


def test_a_formula_that_is_right_everywhere_says_so_in_one_line():
    right = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    card = n2p.fidelity(product_of_both, right, together(200))
    assert card.r2_mixed == 1.0
    assert card.verdict.effects == "faithful"
    assert "Effects: faithful (R2 above 0.999999 on rows with shuffled columns)." in str(card)
    assert "may be off" not in str(card)


def test_the_number_is_r2_on_the_mixed_rows():
    X = together(700, seed=3)
    mixed = mix_columns(X, np.ones(700), SQUARE.inputs)
    truth = product_of_both(mixed)
    expected = 1 - np.sum((truth - mixed[:, 0] ** 2) ** 2) / np.sum((truth - truth.mean()) ** 2)
    found = n2p.fidelity(product_of_both, SQUARE, X)
    np.testing.assert_allclose(found.r2_mixed, expected, rtol=1e-12)


@pytest.mark.parametrize(("n", "p"), [(29, 2), (100, 1)])
def test_few_rows_and_a_single_column_have_none(n, p, make_network):
    network = make_network(0, (p, 4, 1), "tanh")
    X = np.random.default_rng(0).normal(size=(n, p))
    poly = n2p.convert(network, 2, data=np.random.default_rng(1).normal(size=(200, p)))
    card = n2p.fidelity(network, poly, X)
    assert card.r2_mixed is None
    assert card.verdict.effects is None
    assert "shuffled" not in str(card)


@pytest.mark.parametrize("regions", [1, 2])
def test_conversions_measure_it_whatever_the_formula(regions, make_network):
    network = make_network(4, (2, 6, 1), "tanh", spread=1.0)
    card = n2p.convert(network, 3, data=together(600), regions=regions).card
    assert 0.5 < card.r2_mixed <= 1.0


def test_the_factored_form_has_the_number_of_its_terms(make_network):
    network = make_network(5, (2, 6, 1), "tanh", spread=0.5)
    pnet = n2p.polynomial_network(network, 2, data=together(400))
    found = [n2p.fidelity(network, form, together(100, 1)) for form in (pnet, pnet.expand())]
    np.testing.assert_allclose(found[0].r2_mixed, found[1].r2_mixed, rtol=1e-9)


def test_rows_of_a_stream_give_the_number_of_the_rows_in_memory():
    X, dask_array = together(600), pytest.importorskip("dask.array")
    network = n2p.Network([n2p.Layer([[1.0], [0.5]], None, "tanh"), n2p.Layer([[1.0]])])
    poly, parts = n2p.convert(network, 1), dask_array.from_array(X, chunks=(250, -1))
    expected = n2p.fidelity(network, poly, X).r2_mixed
    assert n2p.fidelity(network, poly, parts).r2_mixed == pytest.approx(expected, rel=1e-12)


def test_a_conversion_of_a_stream_measures_it_too(make_network):
    dask_array = pytest.importorskip("dask.array")
    data = dask_array.from_array(together(600), chunks=(250, -1))
    network = make_network(4, (2, 6, 1), "tanh", spread=1.0)
    assert 0.5 < n2p.convert(network, 3, data=data).card.r2_mixed <= 1.0


# ---- what is said ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("r2", "word"),
    [
        (0.99, "faithful"),
        (0.97, "useful"),
        (0.878, "rough"),
        (0.7, "not faithful"),
        (-5.0, "not f"),
    ],
)
def test_effects_have_a_grade_of_their_own_and_say_what_it_is_worth(r2, word):
    for predictions in ("faithful", "rough", "not faithful"):
        found = Verdict(predictions, 0.99, 500, False, 2, (Effects(r2),))
        assert found.effects.startswith(word)
        assert f"Effects: {found.effects} (R2 {r2_text(r2)} on rows with shuffled" in str(found)
        off = "partial dependence, Shapley values and directions may be off." in str(found)
        assert off is (r2 < 0.95)
    assert Verdict("faithful", 0.99, 500, False, 2).effects is None


def test_a_formula_with_close_predictions_and_a_wrong_main_effect_is_not_good_at_effects():
    """Three columns that measure the same: carat, x and y of a diamond."""
    rng = np.random.default_rng(5)
    size = rng.gamma(4.0, 0.2, size=900)
    X = np.column_stack([size, size + 0.02 * rng.normal(size=900), rng.normal(size=900)])
    wrong = n2p.Polynomial.from_terms(["a", "b"], [-1.0, 2.0], ["a", "b", "c"])
    card = n2p.fidelity(lambda rows: rows[:, 0], wrong, X)
    assert card.verdict.grade in ("faithful", "useful")
    assert card.verdict.effects == "not faithful"


def test_the_grade_of_effects_survives_a_file_and_files_without_it_load():
    card = n2p.fidelity(product_of_both, SQUARE, together(300))
    data = json.loads(json.dumps(card.to_dict()))
    assert FidelityCard.from_dict(data) == card
    assert FidelityCard.from_dict(data).verdict.effects == "not faithful"
    del data["r2_mixed"]
    reasons = data["verdict"]["reasons"]
    data["verdict"]["reasons"] = [r for r in reasons if r["kind"] != "effects"]
    older = FidelityCard.from_dict(data)
    assert older.r2_mixed is None
    assert older.verdict.effects is None
