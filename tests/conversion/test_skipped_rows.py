"""`missing="skip"` leaves rows with holes out wherever a sample is read."""

import numpy as np
import pytest

import nn2poly as n2p
from nn2poly.errors import InvalidInputError

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (400, 2))
HOLED = np.where(RNG.random(X.shape) < 0.05, np.nan, X)
WHOLE = HOLED[~np.isnan(HOLED).any(axis=1)]
NETS = [
    n2p.Network([n2p.Layer(RNG.normal(size=(2, 4)), None, "tanh"), n2p.Layer(np.ones((4, 1)))])
    for _ in range(2)
]


def test_frontier_skips_rows_with_holes():
    options = {"regions": (1,), "max_terms": (), "orders": (1, 2)}
    with pytest.raises(InvalidInputError, match="NaN"):
        n2p.frontier(NETS[0], HOLED, **options)
    skipped = n2p.frontier(NETS[0], HOLED, missing="skip", **options)
    whole = n2p.frontier(NETS[0], WHOLE, **options)
    assert [p.r2 for p in skipped.points] == [p.r2 for p in whole.points]
    found, expected = (f.pick(n_terms=10).predict(WHOLE) for f in (skipped, whole))
    np.testing.assert_array_equal(found, expected)


def test_several_networks_skip_rows_with_holes():
    found = n2p.convert_many(NETS, 2, data=HOLED, missing="skip", backend="sequential")
    expected = n2p.convert_many(NETS, 2, data=WHOLE, backend="sequential")
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.coefficients, other.coefficients)


@pytest.mark.parametrize("times", [1, 60])
def test_dask_collections_skip_rows_with_holes(times):
    dask_array = pytest.importorskip("dask.array")
    table = np.vstack([HOLED + k * 1e-9 for k in range(times)])
    data = dask_array.from_array(table, chunks=(len(table) // 3, 2))
    poly = n2p.convert(NETS[0], 2, data=data, missing="skip")
    assert poly.card.r2 > 0.5
    with pytest.raises(InvalidInputError, match="NaN"):
        n2p.convert(NETS[0], 2, data=data)
