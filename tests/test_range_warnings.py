"""Outside the range of its data a polynomial warns, at the line that asked, and only there."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.errors import NN2PolyWarning, OutsideRangeWarning

NAMES = ["rm", "lstat", "tax"]
X = np.random.default_rng(0).uniform([0.0, 10.0, -1.0], [1.0, 20.0, 1.0], (300, 3))
INSIDE = X[:10]
OUTSIDE = np.vstack([X[:7], np.add(X[7:10], [0.0, 50.0, 0.0])])


@pytest.fixture(scope="module")
def pnet():
    rng = np.random.default_rng(1)
    network = n2p.Network(
        [
            n2p.Layer(rng.normal(0, 0.3, (3, 5)), rng.normal(size=5), "tanh"),
            n2p.Layer(rng.normal(size=(5, 1))),
        ],
        feature_names=NAMES,
        link="sigmoid",
        classes=["no", "yes"],
    )
    return n2p.polynomial_network(network, 2, data=X)


@pytest.fixture(scope="module")
def poly(pnet):
    return pnet.expand()


METHODS = ["predict", "predict_proba", "predict_label", "contributions"]


# ---- when ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_way_to_ask_a_polynomial_warns_at_the_callers_line(poly, method):
    ask = getattr(poly, method)
    ask(INSIDE)
    line = inspect.currentframe().f_lineno + 2
    with pytest.warns(OutsideRangeWarning) as caught:
        ask(OUTSIDE)
    assert len(caught) == 1
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_the_factored_form_warns_at_the_callers_line(pnet):
    pnet.predict(INSIDE)
    line = inspect.currentframe().f_lineno + 2
    with pytest.warns(OutsideRangeWarning) as caught:
        pnet.predict(OUTSIDE)
    assert len(caught) == 1
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_the_values_are_those_of_the_polynomial_all_the_same(pnet, poly):
    with pytest.warns(OutsideRangeWarning):
        found = pnet.predict(OUTSIDE)
    with pytest.warns(OutsideRangeWarning):
        np.testing.assert_allclose(poly.predict(OUTSIDE), found, rtol=1e-10)


def test_the_whole_sample_and_its_edges_are_inside(pnet, poly):
    """Held-out rows too: the user has seen them, and so has the card."""
    for form in (pnet, poly):
        form.predict(X)
        np.testing.assert_array_equal(form.low, X.min(axis=0))
        np.testing.assert_array_equal(form.high, X.max(axis=0))
        form.predict(np.vstack([form.low, form.high]))
        assert form.count_outside(X) == 0


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_rounding_at_an_edge_is_inside_and_more_is_not(poly, column, side):
    edge = (poly.low if side < 0 else poly.high).copy()
    span = (poly.high - poly.low)[column]
    edge[column] += side * 1e-10 * span
    poly.predict(edge[None])
    edge[column] += side * 1e-6 * span
    with pytest.warns(OutsideRangeWarning, match=NAMES[column]):
        poly.predict(edge[None])


def test_a_frame_is_matched_by_name_before_it_is_judged(poly):
    frame = pd.DataFrame(X, columns=NAMES)[["tax", "lstat", "rm"]]
    poly.predict(frame)
    with pytest.warns(OutsideRangeWarning, match="'tax'"):
        poly.predict(frame.assign(tax=3.0))


def test_taylor_and_local_polynomials_have_no_range(make_network):
    network = make_network(0)
    for options in ({}, {"around": np.zeros(3)}):
        n2p.convert(network, 2, **options).predict(1e6 * INSIDE)
        assert n2p.polynomial_network(network, 2, **options).low is None


# ---- what it says ----------------------------------------------------------------------------


def test_the_warning_names_rows_columns_and_the_range_that_was_seen(poly):
    with pytest.warns(OutsideRangeWarning) as caught:
        poly.predict(OUTSIDE)
    text = str(caught[0].message)
    low, high = poly.low[1], poly.high[1]
    assert "3 of 10 rows" in text
    assert f"'lstat' (seen {low:.4g} to {high:.4g})" in text
    assert "'rm'" not in text
    assert "'tax'" not in text


def test_many_columns_are_cut_short(make_network):
    network = make_network(0, (30, 3, 1))
    data = np.random.default_rng(0).uniform(-1, 1, (100, 30))
    with pytest.warns(OutsideRangeWarning) as caught:
        n2p.convert(network, 1, data=data).predict(data + 5)
    assert str(caught[0].message).count("seen") == 10


def test_it_can_be_filtered_as_a_warning_of_this_package(poly):
    assert issubclass(OutsideRangeWarning, NN2PolyWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NN2PolyWarning)
        poly.predict(OUTSIDE)


# ---- what carries it along -------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_the_range_survives_a_file(poly, tmp_path, ending):
    loaded = n2p.load(poly.save(tmp_path / f"poly.{ending}"))
    loaded.predict(X)
    with pytest.warns(OutsideRangeWarning, match="'lstat'"):
        loaded.predict(OUTSIDE)


CHANGES = {
    "rebase": lambda poly: poly.rebase(),
    "rebase elsewhere": lambda poly: poly.rebase(100.0, 0.01),
    "truncate": lambda poly: poly.truncate(1),
    "prune": lambda poly: poly.prune(4),
    "prune and rebase": lambda poly: poly.prune(4).rebase(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_range_survives_a_change_of_the_polynomial(poly, change):
    changed = CHANGES[change](poly)
    changed.predict(X)
    with pytest.warns(OutsideRangeWarning, match="3 of 10 rows"):
        changed.predict(OUTSIDE)


def test_the_range_survives_the_folding_of_binary_columns(make_network):
    data = X.copy()
    data[:, 2] = data[:, 2] > 0
    poly = n2p.convert(make_network(0), 2, data=data, feature_names=NAMES)
    poly.predict(data)
    with pytest.warns(OutsideRangeWarning, match=r"'tax' \(seen 0 to 1\)"):
        poly.predict(np.add(data[:3], [0.0, 0.0, 5.0]))


# ---- fidelity counts instead -----------------------------------------------------------------


@pytest.mark.parametrize("form", ["pnet", "poly"])
def test_fidelity_counts_rows_outside_without_a_warning(request, pnet, form):
    made = request.getfixturevalue(form)
    card = n2p.fidelity(pnet.network, made, OUTSIDE)
    assert card.outside == 3
    assert "3 of these rows lie outside" in str(card.verdict)
    assert "3 rows lie outside the calibrated range" in str(card)
    assert n2p.fidelity(pnet.network, made, INSIDE).outside == 0


def test_a_row_far_from_the_others_that_was_not_fitted_counts_on_the_card_and_as_seen(make_network):
    data = X.copy()
    data[0] += 1e3
    pnet = n2p.polynomial_network(make_network(0, (3, 5, 1)), 2, data=data)
    assert pnet.card.held_out
    assert pnet.card.outside == 1
    pnet.predict(data)
