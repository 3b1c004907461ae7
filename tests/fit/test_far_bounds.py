"""In heavy tails, bounds go to where a line meets a network that saturates."""

from __future__ import annotations

import numpy as np
import pytest

import nn2poly as n2p


def one_each(activation):
    """Make a classifier with a neuron for each of two columns."""
    layers = [n2p.Layer(np.eye(2) / 50.0, None, activation), n2p.Layer([[4.0], [4.0]])]
    return n2p.Network(layers, link="sigmoid")


def draw(seed=0, n=4000):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.standard_t(1.5, n), rng.uniform(-0.2, 0.2, n)])


def bounds(network, **options):
    poly = n2p.convert(network, 1, data=draw(), **options)
    return [(c.function.low, c.function.high) for c in poly.inputs.coordinates]


def test_with_a_threshold_a_heavy_tail_is_held_where_a_line_meets_the_plateau():
    narrow, light = bounds(one_each("tanh"))
    wide, same = bounds(one_each("tanh"), threshold=0.5)
    assert narrow[0] > -45.0
    assert wide[0] == pytest.approx(-50.0, rel=0.01)
    assert wide[1] == narrow[1] > 50.0
    assert same == light


def test_a_network_that_goes_on_rising_keeps_its_bounds():
    assert bounds(one_each("relu"), threshold=0.7) == bounds(one_each("relu"))


@pytest.mark.filterwarnings("ignore::nn2poly.errors.OutsideRangeWarning")
def test_labels_of_outliers_are_followed():
    layers = [n2p.Layer(np.full((12, 1), 0.002), None, "tanh"), n2p.Layer([[9.0]])]
    network = n2p.Network(layers, link="sigmoid")
    X, new = (np.random.default_rng(seed).standard_cauchy((4000, 12)) for seed in (0, 1))
    cut, truth = float(np.quantile(network.predict(X), 0.9)), network.predict(new)
    declared = {"threshold": 1.0 / (1.0 + np.exp(-cut))}
    formulas = [n2p.convert(network, 1, data=X, **options) for options in ({}, declared)]
    off = [np.mean((f.predict(new) >= cut) != (truth >= cut)) for f in formulas]
    assert off[1] < 0.7 * off[0] < 0.005
