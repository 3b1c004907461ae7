"""The card looks where explanations look: on rows whose columns are mixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.assess.mixed_columns import MIXED_ROWS, mix_columns
from nn2poly.cards import FidelityCard
from nn2poly.inputs import Column, Coordinate, Inputs
from nn2poly.inputs.functions import Identity
from nn2poly.score_texts import r2_text
from nn2poly.verdicts import Mixed, is_worse_mixed


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


def test_mixed_rows_are_held_within_the_bounds():
    held = Column("a", coordinates=(Coordinate(function=Identity(-0.5, 0.5)),))
    mixed = mix_columns(together(100), np.ones(100), Inputs((held, Column("b"))))
    assert (mixed[:, 0].min(), mixed[:, 0].max()) == (-0.5, 0.5)
    assert mixed[:, 1].max() > 0.5


# ---- the number --------------------------------------------------------------------------------


def test_a_formula_that_only_fits_rows_as_they_are_is_found_out():
    """a² for a b: where a and b are mixed, it explains nothing of their product."""
    card = n2p.fidelity(product_of_both, SQUARE, together(800))
    assert card.r2 > 0.9
    assert card.r2_mixed < 0.3
    assert card.verdict.reason(Mixed) == Mixed(card.r2_mixed)
    assert "On rows whose columns are mixed, as Shapley values" in str(card.verdict)
    assert f"On rows whose columns are mixed: R2 {r2_text(card.r2_mixed)}." in str(card.tables()[0])


def test_a_formula_that_is_right_everywhere_says_so_in_one_line():
    right = n2p.Polynomial.from_terms(["a b"], [1.0], ["a", "b"])
    card = n2p.fidelity(product_of_both, right, together(200))
    assert card.r2_mixed == 1.0
    assert card.verdict.reason(Mixed) is None
    assert f"On rows whose columns are mixed: R2 {r2_text(1.0)}." in str(card)


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
    assert "mixed" not in str(card)


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
    ("r2", "mixed", "said"),
    [
        (0.9, 0.799, True),
        (0.9, 0.81, False),
        (0.99, 0.83, True),
        (0.85, 0.75, False),
        (0.85, 0.69, True),
        (0.4, 0.1, False),
        (-3.0, -50.0, False),
        (0.99, None, False),
        (float("nan"), 0.1, False),
    ],
)
def test_only_a_large_loss_is_told(r2, mixed, said):
    assert is_worse_mixed(r2, mixed) is said


def test_the_number_survives_a_file_and_files_without_it_load():
    card = n2p.fidelity(product_of_both, SQUARE, together(300))
    data = card.to_dict()
    assert FidelityCard.from_dict(data) == card
    del data["r2_mixed"]
    data["verdict"]["reasons"] = [r for r in data["verdict"]["reasons"] if r["kind"] != "mixed"]
    older = FidelityCard.from_dict(data)
    assert older.r2_mixed is None
    assert not older.is_worse_mixed
    assert replace(older, r2_mixed=card.r2_mixed).is_worse_mixed
