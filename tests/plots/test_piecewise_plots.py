"""Formulas with regions in pictures and on cards: what works does, what does not says so."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly import plots
from nn2poly.errors import InvalidInputError
from nn2poly.formula.region_tree import Leaf, Split
from nn2poly.inputs import Column, Inputs

INPUTS = Inputs((Column("hour"), Column.factor("weather", ["clear", "rain"])))
INPUTS = INPUTS.seen([0.0, 0.0, 0.0], [24.0, 1.0, 1.0])


def rentals():
    night = n2p.Polynomial([[20.0], [1.0], [0.0], [-5.0]], 1, inputs=INPUTS)
    day = n2p.Polynomial([[150.0], [4.0], [0.0], [-50.0]], 1, inputs=INPUTS)
    return n2p.PiecewisePolynomial(Split(0, 6.5, left=Leaf(0), right=Leaf(1)), (night, day))


def rows(n=60):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.integers(0, 24, n), np.eye(2)[rng.integers(0, 2, n)]])


def test_effects_show_the_jump_between_regions():
    poly, X = rentals(), rows()
    ax = plots.effects(poly, "hour", X=X)
    line = ax.lines[0]
    x, y = line.get_xdata(), line.get_ydata()
    jump = np.flatnonzero(x >= 6.5)[0]
    expected = [poly.predict(np.column_stack([np.full(60, t), X[:, 1:]])).mean() for t in x]
    np.testing.assert_allclose(y, expected)
    assert y[jump] - y[jump - 1] > 100.0


def test_without_names_the_columns_that_matter_most_are_drawn():
    drawn = plots.effects(rentals(), X=rows())
    assert [ax.get_xlabel() for ax in drawn][:1] == ["hour"]
    with pytest.raises(InvalidInputError, match="told by data"):
        plots.effects(rentals())


def test_a_waterfall_is_of_the_region_of_its_row():
    widths = [bar.get_width() for bar in plots.waterfall(rentals(), [7.0, 0.0, 1.0]).patches]
    np.testing.assert_allclose(widths[:2], [-50.0, 28.0])


@pytest.mark.parametrize(
    "draw",
    [
        lambda poly: plots.beeswarm(poly, rows()),
        lambda poly: plots.importance(poly, X=rows()),
        lambda poly: n2p.report(poly, None, rows()),
    ],
)
def test_what_needs_the_terms_of_one_polynomial_says_so(draw):
    with pytest.raises(InvalidInputError, match="no terms of its own") as caught:
        draw(rentals())
    assert caught.value.remedy == "use the polynomial of one region: poly.regions[0].polynomial"


def test_the_fidelity_of_regions_is_measured_as_of_a_polynomial():
    net = n2p.Network([n2p.Layer([[0.9], [0.0]], [0.0], "relu"), n2p.Layer([[1.0]], [3.0])])
    X = np.random.default_rng(0).normal(size=(200, 2))
    inputs = Inputs.of(["x1", "x2"])
    off = n2p.Polynomial([[3.0], [0.0], [0.0]], 1, inputs=inputs)
    on = n2p.Polynomial([[3.0], [0.9], [0.0]], 1, inputs=inputs)
    exact = n2p.PiecewisePolynomial(Split(0, 0.0, left=Leaf(0), right=Leaf(1)), (off, on))
    card = n2p.fidelity(net, exact, X)
    assert card.r2 == pytest.approx(1.0)
    assert card.max_error < 1e-12
