"""Fits of a classifier are chosen by its probabilities, with little lost of its logits."""

from __future__ import annotations

import numpy as np

from nn2poly.conversion.classifiers import closest
from nn2poly.outputs import Outputs

RAW = np.linspace(-6.0, 6.0, 1801)[:, None]
OUTPUTS = Outputs.of(None, 1, link="sigmoid")


def off(near, far):
    """Make outputs that are off by so much where a label is open, and where it is certain."""
    return RAW + np.where(np.abs(RAW) < 2.0, near, far)


def test_closer_probabilities_win_while_hardly_any_r2_is_lost():
    assert closest([off(0.4, 0.3), off(0.3, 0.33)], RAW, OUTPUTS) == 1
    assert closest([off(0.4, 0.3), off(0.3, 0.8)], RAW, OUTPUTS) == 0


def test_much_closer_probabilities_may_cost_more():
    assert closest([off(0.4, 0.3), off(0.0, 0.5)], RAW, OUTPUTS) == 1
    assert closest([off(0.4, 0.3), off(0.0, 0.8)], RAW, OUTPUTS) == 0


def test_a_single_row_does_not_decide():
    wild = off(0.1, 0.3)
    wild[-1] = 1e6
    assert closest([off(0.4, 0.3), wild], RAW, OUTPUTS) == 1
    wild[-200:] = 1e6
    assert closest([off(0.4, 0.3), wild], RAW, OUTPUTS) == 0
