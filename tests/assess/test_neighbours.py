"""Nearness of rows: what does not vary says nothing of it."""

import numpy as np

from nn2poly.assess.neighbours import nearness
from nn2poly.inputs import Inputs


def test_a_constant_column_changes_no_distance_between_rows():
    X = np.random.default_rng(0).normal(size=(750, 2))
    constant = np.full((750, 1), 17.3543366150961)
    assert 0 < constant.std() < 1e-12  # what rounding leaves
    kept = np.arange(750)
    alone = nearness(Inputs.of(["a", "b"]), X, kept)
    beside = nearness(Inputs.of(["a", "b", "c"]), np.hstack([X, constant]), kept)
    np.testing.assert_allclose([beside.usual, beside.far], [alone.usual, alone.far], rtol=1e-6)
