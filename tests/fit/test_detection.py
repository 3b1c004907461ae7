"""Binary columns are found in the data, folded by convert, and can be left alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError
from nn2poly.fit.problem import read_problem


def make_data(seed=0, n=400, low=0.0, high=1.0):
    """Make two numbers, a factor of three levels, a flag and a constant."""
    rng = np.random.default_rng(seed)
    levels = np.where(np.eye(3)[rng.integers(3, size=n)] == 1, high, low)
    flag = rng.choice([low, high], size=(n, 1))
    return np.hstack([rng.normal(size=(n, 2)), levels, flag, np.full((n, 1), 5.0)])


def make_network(p=7, seed=1):
    rng = np.random.default_rng(seed)
    return n2p.Network(
        [
            n2p.Layer(rng.normal(size=(p, 8)) / 3, rng.normal(size=8), "tanh"),
            n2p.Layer(rng.normal(size=(8, 2))),
        ]
    )


def test_flags_and_factors_are_found_and_constants_are_not():
    inputs = read_problem(make_network(), make_data(), None, "auto").network.inputs
    assert inputs.indicators() == [(2, 3, 4), (5,)]
    assert [column.kind for column in inputs.columns] == ["number"] * 2 + [
        "factor",
        "binary",
        "number",
    ]


def test_levels_that_do_not_cover_every_row_are_flags_of_their_own():
    X = make_data()
    X[X[:, 4] == 1, 4] = 0.0
    inputs = read_problem(make_network(), X, None, "auto").network.inputs
    assert inputs.indicators() == [(2,), (3,), (5,)]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 7.0)])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_folding_changes_no_prediction_on_the_data(low, high, order):
    X, net = make_data(low=low, high=high), make_network()
    # Plain: two values that nobody calls an indicator are a number, which bounds would hold.
    folded = n2p.convert(net, order, data=X, refit=False, bounded=False)
    whole = n2p.convert(net, order, data=X, binary=False, refit=False, bounded=False)
    np.testing.assert_allclose(folded.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)
    assert folded.n_terms < whole.n_terms or order == 1
    assert folded.card.r2 == pytest.approx(whole.card.r2, rel=1e-9)


def test_a_coefficient_of_an_indicator_is_the_step_between_its_two_values():
    X, net = make_data(low=2.0, high=7.0), make_network()
    poly = n2p.convert(net, 1, data=X)
    off, on = X[:1].copy(), X[:1].copy()
    off[0, 5], on[0, 5] = 2.0, 7.0
    step = poly.predict(on) - poly.predict(off)
    assert step[0, 0] == pytest.approx(poly.coefficient((5,)))


def test_features_may_be_named_and_grouped_by_hand():
    frame = pd.DataFrame(make_data(), columns=list("abcdefg"))
    poly = n2p.convert(make_network(), 2, data=frame, binary=[["c", "d", "e"], "f"])
    assert poly.n_terms == n2p.convert(make_network(), 2, data=frame).n_terms
    assert (2, 3) not in poly.terms
    assert (5, 5) not in poly.terms
    only = n2p.convert(make_network(), 2, data=frame, binary=["f"])
    assert (2, 3) in only.terms


def test_what_is_not_binary_is_refused_with_its_name():
    frame = pd.DataFrame(make_data(), columns=list("abcdefg"))
    with pytest.raises(InvalidInputError, match="'a' is not binary"):
        n2p.convert(make_network(), 2, data=frame, binary=["a"])
    with pytest.raises(InvalidInputError, match="which features are binary"):
        n2p.convert(make_network(), 2, data=frame, binary="yes")


def test_taylor_polynomials_fold_with_data_as_well():
    X, net = make_data(), make_network()
    options = {"data": X, "method": "taylor"}
    with pytest.warns(n2p.errors.RadiusWarning):
        folded = n2p.convert(net, 3, **options)
    with pytest.warns(n2p.errors.RadiusWarning):
        whole = n2p.convert(net, 3, binary=False, **options)
    np.testing.assert_allclose(folded.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)
    assert folded.n_terms < whole.n_terms


def test_a_declared_factor_whose_levels_meet_in_a_row_is_refused():
    X = make_data()
    X[7, 2:5] = 1.0
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    with pytest.raises(InvalidInputError, match="Two levels of one factor"):
        n2p.convert(make_network(), 2, data=frame, binary=[["c", "d", "e"]])


def test_a_factor_is_one_column_of_the_polynomial_named_by_what_its_features_share():
    names = ["age", "dose", "color_red", "color_green", "color_blue", "smoker", "site"]
    frame = pd.DataFrame(make_data(), columns=names)
    poly = n2p.convert(make_network(), 2, data=frame)
    factor = poly.inputs.columns[2]
    assert (factor.name, factor.levels) == ("color", ("red", "green", "blue"))
    assert poly.inputs.columns[3].kind == "binary"


def test_an_indicator_of_a_known_factor_that_has_other_values_is_refused():
    X = make_data()
    columns = [n2p.inputs.Column(name) for name in "ab"]
    columns += [n2p.inputs.Column.factor("c", ["r", "g", "b"]), *map(n2p.inputs.Column, "de")]
    net = make_network()
    net = n2p.Network(net.layers, inputs=n2p.inputs.Inputs(tuple(columns)))
    n2p.convert(net, 2, data=X)
    X[3, 2] = 0.4
    with pytest.raises(InvalidInputError, match="has other values"):
        n2p.convert(net, 2, data=X)
